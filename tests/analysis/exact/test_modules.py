"""Modules against their definition, on random formulas that share sub-formulas."""

import random

import pytest

from residuum.analysis.exact.modules import modules_of
from residuum.logic import (
    FALSE,
    TRUE,
    And,
    Atom,
    Iff,
    Implies,
    Not,
    Or,
    Truth,
    atoms_of,
    distinct_nodes,
    substitute,
)


def random_sharing_formula(rng, atoms, levels, constants=()):
    """Build upwards, so that later nodes refer to any earlier ones."""
    nodes = [Atom(f"A{i}") for i in range(atoms)]
    for _ in range(levels):
        kind = rng.choice([Not, And, Or, Implies, Iff])
        recent = nodes[-4:] if rng.random() < 0.7 else [*nodes, *constants]
        operands = [rng.choice(recent) for _ in range(1 if kind is Not else 2)]
        nodes.append(kind(*operands))
    return nodes[-1]


def modules_by_definition(formula):
    """Those whose sub-formulas, constants aside, have no parent outside them."""
    nodes = distinct_nodes(formula)
    parents = {node: {p for p in nodes if node in p.children} for node in nodes}
    found = set()
    for node in nodes:
        below = set(distinct_nodes(node)) - {node}
        inside = {n for n in below if not isinstance(n, Truth)}
        is_leaf = isinstance(node, Atom) or (isinstance(node, Truth) and node is not formula)
        if not is_leaf and all(parents[n] <= below | {node} for n in inside):
            found.add(node)
    return found


@pytest.mark.parametrize("seed", range(150))
def test_modules_are_the_sub_formulas_whose_atoms_occur_nowhere_else(seed):
    rng = random.Random(seed)
    constants = (TRUE, FALSE) if seed % 3 == 0 else ()
    formula = random_sharing_formula(rng, rng.randint(1, 8), rng.randint(1, 20), constants)
    assert set(modules_of(formula)) == modules_by_definition(formula)


@pytest.mark.parametrize("seed", range(40))
def test_cores_put_together_are_the_formula_again(seed):
    rng = random.Random(seed)
    formula = random_sharing_formula(rng, rng.randint(1, 8), rng.randint(1, 20), (TRUE,))
    modules = modules_of(formula)
    whole = {atom: atom for atom in atoms_of(formula)}
    used = []
    for node, module in modules.items():
        whole[node] = substitute(module.core, {atom: whole[part] for atom, part in module.parts})
        used += [part for _, part in module.parts]
    assert whole.get(formula) is formula
    assert len(used) == len(set(used))
