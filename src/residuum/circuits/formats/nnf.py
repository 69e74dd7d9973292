"""Files of the compiler c2d and its successors (`.nnf`): one node in each line, children first.

`nnf v e n` announces v nodes, e edges and n variables. `L l` is a literal, `A k …` a product of k
children, `O j k …` a sum; j names the variable that a decision is on, or is 0, and is not used.
The nodes are numbered from 0, and the last one is the root.
"""

from __future__ import annotations

from collections.abc import Sequence

from residuum.circuits.circuit import Circuit
from residuum.circuits.formats.lines import (
    Line,
    check_announced,
    check_literal,
    header_of,
    new_builder,
    number_of_variables,
)


def read_nnf(lines: list[Line], variables: int | None) -> Circuit:
    """Return the circuit of the lines of a file, which need not be smooth."""
    header = header_of(lines, "nnf", 3)
    nodes, edges, largest = header.numbers
    variables = number_of_variables(largest, variables)
    build = new_builder(variables)
    made: list[int] = []
    found = 0
    for line in lines[1:]:
        if line.word == "L" and len(line.numbers) == 1:
            check_literal(line, line.numbers[0], variables)
            made.append(build.leaf(abs(line.numbers[0]) - 1, int(line.numbers[0] > 0)))
            continue
        children = _children(line, len(made))
        found += len(children)
        join = build.product if line.word == "A" else build.sum
        made.append(join(made[child] for child in children))
    check_announced(header, nodes, len(made), "nodes")
    check_announced(header, edges, found, "edges")
    if not made:
        header.refuse("one node or more", "none")
    return build.finish(made[-1])


def _children(line: Line, nodes: int) -> Sequence[int]:
    """Return the children of a product or a sum, which are among the nodes read so far."""
    start = {"A": 1, "O": 2}.get(line.word)
    if (
        start is None
        or len(line.numbers) < start
        or len(line.numbers) != start + line.numbers[start - 1]
    ):
        line.refuse("`L literal`, `A number children…` or `O variable number children…`")
    children = line.numbers[start:]
    for child in children:
        if not 0 <= child < nodes:
            line.refuse(f"children from 0 to {nodes - 1:,}, the nodes before", f"{child:,}")
    return children
