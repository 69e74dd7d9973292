from __future__ import annotations

import itertools
import pickle

import clause_oracles as oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st

import residuum as rs
from residuum.errors import InvalidNameError, KnowledgeError, ResiduumError
from residuum.limits import LONGEST_WORD, MOST_LABELS
from residuum.syntax import Domain, Predicate, load, loads

FEW = 4


@st.composite
def clause_sets(draw, least=1):
    literals = st.integers(1, FEW).flatmap(lambda k: st.sampled_from([k, -k]))
    return draw(st.lists(st.lists(literals, min_size=least, max_size=4), min_size=1, max_size=5))


def truth_tables(knowledge):
    """Return the truth of each rule for each prediction of the first outputs."""
    members = list(knowledge.domains["label"])
    tables = []
    for prediction in oracle.predictions(FEW):
        values = {
            rs.Atom("Label", rs.Constant(label)): value
            for label, value in itertools.zip_longest(members, prediction, fillvalue=False)
        }
        tables.append([bool(rs.evaluate(r.formula, values)) for r in knowledge.rules.values()])
    return tables


def expected_tables(clauses):
    return [[oracle.holds(c, p) for c in clauses] for p in oracle.predictions(FEW)]


def problems_of(text, **options):
    with pytest.raises(KnowledgeError) as caught:
        loads(text, **options)
    return [(p.line, p.column, p.message) for p in caught.value.problems]


# What clauses mean


@given(clause_sets(least=0), st.sampled_from(["\n", " ", "\nc more\n", "\n\n"]))
def test_a_dimacs_file_means_its_clauses(clauses, gap):
    assert truth_tables(loads(oracle.dimacs(clauses, FEW, gap))) == expected_tables(clauses)


@given(clause_sets())
def test_one_clause_over_several_lines_is_one_rule(clauses):
    text = oracle.dimacs(clauses, FEW).replace(" ", "\n").replace("p\ncnf\n", "p cnf ")
    text = text.replace("c\nmade\nup", "").replace(f"cnf {FEW}\n", f"cnf {FEW} ")
    assert truth_tables(loads(text)) == expected_tables(clauses)


@given(clause_sets())
def test_lines_of_clauses_and_of_rules_mean_the_same(clauses):
    labels = [f"y_{k}" for k in range(FEW)]
    for text in (oracle.clause_list(clauses), oracle.rules(clauses)):
        if " or " in text or "not" in text or ":-" in text:
            assert truth_tables(loads(text, labels=labels)) == expected_tables(clauses)


def test_an_empty_head_is_a_constraint_and_an_empty_body_a_fact():
    clauses = [[-1, -2], [3], []]
    text = ":- y_0, y_1.\ny_2 :-\n:-\n"
    assert truth_tables(loads(text, labels=list("abcd"))) == expected_tables(clauses)


def test_a_rule_stays_an_implication():
    rule = loads("a or b :- c, not d").rules["line_1"]
    assert str(rule.formula) == 'Label("c") & ~Label("d") -> Label("a") | Label("b")'


@pytest.mark.parametrize(
    ("text", "formula"),
    [
        ("a or not b or a or not b", 'Label("a") | ~Label("b")'),
        ("a or not b or not a", "true"),
        ("a :- b, a, b", "true"),
        ("a :- b, not b", "true"),
        ("c :- b, a, b", 'Label("b") & Label("a") -> Label("c")'),
        (":- not a, b", 'Label("a") | ~Label("b")'),
        ("p cnf 1 1\n0", "false"),
    ],
)
def test_repeated_literals_count_once_and_opposite_ones_make_a_clause_true(text, formula):
    [rule] = loads(text).rules.values()
    assert str(rule.formula) == formula


# What a file becomes


def test_the_variables_of_a_header_are_the_members_of_the_domain_in_order():
    knowledge = loads("p cnf 3 1\n-2 0\n")
    assert dict(knowledge.domains) == {"label": Domain("label", range(1, 4))}
    assert dict(knowledge.predicates) == {
        "Label": Predicate("Label", ("label",), is_independent=True)
    }
    assert not knowledge.facts
    assert not knowledge.functions


def test_a_rule_is_named_after_its_line():
    assert [*loads("p cnf 2 4\n1 0 2 0\n\n-1\n2 0\n0").rules] == [
        "line_2", "line_2_2", "line_4", "line_6",
    ]  # fmt: skip
    assert [*loads("\n# a remark\na or b\n\nnot a % another\n").rules] == ["line_3", "line_5"]


def test_numbered_names_are_outputs_of_these_numbers():
    assert [*loads("y_3 or not y_1").domains["label"]] == ["y_0", "y_1", "y_2", "y_3"]
    assert [*loads("3 :- 1, not 2").domains["label"]] == [0, 1, 2, 3]


@pytest.mark.parametrize("text", ["b2 or not a1", "car or not bus", "y_1 or not y_01", "y or y_1"])
def test_other_names_stand_in_the_order_of_their_first_mention(text):
    first, second = [word for word in text.split() if word not in ("or", "not")]
    assert [*loads(text).domains["label"]] == [first, second]


