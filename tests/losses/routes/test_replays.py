"""Replayed recordings give the same penalties and gradients as rules without recordings.

Without a GPU a stand-in takes the place of CUDA graphs. It runs the recorded function again, and
refuses functions that look at values.
"""

import copy
import pickle
from unittest import mock

import pytest
import torch
from recorded_rules import recorded
from torch.utils._python_dispatch import TorchDispatchMode

import residuum as rs
from residuum.losses.degrees import tensors
from residuum.losses.routes import choosing, cuda_graphs, cuda_recording, thresholds
from residuum.relaxations import PAPER

pytestmark = pytest.mark.skipif(
    cuda_recording.hook_on_saved_tensors is None,
    reason="this version of PyTorch does not tell its hooks on saved tensors",
)
CALLS = thresholds.RECORDED_AT + 3
SUM = "forall a, b in d: P(a) & Q(b) -> S((a + b) mod 4)"
FEW = "forall a in d: P(a) & ~Q(a) -> (exists b in d: S(b) & P((a + b) mod 4))"
TAGS = """domain tag = B, I, O
domain position sequence
predicate Tag(position, tag)
rule begin: forall i in position: Tag(i, O) -> ~Tag(i + 1, I)
rule never: forall i in position: ~(Tag(i, B) & Tag(i + 1, B) & Tag(i + 2, B))
"""
PAIRS = """domain tag = B, I, O
domain position sequence
predicate Tag(position, tag)
rule begin: forall i in position: Tag(i, O) -> ~Tag(i + 1, I)
rule inside: forall i in position: Tag(i, B) & ~Tag(i + 1, O) -> Tag(i + 1, I)
"""
GROUND = """domain feature = 0..5
predicate Has(feature) independent
""" + "\n".join(
    f"rule r{n}: Has({n}) & ~Has({(n + 1) % 6}) -> Has({(n + 3) % 6})" for n in range(6)
)


class Blind(TorchDispatchMode):
    """Refuses operations that look at values, as the capture of a CUDA graph does."""

    def __torch_dispatch__(self, function, _types, args=(), kwargs=None):
        looks = {torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape}
        if looks & set(function.tags):
            raise RuntimeError(f"{function} cannot be recorded")
        return function(*args, **(kwargs or {}))


class StepByStep:
    """A stand-in for a recording: it runs the function again, on its own tensors."""

    def __init__(self, function, inputs):
        self._function = function
        self._given = [one.detach().clone() for one in inputs]
        self._given = [one.float() if one.dtype in (torch.float16, torch.bfloat16) else one
                       for one in self._given]  # fmt: skip
        self(inputs)

    def __call__(self, inputs):
        for own, one in zip(self._given, inputs, strict=True):
            own.copy_(one.detach())
        with mock.patch.object(tensors, "is_traced", return_value=True), Blind():
            return [one.detach().clone() for one in self._function(self._given)]


@pytest.fixture(params=["cpu", "cuda"])
def device(request, monkeypatch):
    if request.param == "cuda":
        if not torch.cuda.is_available():
            pytest.skip("there is no GPU")
        return "cuda"
    monkeypatch.setattr(cuda_graphs, "Recording", StepByStep)
    monkeypatch.setattr(cuda_graphs, "place_of", lambda _given: "cpu")
    monkeypatch.setattr(choosing, "has_gpu", lambda: True)
    monkeypatch.setattr(cuda_graphs, "is_launch_bound", lambda _groundings, _device: True)
    return "cpu"


def drawn(names, shape, seed, device, dtype=torch.float64):
    source = torch.Generator().manual_seed(seed)
    return {
        name: (3 * torch.randn(shape, generator=source)).to(device, dtype).requires_grad_()
        for name in names
    }


def with_gradients(penalty, inputs):
    """Return penalties, and gradients of a sum in which each penalty has its own weight."""
    shares = torch.linspace(1, 2, penalty.numel(), dtype=penalty.dtype, device=penalty.device)
    found = torch.autograd.grad(penalty, list(inputs.values()), shares.reshape(penalty.shape))
    return [one.detach().cpu() for one in (penalty, *found)]


def without_recordings(make, inputs, **more):
    """Return penalties and gradients of a new rule on a CPU, which has no recordings yet."""
    here = {name: one.detach().cpu().requires_grad_() for name, one in inputs.items()}
    return with_gradients(make(here, **more), here)


def check(found, expected, **tolerance):
    for mine, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(mine, theirs, **tolerance or {"rtol": 1e-9, "atol": 1e-12})


def check_recorded(*rules):
    """Check that something was recorded, and that no recording failed."""
    kept = [one for rule in rules for one in recorded(rule)]
    assert kept
    assert all(kept)


