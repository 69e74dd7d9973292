"""Nodes: what terms and formulas are made of, each distinct one built once, and the fold.

A *fold* computes a result for every node from the results of its children. It is the one way to
walk a formula. It visits each distinct node once and keeps its own stack, so that a formula that
shares its parts costs its number of distinct nodes, and deep formulas meet no recursion limit.
Anything with a `kind` and `children` can be folded: terms and formulas, whose kind is their class,
and the phrases of a parsed text, whose kind is a word.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, NoReturn, Protocol, TypeVar, cast
from weakref import WeakValueDictionary

from residuum.errors import UnsupportedNodeError


class Node:
    """An immutable term or formula. Equal nodes are the same object, so that comparing is fast.

    A subclass lists its fields in `__match_args__`. `children` are the nodes among the fields, in
    the order of the text. `sort` says where a node may stand: "term", "formula", or
    "either" for what may be a formula or a guard: comparisons, `true` and `false`.
    """

    __slots__ = ("__weakref__", "children", "sort")
    __match_args__: tuple[str, ...] = ()

    children: tuple[Node, ...]
    sort: str

    @classmethod
    def sort_with(cls, children: tuple[Node, ...]) -> str:
        """Return the sort of a node with these children, or raise if they do not fit."""
        raise NotImplementedError

    @property
    def kind(self) -> type[Node]:
        """The class of the node, by which `fold` chooses a case."""
        return type(self)

    def __str__(self) -> str:
        from residuum.logic.printing import render

        return render(self)

    def __format__(self, style: str) -> str:
        from residuum.logic.printing import render

        return render(self, style or "ascii")

    def __repr__(self) -> str:
        from residuum.logic.printing import summarise

        return summarise(self)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable; build a new one instead")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable; build a new one instead")

    def __copy__(self) -> Node:
        return self

    def __deepcopy__(self, memo: object) -> Node:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (_flatten(self),)


N = TypeVar("N", bound=Node)

_table: WeakValueDictionary[tuple[object, ...], Node] = WeakValueDictionary()
_lock = threading.RLock()


def intern(kind: type[N], *fields: object) -> N:
    """Return the only node of this class with these fields, which is built if it does not exist."""
    key = (kind, *fields)
    with _lock:
        known = _table.get(key)
        if known is not None:
            return cast("N", known)
        children = _nodes_among(fields)
        sort = kind.sort_with(children)
        node = object.__new__(kind)
        for name, value in zip(kind.__match_args__, fields, strict=True):
            object.__setattr__(node, name, value)
        object.__setattr__(node, "children", children)
        object.__setattr__(node, "sort", sort)
        return cast("N", _table.setdefault(key, node))


def _nodes_among(fields: tuple[object, ...]) -> tuple[Node, ...]:
    found: list[Node] = []
    for field in fields:
        if isinstance(field, Node):
            found.append(field)
        elif isinstance(field, tuple):
            found += [item for item in field if isinstance(item, Node)]
    return tuple(found)


def replace_children(node: N, children: tuple[Node, ...]) -> N:
    """Return a node like this one with other children in the same places."""
    if children == node.children:
        return node
    remaining = iter(children)
    return intern(type(node), *(_refill(getattr(node, f), remaining) for f in node.__match_args__))


def _refill(field: object, remaining: Any) -> object:
    if isinstance(field, Node):
        return next(remaining)
    if isinstance(field, tuple):
        return tuple(next(remaining) if isinstance(item, Node) else item for item in field)
    return field


class Foldable(Protocol):
    """What a fold needs of a node. Equal nodes must be interchangeable."""

    @property
    def kind(self) -> Any:
        """The key by which a case is chosen."""
        ...

    @property
    def children(self) -> Iterable[Any]:
        """The nodes below this one, in order. The case gets their results."""
        ...


R = TypeVar("R")
Case = Callable[[Any, Sequence[R]], R]
ScopedCase = Callable[[Any, Sequence[R], Any], R]
Descend = Callable[[Any, Any], Sequence[tuple[Any, Hashable]]]


def fold(root: Foldable, cases: Mapping[Any, Case[R]], *, default: Case[R] | None = None) -> R:
    """Return the result for `root`. That of a node is `cases[kind](node, results_of_children)`.

    `default` is the case of all other kinds. Without it they raise UnsupportedNodeError.
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
    """Return the result for `root` where results depend on a scope, such as the bound variables.

    `descend(node, scope)` gives the nodes to visit below a node, each with its scope. A case is
    called with the node, the results of those nodes, and the node's own scope. A node is visited
    once for each scope.
    """

    def visit(node: Foldable, results: Sequence[R], around: Any) -> R:
        case = cases.get(node.kind, default)
        return _refuse(node) if case is None else case(node, results, around)

    return _walk(root, visit, scope, descend)


def _refuse(node: Foldable) -> NoReturn:
    name = getattr(node.kind, "__name__", node.kind)
    raise UnsupportedNodeError(
        f"this fold has no case for {name}: {node!r}; add one to its cases, or a default"
    )


def _every_child(node: Foldable, scope: Hashable) -> Sequence[tuple[Any, Hashable]]:
    return [(child, scope) for child in node.children]


def _walk(
    root: Foldable, visit: ScopedCase[R], scope: Hashable, descend: Descend = _every_child
) -> R:
    done: dict[tuple[Any, Hashable], R] = {}
    # A node is on the stack first without its parts, then with them, until they are done.
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


# Pickling goes through a flat list of distinct nodes, children first. The default would recurse
# once for each level of depth, and would build copies of nodes that already exist.


class _Index(int):
    """The place of an earlier node in the flat list."""


def _flatten(root: Node) -> list[tuple[object, ...]]:
    entries: list[tuple[object, ...]] = []
    index: dict[Node, _Index] = {}

    def encode(field: object) -> object:
        if isinstance(field, Node):
            return index[field]
        if isinstance(field, tuple) and any(isinstance(item, Node) for item in field):
            return tuple(index[item] for item in field)
        return field

    def visit(node: Node, _: object) -> None:
        index[node] = _Index(len(entries))
        entries.append((type(node), *(encode(getattr(node, f)) for f in node.__match_args__)))

    fold(root, {}, default=visit)
    return entries


def _restore(entries: list[tuple[object, ...]]) -> Node:
    nodes: list[Node] = []

    def decode(field: object) -> object:
        if isinstance(field, _Index):
            return nodes[field]
        if isinstance(field, tuple) and any(isinstance(item, _Index) for item in field):
            return tuple(nodes[item] for item in cast("tuple[_Index, ...]", field))
        return field

    for kind, *fields in entries:
        nodes.append(intern(cast("type[Node]", kind), *map(decode, fields)))
    return nodes[-1]
