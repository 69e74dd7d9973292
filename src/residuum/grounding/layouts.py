"""A plan for given sequence lengths: at which indices atoms are read, and which groundings count.

All of this is NumPy on integers, and is done once per shape. A layout holds indices and masks only:
functions, constants, arithmetic and guards have been evaluated.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NoReturn

import numpy as np

from residuum.errors import GroundingError
from residuum.grounding.plans import Axis, Guarded, Plan, Position, Quantify, Read
from residuum.limits import MOST_CALLS, MOST_ENTRIES
from residuum.logic import (
    And,
    Application,
    Arithmetic,
    Comparison,
    Constant,
    CountOf,
    Iff,
    Implies,
    Node,
    Not,
    Or,
    Term,
    Truth,
    Variable,
    fold,
    free_variables,
)
from residuum.logic.expansion import COMPARE, COMPUTE, text_with_numbers
from residuum.logic.terms import DIVISIONS, as_label
from residuum.syntax import Domain, Function

Array = Any

LARGEST_FACTOR: Final = 2**31
"""Products of integers below this fit into 64 bits. Larger ones are computed as Python `int`s."""


@dataclass(frozen=True)
class Entry:
    """How one dimension of a slot is read: one member, a range, or listed members along an axis.

    `index` lists the members, as an array or as a tensor on some device.
    """

    axis: int | None
    start: int
    length: int
    index: Any = None


@dataclass(frozen=True)
class Access:
    """How an atom reads its slot.

    `entries` has one `Entry` for each dimension, and None for the dimensions in `joint`. Those are
    read together: `index` holds their flat positions over the axes.
    """

    entries: tuple[Entry | None, ...]
    joint: tuple[int, ...]
    index: Array | None


@dataclass(frozen=True)
class Selection:
    """The groundings of a quantifier: the length of each axis, its first position, what counts.

    `mask` is None if all groundings count. `positions` are values of terms that must also stay
    below the lengths of the sequences in a batch.
    """

    lengths: tuple[int, ...]
    firsts: tuple[int, ...]
    mask: Array | None
    positions: tuple[Array, ...]


@dataclass(frozen=True)
class Layout:
    """The access or selection of each step that has one, and the least length of a sequence.

    `groundings` is the largest number of groundings that one step evaluates.
    """

    accesses: Mapping[int, Access]
    selections: Mapping[int, Selection]
    shortest: int
    groundings: int = 1


def lay_out(plan: Plan, lengths: Mapping[str, int]) -> Layout:
    """Return the layout of a plan for sequences of these lengths."""
    return _Layout(plan, lengths).run()


def values_over(plan: Plan, lengths: Mapping[str, int], term: Term, axes: Sequence[Axis]) -> Array:
    """Return the values of a term over its axes, for sequences of these lengths."""
    return _Layout(plan, lengths).values(term, axes)


class _Layout:
    def __init__(self, plan: Plan, lengths: Mapping[str, int]) -> None:
        self._plan = plan
        self._lengths = lengths
        self._functions = dict(plan.functions)
        self._windows = self._find_windows()

    def run(self) -> Layout:
        shortest = max([0, *(self._fixed(position) + 1 for position in self._plan.fixed)])
        accesses: dict[int, Access] = {}
        selections: dict[int, Selection] = {}
        sizes = [1] * self._plan.rank
        for number, step in enumerate(self._plan.steps):
            if isinstance(step, Read):
                accesses[number] = self._access(step)
            elif isinstance(step, Quantify):
                selections[number] = self._selection(step)
                for axis, length in zip(step.axes, selections[number].lengths, strict=True):
                    assert axis.dimension is not None
                    sizes[axis.dimension] = max(sizes[axis.dimension], length)
        return Layout(accesses, selections, shortest, math.prod(sizes))

    def _fixed(self, position: Position) -> int:
        place = int(self.values(position.term, ()).item())
        length = self._lengths[position.sequence]
        if not 0 <= place < length:
            raise GroundingError(
                f"`{position.term}` is no position of `{position.sequence}`, which has length "
                f"{length} here; give longer sequences, or a quantifier around it, which leaves it "
                "out"
            )
        return place

    def _find_windows(self) -> dict[Axis, tuple[int, int]]:
        """Return the positions that each variable takes, so that `i + 1` is read as a slice.

        If several quantifiers share an axis, its window covers all of theirs. Masks exclude the
        positions that one of them does not have.
        """
        windows: dict[Axis, tuple[int, int]] = {}
        for step in self._plan.steps:
            if not isinstance(step, Quantify):
                continue
            for axis in step.axes:
                if axis.domain.is_sequence:
                    first, last = windows.get(axis, (self._lengths[axis.domain.name], 0))
                    start, stop = self._window(axis, step)
                    windows[axis] = min(first, start), max(last, stop)
        return windows

    def _window(self, axis: Axis, step: Quantify) -> tuple[int, int]:
        shifts = [0]
        for term, axes, sequence in step.positions:
            if sequence != axis.domain.name:
                continue
            match term:
                case Arithmetic("+", Variable(), Constant(int(shift))) if axes == (axis,):
                    shifts.append(shift)
                case Arithmetic("-", Variable(), Constant(int(shift))) if axes == (axis,):
                    shifts.append(-shift)
        return max(0, -min(shifts)), self._lengths[axis.domain.name] - max(shifts)

    # Values of terms

    def _exceeds(self, axes: Iterable[Axis]) -> bool:
        """Return whether a table over these axes would have too many numbers."""
        sizes = (self._size(axis.domain) for axis in axes if axis.dimension is not None)
        return math.prod(sizes) > MOST_ENTRIES

    def _refuse(self, of: object, axes: Iterable[Axis]) -> NoReturn:
        varying = [axis for axis in axes if axis.dimension is not None]
        varying.sort(key=lambda axis: axis.dimension or 0)
        sizes = [(axis.variable, self._size(axis.domain)) for axis in varying]
        over = " × ".join(f"{variable} ({size:,})" for variable, size in sizes)
        raise GroundingError(
            f"{of}: expected a table of at most {MOST_ENTRIES:,} values, got one value for each of "
            f"{over}; give smaller domains, or fewer variables"
        )

    def _size(self, domain: Domain) -> int:
        return self._lengths[domain.name] if domain.labels is None else len(domain.labels)

    def _members(self, domain: Domain) -> Array:
        if domain.labels is None:
            return np.arange(self._lengths[domain.name])
        if isinstance(domain.labels, range):
            return _integers_between(domain.labels)
        if domain.is_numeric:
            return _integers(domain.labels)
        members = np.empty(len(domain.labels), dtype=object)
        members[:] = domain.labels
        return members

    def _along(self, axis: Axis) -> Array:
        assert axis.dimension is not None
        shape = [1] * self._plan.rank
        shape[axis.dimension] = -1
        members = self._members(axis.domain)
        if axis in self._windows:
            first, last = self._windows[axis]
            members = members[first : max(first, last)]
        return members.reshape(shape)

    def values(self, node: Node, axes: Sequence[Axis], counted: Array | None = None) -> Array:
        """Return the values of a term, or the truth of a guard, over its axes.

        A term needs no value in groundings that are not `counted`. It gets an arbitrary one there.
        """
        known = {axis.variable: axis for axis in axes}
        if self._exceeds(axes):
            used = [axis for axis in axes if axis.variable in free_variables(node)]
            if self._exceeds(used):
                self._refuse(f"`{node}`", used)
        return fold(
            node,
            {
                Variable: lambda term, _: self._along(known[term.name]),
                Constant: lambda term, _: self._constant(term.value),
                Arithmetic: lambda term, parts: _arithmetic(term, parts, counted),
                Application: lambda term, parts: self._apply(term, parts, counted),
                Comparison: lambda guard, parts: _compare(guard, *parts),
                Truth: lambda guard, _: np.full([1] * self._plan.rank, guard.value),
                Not: lambda _, parts: ~parts[0],
                And: lambda _, parts: _all(parts),
                Or: lambda _, parts: ~_all([~part for part in parts]),
                Implies: lambda _, parts: ~parts[0] | parts[1],
                Iff: lambda _, parts: parts[0] == parts[1],
                CountOf: _counts,
            },
        )

    def _constant(self, value: int | str) -> Array:
        single = np.empty([1] * self._plan.rank, dtype=object)
        single[...] = value
        return _integers(single) if isinstance(value, int) else single

    def _apply(self, term: Application, parts: Sequence[Array], counted: Array | None) -> Array:
        if term.function not in self._functions:
            raise GroundingError(
                f"expected values of function `{term.function}`, got none; pass functions={{"
                f"{term.function!r}: ...}} with a mapping or a Python function"
            )
        given = self._functions[term.function]
        shape = np.broadcast_shapes(*[part.shape for part in parts])
        if math.prod(shape) > MOST_CALLS:
            raise GroundingError(
                f"`{term}`: expected at most {MOST_CALLS:,} values of a function, but more are "
                "needed; give smaller domains, or fewer variables"
            )
        grids = np.broadcast_arrays(*parts)
        wanted = _counted_over(counted, grids[0].shape).ravel().tolist()
        calls = zip(wanted, *(grid.ravel().tolist() for grid in grids), strict=True)
        flat = [
            _value(given, term.function, tuple(arguments)) if is_wanted else None
            for is_wanted, *arguments in calls
        ]  # no label is None
        anything = next((value for value in flat if value is not None), 0)
        flat = [anything if value is None else value for value in flat]
        result = np.empty(len(flat), dtype=object)
        result[:] = flat
        shaped = result.reshape(grids[0].shape)
        return _integers(shaped) if all(isinstance(v, int) for v in flat) else shaped

    # Atoms

    def _access(self, step: Read) -> Access:
        slot = self._plan.slots[step.slot]
        fixed = [
            _place(term, domain) for term, domain in zip(step.terms, slot.domains, strict=True)
        ]
        if None not in fixed:  # large knowledge bases have many atoms of constants
            return Access(tuple([_member(place or 0) for place in fixed]), (), None)
        places = [
            self._places(term, domain, step)
            for term, domain in zip(step.terms, slot.domains, strict=True)
        ]
        varying = [{d for d, n in enumerate(place.shape) if n != 1} for place in places]
        entries: list[Entry | None] = []
        joint = []
        for number, place in enumerate(places):
            others = set().union(*(v for k, v in enumerate(varying) if k != number))
            if len(varying[number]) > 1 or varying[number] & others:
                joint.append(number)
                entries.append(None)
            else:
                entries.append(_entry(place, varying[number]))
        index = None
        if joint:
            dimensions = set().union(*(varying[number] for number in joint))
            used = [axis for axis in step.axes if axis.dimension in dimensions]
            if self._exceeds(used):
                self._refuse(f"the arguments of `{slot.name}`", used)
            index = np.zeros([1] * self._plan.rank, dtype=np.int64)
            for number in joint:
                index = index * self._size(slot.domains[number]) + places[number]
        return Access(tuple(entries), tuple(joint), index)

    def _places(self, term: Term, domain: Domain, step: Read) -> Array:
        """Return the index in the domain of each value of a term, over the axes."""
        held = [axis for axis in step.axes if any(axis in guarded.axes for guarded in step.guards)]
        if self._exceeds(held):
            self._refuse(f"the guards around `{term}`", held)
        counted = _all(
            [np.full([1] * self._plan.rank, True)]
            + [self._can_hold(guarded, step.axes) for guarded in step.guards]
        )
        values = self.values(term, step.axes, counted)
        places, outside = self._find(values, domain)
        if domain.labels is None or not outside.any():
            return places  # `_selection` excludes groundings with a position outside the sequence
        outside = outside & counted
        if outside.any():
            where = np.unravel_index(np.argmax(outside), outside.shape)
            spelt = ", ".join(
                f"{axis.variable} = {self._along(axis)[_at(self._along(axis), where)]}"
                for axis in step.axes
                if axis.dimension is not None and axis.variable in str(term)
            )
            found = as_label(np.broadcast_to(values, outside.shape)[where])
            twin = domain.twin_of(found)
            remedy = (
                "; guard the rule (`where …`), or give the predicate a larger domain of its own "
                "by predicates="
            )
            raise GroundingError(
                f"`{term}` is {found}{f' for {spelt}' if spelt else ''}, which is not in domain "
                f"{domain}{f'.{twin}' if twin else remedy}"
            )
        return places

    def _can_hold(self, guarded: Guarded, axes: Sequence[Axis]) -> Array:
        """Return over these axes whether a guard holds for some values of its other variables."""
        others = tuple(a.dimension for a in guarded.axes if a not in axes)
        return self._holds(guarded).any(axis=others, keepdims=True)

    def _find(self, values: Array, domain: Domain) -> tuple[Array, Array]:
        """Return the index of each value in the domain, or 0, and which values have none."""
        if domain.labels is None or _is_range(domain):
            first = domain.labels[0] if isinstance(domain.labels, range) else 0
            size = self._size(domain)
            if values.dtype == object and not all(isinstance(v, int) for v in values.flat):
                outside = np.ones(values.shape, dtype=bool)
            else:
                outside = ((values < first) | (values >= first + size)).astype(bool)
            return np.where(outside, 0, values - first if not outside.all() else 0).astype(
                np.int64
            ), outside
        assert domain.labels is not None
        found = [domain.place(value) for value in values.ravel().tolist()]
        flat = [-1 if place is None else place for place in found]
        places = np.array(flat, dtype=np.int64).reshape(values.shape)
        return np.maximum(places, 0), places < 0

    # Quantifiers

    def _selection(self, step: Quantify) -> Selection:
        masked = dict.fromkeys(() if step.guard is None else step.guard.axes)
        masked.update(dict.fromkeys(axis for _, axes, _ in step.positions for axis in axes))
        if self._exceeds(masked):
            self._refuse("a guard", masked)
        mask = None if step.guard is None else self._holds(step.guard)
        positions = []
        for term, axes, sequence in step.positions:
            values = self.values(term, axes, mask)
            positions.append(values)
            inside = (values >= 0) & (values < self._lengths[sequence])
            if not inside.all():
                mask = inside if mask is None else mask & inside
        if mask is not None and mask.all():
            mask = None
        lengths = tuple(self._along(axis).size for axis in step.axes)
        firsts = tuple(self._windows.get(axis, (0, 0))[0] for axis in step.axes)
        return Selection(lengths, firsts, mask, tuple(positions))

    def _holds(self, guarded: Guarded) -> Array:
        return self.values(guarded.guard, guarded.axes)


def _place(term: Term, domain: Domain) -> int | None:
    """Return the index of a constant in a domain, or None for any other term."""
    return domain.place(term.value) if isinstance(term, Constant) else None


@lru_cache(maxsize=1024)
def _member(place: int) -> Entry:
    return Entry(None, place, 1)


def _entry(place: Array, varying: set[int]) -> Entry:
    flat = place.ravel()
    axis = next(iter(varying), None)
    first = int(flat[0]) if flat.size else 0
    if axis is None:
        return _member(first)
    if (np.diff(flat) == 1).all():
        return Entry(axis, first, len(flat))
    return Entry(axis, first, len(flat), flat)


def _is_range(domain: Domain) -> bool:
    return isinstance(domain.labels, range) and domain.labels.step == 1


def _integers_between(labels: range) -> Array:
    """Return a range as an array, of Python `int`s if some of them are large."""
    if max(map(abs, (labels[0], labels[-1]))) >= LARGEST_FACTOR:
        return _integers(labels)
    return np.arange(labels.start, labels.stop, labels.step)


def _integers(values: Any) -> Array:
    listed = np.asarray(values, dtype=object)
    small = all(abs(v) < LARGEST_FACTOR for v in listed.flat)
    return listed.astype(np.int64) if small else listed


def _counted_over(counted: Array | None, shape: tuple[int, ...]) -> Array:
    """Return for each value of this shape whether a grounding with it counts."""
    if counted is None:
        return np.ones(shape, dtype=bool)
    others = tuple(d for d, n in enumerate(shape) if n == 1)
    return np.broadcast_to(counted.any(axis=others, keepdims=True), shape)


def _arithmetic(term: Arithmetic, parts: Sequence[Array], counted: Array | None) -> Array:
    left, right = parts
    for operand in (left, right):
        if operand.dtype == object and not all(isinstance(v, int) for v in operand.flat):
            raise GroundingError(
                f"`{term}`: expected integers, got labels; arithmetic needs a domain of integers"
            )
    if term.operator == "/":
        raise GroundingError(
            f"`{term}`: `/` divides quantities, and these are integers; write `div` for the "
            "quotient of floor division"
        )
    if term.operator in DIVISIONS:
        is_zero = np.asarray(right == 0)
        if (is_zero & _counted_over(counted, is_zero.shape)).any():
            raise GroundingError(
                f"`{term}`: the right-hand side of `{term.operator}` is zero; use another number, "
                "or a guard"
            )
        right = np.where(is_zero, 1, right)
    result = np.asarray(COMPUTE[term.operator](left, right))  # without axes it is a plain number
    largest = max(map(abs, (result.min(initial=0), result.max(initial=0))))
    return result.astype(object) if largest >= LARGEST_FACTOR else result


def _compare(guard: Comparison, left: Array, right: Array) -> Array:
    is_equation = guard.operator in ("=", "!=")
    if is_equation and left.size and right.size and _kinds(left).isdisjoint(_kinds(right)):
        raise GroundingError(text_with_numbers(guard))
    try:
        held = COMPARE[guard.operator](left, right)
    except TypeError:
        raise GroundingError(
            f"the guard `{guard}` cannot order labels and integers; compare numbers with numbers, "
            "or use = and !="
        ) from None
    return np.asarray(held, dtype=bool)


def _kinds(values: Array) -> set[type]:
    return {int} if values.dtype != object else set(map(type, values.flat))


def _all(parts: Sequence[Array]) -> Array:
    result = parts[0]
    for part in parts[1:]:
        result = result & part
    return result


def _counts(guard: CountOf, parts: Sequence[Array]) -> Array:
    found = sum(part.astype(np.int64) for part in parts)
    return np.vectorize(guard.count.holds, otypes=[bool])(found)


def _value(given: Any, name: str, arguments: tuple[Any, ...]) -> Any:
    if isinstance(given, Function):
        return given(*arguments)
    if isinstance(given, Mapping):
        key = arguments[0] if len(arguments) == 1 else arguments
        if key not in given:
            raise GroundingError(
                f"function `{name}` has no value for {key!r}; add it to the mapping"
            )
        return _label(given[key], name, arguments)
    if not callable(given):
        raise GroundingError(
            f"function `{name}`: expected a mapping or a Python function, got {given!r}"
        )
    return _label(given(*arguments), name, arguments)


def _label(value: Any, name: str, arguments: tuple[Any, ...]) -> int | str:
    label = as_label(value)
    if not isinstance(label, int | str):
        given = ", ".join(map(repr, arguments))
        raise GroundingError(
            f"function `{name}`: expected an integer or text, but {name}({given}) is {value!r}; "
            "return a label"
        )
    return label


def _at(array: Array, where: Sequence[Any]) -> tuple[int, ...]:
    return tuple(0 if n == 1 else int(i) for n, i in zip(array.shape, where, strict=True))
