"""Degrees of truth on PyTorch: from the outputs of networks to the sides of degrees."""
