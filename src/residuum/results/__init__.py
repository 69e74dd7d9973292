"""Runs as plain data: records, the store and archives that keep them, and statistics over them."""

from residuum.results.archive import merge as merge
from residuum.results.archive import read_archive as read_archive
from residuum.results.archive import write_archive as write_archive
from residuum.results.bootstrap import Ratio as Ratio
from residuum.results.bootstrap import Resampled as Resampled
from residuum.results.bootstrap import paired_bootstrap as paired_bootstrap
from residuum.results.bootstrap import resample as resample
from residuum.results.damage import OnDamage as OnDamage
from residuum.results.damage import refuse_damaged as refuse_damaged
from residuum.results.finding import ARCHIVES as ARCHIVES
from residuum.results.finding import archived_records as archived_records
from residuum.results.finding import find_records as find_records
from residuum.results.records import Curve as Curve
from residuum.results.records import Record as Record
from residuum.results.records import run_id as run_id
from residuum.results.statistics import Best as Best
from residuum.results.statistics import Comparison as Comparison
from residuum.results.statistics import Summary as Summary
from residuum.results.statistics import find_best as find_best
from residuum.results.statistics import find_best_of_each as find_best_of_each
from residuum.results.statistics import holm as holm
from residuum.results.statistics import mean_and_deviation as mean_and_deviation
from residuum.results.statistics import paired_t_test as paired_t_test
from residuum.results.statistics import welch_t_test as welch_t_test
from residuum.results.store import Store as Store
from residuum.results.store import default_store as default_store
