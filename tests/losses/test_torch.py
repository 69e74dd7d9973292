"""Compiled rules inside PyTorch: torch.compile, torch.func, autocast, half precision."""

from __future__ import annotations

import gc

import pytest
import torch

import residuum as rs

SUM = "forall a, b in d: P(a) & Q(b) -> S((a + b) mod 4)"
PAPER = ["s-product", "r-product", "s-godel", "r-godel", "lukasiewicz", "lukasiewicz-maxsat"]
SIDES = ("P", "Q", "S")


def rule(name="r-product", **options):
    return rs.compile(SUM, name, domains={"d": 4}, **options, reduction="none")


def logits(*batch, dtype=torch.float32):
    generator = torch.Generator().manual_seed(4)
    return {key: torch.randn(*batch, 4, generator=generator).to(dtype) for key in SIDES}


@pytest.mark.parametrize("name", PAPER)
def test_vmap_over_examples_is_the_batch(name):
    module, given = rule(name), logits(5)
    mapped = torch.func.vmap(lambda p, q, s: module(P=p, Q=q, S=s))(*given.values())
    torch.testing.assert_close(mapped, module(given))


@pytest.mark.parametrize("name", PAPER)
def test_functional_gradients_are_those_of_backward(name):
    module = rule(name)
    leaves = {key: given.requires_grad_() for key, given in logits(5).items()}
    module(leaves).sum().backward()

    def loss(given):
        return module(given)

    per_example = torch.func.vmap(torch.func.grad(loss))(logits(5))
    for key, leaf in leaves.items():
        expected = torch.zeros_like(leaf) if leaf.grad is None else leaf.grad
        torch.testing.assert_close(per_example[key], expected)


@pytest.mark.parametrize("name", PAPER)
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_the_default_dtype_changes_nothing(name, dtype):
    leaves = {key: given.requires_grad_() for key, given in logits(5, dtype=dtype).items()}

    def found():
        penalty = rule(name)(leaves)
        slopes = torch.autograd.grad(penalty.sum(), list(leaves.values()), materialize_grads=True)
        return penalty.detach(), *slopes

    expected = found()
    torch.set_default_dtype(torch.float64)
    try:
        for mine, theirs in zip(found(), expected, strict=True):
            torch.testing.assert_close(mine, theirs)
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("name", PAPER)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_answered_in_single_and_differentiated_in_half(name, dtype):
    leaves = {key: given.requires_grad_() for key, given in logits(5, dtype=dtype).items()}
    penalty = rule(name)(leaves)
    assert penalty.dtype == torch.float32
    wide = {key: given.float() for key, given in logits(5, dtype=dtype).items()}
    torch.testing.assert_close(penalty, rule(name)(wide))
    penalty.sum().backward()
    assert all(leaf.grad is None or leaf.grad.dtype == dtype for leaf in leaves.values())


@pytest.mark.parametrize("name", PAPER)
def test_autocast_changes_nothing(name):
    given, module = logits(5), rule(name)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        penalty, degree = module(given), module.truth(given)
    assert penalty.dtype == degree.dtype == torch.float32
    torch.testing.assert_close((penalty, degree), (module(given), module.truth(given)))


@pytest.mark.parametrize("name", PAPER)
@pytest.mark.parametrize("block", [1, 7, 64])
def test_blocks_of_broadcast_batches_change_nothing(name, block):
    shapes = {"P": (2, 1, 4), "Q": (3, 4), "S": (4,)}
    found = []
    for size in (None, block):
        generator = torch.Generator().manual_seed(9)
        leaves = {
            key: torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_()
            for key, shape in shapes.items()
        }
        penalty = rule(name, block=size)(leaves)
        assert penalty.shape == (2, 3)
        (penalty * torch.arange(1, 7).reshape(2, 3)).sum().backward()
        slopes = [leaf.grad for leaf in leaves.values()]
        found.append((penalty, [torch.zeros(()) if s is None else s for s in slopes]))
    torch.testing.assert_close(found[1][0], found[0][0])
    for blocked, whole in zip(found[1][1], found[0][1], strict=True):
        # Blocks write zeros where nothing flows at all.
        torch.testing.assert_close(blocked, whole.expand_as(blocked), check_dtype=False)


@pytest.mark.parametrize("name", PAPER)
@pytest.mark.parametrize("block", [None, 1, 7, 64])
def test_one_tensor_may_stand_for_several_predicates(name, block):
    generator = torch.Generator().manual_seed(9)
    shared = torch.randn(3, 4, generator=generator, dtype=torch.float64, requires_grad=True)
    apart = [shared.detach().clone().requires_grad_() for _ in SIDES]
    rule(name, block=block)(P=shared, Q=shared, S=shared).sum().backward()
    rule(name)(dict(zip(SIDES, apart, strict=True))).sum().backward()
    total = sum(leaf.grad for leaf in apart if leaf.grad is not None)
    torch.testing.assert_close(shared.grad, total)


