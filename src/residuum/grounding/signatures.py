"""The signature of a rule: its domains, its functions, and the domains of each predicate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from residuum.errors import GroundingError, ResiduumError, clipped, listed, shown, suggest
from residuum.limits import (
    LARGEST_INTEGER,
    MOST_LABELS,
    MOST_MEMBERS,
    MOST_VARIABLES,
)
from residuum.logic import (
    Application,
    Atom,
    Binding,
    Comparison,
    Formula,
    Node,
    Quantifier,
    Term,
    Variable,
    distinct_nodes,
)
from residuum.logic.terms import as_label, at_most
from residuum.syntax import Domain, Knowledge, Predicate, Quantity

KINDS: Final = ("sequence", "open")
"""Kinds of domains without labels: positions of a sequence, or the examples of a batch."""


@dataclass(frozen=True)
class Signature:
    """The domains, functions, predicates and quantities that a rule may name."""

    domains: Mapping[str, Domain]
    functions: Mapping[str, Any]
    predicates: Mapping[str, Predicate]
    quantities: Mapping[str, Quantity] = field(default_factory=dict)
    function_domains: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def domain(self, name: str, where: object) -> Domain:
        """Return a domain by name; the error message begins with `where`."""
        if name not in self.domains:
            raise GroundingError(
                f"`{where}`: nothing is known of domain `{name}`; pass domains={{{name!r}: ...}} "
                f"with its size, its labels, 'sequence' or 'open'.{suggest(name, self.domains)}"
            )
        return self.domains[name]

    def domains_of(self, predicate: str) -> tuple[Domain, ...]:
        """Return the domains of a predicate's arguments."""
        return tuple(self.domain(name, predicate) for name in self.predicates[predicate].domains)


def signature_of_knowledge(knowledge: Knowledge, functions: Mapping[str, Any]) -> Signature:
    """Return the signature of a rule file; `functions` gives those that have no table in it."""
    bound = {name: given for name, given in knowledge.functions.items() if given.table is not None}
    _refuse_unknown("function", functions, knowledge.functions)
    return Signature(
        dict(knowledge.domains),
        {**bound, **functions},
        dict(knowledge.predicates),
        dict(knowledge.quantities),
        {name: one.domains for name, one in knowledge.functions.items()},
    )


def check_variables(count: int) -> None:
    """Raise if more variables are bound around an atom than an array can have dimensions."""
    if count > MOST_VARIABLES:
        raise GroundingError(
            f"expected at most {MOST_VARIABLES} variables around one atom of a compiled rule, got "
            f"{count:,}; split the rule, because each variable is a dimension of an array"
        )


def signature_of_rule(
    formula: Formula,
    domains: Mapping[str, Any],
    predicates: Mapping[str, Iterable[str]],
    functions: Mapping[str, Any],
    quantities: Mapping[str, float | Quantity],
) -> Signature:
    """Return the signature of one rule. Domains of predicates are inferred where not given."""
    options = {
        "domains": domains,
        "predicates": predicates,
        "functions": functions,
        "quantities": quantities,
    }
    for option, value in options.items():
        if not isinstance(value, Mapping):
            raise GroundingError(
                f"{option}: expected a mapping by name, got {type(value).__name__} {shown(value)}; "
                "write a dict"
            )
    known = {name: _as_domain(name, given) for name, given in domains.items()}
    used = {node.predicate for node in distinct_nodes(formula) if isinstance(node, Atom)}
    refuse_misspelt("predicates", predicates, used)
    given = {
        name: _as_domain_names(name, names) for name, names in predicates.items() if name in used
    }
    numbers = _as_quantities(quantities, used)
    given |= {name: one.domains for name, one in numbers.items() if one.domains is not None}
    inferred = _infer(formula, given, numbers)
    signature = Signature(
        known,
        functions,
        {name: Predicate(name, found) for name, found in inferred.items() if name not in numbers},
        {name: replace(one, domains=inferred.get(name, ())) for name, one in numbers.items()},
    )
    for node in distinct_nodes(formula):
        if isinstance(node, Quantifier):
            for binding in node.bindings:
                signature.domain(binding.domain, f"{binding.variable} in {binding.domain}")
    return signature


def _as_quantities(
    given: Mapping[str, float | Quantity], predicates: Iterable[str]
) -> dict[str, Quantity]:
    """Return quantities, each given by itself or by its scale; GroundingError if one is wrong."""
    found = {}
    for name, one in given.items():
        try:
            found[name] = one if isinstance(one, Quantity) else Quantity(one)
        except ResiduumError as error:
            raise GroundingError(f"quantities, `{clipped(str(name))}`: {error}") from None
        if name in predicates:
            raise GroundingError(
                f"`{name}` is declared as a quantity, and stands in the rule as a predicate: "
                f"compare it, as in `{name} >= 18`, or leave it out of quantities="
            )
    return found


