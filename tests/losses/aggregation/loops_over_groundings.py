"""Aggregation over groundings by loops: an oracle that shares no code with the library."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import reduce

import brute_force
from brute_force import Textbook, World, power_mean

from residuum import logic as lg


def penalty(rule, world: World, logic: Textbook, name: str, number: float | None) -> float:
    """Return the penalty of a rule over an aggregator with this name and number."""
    if name == "p-mean":
        logic = replace(logic, p=number)
    found = _penalty(rule, world, logic, {}, name, number)
    return found if not logic.is_capped or logic.limit is None else min(found, logic.limit)


def _penalty(node, world, logic, env, name, number):
    if isinstance(node, lg.And):
        parts = [_penalty(child, world, logic, env, name, number) for child in node.children]
        return max(parts, default=0.0) if logic.limit is None else math.fsum(parts)
    if not isinstance(node, lg.Forall):
        return logic.penalty(brute_force.degree(node, world, logic, env))
    if name == "p-mean":
        found = _degree(node, world, logic, env, number)
        if found < 1e-6 and logic.strict():
            raise brute_force.CornerError
        return logic.penalty(found)
    body, environments = groundings(node, world, env)
    costs = [_penalty(body, world, logic, one, name, number) for one in environments]
    if logic.is_capped and logic.limit is not None:
        costs = [min(cost, logic.limit) for cost in costs]
    return aggregate(costs, name, number)


def _degree(node, world, logic, env, p):
    if isinstance(node, lg.Forall):
        body, environments = groundings(node, world, env)
        return 1 - power_mean([1 - _degree(body, world, logic, one, p) for one in environments], p)
    if isinstance(node, lg.And):
        parts = [_degree(child, world, logic, env, p) for child in node.children]
        return reduce(logic.conjunction, parts)
    return brute_force.degree(node, world, logic, env)


def groundings(node, world, env):
    """Return the body below a chain of `forall`s, and the environments of all its groundings."""
    environments = [env]
    while isinstance(node, lg.Forall):
        environments = [inner for one in environments for inner in world.groundings(node, one)]
        node = node.body
    return node, environments


def aggregate(costs, name, number):
    """Return the aggregate of the penalties of groundings."""
    if not costs:
        return 0.0
    if name == "mean":
        return math.fsum(costs) / len(costs)
    if name == "log-mean-exp":
        top = max(costs)
        total = math.fsum(math.exp((cost - top) / number) for cost in costs)
        return top + number * math.log(total / len(costs))
    assert name == "worst"
    count = math.ceil(Fraction(str(number)) * len(costs) / 100)
    return math.fsum(sorted(costs, reverse=True)[:count]) / count
