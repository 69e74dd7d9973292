"""What a formula is made of: its nodes, atoms, quantifiers and free variables, depth and size."""

from __future__ import annotations

from collections.abc import Sequence

from residuum.errors import EvaluationError, FormulaTooLargeError
from residuum.limits import MOST_FREE
from residuum.logic.formulas import Atom, Comparison, Formula, Quantifier
from residuum.logic.nodes import Node, distinct_nodes, fold
from residuum.logic.terms import Variable


def atoms_of(formula: Formula) -> tuple[Atom, ...]:
    """Return the distinct atoms, in the order in which they first occur.

    >>> from residuum.logic.formulas import atoms
    >>> P, Q = atoms("P Q")
    >>> [str(atom) for atom in atoms_of(Q >> (P & Q))]
    ['Q', 'P']
    """
    return tuple(node for node in distinct_nodes(formula) if isinstance(node, Atom))


def quantifiers_of(formula: Formula) -> tuple[Quantifier, ...]:
    """Return the distinct quantified parts of a formula, inner ones first."""
    return tuple(node for node in distinct_nodes(formula) if isinstance(node, Quantifier))


def refuse_comparisons(formula: Formula) -> None:
    """Raise for a comparison of terms, whose truth does not follow from that of atoms."""
    for node in distinct_nodes(formula):
        if isinstance(node, Comparison):
            raise EvaluationError(
                f"expected a formula of atoms, got the comparison {node!r}, whose truth depends on "
                "numbers; `rs.compile` evaluates comparisons of quantities. Formulas are "
                "equivalent by `<->`, and members of domains are compared after `where`"
            )


def free_variables(node: Node) -> frozenset[str]:
    """Return the names of the variables that no quantifier binds.

    >>> import residuum as rs
    >>> sorted(rs.free_variables("forall x in D: Near(x, y)"))
    ['y']
    """
    return free_variables_by_node(node)[node]


def free_variables_by_node(root: Node) -> dict[Node, frozenset[str]]:
    """Return the free variables of every distinct node of a formula or term."""
    free: dict[Node, frozenset[str]] = {}
    kept = 0
    for node in distinct_nodes(root):
        if isinstance(node, Variable):
            free[node] = frozenset((node.name,))
            continue
        sets = [free[child] for child in node.children]
        below = _union(sets)
        if isinstance(node, Quantifier):
            below = below.difference(binding.variable for binding in node.bindings)
        if not any(below is one for one in sets):
            kept += len(below)
            if kept > MOST_FREE:
                raise FormulaTooLargeError(
                    f"expected at most {MOST_FREE:,} free variables in all parts of the formula "
                    "together, got more; nest less, or bind variables where they are used"
                )
        free[node] = below
    return free


def _union(sets: Sequence[frozenset[str]]) -> frozenset[str]:
    # Most nodes have the variables of their widest child. Sharing its set saves memory.
    widest = max(sets, key=len, default=frozenset())
    return widest if all(names <= widest for names in sets) else widest.union(*sets)


def depth(node: Node) -> int:
    """Return the number of nodes on the longest path downwards. An atom `P` has depth 1."""
    depths: dict[Node, int] = {}
    for one in distinct_nodes(node):
        depths[one] = 1 + max([depths[child] for child in one.children], default=0)
    return depths[node]


def size(node: Node) -> int:
    """Return the number of nodes. Shared ones count each time that they occur.

    >>> from residuum.logic.formulas import Or, atoms
    >>> (formula,) = atoms("P")
    >>> for _ in range(200):
    ...     formula = Or(formula, formula)
    >>> size(formula) == 2**201 - 1
    True
    """
    return fold(node, {}, default=lambda _, below: 1 + sum(below))
