"""torch.compile takes a rule whole, and changes none of its numbers."""

from __future__ import annotations

import pytest
import torch

import residuum as rs
from residuum.relaxations import relaxation_names

pytestmark = pytest.mark.filterwarnings("ignore")  # PyTorch warns of its own parts

SUM = "forall a, b in d: P(a) & Q(b) -> S((a + b) mod 4)"
NESTED = "forall a in d: P(a) & ~S(a) -> (exists b in d where b != a: Q(b))"
SIDES = ("P", "Q", "S")

PARAMETERS = (
    "s-frank(1/3)", "r-frank(1.00000000000000000000001)", "r-hamacher(0.1)", "r-yager(1/3)",
    "s-dombi(0.3)", "r-aczel-alsina(1/3)", "r-schweizer-sklar(1/3)", "s-schweizer-sklar(-0.3)",
    "s-sugeno-weber(1/3)", "r-sugeno-weber(-0.99999999999999999999999)",
)  # fmt: skip
"""Parameters that no float is, or that would be the end of their range as floats."""


@pytest.fixture(autouse=True)
def _fresh_cache():
    torch._dynamo.reset()


@pytest.fixture
def own_logic():
    rs.register(
        "cubic",
        rs.Generated(
            generator=lambda x: x.false**3,
            inverse=lambda on, penalty: rs.Degree(on, false=on.power(penalty, 1 / 3)),
            at_zero=1,
        ),
    )


def logits(*batch):
    generator = torch.Generator().manual_seed(4)
    return {key: torch.randn(*batch, 4, generator=generator, requires_grad=True) for key in SIDES}


def slopes_of(function, given):
    penalty = function(given)
    found = torch.autograd.grad(penalty.sum(), list(given.values()), allow_unused=True)
    zeros = [torch.zeros_like(one) for one in given.values()]
    return penalty.detach(), [z if f is None else f for z, f in zip(zeros, found, strict=True)]


@pytest.mark.parametrize("name", [*relaxation_names(), *PARAMETERS, "exact"])
def test_every_relaxation_is_traced_whole(name):
    rule = rs.compile(NESTED, name, domains={"d": 4}, reduction="none")
    traced = torch.compile(rule, fullgraph=True, backend="eager")
    torch.testing.assert_close(slopes_of(traced, logits(3)), slopes_of(rule, logits(3)))


@pytest.mark.usefixtures("own_logic")
@pytest.mark.parametrize("name", ["r-cubic", "s-cubic"])
def test_a_logic_of_ones_own_is_traced_whole(name):
    rule = rs.compile(NESTED, name, domains={"d": 4}, reduction="none")
    traced = torch.compile(rule, fullgraph=True, backend="eager")
    torch.testing.assert_close(slopes_of(traced, logits(3)), slopes_of(rule, logits(3)))


