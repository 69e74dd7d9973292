"""Runs as plain data: what one held, the store that keeps them, and statistics over them."""

from residuum.results.archive import merge as merge
from residuum.results.archive import read_archive as read_archive
from residuum.results.archive import write_archive as write_archive
from residuum.results.records import Curve as Curve
from residuum.results.records import Record as Record
from residuum.results.records import run_id as run_id
from residuum.results.store import Store as Store
from residuum.results.store import default_store as default_store