_OTHER_WORDS: Final = {"softmax": "exclusive", "sigmoid": "independent"}
"""What users of PyTorch call outputs."""


def with_outputs(signature: Signature, outputs: Mapping[str, str]) -> Signature:
    """Return the signature with predicates declared as "exclusive", "independent" or "hidden"."""
    if not isinstance(outputs, Mapping):
        raise GroundingError(
            f"outputs: expected a mapping such as {{'Has': 'independent'}}, got {shown(outputs)}"
        )
    declared = dict(signature.predicates)
    refuse_misspelt("outputs", outputs, declared)
    for name, kind in outputs.items():
        kind = _OTHER_WORDS.get(kind, kind)
        if kind not in ("exclusive", "independent", "hidden"):
            raise GroundingError(
                f"outputs of `{name}`: expected 'exclusive' (or 'softmax'), 'independent' (or "
                f"'sigmoid') or 'hidden', got {kind!r}"
            )
        if name not in declared:
            continue
        if kind == "hidden":
            declared[name] = replace(declared[name], is_hidden=True)
        else:
            declared[name] = replace(declared[name], is_independent=kind == "independent")
    return replace(signature, predicates=declared)


def refuse_misspelt(option: str, named: Iterable[Any], read: Iterable[str]) -> None:
    """Raise GroundingError if an option names a predicate that looks like another that is read.

    Names of other predicates that the rule does not read are allowed, so that rules share settings.
    """
    given = list(named)
    unnamed = [name for name in read if name not in given]
    for name in given:
        meant = "" if name in read else suggest(str(name), unnamed)
        if meant:
            raise GroundingError(
                f"{option}: the rule does not read `{clipped(str(name))}`.{meant} If both names "
                f"are right, name both in {option}="
            )


def _refuse_unknown(what: str, given: Iterable[str], known: Iterable[str]) -> None:
    for name in given:
        if name not in known:
            raise GroundingError(
                f"no {what} of the rule is called `{clipped(str(name))}`."
                f"{suggest(str(name), known)} It has: {listed(known) or 'none'}"
            )


def _as_domain(name: str, given: Any) -> Domain:
    if isinstance(given, Domain):
        if given.labels is not None:
            _check_labels(name, given.labels)
        return given
    size = as_label(given)
    if isinstance(size, int) and not isinstance(size, bool):
        if size < 0:
            raise GroundingError(
                f"domain `{name}` cannot have {shown(size)} members; give a size of 0 or more"
            )
        return Domain(name, _check_labels(name, range(size)))
    if isinstance(given, str) and given in KINDS:
        return Domain(name, is_sequence=given == "sequence")
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise GroundingError(
            f"domain `{name}`: expected its size, its labels, 'sequence' or 'open', "
            f"got {shown(given)}"
        )
    return Domain(name, _check_labels(name, given))


