"""Settings searched for on development data: sweep files, Optuna, and what is found."""

from residuum.sweeps.costs import cost_table as cost_table
from residuum.sweeps.definitions import Sweep as Sweep
from residuum.sweeps.files import read_sweep as read_sweep
from residuum.sweeps.values import SweepError as SweepError
