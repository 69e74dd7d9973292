"""Each of LTN's tutorial problems as a user of LTN solves it."""
