"""The experiments of the paper, one folder for each, and the code they share."""
