"""The members of open domains in one call of a theory: features, sizes, names and functions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, final

import torch
from torch import Tensor, nn

from residuum.errors import GroundingError
from residuum.losses.relations.pairs import Pairs
from residuum.losses.relations.world import FunctionDomains, World
from residuum.syntax import Knowledge, Predicate


@final
class Sources:
    """Where the members that rules name come from, one row of features for each of them.

    A source is an open domain or a function into one: a tensor of the call, by its name, or for a
    domain a module of the theory, which is called once. A function may also be given by integers,
    the number of its value for each member: if some rule `relates` members, or the members that
    they number are given. Other integers are features, such as the words of an embedding.
    """

    def __init__(
        self,
        knowledge: Knowledge,
        modules: Mapping[str, nn.Module],
        tensors: Mapping[str, Any],
        *,
        relates: bool,
        frozen: Collection[str] = (),
    ) -> None:
        self._knowledge = knowledge
        self._modules = modules
        self._frozen = frozen
        self._given: dict[str, Any] = {}
        self._found: dict[str, Tensor] = {}
        self._functions: dict[str, Tensor] = {}
        for name, given in tensors.items():
            if name in modules:
                raise GroundingError(
                    f"`{name}`: expected its members once, got a module of the theory and a tensor"
                )
            is_numbered = name in knowledge.functions and are_numbers(given)
            if is_numbered and (
                relates or self._is_given(knowledge.functions[name].result, tensors)
            ):
                self._functions[name] = given.long()  # of 8 bits they would be a mask
            elif name in knowledge.functions or name in knowledge.domains:
                self._given[name] = given

    def _is_given(self, domain: str, tensors: Mapping[str, Any]) -> bool:
        """Return whether members of a domain are given, by features that are no integers."""
        is_tensor = domain in tensors and not are_numbers(tensors[domain])
        return domain in self._modules or is_tensor

    def features(self, source: str) -> Tensor:
        """Return one row of features for each member. GroundingError says that there are none."""
        if source not in self._found:
            if source not in self._modules and source not in self._given:
                raise GroundingError(
                    f"rules need the members of `{source}`: pass {source}=… with a row of features "
                    f"for each, or give the theory a module, {source}=rs.Members(…)"
                )
            module = self._modules.get(source)
            with torch.set_grad_enabled(torch.is_grad_enabled() and source not in self._frozen):
                given = self._given[source] if module is None else module()
            features = _checked(source, given)
            self._found[source] = features.detach() if source in self._frozen else features
        return self._found[source]

    def open_domains(self, predicate: Predicate) -> list[str]:
        """Return the open domains among those of a predicate's arguments."""
        known = self._knowledge.domains
        return [name for name in predicate.domains if known[name].is_open]

    def are_members(self, domain: str) -> bool:
        """Return whether integers are numbers of members, as their features are no integers."""
        if domain in self._modules:
            return True
        given = self._given.get(domain)
        return isinstance(given, Tensor) and given.is_floating_point()

    def completed(self, tensors: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
        """Return tensors with the members of these names that modules or numbers give."""
        found = dict(tensors)
        for name in names:
            if name in self._modules:
                found[name] = self.features(name)
            elif name in self._functions and self._known_result(name):
                result = self._knowledge.functions[name].result
                features, numbers = self.features(result), self._functions[name]
                check_range(name, numbers, result, {result: len(features)})
                found[name] = features[numbers]
        return found

    def _known_result(self, function: str) -> bool:
        """Return whether the members that a function's numbers name are given."""
        result = self._knowledge.functions[function].result
        return result in self._modules or result in self._given

    def world(self, relations: Mapping[str, Pairs]) -> World:
        """Return what is known of members, with the relations that guards read."""
        domains = [name for name, domain in self._knowledge.domains.items() if domain.is_open]
        given = [name for name in domains if name in self._given or name in self._modules]
        sizes = {name: len(self.features(name)) for name in given}
        for name, domain in self._function_domains().items():
            numbers = self._functions[name] if name in self._functions else self.features(name)
            if sizes.setdefault(domain, len(numbers)) != len(numbers):
                raise GroundingError(
                    f"function `{name}`: expected a value for each of the {sizes[domain]} members "
                    f"of `{domain}`, got {len(numbers)}"
                )
        for name, numbers in self._functions.items():
            result = self._knowledge.functions[name].result
            check_range(name, numbers, result, sizes)
        devices = [one.device for one in (*self._found.values(), *self._functions.values())]
        device = devices[0] if devices else torch.device("cpu")
        names = {name: getattr(self._modules.get(name), "names", None) for name in domains}
        predicates = self._knowledge.predicates
        return World(
            sizes,
            device,
            names,
            {name: numbers.to(device) for name, numbers in self._functions.items()},
            frozenset(name for name in self._given if name in self._knowledge.functions),
            relations,
            {name: predicates[name].domains for name in relations},
            {
                name: FunctionDomains(one.domains[0], one.result)
                for name, one in self._knowledge.functions.items()
                if len(one.domains) == 1
            },
        )

    def _function_domains(self) -> dict[str, str]:
        """Return the domain of the argument of each function of one argument that is given."""
        given = (*self._functions, *self._given)
        known = {name: self._knowledge.functions.get(name) for name in given}
        return {
            name: one.domains[0]
            for name, one in known.items()
            if one is not None and len(one.domains) == 1
        }


def are_numbers(given: Any) -> bool:
    """Return whether a tensor holds the numbers of members: integers, one for each member."""
    if not isinstance(given, Tensor) or given.dim() != 1 or given.dtype == torch.bool:
        return False
    return not (given.is_floating_point() or given.is_complex())


def check_range(name: str, numbers: Tensor, domain: str, sizes: Mapping[str, int]) -> None:
    """Raise GroundingError unless a function has numbers of members of a domain as values."""
    if domain not in sizes:
        raise GroundingError(
            f"function `{name}` is given by numbers of members of `{domain}`, which are not given; "
            f"pass {domain}=…, or the features of the function's values"
        )
    wrong = numbers[(numbers < 0) | (numbers >= sizes[domain])]
    if len(wrong):
        raise GroundingError(
            f"function `{name}`: expected numbers of members of `{domain}`, from 0 to "
            f"{sizes[domain] - 1}, got {int(wrong[0])}"
        )


def _checked(name: str, given: Any) -> Tensor:
    if not isinstance(given, Tensor) or not given.dim():
        found = "one number" if isinstance(given, Tensor) else type(given).__name__
        raise GroundingError(
            f"members of `{name}`: expected a tensor with a row of features for each, got {found}"
        )
    return given
