"""The parts of `make bench-losses`: workloads, contenders, measuring and tables."""
