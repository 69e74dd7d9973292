"""The parts of `make bench-advice`: tasks, training, judging and tables."""
