"""Theories whose rules relate members of open domains: members, rows, facts and questions."""

from __future__ import annotations

import copy
import itertools
import pickle

import pytest
import torch
from torch import nn

import residuum as rs
from residuum.errors import GroundingError
from residuum.losses.relations.rows import numbered, sampled
from residuum.losses.relations.world import World
from residuum.losses.routes import thresholds

PEOPLE = """
    domain person
    predicate Smokes(person)
    predicate Friends(person, person)
    facts friends: Friends
    facts smokers: Smokes
    rule symmetric: forall x, y in person: Friends(x, y) -> Friends(y, x)
    rule influence: forall x, y in person where x != y:
        Friends(x, y) & Smokes(x) -> Smokes(y)
    rule company: forall x in person: exists y in person where y != x: Friends(x, y)
    rule some: forall x in person: Smokes(x) -> Friends(x, x)
"""
COUNT = 5


@pytest.fixture
def theory():
    torch.manual_seed(0)
    return rs.Theory(
        rs.loads(PEOPLE),
        relaxation="s-product",
        Smokes=nn.Linear(3, 1),
        Friends=rs.concatenated(nn.Linear(6, 1)),
        person=rs.Members(["ann", "bob", "cid", "dan", "eve"], dim=3),
    )


def degrees(theory):
    """Return the degrees of all atoms, each computed by itself."""
    members = theory.networks["person"].weight
    smokes = [torch.sigmoid(theory.networks["Smokes"](one))[0] for one in members]
    net = theory.networks["Friends"].module
    friends = [[torch.sigmoid(net(torch.cat([a, b])))[0] for b in members] for a in members]
    return smokes, friends


def parts_by_hand(theory):
    s, f = degrees(theory)
    people = range(COUNT)
    pairs = list(itertools.product(people, people))
    return {
        "symmetric": [1 - f[x][y] * (1 - f[y][x]) for x, y in pairs],
        "influence": [1 - f[x][y] * s[x] * (1 - s[y]) for x, y in pairs if x != y],
        "company": [
            1 - torch.stack([1 - f[x][y] for y in people if y != x]).prod() for x in people
        ],
        "some": [1 - s[x] * (1 - f[x][x]) for x in people],
    }


@pytest.mark.parametrize("rows", [1 << 16, 7, 1])
def test_a_theory_is_the_mean_over_rows_also_in_blocks(theory, monkeypatch, rows):
    monkeypatch.setattr(thresholds, "ROWS", rows)
    found = theory()
    expected = {name: -torch.stack(one).log().mean() for name, one in parts_by_hand(theory).items()}
    torch.testing.assert_close(dict(found.parts), expected)
    torch.testing.assert_close(found.total, sum(expected.values()))
    parameters = list(theory.parameters())
    torch.testing.assert_close(
        torch.autograd.grad(found.total, parameters),
        torch.autograd.grad(sum(expected.values()), parameters),
    )


@pytest.mark.parametrize("rows", [1 << 16, 7])
@pytest.mark.parametrize("name", ["s-product", "lukasiewicz", "s-godel"])
def test_rows_are_reduced_as_told(theory, monkeypatch, rows, name):
    monkeypatch.setattr(thresholds, "ROWS", rows)
    for reduction in ("sum", "conjunction"):
        other = rs.Theory(theory.knowledge, relaxation=name, reduction=reduction, **theory.networks)
        degree = torch.stack(parts_by_hand(theory)["symmetric"])
        penalty = {"s-product": -degree.log(), "lukasiewicz": 1 - degree, "s-godel": None}[name]
        if penalty is None:
            f = torch.stack([torch.stack(row) for row in degrees(theory)[1]])
            penalty = 1 - torch.maximum(1 - f, f.T).flatten()
        elif name == "lukasiewicz":
            f = torch.stack([torch.stack(row) for row in degrees(theory)[1]])
            penalty = (f - f.T).clamp(min=0).flatten()
        expected = penalty.sum()
        if reduction == "conjunction":
            limits = {"s-product": expected, "lukasiewicz": expected.clamp(max=1)}
            expected = limits.get(name, penalty.max())
        torch.testing.assert_close(other().parts["symmetric"], expected)


