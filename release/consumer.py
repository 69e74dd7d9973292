"""A program of a user, for a strict type checker: right calls pass, wrong ones are errors.

A comment that expects an error where there is none is an error itself under `--strict`.
"""

from typing import assert_type

import torch

import residuum as rs

rule = rs.compile("P -> Q", "r-product", reduction="none", weight=0.5)
assert_type(rule, rs.CompiledRule)
knowledge = rs.compile(rs.loads("predicate P\npredicate Q\nrule one: P -> Q"))
assert_type(knowledge, rs.CompiledKnowledge)
given = torch.zeros(3)
rule(P=given, Q=given).sum()

rs.compile("P -> Q", blok=3)  # type: ignore[call-overload]
rs.compile("P -> Q", block="many")  # type: ignore[call-overload]
rs.compile("P -> Q", reduction="average")  # type: ignore[call-overload]
