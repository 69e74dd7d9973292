"""How penalties come together: by the conjunction of the logic, or over groundings as `over=` says.

`conjunctions.py` has the conjunction, `aggregators.py` the aggregators over groundings,
`means_of_degrees.py` the p-mean, and `groundings.py` which groundings of a rule are aggregated, and
how many there are. Aggregators other than the conjunction load when a rule first has one.
"""

from typing import TYPE_CHECKING

from residuum.doors import door
from residuum.losses.aggregation.conjunctions import Aggregation as Aggregation
from residuum.losses.aggregation.conjunctions import aggregation_of as aggregation_of
from residuum.losses.aggregation.conjunctions import cap_of as cap_of
from residuum.losses.aggregation.conjunctions import capped as capped
from residuum.losses.aggregation.conjunctions import changeable as changeable
from residuum.losses.aggregation.conjunctions import conjoined as conjoined

if TYPE_CHECKING:
    from residuum.losses.aggregation import aggregators as aggregators
else:
    __getattr__ = door(__name__)
