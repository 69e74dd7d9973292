"""`residuum study`: the experiments of the paper, run and tabulated; one file for each."""

from residuum.cli.study.group import study as study