def _check_labels(name: str, given: Iterable[Any]) -> tuple[int | str, ...] | range:
    """Return the labels of a domain, or raise a GroundingError that says what is wrong."""
    # A range takes no memory, a list does.
    most = MOST_MEMBERS if isinstance(given, range) else MOST_LABELS
    taken = at_most(most, given)
    if taken is None:
        found, kind = "more", "listed labels"
        if isinstance(given, range):
            found, kind = shown(-((given.start - given.stop) // given.step)), "members"
        raise GroundingError(
            f"domain `{name}`: expected at most {most:,} {kind}, got {found}; give fewer, or make "
            "it 'open', so that its members are the examples of the batch"
        )
    labels = taken if isinstance(taken, range) else tuple(map(as_label, taken))
    for label in labels if not isinstance(labels, range) else (*labels[:1], *labels[-1:]):
        if isinstance(label, bool) or not isinstance(label, int | str):
            raise GroundingError(
                f"domain `{name}`: expected a label that is an integer or text, got "
                f"{shown(label)}; write it as text"
            )
        if isinstance(label, int) and abs(label) > LARGEST_INTEGER:
            raise GroundingError(
                f"domain `{name}`: expected integers of at most 64 bits, got {shown(label)}; write "
                "it as text"
            )
    if not isinstance(labels, range) and len(set(labels)) < len(labels):
        raise GroundingError(f"domain `{name}` lists a label twice; list each label once")
    return labels


def _as_domain_names(predicate: str, given: Any) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise GroundingError(
            f"predicate `{predicate}`: expected a tuple of domain names, got {shown(given)}"
        )
    names = at_most(MOST_LABELS, given)
    if names is None:
        raise GroundingError(
            f"predicate `{predicate}`: expected a tuple of domain names, got one without end"
        )
    return tuple(names)


def _infer(
    formula: Formula, given: Mapping[str, tuple[str, ...]], quantities: Iterable[str]
) -> dict[str, tuple[str, ...]]:
    """Return the domains of predicates and quantities: those of the variables in arguments."""
    found: dict[str, list[str | None]] = {}
    loose: dict[str, Atom] = {}  # names that no quantifier binds: labels or mistakes
    for atom, scope in _atoms_in_scope(formula, quantities):
        name = atom.predicate
        if name in given:
            continue
        places = found.setdefault(name, [None] * len(atom.arguments))
        if len(places) != len(atom.arguments):
            raise GroundingError(
                f"`{name}` has {len(places)} arguments in one place and {len(atom.arguments)} in "
                f"another, `{atom}`; rename one of them"
            )
        for place, argument in enumerate(atom.arguments):
            domain = _common_domain(argument, scope)
            if domain is None:
                loose.update(
                    (node.name, atom)
                    for node in distinct_nodes(argument)
                    if isinstance(node, Variable) and node.name not in scope
                )
                continue
            if places[place] not in (None, domain):
                raise GroundingError(
                    f"`{atom}`: argument {place + 1} ranges over `{domain}` here and over "
                    f"`{places[place]}` elsewhere; say which with {_option(name, quantities)}"
                )
            places[place] = domain
    for name, places in found.items():
        for place, domain in enumerate(places):
            if domain is None:
                for free, atom in loose.items():
                    if atom.predicate == name:
                        raise GroundingError(
                            f"`{atom}`: `{free}` is bound by no quantifier; if it is a label, "
                            f"pass {_option(name, quantities)} with its domain's name"
                        )
                raise GroundingError(
                    f"the rule does not make plain over which domain argument {place + 1} of "
                    f"`{name}` ranges; pass {_option(name, quantities)} with the name of a "
                    "domain for each argument"
                )
    inferred = {name: tuple(map(str, places)) for name, places in found.items()}
    return {**inferred, **given}


def _option(name: str, quantities: Iterable[str]) -> str:
    """Return the option that says over which domains a predicate or a quantity ranges."""
    if name in quantities:
        return f"quantities={{{name!r}: rs.Quantity(..., domains=(...))}}"
    return f"predicates={{{name!r}: (...)}}"


def quantities_in(
    comparison: Comparison, quantities: Iterable[str], bound: Iterable[str]
) -> dict[Atom, Term]:
    """Return the uses of quantities in a comparison, as atoms, and the terms that they are.

    A quantity without arguments is written like a variable that no quantifier binds.
    """
    found: dict[Atom, Term] = {}
    for node in distinct_nodes(comparison):
        match node:
            case Variable(name) if name in quantities and name not in bound:
                found[Atom(name)] = node
            case Application(name, arguments) if name in quantities:
                found[Atom(name, *arguments)] = node
    return found


def _common_domain(term: Term, scope: Mapping[str, str]) -> str | None:
    """Return the domain of all variables of a term, or None if there is not exactly one."""
    found: set[str] = set()
    for node in distinct_nodes(term):
        if isinstance(node, Application):  # its value may be in another domain
            return None
        if isinstance(node, Variable) and node.name in scope:
            found.add(scope[node.name])
    return found.pop() if len(found) == 1 else None


def _atoms_in_scope(
    formula: Formula, quantities: Iterable[str]
) -> Iterator[tuple[Atom, Mapping[str, str]]]:
    """Yield each atom with the domains of the variables bound around it.

    A quantity counts as an atom: of both only the arguments are looked at.
    """
    seen: set[tuple[Node, tuple[Binding, ...]]] = set()
    stack: list[tuple[Node, tuple[Binding, ...]]] = [(formula, ())]
    while stack:
        node, scope = stack.pop()
        if (node, scope) in seen:
            continue
        seen.add((node, scope))
        if isinstance(node, Atom):
            yield node, {binding.variable: binding.domain for binding in scope}
        elif isinstance(node, Comparison):
            bound = {binding.variable: binding.domain for binding in scope}
            for use in quantities_in(node, quantities, bound):
                yield use, bound
        elif isinstance(node, Quantifier):
            check_variables(len(scope) + len(node.bindings))
            inner = scope + node.bindings
            relations = () if node.guard is None else distinct_nodes(node.guard)
            stack.extend((one, inner) for one in relations if isinstance(one, Atom))
            stack.append((node.body, inner))
        else:
            stack.extend((child, scope) for child in reversed(node.children))
