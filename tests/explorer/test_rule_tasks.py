"""What the page is told of rules and predictions: compared with nested loops and differences."""

import base64
import io
import itertools
import json
import math
import zipfile

import numpy as np
import pytest

from residuum.errors import ResiduumError

pytest.importorskip("torch", reason="PyTorch is not installed")

from residuum.explorer.advising import give_advice
from residuum.explorer.dropped_files import read_dropped
from residuum.explorer.limits import MOST_OUTPUTS, MOST_SAMPLE
from residuum.explorer.predictions import decode_predictions, evaluate_predictions
from residuum.explorer.rule_files import check_rules, read_rules

RULES = """
domain digit = 0..3
predicate Now(digit)
predicate Next(digit)
predicate Even
rule next weight 2: forall d in digit where d < 3: Now(d) -> Next(d + 1)
rule even: Now(0) | Now(2) -> Even
"""
NOW, NEXT, EVEN = [0.1, 0.6, 0.2, 0.1], [0.3, 0.1, 0.15, 0.45], 0.2
HAND = {"Now": [NOW], "Next": [NEXT], "Even": [EVEN]}
TAGS = """
domain i sequence
domain tag = B, I, O
predicate T(i, tag)
rule jump: forall x in i: T(x, O) -> ~T(x + 1, I)
"""
OPEN = """
domain digit = 0..2
domain image
domain pair
function left(pair): image
predicate D(image, digit)
predicate S(pair, digit)
rule same: forall p in pair, a in digit: D(left(p), a) -> S(p, a)
"""


def asked(text=RULES, **given):
    usual = {"relaxation": "s-product", "example": 0, "rate": 1, "rule": "", "seed": 0,
             "examples": 4, "draw": "confident"}  # fmt: skip
    return {"text": text, **usual, **given}


def softmax(logits):
    sizes = [math.exp(one) for one in logits]
    return [one / sum(sizes) for one in sizes]


def loss(logits):
    """The weighted penalties of RULES under S-Product, by nested loops."""
    now, following = softmax(logits[:4]), softmax(logits[4:8])
    even = 1 / (1 + math.exp(-logits[8]))
    total = -2 * sum(math.log(1 - now[d] * (1 - following[d + 1])) for d in range(3))
    either = 1 - (1 - now[0]) * (1 - now[2])
    return total - math.log(1 - either * (1 - even))


LOGITS = [*map(math.log, NOW + NEXT), math.log(EVEN / (1 - EVEN))]


def derivative(function, at, step=1e-6):
    sides = [[*LOGITS[:at], LOGITS[at] + side * step, *LOGITS[at + 1 :]] for side in (1, -1)]
    return (function(sides[0]) - function(sides[1])) / (2 * step)


def test_mistakes_of_rules_are_all_told_with_their_places():
    found = read_rules({"text": "rule a: P(q)\nrule b: forall x in y P"})
    assert [(one["line"], one["column"]) for one in found["problems"]] == [(1, 9), (2, 23)]
    assert found["shown"].count("^") == 2


def test_declarations_are_told():
    found = read_rules({"text": RULES + "domain many = 1..100 domain open function f(open): many"})
    assert [one["name"] for one in found["rules"]] == ["next", "even"]
    assert found["rules"][0]["weight"] == 2
    assert [one["kind"] for one in found["predicates"]] == ["softmax", "softmax", "sigmoid"]
    assert found["domains"][1]["members"].endswith("12 and 88 more")
    assert found["functions"][0]["values"] is None


def test_contradictions_and_rules_that_follow_are_told():
    text = "predicate P predicate Q rule a: P rule b: P -> Q rule c: Q rule d: ~Q"
    found = check_rules({"text": text})
    assert found["contradictions"]
    followed = check_rules({"text": text.removesuffix("rule d: ~Q")})
    assert {"rule": "c", "by": ["a", "b"]} in followed["entailed"]


def test_penalties_and_gradients_are_those_of_nested_loops():
    found = evaluate_predictions(asked(predictions=HAND))
    following, even = found["rules"]  # of which the first has the weight 2
    assert 2 * following["before"] + even["before"] == pytest.approx(loss(LOGITS))
    told = [g for output in found["outputs"] for g in output["gradient"]]
    assert told == pytest.approx([derivative(loss, at) for at in range(9)], abs=1e-6)
    stepped = [one - g for one, g in zip(LOGITS, told, strict=True)]
    assert 2 * following["after"] + even["after"] == pytest.approx(loss(stepped))
    after = [output["after"] for output in found["outputs"]]
    assert after[0][0] == pytest.approx(softmax(stepped[:4]), abs=1e-6)
    assert after[2][0] == pytest.approx(1 / (1 + math.exp(-stepped[8])), abs=1e-6)
    assert [rule["groundings"] for rule in found["rules"]] == [3, 1]


