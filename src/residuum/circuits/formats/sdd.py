"""Files of the SDD library and PySDD (`.sdd`): decisions over primes that partition all states.

`sdd n` announces n nodes. `T i` and `F i` are true and false, `L i v l` is literal l at node v of
the vtree, and `D i v k p s …` a decision with k pairs of a prime and a sub. Children come first,
and the last node is the root.

A decision is deterministic if exactly one of its primes holds in each state. That is tested at a
random point: the primes are polynomials in the probabilities of the variables, and they partition
the states only if their sum is the polynomial 1. At a point drawn modulo the prime number 2⁶¹ − 1,
a sum that is not 1 looks like 1 with a probability of at most n / (2⁶¹ − 1) for n variables. If the
file follows a vtree, whose products are decomposable, its lowest wrong decision is therefore found
but for that probability.
"""

from __future__ import annotations

import random
from typing import Final, NamedTuple

from residuum.circuits.circuit import Circuit
from residuum.circuits.formats.lines import (
    Line,
    check_announced,
    check_literal,
    header_of,
    new_builder,
    number_of_variables,
)
from residuum.circuits.formats.vtrees import Span, Vtree

_MODULUS: Final = 2**61 - 1
_NOWHERE: Final = Span(0, 0)


class _Node(NamedTuple):
    """A node of the file: its node in the circuit, its variables, its value at the random point."""

    made: int
    span: Span
    value: int


def read_sdd(lines: list[Line], vtree: Vtree | None, variables: int | None) -> Circuit:
    """Return the circuit of the lines of a file, which need not be smooth."""
    header = header_of(lines, "sdd", 1)
    largest = max(
        (abs(line.numbers[-1]) for line in lines if line.word == "L" and line.numbers), default=0
    )
    in_file = largest if vtree is None else len(vtree.order)
    reading = _Reading(number_of_variables(in_file, variables), vtree)
    for line in lines[1:]:
        reading.take(line)
    check_announced(header, header.numbers[0], len(reading.nodes), "nodes")
    if not reading.nodes:
        header.refuse("one node or more", "none")
    return reading.build.finish(reading.nodes[line.numbers[0]].made)


class _Reading:
    def __init__(self, variables: int, vtree: Vtree | None) -> None:
        self.build = new_builder(variables)
        self.nodes: dict[int, _Node] = {}
        self._vtree = vtree
        draw = random.Random()  # no other random numbers change
        self._point = [draw.randrange(_MODULUS) for _ in range(variables)]

    def take(self, line: Line) -> None:
        """Read a line."""
        match line.word, line.numbers:
            case "T", [number]:
                node = _Node(self.build.TRUE, _NOWHERE, 1)
            case "F", [number]:
                node = _Node(self.build.FALSE, _NOWHERE, 0)
            case "L", [number, place, literal]:
                node = self._literal(line, place, literal)
            case "D", [number, place, size, *pairs] if len(pairs) == 2 * size > 0:
                node = self._decision(line, place, pairs)
            case _:
                line.refuse(
                    "`T node`, `F node`, `L node vtree literal` or `D node vtree number prime sub…`"
                )
        if number in self.nodes:
            line.refuse("a new number for each node", str(number))
        self.nodes[number] = node

    def _literal(self, line: Line, place: int, literal: int) -> _Node:
        check_literal(line, literal, len(self.build.sizes))
        variable = abs(literal) - 1
        (span,) = self._spans(line, place, 1)
        if self._vtree and self._vtree.order[span.first] != variable:
            line.refuse("the variable of its node in the vtree", str(abs(literal)))
        chance = self._point[variable]
        return _Node(
            self.build.leaf(variable, int(literal > 0)), span, chance if literal > 0 else 1 - chance
        )

    def _decision(self, line: Line, place: int, pairs: list[int]) -> _Node:
        for number in pairs:
            if number not in self.nodes:
                line.refuse("nodes of lines before this one", str(number))
        primes = [self.nodes[number] for number in pairs[::2]]
        subs = [self.nodes[number] for number in pairs[1::2]]
        left, right = self._spans(line, place, 2)
        if self._vtree and not all(
            prime.span.within(left) and sub.span.within(right)
            for prime, sub in zip(primes, subs, strict=True)
        ):
            line.refuse("primes to the left and subs to the right of their node in the vtree")
        if sum(prime.value for prime in primes) % _MODULUS != 1:
            line.refuse("primes of which exactly one holds in each state")
        elements = list(zip(primes, subs, strict=True))
        made = self.build.sum(self.build.product([p.made, s.made]) for p, s in elements)
        value = sum(prime.value * sub.value for prime, sub in elements) % _MODULUS
        return _Node(made, Span(left.first, right.last), value)

    def _spans(self, line: Line, place: int, number: int) -> tuple[Span, ...]:
        """Return the spans of a node of the vtree, which is a leaf (1) or has two children (2)."""
        if self._vtree is None:
            return (_NOWHERE,) * number
        spans = self._vtree.spans.get(place, ())
        if len(spans) != number:
            line.refuse(f"{'a leaf' if number == 1 else 'an inner node'} of the vtree", str(place))
        return spans
