"""Members that are made up or taken from tables, and advice about rules that relate them."""

import numpy as np
import pytest
import torch

from residuum.advice import Consultation, Rehearsal, read_given, worlds
from residuum.advice.tables import Tables, read_tables
from residuum.advice.worlds import settle
from residuum.errors import ResiduumError
from residuum.relaxations import relaxation
from residuum.syntax import loads

SMOKERS = loads("""
    domain person
    predicate Smokes(person)
    predicate Friends(person, person)
    rule symmetric: forall x, y in person: Friends(x, y) -> Friends(y, x)
    rule influence: forall x, y in person where x != y: Friends(x, y) & Smokes(x) -> Smokes(y)
    rule company: forall x in person: exists y in person where y != x: Friends(x, y)
""")
CITATIONS = loads("""
    domain paper
    domain topic = 0..2
    predicate Topic(paper, topic)
    predicate Cites(paper, paper)
    rule alike: forall x, y in paper where Cites(x, y):
        forall t in topic: Topic(x, t) -> Topic(y, t)
    rule first: forall x, y in paper where Cites(x, y): Cites(y, x) -> Topic(7, 0)
""")


def saved(tmp_path, **arrays):
    path = tmp_path / "tables.npz"
    np.savez(path, **arrays)
    return path


def citations(tmp_path, count=300):
    """Return tables in which paper n cites n + 1, so that linked papers are neighbours."""
    generator = np.random.default_rng(0)
    logits = generator.normal(size=(count, 3))
    edges = np.stack([np.arange(count - 1), np.arange(1, count)])
    labels = np.where(np.arange(count) % 5 == 0, 1, -100)
    arrays = {"Topic": logits, "pairs:Cites": edges, "label:Topic": labels}
    return arrays, saved(tmp_path, **arrays)


def test_made_up_worlds_share_relations_and_fit_the_budget(monkeypatch):
    [uniform, confident], scales, remark = settle(CITATIONS, None)
    assert remark == "Members are made up: 16 of paper"
    assert scales == {"alike": 3, "first": 1}
    assert uniform.sample.logits["Topic"].shape == (worlds.WORLDS, 16, 3)
    cited = uniform.sample.observed["Cites"]
    assert torch.equal(cited[0], cited[1])
    assert torch.equal(cited, confident.sample.observed["Cites"])
    assert 16 < int(cited[0].sum()) < 100  # about three links of each member
    monkeypatch.setattr(worlds, "WORK", 1_000)
    [small, _], _, remark = settle(SMOKERS, None)
    assert remark == "Members are made up: 9 of person"  # 3 * 9² times 4 worlds are less than 1,000
    assert set(small.knowledge.rules) == set(SMOKERS.rules)


def test_members_that_rules_name_are_always_there():
    knowledge = loads(
        "domain person\npredicate Friends(person, person)\n"
        'rule r: forall x in person: Friends(x, "ann") -> Friends(900, x)\n'
    )
    [one, _], _, _ = settle(knowledge, None)
    members = list(one.knowledge.domains["person"])
    assert members == [*range(15), 900]
    assert str(one.knowledge.rules["r"].formula).endswith("Friends(x, 0) -> Friends(900, x)")


def test_linked_members_are_taken_from_tables(tmp_path):
    arrays, path = citations(tmp_path)
    tables = read_tables(path, CITATIONS, "logits")
    assert tables.sizes == {"paper": 300}
    [one], _, _ = settle(CITATIONS, tables)
    kept = list(one.knowledge.domains["paper"])
    assert one.left_out == (f"{len(kept)} of 300 members of paper, linked ones together",)
    assert 20 < len(kept) <= worlds.MOST_FROM_TABLES
    assert 7 in kept
    assert sum(number + 1 in kept for number in kept) > 0.8 * len(kept)
    sample = one.sample
    assert torch.equal(sample.logits["Topic"], torch.tensor(arrays["Topic"][kept])[None])
    assert sample.labels["Topic"][0].tolist() == arrays["label:Topic"][kept].tolist()
    cited = [[int(y == x + 1) for y in kept] for x in kept]
    assert sample.observed["Cites"][0].tolist() == cited


