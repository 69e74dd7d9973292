"""Closed forms of integrals: antiderivatives, and the numbers they lead to."""
