"""`residuum study`: train the runs of the paper's experiments, and print their tables."""

from residuum.cli.study.group import study as study
