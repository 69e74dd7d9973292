from __future__ import annotations

import dataclasses
import pickle

import pytest

from residuum.errors import KnowledgeError, ResiduumError
from residuum.logic import Atom, Constant, Formula, Variable, atoms_of
from residuum.syntax import (
    Domain,
    Facts,
    Function,
    Knowledge,
    Predicate,
    Quantity,
    Rule,
    load,
    loads,
    parse,
)

DIGITS = """
domain digit = 0..9
domain image                              # open: its members come with the batch
domain pair
domain feature = round, straight
function left(pair): image                # open: bound from Python
function right(pair): image

predicate Digit(image, digit)             # the last domain is exclusive (softmax) …
predicate Sum(pair, digit)
predicate Has(image, feature) independent # … unless marked independent (one sigmoid each)

facts labels: Digit                       # labelled data, bound from Python
rule sum_coherence weight 0.1:
    forall p in pair, a, b in digit:
        Digit(left(p), a) & Digit(right(p), b) -> Sum(p, (a + b) mod 10)
"""

CHUNKS = """
domain chunk = NP, VP, PP
domain tag = "B-NP", "I-NP", "B-VP", "I-VP", "B-PP", "I-PP", O
domain position sequence
function begin(chunk): tag = NP: "B-NP", VP: "B-VP", PP: "B-PP"
function inside(chunk): tag = NP: "I-NP", VP: "I-VP", PP: "I-PP"
predicate Tag(position, tag)
rule no_jump: forall i in position, X, Y in chunk where X != Y:
    Tag(i, begin(X)) -> ~Tag(i + 1, inside(Y))
"""


def problems_of(text: str) -> list[tuple[int, int, str]]:
    with pytest.raises(KnowledgeError) as caught:
        loads(text)
    return [(found.line, found.column, found.message) for found in caught.value.problems]


def places_of(text: str) -> list[tuple[int, int]]:
    return [(line, column) for line, column, _ in problems_of(text)]


def rule_of(declared: str, rule: str):
    return loads(f"{declared} rule r: {rule}").rules["r"].formula


# What is read


def test_the_digits_example_loads():
    knowledge = loads(DIGITS)
    assert list(knowledge.domains) == ["digit", "image", "pair", "feature"]
    assert knowledge.domains["digit"] == Domain("digit", tuple(range(10)))
    assert knowledge.domains["image"] == Domain("image", None)
    assert knowledge.functions["left"] == Function("left", ("pair",), "image", None)
    assert knowledge.predicates["Digit"] == Predicate("Digit", ("image", "digit"))
    assert knowledge.predicates["Has"].is_independent
    assert knowledge.facts["labels"] == Facts("labels", "Digit")
    formula = parse(
        "forall p in pair, a, b in digit: "
        "Digit(left(p), a) & Digit(right(p), b) -> Sum(p, (a + b) mod 10)"
    )
    assert knowledge.rules["sum_coherence"] == Rule("sum_coherence", formula, 0.1)


def test_the_chunking_example_loads():
    knowledge = loads(CHUNKS)
    assert knowledge.domains["tag"].labels[-1] == "O"
    assert knowledge.domains["position"] == Domain("position", None, is_sequence=True)
    assert dict(knowledge.functions["begin"].table) == {
        ("NP",): "B-NP", ("VP",): "B-VP", ("PP",): "B-PP"
    }  # fmt: skip
    assert knowledge.rules["no_jump"].weight == 1.0


def test_an_empty_file_is_empty_knowledge():
    for text in ("", "\n\n", "# nothing here", " \t"):
        assert loads(text) == Knowledge()


def test_newlines_mean_nothing():
    assert loads(" ".join(line.split("#")[0] for line in DIGITS.split("\n"))) == loads(DIGITS)
    assert loads(CHUNKS.replace("\n", "\r\n")) == loads(CHUNKS)
    assert loads(CHUNKS.replace(" ", "\n\t")) == loads(CHUNKS)


def test_declarations_may_come_after_their_use():
    backwards = """
        rule r: forall x in d: P(f(x)) facts data: P predicate P(e)
        function f(d): e = a: 1, b: 2 domain e = 1, 2 domain d = a, b
    """
    assert list(loads(backwards).rules) == ["r"]


