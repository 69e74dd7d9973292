"""The arguments of a call, which rules, knowledge, theories and circuits share."""

import inspect
import pydoc

import pytest
import torch

import residuum as rs
from residuum.errors import GroundingError

TENSORS = ["self", "tensors"]
OPTIONS = ["lengths", "observed", "named"]
SHOWN = {
    rs.CompiledRule: {
        "forward": [], "truth": [], "satisfied": [], "coverage": [], "each": [], "explain": [],
        "metrics": [], "diagnose": [], "violations": ["top"], "probability": ["rules"],
        "marginals": ["rules"], "entropy": ["rules"],
    },
    rs.CompiledKnowledge: {
        "forward": [], "penalties": [], "truth": [], "satisfied": [], "coverage": [],
        "explain": [], "metrics": [], "diagnose": [], "violations": ["top"], "entropy": ["rules"],
    },
    rs.Theory: {
        "satisfied": [], "metrics": [], "diagnose": [], "violations": ["top"],
        "marginals": ["rules"],
    },
}  # fmt: skip
METHODS = [(owner, name, own) for owner, names in SHOWN.items() for name, own in names.items()]


@pytest.mark.parametrize(("owner", "name", "own"), METHODS)
def test_help_shows_the_arguments_of_a_method_and_its_docstring(owner, name, own):
    method = getattr(owner, name)
    parameters = inspect.signature(method).parameters
    assert list(parameters) == [*TENSORS, *own, *OPTIONS]
    assert [one.kind for one in parameters.values()][:2] == [inspect.Parameter.POSITIONAL_ONLY] * 2
    assert parameters["named"].kind is inspect.Parameter.VAR_KEYWORD
    shown = pydoc.plain(pydoc.render_doc(method))
    assert "lengths" in shown
    assert f"{name}(self, " in shown
    assert method.__doc__.splitlines()[0] in shown


def test_tensors_by_name_and_by_keyword_are_the_same_and_may_be_mixed():
    rule = rs.compile("P & Q -> R", "lukasiewicz", inputs="probs")
    p, q, r = (torch.tensor([one]) for one in (1.0, 0.75, 0.5))
    for asked in (rule, rule.truth, rule.coverage, rule.probability):
        found = asked({"P": p, "Q": q, "R": r})
        assert torch.equal(asked(P=p, Q=q, R=r), found)
        assert torch.equal(asked({"P": p}, Q=q, R=r), found)
        assert torch.equal(asked({"P": r, "Q": q}, P=p, R=r), found)
    assert rule.truth(P=p, Q=q, R=r) == 0.75


def test_predicates_may_have_the_names_of_what_python_passes():
    rule = rs.compile("self -> tensors", "lukasiewicz", inputs="probs", reduction="none")
    given = {"self": torch.tensor([1.0]), "tensors": torch.tensor([0.25])}
    assert rule(given) == 0.75  # by keyword PyTorch needs the name itself
    assert rule.truth(**given) == 0.25
    assert not rule.satisfied(**given)
    [found] = rule.violations(**given)
    assert found.degree == 0.25


@pytest.mark.parametrize("question", ["truth", "violations", "probability", "explain"])
def test_tensors_that_are_not_given_by_name_are_refused_in_words(question):
    rule = rs.compile("P -> Q")
    with pytest.raises(GroundingError, match="expected tensors by name, got Tensor"):
        getattr(rule, question)(torch.zeros(2))


def test_explain_without_tensors_asks_about_shapes_alone():
    rule = rs.compile("P -> Q")
    assert rule.explain() == rule.explain({})
    with pytest.raises(GroundingError, match="no tensor is given for `Q`"):
        rule.explain(P=torch.zeros(2))


def test_a_theory_takes_tensors_in_a_mapping_and_by_keyword():
    knowledge = rs.loads("""
        domain image
        predicate Cat(image) independent
        predicate Dog(image) independent
        rule apart: forall i in image: ~(Cat(i) & Dog(i))
    """)
    theory = rs.Theory(knowledge, Cat=torch.nn.Linear(2, 1), Dog=torch.nn.Linear(2, 1))
    image = torch.tensor([[3.0, -1.0], [0.5, 2.0]])
    assert theory.metrics({"image": image}) == theory.metrics(image=image)
    assert torch.equal(
        theory.satisfied({"image": image})["apart"], theory.satisfied(image=image)["apart"]
    )
    with pytest.raises(GroundingError, match=r"expected tensors by name.*got Tensor"):
        theory.satisfied(image)
