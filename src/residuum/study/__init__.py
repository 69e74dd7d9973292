"""The experiments of the paper, each in a folder of its own, and what all of them share."""