def test_no_gradient_is_asked_for_where_none_is_wanted():
    for block in (None, 1):
        with torch.no_grad():
            assert not rule(block=block)(logits(3)).requires_grad
        some = logits(3)
        some["P"].requires_grad_()
        rule(block=block)(some).sum().backward()
        assert some["P"].grad is not None
        assert some["Q"].grad is None


def test_moving_the_module_changes_nothing():
    module = rule().double().eval()
    torch.testing.assert_close(module(logits(2)), rule()(logits(2)))


@pytest.mark.parametrize("name", ["r-product", "s-product", "lukasiewicz", "s-godel"])
@pytest.mark.parametrize("batch", [(3,), (2, 3)])
def test_a_penalty_may_be_changed_in_place(name, batch):
    module = rs.compile(SUM, name, domains={"d": 4}, reduction="none")
    leaves = {key: torch.randn(*batch, 4, requires_grad=True) for key in "PQS"}
    expected = torch.autograd.grad(2 * module(leaves).sum(), list(leaves.values()))
    penalty = module(leaves)
    penalty *= 2
    found = torch.autograd.grad(penalty.sum(), list(leaves.values()))
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("name", ["s-godel", "r-godel", "s-nilpotent-minimum"])
@pytest.mark.parametrize("reduction", ["none", "conjunction"])
def test_what_is_largest_may_be_changed_in_place(name, reduction):
    text = "forall a in d: P(a) & ~S(a) -> (exists b in d where b != a: Q(b))"
    module = rs.compile(text, name, domains={"d": 4}, reduction=reduction)
    knowledge = rs.compile(
        rs.loads(f"""
        domain d = 0..3
        predicate P(d)
        predicate Q(d)
        predicate S(d)
        rule one: {text}
        rule two: exists a in d: P(a) & S(a)
    """),
        name,
        reduction=reduction,
    )
    leaves = {key: given.requires_grad_() for key, given in logits(3).items()}
    for ask in (module, module.truth, knowledge.total):
        slopes = []
        for change in (lambda x: x * 2, lambda x: x.mul_(2)):
            total = change(ask(leaves)).sum()
            slopes.append(torch.autograd.grad(total, list(leaves.values()), allow_unused=True))
        torch.testing.assert_close(slopes[0], slopes[1])


def tensors_alive():
    return sum(type(thing) is torch.Tensor for thing in gc.get_objects())


@pytest.fixture(scope="module")
def _few_objects():
    """What other tests have left stays: no collection of garbage looks at it again."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("_few_objects")
@pytest.mark.parametrize("name", PAPER)
@pytest.mark.parametrize("block", [None, 7])
@pytest.mark.parametrize("text", [SUM, "forall a in d: P(a) -> (exists b in d: Q(b) & S(b))"])
def test_a_call_keeps_nothing_alive(name, block, text):
    module = rs.compile(text, name, domains={"d": 4}, block=block, reduction="none")
    leaves = {key: given.requires_grad_() for key, given in logits(5).items()}
    module(logits(5))  # the matrix of clauses is found by the first call, and kept
    module.truth(leaves)  # what PyTorch loads at its first use leaves garbage, once
    gc.collect()
    gc.disable()
    try:
        before = tensors_alive()
        module(leaves).sum().backward()
        module.truth(leaves)
        grads = sum(leaf.grad is not None for leaf in leaves.values())
        assert tensors_alive() <= before + grads
    finally:
        gc.enable()


@pytest.mark.filterwarnings("ignore:.*deprecated:DeprecationWarning")  # by torch
@pytest.mark.parametrize("name", PAPER)
def test_a_transform_sees_all_blocks_as_one(name):
    given = tuple(logits(5).values())

    def costs(block):
        return lambda p, q, s: rule(name, block=block)(P=p, Q=q, S=s)

    for block in (1, 7):
        for transform in (
            lambda cost: torch.func.grad(lambda *x: cost(*x).sum(), argnums=(0, 1, 2))(*given),
            lambda cost: torch.func.vmap(cost)(*given),
            lambda cost: torch.func.jvp(cost, given, given),
        ):
            torch.testing.assert_close(transform(costs(block)), transform(costs(None)))


@pytest.mark.parametrize("name", PAPER)
def test_gradients_are_taken_in_batches(name):
    module = rs.compile(
        "forall i in s, a in d: T(i, a) -> ~T(i + 1, (a + 1) mod 3)",
        name,
        domains={"s": "sequence", "d": 3},
        predicates={"T": ("s", "d")},
        reduction="none",
    )
    given = torch.randn(4, 5, 3, requires_grad=True)
    for lengths in (None, [5, 3, 0, 2]):
        penalties = module(T=given, lengths=lengths)
        upstream = torch.eye(4)
        found = torch.autograd.grad(
            penalties, given, upstream, is_grads_batched=True, retain_graph=True
        )
        one_by_one = [
            torch.autograd.grad(penalties, given, row, retain_graph=True)[0] for row in upstream
        ]
        torch.testing.assert_close(found[0], torch.stack(one_by_one))
