"""residuum: one formula, many meanings.

Rules stated in first-order logic, read under Boolean logic and under any t-norm relaxation.

`__all__` lists the names that most programs need. Everything else is imported from its package,
such as `residuum.syntax.depth` or `residuum.losses.reductions`.
"""

from typing import TYPE_CHECKING

from residuum import errors
from residuum.doors import door
from residuum.errors import ResiduumError
from residuum.logic import (
    FALSE,
    TRUE,
    And,
    Application,
    Arithmetic,
    Atom,
    Comparison,
    Constant,
    Exists,
    Forall,
    Formula,
    Iff,
    Implies,
    Not,
    Number,
    Or,
    Variable,
    Verdict,
    at_least,
    at_most,
    atoms,
    exactly,
)
from residuum.relaxations import (
    Degree,
    Generated,
    Relaxation,
    register,
    relaxation,
    relaxation_names,
    truth,
)
from residuum.syntax import (
    Knowledge,
    Quantity,
    atoms_of,
    evaluate,
    expand,
    free_variables,
    is_satisfiable,
    is_tautology,
    load,
    loads,
    negation_normal_form,
    parse,
    render,
    substitute,
)

if TYPE_CHECKING:
    from residuum.analysis.consistency import consistency, self_consistency
    from residuum.analysis.gradients import gradients
    from residuum.analysis.properties import properties
    from residuum.analysis.results import Consistency
    from residuum.checks import RuleCheck, Shortcuts, check, shortcuts
    from residuum.circuits import load_circuit
    from residuum.losses import (
        Assessment,
        CompiledKnowledge,
        CompiledRule,
        Members,
        Pairs,
        Theory,
        Violation,
        concatenated,
        piecewise_constant,
        ramp,
        warm_up,
    )
    from residuum.losses.circuit_loss import CircuitLoss
    from residuum.losses.compile import compile  # noqa: A004
    from residuum.losses.facts import facts

__version__ = "0.2.0"

# docs/reference/api.md says in the same groups what each name is.
__all__ = [  # noqa: RUF022  # grouped by what the names are for
    # Rules as losses
    "compile", "CompiledRule", "CompiledKnowledge", "Violation", "CircuitLoss",
    "facts", "Theory", "Assessment", "Members", "Pairs", "concatenated", "ramp",
    "piecewise_constant", "warm_up",
    # Rule files
    "load", "loads", "Knowledge", "Quantity", "check", "RuleCheck", "shortcuts", "Shortcuts",
    "load_circuit",
    # Formulas and terms
    "parse", "render", "atoms", "Formula", "TRUE", "FALSE", "Atom", "Not", "And", "Or", "Implies",
    "Iff", "Forall", "Exists", "at_least", "at_most", "exactly", "Comparison", "Variable",
    "Constant", "Number", "Application", "Arithmetic",
    # Questions about formulas
    "evaluate", "is_tautology", "is_satisfiable", "Verdict", "atoms_of", "free_variables",
    "substitute", "expand", "negation_normal_form",
    # Relaxations
    "truth", "relaxation", "relaxation_names", "Relaxation", "register", "Generated", "Degree",
    # Analysis of relaxations
    "consistency", "self_consistency", "Consistency", "gradients", "properties",
    # Errors
    "ResiduumError", "errors",
]  # fmt: skip

_ON_TORCH = {
    **dict.fromkeys(("Assessment", "Theory"), "residuum.losses.theory"),
    **dict.fromkeys(("Members", "concatenated"), "residuum.losses.relations.members"),
    **dict.fromkeys(("piecewise_constant", "ramp", "warm_up"), "residuum.losses.schedules"),
    "CircuitLoss": "residuum.losses.circuit_loss",
    "CompiledKnowledge": "residuum.losses.knowledge",
    "CompiledRule": "residuum.losses.rules",
    "Pairs": "residuum.losses.relations.pairs",
    "Violation": "residuum.losses.questions.violations",
    "compile": "residuum.losses.compile",
    "facts": "residuum.losses.facts",
}
_LATER = {
    **dict.fromkeys(
        ("Consistency", "consistency", "gradients", "properties", "self_consistency"),
        "residuum.analysis",
    ),
    **dict.fromkeys(("RuleCheck", "Shortcuts", "check", "shortcuts"), "residuum.checks"),
    "load_circuit": "residuum.circuits",
    **_ON_TORCH,
}
_find = door(__name__, _LATER)


def __getattr__(name: str) -> object:
    """Load what is not needed at once, such as losses, which need PyTorch."""
    try:
        return _find(name)
    except ModuleNotFoundError as error:
        if error.name != "torch" or name not in _ON_TORCH:
            raise
        raise ResiduumError(
            f"`residuum.{name}` needs PyTorch: pip install 'residuum[learn]'"
        ) from None


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
