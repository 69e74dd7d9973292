"""LTN's tutorial problems, solved with residuum and with LTN, side by side."""
