"""Training of many runs at once with PyTorch, each run as if it were alone."""
