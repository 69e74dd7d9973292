"""Degrees in a row, such as the groundings of a quantifier, which are counted one after another.

The degrees of a row are one `Degree`: each of its sides is a column of numbers, or a tensor with
one more dimension. `Row` is what a truth function of counting may do with them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Protocol, final

from residuum.relaxations.carriers import Carrier, Exact, Number
from residuum.relaxations.columns import Column, Columns
from residuum.relaxations.degrees import Degree, ordered, truth_of

if TYPE_CHECKING:
    from residuum.relaxations.tnorms import TNorm

Parts = tuple[Number, ...]
Combine = Callable[[Parts, Parts], Parts]


class Row(Protocol):
    """The degrees in a row."""

    @property
    def on(self) -> Carrier:
        """The carrier of single numbers."""
        ...

    def __len__(self) -> int: ...

    def constant(self, value: bool) -> Degree:
        """Return `true` or `false` as a degree of a count."""
        ...

    def total(self, numbers: Number) -> Number:
        """Return the sum of all numbers."""
        ...

    def log_total(self, logarithms: Number) -> Number:
        """Return the logarithm of the sum of numbers given by their logarithms."""
        ...

    def last(self, numbers: Number) -> Number:
        """Return the last number."""
        ...

    def before(self, numbers: Number, first: Exact) -> Number:
        """Return at each place the number before it, and `first` at the first place."""
        ...

    def running(self, parts: Parts, combine: Combine) -> Parts:
        """Return at each place the combination of all up to there; `combine` is associative."""
        ...

    def largest(self, numbers: Number, place: int) -> Number:
        """Return the number at a place of the descending order; the largest is at place 1."""
        ...

    def descending(self, x: Degree) -> Degree:
        """Return the degrees in descending order."""
        ...

    def conjoin(self, x: Degree, tnorm: TNorm) -> Degree:
        """Return the conjunction of all degrees."""
        ...


@final
class ListedRow:
    """A list of one or more degrees as a row."""

    def __init__(self, degrees: Sequence[Degree]) -> None:
        self.on = degrees[0].on
        self._length = len(degrees)
        self.degree = self._in_columns(degrees)

    def _in_columns(self, degrees: Sequence[Degree]) -> Degree:
        """Return the degrees as one, with the sides that all of them know: others are rounded."""
        known = [set(x.known_sides) for x in degrees]
        names = set.intersection(*known) or {"true", "false"}
        sides = {name: Column(getattr(x, name) for x in degrees) for name in names}
        return Degree(Columns(self.on, self._length), **sides)

    def _listed(self, x: Degree) -> list[Degree]:
        columns = {name: getattr(x, name).numbers for name in x.known_sides}
        return [
            Degree(self.on, **{name: numbers[place] for name, numbers in columns.items()})
            for place in range(self._length)
        ]

    def __len__(self) -> int:
        return self._length

    def constant(self, value: bool) -> Degree:
        return truth_of(self.on, value)

    def total(self, numbers: Number) -> Number:
        return reduce(lambda x, y: x + y, numbers.numbers)

    def log_total(self, logarithms: Number) -> Number:
        raise NotImplementedError(
            "columns hold no logarithms: only lazy carriers compute with them"
        )

    def last(self, numbers: Number) -> Number:
        return numbers.numbers[-1]

    def before(self, numbers: Number, first: Exact) -> Number:
        return Column([self.on.constant(first), *numbers.numbers[:-1]])

    def running(self, parts: Parts, combine: Combine) -> Parts:
        rows = zip(*(part.numbers for part in parts), strict=True)
        found = zip(*itertools.accumulate(rows, combine), strict=True)
        return tuple(Column(part) for part in found)

    def largest(self, numbers: Number, place: int) -> Number:
        remaining = list(numbers.numbers)
        found = None
        for _ in range(place):  # bubble sort: the largest number rises to the end
            found, *others = remaining
            remaining = []
            for number in others:
                remaining.append(self.on.minimum(found, number))
                found = self.on.maximum(found, number)
        return found

    def descending(self, x: Degree) -> Degree:
        found, names = self._listed(x), x.known_sides

        def choose(low: Number, high: Number, then: Degree, otherwise: Degree) -> Degree:
            sides = {name: (getattr(then, name), getattr(otherwise, name)) for name in names}
            chosen = {name: self.on.choose(low, high, *both) for name, both in sides.items()}
            return Degree(self.on, **chosen)

        for first, second in sorting_network(self._length):
            one, other = found[first], found[second]
            low, high = ordered(one, other)
            found[first] = choose(low, high, other, one)
            found[second] = choose(low, high, one, other)
        return self._in_columns(found)

    def conjoin(self, x: Degree, tnorm: TNorm) -> Degree:
        return tnorm.conjoin_all(self._listed(x))


def sorting_network(length: int) -> Iterator[tuple[int, int]]:
    """Yield the pairs of places to compare, in order: Batcher's odd-even merge sort.

    The pairs do not depend on the numbers, so that arrays are sorted element by element.
    """
    size = 1
    while size < length:
        gap = size
        while gap:
            for start in range(gap % size, length - gap, 2 * gap):
                for first in range(start, min(start + gap, length - gap)):
                    if first // (2 * size) == (first + gap) // (2 * size):
                        yield first, first + gap
            gap //= 2
        size *= 2
