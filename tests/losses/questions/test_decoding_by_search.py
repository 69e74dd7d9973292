"""Predictions that obey a rule without a circuit, against an enumeration of all predictions."""

import itertools
import time

import pytest
import torch

import residuum as rs
from residuum.circuits import compiling, search
from residuum.errors import CircuitError, GroundingError
from residuum.losses.routes import rule_circuits

# Rules, the sizes of their outputs, and whether a state obeys them. The last one has a sequence.
CASES = {
    "sum": (
        "forall a, b in digit: Left(a) & Right(b) -> Sum((a + b) mod 4)",
        {"domains": {"digit": 4}},
        {"Left": [4], "Right": [4], "Sum": [4]},
        lambda s: (s[0] + s[1]) % 4 == s[2],
    ),
    "counts": (
        "(exactly 2 x in d: Has(x)) & (Rain <-> ~Has(0))",
        {"domains": {"d": 5}, "outputs": {"Has": "independent"}},
        {"Has": [2] * 5, "Rain": [2]},
        lambda s: sum(s[:5]) == 2 and s[5] != s[0],
    ),
    "neighbours": (
        "forall i in s, t in tag: Tag(i, t) -> ~Tag(i + 1, t)",
        {"domains": {"s": "sequence", "tag": 3}, "predicates": {"Tag": ("s", "tag")}},
        {"Tag": [3] * 4},
        lambda s: all(a != b for a, b in itertools.pairwise(s)),
    ),
}
SHAPES = {"Left": (4,), "Right": (4,), "Sum": (4,), "Has": (5,), "Rain": (), "Tag": (4, 3)}


@pytest.fixture
def no_circuits(monkeypatch):
    monkeypatch.setattr(compiling, "WORK", (0,))


def log_chances(outputs, sizes, example):
    """Return the log-probabilities of the values of all outputs, one list for each output."""
    found = []
    for name, own in sizes.items():
        given = outputs[name][example]
        if name in ("Has", "Rain"):
            both = torch.stack([-given, given], -1).reshape(len(own), 2)
            found += torch.nn.functional.logsigmoid(both).tolist()
        else:
            found += given.log_softmax(-1).reshape(len(own), given.shape[-1]).tolist()
    return found


def ranked(outputs, sizes, obeys, example):
    """Return the log-probabilities of all predictions that obey a rule, the largest first."""
    chances = log_chances(outputs, sizes, example)
    states = itertools.product(*(range(size) for own in sizes.values() for size in own))
    kept = [state for state in states if obeys(state)]
    return sorted(
        (sum(own[value] for own, value in zip(chances, state, strict=True)), state)
        for state in kept
    )[::-1]


def as_state(labels, sizes, example):
    return tuple(value for name in sizes for value in labels[name][example].reshape(-1).tolist())


@pytest.mark.usefixtures("no_circuits")
@pytest.mark.parametrize("relaxation", ["r-product", "s-godel"])
@pytest.mark.parametrize("case", CASES)
def test_the_best_predictions_are_found_in_order(case, relaxation):
    text, options, sizes, obeys = CASES[case]
    rule = rs.compile(text, relaxation, **options)
    torch.manual_seed(1)
    outputs = {name: 2 * torch.randn(3, *SHAPES[name], dtype=torch.float64) for name in sizes}
    several = rule.decode(outputs, k=5)
    single = rule.decode(outputs)
    for example in range(3):
        expected = [state for _, state in ranked(outputs, sizes, obeys, example)[:5]]
        assert [as_state(labels, sizes, example) for labels in several] == expected
        assert as_state(single, sizes, example) == expected[0]


@pytest.mark.parametrize("case", CASES)
def test_search_and_circuit_agree_given_evidence(case, monkeypatch):
    text, options, sizes, _ = CASES[case]
    rules = [rs.compile(text, "r-product", **options) for _ in range(2)]
    torch.manual_seed(2)
    outputs = {name: torch.randn(6, *SHAPES[name]) for name in sizes}
    first = next(iter(sizes))
    shape = () if first == "Left" else SHAPES[first][:1]
    labels = torch.full((6, *shape), -100)
    labels.reshape(6, -1)[:, 0] = torch.tensor([0, 1, 0, 1, 0, -100])
    by_circuit = rules[0].decode(outputs, observed={first: labels}, k=3)
    monkeypatch.setattr(compiling, "WORK", (0,))
    by_search = rules[1].decode(outputs, observed={first: labels}, k=3)
    for one, other in zip(by_circuit, by_search, strict=True):
        assert {name: value.tolist() for name, value in one.items()} == {
            name: value.tolist() for name, value in other.items()
        }


@pytest.mark.usefixtures("no_circuits")
def test_sequences_of_each_length_are_searched_and_padded():
    text, options, _, _ = CASES["neighbours"]
    rule = rs.compile(text, "r-product", **options)
    torch.manual_seed(3)
    outputs = torch.randn(4, 4, 3, dtype=torch.float64)
    lengths = torch.tensor([4, 1, 0, 3])
    found = rule.decode(Tag=outputs, lengths=lengths)["Tag"]
    for example, length in enumerate(lengths.tolist()):
        own = {"Tag": outputs[:, :length]}
        expected = ranked(own, {"Tag": [3] * length}, CASES["neighbours"][3], example)[0][1]
        assert found[example].tolist() == [*expected, *[-100] * (4 - length)]


@pytest.mark.usefixtures("no_circuits")
def test_rules_of_a_knowledge_are_searched_together():
    knowledge = rs.compile(
        rs.loads("""
            domain d = 0..2
            predicate A(d)
            predicate B(d)
            rule same: forall x in d: A(x) -> B(x)
            rule never: ~B(0)
        """),
        "r-product",
    )
    logits = {"A": torch.tensor([[5.0, 0.0, 1.0]]), "B": torch.tensor([[5.0, 3.0, 0.0]])}
    found = knowledge.decode(logits)
    assert {name: labels.tolist() for name, labels in found.items()} == {"A": [1], "B": [1]}


