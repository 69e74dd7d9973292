"""Hash-consing: equal nodes are the same object, so comparing and hashing cost nothing."""

from __future__ import annotations

import threading
from typing import Any, NoReturn, TypeVar, cast
from weakref import WeakValueDictionary

from residuum.logic.folding import fold


class Node:
    """An immutable node of a term or formula; built once for each distinct content.

    A subclass lists its fields in `__match_args__`; `children` are the nodes among them, in the
    order in which they are written. Equality is identity, because there is only one copy.
    `sort` says where a node may stand: "term", "formula", "guard" or, for `true` and `false`,
    "either" of the last two.
    """

    __slots__ = ("__weakref__", "children", "sort")
    __match_args__: tuple[str, ...] = ()

    children: tuple[Node, ...]
    sort: str

    @classmethod
    def sort_with(cls, children: tuple[Node, ...]) -> str:
        """Return the sort of such a node over these children, or raise if they do not fit."""
        raise NotImplementedError

    @property
    def kind(self) -> type[Node]:
        """What `fold` chooses the case by: the class."""
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
        raise AttributeError(f"{type(self).__name__} is immutable")

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
    """Return the one node of this class with these fields, building it if need be."""
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
    """Return a node like this one, with other children in the same places."""
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


# Pickling goes through a flat list of distinct nodes, children first: the default would recurse
# once for each level of depth, and would build copies beside the interned originals.


class _Index(int):
    """A reference to an earlier entry of the flat list."""


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
