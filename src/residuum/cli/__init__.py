"""The command line: one file for each verb."""

from residuum.cli.command import main as main