def test_labels_may_be_names_strings_integers_and_ranges():
    labels = loads('domain d = a, "b c", -2..1, 7, "7"').domains["d"].labels
    assert labels == ("a", "b c", -2, -1, 0, 1, 7, "7")


def test_a_quoted_label_and_its_name_are_the_same():
    assert 'label "NP" is listed twice' in problems_of('domain d = NP, "NP"')[0][2]


@pytest.mark.parametrize(
    ("written", "weight"), [("0.25", 0.25), ("3", 3.0), ("0", 0.0), ("1e-3", 0.001), ("2.5E2", 250)]
)
def test_weights_are_numbers(written, weight):
    assert loads(f"rule r weight {written}: true").rules["r"].weight == weight


def test_a_table_may_have_several_arguments():
    table = (
        loads("""
        domain b = 0, 1
        function either(b, b): b = (0, 0): 0, (0, 1): 1, (1, 0): 1, (1, 1): 1
    """)
        .functions["either"]
        .table
    )
    assert table[1, 0] == 1
    assert len(table) == 4


def test_predicates_need_no_arguments():
    assert rule_of("predicate Rain predicate Wet", "Rain -> Wet") is parse("Rain -> Wet")


def test_a_declaration_word_in_a_comment_or_label_starts_nothing():
    knowledge = loads('domain d = "rule x: y" # predicate P(d)\npredicate Q(d)')
    assert knowledge.domains["d"].labels == ("rule x: y",)
    assert list(knowledge.predicates) == ["Q"]


def test_rules_and_declarations_keep_the_order_of_the_text():
    assert list(loads("rule b: true rule a: true rule c: true").rules) == ["b", "a", "c"]


# Names: variables and labels

CHUNK = "domain chunk = NP, VP predicate T(chunk)"


def test_a_bare_name_is_a_label_of_the_expected_domain():
    assert rule_of(CHUNK, "T(NP)") is Atom("T", Constant("NP"))


def test_a_bound_name_is_a_variable_even_if_it_is_also_a_label():
    formula = rule_of(CHUNK, "T(NP) & forall NP in chunk: T(NP) & T(VP)")
    assert atoms_of(formula) == (
        Atom("T", Constant("NP")),
        Atom("T", Variable("NP")),
        Atom("T", Constant("VP")),
    )


def test_a_quoted_name_is_a_label_even_where_the_name_is_bound():
    formula = rule_of(CHUNK, 'forall NP in chunk: T("NP")')
    assert formula.body is Atom("T", Constant("NP"))


def test_a_bare_name_in_a_guard_is_a_label_of_the_other_side():
    formula = rule_of(CHUNK, "forall X in chunk where X != NP & VP = X: T(X)")
    assert str(formula) == 'forall X in chunk where X != "NP" & "VP" = X: T(X)'


def test_a_bare_name_in_a_function_is_a_label_of_its_domain():
    formula = rule_of(CHUNK + " function f(chunk): chunk", "T(f(NP))")
    assert str(formula) == 'T(f("NP"))'


def test_a_binding_ends_with_its_quantifier():
    assert places_of(f"{CHUNK}\nrule r: (forall X in chunk: T(X)) & T(X)") == [(2, 39)]


# Numbers

NUMBERS = "domain digit = 0..9 domain total = 0..18 predicate D(digit) predicate S(total)"


def test_a_smaller_numeric_domain_may_stand_for_a_larger_one():
    assert isinstance(rule_of(NUMBERS, "forall d in digit: S(d)"), Formula)


def test_a_larger_numeric_domain_may_not_stand_for_a_smaller_one():
    assert places_of(f"{NUMBERS}\nrule r: forall s in total: D(s)") == [(2, 30)]


def test_arithmetic_fits_every_numeric_domain():
    assert isinstance(
        rule_of(NUMBERS, "forall a, b in digit: S(a + b) & D((a + b) mod 10)"), Formula
    )


def test_sequence_positions_take_integers_and_arithmetic():
    assert isinstance(
        rule_of("domain p sequence predicate P(p)", "P(0) & forall i in p where i > 0: P(i - 1)"),
        Formula,
    )


@pytest.mark.parametrize("guard", ["d = s", "s = d", "d < s", "s >= d"])
def test_numbers_of_different_domains_can_be_compared_in_either_order(guard):
    assert isinstance(
        rule_of(NUMBERS, f"forall d in digit, s in total where {guard}: S(s)"), Formula
    )