@pytest.mark.usefixtures("no_circuits")
def test_fewer_predictions_than_asked_for_leave_the_rest_absent():
    rule = rs.compile("A & (B | C)", "r-product")
    found = rule.decode({name: torch.zeros(1) for name in "ABC"}, k=5)
    states = [tuple(int(labels[name]) for name in "ABC") for labels in found]
    assert sorted(states[:3]) == [(1, 0, 1), (1, 1, 0), (1, 1, 1)]
    assert states[3:] == [(-100, -100, -100)] * 2


@pytest.mark.usefixtures("no_circuits")
def test_masked_classes_are_never_chosen():
    rule = rs.compile("forall x in d: A(x) -> B(x)", "r-product", domains={"d": 3})
    a, b = torch.tensor([[0.0, 1.0, 2.0]]), torch.tensor([[1.0, 0.0, -torch.inf]])
    found = rule.decode(A=a, B=b)
    assert found["A"].tolist() == found["B"].tolist() == [0]  # 0 + 1 rather than 1 + 0
    with pytest.raises(GroundingError, match="example 0: what is observed, or masked"):
        rule.decode(A=a, B=b, observed={"A": torch.tensor([2])})


@pytest.mark.usefixtures("no_circuits")
def test_contradictions_are_refused_in_words():
    rule = rs.compile("(A | B) & (A | ~B) & (~A | B) & (~A | ~B)", "r-product")
    with pytest.raises(GroundingError, match="no prediction obeys the rule"):
        rule.decode(A=torch.zeros(1), B=torch.zeros(1))


@pytest.mark.usefixtures("no_circuits")
def test_other_questions_still_need_a_circuit():
    rule = rs.compile("A | B", "r-product")
    given = {"A": torch.zeros(2), "B": torch.zeros(2)}
    assert rule.decode(given)["A"].shape == (2,)
    questions = (rule.probability, rule.marginals, rule.entropy, rule.sample)
    for ask in (*questions, lambda given: rule.log_likelihood(given, {"A": torch.tensor([1, 1])})):
        with pytest.raises(CircuitError, match="steps to compile"):
            ask(given)
    with pytest.raises(CircuitError, match="steps to compile"):
        rule.count()


def test_a_circuit_that_is_too_large_is_tried_only_once(monkeypatch):
    tried = []

    def refuse(*_):
        tried.append(1)
        raise CircuitError("too large")

    monkeypatch.setattr(rule_circuits, "compile_circuit", refuse)
    rule = rs.compile("A | B", "r-product")
    given = {"A": -torch.ones(1), "B": torch.ones(1)}
    for _ in range(3):
        assert rule.decode(given)["B"].tolist() == [1]
    with pytest.raises(CircuitError, match="too large"):
        rule.probability(given)
    assert len(tried) == 1


SUDOKU = """
    domain line = 0..8
    domain digit = 1..9
    predicate Cell(line, line, digit)
    rule once: forall r, q, c, k in line, v in digit where (r != q | c != k)
        & (r = q | c = k | (r div 3 = q div 3 & c div 3 = k div 3)): Cell(r, c, v) -> ~Cell(q, k, v)
"""
PUZZLE = """
    53..7....
    ...195...
    .98....6.
    ....6...3
    4..8.3..1
    ....2...6
    .6....28.
    ...419..5
    ....8..79
"""


@pytest.fixture(scope="module")
def sudoku():
    """The rule of Sudoku, a puzzle with one solution as labels, and this solution."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiling, "WORK", (0,))
        rule = rs.compile("once", "r-product", knowledge=rs.loads(SUDOKU))
        rows = [[int(one) - 1 if one != "." else -100 for one in row] for row in PUZZLE.split()]
        given = torch.tensor([rows])
        found = rule.decode(Cell=torch.zeros(1, 9, 9, 9), observed={"Cell": given})["Cell"]
        return rule, given, found


def test_a_sudoku_is_solved_from_its_givens(sudoku):
    _, given, found = sudoku
    assert int((given != -100).sum()) == 27
    assert bool(((given == found) | (given == -100)).all())
    grid = found[0]
    boxes = grid.reshape(3, 3, 3, 3).transpose(1, 2).reshape(9, 9)
    for lines in (grid, grid.t(), boxes):
        assert all(sorted(line.tolist()) == list(range(9)) for line in lines)


def test_a_sudoku_has_no_second_solution(sudoku):
    rule, given, found = sudoku
    torch.manual_seed(0)
    best = rule.decode(Cell=torch.randn(1, 9, 9, 9), observed={"Cell": given}, k=2)
    assert best[0]["Cell"].tolist() == found.tolist()
    assert bool((best[1]["Cell"] == -100).all())


def test_a_sudoku_is_read_from_uncertain_digits(sudoku):
    rule, _, found = sudoku
    torch.manual_seed(1)
    logits = 3 * torch.nn.functional.one_hot(found, 9) + torch.randn(1, 9, 9, 9)
    assert bool((logits.argmax(-1) != found).any())
    assert rule.decode(Cell=logits)["Cell"].tolist() == found.tolist()


def test_a_search_without_end_is_refused_in_words(sudoku, monkeypatch):
    rule, _, _ = sudoku
    monkeypatch.setattr(search, "MOST_SECONDS", 0.5)
    torch.manual_seed(2)
    started = time.monotonic()
    with pytest.raises(CircuitError, match=r"a search of at most 0\.5 seconds"):
        rule.decode(Cell=torch.randn(1, 9, 9, 9))
    assert time.monotonic() - started < 30
