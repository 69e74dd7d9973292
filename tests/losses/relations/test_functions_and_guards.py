"""Functions of single members, guards about them, and members of which nothing is given."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import residuum as rs
from residuum.errors import GroundingError

STAFF = """
    domain person
    domain company
    function employer(person): company
    function boss(person): person
    predicate Works(person, company)
    predicate Busy(person)
    predicate Big(company)
"""
EMPLOYER = torch.tensor([1, 0, 1])


def staff(rules, **options):
    """A theory in which `smith` is the name of a person and of a company, at other places."""
    people = rs.Members(["jones", "smith", "young"], dim=2)
    companies = rs.Members(["smith", "acme"], dim=2)
    networks = {"Busy": nn.Linear(2, 1), "Big": nn.Linear(2, 1)}
    used = {name: one for name, one in networks.items() if f"{name}(" in rules}
    return rs.Theory(
        rs.loads(STAFF + rules),
        relaxation="s-product",
        person=people,
        company=companies,
        **used,
        **options,
    )


def of(theory, predicate):
    network = theory.networks[predicate]
    domain = {"Busy": "person", "Big": "company"}[predicate]
    return network(theory.networks[domain]())[:, 0].sigmoid()


def test_a_single_member_in_a_function_is_of_the_domain_of_its_argument():
    theory = staff('rule one: Big(employer("smith"))\nrule two: Big(employer("young"))')
    parts = theory(employer=EMPLOYER).parts
    big = of(theory, "Big")
    torch.testing.assert_close(parts["one"], -big[0].log())
    torch.testing.assert_close(parts["two"], -big[1].log())
    with pytest.raises(GroundingError, match='"acme" is no member of `person`'):
        staff('rule one: Big(employer("acme"))')(employer=EMPLOYER)


def test_a_function_of_a_single_member_may_be_the_whole_rule():
    theory = staff('rule one: Busy(boss("jones"))')
    found = theory(boss=torch.tensor([2, 0, 0])).total
    torch.testing.assert_close(found, -of(theory, "Busy")[2].log())
    with pytest.raises(GroundingError, match=r'"jone" is no member of `person`: .* jones, smith'):
        staff('rule one: Busy(boss("jone"))')(boss=torch.tensor([2, 0, 0]))


@pytest.mark.parametrize(
    ("guard", "rows"),
    [
        ('employer(x) = "acme"', [0, 2]),
        ('"smith" = employer(x)', [1]),
        ('employer(x) = employer("jones")', [0, 2]),
        ('x != "smith" & employer(x) != "smith"', [0, 2]),
        ('x = "smith" | 1 = 2', [1]),
        ('x = "smith" | 1 != 2', [0, 1, 2]),
    ],
)
def test_guards_compare_members_of_the_domain_of_their_terms(guard, rows):
    theory = staff(f"rule r: forall x in person where {guard}: Busy(x)")
    given = {"employer": EMPLOYER} if "employer" in guard else {}
    torch.testing.assert_close(theory(**given).total, -of(theory, "Busy")[rows].log().mean())


def test_tables_number_the_arguments_of_functions():
    rule = rs.compile(
        "Big(employer(4)) & (forall x in person where employer(x) = 1: Busy(x))",
        "s-product",
        domains={"person": "open", "company": "open"},
        predicates={"Big": ("company",)},
        functions={"employer": [0, 1, 0, 0, 1]},
        inputs="probs",
    )
    big, busy = torch.rand(2), torch.rand(5)
    found = rule(Big=big, Busy=busy)
    torch.testing.assert_close(found, -big[1].log() - busy[[1, 4]].log().sum())


def test_tables_refuse_a_number_without_a_value():
    rule = rs.compile(
        "forall x in person: Busy(x) -> Big(employer(5)) & Busy(0)",
        domains={"person": "open", "company": "open"},
        predicates={"Big": ("company",)},
        functions={"employer": [0, 1, 0, 0, 1]},
    )
    with pytest.raises(GroundingError, match=r"`employer\(5\)`: expected .* from 0 to 4.* got 5"):
        rule(Big=torch.zeros(2), Busy=torch.zeros(5))


def test_members_of_which_nothing_is_given_are_asked_for():
    knowledge = rs.loads(STAFF + "rule r: forall x in person where Works(x, 0): Busy(x)")
    theory = rs.Theory(knowledge, relaxation="s-product", Busy=nn.Linear(2, 1))
    members, works = torch.randn(3, 2), {"Works": rs.Pairs([[0, 2, 1], [0, 0, 1]])}
    with pytest.raises(GroundingError, match=r"need the members of `company`.*pass company=…"):
        theory(person=members, observed=works)
    found = theory(person=members, company=torch.zeros(2, 1), observed=works).total
    busy = theory.networks["Busy"](members)[:, 0].sigmoid()
    torch.testing.assert_close(found, -busy[[0, 2]].log().mean())
    rule = rs.compile(knowledge, "s-product")
    with pytest.raises(GroundingError, match="shows the number of members of `company`"):
        rule(Busy=torch.zeros(3), observed=works)


def test_numbers_are_values_of_a_function_where_no_rule_relates_members():
    knowledge = rs.loads(STAFF + "rule r: forall x in person: Busy(x) -> Busy(boss(x))")
    network, members = nn.Linear(2, 1), torch.randn(3, 2)
    theory = rs.Theory(knowledge, relaxation="s-product", Busy=network)
    assert not theory._rules().related
    busy, boss = network(members)[:, 0].sigmoid(), torch.tensor([1, 1, 0])
    found = theory(person=members, boss=boss).total
    torch.testing.assert_close(found, -(1 - busy * (1 - busy[boss])).log().mean())
    torch.testing.assert_close(theory(person=members, boss=members[boss]).total, found)
    for wrong in (3, -1):
        with pytest.raises(GroundingError, match=f"`person`, from 0 to 2, got {wrong}"):
            theory(person=members, boss=torch.tensor([1, 1, wrong]))
    bosses = rs.loads(STAFF + "rule r: forall x in person: Busy(boss(x))")
    theory = rs.Theory(bosses, relaxation="s-product", Busy=network)
    torch.testing.assert_close(theory(person=members, boss=boss).total, -busy[boss].log().mean())


def test_integers_are_features_where_the_members_are():
    knowledge = rs.loads(STAFF + "rule r: forall x in person: Busy(x) -> Busy(boss(x))")
    network = nn.Embedding(10, 1)
    theory = rs.Theory(
        knowledge, relaxation="s-product", Busy=nn.Sequential(network, nn.Flatten(0))
    )
    words, others = torch.tensor([7, 8, 9]), torch.tensor([9, 9, 2])
    busy, boss = (network(one)[:, 0].sigmoid() for one in (words, others))
    found = theory(person=words, boss=others).total
    torch.testing.assert_close(found, -(1 - busy * (1 - boss)).log().mean())


def test_rules_of_a_knowledge_see_the_same_number_of_members():
    knowledge = rs.loads("""
        domain person domain topic = 0..1
        predicate Friends(person, person) predicate Smokes(person) predicate Likes(person, topic)
        rule one: forall x, y in person: Friends(x, y) -> Friends(y, x)
        rule two: forall x, y in person: Smokes(x) -> Smokes(y)
        rule batch: forall x in person: Likes(x, 0)
    """)
    rules = rs.compile(knowledge)
    friends, smokes, likes = torch.zeros(3, 3), torch.zeros(3), torch.zeros(3, 2)
    rules(Friends=friends, Smokes=smokes, Likes=likes)
    rules(Friends=friends, Smokes=smokes, Likes=torch.zeros(4, 5, 2))
    words = "`person` has 3 members in one tensor and 5 in "
    for ask in (rules, rules.total, rules.satisfied, rules.metrics):
        with pytest.raises(GroundingError, match=words + "`Smokes`"):
            ask(Friends=friends, Smokes=torch.zeros(5), Likes=likes)
        with pytest.raises(GroundingError, match=words + "`Likes`"):
            ask(Friends=friends, Smokes=smokes, Likes=torch.zeros(5, 2))
    seen = torch.zeros(5, dtype=torch.long)
    with pytest.raises(GroundingError, match=words + "`Smokes`"):
        rules(Friends=friends, Likes=likes, observed={"Smokes": seen})
    rules(Friends=friends, Likes=likes, observed={"Smokes": seen[:3]})
    apart = rs.loads("""
        domain person predicate A(person) predicate B(person)
        rule one: forall x in person: A(x)
        rule two: forall x in person: B(x)
    """)
    rs.compile(apart)(A=torch.zeros(3), B=torch.zeros(5))  # two batches


def test_tables_read_functions_of_inner_variables():
    rule = rs.compile(
        "forall x in person: Busy(x) -> exists y in person where y != x: Big(employer(y))",
        "s-product",
        domains={"person": "open", "company": "open"},
        predicates={"Big": ("company",)},
        functions={"employer": EMPLOYER},
        inputs="probs",
    )
    big, busy = torch.rand(2), torch.rand(3)
    of = big[EMPLOYER]
    rows = []
    for x in range(3):
        none = torch.stack([1 - of[y] for y in range(3) if y != x]).prod()
        rows.append(-torch.log(1 - busy[x] * none))
    torch.testing.assert_close(rule(Big=big, Busy=busy), torch.stack(rows).mean())
