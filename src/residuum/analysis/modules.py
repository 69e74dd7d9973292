"""Modules: sub-formulas whose atoms occur nowhere else, each one random variable.

A formula is a tree of modules. Seen from above, a module is a variable that is independent of
everything outside it; seen from inside, it is a small formula, its *core*, over the modules
directly below. Integrals follow that tree and so cost what the cores cost, however many atoms
there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from residuum.logic import Atom, Formula, distinct_nodes, fold_scoped
from residuum.logic.interning import replace_children


@dataclass(frozen=True)
class Module:
    """A module: its core, a formula over one stand-in atom for each part below it."""

    core: Formula
    parts: tuple[tuple[Atom, Formula], ...]


def modules_of(formula: Formula) -> dict[Formula, Module]:
    """Return the modules of a formula, those below before those above; atoms are left out."""
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
    """Say for each node whether every way to what is below it leads through it.

    In the tree of dominators, a node is a module when nothing below it has its immediate
    dominator above it.
    """
    depth = {nodes[-1]: 0}
    dominator: dict[Formula, Formula] = {nodes[-1]: nodes[-1]}
    for parent in reversed(nodes):
        for child in _below(parent):
            shared = dominator.get(child, parent)
            other = parent
            while shared is not other:  # climb to the nearest common dominator
                if depth[shared] >= depth[other]:
                    shared = dominator[shared]
                else:
                    other = dominator[other]
            dominator[child] = shared
            depth[child] = depth[shared] + 1
    highest: dict[Formula, int] = {}
    for node in nodes:
        reach = [min(depth[child] - 1, highest[child]) for child in _below(node)]
        highest[node] = min(reach, default=len(nodes))
    return {node: highest[node] >= depth[node] for node in nodes}


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