def test_one_rule_pulls_alone_if_it_is_chosen():
    found = evaluate_predictions(asked(predictions=HAND, rule="even"))
    following = next(one for one in found["outputs"] if one["name"] == "Next")
    assert set(following["gradient"]) == {0}


def test_violations_are_the_groundings_that_the_predictions_break_and_each_pulls_by_itself():
    found = evaluate_predictions(asked(predictions=HAND))
    broken = [(rule["name"], one["text"]) for rule in found["rules"] for one in rule["violations"]]
    now, following = np.argmax(NOW), np.argmax(NEXT)
    expected = [f"Now({d}) → Next({d + 1})" for d in range(3) if d == now and following != d + 1]
    assert broken == [("next", text) for text in expected]

    def own(logits):
        return -math.log(1 - softmax(logits[:4])[1] * (1 - softmax(logits[4:8])[2]))

    pulls = found["rules"][0]["violations"][0]["pulls"]
    names = [f"Now {d}" for d in range(4)] + [f"Next {d}" for d in range(4)]
    expected = {name: derivative(own, at) for at, name in enumerate(names)}
    for one in pulls:
        assert one["gradient"] == pytest.approx(expected[one["output"]], abs=1e-6)
    strongest = sorted(map(abs, expected.values()), reverse=True)
    assert [abs(one["gradient"]) for one in pulls] == pytest.approx(strongest[:6], abs=1e-6)


@pytest.mark.parametrize("text", [TAGS, OPEN])
def test_sequences_and_open_domains_are_drawn_and_evaluated(text):
    found = evaluate_predictions(asked(text, seed=1, relaxation="s-product"))
    violations = []
    for example in range(4):
        given = asked(text, predictions=found["predictions"], example=example)
        violations += evaluate_predictions(given)["rules"][0]["violations"]
    assert violations
    assert all(one["pulls"] for one in violations)
    again = evaluate_predictions(asked(text, predictions=found["predictions"]))
    for name, predictions in found["predictions"].items():
        np.testing.assert_allclose(again["predictions"][name], predictions, atol=1e-6)


def test_the_prediction_that_obeys_is_the_likeliest_of_all_that_do():
    found = {one["name"]: one for one in decode_predictions(asked(predictions=HAND))["outputs"]}
    free = {name: one["free"][0] for name, one in found.items()}
    assert free == {"Now": "1", "Next": "3", "Even": "false"}
    best = max(
        (NOW[n] * NEXT[m] * (EVEN if even else 1 - EVEN), n, m, even)
        for n, m, even in itertools.product(range(4), range(4), [False, True])
        if (n == 3 or m == n + 1) and (n not in (0, 2) or even)
    )
    told = [found[name]["obeying"][0] for name in ("Now", "Next", "Even")]
    assert told == [str(best[1]), str(best[2]), str(best[3]).lower()]


def test_predictions_that_are_decoded_say_what_they_are_about():
    text = (
        "domain two = a, b domain place sequence predicate Near(two, two) independent "
        "predicate Is(two, two) predicate Tag(place, two) predicate Wet "
        "rule r: Near(a, b) & Is(b, b) & Wet rule s: forall i in place: Tag(i, a)"
    )
    found = {one["name"]: one for one in decode_predictions(asked(text))["outputs"]}
    assert found["Near"]["about"] == ["a a", "a b", "b a", "b b"]
    assert found["Near"]["obeying"][1] == "true"
    assert (found["Is"]["about"], found["Is"]["obeying"][1]) == (["a", "b"], "b")
    assert found["Tag"]["about"][:2] == ["0", "1"]
    assert set(found["Tag"]["obeying"]) <= {"a", "–"}
    assert found["Wet"]["about"] == [""]
    assert all(len(one["about"]) == len(one["free"]) for one in found.values())


