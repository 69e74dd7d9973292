"""Nodes: what terms and formulas are made of, each distinct one built once, and the fold.

A *fold* computes a result for every node from the results of its children. It is the one way to
walk a formula. It visits each distinct node once and keeps its own stack, so that a formula that
shares its parts costs its number of distinct nodes, and deep formulas meet no recursion limit.
`fold_scoped` also folds the phrases of a parsed text, whose kind is a word.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, ClassVar, NoReturn, Protocol, TypeVar, cast
from weakref import WeakValueDictionary

from residuum.errors import UnsupportedNodeError


class Node:
    """An immutable term or formula. Equal nodes are the same object, so that comparing is fast.

    A subclass lists its fields in `__match_args__`. `children` are the nodes among the fields, in
    the order of the text. `kind` is the class, by which `fold` chooses a case. `quantifies` says
    whether a quantifier is among the node and all nodes below it.
    """

    __slots__ = ("__weakref__", "children", "quantifies")
    __match_args__: tuple[str, ...] = ()

    kind: ClassVar[type[Node]]
    is_quantifier: ClassVar[bool] = False
    children: tuple[Node, ...]
    quantifies: bool

    def __init_subclass__(cls) -> None:
        cls.kind = cls

    @classmethod
    def check(cls, children: tuple[Node, ...]) -> None:
        """Raise if a quantifier with these children is not allowed."""

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
        if kind.is_quantifier:
            kind.check(children)
        node = object.__new__(kind)
        for name, value in zip(kind.__match_args__, fields, strict=True):
            object.__setattr__(node, name, value)
        object.__setattr__(node, "children", children)
        quantifies = kind.is_quantifier or any(child.quantifies for child in children)
        object.__setattr__(node, "quantifies", quantifies)
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
    """What `fold_scoped` needs of a node. Equal nodes must be interchangeable."""

    @property
    def kind(self) -> Any:
        """The key by which a case is chosen."""
        ...


R = TypeVar("R")
Case = Callable[[Any, Sequence[R]], R]
ScopedCase = Callable[[Any, Sequence[R], Any], R]
Descend = Callable[[Any, Any], Sequence[tuple[Any, Hashable]]]


def distinct_nodes(root: Node) -> tuple[Node, ...]:
    """Return each distinct node of a formula once, children before parents, left before right."""
    found: dict[Node, None] = {}
    stack = [root]
    while stack:
        node = stack[-1]
        waiting = [child for child in node.children if child not in found]
        if waiting:
            waiting.reverse()
            stack += waiting
            continue
        stack.pop()
        found.setdefault(node)
    return tuple(found)


def fold(root: Node, cases: Mapping[Any, Case[R]], *, default: Case[R] | None = None) -> R:
    """Return the result for `root`. That of a node is `cases[kind](node, results_of_children)`.

    `default` is the case of all other kinds. Without it they raise UnsupportedNodeError.
    """
    done: dict[Node, R] = {}
    for node in distinct_nodes(root):
        case = cases.get(node.kind, default)
        if case is None:
            _refuse(node)
        done[node] = case(node, list(map(done.__getitem__, node.children)))
    return done[root]


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
            stack.append((entry, parts))
            for part in reversed(parts):
                if part not in done:
                    stack.append((part, None))
            continue
        case = cases.get(node.kind, default)
        if case is None:
            _refuse(node)
        done[entry] = case(node, list(map(done.__getitem__, parts)), around)
    return done[root, scope]


def _refuse(node: Foldable) -> NoReturn:
    name = getattr(node.kind, "__name__", node.kind)
    raise UnsupportedNodeError(
        f"this fold has no case for {name}: {node!r}; add one to its cases, or a default"
    )


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
