"""residuum: one formula, many meanings.

Rules stated in first-order logic, read under Boolean logic and under any t-norm relaxation.
"""

from typing import TYPE_CHECKING

from residuum import errors as errors
from residuum.analysis import Consistency as Consistency
from residuum.analysis import consistency as consistency
from residuum.analysis import gradients as gradients
from residuum.analysis import properties as properties
from residuum.analysis import self_consistency as self_consistency
from residuum.errors import ResiduumError as ResiduumError
from residuum.logic import FALSE as FALSE
from residuum.logic import TRUE as TRUE
from residuum.logic import And as And
from residuum.logic import Application as Application
from residuum.logic import Arithmetic as Arithmetic
from residuum.logic import Atom as Atom
from residuum.logic import Comparison as Comparison
from residuum.logic import Constant as Constant
from residuum.logic import Exists as Exists
from residuum.logic import Forall as Forall
from residuum.logic import Formula as Formula
from residuum.logic import Iff as Iff
from residuum.logic import Implies as Implies
from residuum.logic import Not as Not
from residuum.logic import Or as Or
from residuum.logic import Variable as Variable
from residuum.logic import Verdict as Verdict
from residuum.logic import atoms as atoms
from residuum.logic import fold as fold
from residuum.relaxations import PAPER as PAPER
from residuum.relaxations import Degree as Degree
from residuum.relaxations import Generated as Generated
from residuum.relaxations import Relaxation as Relaxation
from residuum.relaxations import register as register
from residuum.relaxations import relaxation as relaxation
from residuum.relaxations import relaxation_names as relaxation_names
from residuum.relaxations import truth as truth
from residuum.syntax import Knowledge as Knowledge
from residuum.syntax import atoms_of as atoms_of
from residuum.syntax import depth as depth
from residuum.syntax import evaluate as evaluate
from residuum.syntax import expand as expand
from residuum.syntax import free_variables as free_variables
from residuum.syntax import is_satisfiable as is_satisfiable
from residuum.syntax import is_tautology as is_tautology
from residuum.syntax import load as load
from residuum.syntax import loads as loads
from residuum.syntax import negation_normal_form as negation_normal_form
from residuum.syntax import parse as parse
from residuum.syntax import render as render
from residuum.syntax import size as size
from residuum.syntax import substitute as substitute

if TYPE_CHECKING:
    from residuum.losses import Assessment as Assessment
    from residuum.losses import CompiledKnowledge as CompiledKnowledge
    from residuum.losses import CompiledRule as CompiledRule
    from residuum.losses import Theory as Theory
    from residuum.losses import Violation as Violation
    from residuum.losses import facts as facts
    from residuum.losses import ramp as ramp
    from residuum.losses import steps as steps
    from residuum.losses import warm_up as warm_up
    from residuum.losses.compiling import compile as compile  # noqa: A004

__version__ = "0.1.0"

_ON_TORCH = {
    "Assessment", "CompiledKnowledge", "CompiledRule", "Theory", "Violation",
    "compile", "facts", "ramp", "steps", "warm_up",
}  # fmt: skip


def __getattr__(name: str) -> object:
    """Load what needs PyTorch when it is first used."""
    if name not in _ON_TORCH:
        raise AttributeError(f"module 'residuum' has no attribute {name!r}")
    try:
        import residuum.losses as losses
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ResiduumError(
            f"`residuum.{name}` needs PyTorch: pip install 'residuum[learn]'"
        ) from None
    return getattr(losses, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_ON_TORCH})
