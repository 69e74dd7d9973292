"""The parts of `make bench-families`: contenders, training, predictors, fits, tables, pictures."""
