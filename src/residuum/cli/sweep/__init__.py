"""`residuum sweep`: settings searched for on development data; one file for each verb."""

from residuum.cli.sweep.group import sweep as sweep
