"""Members of open domains for a rehearsal: made up, or some of those in tables of predictions.

Rules that relate members are rehearsed on one world or a few, small enough for the budget of work.
Of tables, members that relations connect are taken together.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import torch
from torch import Tensor

from residuum.advice.closing import (
    Closed,
    Table,
    World,
    close,
    members_in_rules,
    open_functions,
    relating_rules,
    relations_in_guards,
)
from residuum.advice.fitting import WORK, Fitted, fit, work_by_rule
from residuum.advice.samples import (
    Arrays,
    Sample,
    check_rules,
    checked_sample,
    draw_samples,
    hidden_predicates,
    slots_of,
)
from residuum.advice.tables import Tables
from residuum.errors import DataError
from residuum.logic.terms import Label
from residuum.syntax import Knowledge

WORLDS: Final = 4
"""How many worlds are made up. All have the same relations in guards."""

MADE_UP: Final = 16
MOST_FROM_TABLES: Final = 64
FEWEST: Final = 4
"""The most members of a domain that are made up, or taken from tables, and what is kept anyway."""

Node = tuple[str, int]
"""A domain and the number of one of its members."""

LINKS: Final = 3
"""With how many others a made-up relation links a member, on average."""

Members = Mapping[str, Sequence[int]]
"""The numbers of members that are kept, by open domain."""


class Settled(NamedTuple):
    """Rules and samples that fit the budget, the groundings of rows, and a remark on members."""

    fitted: Sequence[Fitted]
    scales: Mapping[str, float]
    remark: str = ""


def settle(knowledge: Knowledge, tables: Tables | None, *, seed: int = 0) -> Settled:
    """Return rules that relate members as rules about a few of them, with predictions.

    There are fewer members until the groundings fit the budget, and then fewer rules.
    """
    _refuse_hidden(knowledge)
    generator = torch.Generator().manual_seed(seed)
    examples, most = (WORLDS, MADE_UP) if tables is None else (2, MOST_FROM_TABLES)
    while True:
        if tables is None:
            world = _made_up(knowledge, most, generator)
        else:
            world = _from_tables(knowledge, tables, most, generator)
        closed = close(knowledge, world)
        work = sum(work_by_rule(closed.knowledge, Sample("none", {})).values())
        if work * examples <= WORK or most <= FEWEST:
            break
        most = max(FEWEST, most * 3 // 4)
    samples = _drawn(closed, world) if tables is None else [_taken(closed, world, tables)]
    fitted = [fit(closed.knowledge, sample) for sample in samples]
    kept = {name: len(own) for name, own in world.members.items()}
    if tables is None:
        sizes = ", ".join(f"{size:,} of {name}" for name, size in kept.items())
        return Settled(fitted, closed.scales, f"Members are made up: {sizes}")
    said = tuple(f"{size:,} of {tables.sizes[name]:,} members of {name}, linked ones together"
                 for name, size in kept.items() if size < tables.sizes[name])  # fmt: skip
    fitted = [one._replace(left_out=(*said, *one.left_out)) for one in fitted]
    return Settled(fitted, closed.scales)


def _refuse_hidden(knowledge: Knowledge) -> None:
    hidden = hidden_predicates(knowledge)
    if hidden:
        related = ", ".join(f"`{name}`" for name in relating_rules(knowledge))
        raise DataError(
            f"expected rules that one relaxation can take: only `exact` sums out the hidden "
            f"predicate `{hidden[0]}`, and it refuses {related}, which relates members of open "
            "domains; list labels for these domains, or leave out one of the two"
        )


# Made up


def _made_up(knowledge: Knowledge, most: int, generator: torch.Generator) -> World:
    mentioned = members_in_rules(knowledge)
    used = {one for own in mentioned.values() for one in own if isinstance(one, int)}
    free = (number for number in itertools.count() if number not in used)
    texts = [one for own in mentioned.values() for one in own if isinstance(one, str)]
    names = {text: next(free) for text in dict.fromkeys(texts)}
    members = {}
    for name, domain in knowledge.domains.items():
        if domain.is_open:
            own = [one if isinstance(one, int) else names[one] for one in mentioned.get(name, ())]
            others = (number for number in itertools.count() if number not in own)
            members[name] = sorted([*own, *itertools.islice(others, max(0, most - len(own)))])
    functions = {
        one.name: _drawn_function(
            list(_tuples(knowledge, members, one.domains)),
            list(_labels(knowledge, members, one.result)),
            generator,
        )
        for one in open_functions(knowledge)
    }
    relations = {
        one.name: _drawn_relation(list(_tuples(knowledge, members, one.domains)),
                                  len(members[one.domains[0]]), generator)
        for one in relations_in_guards(knowledge)
    }  # fmt: skip
    return World(members, names, functions, relations)


def _drawn_function(
    arguments: Sequence[tuple[Label, ...]], values: Sequence[Label], generator: torch.Generator
) -> Table:
    places = torch.randint(len(values), (len(arguments),), generator=generator).tolist()
    return {one: values[place] for one, place in zip(arguments, places, strict=True)}


def _drawn_relation(
    tuples: Sequence[tuple[Label, ...]], members: int, generator: torch.Generator
) -> Table:
    holds = torch.rand(len(tuples), generator=generator) < min(0.5, LINKS * members / len(tuples))
    return dict(zip(tuples, holds.long().tolist(), strict=True))


def _labels(knowledge: Knowledge, members: Members, name: str) -> Iterable[Label]:
    return members[name] if name in members else knowledge.domains[name]


def _tuples(
    knowledge: Knowledge, members: Members, domains: Sequence[str]
) -> Iterator[tuple[Label, ...]]:
    return itertools.product(*(_labels(knowledge, members, name) for name in domains))


def _drawn(closed: Closed, world: World) -> list[Sample]:
    """Return random predictions for worlds that have the same relations in guards."""
    found = []
    for sample in draw_samples(closed.knowledge, examples=WORLDS):
        known = {
            name: _as_tensor(table, sample.logits[name].shape[1:]).expand(
                WORLDS, *sample.logits[name].shape[1:]
            )
            for name, table in world.relations.items()
            if name in sample.logits
        }
        logits = {name: one for name, one in sample.logits.items() if name not in known}
        found.append(sample._replace(logits=logits, observed=known))
    return found


def _as_tensor(table: Table, shape: Sequence[int]) -> Tensor:
    return torch.tensor(list(table.values())).reshape(tuple(shape))


# From tables


def _from_tables(
    knowledge: Knowledge, tables: Tables, most: int, generator: torch.Generator
) -> World:
    mentioned = members_in_rules(knowledge)
    for own in mentioned.values():
        for one in own:
            if isinstance(one, str):
                raise DataError(
                    f'expected members by their numbers, got "{one}" in a rule, and the members of '
                    "tables have no names; write its number, or leave out the sample"
                )
    members = _linked(tables, mentioned, most, generator)
    functions = {
        name: _restricted(tables.functions[name], members[argument], members[result], generator)
        for name, (argument, result) in tables.function_domains.items()
    }
    relations = {}
    for predicate in relations_in_guards(knowledge):
        held = set(map(tuple, tables.pairs[predicate.name].T.tolist()))
        relations[predicate.name] = {
            one: int(one in held) for one in _tuples(knowledge, members, predicate.domains)
        }
    return World(members, {}, functions, relations)


def _restricted(
    values: Tensor, arguments: Sequence[int], results: Sequence[int], generator: torch.Generator
) -> Table:
    """Return a function between members that are kept; a value that is not kept is drawn anew."""
    found = dict(_drawn_function([(one,) for one in arguments], results, generator))
    for one in arguments:
        if int(values[one]) in results:
            found[one,] = int(values[one])
    return found


def _linked(
    tables: Tables,
    mentioned: Mapping[str, Sequence[Label]],
    most: int,
    generator: torch.Generator,
) -> dict[str, list[int]]:
    """Return members to keep: those that rules name, and others along the links of the tables."""
    links = _links(tables) if any(size > most for size in tables.sizes.values()) else {}
    kept: dict[str, list[int]] = {name: [] for name in tables.sizes}
    seen = set()
    named = [(name, one) for name, own in mentioned.items() for one in own if isinstance(one, int)]
    starts = {name: torch.randperm(size, generator=generator).tolist()
              for name, size in tables.sizes.items()}  # fmt: skip
    others = [(name, one) for name, order in starts.items() for one in order[:most]]
    for start in (*named, *others):
        waiting = deque([start])
        while waiting:
            name, number = node = waiting.popleft()
            is_room = len(kept[name]) < most or node in named
            if node not in seen and is_room:
                seen.add(node)
                kept[name].append(number)
                waiting += links.get(node, ())
    return {name: sorted(own) for name, own in kept.items()}


def _links(tables: Tables) -> dict[Node, list[Node]]:
    """Return the neighbours of each member: what relations, labels and functions link it with."""
    found: dict[Node, list[Node]] = {}
    for domains, index in tables.links():
        nodes = [[(name, one) for one in row] for name, row in zip(domains, index, strict=True)]
        for left, right in itertools.pairwise(nodes):
            for one, other in zip(left, right, strict=True):
                found.setdefault(one, []).append(other)
                found.setdefault(other, []).append(one)
    return found


def _taken(closed: Closed, world: World, tables: Tables) -> Sample:
    """Return the predictions, evidence and labels for the members of a world, as one example."""
    keep = {name: torch.tensor(kept, dtype=torch.long) for name, kept in world.members.items()}

    def restricted(arrays: Mapping[str, Tensor]) -> dict[str, Tensor]:
        found = {}
        for name, one in arrays.items():
            for place, domain in enumerate(tables.domains[name]):
                one = one.index_select(place, keep[domain])
            found[name] = one.unsqueeze(0)
        return found

    known = {
        name: _held(pairs, [world.members[domain] for domain in tables.domains[name]]).unsqueeze(0)
        for name, pairs in tables.pairs.items()
        if name in slots_of(closed.knowledge)
    }
    observed = restricted(tables.observed) | known
    given = Arrays(restricted(tables.arrays), None, observed, restricted(tables.labels))
    rules = check_rules(closed.knowledge, tables.form)
    return checked_sample(tables.path, closed.knowledge, rules, given, tables.form)


def _held(pairs: Tensor, kept: Sequence[Sequence[int]]) -> Tensor:
    """Return a relation as a table of 1 and 0 over the members that are kept."""
    held = set(map(tuple, pairs.T.tolist()))
    values = [int(one in held) for one in itertools.product(*kept)]
    return torch.tensor(values).reshape([len(own) for own in kept])
