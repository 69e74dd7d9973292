"""A rule inside torch.compile is one operator, whose gradients are those of the rule outside."""

import pytest
import torch

import residuum as rs

SUM = "forall a, b in d: P(a) & Q(b) -> S((a + b) mod 5)"
pytestmark = pytest.mark.filterwarnings("ignore")  # warnings from inside PyTorch

RELAXATIONS = ("r-product", "s-product", "lukasiewicz-maxsat", "s-godel", "r-godel")


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def operators_in(function, *given):
    """Return the names of the operators that a trace of a function calls."""
    found = []

    def backend(module, _examples):
        found.extend(str(node.target) for node in module.graph.nodes)
        return module.forward

    torch._dynamo.reset()
    torch.compile(function, fullgraph=True, backend=backend)(*given)
    return found


def traced(function):
    torch._dynamo.reset()
    return torch.compile(function, fullgraph=True, backend="aot_eager")


def with_gradients(function, given):
    """Return a penalty for each example and the gradients of a sum in which examples differ."""
    leaves = {name: one.detach().requires_grad_() for name, one in given.items()}
    value = function(leaves)
    upstream = torch.arange(1.0, 1 + value.numel()).reshape(value.shape)
    total = (value * upstream).sum()
    gradients = torch.autograd.grad(total, list(leaves.values()), materialize_grads=True)
    return [value.detach(), *gradients]


@pytest.mark.parametrize("name", RELAXATIONS)
@pytest.mark.parametrize("scale", [1.0, 40.0, 300.0])
def test_values_and_gradients_equal_those_outside(name, scale):
    rule = rs.compile(SUM, name, domains={"d": 5}, reduction="none")
    given = {slot: scale * torch.randn(6, 5) for slot in "PQS"}
    torch.testing.assert_close(with_gradients(traced(rule), given), with_gradients(rule, given))


@pytest.mark.parametrize("name", RELAXATIONS[:-1])
def test_gradients_that_a_route_knows_do_not_go_through_the_engine(name, monkeypatch):
    rule = rs.compile(SUM, name, domains={"d": 5}, reduction="none")
    given = {slot: torch.randn(6, 5, requires_grad=True) for slot in "PQS"}
    function = traced(rule)
    expected = with_gradients(rule, given)[1:]
    function(given).sum()  # PyTorch itself asks for gradients while it compiles
    monkeypatch.setattr(torch.autograd, "grad", None)
    function(given).sum().backward()
    found = [one.grad for one in given.values()]
    monkeypatch.undo()
    shares = torch.arange(1.0, 7).reshape(6, 1)
    torch.testing.assert_close([one * shares for one in found], expected)


def test_a_trace_has_one_operator_for_a_rule():
    rule = rs.compile(SUM, "s-product", domains={"d": 5}, reduction="none")
    operators = operators_in(rule, {slot: torch.randn(6, 5) for slot in "PQS"})
    assert sum("residuum" in one for one in operators) == 1
    assert not any("softmax" in one or "log" in one for one in operators)


@pytest.mark.parametrize("name", RELAXATIONS)
def test_broadcast_tensors_get_gradients_of_their_own_shape(name):
    rule = rs.compile(SUM, name, domains={"d": 5}, reduction="none")
    given = {"P": torch.randn(4, 1, 5), "Q": torch.randn(1, 3, 5), "S": torch.randn(3, 5)}
    torch.testing.assert_close(with_gradients(traced(rule), given), with_gradients(rule, given))


def test_only_inputs_that_require_gradients_get_them():
    rule = rs.compile(SUM, domains={"d": 5}, reduction="none")
    given = {slot: torch.randn(6, 5) for slot in "PQS"}
    given["Q"].requires_grad_()
    traced(rule)(given).sum().backward()
    outside = given["Q"].detach().requires_grad_()
    rule({**given, "Q": outside}).sum().backward()
    torch.testing.assert_close(given["Q"].grad, outside.grad)
    assert given["P"].grad is None


def test_half_precision_gives_the_same_dtypes_as_outside():
    rule = rs.compile(SUM, domains={"d": 5}, reduction="none")
    given = {slot: torch.randn(6, 5).bfloat16() for slot in "PQS"}
    inside, outside = with_gradients(traced(rule), given), with_gradients(rule, given)
    assert [one.dtype for one in inside] == [one.dtype for one in outside]
    torch.testing.assert_close(inside, outside)


@pytest.mark.parametrize("name", RELAXATIONS)
def test_padded_sequences_have_the_values_and_gradients_of_eager_rules(name):
    rule = rs.compile(
        "forall i in s, a in d: T(i, a) -> ~T(i + 1, (a + 1) mod 4)",
        name,
        domains={"s": "sequence", "d": 4},
        predicates={"T": ("s", "d")},
        reduction="none",
    )
    lengths = torch.tensor([5, 1, 0, 3])
    given = {"T": torch.randn(4, 5, 4)}

    def whole(tensors):
        return rule(tensors, lengths=lengths)

    torch.testing.assert_close(with_gradients(traced(whole), given), with_gradients(whole, given))


@pytest.mark.parametrize("name", RELAXATIONS)
def test_several_rules_have_the_values_and_gradients_of_eager_rules(name):
    rules = "\n".join(f"rule r{n}: P({n}) & P({n + 1}) -> ~P({(n * 3) % 7})" for n in range(6))
    knowledge = rs.compile(
        rs.loads(f"domain d = 0..6\npredicate P(d) independent\n{rules}"), name, reduction="none"
    )

    def each(tensors):
        return torch.stack(list(knowledge(tensors).values()))

    given = {"P": torch.randn(5, 7)}
    torch.testing.assert_close(with_gradients(traced(each), given), with_gradients(each, given))


def test_a_deleted_rule_is_removed_from_the_registry():
    from residuum.losses.routes import torch_compile

    rule = rs.compile(SUM, domains={"d": 5}, reduction="none")
    rule.routes._register()  # as a trace does
    before = len(torch_compile._EVALUATORS)
    del rule
    assert len(torch_compile._EVALUATORS) < before


def test_an_exported_program_does_not_depend_on_this_process():
    rule = rs.compile(SUM, "s-product", domains={"d": 5}, reduction="none")
    given = {slot: torch.randn(6, 5) for slot in "PQS"}
    program = torch.export.export(rule, (given,))
    assert not any("residuum" in str(node.target) for node in program.graph.nodes)
    torch.testing.assert_close(program.module()(given), rule(given))
