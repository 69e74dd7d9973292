"""Modules: sub-formulas whose atoms occur nowhere else, each one random variable.

A formula is a tree of modules. Seen from above, a module is a variable that is independent of
everything outside it; seen from inside, it is a small formula, its *core*, over the modules
directly below. Integrals follow that tree and so cost what the cores cost, however many atoms
there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from residuum.logic import Atom, Formula, Truth, distinct_nodes, fold_scoped
from residuum.logic.nodes import replace_children


@dataclass(frozen=True)
class Module:
    """A module: its core, a formula over one stand-in atom for each part below it."""

    core: Formula
    parts: tuple[tuple[Atom, Formula], ...]


def modules_of(formula: Formula) -> dict[Formula, Module]:
    """Return the modules of a formula, those below before those above; atoms are left out.

    Constants are no modules, unless one is the whole formula: they stay in the cores.
    """
    nodes = [node for node in distinct_nodes(formula) if isinstance(node, Formula)]
    is_module = _find(nodes)
    found: dict[Formula, Module] = {}
    for node in nodes:
        if is_module[node] and not isinstance(node, Atom):
            found[node] = _describe(node, is_module)
    return found


def _below(node: Formula) -> tuple[Formula, ...]:
    return () if isinstance(node, Atom) else tuple(node.children)  # type: ignore[arg-type]


def _find(nodes: Sequence[Formula]) -> dict[Formula, bool]:
    """Say for each node whether it is a module: all paths to the nodes below lead through it.

    After Dutuit and Rauzy (1996): walk along every edge once, depth first. A node is a module
    when all below it is met for the first and for the last time between the opening and the
    closing of the node.
    """
    root = nodes[-1]
    opened: dict[Formula, int] = {}
    closed: dict[Formula, int] = {}
    last: dict[Formula, int] = {}
    stack = [(root, False)]
    time = 0
    while stack:
        node, is_done = stack.pop()
        time += 1
        if is_done:
            closed[node] = time
            continue
        last[node] = time
        if node not in opened:
            opened[node] = time
            stack.append((node, True))
            stack.extend((child, False) for child in _below(node))
    earliest: dict[Formula, int] = {}
    latest: dict[Formula, int] = {}
    for node in nodes:
        # A constant is independent of everything, itself included: it may be shared.
        below = [child for child in _below(node) if not isinstance(child, Truth)]
        earliest[node] = min((min(opened[c], earliest[c]) for c in below), default=time)
        latest[node] = max((max(last[c], latest[c]) for c in below), default=0)
    return {
        node: (earliest[node] > opened[node] and latest[node] < closed[node])
        and (node is root or not isinstance(node, Truth))
        for node in nodes
    }


def _describe(root: Formula, is_module: dict[Formula, bool]) -> Module:
    """Return the core of a module over stand-ins for the nearest modules below it."""
    stand_ins: dict[Formula, Atom] = {}

    def is_part(node: Formula) -> bool:
        return node is not root and is_module[node]

    def descend(node: Formula, _: None) -> list[tuple[Formula, None]]:
        return [] if is_part(node) else [(child, None) for child in _below(node)]

    def build(node: Formula, parts: Sequence[Formula], _: None) -> Formula:
        if is_part(node):
            return stand_ins.setdefault(node, Atom(f"part_{len(stand_ins)}"))
        return replace_children(node, tuple(parts))

    core = fold_scoped(root, {}, default=build, scope=None, descend=descend)
    return Module(core, tuple((atom, part) for part, atom in stand_ins.items()))
