"""Each of LTN's tutorial problems as a user of residuum solves it."""
