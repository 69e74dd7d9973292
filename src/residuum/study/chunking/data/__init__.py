"""The sentences of the chunking study, word vectors, vocabularies and batches."""
