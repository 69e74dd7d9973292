"""Paths in grids: the published data set of 4 × 4 grids, and grids that are made up.

The nodes of a grid are numbered row by row. Its edges are those to the right, row by row, and then
those downwards, column by column. A grid lacks some edges; two nodes are joined by a shortest path
over the edges that are left.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from residuum.errors import DataError
from residuum.field.data.published_files import broken, read_published
from residuum.printable import printable
from residuum.study.data_files import DataFile

_ADDRESS: Final = (
    "https://raw.githubusercontent.com/UCLA-StarAI/Semantic-Loss/"
    "86764c2294b89fc36fac8979e46bb0a6e062f1ec/complex_constraints/"
)

PATHS: Final = DataFile(
    "test.data",
    "benchmarks/grid",
    "d973484deb511634db6058c03661ebb9d23f52cf8d383c3554bd73f53372b360",
    (_ADDRESS,),
)
"""The grids of Xu, Zhang, Friedman, Liang and Van den Broeck (ICML 2018)."""

Edge: TypeAlias = tuple[int, int]
Booleans: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True)
class Grids:
    """Grids, one in each row: which edges are there, the two ends, and the edges of the path."""

    present: Booleans
    ends: Booleans
    path: Booleans


def grid_edges(size: int) -> list[Edge]:
    """Return the edges of a square grid as pairs of nodes.

    >>> grid_edges(2)
    [(0, 1), (2, 3), (0, 2), (1, 3)]
    """
    right = [
        (size * row + at, size * row + at + 1) for row in range(size) for at in range(size - 1)
    ]
    down = [
        (size * at + col, size * at + col + size) for col in range(size) for at in range(size - 1)
    ]
    return right + down


def grid_cycles(size: int) -> list[list[int]]:
    """Return the edges of each cycle of a square grid that meets no node twice.

    >>> grid_cycles(2)
    [[0, 1, 2, 3]]
    """
    edges, found = grid_edges(size), set()

    def walk(start: int, node: int, walked: frozenset[int], visited: frozenset[int]) -> None:
        for place, edge in enumerate(edges):
            other = sum(edge) - node
            if node not in edge or place in walked:
                continue
            if other == start:
                found.add(walked | {place})
            elif other > start and other not in visited:
                walk(start, other, walked | {place}, visited | {other})

    for node in range(size * size):
        walk(node, node, frozenset(), frozenset([node]))
    return sorted(map(sorted, found))


def read_grids(content: bytes, source: object, size: int = 4) -> Grids:
    """Return the grids of a text; a line of another form raises DataError.

    A line has the edges that are missing, the two ends, and one or several shortest paths as edges:
    `3-11,0-5,12-4,0-15`. The first path is the label.
    """
    rows = []
    edges = grid_edges(size)
    for number, line in enumerate(content.decode("ascii", "replace").splitlines(), 1):
        fields = [_numbers(number, text, source) for text in line.strip().split(",")]
        if len(fields) < 3:
            raise broken(source, number, "missing edges, two ends and a path", f"`{line[:60]}`")
        missing, ends, *paths = fields
        _check_range(number, "nodes", ends, size * size, source)
        if len(set(ends)) != 2 or len(ends) != 2:
            raise broken(source, number, "two different ends", f"{len(ends)} nodes: {ends}")
        for listed in (missing, *paths):
            _check_range(number, "edges", listed, len(edges), source)
        for path in paths:
            if set(path) & set(missing):
                raise broken(source, number, "a path over edges that are there", f"{path}")
            if not is_path([edges[edge] for edge in path], ends):
                raise broken(source, number, f"a path from {ends[0]} to {ends[1]}", f"{path}")
        rows.append(_row(missing, ends, paths[0], size))
    if not rows:
        raise DataError(f"`{printable(source)}`: expected one line at least, found none")
    return Grids(*map(np.stack, zip(*rows, strict=True)))


def is_path(path: Iterable[Edge], ends: Sequence[int]) -> bool:
    """Return whether edges form a simple path between two nodes."""
    left = set(path)
    at, visited = ends[0], {ends[0]}
    while at != ends[1]:
        following = [edge for edge in left if at in edge]
        if len(following) != 1:
            return False
        left -= set(following)
        at = sum(following[0]) - at
        if at in visited:
            return False
        visited.add(at)
    return not left


def load_grids() -> tuple[Grids, Grids, Grids]:
    """Return 966 grids for training, 322 for validation and 322 for testing, as published."""
    grids = read_grids(read_published(PATHS), PATHS.name)
    return split_grids(grids)


def made_up_grids(size: int, number: int, seed: int = 0) -> Grids:
    """Return grids with a third of the edges missing, and the shortest paths found by search."""
    drawn, edges = random.Random(seed), grid_edges(size)
    rows: list[list[Booleans]] = []
    while len(rows) < number:
        missing = drawn.sample(range(len(edges)), len(edges) // 3)
        ends = drawn.sample(range(size * size), 2)
        path = _shortest_path(edges, set(missing), ends)
        if path:
            rows.append(_row(missing, ends, path, size))
    return Grids(*map(np.stack, zip(*rows, strict=True)))


def split_grids(grids: Grids) -> tuple[Grids, Grids, Grids]:
    """Return 60, 20 and 20% of the grids, drawn as those who published the data draw them."""
    number = len(grids.path)
    order = np.random.RandomState(0).permutation(number)
    first, second = int(number * 0.6), int(number * 0.8)
    return (
        _some(grids, order[:first]),
        _some(grids, order[first:second]),
        _some(grids, order[second:]),
    )


def _some(grids: Grids, rows: NDArray[np.int64]) -> Grids:
    return Grids(grids.present[rows], grids.ends[rows], grids.path[rows])


def _numbers(number: int, text: str, source: object) -> list[int]:
    if not text:
        return []
    parts = text.split("-")
    if not all(part.isascii() and part.isdigit() and len(part) < 4 for part in parts):
        raise broken(source, number, "numbers joined by -", f"`{printable(text[:60])}`")
    return [int(part) for part in parts]


def _check_range(number: int, what: str, found: list[int], limit: int, source: object) -> None:
    if len(set(found)) < len(found) or any(one >= limit for one in found):
        raise broken(source, number, f"different {what} from 0 to {limit - 1}", f"{found}")


def _row(
    missing: Iterable[int], ends: Iterable[int], path: Iterable[int], size: int
) -> list[Booleans]:
    edges = len(grid_edges(size))
    return [~_marked(missing, edges), _marked(ends, size * size), _marked(path, edges)]


def _marked(places: Iterable[int], length: int) -> Booleans:
    found = np.zeros(length, dtype=np.bool_)
    found[list(places)] = True
    return found


def _shortest_path(edges: Sequence[Edge], missing: set[int], ends: Sequence[int]) -> list[int]:
    """Return the edges of a shortest path, found breadth first; none if there is no path."""
    reached: dict[int, list[int]] = {ends[0]: []}
    waiting = [ends[0]]
    for node in waiting:
        for place, edge in enumerate(edges):
            other = sum(edge) - node
            if node in edge and place not in missing and other not in reached:
                reached[other] = [*reached[node], place]
                waiting.append(other)
    return reached.get(ends[1], [])
