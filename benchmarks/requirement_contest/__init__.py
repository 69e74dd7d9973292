"""The parts of `make bench-requirements`: clauses, contenders, measuring and tables."""