def test_one_sequence_is_not_another():
    text = "domain p sequence domain q sequence predicate P(p)\nrule r: forall i in q: P(i)"
    assert places_of(text) == [(2, 26)]


def test_a_position_is_not_a_digit():
    text = "domain p sequence domain d = 0..9 predicate P(d)\nrule r: forall i in p: P(i)"
    assert places_of(text) == [(2, 26)]


@pytest.mark.parametrize("declared", ["domain anything", "domain integers sequence"])
def test_no_domain_name_switches_checking_off(declared):
    name = declared.split()[1]
    text = f"{declared} domain p sequence predicate P(p)\nrule r: forall i in {name}: P(i)"
    assert len(problems_of(text)) == 1


# Problems

DECLARED = (
    "domain chunk = NP, VP domain digit = 0..9 domain image domain tag = begin_np, O\n"
    "function f(chunk): tag predicate Tag(chunk, tag) predicate Big(digit) predicate Rain\n"
)

WRONG_RULES = [
    ("Bgi(3)", 9, "predicate `Bgi` is not declared. Did you mean `Big`?"),
    ("Rain & Tag(NP)", 16, "predicate `Tag` takes 2 arguments (chunk, tag), got 1."),
    ("Rain(NP)", 9, "predicate `Rain` takes 0 arguments (nothing), got 1."),
    ("Big", 9, "predicate `Big` takes 1 arguments (digit), got 0."),
    ("forall X in chunk: Big(X)", 32, "`X` is in domain `chunk` (NP, VP), not in `digit`"),
    ("forall X in chunk: Tag(X, X)", 35, "`X` is in domain `chunk` (NP, VP), not in `tag`"),
    ("forall X in chunk: Tag(f(X), O)", 32, "`f(X)` is in domain `tag` (begin_np, O), not in"),
    ("Tag(NP, f(Vp))", 19, "no label of domain `chunk` (NP, VP). Did you mean `VP`?"),
    ("Tag(NP, Q)", 17, "`Q` is bound by no quantifier and is no label of domain `tag`"),
    ('Tag("XP", O)', 13, '"XP" is no label of domain `chunk` (NP, VP).'),
    ("Big(10)", 13, "10 is no label of domain `digit` (0, 1, 2, 3, 4, 5, …)."),
    ("Tag(3, O)", 13, "3 is no label of domain `chunk`"),
    ("Big(n)", 13, "`n` is bound by no quantifier"),
    ("forall X in chnk: Rain", 21, "domain `chnk` is not declared. Did you mean `chunk`?"),
    ("Tag(NP, g(NP))", 17, "function `g` is not declared."),
    ("Tag(NP, f(NP, VP))", 17, "function `f` takes 1 arguments (chunk), got 2."),
    (
        "forall m in image, X in chunk where m < X: Rain",
        49,
        "`X` is in domain `chunk` (NP, VP), not in",
    ),
    ("forall X in chunk where X = O: Rain", 37, "`O` is bound by no quantifier and is no label"),
    ("forall X in chunk, d in digit where X = d: Rain", 49, "`d` is in domain `digit`"),
    ("forall X in chunk: Big(X + 1)", 32, "`X` is in domain `chunk` (NP, VP), not in"),
    ("forall d in digit: Big(d mod 0)", 34, "the right-hand side of `mod` is zero."),
    ("forall d, d in digit: Big(d)", 19, "variable `d` is bound twice"),
    ("forall m in image: Big(m)", 32, "`m` is in domain `image` (open), not in `digit`"),
    ("Rain ==> Rain", 15, "Did you mean `->`?"),
    ("Rain & (Rain", 16, "`(` is never closed."),
    ("Rain &", 15, "expected a formula, got the end."),
    ("Big(99999999999999999999)", 13, "at most 64 bits"),
    (
        'Big("3")',
        13,
        '(0, 1, 2, 3, 4, 5, …). "3" is text, and the label 3 is a number.',
    ),
]


@pytest.mark.parametrize(
    ("rule", "column", "message"), WRONG_RULES, ids=[r for r, *_ in WRONG_RULES]
)
def test_a_wrong_rule_is_reported_at_its_place(rule, column, message):
    found = problems_of(f"{DECLARED}rule r: {rule}")
    assert [(line, at) for line, at, _ in found] == [(3, column)]
    assert message in found[0][2]


