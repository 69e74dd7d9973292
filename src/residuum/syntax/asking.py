"""The functions of `logic` that take a formula, so that they take its text as well."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

from residuum import logic
from residuum.logic import Formula, Node
from residuum.syntax.parsing import parse

P = ParamSpec("P")
R = TypeVar("R")


def _of_text(
    question: Callable[Concatenate[Formula, P], R],
) -> Callable[Concatenate[str | Formula, P], R]:
    @functools.wraps(question)
    def ask(formula: str | Formula, *args: P.args, **kwargs: P.kwargs) -> R:
        read = formula if isinstance(formula, Node) else parse(formula)
        return question(read, *args, **kwargs)

    return ask  # type: ignore[return-value]  # its first parameter keeps its name


atoms_of = _of_text(logic.atoms_of)
depth = _of_text(logic.depth)
evaluate = _of_text(logic.evaluate)
expand = _of_text(logic.expand)
free_variables = _of_text(logic.free_variables)
is_satisfiable = _of_text(logic.is_satisfiable)
is_tautology = _of_text(logic.is_tautology)
negation_normal_form = _of_text(logic.negation_normal_form)
render = _of_text(logic.render)
size = _of_text(logic.size)
substitute = _of_text(logic.substitute)
