"""Rules as losses, on PyTorch. What a plain rule does not need loads when it is first used."""

from typing import TYPE_CHECKING

from residuum.doors import door

# Functions that have the names of their files are here from the start: otherwise a program that
# imports the file first would find the file under the name.
from residuum.losses.compile import compile as compile  # noqa: A004
from residuum.losses.facts import facts as facts
from residuum.losses.rules import CompiledRule as CompiledRule
from residuum.losses.schedules import piecewise_constant as piecewise_constant
from residuum.losses.schedules import ramp as ramp
from residuum.losses.schedules import warm_up as warm_up

if TYPE_CHECKING:
    from residuum.losses import compile_knowledge as compile_knowledge
    from residuum.losses.knowledge import CompiledKnowledge as CompiledKnowledge
    from residuum.losses.questions.violations import Violation as Violation
    from residuum.losses.relations.members import Members as Members
    from residuum.losses.relations.members import concatenated as concatenated
    from residuum.losses.relations.pairs import Pairs as Pairs
    from residuum.losses.theory import Assessment as Assessment
    from residuum.losses.theory import Theory as Theory
else:
    __getattr__ = door(
        __name__,
        {
            "Assessment": "residuum.losses.theory",
            "CompiledKnowledge": "residuum.losses.knowledge",
            "Members": "residuum.losses.relations.members",
            "Pairs": "residuum.losses.relations.pairs",
            "Theory": "residuum.losses.theory",
            "Violation": "residuum.losses.questions.violations",
            "concatenated": "residuum.losses.relations.members",
        },
    )
