"""A GPU gives the same penalties and gradients as the CPU. Without a GPU these tests skip."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from recorded_rules import recorded

import residuum as rs
from residuum.losses.routes.cuda_recording import Recording
from residuum.losses.routes.steps import StepsRoute
from residuum.relaxations import PAPER, relaxation_names

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")

SUM = "forall a, b in digit: Left(a) & Right(b) -> Sum((a + b) mod 5)"


def _outputs(device, dtype=torch.float64, examples=7, classes=5):
    generator = torch.Generator().manual_seed(0)
    drawn = [3 * torch.randn(examples, classes, generator=generator) for _ in range(3)]
    return {
        name: one.to(device, dtype).requires_grad_()
        for name, one in zip(("Left", "Right", "Sum"), drawn, strict=True)
    }


def _penalty_and_gradients(rule, outputs):
    penalty = rule(outputs)
    found = torch.autograd.grad(penalty.sum(), list(outputs.values()), allow_unused=True)
    return [penalty, *(torch.zeros(()) if one is None else one for one in found)]


@pytest.mark.parametrize("relaxation", [*relaxation_names(), "exact"])
def test_values_and_gradients_are_those_of_the_cpu(relaxation):
    rule = rs.compile(SUM, relaxation, domains={"digit": 5}, reduction="none")
    here = _penalty_and_gradients(rule, _outputs("cpu"))
    there = _penalty_and_gradients(rule, _outputs("cuda"))
    for mine, theirs in zip(here, there, strict=True):
        torch.testing.assert_close(theirs.cpu(), mine, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("relaxation", PAPER)
def test_a_large_table_of_groundings_equals_that_of_the_cpu(relaxation):
    rule = rs.compile(SUM.replace("5", "70"), relaxation, domains={"digit": 70}, reduction="none")
    here = _penalty_and_gradients(rule, _outputs("cpu", classes=70))
    there = _penalty_and_gradients(rule, _outputs("cuda", classes=70))
    for mine, theirs in zip(here, there, strict=True):
        torch.testing.assert_close(theirs.cpu(), mine, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("relaxation", ["s-product", "r-product", "s-godel", "lukasiewicz"])
def test_blocks_on_a_gpu_equal_one_block(relaxation):
    whole = rs.compile(SUM, relaxation, domains={"digit": 5}, reduction="none")
    blocks = rs.compile(SUM, relaxation, domains={"digit": 5}, block=10, reduction="none")
    pairs = zip(
        _penalty_and_gradients(whole, _outputs("cuda")),
        _penalty_and_gradients(blocks, _outputs("cuda")),
        strict=True,
    )
    for mine, theirs in pairs:
        torch.testing.assert_close(theirs, mine, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("relaxation", PAPER)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_under_autocast_is_returned_in_single_precision(relaxation, dtype):
    rule = rs.compile(SUM, relaxation, domains={"digit": 5}, reduction="none")
    outputs = _outputs("cuda", dtype)
    with torch.autocast("cuda", dtype=dtype):
        penalty = rule(outputs)
    assert penalty.dtype == torch.float32
    same = rule({name: one.detach().float() for name, one in outputs.items()})
    torch.testing.assert_close(penalty.detach(), same)


def test_a_saturated_wrong_network_still_learns_on_a_gpu():
    rule = rs.compile("P -> Q", "s-product", reduction="none")
    logits = {"P": torch.tensor([1e4], device="cuda"), "Q": torch.tensor([-1e4], device="cuda")}
    for one in logits.values():
        one.requires_grad_()
    rule(logits).sum().backward()
    gradients = torch.cat([logits["P"].grad, logits["Q"].grad]).cpu()
    torch.testing.assert_close(gradients, torch.tensor([0.5, -0.5]))


@pytest.mark.filterwarnings("ignore")  # warnings from inside PyTorch
def test_a_rule_compiled_with_triton_equals_the_eager_rule():
    rule = rs.compile(SUM, "r-product", domains={"digit": 5}, reduction="none")
    outputs = _outputs("cuda", torch.float32)
    fused = torch.compile(rule, fullgraph=True)
    torch.testing.assert_close(fused(outputs), rule(outputs))


def test_tensors_on_two_devices_are_refused():
    rule = rs.compile("P -> Q", "r-product", reduction="none")
    with pytest.raises(rs.ResiduumError, match="one device"):
        rule(P=torch.zeros(2), Q=torch.zeros(2, device="cuda"))


BIGRAMS = """domain tag = B, I, O
domain position sequence
predicate Tag(position, tag)
rule begin: forall i in position: Tag(i, O) -> ~Tag(i + 1, I)
rule inside: forall i in position: Tag(i, B) -> Tag(i + 1, I)
"""


@pytest.mark.parametrize("relaxation", PAPER)
def test_rules_can_be_captured_in_a_cuda_graph_of_the_caller(relaxation):
    knowledge = rs.compile(rs.loads(BIGRAMS), relaxation, reduction="none")
    generator = torch.Generator().manual_seed(0)
    tags = [torch.randn(4, 6, 3, generator=generator) for _ in range(3)]
    given = tags[0].cuda().requires_grad_()

    def step(logits):
        total = torch.stack(tuple(knowledge(Tag=logits).values())).sum()
        return total.detach(), *torch.autograd.grad(total, logits)

    beside = torch.cuda.Stream()
    beside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(beside):
        for _ in range(5):
            step(given)
    torch.cuda.current_stream().wait_stream(beside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        made = step(given)
    for one in tags:
        given.detach().copy_(one)
        graph.replay()
        for mine, theirs in zip(made, step(one.clone().requires_grad_()), strict=True):
            torch.testing.assert_close(mine.cpu(), theirs, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("relaxation", ["r-product", "s-product", "s-godel"])
def test_one_rule_can_be_used_on_several_streams_and_threads(relaxation):
    """Each thread has its own inputs, and must get its own results."""
    rule = rs.compile(SUM, relaxation, domains={"digit": 5}, reduction="none")
    wanted = rs.compile(SUM, relaxation, domains={"digit": 5}, reduction="none")

    def inputs(number, device):
        source = torch.Generator().manual_seed(number)
        return {
            name: torch.randn(64, 5, generator=source).to(device).requires_grad_()
            for name in ("Left", "Right", "Sum")
        }

    given = [inputs(number, "cuda") for number in range(8)]
    torch.cuda.synchronize()  # inside a thread this would fail while another thread records

    def work(number):
        own = torch.cuda.Stream() if number % 2 else torch.cuda.current_stream()
        with torch.cuda.stream(own):
            found = [_penalty_and_gradients(rule, given[number]) for _ in range(30)]
            own.synchronize()
        return found

    with ThreadPoolExecutor(4) as pool:
        each = list(pool.map(work, range(8)))
    for number, found in enumerate(each):
        expected = _penalty_and_gradients(wanted, inputs(number, "cpu"))
        for once in found:
            for mine, theirs in zip(once, expected, strict=True):
                torch.testing.assert_close(mine.cpu(), theirs, rtol=1e-4, atol=1e-5)


def test_no_recording_uses_a_stream_that_pytorch_hands_out_to_others(monkeypatch):
    """A kernel that other code launches on a stream that records would be recorded, not run."""
    used = []
    begin = torch.cuda.CUDAGraph.capture_begin

    def note(self, *args, **kwargs):
        used.append(torch.cuda.current_stream().cuda_stream)
        begin(self, *args, **kwargs)

    monkeypatch.setattr(torch.cuda.CUDAGraph, "capture_begin", note)
    rule = rs.compile(SUM, "r-product", domains={"digit": 5}, reduction="none")
    given = {
        name: torch.randn(64, 5, device="cuda", requires_grad=True)
        for name in ("Left", "Right", "Sum")
    }
    for _ in range(4):
        _penalty_and_gradients(rule, given)
    assert used
    lent = {torch.cuda.Stream(priority=rank).cuda_stream for rank in (0, -1) for _ in range(64)}
    assert not lent.intersection(used)


def test_a_rule_that_cannot_be_recorded_is_evaluated_without_recordings(monkeypatch):
    rule = rs.compile(SUM, "r-product", domains={"digit": 5}, reduction="none")
    in_steps = StepsRoute.evaluate

    def looks(self, call):
        call.inputs[0].detach().sum().item()
        return in_steps(self, call)

    expected = _penalty_and_gradients(
        rs.compile(SUM, "r-product", domains={"digit": 5}, reduction="none"), _outputs("cpu")
    )
    with monkeypatch.context() as patch:
        patch.setattr(StepsRoute, "evaluate", looks)
        for _ in range(5):
            for mine, theirs in zip(
                _penalty_and_gradients(rule, _outputs("cuda")), expected, strict=True
            ):
                torch.testing.assert_close(mine.cpu(), theirs, rtol=1e-9, atol=1e-12)
    assert recorded(rule) == [None]
    other = rs.compile(SUM, "r-product", domains={"digit": 5}, reduction="none")
    for _ in range(5):
        for mine, theirs in zip(
            _penalty_and_gradients(other, _outputs("cuda")), expected, strict=True
        ):
            torch.testing.assert_close(mine.cpu(), theirs, rtol=1e-9, atol=1e-12)
    assert all(recorded(other))


def test_memory_is_reused_after_a_recording_that_failed():
    test = torch.zeros(3, device="cuda")
    with pytest.raises(RuntimeError):
        Recording(lambda tensors: [tensors[0] * _one_of(tensors[0])], [test])
    large = torch.empty(1 << 26, device="cuda")
    beside = torch.cuda.Stream()
    large.record_stream(beside)
    before = torch.cuda.memory_allocated()
    del large
    torch.cuda.synchronize()
    torch.empty(1 << 20, device="cuda")
    assert torch.cuda.memory_allocated() < before


def _one_of(tensor):
    """Return a number that depends on values while a graph is captured, and 1 in the first run."""
    return tensor.sum().item() if torch.cuda.is_current_stream_capturing() else 1.0
