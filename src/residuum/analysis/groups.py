"""Boxes sorted by the cases that they meet: the guards that are decided on them, and how."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, final

import numpy as np

from residuum.analysis.differences import Chosen
from residuum.analysis.expansions import Boxes, Polynomial, from_exact, quotient_from_exact
from residuum.analysis.pieces import Branch, Leaf, Node, Tree
from residuum.analysis.signs import Pair
from residuum.analysis.slabs import Slabs
from residuum.analysis.truncated import Function

MOST_UNDECIDED = 3
"""A box on which it takes more undecided guards to tell cases apart is too open to do so."""

MOST_COMPARED = 8
"""The same where all that is asked is how far cases differ."""

Domain = Boxes | Slabs


class Group(NamedTuple):
    """Boxes on which the same guards are positive (1), negative (−1) and undecided (0).

    No more guards are looked at once more than `most` are undecided.
    """

    start: Node
    which: Any
    signs: Mapping[str, int]
    undecided: Mapping[str, Function]
    most: int = MOST_UNDECIDED

    @property
    def is_too_open(self) -> bool:
        """Whether too many guards are undecided."""
        return len(self.undecided) > self.most


@final
class Cases:
    """A tree of cases with its polynomials in floats, each made once; guards are numbered."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._guards: dict[str, int] = {}
        self._quotients: dict[Leaf, tuple[Polynomial, Polynomial]] = {}
        self._numbers: dict[Node, int] = {tree.root: 0}
        self._reached: dict[Any, list[tuple[Mapping[str, int], Leaf]]] = {}
        self._tables: dict[Any, tuple[Sequence[str], Mapping[Chosen, Leaf]] | None] = {}
        self.guards: list[Polynomial] = []
        self.nodes: list[Node] = [tree.root]
        self.largest = 1

    def number(self, node: Node) -> int:
        """Return the place of a node in `nodes`."""
        if node not in self._numbers:
            self._numbers[node] = len(self.nodes)
            self.nodes.append(node)
        return self._numbers[node]

    def guard_number(self, name: str) -> int:
        """Return the place in `guards` of one that was met."""
        return self._guards[name]

    def _guard(self, branch: Branch) -> Polynomial:
        if branch.name not in self._guards:
            self._guards[branch.name] = len(self.guards)
            self.guards.append(self._noted(from_exact(branch.guard)))
        return self.guards[self._guards[branch.name]]

    def quotient(self, leaf: Leaf) -> tuple[Polynomial, Polynomial]:
        """Return the numerator and the denominator of a case."""
        if leaf not in self._quotients:
            pair = quotient_from_exact(leaf.numerator, leaf.denominator)
            self._quotients[leaf] = self._noted(pair[0]), self._noted(pair[1])
        return self._quotients[leaf]

    def _noted(self, polynomial: Polynomial) -> Polynomial:
        self.largest = max(self.largest, polynomial.coefficients.size)
        return polynomial

    def excluded(self, names: Sequence[str]) -> dict[tuple[int, int], Collection[Pair]]:
        """Return the signs that each pair of guards never has at once, anywhere."""
        return {
            (i, j): self._tree.exclude(names[i], names[j])
            for i, j in itertools.combinations(range(len(names)), 2)
        }

    def groups(self, boxes: Domain, starts: Any, most: Any = MOST_UNDECIDED) -> list[Group]:
        """Sort boxes by the guards that are decided on them, as long as at `most` so many are not.

        Groups that wait for the same guard have it expanded together: few large arrays are faster.
        """
        found: list[Group] = []
        pending = [
            Group(self.nodes[number], which, _signs_above(self.nodes[number]), {}, limit)
            for number, limit in itertools.product(np.unique(starts), np.unique(most))
            if len(which := np.flatnonzero((starts == number) & (most == limit)))
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

    def _split(self, boxes: Domain, branch: Branch, groups: list[Group]) -> list[Group]:
        """Divide groups by the sign of a guard."""
        which = np.concatenate([group.which for group in groups])
        guard = boxes.of(which).expand(self._guard(branch))
        decided = guard.decided()
        found = []
        first = 0
        for group in groups:
            here = decided[first : first + len(group.which)]
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
        """Return the signs of guards, with those that follow from others wherever they are.

        Where guards touch at an edge, and one is decided, the other may not be by itself on any
        box that reaches the edge.
        """
        known = dict(signs)
        decided = [name for name, sign in known.items() if sign]
        for one in decided:  # grows by what follows
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

    def _descended(self, group: Group) -> Node:
        node = group.start
        while isinstance(node, Branch) and group.signs.get(node.name):
            node = self._tree.child(node, group.signs[node.name] > 0)
        return node

    def reached(self, group: Group) -> list[Leaf]:
        """Return the cases that signs of the undecided guards lead to."""
        return list(dict.fromkeys(leaf for _, leaf in self._paths(group)))

    def table(self, group: Group) -> tuple[Sequence[str], Mapping[Chosen, Leaf]] | None:
        """Return undecided guards that tell which case it is, and the case for each of their signs.

        There may be fewer than are undecided; if it takes too many, return nothing. Signs that the
        guards never have lead to any of the cases.
        """
        key = group.start, frozenset(group.signs.items())
        if key not in self._tables:
            self._tables[key] = _table(self._paths(group), list(group.undecided))
        return self._tables[key]

    def _paths(self, group: Group) -> list[tuple[Mapping[str, int], Leaf]]:
        """Return the signs with which cases are reached; what follows from others is among them."""
        key = group.start, frozenset(group.signs.items())
        if key not in self._reached:
            found = []
            pending = [(group.start, group.signs)]
            while pending:
                node, signs = pending.pop()
                if isinstance(node, Leaf):
                    found.append((signs, node))
                    continue
                for side in _SIDES[signs[node.name]]:
                    inferred = self._inferred({**signs, node.name: 1 if side else -1})
                    pending.append((self._tree.child(node, side), inferred))
            self._reached[key] = found
        return self._reached[key]


def _table(
    paths: Sequence[tuple[Mapping[str, int], Leaf]], names: Sequence[str]
) -> tuple[Sequence[str], Mapping[Chosen, Leaf]] | None:
    """Return the fewest guards that differ between any two paths to different cases, and a table.

    Wherever the guards chosen have some signs, so they do on the path of the case there; another
    case would differ from it in one of them.
    """
    apart = {
        frozenset(name for name in names if one[name] * other[name] < 0)
        for (one, leaf), (other, another) in itertools.combinations(paths, 2)
        if leaf is not another
    }
    for size in range(MOST_UNDECIDED + 1):
        for chosen in itertools.combinations(names, size):
            if all(not differ.isdisjoint(chosen) for differ in apart):
                return chosen, _cases(paths, chosen)
    return None


def _cases(
    paths: Sequence[tuple[Mapping[str, int], Leaf]], names: Sequence[str]
) -> dict[Chosen, Leaf]:
    """Return the case for each choice of signs: of the path that differs from it in the fewest."""
    found = {}
    for sides in itertools.product((False, True), repeat=len(names)):
        wanted = dict(zip(names, (1 if side else -1 for side in sides), strict=True))
        _, found[sides] = min(
            paths, key=lambda path: sum(path[0][name] * sign < 0 for name, sign in wanted.items())
        )
    return found


_SIDES: Mapping[int, tuple[bool, ...]] = {1: (True,), -1: (False,), 0: (False, True)}


def _signs_above(node: Node) -> dict[str, int]:
    """Return the signs of guards that lead to a case which others divide."""
    above = node.signs.items() if isinstance(node, Branch) else ()
    return {name: 1 if positive else -1 for name, positive in above}
