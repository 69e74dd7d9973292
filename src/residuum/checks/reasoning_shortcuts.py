"""`shortcuts`: relabellings of classes that obey the rules as well as the true classes do.

A network that learns classes only from rules and observed labels cannot tell such relabellings
apart from the truth: it may obey every rule and still confuse classes. A SAT solver counts them.
Its variables say, for each class that occurs, which class the network takes it for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from residuum.checks.ground_rules import Grounder, domains_of_variables
from residuum.checks.rule_solver import add_softmaxes, solve_limited, take_one
from residuum.errors import ResiduumError, listed, suggest
from residuum.grounding import Signature, signature_of_knowledge
from residuum.logic import And, Atom, Constant, Formula, atoms_of
from residuum.logic.satisfiability import encode
from residuum.syntax import Knowledge
from residuum.syntax.knowledge import FrozenMapping

MOST_ATOMS: Final = 200_000
"""The most atoms in the rules of all different examples together: several seconds."""

MOST_CONFLICTS: Final = 200_000
"""The conflicts after which the solver gives up on one question: seconds."""

UNKNOWN: Final = -100
"""The label of an output that is not observed, as in `observed=`."""

Class: TypeAlias = int | str
Labels: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Shortcuts:
    """The relabellings of classes that keep the rules true for every example.

    A network has the name of its first predicate. `count` is the number of relabellings, the true
    one not counted; there are more if `is_all` is False. `example` is one that changes few classes:
    for each network, what classes are taken for. `labels_needed` are the fewest classes, for each
    network, that labelled examples must show so that no relabelling is left.

    >>> Shortcuts(0).is_all
    True
    """

    count: int
    is_all: bool = True
    example: Mapping[str, Mapping[Class, Class]] = field(default_factory=FrozenMapping)
    labels_needed: Mapping[str, Sequence[Class]] = field(default_factory=FrozenMapping)

    def __str__(self) -> str:
        if not self.count:
            return "no shortcuts: the rules determine all classes that occur in the examples"
        taken = "; ".join(
            f"{name} takes " + ", ".join(f"{true} for {other}" for true, other in changed.items())
            for name, changed in self.example.items()
        )
        needed = "; ".join(f"{name} {listed(some)}" for name, some in self.labels_needed.items())
        number = f"{self.count:,}" if self.is_all else f"at least {self.count:,}"
        return f"{number} shortcuts, in one of which {taken}; label examples of {needed}"


def shortcuts(
    knowledge: Knowledge,
    examples: Mapping[str, Any],
    networks: Sequence[str | Sequence[str]],
    *,
    functions: Mapping[str, Any] | None = None,
    most: int = 1000,
) -> Shortcuts:
    """Return the relabellings of classes that keep the rules true for every example.

    `examples` are labels of each predicate that rules read, as `observed=` takes them: the true
    classes of those that networks compute, and the observed labels of others. −100 marks what is
    not observed; hidden predicates need no labels. `networks` lists which predicates each network
    computes. Counting stops at `most`.

    >>> from residuum.syntax import loads
    >>> knowledge = loads('''
    ...     domain digit = 0..4   domain sum = 0..8
    ...     predicate Left(digit)   predicate Right(digit)   predicate Sum(sum)
    ...     rule addition: forall a, b in digit: Left(a) & Right(b) -> Sum(a + b)
    ... ''')
    >>> seen = {"Left": [0, 0, 2, 2], "Right": [0, 1, 3, 4], "Sum": [0, 1, 5, 6]}
    >>> found = shortcuts(knowledge, seen, [("Left", "Right")])
    >>> found.count
    2
    >>> found.example
    {'Left': {2: 3, 3: 2, 4: 3}}
    >>> len(found.labels_needed["Left"])
    1
    """
    if not isinstance(knowledge, Knowledge):
        raise ResiduumError(
            f"expected a Knowledge, as rs.load returns, got {type(knowledge).__name__}; load the "
            "file first"
        )
    if not isinstance(most, int) or most < 1:
        raise ResiduumError(f"most: expected a whole number from 1 on, got {most!r}; correct it")
    signature = signature_of_knowledge(knowledge, functions or {})
    rules = _ground_rules(knowledge, signature)
    labels = _Labels(signature, atoms_of(rules), examples, networks)
    solver = _Solver(labels, signature)
    try:
        for number in labels.different:
            solver.add(rules, number)
        return solver.shortcuts(most)
    finally:
        solver.close()


def _ground_rules(knowledge: Knowledge, signature: Signature) -> Formula:
    """Return all rules for one example, without quantifiers."""
    grounder = Grounder(signature, MOST_ATOMS)
    for name, rule in knowledge.rules.items():
        named = domains_of_variables(rule.formula)
        for atom in atoms_of(rule.formula):
            named.update(signature.predicates[atom.predicate].domains)
        if any(signature.domains[one].labels is None for one in named):
            raise ResiduumError(
                f"rule {name}: expected domains of listed members, got a sequence or an open "
                "domain; write the rule for one example with a fixed number of parts"
            )
    return And(*(grounder.ground(rule.formula, 0) for rule in knowledge.rules.values()))


class _Place(NamedTuple):
    """What an atom reads: an output of its predicate, and the class that it asks for."""

    outputs: tuple[int, ...]
    asked: int


class _Labels:
    """The labels of all examples, checked, and which network computes which predicate."""

    def __init__(
        self,
        signature: Signature,
        atoms: Sequence[Atom],
        examples: Mapping[str, Any],
        networks: Sequence[str | Sequence[str]],
    ) -> None:
        self._signature = signature
        self.atoms = atoms
        self.networks = [(one,) if isinstance(one, str) else tuple(one) for one in networks]
        self.network_of = {name: group[0] for group in self.networks for name in group}
        read = dict.fromkeys(atom.predicate for atom in atoms)
        _check_names("examples", examples, read)
        _check_names("networks", self.network_of, read)
        for group in self.networks:
            self._check_group(group)
        self.given = {name: self._read(name, labels) for name, labels in examples.items()}
        self._check_numbers(read)
        self.different = _first_of_each([*self.given.values()])
        count = len(self.different) * len(atoms)
        if count > MOST_ATOMS:
            raise ResiduumError(
                f"expected at most {MOST_ATOMS:,} atoms in the rules of all different examples, "
                f"got {count:,}; give fewer examples"
            )

    def classes(self, network: str) -> Sequence[Class]:
        """Return the classes that a network tells apart."""
        labels = self._signature.domains_of(network)[-1].labels
        assert labels is not None
        return labels

    def seen(self, network: str) -> Sequence[int]:
        """Return the classes of a network that occur, by their places."""
        group = next(one for one in self.networks if one[0] == network)
        return sorted({int(k) for name in group for k in np.unique(self.given[name])})

    def value(self, atom: Atom, number: int) -> tuple[int, int]:
        """Return the label that an atom is about in an example, and the class it asks for."""
        outputs, asked = self._place(atom)
        return int(self.given[atom.predicate][(number, *outputs)]), asked

    def _place(self, atom: Atom) -> _Place:
        domains = self._signature.domains_of(atom.predicate)
        places = []
        for argument, domain in zip(atom.arguments, domains, strict=True):
            place = domain.place(argument.value) if isinstance(argument, Constant) else None
            assert place is not None, atom
            places.append(place)
        if self._is_independent(atom.predicate):
            return _Place(tuple(places), 1)
        return _Place(tuple(places[:-1]), places[-1])

    def _is_independent(self, name: str) -> bool:
        predicate = self._signature.predicates[name]
        return predicate.is_independent or not predicate.domains

    def _check_group(self, group: Sequence[str]) -> None:
        for name in group:
            if self._is_independent(name):
                raise ResiduumError(
                    f"networks: expected predicates whose last argument is a class, got `{name}`, "
                    "which is independent; give it a domain of two classes"
                )
            if self.classes(name) != self.classes(group[0]):
                raise ResiduumError(
                    f"networks: expected one domain of classes for `{group[0]}` and `{name}`, got "
                    f"{listed(self.classes(group[0]))} and {listed(self.classes(name))}; list them "
                    "as two networks"
                )

    def _read(self, name: str, given: Any) -> Labels:
        """Return the labels of a predicate as whole numbers: (examples, other arguments)."""
        domains = self._signature.domains_of(name)
        sizes = [len(domain.labels or ()) for domain in domains]
        classes = 2 if self._is_independent(name) else sizes.pop()
        try:
            labels = np.asarray(given).astype(np.int64, casting="same_kind")
        except (TypeError, ValueError):
            labels = np.zeros((), np.int64)
        if labels.ndim == 0 or list(labels.shape[1:]) != sizes:
            shape = ", ".join(map(str, ["examples", *sizes]))
            raise ResiduumError(
                f"examples: expected whole numbers of the shape ({shape}) for `{name}`, got "
                f"{_shape_of(given)}; give one label for each output"
            )
        known = labels if name in self.network_of else labels[labels != UNKNOWN]
        if known.size and not 0 <= known.min() <= known.max() < classes:
            wrong = known[(known < 0) | (known >= classes)][0]
            raise ResiduumError(
                f"examples: expected labels of `{name}` from 0 to {classes - 1}, got {wrong}; "
                "correct them"
            )
        return labels

    def _check_numbers(self, read: Mapping[str, Any]) -> None:
        for name in read:
            if name not in self.given and not self._signature.predicates[name].is_hidden:
                raise ResiduumError(
                    f"examples: expected labels of `{name}`, which the rules read, got none; give "
                    "them, or -100 where they are not observed"
                )
        if not self.networks:
            raise ResiduumError("networks: expected predicates, got none; name what is learnt")
        numbers = {name: len(labels) for name, labels in self.given.items()}
        if len(set(numbers.values())) != 1:
            raise ResiduumError(
                f"examples: expected as many labels of each predicate, got "
                f"{listed(f'{name}: {count}' for name, count in numbers.items())}; correct them"
            )


class _Solver:
    """A SAT solver whose models are relabellings under which the rules hold."""

    def __init__(self, labels: _Labels, signature: Signature) -> None:
        from pysat.solvers import Solver  # imported here, because it takes long

        self._labels, self._signature = labels, signature
        self._solver = Solver(name="glucose4")
        self._takes: dict[tuple[str, int, int], int] = {}
        """The variable that is true if a network takes one class for another."""
        free = 1
        for network, *_ in labels.networks:
            count = len(labels.classes(network))
            for true in labels.seen(network):
                variables = list(range(free, free + count))
                self._takes |= {(network, true, k): one for k, one in enumerate(variables)}
                free = take_one(self._solver, variables, is_complete=True, free=free + count)
        self._always = free
        self._solver.add_clause([free])
        self._free = free + 1

    def close(self) -> None:
        self._solver.delete()

    def add(self, rules: Formula, number: int) -> None:
        """Let the rules hold for an example; refuse one that breaks them with its true classes."""
        labels = self._labels
        unknown: dict[Atom, int] = {}
        variables = {atom: self._literal(atom, number, unknown) for atom in labels.atoms}
        self._free = add_softmaxes(self._solver, unknown, self._signature, 0, self._free)
        [holds] = encode(self._solver, [rules], variables, self._free)
        self._free = max(self._free, int(self._solver.nof_vars()) + 1)
        if self._solve([*self._truth.values(), holds]) is None:
            raise ResiduumError(
                f"examples: expected examples that obey the rules, got example {number}, which "
                "breaks them; correct its labels or the rules"
            )
        self._solver.add_clause([holds])

    def shortcuts(self, most: int) -> Shortcuts:
        """Count the relabellings but the true one, and find the fewest labels against them."""
        if not self._truth:
            return Shortcuts(0)
        self._solver.add_clause([-literal for literal in self._truth.values()])
        found: list[Mapping[tuple[str, int], int]] = []
        while len(found) < most and (taken := self._solve([])) is not None:
            found.append(taken)
            self._solver.add_clause([-self._takes[(*one, k)] for one, k in taken.items()])
        if not found:
            return Shortcuts(0)
        is_all = self._solve([]) is None
        example = min(found, key=lambda taken: (len(_changed(taken)), *taken.values()))
        needed = self._needed([_changed(taken) for taken in found])
        return Shortcuts(len(found), is_all, self._in_words(example), self._by_network(needed))

    @property
    def _truth(self) -> dict[tuple[str, int], int]:
        return {(name, k): one for (name, k, taken), one in self._takes.items() if k == taken}

    def _literal(self, atom: Atom, number: int, unknown: dict[Atom, int]) -> int:
        labels, name = self._labels, atom.predicate
        if name in labels.given:
            label, asked = labels.value(atom, number)
            if name in labels.network_of:
                return self._takes[labels.network_of[name], label, asked]
            if label != UNKNOWN:
                return self._always if label == asked else -self._always
        unknown[atom] = self._free
        self._free += 1
        return unknown[atom]

    def _solve(self, literals: Sequence[int]) -> dict[tuple[str, int], int] | None:
        """Return what each class is taken for in a model, or None if there is no model."""
        self._solver.conf_budget(MOST_CONFLICTS)
        can_hold = solve_limited(self._solver, literals)
        if can_hold is None:
            raise ResiduumError(
                f"expected an answer within {MOST_CONFLICTS:,} conflicts of the SAT solver, got "
                "none; give fewer examples"
            )
        if not can_hold:
            return None
        true = {literal for literal in self._solver.get_model() if literal > 0}
        return {(name, k): taken for (name, k, taken), one in self._takes.items() if one in true}

    def _needed(self, changes: Sequence[Sequence[tuple[str, int]]]) -> Sequence[tuple[str, int]]:
        """Return the fewest classes whose labels exclude every relabelling, found or not."""
        from pysat.examples.hitman import Hitman

        with Hitman(bootstrap_with=changes, solver="glucose4", htype="sorted") as hitting:
            while True:
                needed: Sequence[tuple[str, int]] = hitting.get()
                left = self._solve([self._truth[one] for one in needed])
                if left is None:
                    return sorted(needed)
                hitting.hit(_changed(left))

    def _in_words(self, taken: Mapping[tuple[str, int], int]) -> Mapping[str, Any]:
        changed: dict[str, dict[Class, Class]] = {}
        for name, k in _changed(taken):
            classes = self._labels.classes(name)
            changed.setdefault(name, {})[classes[k]] = classes[taken[name, k]]
        return FrozenMapping({name: FrozenMapping(one) for name, one in changed.items()})

    def _by_network(self, needed: Sequence[tuple[str, int]]) -> Mapping[str, Sequence[Class]]:
        return FrozenMapping(
            {
                network: tuple(
                    self._labels.classes(network)[k] for name, k in needed if name == network
                )
                for network in dict.fromkeys(name for name, _ in needed)
            }
        )


def _changed(taken: Mapping[tuple[str, int], int]) -> list[tuple[str, int]]:
    """Return the classes that a network takes for others."""
    return [one for one, k in taken.items() if one[1] != k]


def _first_of_each(labels: Sequence[Labels]) -> list[int]:
    """Return the numbers of the examples that differ from all examples before them."""
    rows = np.concatenate([one.reshape(len(one), -1) for one in labels], 1)
    return sorted(np.unique(rows, axis=0, return_index=True)[1].tolist())


def _check_names(what: str, given: Any, known: Mapping[str, Any]) -> None:
    for name in given:
        if name not in known:
            raise ResiduumError(
                f"{what}: expected predicates that the rules read, {listed(known)}, got "
                f"{name!r}.{suggest(str(name), known)}"
            )


def _shape_of(given: Any) -> str:
    array = np.asarray(given)
    return f"{array.dtype} of the shape {array.shape}"
