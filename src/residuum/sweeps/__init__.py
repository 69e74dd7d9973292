"""Sweeps: the settings of a study are searched on development data, with Optuna."""

from residuum.sweeps.costs import cost_table as cost_table
from residuum.sweeps.definitions import Sweep as Sweep
from residuum.sweeps.definitions import SweepError as SweepError
from residuum.sweeps.sweep_files import read_sweep as read_sweep
