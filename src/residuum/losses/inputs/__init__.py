"""What a rule is given: tensors, lengths, and what their shapes decide."""
