"""The parts of `make bench-circuits`: workloads, contenders, measuring and tables."""
