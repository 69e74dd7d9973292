"""Files of vtrees (`.vtree`): a binary tree over variables, which an SDD follows.

`vtree n` announces n nodes. `L i v` is a leaf, node i of variable v; `I i l r` is an inner node
with its left and its right child. Children come first, and the last node is the root.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from residuum.circuits.formats.lines import (
    Line,
    check_announced,
    check_literal,
    header_of,
    number_of_variables,
)


class Span(NamedTuple):
    """The variables below a node of a vtree: places in its order, without the last."""

    first: int
    last: int

    def within(self, other: Span) -> bool:
        """Return whether all these variables are among the other ones; none always are."""
        return self.first == self.last or (other.first <= self.first and self.last <= other.last)


@dataclass(frozen=True)
class Vtree:
    """A vtree: its variables from left to right, counted from 0, and the spans of its nodes.

    `spans[i]` has one span if node i is a leaf, and those of its left and right child if not.
    """

    order: list[int]
    spans: dict[int, tuple[Span, ...]]


def read_vtree(lines: list[Line]) -> Vtree:
    """Return the vtree of the lines of a file."""
    header = header_of(lines, "vtree", 1)
    nodes: dict[int, Line] = {}
    orphans: set[int] = set()
    for line in lines[1:]:
        _check_node(line, orphans)
        if line.numbers[0] in nodes:
            line.refuse("a new number for each node", str(line.numbers[0]))
        nodes[line.numbers[0]] = line
        orphans -= set(line.numbers[1:]) if line.word == "I" else set()
        orphans.add(line.numbers[0])
    check_announced(header, header.numbers[0], len(nodes), "nodes")
    if len(orphans) != 1:
        header.refuse("one node that is no child, the root", f"{len(orphans):,}")
    return _spanned(nodes, orphans.pop())


def _check_node(line: Line, orphans: set[int]) -> None:
    """Refuse a line that is no node of a tree; `orphans` are the nodes without a parent so far."""
    if (line.word, len(line.numbers)) not in (("L", 2), ("I", 3)):
        line.refuse("`L node variable` or `I node left right`")
    if line.word == "I":
        _, left, right = line.numbers
        if left == right or not {left, right} <= orphans:
            line.refuse("two nodes before this one that are no children yet", f"{left}, {right}")


def _spanned(nodes: dict[int, Line], root: int) -> Vtree:
    leaves = [line for line in nodes.values() if line.word == "L"]
    variables = number_of_variables(len(leaves), None)
    order: list[int] = []
    seen: set[int] = set()
    spans: dict[int, tuple[Span, ...]] = {}
    waiting = [(root, False)]
    while waiting:  # from left to right, a node before and after its children
        number, is_after = waiting.pop()
        line = nodes[number]
        if line.word == "L":
            check_literal(line, line.numbers[1], variables)
            if line.numbers[1] in seen or line.numbers[1] < 0:
                line.refuse("each variable in one leaf", str(line.numbers[1]))
            seen.add(line.numbers[1])
            order.append(line.numbers[1] - 1)
            spans[number] = (Span(len(order) - 1, len(order)),)
        elif is_after:
            left, right = (spans[child] for child in line.numbers[1:])
            spans[number] = (_hull(left), _hull(right))
        else:
            _, first, second = line.numbers
            waiting += [(number, True), (second, False), (first, False)]
    return Vtree(order, spans)


def _hull(spans: tuple[Span, ...]) -> Span:
    return Span(spans[0].first, spans[-1].last)
