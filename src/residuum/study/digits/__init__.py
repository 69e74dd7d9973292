"""The digits study: digits from labels, and their sums and products modulo 10 from rules."""
