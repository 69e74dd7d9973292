"""The one traversal: memoised, stack-based, children before parents.

Anything with a `kind` and `children` can be folded: terms and formulas, whose kind is their
class, and the phrases of a parsed text, whose kind is a word. Each distinct node is visited
once, so a formula that shares its parts costs its number of *distinct* nodes, and depth is
bounded by memory, not by Python's recursion limit.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, NoReturn, Protocol, TypeVar

from residuum.errors import UnsupportedNodeError


class Foldable(Protocol):
    """What a fold needs of a node; equal nodes must be interchangeable."""

    @property
    def kind(self) -> Any:
        """What the case is chosen by."""
        ...

    @property
    def children(self) -> Iterable[Any]:
        """The nodes whose results the case is given, in order."""
        ...


R = TypeVar("R")
Case = Callable[[Any, Sequence[R]], R]
ScopedCase = Callable[[Any, Sequence[R], Any], R]
Descend = Callable[[Any, Any], Sequence[tuple[Any, Hashable]]]


def fold(root: Foldable, cases: Mapping[Any, Case[R]], *, default: Case[R] | None = None) -> R:
    """Return the result for `root`, where `cases[kind](node, results_of_children)` gives each one.

    A kind without a case goes to `default`; without one, UnsupportedNodeError.
    """

    def visit(node: Foldable, results: Sequence[R], _: None) -> R:
        case = cases.get(node.kind, default)
        return _refuse(node) if case is None else case(node, results)

    return _walk(root, visit, None)


def fold_scoped(
    root: Foldable,
    cases: Mapping[Any, ScopedCase[R]],
    *,
    scope: Hashable,
    descend: Descend,
    default: ScopedCase[R] | None = None,
) -> R:
    """Fold where meaning depends on what encloses a node, such as the variables bound there.

    `descend(node, scope)` gives the parts to visit below a node and the scope of each. Cases are
    given the node, the results of those parts and the node's own scope; memoisation is by node
    and scope.
    """

    def visit(node: Foldable, results: Sequence[R], around: Any) -> R:
        case = cases.get(node.kind, default)
        return _refuse(node) if case is None else case(node, results, around)

    return _walk(root, visit, scope, descend)


def _refuse(node: Foldable) -> NoReturn:
    name = getattr(node.kind, "__name__", node.kind)
    raise UnsupportedNodeError(f"this pass has no case for {name}: {node!r}")


def _every_child(node: Foldable, scope: Hashable) -> Sequence[tuple[Any, Hashable]]:
    return [(child, scope) for child in node.children]


def _walk(
    root: Foldable, visit: ScopedCase[R], scope: Hashable, descend: Descend = _every_child
) -> R:
    done: dict[tuple[Any, Hashable], R] = {}
    # An entry waits first for its parts to be listed, then for their results.
    stack: list[tuple[tuple[Any, Hashable], Sequence[tuple[Any, Hashable]] | None]]
    stack = [((root, scope), None)]
    while stack:
        entry, parts = stack.pop()
        if entry in done:
            continue
        node, around = entry
        if parts is None:
            parts = descend(node, around)
            waiting = [(part, None) for part in parts if part not in done]
            if waiting:
                stack.append((entry, parts))
                waiting.reverse()
                stack += waiting
                continue
        done[entry] = visit(node, [done[part] for part in parts], around)
    return done[root, scope]
