"""The form of a rule: an implication whose consequent is observed, or the same with `exists`.

If exactly one of the antecedents holds, as for classes of a softmax, `forall a: A(a) -> S(a)` and
`exists a: A(a) & S(a)` say the same. They are not learnt from alike.
"""

from __future__ import annotations

from dataclasses import replace

from residuum.advice.measuring import compiled_rule, observed_consequents
from residuum.advice.samples import Sample
from residuum.logic import And, Atom, Exists, Forall, Formula, Implies, free_variables
from residuum.logic.terms import Variable
from residuum.syntax import Knowledge
from residuum.syntax.knowledge import FrozenMapping


def existential(knowledge: Knowledge, sample: Sample) -> tuple[Knowledge, dict[str, str]]:
    """Return the knowledge with `exists` where it can be, and the rules that changed, as text."""
    rules, changed = dict(knowledge.rules), {}
    for name, rule in knowledge.rules.items():
        read = observed_consequents(compiled_rule(knowledge, name, "s-product"))
        if read and all(map(sample.is_observed, read)):
            formula = _rewritten(rule.formula, knowledge)
            if formula is not None:
                rules[name] = replace(rule, formula=formula)
                changed[name] = str(formula)
    return replace(knowledge, rules=FrozenMapping(rules)), changed


def _rewritten(formula: Formula, knowledge: Knowledge) -> Formula | None:
    """Return an implication with `exists`, or None if that says something else."""
    match formula:
        case Forall(bindings, None, Implies(antecedent, consequent)):
            classes = _classes(antecedent, knowledge)
        case _:
            return None
    if classes is None or not classes <= {one.variable for one in bindings}:
        return None
    antecedents = antecedent.operands if isinstance(antecedent, And) else (antecedent,)
    chosen = [one for one in bindings if one.variable in classes]
    inner = Exists(chosen, And(*antecedents, consequent))
    outer = [one for one in bindings if one.variable not in classes]
    return Forall(outer, inner) if outer else inner


def _classes(antecedent: Formula, knowledge: Knowledge) -> set[str] | None:
    """Return the variables that are the class of a softmax, a different one in each atom.

    Returns None if an antecedent is something else: then it need not hold for exactly one choice.
    """
    found: list[str] = []
    others: frozenset[str] = frozenset()
    for atom in antecedent.operands if isinstance(antecedent, And) else (antecedent,):
        match atom:
            case Atom(predicate, (*before, Variable(last))):
                declared = knowledge.predicates.get(predicate)
                if declared is None or declared.is_independent:
                    return None
                found.append(last)
                others = others.union(*map(free_variables, before))
            case _:
                return None
    are_different = len(set(found)) == len(found) and not others & set(found)
    return set(found) if are_different else None
