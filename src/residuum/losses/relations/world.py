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
    free_variables,
)
from residuum.logic.expansion import COMPARE
from residuum.losses.relations.pairs import Pairs

Columns = Mapping[str, Tensor]
"""The numbers of members by the names of variables. The tensors broadcast."""


class Chosen(NamedTuple):
    """The members that a term names: the domain or function that gives them, and their numbers."""

    source: str
    numbers: Tensor


@dataclass(frozen=True)
class World:
    """The sizes of open domains, the names of members, functions between domains, and relations.

    `functions` maps a function to the number of its value for each member. `featured` are
    functions whose values are given as features: each is a source of its own. `arguments` gives
    the domains of the arguments of each relation.
    """

    sizes: Mapping[str, int]
    device: torch.device
    names: Mapping[str, Sequence[str] | None] = field(default_factory=dict)
    functions: Mapping[str, Tensor] = field(default_factory=dict)
    featured: frozenset[str] = frozenset()
    relations: Mapping[str, Pairs] = field(default_factory=dict)
    arguments: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def choose(self, term: Term, domain: str, columns: Columns) -> Chosen:
        """Return the members of a domain that a term names."""
        match term:
            case Variable(name):
                return Chosen(domain, columns[name])
            case Constant(value):
                return Chosen(domain, torch.tensor(self.number(value, domain), device=self.device))
            case Application(name, (argument,)) if name in self.functions or name in self.featured:
                inner = self.choose(argument, domain, columns)
                if inner.source in self.featured:
                    raise GroundingError(
                        f"`{term}`: the values of `{inner.source}` are given as features, so that "
                        "nobody knows which members they are; give their numbers"
                    )
                if name in self.featured:
                    return Chosen(name, inner.numbers)
                return Chosen(domain, self.functions[name][inner.numbers])
        if isinstance(term, Application) and len(term.arguments) == 1:
            raise GroundingError(
                f"`{term}` needs the values of `{term.function}`: pass {term.function}=… with the "
                "features of its value for each member, or the number of its value"
            )
        raise GroundingError(
            f"`{term}`: expected a variable, a member, or a function of one of them"
        )

    def number(self, value: int | str, domain: str) -> int:
        """Return the number of a single member. GroundingError says that there is no such one."""
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
            domain = next(domains[name] for name in sorted(free_variables(node)))
            left, right = (
                self.choose(side, domain, columns).numbers for side in (node.left, node.right)
            )
            return torch.as_tensor(COMPARE[node.operator](left, right))

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

    def related(self, atom: Atom, columns: Columns) -> Tensor:
        """Return where an observed relation holds."""
        of = self.arguments[atom.predicate]
        chosen = [
            self.choose(term, domain, columns).numbers
            for term, domain in zip(atom.arguments, of, strict=True)
        ]
        sizes = [self.sizes[domain] for domain in of]
        return self.relations[atom.predicate].holds(broadcast(*chosen), sizes)


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