@pytest.mark.parametrize(
    "predictions",
    [
        {}, {"Now": [NOW]}, HAND | {"Now": [[0.5, 0.5]]}, HAND | {"Now": NOW}, HAND | {"Now": [[]]},
        HAND | {"Now": "x"}, HAND | {"Now": [[1e999] * 4]}, HAND | {"Now": [[-0.1, 1, 0, 0]]},
        HAND | {"Now": [[float("nan")] * 4]}, HAND | {"Now": [NOW, NOW]}, HAND | {"Even": [[EVEN]]},
        HAND | {"Now": [NOW] * 5000}, HAND | {"Now": [[None] * 4]}, HAND | {"Now": {"a": 1}}, [], 3,
    ],
)  # fmt: skip
def test_predictions_that_do_not_fit_are_refused(predictions):
    with pytest.raises(ResiduumError, match=r"expected|of size 4"):
        evaluate_predictions(asked(predictions=predictions))


def test_rules_that_are_too_large_are_refused():
    text = "domain d = 1..100000 predicate P(d) rule r: forall x in d: P(x)"
    with pytest.raises(ResiduumError, match=f"at most {MOST_OUTPUTS:,} outputs"):
        evaluate_predictions(asked(text))
    many = (
        "domain d = 1..500 predicate P(d) rule r: forall x, y, z in d: P(x) & P(y) -> P(z) | P(x)"
    )
    with pytest.raises(ResiduumError, match="groundings"):
        evaluate_predictions(asked(many))


def dropped(content, text=RULES, form="probs"):
    return {"text": text, "form": form, "content": base64.b64encode(content).decode()}


def archive(**arrays):
    file = io.BytesIO()
    np.savez(file, **{name: np.asarray(array) for name, array in arrays.items()})
    return file.getvalue()


def test_a_dropped_file_is_read_as_it_was_written():
    found = read_dropped(dropped(archive(**HAND)))
    assert found["predictions"]["Now"] == [pytest.approx(NOW)]
    assert found["predictions"]["Even"] == pytest.approx([EVEN])
    assert (found["examples"], found["total"], found["lengths"]) == (1, 1, None)
    logits = {"Now": [LOGITS[:4]] * 2000, "Next": [LOGITS[4:8]] * 2000, "Even": [LOGITS[8]] * 2000}
    found = read_dropped(dropped(archive(**logits), form="logits"))
    assert (found["examples"], found["total"]) == (64, 2000)
    assert found["predictions"]["Next"][63] == pytest.approx(NEXT, abs=1e-6)


def test_lengths_of_a_dropped_file_hold():
    tags = np.full((2, 3, 3), 1 / 3)
    found = read_dropped(dropped(archive(T=tags, lengths=[3, 1]), TAGS))
    assert found["lengths"] == [3, 1]
    given = {"predictions": found["predictions"], "lengths": found["lengths"]}
    told = [
        evaluate_predictions(asked(TAGS, example=n, **given))["rules"][0]["groundings"]
        for n in (0, 1)
    ]
    assert told == [2, 0]


def bomb():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as zipped:
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            header, {"descr": "<f8", "fortran_order": False, "shape": (2**27, 4)}
        )
        zipped.writestr("Now.npy", header.getvalue() + bytes(8 * 2**20))
    return file.getvalue()


def pickled():
    file = io.BytesIO()
    np.savez(file, Now=np.array([{"a": 1}], dtype=object), Next=[NEXT], Even=[EVEN])
    return file.getvalue()


@pytest.mark.parametrize("content", [b"", b"x", b"PK\x03\x04", bomb(), pickled()])
def test_hostile_files_are_refused(content):
    with pytest.raises(ResiduumError, match="expected"):
        read_dropped(dropped(content))


def test_content_that_is_too_large_or_not_base64_is_refused():
    with pytest.raises(ResiduumError, match="bytes"):
        read_dropped(dropped(bytes(MOST_SAMPLE + 1)))
    with pytest.raises(ResiduumError, match="base64"):
        read_dropped(dropped(b"") | {"content": "é"})


def test_the_advice_measures_each_rule_and_recommends():
    given = {"text": RULES, "relaxations": ["r-product", "s-godel"], "predictions": HAND}
    *parts, last = give_advice(given)
    assert [part["done"] for part in parts] == [*range(1, len(parts) + 1)]
    measured = [part["measured"] for part in parts if part["measured"]]
    assert [[one["rule"] for one in some] for some in measured] == [["next"] * 2, ["even"] * 2]
    assert [one["relaxation"] for one in measured[0]] == ["r-product", "s-godel"]
    assert measured[0][0]["sample"] == "predictions"
    assert last["recommended"] in (None, "r-product", "s-godel", "exact")
    json.dumps([*parts, last], allow_nan=False)