OVER = {
    "mean": lambda degrees: -degrees.log().mean(),
    "p-mean(2)": lambda degrees: -torch.log(1 - (1 - degrees).square().mean().sqrt()),
    "log-mean-exp(0.5)": lambda degrees: 0.5 * torch.log(torch.exp(-2 * degrees.log()).mean()),
    "worst(10%)": lambda degrees: -degrees.sort().values[: -(-len(degrees) // 10)].log().mean(),
}


@pytest.mark.parametrize("rows", [1 << 16, 7])
@pytest.mark.parametrize("over", OVER)
def test_over_combines_all_rows_in_the_place_of_a_reduction(theory, monkeypatch, rows, over):
    monkeypatch.setattr(thresholds, "ROWS", rows)
    for reduction in ("mean", "sum"):
        weighted = rs.Theory(
            theory.knowledge, relaxation="s-product", over={"symmetric": over, "influence": over},
            reduction=reduction, weights={"symmetric": 3.0}, **theory.networks,
        )  # fmt: skip
        parts = weighted().parts
        for name in ("symmetric", "influence"):
            expected = OVER[over](torch.stack(parts_by_hand(theory)[name]))
            torch.testing.assert_close(parts[name], expected)


def test_the_mean_over_rows_and_labels_is_that_of_all_groundings():
    knowledge = rs.loads("""
        domain a domain c = 0..2 predicate P(a, c)
        rule r over mean: forall x, y in a, k in c: P(x, k) -> P(y, k)
    """)
    network, members = nn.Linear(2, 3), torch.randn(4, 2)
    theory = rs.Theory(knowledge, relaxation="s-product", P=network)
    p = network(members).softmax(-1)
    each = [-torch.log(1 - p[x, k] * (1 - p[y, k]))
            for x in range(4) for y in range(4) for k in range(3)]  # fmt: skip
    torch.testing.assert_close(theory(a=members).total, torch.stack(each).mean())
    with pytest.raises(GroundingError, match="variables over open domains alone"):
        rs.Theory(knowledge, over={"r": "worst(10%)"}, P=network)


class Counting(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear, self.calls, self.most = nn.Linear(width, 1), 0, 0

    def forward(self, *given):
        self.calls, self.most = self.calls + 1, max(self.most, len(given[0]))
        return self.linear(torch.cat(given, -1))


def test_a_network_runs_once_and_in_blocks_on_few_rows_at_a_time(theory, monkeypatch):
    networks = {"Smokes": Counting(3), "Friends": Counting(6)}
    features = torch.randn(40, 3)
    other = rs.Theory(theory.knowledge, **networks)
    facts = {"smokers": (torch.randn(2, 3), torch.tensor([1, 0]))}
    other(facts, person=features)
    assert [one.calls for one in networks.values()] == [1, 1]
    monkeypatch.setattr(thresholds, "ROWS", 80)
    networks["Friends"].most = 0
    other(facts, person=features).total.backward()
    assert networks["Friends"].most <= 80
    assert networks["Smokes"].calls == 2  # on all members at once


def test_facts_about_pairs_are_given_by_numbers_features_or_pairs(theory):
    pairs, labels = torch.tensor([[0, 1, 4], [1, 0, 2]]), torch.tensor([1, 0, -100])
    _, f = degrees(theory)
    expected = -(f[0][1].log() + (1 - f[1][0]).log()) / 2
    torch.testing.assert_close(theory({"friends": (pairs, labels)}).parts["friends"], expected)
    members = theory.networks["person"]()
    features = tuple(members[row] for row in pairs)
    torch.testing.assert_close(theory({"friends": (features, labels)}).parts["friends"], expected)
    positive = -(f[0][1].log() + f[1][0].log() + f[4][2].log()) / 3
    torch.testing.assert_close(theory({"friends": rs.Pairs(pairs)}).parts["friends"], positive)
    s, _ = degrees(theory)
    known = theory({"smokers": (torch.tensor([3, 1]), torch.tensor([1, 0]))}).parts["smokers"]
    torch.testing.assert_close(known, -(s[3].log() + (1 - s[1]).log()) / 2)


def test_every_question_names_members(theory):
    rows = {name: torch.stack(one) for name, one in parts_by_hand(theory).items()}
    f = torch.stack([torch.stack(row) for row in degrees(theory)[1]]).detach() > 0.5
    people = range(COUNT)
    assert {name: one.shape for name, one in theory.satisfied().items()} == {
        name: one.shape for name, one in rows.items()
    }
    expected = [bool(~f[x][y] | f[y][x]) for x in people for y in people]
    assert theory.satisfied()["symmetric"].tolist() == expected
    names = theory.networks["person"].names
    broken = {
        f'Friends("{names[x]}", "{names[y]}") -> Friends("{names[y]}", "{names[x]}")'
        for x in people
        for y in people
        if f[x][y] and not f[y][x]
    }
    found = theory.violations(top=100)["symmetric"]
    assert {str(one.grounding) for one in found} == broken
    assert [one.degree for one in found] == sorted(one.degree for one in found)
    assert all(one.example == () for one in found)
    metrics = theory.diagnose()
    assert metrics["influence/truth"] == pytest.approx(rows["influence"].mean().item())
    assert metrics["influence/penalty"] == pytest.approx(-rows["influence"].log().mean().item())
    assert metrics["symmetric/satisfied"] == pytest.approx(sum(expected) / len(expected))
    assert metrics["symmetric/without_gradient"] == 0


def test_questions_in_blocks_have_the_same_answers(theory, monkeypatch):
    whole = theory.satisfied(), theory.violations(top=3), theory.diagnose()
    monkeypatch.setattr(thresholds, "ROWS", 7)
    satisfied, violations, diagnosis = (
        theory.satisfied(),
        theory.violations(top=3),
        theory.diagnose(),
    )
    torch.testing.assert_close(satisfied, whole[0])
    assert {n: [str(v) for v in one] for n, one in violations.items()} == {
        n: [str(v) for v in one] for n, one in whole[1].items()
    }
    assert diagnosis == pytest.approx(whole[2])


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_a_copy_of_a_theory_says_the_same(theory, copied):
    torch.testing.assert_close(copied(theory)().parts, theory().parts)


def test_frozen_networks_and_members_get_no_gradient(theory):
    theory.freeze("Friends")
    theory().total.backward()
    assert theory.networks["Friends"].module.weight.grad is None
    assert theory.networks["person"].weight.grad.abs().sum() > 0
    theory.zero_grad()
    theory.unfreeze()
    theory.freeze("person")
    theory().total.backward()
    assert theory.networks["Friends"].module.weight.grad.abs().sum() > 0
    assert theory.networks["person"].weight.grad is None


# Relations, constants and functions

PAPERS = """
    domain paper
    domain topic = 0..2
    function journal(paper): paper
    predicate Topic(paper, topic)
    predicate Good(paper)
    predicate Cites(paper, paper)
    rule alike: forall x, y in paper, t in topic where Cites(x, y): Topic(x, t) -> Topic(y, t)
    rule path: forall x, y, z in paper where Cites(x, y) & Cites(y, z) & x != z:
        Good(x) & Good(y) -> Good(z)
    rule cited: forall x in paper: (exists y in paper where Cites(y, x): Good(y)) -> Good(x)
    rule venue: forall x in paper where x < 3: Good(journal(x)) -> Good(x)
    rule first: Good(0) & ~Good(1)
"""
EDGES = [(0, 1), (1, 2), (2, 0), (3, 1), (1, 1), (0, 1)]  # the last one is listed twice


@pytest.mark.parametrize("rows", [1 << 16, 3])
def test_relations_list_the_rows(monkeypatch, rows):
    monkeypatch.setattr(thresholds, "ROWS", rows)
    torch.manual_seed(0)
    networks = {"Topic": nn.Linear(2, 3), "Good": nn.Linear(2, 1)}
    theory = rs.Theory(rs.loads(PAPERS), relaxation="s-product", **networks)
    features, venues = torch.randn(4, 2), [3, 3, 1, 0]
    found = theory(
        paper=features,
        journal=torch.tensor(venues),
        observed={"Cites": rs.Pairs(torch.tensor(EDGES).T)},
    ).parts
    t, g = networks["Topic"](features).softmax(-1), networks["Good"](features)[:, 0].sigmoid()
    edges = sorted(set(EDGES))
    alike = [-sum(torch.log(1 - t[x, k] * (1 - t[y, k])) for k in range(3)) for x, y in edges]
    paths = [(x, y, z) for x, y in edges for w, z in edges if w == y and x != z]
    path = [-torch.log(1 - g[x] * g[y] * (1 - g[z])) for x, y, z in paths]
    one = torch.ones(())
    citing = [[g[y] for y, z in edges if z == x] for x in range(4)]
    some = [1 - torch.stack([one, *(1 - other for other in own)]).prod() for own in citing]
    expected = {
        "alike": torch.stack(alike).mean(),
        "path": torch.stack(path).mean(),
        "cited": torch.stack([-torch.log(1 - some[x] * (1 - g[x])) for x in range(4)]).mean(),
        "venue": torch.stack([-torch.log(1 - g[venues[x]] * (1 - g[x])) for x in range(3)]).mean(),
        "first": -torch.log(g[0] * (1 - g[1])),
    }
    torch.testing.assert_close(dict(found), expected)


def test_a_function_may_give_features_of_values_that_are_no_members():
    knowledge = rs.loads("""
        domain image domain pair
        function left(pair): image
        predicate Dark(image)
        rule r: forall p, q in pair where p != q: Dark(left(p)) -> Dark(left(q))
    """)
    dark = nn.Linear(2, 1)
    left = torch.randn(3, 2)
    found = rs.Theory(knowledge, relaxation="s-product", Dark=dark)(left=left).total
    d = dark(left)[:, 0].sigmoid()
    rows = [-torch.log(1 - d[p] * (1 - d[q])) for p in range(3) for q in range(3) if p != q]
    torch.testing.assert_close(found, torch.stack(rows).mean())


def test_quantities_of_members_are_compared():
    knowledge = rs.loads("""
        domain a predicate P(a) quantity Age(a) scale 2
        rule r: forall x, y in a: Age(x) <= Age(y) & P(x) -> P(y)
    """)
    network, members, age = nn.Linear(2, 1), torch.randn(3, 2), torch.tensor([1.0, 5.0, 2.5])
    theory = rs.Theory(knowledge, relaxation="s-product", P=network)
    p = network(members)[:, 0].sigmoid()
    older = torch.sigmoid((age[None, :] - age[:, None]) / 2)
    rows = [-torch.log(1 - older[x, y] * p[x] * (1 - p[y])) for x in range(3) for y in range(3)]
    torch.testing.assert_close(theory(a=members, Age=age).total, torch.stack(rows).mean())
    with pytest.raises(GroundingError, match=r"`Age`: expected a number .* \(3,\), got \(2,\)"):
        theory(a=members, Age=age[:2])


@pytest.mark.parametrize("count", [0, 1])
def test_few_members_cost_what_logic_says(count):
    knowledge = rs.loads("""
        domain a predicate P(a)
        rule all: forall x, y in a where x != y: P(x) -> P(y)
        rule some: forall x in a: exists y in a where y != x: P(y)
    """)
    theory = rs.Theory(knowledge, relaxation="lukasiewicz", P=nn.Linear(2, 1))
    found = theory(a=torch.randn(count, 2))
    found.total.backward()
    assert [float(part.detach()) for part in found.parts.values()] == [0, count]


def test_no_rows_cost_nothing():
    knowledge = rs.loads("""
        domain a predicate P(a) predicate L(a, a)
        rule r: forall x, y in a where L(x, y): P(x) -> P(y)
    """)
    network = nn.Linear(2, 1)
    theory = rs.Theory(knowledge, P=network)
    none = {"L": rs.Pairs(torch.zeros(2, 0, dtype=torch.long))}
    for count in (3, 0):
        members = torch.randn(count, 2)
        total = theory(a=members, observed=none).total
        total.backward()
        assert total == 0
        assert network.weight.grad.abs().sum() == 0
        assert theory.violations(a=members, observed=none) == {"r": []}
        assert theory.metrics(a=members, observed=none)["r/penalty"] == 0


# Samples


def test_samples_are_unbiased_and_new_in_each_call():
    torch.manual_seed(0)
    knowledge = rs.loads("""
        domain a predicate P(a)
        rule r: forall x, y in a where x != y: P(x) -> P(y)
    """)
    network, members = nn.Linear(2, 1), 3 * torch.randn(6, 2)
    whole = rs.Theory(knowledge, relaxation="s-product", P=network)(a=members).total
    sampling = rs.Theory(knowledge, relaxation="s-product", P=network, groundings=4)
    with torch.no_grad():
        found = torch.stack([sampling(a=members).total for _ in range(2000)])
    assert found.std() > 0
    assert abs(found.mean() - whole) < 4 * found.std() / 2000**0.5
    everything = rs.Theory(knowledge, relaxation="s-product", P=network, groundings={"r": 30})
    torch.testing.assert_close(everything(a=members).total, whole)


@pytest.mark.parametrize("listed", [1 << 22, 0])
def test_each_row_is_drawn_as_often_as_any_other(monkeypatch, listed):
    monkeypatch.setattr(thresholds, "MOST_ROWS_LISTED", listed)
    torch.manual_seed(0)
    formula = rs.parse("forall x, y, z in a where x < y & y != z: P(x, y, z)")
    rule = rs.compile(formula, domains={"a": "open"})
    world = World({"a": 4}, torch.device("cpu"))
    rows = numbered(rule.plan.relation, world)
    drawn = sampled(rows, 30) if listed else sampled(rows, 9000)
    places = torch.stack([drawn[name] for name in "xyz"], 1)
    allowed = [r for r in itertools.product(range(4), repeat=3) if r[0] < r[1] and r[1] != r[2]]
    found, counts = places.unique(dim=0, return_counts=True)
    assert {tuple(row) for row in found.tolist()} <= set(allowed)
    if not listed:
        share = len(places) / len(allowed)
        assert len(found) == len(allowed)
        assert (counts - share).abs().max() < 5 * share**0.5


def test_a_sample_needs_the_mean(theory):
    with pytest.raises(GroundingError, match="groundings: expected the mean over rows"):
        rs.Theory(theory.knowledge, reduction="sum", groundings=4, **theory.networks)
    with pytest.raises(GroundingError, match=r"over='worst\(10%\)'"):
        rs.Theory(theory.knowledge, over="worst(10%)", groundings=4, **theory.networks)
    with pytest.raises(GroundingError, match="1 or more, got 0"):
        rs.Theory(theory.knowledge, groundings=0, **theory.networks)
    with pytest.raises(GroundingError, match=r"several members `symetric`. Did you mean"):
        rs.Theory(theory.knowledge, groundings={"symetric": 3}, **theory.networks)


# Mistakes


@pytest.mark.parametrize(
    ("facts", "given", "message"),
    [
        ({}, {}, r"need the members of `person`: pass person=…"),
        ({}, {"person": torch.zeros(())}, "a row of features for each, got one number"),
        ({}, {"person": [1.0]}, "a row of features for each, got list"),
        ({}, {"people": torch.zeros(3, 3)}, "no tensor `people`"),
        (
            {"friends": (torch.zeros(3, 2, dtype=torch.long), torch.zeros(3))},
            {"person": torch.zeros(3, 3)},
            r"of shape \(2, facts\), got \(3, 2\); pass the transpose",
        ),
        (
            {"friends": (torch.tensor([[0], [3]]), torch.ones(1))},
            {"person": torch.zeros(3, 3)},
            "members of `person` from 0 to 2, got 3",
        ),
        (
            {"friends": (torch.zeros(3, 3), torch.ones(3))},
            {"person": torch.zeros(3, 3)},
            "is about 2 members; expected their numbers",
        ),
    ],
)
def test_what_does_not_fit_is_refused(theory, facts, given, message):
    networks = {name: theory.networks[name] for name in ("Smokes", "Friends")}
    bare = rs.Theory(theory.knowledge, **networks)
    given = given or {"observed": {"Smokes": torch.ones(3, dtype=torch.long)}}
    with pytest.raises(GroundingError, match=message):
        bare(facts, **given)


def test_members_are_given_once(theory):
    with pytest.raises(GroundingError, match="`person`: expected its members once"):
        theory(person=torch.zeros(5, 3))


def test_a_network_gives_one_output_for_each_row(theory):
    wide = rs.Theory(
        theory.knowledge,
        Smokes=nn.Linear(3, 2),
        Friends=theory.networks["Friends"],
        person=theory.networks["person"],
    )
    with pytest.raises(GroundingError, match=r"of `Smokes`: expected outputs of shape \(5,\), got"):
        wide()


@pytest.mark.parametrize(
    ("observed", "message"),
    [
        ({}, "a guard reads `Cites`: expected the pairs .* got none"),
        ({"Cites": torch.zeros(4, 4)}, "a guard reads `Cites`: expected the pairs .* got Tensor"),
        ({"Cites": rs.Pairs([[0], [7]])}, "from 0 to 3 in row 1, got 7"),
        ({"Cites": rs.Pairs([[0], [1], [2]])}, "expected 2 rows of numbers.*got 3"),
        ({"Cite": rs.Pairs([[0], [1]])}, "nothing reads `Cite`. Did you mean `Cites`"),
    ],
)
def test_relations_that_do_not_fit_are_refused(observed, message):
    knowledge = rs.loads("""
        domain paper predicate Good(paper) predicate Cites(paper, paper)
        rule r: forall x, y in paper where Cites(x, y): Good(x) -> Good(y)
    """)
    theory = rs.Theory(knowledge, Good=nn.Linear(2, 1))
    with pytest.raises(GroundingError, match=message):
        theory(paper=torch.zeros(4, 2), observed=observed)


def test_pairs_are_integers_in_two_rows():
    with pytest.raises(GroundingError, match=r"shape \(2, pairs\), got torch.float32"):
        rs.Pairs(torch.zeros(2, 3))
    with pytest.raises(GroundingError, match=r"pairs: expected .* of shape \(4,\)"):
        rs.Pairs(torch.zeros(4, dtype=torch.long))
    assert len(rs.Pairs([[0, 0], [1, 1]])) == 1  # a pair that is listed twice is one pair


def test_functions_that_do_not_fit_are_refused():
    knowledge = rs.loads("""
        domain a predicate P(a) function f(a): a
        rule r: forall x, y in a: P(f(x)) -> P(y)
    """)
    theory = rs.Theory(knowledge, P=nn.Linear(2, 1))
    members = torch.zeros(3, 2)
    for values, message in [
        (torch.tensor([0, 1]), "a value for each of the 3 members of `a`, got 2"),
        (torch.tensor([0, 1, 3]), "from 0 to 2, got 3"),
    ]:
        with pytest.raises(GroundingError, match=message):
            theory(a=members, f=values)
    with pytest.raises(GroundingError, match=r"`f\(x\)` needs the values of `f`: pass f=…"):
        theory(a=members)


def test_a_single_member_is_known_by_its_name(theory):
    text = PEOPLE + 'rule bob: Smokes("bob") & ~Smokes(2)\nrule nobody: Smokes("nobody")'
    named = rs.Theory(rs.loads(text), relaxation="s-product", **theory.networks)
    with pytest.raises(GroundingError, match=r'"nobody" is no member of `person`: .* bob, cid'):
        named()
    named = rs.Theory(
        rs.loads(text.replace("rule nobody", "rule eve").replace('"nobody"', '"eve"')),
        relaxation="s-product",
        **theory.networks,
    )
    s, _ = degrees(theory)
    torch.testing.assert_close(named().parts["bob"], -(s[1] * (1 - s[2])).log())
    with pytest.raises(rs.ResiduumError, match='If it is the name of a member, write "bob"'):
        rs.loads(PEOPLE + "rule bob: Smokes(bob)")


def test_exact_questions_about_relations_are_refused(theory):
    with pytest.raises(GroundingError, match="exact"):
        theory.probability()
    with pytest.raises(GroundingError, match="under `exact`, `symmetric` relates members"):
        rs.Theory(theory.knowledge, relaxation="exact", **theory.networks)


@pytest.mark.parametrize("wrong", [-1, True, 2.5, "ann", ["a", "a"], [1, 2]])
def test_members_are_counted_or_named(wrong):
    with pytest.raises(GroundingError):
        rs.Members(wrong, dim=2)
