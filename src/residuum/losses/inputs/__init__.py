"""The inputs of a rule: tensors, lengths of sequences, and what their shapes decide."""
