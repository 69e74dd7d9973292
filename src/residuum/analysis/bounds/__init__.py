"""Certified bounds of integrals over the unit cube: the method "boxes"."""
