"""Text chunking on CoNLL-2000: the figures that were printed."""
