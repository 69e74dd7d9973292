"""Files of the compiler d4 (`.ddnnf`): lines for nodes and lines for edges, in any order.

`o i 0` is a sum, `a i 0` a product, `t i 0` true, `f i 0` false; early versions of d4 write the
number of children before the 0. `i j l … 0` is an edge from node i to its child j, on which the
literals l hold. The root is the one node that is no child.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from residuum.circuits.circuit import Builder, Circuit
from residuum.circuits.formats.lines import Line, check_literal, new_builder, number_of_variables
from residuum.errors import CircuitError


@dataclass
class _Node:
    line: Line
    edges: list[Line] = field(default_factory=list)

    @property
    def children(self) -> list[int]:
        return [edge.numbers[1] for edge in self.edges]


def read_ddnnf(lines: list[Line], variables: int | None) -> Circuit:
    """Return the circuit of the lines of a file, which need not be smooth."""
    edges = [line for line in lines if not line.word]
    nodes = _read_nodes([line for line in lines if line.word])
    _join(nodes, edges)
    largest = max((abs(literal) for edge in edges for literal in edge.numbers[2:-1]), default=0)
    build = new_builder(number_of_variables(largest, variables))
    made: dict[int, int] = {}
    for number in _children_first(nodes, _root(nodes)):
        made[number] = _build_node(build, nodes[number], made)
    return build.finish(made[number])


def _read_nodes(lines: list[Line]) -> dict[int, _Node]:
    nodes: dict[int, _Node] = {}
    for line in lines:
        if line.word not in ("o", "a", "t", "f") or not 2 <= len(line.numbers) <= 3:
            line.refuse("`o node 0`, `a node 0`, `t node 0`, `f node 0` or an edge")
        if line.numbers[-1] != 0:
            line.refuse("0 at the end of the line")
        number = line.numbers[0]
        if number in nodes or number < 1:
            line.refuse("a new number for each node, from 1", f"{number}")
        nodes[number] = _Node(line)
    return nodes


def _join(nodes: dict[int, _Node], edges: list[Line]) -> None:
    """Add its edges to each node."""
    for edge in edges:
        if len(edge.numbers) < 3 or edge.numbers[-1] != 0:
            edge.refuse("an edge `node child literals… 0`")
        for end in edge.numbers[:2]:
            if end not in nodes:
                edge.refuse("nodes that a line declares", str(end))
        nodes[edge.numbers[0]].edges.append(edge)
    for node in nodes.values():
        is_constant = node.line.word in ("t", "f")
        if is_constant == bool(node.edges):
            node.line.refuse("edges from `o` and `a`, and none from `t` and `f`")
        if len(node.line.numbers) == 3 and node.line.numbers[1] != len(node.edges):
            node.line.refuse(f"{node.line.numbers[1]} edges", str(len(node.edges)))


def _root(nodes: dict[int, _Node]) -> int:
    roots = nodes.keys() - {child for node in nodes.values() for child in node.children}
    if len(roots) != 1:
        raise CircuitError(
            f"expected one node that is no child, the root, found {len(roots):,}; "
            "the file is cut off, or has a cycle"
        )
    return roots.pop()


def _children_first(nodes: dict[int, _Node], root: int) -> list[int]:
    """Return the nodes below the root, each after its children; raise CircuitError on a cycle."""
    order: dict[int, None] = {}
    opened: set[int] = set()
    waiting = [root]
    while waiting:
        number = waiting[-1]
        if number in opened:  # its children are done
            waiting.pop()
            order.setdefault(number)
            continue
        opened.add(number)
        for child in nodes[number].children:
            if child in opened and child not in order:
                nodes[child].line.refuse("a circuit without cycles", f"node {child} below itself")
            if child not in opened:
                waiting.append(child)
    return list(order)


def _build_node(build: Builder, node: _Node, made: dict[int, int]) -> int:
    if node.line.word in ("t", "f"):
        return build.TRUE if node.line.word == "t" else build.FALSE
    branches = []
    for edge in node.edges:
        branch = [made[edge.numbers[1]]]
        for literal in edge.numbers[2:-1]:
            check_literal(edge, literal, len(build.sizes))
            branch.append(build.leaf(abs(literal) - 1, int(literal > 0)))
        branches.append(build.product(branch))
    return build.product(branches) if node.line.word == "a" else build.sum(branches)