@pytest.mark.parametrize("text", [SUM, FEW])
@pytest.mark.parametrize("relaxation", [*PAPER, "lukasiewicz-maxsat"])
def test_every_call_equals_one_without_recordings(device, relaxation, text):
    rule = rs.compile(text, relaxation, domains={"d": 4}, reduction="none")
    for seed in range(CALLS):
        inputs = drawn("PQS", (5, 4), seed, device)
        fresh = rs.compile(text, relaxation, domains={"d": 4}, reduction="none")
        check(with_gradients(rule(inputs), inputs), without_recordings(fresh, inputs))
    check_recorded(rule)


def stacked(knowledge, inputs, **more):
    return torch.stack(tuple(knowledge(inputs, **more).values()))


@pytest.mark.parametrize("relaxation", [*PAPER, "lukasiewicz-maxsat"])
@pytest.mark.parametrize("text", [TAGS, PAIRS, GROUND])
def test_rules_of_a_knowledge_equal_those_without_recordings(device, relaxation, text):
    names, shape = (("Has",), (5, 6)) if text == GROUND else (("Tag",), (5, 6, 3))
    knowledge = rs.compile(rs.loads(text), relaxation, reduction="none")
    for seed in range(CALLS):
        inputs = drawn(names, shape, seed, device)
        fresh = rs.compile(rs.loads(text), relaxation, reduction="none")
        found = with_gradients(stacked(knowledge, inputs), inputs)
        check(found, without_recordings(lambda given, k=fresh: stacked(k, given), inputs))
        total = with_gradients(knowledge.total(inputs), inputs)
        check(total, without_recordings(fresh.total, inputs))
    compiled_rules = (*knowledge.bundles.values(), *knowledge.rules.values())
    check_recorded(*compiled_rules)


