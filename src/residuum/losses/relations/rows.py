"""The rows of a rule: the members for its outermost variables over open domains.

Rows are numbered and never listed as a whole: each block of rows, or sample of them, is computed
from its numbers. If the guard names observed relations, only their pairs are numbered.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from residuum.errors import GroundingError
from residuum.grounding.plans import Rows
from residuum.logic import And, Atom, Formula, Variable
from residuum.losses.relations.world import Columns, World
from residuum.losses.routes import thresholds


@dataclass(frozen=True)
class Numbered:
    """The numbered candidates for rows, and the guard that selects the rows among them.

    The candidates are all combinations of `listed`, the members that relations list together, with
    all members for each variable of `free`.
    """

    world: World
    domains: Mapping[str, str]
    listed: Columns
    free: Sequence[str]
    guard: Formula | None

    @property
    def count(self) -> int:
        """The number of candidates."""
        sizes = [self.world.sizes[self.domains[name]] for name in self.free]
        return math.prod([self._listed_count, *sizes])

    @property
    def _listed_count(self) -> int:
        return next((len(column) for column in self.listed.values()), 1)

    def at(self, numbers: Tensor) -> dict[str, Tensor]:
        """Return the rows among the candidates with these numbers, by the names of variables."""
        rest = numbers
        found = {}
        for name in reversed(self.free):
            size = self.world.sizes[self.domains[name]]
            found[name] = rest % size
            rest = rest // size
        found |= {name: column[rest] for name, column in self.listed.items()}
        ordered = {name: found[name] for name in self.domains}
        if self.guard is None:
            return ordered
        holds = self.world.holds(self.guard, self.domains, ordered).expand(numbers.shape)
        return {name: column[holds] for name, column in ordered.items()}

    def blocks(self, size: int) -> Iterator[Tensor]:
        """Yield the numbers of all candidates, at most `size` at a time."""
        count, device = self.count, self.world.device
        for start in range(0, count, size):
            yield torch.arange(start, min(start + size, count), device=device)

    def all(self) -> dict[str, Tensor]:
        """Return all rows."""
        return self.at(torch.arange(self.count, device=self.world.device))


def numbered(rows: Rows, world: World) -> Numbered:
    """Return the candidates for the rows of a rule."""
    domains = {axis.variable: axis.domain.name for axis in rows.variables}
    parts = _conjuncts(rows.guard)
    listed: dict[str, Tensor] = {}
    rest = []
    for part in parts:
        found = _listed_by(part, listed, world)
        if found is None:
            rest.append(part)
        else:
            listed = found
    free = [name for name in domains if name not in listed]
    return Numbered(world, domains, listed, free, And(*rest) if rest else None)


def _conjuncts(guard: Formula | None) -> list[Formula]:
    """Return the parts of a guard, relations first."""
    if guard is None:
        return []
    parts: list[Formula] = []
    stack = [guard]
    while stack:
        part = stack.pop()
        if isinstance(part, And):
            stack.extend(reversed(part.operands))
        else:
            parts.append(part)
    return sorted(parts, key=lambda part: not isinstance(part, Atom))


def _listed_by(part: Formula, listed: Columns, world: World) -> dict[str, Tensor] | None:
    """Return the members so far together with the pairs of a relation that fit them.

    Returns None if the part only selects among members that are listed or free.
    """
    if not isinstance(part, Atom):
        return None
    names = [term.name for term in part.arguments if isinstance(term, Variable)]
    if len(set(names)) < len(part.arguments) or all(name in listed for name in names):
        return None
    columns = dict(zip(names, world.relations[part.predicate].index.to(world.device), strict=True))
    shared = [name for name in names if name in listed]
    if not listed:
        return columns
    if not shared:
        return _crossed(listed, columns)
    return _joined(listed, columns, shared, world.device)


def _crossed(left: Columns, right: Columns) -> dict[str, Tensor]:
    ours, theirs = (len(next(iter(side.values()))) for side in (left, right))
    return {
        **{name: column.repeat_interleave(theirs) for name, column in left.items()},
        **{name: column.repeat(ours) for name, column in right.items()},
    }


def _joined(
    left: Columns, right: Columns, shared: Sequence[str], device: torch.device
) -> dict[str, Tensor]:
    """Return all combinations of two lists that agree on the variables that they share."""
    keys = torch.stack([torch.cat([left[name], right[name]]) for name in shared])
    _, numbers = keys.unique(dim=1, return_inverse=True)  # type: ignore[no-untyped-call]
    count = len(next(iter(left.values())))
    ours, theirs = numbers[:count], numbers[count:]
    theirs, order = theirs.sort(stable=True)
    first, last = torch.searchsorted(theirs, ours), torch.searchsorted(theirs, ours, right=True)
    matches = last - first
    mine = torch.arange(count, device=device).repeat_interleave(matches)
    within = torch.arange(len(mine), device=device) - (matches.cumsum(0) - matches)[mine]
    other = order[first[mine] + within]
    return {
        **{name: column[other] for name, column in right.items()},
        **{name: column[mine] for name, column in left.items()},
    }


def sampled(rows: Numbered, wanted: int) -> dict[str, Tensor]:
    """Return so many rows at random, each as likely as any other, and all rows if there are fewer.

    Few candidates are listed first, and drawn without repetition. From many, numbers are drawn
    until enough of them are rows.
    """
    if rows.count <= thresholds.MOST_ROWS_LISTED:
        whole = rows.all()
        count = _length(whole)
        if count <= wanted:
            return whole
        chosen = torch.randperm(count, device=rows.world.device)[:wanted]
        return {name: column[chosen] for name, column in whole.items()}
    found: list[dict[str, Tensor]] = []
    missing, draws = wanted, 0
    while missing > 0 and draws < thresholds.MOST_DRAWS:
        numbers = torch.randint(rows.count, (max(wanted, 1024),), device=rows.world.device)
        found.append(rows.at(numbers))
        missing -= _length(found[-1])
        draws += 1
    if missing > 0:
        raise GroundingError(
            f"groundings: expected {wanted:,} rows that the guard `{rows.guard}` selects, found "
            f"{wanted - missing:,} among {draws * max(wanted, 1024):,} at random; give the pairs "
            "by a relation, `where Link(x, y)`"
        )
    return {name: torch.cat([one[name] for one in found])[:wanted] for name in rows.domains}


def _length(columns: Columns) -> int:
    return next((len(column) for column in columns.values()), 1)
