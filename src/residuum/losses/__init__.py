"""Rules as losses, on PyTorch."""

from residuum.losses.compile import compile as compile  # noqa: A004
from residuum.losses.facts import facts as facts
from residuum.losses.knowledge import CompiledKnowledge as CompiledKnowledge
from residuum.losses.questions.violations import Violation as Violation
from residuum.losses.relations.members import Members as Members
from residuum.losses.relations.members import concatenated as concatenated
from residuum.losses.relations.pairs import Pairs as Pairs
from residuum.losses.rules import CompiledRule as CompiledRule
from residuum.losses.schedules import piecewise_constant as piecewise_constant
from residuum.losses.schedules import ramp as ramp
from residuum.losses.schedules import warm_up as warm_up
from residuum.losses.theory import Assessment as Assessment
from residuum.losses.theory import Theory as Theory
