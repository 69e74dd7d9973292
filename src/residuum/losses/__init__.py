"""Rules as losses, on PyTorch."""

from residuum.losses.compiled import CompiledRule as CompiledRule
from residuum.losses.compiled_knowledge import CompiledKnowledge as CompiledKnowledge
from residuum.losses.compiling import compile as compile  # noqa: A004
from residuum.losses.inspection import Violation as Violation
from residuum.losses.labelled_data import facts as facts
from residuum.losses.schedules import ramp as ramp
from residuum.losses.schedules import steps as steps
from residuum.losses.schedules import warm_up as warm_up
from residuum.losses.theories import Assessment as Assessment
from residuum.losses.theories import Theory as Theory
