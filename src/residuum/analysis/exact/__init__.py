"""Exact methods for logics with few values, orderings, polynomials or linear pieces."""