def test_small_tables_are_taken_whole_with_evidence_and_functions(tmp_path):
    knowledge = loads(
        "domain person\nfunction boss(person): person\npredicate Smokes(person)\n"
        "predicate Friends(person, person)\n"
        "rule r: forall x, y in person: Friends(x, y) & Smokes(boss(x)) -> Smokes(y)\n"
    )
    friends = np.array([[0, 1, -100], [1, 0, 0], [0, 0, 1]])
    path = saved(tmp_path, Smokes=[0.2, 0.7, 0.9], Friends=np.full((3, 3), 0.5),
                 boss=[2, 2, 0], **{"observed:Friends": friends})  # fmt: skip
    [one], scales, _ = settle(knowledge, read_tables(path, knowledge))
    assert (one.left_out, scales) == ((), {"r": 1})
    assert one.sample.observed["Friends"].tolist() == [friends.tolist()]
    np.testing.assert_allclose(one.sample.logits["Smokes"].sigmoid(), [[0.2, 0.7, 0.9]])
    assert dict(one.knowledge.functions["boss"].table) == {(0,): 2, (1,): 2, (2,): 0}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"pairs:Cites": None}, "a guard reads `Cites`: expected the members between which"),
        ({"pairs:Cites": [[0, 1]]}, "`pairs:Cites`: expected whole numbers of members"),
        ({"pairs:Cites": [[0], [300]]}, "from 0 to 299, found 300"),
        ({"pairs:Cites": [[-1], [3]]}, "from 0 to 299, found -1"),
        ({"pairs:Topic": [[0], [1]]}, "`pairs:Topic`: expected whole numbers of members"),
        (
            {"Topic": np.zeros((300, 2))},
            "`Topic`: expected a table of the shape .paper, 3., with members",
        ),
        ({"Topic": None}, "no tensor is given for `Topic`"),
        ({"Topic": 0.0}, "expected a table of the shape"),
        ({"label:Topic": np.zeros(200, int)}, "expected 300 members of `paper` in `label:Topic`"),
        ({"label:Topic": np.full(300, 7)}, "labels from 0 to 2"),
        ({"Extra": [1.0]}, "nothing reads `Extra`"),
        ({"lengths": [1]}, "expected no `lengths`"),
        ({"Topic": np.full((300, 3), np.nan)}, "`Topic`: the tensor has a NaN"),
    ],
)
def test_tables_that_do_not_fit_are_refused_in_words(tmp_path, changed, message):
    arrays, _ = citations(tmp_path)
    kept = {name: one for name, one in {**arrays, **changed}.items() if one is not None}
    with pytest.raises(ResiduumError, match=message):
        settle(CITATIONS, read_tables(saved(tmp_path, **kept), CITATIONS, "logits"))


def test_names_of_members_have_no_tables(tmp_path):
    knowledge = loads(
        'domain person\npredicate Smokes(person)\nrule r: Smokes("ann") -> Smokes("bob")\n'
    )
    with pytest.raises(ResiduumError, match="the members of tables have no names"):
        settle(knowledge, read_tables(saved(tmp_path, Smokes=[0.5, 0.5]), knowledge))


def test_hidden_predicates_and_relations_together_are_refused():
    knowledge = loads(
        "domain person\npredicate Smokes(person)\npredicate Young(person) hidden\n"
        "rule r: forall x, y in person: Smokes(x) & Young(y) -> Smokes(y)\n"
    )
    with pytest.raises(ResiduumError, match="only `exact` sums out the hidden predicate `Young`"):
        settle(knowledge, None)


def test_a_consultation_about_relations_says_what_it_is_about(tmp_path, monkeypatch):
    from residuum.advice import measuring, rehearsing

    monkeypatch.setattr(rehearsing, "STEPS", 2)
    monkeypatch.setattr(measuring, "STEPS", 2)
    _, path = citations(tmp_path, 10)
    given = read_given(path, CITATIONS, "logits")
    assert isinstance(given, Tables)
    asked = Consultation(CITATIONS, [given], [relaxation("s-product"), relaxation("lukasiewicz")])
    assert sum(1 for _ in asked.steps()) <= asked.count
    assert [one.relaxation for one in asked.rehearsed] == [None, "s-product", "lukasiewicz"]
    assert "mean" not in asked.aggregated
    advice = asked.advice()
    assert not [one for one in advice.traps if one.kind in ("many groundings", "capped")]
    assert any("mean over choices of members" in one for one in advice.reasons)
    assert any("`exact` is left out: it takes no rules" in one for one in advice.reasons)
    [measured, *_] = asked.measured
    assert (measured.rule, measured.groundings) == ("alike", 9 * 3)


def test_relations_help_to_learn_what_they_link():
    """Papers have the topic of those they cite; labels of a few of them are enough."""
    [one, _], scales, _ = settle(CITATIONS, None)
    rehearsal = Rehearsal(one.knowledge, one.sample, scales)
    found = rehearsal.try_out(relaxation("s-product"))
    assert found.points > rehearsal.try_out(None).points