@pytest.mark.parametrize("name", ["s-product", "lukasiewicz", "r-hamacher(0.1)", "exact"])
def test_backward_is_traced_too(name):
    rule = rs.compile(SUM, name, domains={"d": 4}, reduction="none")
    traced = torch.compile(rule, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(slopes_of(traced, logits(3)), slopes_of(rule, logits(3)))


@pytest.mark.parametrize("form", ["probs", "log_probs"])
def test_probabilities_are_traced_too(form):
    rule = rs.compile(SUM, "r-product", domains={"d": 4}, inputs=form, reduction="none")
    traced = torch.compile(rule, fullgraph=True, backend="aot_eager")
    given = {key: one.detach().log_softmax(-1) for key, one in logits(3).items()}
    read = {key: (one if form == "log_probs" else one.exp()) for key, one in given.items()}
    found = [slopes_of(one, {k: x.clone().requires_grad_() for k, x in read.items()})
             for one in (traced, rule)]  # fmt: skip
    torch.testing.assert_close(found[0], found[1])


@pytest.mark.parametrize("name", ["r-product", "s-godel", "exact"])
def test_sequences_are_traced_for_each_length(name):
    def compiled():
        return rs.compile(
            "forall i in s, a in d: Tag(i, a) -> ~Tag(i + 1, (a + 1) mod 4)",
            name,
            domains={"s": "sequence", "d": 4},
            predicates={"Tag": ("s", "d")},
            reduction="none",
        )

    traced = torch.compile(compiled(), fullgraph=True, backend="eager")
    for length in (5, 6, 9):
        given = torch.randn(2, length, 4)
        torch.testing.assert_close(traced(Tag=given), compiled()(Tag=given))


def test_exact_with_lengths_is_traced_in_parts():
    rule = rs.compile(
        "forall i in s, a in d: Tag(i, a) -> ~Tag(i + 1, (a + 1) mod 4)",
        "exact",
        domains={"s": "sequence", "d": 4},
        predicates={"Tag": ("s", "d")},
        reduction="none",
    )
    traced = torch.compile(rule, backend="eager")
    for lengths in ([5, 2, 0], [1, 4, 4, 3]):
        given = {"Tag": torch.randn(len(lengths), 5, 4, requires_grad=True)}
        read = [
            slopes_of(lambda one, ask=ask, lengths=lengths: ask(one, lengths=torch.tensor(lengths)),
                      given)
            for ask in (traced, rule)
        ]  # fmt: skip
        torch.testing.assert_close(read[0], read[1])


@pytest.mark.parametrize("lengths", [None, [5, 2]])
def test_a_trace_in_inference_mode_does_not_bar_one_with_gradients(lengths):
    rule = rs.compile(
        "forall i in s, a in d: Tag(i, a) -> ~Tag(i + 1, (a + 1) mod 4)",
        domains={"s": "sequence", "d": 4},
        predicates={"Tag": ("s", "d")},
        reduction="none",
    )
    traced = torch.compile(rule, fullgraph=True, backend="eager")
    given = {"Tag": torch.randn(2, 5, 4, requires_grad=True)}
    lengths = None if lengths is None else torch.tensor(lengths)
    expected = slopes_of(lambda one: rule(one, lengths=lengths), given)
    for _ in range(2):
        with torch.inference_mode():
            torch.testing.assert_close(traced(given, lengths=lengths), expected[0])
        found = slopes_of(lambda one: traced(one, lengths=lengths), given)
        torch.testing.assert_close(found, expected)


def test_a_knowledge_over_sequences_is_traced_whole():
    knowledge = rs.loads("""
        domain s sequence
        domain d = 0..3
        predicate Tag(s, d)
        rule up: forall i in s, a in d: Tag(i, a) -> ~Tag(i + 1, (a + 1) mod 4)
        rule first: Tag(0, 0) | Tag(0, 1)
    """)
    traced = torch.compile(
        rs.compile(knowledge, "r-product", reduction="none"), fullgraph=True, backend="eager"
    )
    given, lengths = torch.randn(2, 5, 4), torch.tensor([5, 2])
    expected = rs.compile(knowledge, "r-product", reduction="none")(Tag=given, lengths=lengths)
    torch.testing.assert_close(dict(traced(Tag=given, lengths=lengths)), dict(expected))


def graphs_for(function, batches):
    """Return how many graphs are traced for calls with these; results must not change."""
    graphs = []

    def count(graph, _inputs):
        graphs.append(graph)
        return graph

    traced = torch.compile(function, fullgraph=True, backend=count)
    for given in batches:
        found, expected = traced(**given), function(**given)
        if isinstance(expected, dict):
            found, expected = dict(found), dict(expected)
        torch.testing.assert_close(found, expected)
    return len(graphs)


@pytest.mark.parametrize(
    ("name", "question"),
    [("r-product", "forward"), ("s-godel", "forward"), ("exact", "forward"),
     ("s-product", "truth"), ("s-product", "satisfied"), ("s-product", "coverage")],
)  # fmt: skip
def test_batch_sizes_share_one_graph(name, question):
    rule = rs.compile(NESTED, name, domains={"d": 4}, reduction="none")
    batches = ({key: torch.randn(size, 4) for key in SIDES} for size in (3, 4, 5, 6, 7))
    assert graphs_for(getattr(rule, question), batches) <= 2  # the first is for its size alone


@pytest.mark.parametrize("question", ["forward", "total", "satisfied"])
def test_batch_sizes_of_a_knowledge_share_one_graph(question):
    knowledge = rs.compile(
        rs.loads("""
        domain d = 0..3
        predicate P(d)
        predicate Q(d)
        rule up: forall x in d: P(x) -> Q(x)
        rule down weight 0.5: exists x in d: Q(x) & ~P(x)
        rule turn: forall x in d: Q(x) -> P((x + 1) mod 4)
    """)
    )
    batches = ({key: torch.randn(size, 4) for key in "PQ"} for size in (3, 4, 5, 6, 7))
    assert graphs_for(getattr(knowledge, question), batches) <= 2


def test_batches_that_broadcast_share_one_graph():
    rule = rs.compile(SUM, "s-product", domains={"d": 4})
    batches = (
        {"P": torch.randn(size, 1, 4), "Q": torch.randn(1, 2, 4), "S": torch.randn(2, 4)}
        for size in (3, 4, 5, 6)
    )
    assert graphs_for(rule, batches) <= 2


def test_batch_sizes_of_facts_share_one_graph():
    batches = (
        {"outputs": torch.randn(size, 4), "labels": torch.randint(4, (size,))}
        for size in (3, 4, 5, 6, 7)
    )
    assert graphs_for(rs.facts, batches) <= 2


def test_shapes_may_be_variables_from_the_first_trace_on():
    rule = rs.compile(
        "forall i in s, a in d: Tag(i, a) -> ~Tag(i + 1, (a + 1) mod 4)",
        domains={"s": "sequence", "d": 4},
        predicates={"Tag": ("s", "d")},
    )
    traced = torch.compile(rule, fullgraph=True, backend="eager", dynamic=True)
    for size in (2, 3):
        given = torch.randn(size, 5, 4)
        torch.testing.assert_close(traced(Tag=given), rule(Tag=given))


def test_a_theory_whose_relaxation_changes_is_traced_whole():
    knowledge = rs.loads("domain d = 0..3\npredicate P(d)\nrule up: P(0) -> P(1) | P(2)")
    schedule = rs.piecewise_constant({0: "r-product", 2: "s-godel"})
    theories = [rs.Theory(knowledge, relaxation=schedule, P=torch.nn.Identity()) for _ in range(2)]
    traced = torch.compile(theories[0], fullgraph=True, backend="eager")
    given = torch.randn(5, 4)
    for epoch in (0, 1, 2):
        theories[0].epoch = theories[1].epoch = epoch
        torch.testing.assert_close(traced(P=given).total, theories[1](P=given).total)


def test_an_exact_rule_over_padded_sequences_is_traced_whole():
    rule = rs.compile(
        "forall i in s: T(i, 0) -> T(i + 1, 1)",
        "exact",
        domains={"s": "sequence", "t": 3},
        predicates={"T": ("s", "t")},
        reduction="none",
    )
    traced = torch.compile(
        lambda given, ends: rule(T=given, lengths=ends), fullgraph=True, backend="aot_eager"
    )
    given, ends = torch.randn(3, 4, 3, requires_grad=True), torch.tensor([4, 2, 3])
    found, expected = traced(given, ends), rule(T=given, lengths=ends)
    torch.testing.assert_close(found, expected)
    gradients = [torch.autograd.grad(one.sum(), given)[0] for one in (found, expected)]
    torch.testing.assert_close(*gradients)
