"""Rules as losses, on PyTorch."""

from residuum.losses.compiling import compile as compile  # noqa: A004
from residuum.losses.knowledge import CompiledKnowledge as CompiledKnowledge
from residuum.losses.labelled_facts import facts as facts
from residuum.losses.questions.violations import Violation as Violation
from residuum.losses.rules import CompiledRule as CompiledRule
from residuum.losses.schedules import ramp as ramp
from residuum.losses.schedules import steps as steps
from residuum.losses.schedules import warm_up as warm_up
from residuum.losses.theory import Assessment as Assessment
from residuum.losses.theory import Theory as Theory
