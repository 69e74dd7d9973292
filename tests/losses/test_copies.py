"""Rules and theories are copied and pickled, and then say the same."""

from __future__ import annotations

import copy
import io
import pickle

import pytest
import torch
from torch import distributed

import residuum as rs

RULE = "forall a in d: P(a) -> Q((a + 1) mod 4)"
KNOWLEDGE = """
    domain d = 0..3
    predicate P(d)
    predicate Q(d)
    rule one: forall a in d: P(a) -> Q(a)
    rule two weight 0.5: forall a in d: Q(a) -> P((a + 1) mod 4)
"""


def saved(module):
    buffer = io.BytesIO()
    torch.save(torch.nn.ModuleList([module]), buffer)
    buffer.seek(0)
    return torch.load(buffer, weights_only=False)[0]


def pickled(module):
    return pickle.loads(pickle.dumps(module))


COPIES = pytest.mark.parametrize("duplicate", [copy.deepcopy, pickled, saved])


def outputs():
    generator = torch.Generator().manual_seed(0)
    return {name: torch.randn(3, 4, generator=generator) for name in "PQ"}


def theory(**options):
    torch.manual_seed(0)
    networks = {name: torch.nn.Linear(4, 4) for name in "PQ"}
    return rs.Theory(rs.loads(KNOWLEDGE), **options, **networks)


@pytest.fixture
def group():
    distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
    yield distributed.group.WORLD
    distributed.destroy_process_group()


@COPIES
@pytest.mark.parametrize("name", ["r-product", "s-godel", "r-frank(1/3)", "exact"])
def test_a_copied_rule_costs_the_same(name, duplicate):
    rule = rs.compile(RULE, name, domains={"d": 4}, predicates={"Q": ("d",)}, reduction="none")
    for _ in range(2):  # also when it has been called
        torch.testing.assert_close(duplicate(rule)(outputs()), rule(outputs()))


@COPIES
def test_copied_knowledge_costs_the_same(duplicate):
    rules = rs.compile(rs.loads(KNOWLEDGE), reduction="none")
    torch.testing.assert_close(duplicate(rules)(outputs()), rules(outputs()))


@COPIES
def test_a_copied_theory_has_its_own_networks(duplicate):
    original = theory(weights={"one": rs.ramp(0, 1, epochs=4)})
    original.epoch = 2
    twin = duplicate(original)
    torch.testing.assert_close(twin(**outputs()).total, original(**outputs()).total)
    with torch.no_grad():
        original.networks["P"].bias.add_(torch.tensor([5.0, 0, 0, 0]))
    assert twin(**outputs()).total != original(**outputs()).total


def made_with(group):
    options = {"process_group": group, "reduction": "mean"}
    return [
        rs.compile(RULE, domains={"d": 4}, predicates={"Q": ("d",)}, **options),
        rs.compile(rs.loads(KNOWLEDGE), **options),
        theory(**options),
    ]


def cost(module):
    found = module(**outputs())
    return found.parts if isinstance(module, rs.Theory) else found


def test_a_deep_copy_shares_the_process_group(group):
    for module in made_with(group):
        torch.testing.assert_close(cost(copy.deepcopy(module)), cost(module))
    assert copy.deepcopy(made_with(group)[0]).process_group is group


@pytest.mark.parametrize("duplicate", [pickled, saved])
def test_a_process_group_is_given_again_after_pickling(group, duplicate):
    for module in made_with(group):
        twin = duplicate(duplicate(module))  # what lost its group can still be saved
        with pytest.raises(rs.ResiduumError, match="saved with a process_group"):
            cost(twin)
        for given in (group, None):
            twin.set_process_group(given)
            torch.testing.assert_close(cost(twin), cost(module))


def test_a_process_group_is_given_again_for_the_total_too(group):
    original = rs.compile(
        rs.loads(KNOWLEDGE.replace("weight 0.5", "")), process_group=group, reduction="none"
    )
    twin = pickled(original)
    twin.set_process_group(None)
    torch.testing.assert_close(twin.total(outputs()), original.total(outputs()))
