"""Digits and their sums and products modulo 10: images, the sets drawn of them, printed figures."""
