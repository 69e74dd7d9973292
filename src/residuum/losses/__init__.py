"""Rules as losses, on PyTorch."""

from residuum.losses.compiled import CompiledKnowledge as CompiledKnowledge
from residuum.losses.compiled import CompiledRule as CompiledRule
from residuum.losses.compiling import compile as compile  # noqa: A004
from residuum.losses.inspection import Violation as Violation
