"""The command line: one file for each verb."""

from residuum.cli.app import main as main
