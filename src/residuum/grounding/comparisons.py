"""Comparisons of quantities: what may stand in them, and which scale they have."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from residuum.errors import GroundingError, suggest
from residuum.grounding.signatures import Signature, quantities_in
from residuum.logic import (
    Application,
    Arithmetic,
    Atom,
    Comparison,
    Constant,
    Formula,
    Node,
    Term,
    Variable,
    distinct_nodes,
)
from residuum.logic.terms import ABSOLUTE, Number
from residuum.syntax.knowledge import SMALLEST_SCALE


def refuse_numbers(term: Term, where: Atom) -> None:
    """Raise for a number with decimals among the arguments of an atom or a quantity."""
    for node in distinct_nodes(term):
        if isinstance(node, Number):
            raise GroundingError(
                f"`{where}`: expected members of domains as arguments, got {node}; numbers with "
                "decimals stand only in comparisons of quantities"
            )


def refuse_quantities(guard: Formula, signature: Signature, bound: Collection[str]) -> None:
    """Raise for a guard that compares quantities or numbers with decimals."""
    for node in distinct_nodes(guard):
        if not isinstance(node, Comparison):
            continue
        if quantities_in(node, signature.quantities, bound) or _has_decimals(node):
            raise GroundingError(
                f"the guard `{node}`: expected members of domains, got numbers that come with the "
                "data; write the comparison into the body, as in `Age(x) >= 18 -> Adult(x)`"
            )


def _has_decimals(comparison: Comparison) -> bool:
    return any(isinstance(node, Number) for node in distinct_nodes(comparison))


def smoothing_of(
    comparison: Comparison,
    uses: Mapping[Atom, Term],
    signature: Signature,
    bound: Collection[str],
) -> tuple[float, str]:
    """Return the scale and the smoothing of a comparison: those of its coarsest quantity.

    Raises GroundingError if there are several, or if the comparison cannot be computed.
    """
    if not uses:
        raise GroundingError(_no_quantity(comparison, signature, bound))
    _refuse_what_has_no_value(comparison, set(uses.values()), signature, bound)
    found = [signature.quantities[use.predicate] for use in uses]
    smoothings = sorted({one.smoothing for one in found if one.scale > 0})
    if len(smoothings) > 1:
        raise GroundingError(
            f"`{comparison}`: expected quantities with one smoothing, got "
            f"{' and '.join(smoothings)}; declare them alike"
        )
    return max(one.scale for one in found), (smoothings or ["logistic"])[0]


def _no_quantity(comparison: Comparison, signature: Signature, bound: Collection[str]) -> str:
    known = {*bound, *signature.functions, *signature.quantities, ABSOLUTE}
    for node in distinct_nodes(comparison):
        match node:
            case Variable(name) | Application(name) if name not in known:
                is_equation = comparison.operator in ("=", "!=")
                return (
                    f"`{comparison}`: nothing is known of the scale of `{name}`; if it is a "
                    "quantity, say in its own units how large a difference counts: "
                    f"quantities={{{name!r}: 2.0}}, or in a rule file `quantity {name} … scale 2`."
                    + suggest(name, signature.quantities)
                    + (" Formulas are equivalent by `<->`." if is_equation else "")
                )
    return (
        f"`{comparison}` compares no quantity; members of domains are compared in a guard: write "
        f"`where {comparison}`"
    )


def _refuse_what_has_no_value(
    comparison: Comparison, uses: Collection[Node], signature: Signature, bound: Collection[str]
) -> None:
    """Raise for a term of a comparison that is no number, or that can be divided by zero."""
    for term in computed_terms(comparison, uses):
        if is_integral(term, uses):
            _refuse_text(comparison, term, signature, bound)
            continue
        match term:
            case Application(name) if name == ABSOLUTE and name in signature.functions:
                raise GroundingError(
                    f"`{comparison}`: `{name}` is the absolute value here, and a function of "
                    "yours has the same name; rename the function"
                )
            case Application(name, arguments) if name != ABSOLUTE or len(arguments) != 1:
                raise GroundingError(
                    f"`{comparison}`: `{term}` is no number; quantities and decimals stand in "
                    "sums, products and `abs(…)`"
                )
            case Arithmetic("mod" | "div" as symbol):
                raise GroundingError(
                    f"`{comparison}`: `{symbol}` is for integers, got `{term}`; use `/`"
                )
            case Arithmetic("/", _, right) if not _can_divide(right):
                raise GroundingError(
                    f"`{comparison}`: expected a number to divide by, such as 2.5, got `{right}`, "
                    "which may be 0; multiply the other side by it"
                )


def computed_terms(comparison: Comparison, uses: Collection[Node]) -> Iterator[Term]:
    """Yield the distinct terms that are computed from quantities, and what they are made of.

    Terms about members of domains alone are yielded as a whole, and quantities are not.
    """
    seen: set[Node] = set()
    stack: list[Node] = [comparison.left, comparison.right]
    while stack:
        term = stack.pop()
        if term not in seen and term not in uses:
            seen.add(term)
            assert isinstance(term, Term)
            yield term
            if not is_integral(term, uses):
                stack.extend(term.children)


def is_integral(term: Node, uses: Collection[Node]) -> bool:
    """Return whether a term is about members of domains alone, without quantities and decimals."""
    for node in distinct_nodes(term):
        if node in uses or isinstance(node, Number):
            return False
        if isinstance(node, Application) and node.function == ABSOLUTE:
            return False
        if isinstance(node, Arithmetic) and node.operator == "/":
            return False
    return True


def _can_divide(term: Term) -> bool:
    if not isinstance(term, Constant | Number) or isinstance(term.value, str):
        return False
    return abs(term.value) >= SMALLEST_SCALE


def _refuse_text(
    comparison: Comparison, term: Node, signature: Signature, bound: Collection[str]
) -> None:
    for node in distinct_nodes(term):
        match node:
            case Constant(str()):
                raise GroundingError(
                    f"`{comparison}`: expected numbers, got the label {node}; compare quantities "
                    "with numbers"
                )
            case Variable(name) if name not in bound:
                raise GroundingError(_no_quantity(comparison, signature, bound))
