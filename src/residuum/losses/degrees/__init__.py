"""Degrees of truth on PyTorch: network outputs as truths, falsities and their logarithms."""