def test_clause_knowledge_survives_pickling_and_compares_by_value():
    knowledge = loads("y_3 or not y_1")
    assert pickle.loads(pickle.dumps(knowledge)) == knowledge == loads("y_3 or not y_1\n")


# Labels


def test_labels_name_the_variables_in_order():
    knowledge = loads("p cnf 2 1\n1 -2 0", labels=["car", "bus"])
    assert [*knowledge.domains["label"]] == ["car", "bus"]
    assert str(knowledge.rules["line_2"].formula) == 'Label("car") | ~Label("bus")'


def test_numbered_names_take_their_labels_from_a_longer_list():
    knowledge = loads("y_2 or not y_0", labels=["car", "bus", "van", "tram"])
    assert [*knowledge.domains["label"]] == ["car", "bus", "van", "tram"]
    assert str(knowledge.rules["line_1"].formula) == 'Label("van") | ~Label("car")'


def test_a_list_of_the_names_themselves_only_orders_them():
    for names in (["bus", "car", "van"], ["y_1", "y_0", "y_2"]):
        knowledge = loads(f"{names[1]} or not {names[0]}", labels=names)
        assert [*knowledge.domains["label"]] == names
        expected = f'Label("{names[1]}") | ~Label("{names[0]}")'
        assert str(knowledge.rules["line_1"].formula) == expected


def test_a_mapping_renames_some_variables():
    assert [*loads("p cnf 3 1\n1 -2 0", labels={2: "bus"}).domains["label"]] == [1, "bus", 3]
    assert [*loads("y_0 or not y_1", labels={"y_1": "bus"}).domains["label"]] == ["y_0", "bus"]


@pytest.mark.parametrize(
    ("text", "labels", "message"),
    [
        ("p cnf 2 1\n1 -2 0", ["a"], "expected 2 labels, one for each variable, got 1"),
        ("p cnf 2 1\n1 -2 0", ["a", "b", "c"], "expected 2 labels, .* got 3"),
        ("y_2 or not y_0", ["a", "b"], "expected 3 or more labels, .* got 2"),
        ("car or not bus", ["car", "van"], "expected every name of the file, but `bus`"),
        ("p cnf 2 1\n1 -2 0", ["a", "a"], "a different label for each variable, got 'a' twice"),
        ("p cnf 2 1\n1 -2 0", {1: 2}, "a different label for each variable, got 2 twice"),
        ("p cnf 2 1\n1 -2 0", {3: "a"}, "expected variables of the file, got 3"),
        ("car or not bus", {"cat": "a"}, "Did you mean `car`"),
        ("p cnf 2 1\n1 -2 0", "ab", "expected a list of at most"),
        ("p cnf 2 1\n1 -2 0", 7, "expected a list of at most"),
        ("p cnf 2 1\n1 -2 0", itertools.count(), "expected a list of at most"),
        ("p cnf 2 1\n1 -2 0", [1.5, "a"], "expected an integer or a label"),
        ("p cnf 2 1\n1 -2 0", [True, "a"], "expected an integer or a label"),
        ("predicate P rule r: P", ["a"], "got a rule file"),
    ],
)
def test_labels_that_do_not_fit_are_refused_in_words(text, labels, message):
    with pytest.raises(InvalidNameError, match=message):
        loads(text, labels=labels)


# Mistakes


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("p cnf 2 1\n1 -3 0", [(2, 3, "expected a variable from 1 to 2, got -3.")]),
        ("p cnf 2 1\n1 -2", [(2, 1, "this clause does not end with 0.")]),
        ("p cnf 2 3\n1 0", [(1, 1, "the header promises 3 clauses, but there are 1.")]),
        ("p cnf 2 0\n1 0", [(1, 1, "the header promises 0 clauses, but there are 1.")]),
        (
            "p cnf 2 1\n1 x 0 y\n",
            [(2, 3, "expected the number of a variable"), (2, 7, "expected the number")],
        ),
        ("p cnf 2 1\n1 2.0 0", [(2, 3, "expected the number of a variable")]),
        ("p cnf 2 1\np cnf 2 1\n1 0", [(2, 1, "this is a second header.")]),
        ("p cnf 2\n1 0", [(1, 1, "expected `p cnf VARIABLES CLAUSES`, got `p cnf 2`.")]),
        ("p cnf -2 1\n1 0", [(1, 1, "expected `p cnf VARIABLES CLAUSES`")]),
        ("1 0\np cnf 2 1", [(1, 1, "expected the header `p cnf"), (2, 1, "the header promises 1")]),
        (f"p cnf {MOST_LABELS + 1} 1\n1 0", [(1, 1, f"at most {MOST_LABELS:,} variables")]),
        (f"p cnf {'9' * 5000} 1\n1 0", [(1, 1, f"at most {MOST_LABELS:,} variables")]),
        (f"p cnf 2 1\n{'9' * 5000} 0", [(2, 1, "expected a variable from 1 to 2")]),
        (f"p cnf 2 {'9' * 5000}\n1 0", [(1, 1, "the header promises 100,000,000,")]),
    ],
)
def test_a_mistake_in_dimacs_has_a_line_a_column_and_words(text, problems):
    found = problems_of(text)
    assert [(line, column) for line, column, _ in found] == [(a, b) for a, b, _ in problems]
    assert all(said in message for (*_, message), (*_, said) in zip(found, problems, strict=True))


