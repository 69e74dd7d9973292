"""Several rules as one: for questions about predictions that obey all of them."""

from __future__ import annotations

from collections.abc import Sequence

from residuum.grounding.signatures import Signature
from residuum.logic import And, Forall, Formula, Variable, substitute
from residuum.logic.formulas import Binding


def conjunction(formulas: Sequence[Formula], signature: Signature) -> Formula:
    """Return the conjunction of rules as one rule.

    Rules about each member of an open domain, which are the examples of the batch, become one rule
    about each of them. Rules about different open domains are not put together: to plan their
    conjunction is then refused.
    """
    found = [_about_members(formula, signature) for formula in formulas]
    bindings = [binding for binding, _ in found if binding is not None]
    if not bindings or any(binding.domain != bindings[0].domain for binding in bindings):
        return And(*formulas)
    member = Variable(bindings[0].variable)
    bodies = [
        body if own is None else substitute(body, {Variable(own.variable): member})
        for own, body in found
    ]
    return Forall([bindings[0]], And(*bodies))


def _about_members(formula: Formula, signature: Signature) -> tuple[Binding | None, Formula]:
    """Return the binding of an outermost variable over an open domain, and the rule without it."""
    if isinstance(formula, Forall):
        domains = [signature.domain(one.domain, one.variable) for one in formula.bindings]
        is_open = [domain.labels is None and not domain.is_sequence for domain in domains]
        if sum(is_open) == 1:
            at = is_open.index(True)
            rest = [*formula.bindings[:at], *formula.bindings[at + 1 :]]
            if rest:
                return formula.bindings[at], Forall(rest, formula.body, formula.guard)
            if formula.guard is None:
                return formula.bindings[at], formula.body
    return None, formula
