"""Runs as plain data: what one held, the store that keeps them, and statistics over them."""

from residuum.results.records import Curve as Curve
from residuum.results.records import Record as Record
from residuum.results.records import run_id as run_id