@pytest.mark.parametrize("text", [TAGS, PAIRS])
@pytest.mark.parametrize("relaxation", ["r-product", "s-product", "s-godel", "lukasiewicz"])
def test_lengths_may_change_in_every_call(device, relaxation, text):
    knowledge = rs.compile(rs.loads(text), relaxation, reduction="none")
    alone = rs.compile("begin", relaxation, knowledge=rs.loads(text), reduction="none")
    for seed in range(CALLS):
        inputs = drawn(("Tag",), (4, 6, 3), seed, device)
        lengths = torch.randint(0, 7, (4,), generator=torch.Generator().manual_seed(seed))
        fresh = rs.compile(rs.loads(text), relaxation, reduction="none")
        expected = without_recordings(
            lambda given, k=fresh, n=lengths: stacked(k, given, lengths=n), inputs
        )
        check(with_gradients(stacked(knowledge, inputs, lengths=lengths), inputs), expected)
        penalty = alone(inputs, lengths=lengths)
        torch.testing.assert_close(penalty.detach().cpu(), expected[0][0], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("relaxation", ["r-product", "s-product", "s-godel"])
def test_results_outlive_the_next_call(device, relaxation):
    rule = rs.compile(SUM, relaxation, domains={"d": 4}, reduction="none")
    knowledge = rs.compile(rs.loads(GROUND), relaxation, reduction="none")
    for seed in range(CALLS):  # often enough that both are recorded
        rule(drawn("PQS", (5, 4), seed, device)).sum().backward()
        stacked(knowledge, drawn(("Has",), (5, 6), seed, device)).sum().backward()
    for call, names, shape in (
        (rule, "PQS", (5, 4)),
        (lambda given: stacked(knowledge, given), ("Has",), (5, 6)),
    ):
        first, second = (drawn(names, shape, seed, device) for seed in (1, 2))
        one, other = call(first), call(second)
        check(with_gradients(one, first), with_gradients(call(first), first), rtol=0, atol=0)
        check(with_gradients(other, second), with_gradients(call(second), second), rtol=0, atol=0)


@pytest.mark.parametrize("relaxation", ["r-product", "s-product", "s-godel", "lukasiewicz"])
@pytest.mark.parametrize("value", [-torch.inf, 1e4, 60.0])
def test_extreme_values_after_a_recording_are_evaluated_by_another_route(device, relaxation, value):
    rule = rs.compile(SUM, relaxation, domains={"d": 4}, reduction="none")
    knowledge = rs.compile(rs.loads(GROUND), relaxation, reduction="none")
    for seed in range(CALLS):
        inputs = drawn("PQS", (5, 4), seed, device)
        others = drawn(("Has",), (5, 6), seed, device)
        if seed == CALLS - 1:
            with torch.no_grad():
                inputs["P"][2, 1] = inputs["S"][3, 0] = value
                others["Has"][2, 1] = max(value, -1e4)
        fresh = rs.compile(SUM, relaxation, domains={"d": 4}, reduction="none")
        check(with_gradients(rule(inputs), inputs), without_recordings(fresh, inputs))
        afresh = rs.compile(rs.loads(GROUND), relaxation, reduction="none")
        found = with_gradients(stacked(knowledge, others), others)
        check(found, without_recordings(lambda given, k=afresh: stacked(k, given), others))


def test_a_change_of_matmul_precision_after_a_recording_is_respected(device):
    """With reduced precision no matrix product is used, so that recorded clauses do not fit."""
    rule = rs.compile(SUM, "s-product", domains={"d": 4}, reduction="none")
    fresh = rs.compile(SUM, "s-product", domains={"d": 4}, replay=False, reduction="none")
    try:
        for precision in ("highest", "high", "highest"):
            torch.set_float32_matmul_precision(precision)
            for seed in range(CALLS):
                inputs = drawn("PQS", (5, 4), seed, device)
                check(with_gradients(rule(inputs), inputs), without_recordings(fresh, inputs))
    finally:
        torch.set_float32_matmul_precision("highest")


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("relaxation", ["r-product", "s-product", "lukasiewicz"])
def test_half_precision_is_rounded_only_once(device, relaxation, dtype):
    rule = rs.compile(SUM, relaxation, domains={"d": 4}, reduction="none")
    for seed in range(CALLS):
        inputs = drawn("PQS", (5, 4), seed, device, dtype)
        wide = {name: one.detach().double().requires_grad_() for name, one in inputs.items()}
        fresh = rs.compile(SUM, relaxation, domains={"d": 4}, reduction="none")
        value, *gradients = with_gradients(rule(inputs), inputs)
        exact, *expected = without_recordings(fresh, wide)
        torch.testing.assert_close(value.double(), exact, rtol=1e-5, atol=1e-6)
        step = torch.finfo(dtype).eps
        for mine, theirs in zip(gradients, expected, strict=True):
            assert mine.dtype == dtype
            torch.testing.assert_close(mine.double(), theirs, rtol=0.51 * step, atol=1e-6)


def test_ties_share_the_gradient_in_recordings(device):
    rule = rs.compile(SUM, "s-godel", domains={"d": 4}, reduction="none")
    knowledge = rs.compile(rs.loads(PAIRS), "s-godel", reduction="none")
    for _ in range(CALLS):
        inputs = {name: torch.zeros(2, 4, device=device).requires_grad_() for name in "PQS"}
        fresh = rs.compile(SUM, "s-godel", domains={"d": 4}, reduction="none")
        check(
            with_gradients(rule(inputs), inputs),
            without_recordings(fresh, inputs),
            rtol=1e-5,
            atol=1e-7,
        )
        tags = {"Tag": torch.zeros(2, 5, 3, device=device).requires_grad_()}
        afresh = rs.compile(rs.loads(PAIRS), "s-godel", reduction="none")
        expected = without_recordings(lambda given, k=afresh: stacked(k, given), tags)
        check(with_gradients(stacked(knowledge, tags), tags), expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("relaxation", ["r-product", "s-product"])
def test_second_derivatives_equal_those_without_recordings(device, relaxation):
    rule = rs.compile(SUM, relaxation, domains={"d": 4}, reduction="none")
    knowledge = rs.compile(rs.loads(GROUND), relaxation, reduction="none")
    for seed in range(CALLS):
        inputs = drawn("PQS", (3, 4), seed, device)
        here = {name: one.detach().cpu().requires_grad_() for name, one in inputs.items()}
        fresh = rs.compile(SUM, relaxation, domains={"d": 4}, reduction="none")
        check(_curvature(rule(inputs), inputs), _curvature(fresh(here), here))
        inputs = drawn(("Has",), (3, 6), seed, device)
        here = {name: one.detach().cpu().requires_grad_() for name, one in inputs.items()}
        afresh = rs.compile(rs.loads(GROUND), relaxation, reduction="none")
        expected = _curvature(stacked(afresh, here), here)
        check(_curvature(stacked(knowledge, inputs), inputs), expected)


def _curvature(penalty, inputs):
    gradients = torch.autograd.grad(penalty.sum(), list(inputs.values()), create_graph=True)
    bend = sum((one**2).sum() for one in gradients)
    return [one.cpu() for one in torch.autograd.grad(bend, list(inputs.values()))]


@pytest.mark.parametrize("wanted", ["RP", "R"])
def test_second_derivatives_work_if_some_inputs_have_no_gradient(device, wanted):
    """Under `r-godel` a rule costs as much as its consequent: the antecedent has no gradient."""
    rule = rs.compile("forall a in d: R -> P(a)", "r-godel", domains={"d": 4}, reduction="none")
    for seed in range(CALLS):
        given = drawn("R", (3,), seed, device) | drawn("P", (3, 4), seed, device)
        given = {name: one.detach().requires_grad_(name in wanted) for name, one in given.items()}
        total = rule(given).sum()
        if not total.requires_grad:  # the case before there are recordings
            continue
        leaves = [given[name] for name in wanted]
        gradients = torch.autograd.grad(total, leaves, create_graph=True, allow_unused=True)
        assert gradients[0] is None or not gradients[0].any()
    check_recorded(rule)


def test_gradients_may_be_off_or_wanted_for_some_inputs_only(device):
    rule = rs.compile(SUM, "s-product", domains={"d": 4}, reduction="none")
    for seed in range(CALLS):
        inputs = drawn("PQS", (5, 4), seed, device)
        expected = without_recordings(
            rs.compile(SUM, "s-product", domains={"d": 4}, reduction="none"), inputs
        )
        with torch.no_grad():
            silent = rule(inputs)
        assert not silent.requires_grad
        check([silent.cpu()], expected[:1])
        inputs["Q"] = inputs["Q"].detach()
        rule(inputs).sum().backward()
        assert inputs["Q"].grad is None
        assert inputs["P"].grad is not None


def test_copies_of_a_rule_record_anew(device):
    rule = rs.compile(SUM, "r-product", domains={"d": 4}, reduction="none")
    for seed in range(CALLS):
        expected = rule(drawn("PQS", (5, 4), seed, device))
    inputs = drawn("PQS", (5, 4), CALLS - 1, device)
    for twin in (copy.deepcopy(rule), pickle.loads(pickle.dumps(rule))):
        assert not recorded(twin)
        torch.testing.assert_close(twin(inputs), expected)


def test_shapes_beyond_the_limit_are_evaluated_without_recordings(device, monkeypatch):
    monkeypatch.setattr(thresholds, "MOST_RECORDINGS", 2)
    rule = rs.compile(SUM, "r-product", domains={"d": 4}, reduction="none")
    for batch in range(1, 5):
        for seed in range(CALLS):
            inputs = drawn("PQS", (batch, 4), seed, device)
            fresh = rs.compile(SUM, "r-product", domains={"d": 4}, reduction="none")
            check(with_gradients(rule(inputs), inputs), without_recordings(fresh, inputs))
    assert len(recorded(rule)) == 2


def test_rules_that_cannot_be_recorded_are_evaluated_without_recordings(device, monkeypatch):
    def refuse(_function, _inputs):
        raise RuntimeError("something looks at values")

    monkeypatch.setattr(cuda_graphs, "Recording", refuse)
    rule = rs.compile(SUM, "r-product", domains={"d": 4}, reduction="none")
    for seed in range(CALLS):
        inputs = drawn("PQS", (5, 4), seed, device)
        fresh = rs.compile(SUM, "r-product", domains={"d": 4}, reduction="none")
        check(with_gradients(rule(inputs), inputs), without_recordings(fresh, inputs))
    assert recorded(rule) == [None]


def test_nothing_is_recorded_under_hooks_checkpoints_or_torch_func(device):
    from torch.utils.checkpoint import checkpoint

    rule = rs.compile(SUM, "r-product", domains={"d": 4}, reduction="none")
    for seed in range(CALLS):
        inputs = drawn("PQS", (5, 4), seed, device)
        checkpoint(rule, inputs, use_reentrant=False).sum().backward()
        with torch.autograd.graph.save_on_cpu():
            rule(inputs).sum().backward()
        torch.func.grad(lambda given: rule(given).sum())(inputs)
    assert not recorded(rule)


def test_nothing_is_recorded_with_replay_false(device):
    rule = rs.compile(SUM, "r-product", domains={"d": 4}, replay=False, reduction="none")
    theory = rs.Theory(
        rs.loads("domain x\npredicate P(x)\npredicate Q(x)\nrule r: forall i in x: P(i) -> Q(i)"),
        replay=False,
        P=torch.nn.Linear(3, 1).to(device),
        Q=torch.nn.Linear(3, 1).to(device),
    )
    for seed in range(CALLS):
        rule(drawn("PQS", (5, 4), seed, device)).sum().backward()
        theory(x=torch.randn(5, 3, device=device)).total.backward()
    assert not recorded(rule)
    assert not any(recorded(one) for one in theory._rules().whole.rules.values())