WRONG_DECLARATIONS = [
    ("domain d\ndomain d = 1", 2, 8, "domain `d` is declared twice."),
    ("predicate P\npredicate P", 2, 11, "predicate `P` is declared twice."),
    ("domain d function f(d): d\nfunction f(d): d", 2, 10, "function `f` is declared twice."),
    ("rule r: true\nrule r: true", 2, 6, "rule `r` is declared twice."),
    ("predicate P facts f: P\nfacts f: P", 2, 7, "facts `f` is declared twice."),
    ("predicate P facts f: P\nrule f: P", 2, 6, "rule `f` is declared twice."),
    ("domain digit predicate P(digit,\n digti)", 2, 2, "Did you mean `digit`?"),
    ("domain d function f(d):\ne", 2, 1, "domain `e` is not declared."),
    ("domain d function f(e): d", 1, 21, "domain `e` is not declared."),
    ("predicate Digit facts f:\n Digti", 2, 2, "`Digti` is not declared. Did you mean `Digit`?"),
    ("domain d = a, b,\n a", 2, 2, 'label "a" is listed twice.'),
    ("domain d = 9..0", 1, 12, "the range 9..0 runs backwards."),
    ("domain d = a..z", 1, 12, "a range `first..last` runs between integers."),
    ("domain d = 1, 2 function f(d): d =\n1: 1", 1, 26, "function `f` has no value for 2."),
    ("domain d = 1, 2 function f(d): d =\n1: 1, 2: 2, 1: 2", 2, 13, "argument is listed twice."),
    ("domain d = 1 function f(d): d =\n1: 3", 2, 4, "3 is no label of domain `d` (1)."),
    ("domain d = 1 function f(d): d =\n1: 1, 3: 1", 2, 7, "3 is no label of domain `d` (1)."),
    ('domain d = "1" function f(d): d =\n1: "1"', 2, 1, 'a number, and the label "1" is text.'),
    ("rule r weight -1: true", 1, 15, "got `-`."),
    ("rule r weight: true", 1, 14, "expected a number or an integer, got `:`."),
    ("rule : true", 1, 6, "expected a name, got `:`."),
    ("predicate P()", 1, 13, "expected a name, got `)`."),
    ("domain d =", 1, 11, "got the end."),
    ("predicate P(rule)", 1, 12, "`P(` is never closed."),
    ("this is no declaration", 1, 1, "expected a declaration"),
    ('domain d = "a', 1, 12, "never closed on its line"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "line", "column", "message"), WRONG_DECLARATIONS)
def test_a_wrong_declaration_is_reported_at_its_place(text, line, column, message):
    found = problems_of(text)
    assert found[0][:2] == (line, column)
    assert message in found[0][2]


def test_a_misspelt_first_word_is_reported_once_with_the_nearest():
    for text in ("domains d = 0..9", "rules: true", "Rule r: true", "predicat P"):
        found = problems_of(text)
        assert len(found) == 1
        assert "Did you mean" in found[0][2]


def test_a_misspelt_word_between_declarations_gets_a_suggestion():
    found = problems_of("domain d = 0..9\npredicat P(d)")
    assert found[0][:2] == (2, 1)
    assert "Did you mean `predicate`?" in found[0][2]


def test_a_wrong_label_in_a_table_is_pointed_at_among_several_arguments():
    text = "domain b = x, y function f(b, b): b =\n(x, x): x, (x, z): y, (y, x): x, (y, y): y"
    assert places_of(text) == [(2, 16)]


def test_a_wrong_label_in_a_table_gets_the_nearest():
    found = problems_of("domain t = begin, inside\nfunction f(t): t = begin: insid, inside: begin")
    assert "Did you mean `inside`?" in found[0][2]


def test_an_entry_with_the_wrong_number_of_arguments_is_reported():
    found = problems_of("domain d = 1, 2\nfunction f(d): d = 1: 1, 2: 2, (1, 2): 1")
    assert [(line, column) for line, column, _ in found] == [(2, 33)]
    assert "takes 1 arguments, got 2" in found[0][2]


def test_values_that_a_table_lacks_are_listed():
    assert "no value for 1, 2, 3" in problems_of("domain d = 0..9 function f(d): d = 0: 0")[0][2]


def test_an_open_function_needs_no_table():
    assert loads("domain d = 1, 2 function f(d): d").functions["f"].table is None


