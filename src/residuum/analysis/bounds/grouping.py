"""Boxes grouped by the cases on them: which guards have a known sign there, and which sign."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, final

import numpy as np

from residuum.analysis.bounds.expansions import Boxes, Expansion, FloatPolynomial, in_floats
from residuum.analysis.cases.signs import SignPair
from residuum.analysis.cases.tree import Branch, Leaf, Tree, TreeNode

MOST_TRIED = 8
"""The most guards of unknown sign on a box that is bounded. Other boxes are only quartered."""

Sides = tuple[bool, ...]
"""Whether each of some guards is positive."""

CaseTable = Mapping[Sides, Leaf]
"""The case for each choice of signs of some guards."""


class Group(NamedTuple):
    """Boxes on which the same guards are positive (1), negative (−1) or undecided (0)."""

    start: TreeNode
    which: Any
    signs: Mapping[str, int]
    undecided: Mapping[str, Expansion]

    @property
    def is_too_open(self) -> bool:
        """Whether too many guards are undecided, so that the others were not tried."""
        return len(self.undecided) > MOST_TRIED


@final
class Cases:
    """A tree of cases with numbered nodes. Each polynomial is converted to floats once."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._floats: dict[Any, Sequence[FloatPolynomial]] = {}
        self._numbers: dict[TreeNode, int] = {tree.root: 0}
        self._tables: dict[Any, tuple[Sequence[str], CaseTable]] = {}
        self.nodes: list[TreeNode] = [tree.root]
        self.largest = 1

    def number(self, node: TreeNode) -> int:
        """Return the index of a node in `nodes`."""
        if node not in self._numbers:
            self._numbers[node] = len(self.nodes)
            self.nodes.append(node)
        return self._numbers[node]

    def quotient(self, leaf: Leaf) -> Sequence[FloatPolynomial]:
        """Return the numerator and the denominator of a case."""
        return self._in_floats(leaf, leaf.numerator, leaf.denominator)

    def _in_floats(self, key: Any, *exact: Any) -> Sequence[FloatPolynomial]:
        if key not in self._floats:
            self._floats[key] = in_floats(*exact)
            self.largest = max(self.largest, *(one.coefficients.size for one in self._floats[key]))
        return self._floats[key]

    def excluded(self, names: Sequence[str]) -> dict[tuple[int, int], Collection[SignPair]]:
        """Return the signs that each two of these guards never have at once."""
        return {
            (i, j): self._tree.exclude(names[i], names[j])
            for i, j in itertools.combinations(range(len(names)), 2)
        }

    def groups(self, boxes: Boxes, starts: Any) -> list[Group]:
        """Sort boxes by the signs of guards, from the node on in which each box lies.

        Groups that wait for the same guard have it expanded together: few large arrays are faster.
        """
        found: list[Group] = []
        pending = [
            Group(self.nodes[n], np.flatnonzero(starts == n), _signs_above(self.nodes[n]), {})
            for n in np.unique(starts)
        ]
        while pending:
            waiting: dict[str, tuple[Branch, list[Group]]] = {}
            for group in pending:
                branch = self._open_branch(group)
                if branch is None or group.is_too_open:
                    found.append(group._replace(start=self._descended(group)))
                else:
                    waiting.setdefault(branch.name, (branch, []))[1].append(group)
            pending = [
                part
                for branch, groups in waiting.values()
                for part in self._split(boxes, branch, groups)
            ]
        return found

    def _split(self, boxes: Boxes, branch: Branch, groups: list[Group]) -> list[Group]:
        """Divide groups by the sign of a guard."""
        which = np.concatenate([group.which for group in groups])
        guard = self._in_floats(branch.name, branch.guard)[0].expand(boxes.of(which))
        known = guard.signs()
        found, first = [], 0
        for group in groups:
            here = known[first : first + len(group.which)]
            for sign in (-1, 0, 1):
                inside = np.flatnonzero(here == sign)
                if len(inside):
                    undecided = {name: one.of(inside) for name, one in group.undecided.items()}
                    if sign == 0:
                        undecided[branch.name] = guard.of(first + inside)
                    signs = self._inferred({**group.signs, branch.name: sign})
                    undecided = {name: one for name, one in undecided.items() if not signs[name]}
                    part = group._replace(which=group.which[inside])
                    found.append(part._replace(signs=signs, undecided=undecided))
            first += len(group.which)
        return found

    def _inferred(self, signs: Mapping[str, int]) -> dict[str, int]:
        """Return the signs of guards, with those that follow because other pairs are excluded.

        Two guards may touch at an edge of the cube. No box at the edge decides the second one by
        itself, but the sign of the first one does.
        """
        known = dict(signs)
        decided = [name for name, sign in known.items() if sign]
        for one in decided:  # grows by the signs that follow
            for other in [name for name, sign in known.items() if not sign]:
                for sign, never in self._tree.exclude(one, other):
                    if sign == known[one]:
                        known[other] = -never
                        decided.append(other)
                        break
        return known

    def _open_branch(self, group: Group) -> Branch | None:
        """Return a branch that the group reaches and whose guard it has not tried."""
        pending = [group.start]
        while pending:
            node = pending.pop()
            if isinstance(node, Leaf):
                continue
            sign = group.signs.get(node.name)
            if sign is None:
                return node
            pending.extend(self._tree.child(node, side) for side in _SIDES[sign])
        return None

    def _descended(self, group: Group) -> TreeNode:
        node = group.start
        while isinstance(node, Branch) and group.signs.get(node.name):
            node = self._tree.child(node, group.signs[node.name] > 0)
        return node

    def table(self, group: Group) -> tuple[Sequence[str], CaseTable]:
        """Return the undecided guards that matter, and the case for each choice of their signs.

        Signs that the guards never have at once lead to a case that occurs for similar signs.
        """
        key = group.start, frozenset(group.signs.items())
        if key not in self._tables:
            names = list(group.undecided)
            table = {
                sides: self._case(group, self._possible(names, sides))
                for sides in itertools.product((False, True), repeat=len(names))
            }
            for place in reversed(range(len(names))):
                halves = [
                    {
                        (*s[:place], *s[place + 1 :]): leaf
                        for s, leaf in table.items()
                        if s[place] is side
                    }
                    for side in (False, True)
                ]
                if halves[0] == halves[1]:
                    table = halves[0]
                    del names[place]
            self._tables[key] = names, table
        return self._tables[key]

    def _possible(self, names: Sequence[str], sides: Sides) -> dict[str, int]:
        """Return the chosen signs, with those turned round that an earlier guard excludes."""
        signs = {name: 1 if side else -1 for name, side in zip(names, sides, strict=True)}
        for one, other in itertools.combinations(names, 2):
            if (signs[one], signs[other]) in self._tree.exclude(one, other):
                signs[other] = -signs[other]
        return signs

    def _case(self, group: Group, chosen: Mapping[str, int]) -> Leaf:
        signs, node = {**group.signs, **chosen}, group.start
        while isinstance(node, Branch):
            node = self._tree.child(node, signs[node.name] > 0)
        return node


_SIDES: Mapping[int, tuple[bool, ...]] = {1: (True,), -1: (False,), 0: (False, True)}


def _signs_above(node: TreeNode) -> dict[str, int]:
    """Return the signs of guards that lead to a branch."""
    above = node.signs.items() if isinstance(node, Branch) else ()
    return {name: 1 if positive else -1 for name, positive in above}
