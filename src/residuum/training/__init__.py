"""Training of many runs at once, on PyTorch."""