MANY_WRONG = """\
domain chunk = NP, VP, NP
domain chunk = A
function f(chunk): tag
predicate Tag(chunk, tga)
facts data: Tga
rule one: Tag(NP) & Tagg(NP)
rule two weight 2: Tag(
rule one: forall X in chunks: Tag(X, Y
  ) & Rain & true &
rule three: Rain -> Big(9)
domain tag = O
"""


def test_all_problems_are_reported_together_in_order():
    assert places_of(MANY_WRONG) == [
        (1, 24), (2, 8), (4, 22), (5, 13), (6, 11), (6, 21), (7, 23), (9, 20), (10, 13), (10, 21)
    ]  # fmt: skip


def test_a_broken_declaration_does_not_hide_those_after_it():
    found = problems_of("rule a: (P\nrule b: Q &\nrule c: R R\npredicate P predicate Q predicate R")
    assert [line for line, *_ in found] == [1, 2, 3]


@pytest.mark.parametrize(
    "declarations",
    [
        "domain pet = cat dog",
        "predicate Is(pet",
        "function kind(pet): pet = cat",
        "quantity Age(pet scale 1",
        "quantity Size scale scale",
    ],
)
def test_a_declaration_that_cannot_be_read_is_reported_once(declarations):
    others = {
        "domain": "domain pet = cat, dog\n",
        "predicate": "predicate Is(pet)\n",
        "function": "function kind(pet): pet = cat: cat, dog: dog\n",
        "quantity": "quantity Age(pet) scale 1\nquantity Size scale 1\n",
    }
    others.pop(declarations.split()[0])
    rules = (
        "\nfacts f: Is\nrule a: forall x in pet: Is(x) -> Is(kind(x))\n"
        "rule b: Is(cat) & Age(dog) > 3\nrule c: Size > 2\n"
    )
    if declarations.startswith("quantity"):
        rules = rules.replace("& Age(dog) > 3", "") if "Size" in declarations else rules
        others["quantity"] = "quantity Size scale 1\n" if "Age" in declarations else ""
    text = "".join(others.values()) + declarations + rules
    assert len(problems_of(text)) == 1, problems_of(text)


def test_the_message_shows_every_place_with_a_caret():
    with pytest.raises(KnowledgeError) as caught:
        loads("predicate P\r\nrule a:\tQ\nrule b: P & R", source="rules.rsd")
    assert str(caught.value).split("\n") == [
        "rules.rsd: 2 problems",
        "line 2, column 9: predicate `Q` is not declared.",
        "    rule a: Q",
        "            ^",
        "line 3, column 13: predicate `R` is not declared.",
        "    rule b: P & R",
        "                ^",
    ]


def test_one_problem_is_counted_in_the_singular():
    with pytest.raises(KnowledgeError, match=r"^rule file: 1 problem\n"):
        loads("rule r: P")


# Files


def test_a_file_is_loaded_by_path_with_or_without_a_byte_order_mark(tmp_path):
    for encoding in ("utf-8", "utf-8-sig"):
        path = tmp_path / f"{encoding}.rsd"
        path.write_text(CHUNKS, encoding=encoding)
        assert load(path) == load(str(path)) == loads(CHUNKS)


def test_a_wrong_file_is_named_in_the_error(tmp_path):
    path = tmp_path / "wrong.rsd"
    path.write_text("rule r: P")
    with pytest.raises(KnowledgeError, match=r"wrong\.rsd: 1 problem"):
        load(path)


def test_a_missing_file_a_folder_and_a_binary_file_are_clear_errors(tmp_path):
    binary = tmp_path / "binary.rsd"
    binary.write_bytes(b"rule r: \xff")
    for path, message in [
        (tmp_path / "none.rsd", "No such file"),
        (tmp_path, "directory"),
        (binary, r"not UTF-8 text \(byte 8\)"),
    ]:
        with pytest.raises(ResiduumError, match=message):
            load(path)


@pytest.mark.parametrize("given", [None, 3, b"rule r: true", ["rule r: true"]])
def test_what_is_neither_text_nor_a_path_is_a_clear_error(given):
    with pytest.raises(ResiduumError, match="expected the text of a rule file, got "):
        loads(given)
    with pytest.raises(ResiduumError, match="expected the path of a rule file, got "):
        load(given)


def test_an_impossible_path_is_a_clear_error():
    with pytest.raises(ResiduumError):
        load("no\0file.rsd")