def test_a_weighted_file_is_no_cnf(tmp_path):
    (tmp_path / "rules.cnf").write_text("p wcnf 2 1 3\n1 1 0\n")
    with pytest.raises(KnowledgeError, match="line 1, column 1: expected `p cnf VARIABLES"):
        load(tmp_path / "rules.cnf")


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("a or b\na b", 2, 3, "expected `or` or the end of the line, got `b`."),
        ("a or\nb or c", 1, 3, "expected a name after `or`, got nothing."),
        ("a or or b", 1, 6, "expected a name, got `or`."),
        ("a or not not b", 1, 10, "expected a name, got `not`."),
        ("a or b, c", 1, 7, "expected `or` or the end of the line, got `,`."),
        ("a :- b or c", 1, 8, "expected `,` or the end of the line, got `or`."),
        ("a :- b :- c", 1, 8, "expected one `:-` in a line, got two."),
        ("a :- b,", 1, 7, "expected a name after `,`, got nothing."),
        ("a or not b\n-1 or 2", 2, 1, "expected a name, got `-`."),
        ("a or not b\nc(x) or d", 2, 2, "expected `or` or the end of the line, got `(`."),
        (f"a or {'b' * (LONGEST_WORD + 1)}", 1, 6, f"at most {LONGEST_WORD:,} characters"),
        ("y_0 or y_1000000", 1, 1, "numbered from 0 to 999,999"),
        (f"y_0 or y_{'9' * 900}", 1, 1, "numbered from 0 to 999,999"),
    ],
)
def test_a_mistake_in_a_list_has_a_line_a_column_and_words(text, line, column, message):
    [found] = problems_of(text)
    assert found[:2] == (line, column)
    assert message in found[2]


def test_all_mistakes_are_reported_together_with_a_caret():
    with pytest.raises(KnowledgeError) as caught:
        loads("a or\nb or not a\na b\n", source="rules.txt")
    assert str(caught.value).split("\n")[:4] == [
        "rules.txt: 2 problems",
        "line 1, column 3: expected a name after `or`, got nothing. Add it.",
        "    a or",
        "      ^",
    ]


def test_a_file_of_too_many_words_is_refused(monkeypatch):
    monkeypatch.setattr("residuum.syntax.dimacs.MOST_WORDS", 10_000)
    monkeypatch.setattr("residuum.syntax.clause_lists.MOST_WORDS", 10_000)
    many = "1 0\n" * 5_000
    [(line, column, message)] = problems_of(f"p cnf 1 5000\n{many}")
    assert (line, column) == (5_001, 3)
    assert "at most 10,000 words" in message
    [(*_, message)] = problems_of("a or b\n" * 3_334)
    assert "at most 10,000 words" in message


# Which format a file has


def test_the_ending_decides(tmp_path):
    for ending in (".cnf", ".dimacs", ".CNF"):
        path = tmp_path / f"rules{ending}"
        path.write_text("c no header\n1 0\n")
        with pytest.raises(KnowledgeError, match="expected the header"):
            load(path)
    path = tmp_path / "rules.rsd"
    path.write_text("a or not b\n")
    with pytest.raises(KnowledgeError, match="expected a declaration"):
        load(path)


@pytest.mark.parametrize("text", ["", "c only remarks\n", "\n\n"])
def test_a_cnf_file_without_a_header_is_refused(text, tmp_path):
    (tmp_path / "rules.cnf").write_text(text)
    with pytest.raises(KnowledgeError, match="line 1, column 1: expected the header"):
        load(tmp_path / "rules.cnf")


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("c a or b\np cnf 2 1\r\n1 0\r\n", ["line_3"]),
        ("# remark\n\na\nnot b\n", ["line_3", "line_4"]),
        ("\ufeffa or not b", ["line_1"]),
        ("a :- b.\r\n", ["line_1"]),
        ("domain d = a\npredicate P(d)\nrule r: P(a) or\n P(a)", ["r"]),
        ("p cnf 1 1\n1 0\n%\n0\n", ["line_2"]),
        ("", []),
        ("  # nothing but a remark", []),
    ],
)
def test_other_endings_are_read_by_their_content(text, rules, tmp_path):
    path = tmp_path / "rules.txt"
    path.write_bytes(text.encode("utf-8"))
    assert [*load(path).rules] == rules


def test_what_is_in_no_known_format_is_refused(tmp_path):
    path = tmp_path / "rules.txt"
    path.write_text("Cats are animals.")
    with pytest.raises(
        ResiduumError, match=r"rules\.txt: expected a rule file .* the ending \.rsd"
    ):
        load(path)
