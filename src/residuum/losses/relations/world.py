"""What is known of the members of open domains in one call: how many there are, and who."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, NamedTuple

import torch
from torch import Tensor

from residuum.errors import GroundingError, suggest
from residuum.logic import (
    And,
    Application,
    Atom,
    Comparison,
    Constant,
    CountOf,
    Formula,
    Iff,
    Implies,
    Not,
    Or,
    Term,
    Truth,
    Variable,
    fold_scoped,
)
from residuum.logic.expansion import COMPARE
from residuum.losses.relations.pairs import Pairs

Columns = Mapping[str, Tensor]
"""The numbers of members by the names of variables. The tensors broadcast."""


class FunctionDomains(NamedTuple):
    """The domains of the argument and of the values of a function."""

    argument: str
    result: str


class Chosen(NamedTuple):
    """The members that a term names: the domain or function that gives them, and their numbers."""

    source: str
    numbers: Tensor


@dataclass(frozen=True)
class World:
    """The sizes of open domains, the names of members, functions between domains, and relations.

    `functions` maps a function to the number of its value for each member. `featured` are
    functions whose values are given as features: each is a source of its own. `arguments` gives
    the domains of the arguments of each relation, `function_domains` those of functions. Functions
    that are given without declarations have none.
    """

    sizes: Mapping[str, int]
    device: torch.device
    names: Mapping[str, Sequence[str] | None] = field(default_factory=dict)
    functions: Mapping[str, Tensor] = field(default_factory=dict)
    featured: frozenset[str] = frozenset()
    relations: Mapping[str, Pairs] = field(default_factory=dict)
    arguments: Mapping[str, Sequence[str]] = field(default_factory=dict)
    function_domains: Mapping[str, FunctionDomains] = field(default_factory=dict)

    def choose(self, term: Term, domain: str | None, columns: Columns) -> Chosen:
        """Return the members of a domain that a term names. None is a domain that nobody declares.

        Its members have numbers, and nothing says how many there are.
        """
        match term:
            case Variable(name):
                return Chosen(domain or "", columns[name])
            case Constant(value):
                number = torch.tensor(self.number(value, domain), device=self.device)
                return Chosen(domain or "", number)
            case Application(name, (argument,)) if name in self.functions or name in self.featured:
                of = self.function_domains.get(name)
                inner = self.choose(argument, of.argument if of else None, columns)
                if inner.source in self.featured:
                    raise GroundingError(
                        f"`{term}`: the values of `{inner.source}` are given as features, so that "
                        "nobody knows which members they are; give their numbers"
                    )
                if name in self.featured:
                    return Chosen(name, inner.numbers)
                self._check_argument(term, inner)
                return Chosen(domain or "", self.functions[name][inner.numbers])
        if isinstance(term, Application) and len(term.arguments) == 1:
            raise GroundingError(
                f"`{term}` needs the values of `{term.function}`: pass {term.function}=… with the "
                "features of its value for each member, or the number of its value"
            )
        raise GroundingError(
            f"`{term}`: expected a variable, a member, or a function of one of them"
        )

    def _check_argument(self, term: Application, inner: Chosen) -> None:
        """Raise GroundingError if a function has no value for a single member."""
        [argument] = term.arguments
        count = len(self.functions[term.function])
        if isinstance(argument, Constant) and not 0 <= int(inner.numbers) < count:
            raise GroundingError(
                f"`{term}`: expected a number of a member from 0 to {count - 1}, as "
                f"`{term.function}` has {count} values, got {argument}"
            )

    def number(self, value: int | str, domain: str | None) -> int:
        """Return the number of a single member. GroundingError says that there is no such one."""
        if domain is None:
            if isinstance(value, int):
                return value
            raise GroundingError(
                f"{Constant(value)}: expected the number of a member, as its domain is not declared"
            )
        if domain not in self.sizes:
            raise unknown_size(domain)
        names = self.names.get(domain)
        if isinstance(value, str) and names is not None and value in names:
            return names.index(value)
        if isinstance(value, int) and 0 <= value < self.sizes[domain]:
            return value
        if isinstance(value, int):
            expected = f"a number from 0 to {self.sizes[domain] - 1}"
        elif names is None:
            expected = (
                "the number of a member, as its members have no names (rs.Members gives them)"
            )
        else:
            expected = f"one of {', '.join(names)}"
        raise GroundingError(
            f"{Constant(value)} is no member of `{domain}`: expected {expected}."
            f"{suggest(str(value), names or ())}"
        )

    def holds(self, guard: Formula, domains: Mapping[str, str], columns: Columns) -> Tensor:
        """Return where a guard holds. `domains` are those of its variables."""

        def compared(node: Comparison) -> Tensor:
            compare, sides = COMPARE[node.operator], (node.left, node.right)
            match sides:
                case Constant(one), Constant(other):
                    return torch.tensor(compare(one, other), device=self.device)
            found = [self._domain_of(side, domains) for side in sides]
            domain = next((one for one in found if one is not None), None)
            left, right = (self.choose(side, domain, columns).numbers for side in sides)
            return torch.as_tensor(compare(left, right))

        found: Tensor = fold_scoped(
            guard,
            {
                Comparison: lambda node, _, __: compared(node),
                Atom: lambda node, _, __: self.related(node, columns),
                Truth: lambda node, _, __: torch.tensor(node.value, device=self.device),
                Not: lambda _, parts, __: ~parts[0],
                And: lambda _, parts, __: reduce(torch.logical_and, parts),
                Or: lambda _, parts, __: reduce(torch.logical_or, parts),
                Implies: lambda _, parts, __: ~parts[0] | parts[1],
                Iff: lambda _, parts, __: parts[0] == parts[1],
                CountOf: lambda node, parts, __: _counts(node, parts),
            },
            scope=None,
            descend=_formulas_below,
        )
        return found

    def _domain_of(self, term: Term, domains: Mapping[str, str]) -> str | None:
        """Return the domain of a term. That of a single member is the one of the other side."""
        match term:
            case Variable(name):
                return domains[name]
            case Application(name) if name in self.function_domains:
                return self.function_domains[name].result
        return None

    def related(self, atom: Atom, columns: Columns) -> Tensor:
        """Return where an observed relation holds."""
        of = self.arguments[atom.predicate]
        chosen = [
            self.choose(term, domain, columns).numbers
            for term, domain in zip(atom.arguments, of, strict=True)
        ]
        sizes = [self.sizes[domain] for domain in of]
        return self.relations[atom.predicate].holds(broadcast(*chosen), sizes)


def unknown_size(domain: str) -> GroundingError:
    """Return an error that says which members are not given."""
    return GroundingError(
        f"rules need the members of `{domain}`, and nothing says how many there are: pass "
        f"{domain}=… with a row of features for each, or give the theory a module"
    )


def broadcast(*tensors: Tensor) -> Sequence[Tensor]:
    """Return tensors expanded to their common shape."""
    found: Sequence[Tensor] = torch.broadcast_tensors(*tensors)  # type: ignore[no-untyped-call]
    return found


def _formulas_below(node: Any, _: None) -> list[tuple[Any, None]]:
    return [] if isinstance(node, Comparison | Atom) else [(one, None) for one in node.children]


def _counts(guard: CountOf, parts: Sequence[Tensor]) -> Tensor:
    found = torch.stack([*broadcast(*parts)]).sum(0)
    allowed = [n for n in range(len(parts) + 1) if guard.count.holds(n)]
    return torch.isin(found, torch.tensor(allowed, device=found.device))