# Knowledge is data


def test_knowledge_cannot_be_changed():
    knowledge = loads(CHUNKS)
    with pytest.raises(dataclasses.FrozenInstanceError):
        knowledge.rules = {}
    with pytest.raises(TypeError):
        knowledge.rules["new"] = None
    with pytest.raises(TypeError):
        knowledge.functions["begin"].table["NP",] = "O"
    with pytest.raises(dataclasses.FrozenInstanceError):
        knowledge.rules["no_jump"].weight = 2.0


def test_equal_text_gives_equal_knowledge():
    assert loads(CHUNKS) == loads(CHUNKS)
    assert loads(CHUNKS) != loads(DIGITS)


def test_knowledge_survives_pickling():
    for text in (CHUNKS, DIGITS):
        assert pickle.loads(pickle.dumps(loads(text))) == loads(text)


def test_a_domain_knows_whether_its_members_are_numbers():
    domains = loads("domain a = 0..9 domain b sequence domain c domain d = 1, x").domains
    assert [name for name, domain in domains.items() if domain.is_numeric] == ["a", "b"]


# Quantities

QUANTITIES = """
domain house = 0..3
predicate Big(house) independent
quantity Price(house) scale 2.5 ramp
quantity Rooms(house) scale 0
quantity Cap scale 1e3 logistic
"""


def test_quantities_are_loaded_with_their_scales():
    knowledge = loads(QUANTITIES + "rule r: forall h in house: -Price(h) < 3.5 * Cap -> Big(h)")
    assert dict(knowledge.quantities) == {
        "Price": Quantity(2.5, "ramp", ("house",)),
        "Rooms": Quantity(0, "logistic", ("house",)),
        "Cap": Quantity(1000, "logistic", ()),
    }
    formula = knowledge.rules["r"].formula
    assert str(formula) == "forall h in house: 0 - Price(h) < 3.5 * Cap -> Big(h)"
    assert parse(str(formula)) is formula
    assert pickle.loads(pickle.dumps(knowledge)) == knowledge


def test_the_words_of_quantities_remain_names():
    knowledge = loads("""
        domain scale = ramp, logistic
        predicate abs(scale)
        quantity ramp(scale) scale 1 ramp
        rule logistic: forall scale in scale: abs(scale) -> ramp(scale) > 3
    """)
    assert knowledge.quantities["ramp"].smoothing == "ramp"


@pytest.mark.parametrize(
    ("declared", "message"),
    [("quantity Age", "quantity `Age` has no scale."),
     ("quantity Age scale 1e40", "expected a scale from 1e-30 to 1e+30"),
     ("quantity Age scale 1e999", "expected a scale from 1e-30 to 1e+30"),
     ("quantity Age scale -1", "expected a number or an integer, got `-`."),
     ("quantity Age scale 1 step", "expected `logistic` or `ramp` or the end, got `step`."),
     ("quantity Age(person) scale 1", "domain `person` is not declared."),
     ("quantity Big scale 1", "quantity `Big` is declared twice."),
     ("rule r: Cap > 3 & Price > 3", "quantity `Price` takes 1 arguments (house), got 0."),
     ("rule r: forall h in house: Price(h) < Top", "is no quantity."),
     ("rule r: forall h in house: Price(h) = \"a\"", '"a" is no label of domain'),
     ("rule r: forall h in house: Big(Price(h))", "in domain `numbers with decimals`"),
     ("rule r: forall h in house: Big(2.5)", "`2.5` is in domain `numbers with decimals`"),
     ("rule r: forall h in house where Price(h) > 3: Big(h)", "a guard compares members"),
     ("rule r: forall h, g in house: h != g -> Big(h)", "this compares no quantity."),
     ("rule r: Big = Big", "this compares no quantity."),
     ("rule r: Cap mod 2 < 1", "`mod` is for integers."),
     ("rule r: forall h in house: Big(h / 2)", "`/` divides quantities."),
     ("rule r: Cap / 0 < 1", "the right-hand side of `/` is zero."),
     ("rule r: Cap", "predicate `Cap` is not declared.")],
)  # fmt: skip
def test_mistakes_with_quantities_are_reported(declared, message):
    found = problems_of(f"{QUANTITIES}{declared}")
    assert [line for line, _, _ in found] == [7]
    assert message in found[0][2]
