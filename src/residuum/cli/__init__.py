"""The command line: one file for each verb. `app.py` lists them, `errors.py` prints errors."""

from residuum.cli.command import main as main
