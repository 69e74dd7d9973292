"""Settings of the study are found by corpus, relaxation and share, and make sense."""

import pytest

from residuum.errors import ResiduumError
from residuum.study import common_settings as files
from residuum.study.chunking import settings
from residuum.study.chunking.settings import plan, preset
from residuum.study.common_settings import PAPER, of_length

TABLE = {
    "sample": {
        "all": {"hidden": 20, "epochs": 10, "learning_rate": 0.5},
        "r-product": {"0.1": {"weight": 0.1}, "1": {"weight": 0.2, "batch": 16}},
        "s-godel": {"1": {"warm_up": 3, "learning_rate": 0.25}},
    }
}


@pytest.fixture
def _made_up(monkeypatch):
    monkeypatch.setattr(settings, "_table", lambda: TABLE)


def chosen(relaxation="r-product", fraction=1.0, **others):
    return preset("sample", relaxation, fraction=fraction, constraints=True, seed=3, **others)


@pytest.mark.usefixtures("_made_up")
def test_settings_of_a_relaxation_go_before_those_of_all_and_what_is_given_before_both():
    run = chosen("s-godel")
    assert (run.relaxation, run.corpus, run.seed) == ("s-godel", "sample", 3)
    assert (run.hidden, run.epochs, run.warm_up, run.learning_rate) == (20, 10, 3, 0.25)
    assert chosen("s-godel", learning_rate=0.7).learning_rate == 0.7


@pytest.mark.usefixtures("_made_up")
@pytest.mark.parametrize(("fraction", "weight"), [(0.01, 0.1), (0.3, 0.1), (0.35, 0.2), (1.0, 0.2)])
def test_other_shares_have_the_settings_of_the_nearest_in_proportion(fraction, weight):
    assert chosen(fraction=fraction).weight == weight
    assert chosen("s-yager(2)", fraction=fraction).weight == weight  # those of r-product


@pytest.mark.usefixtures("_made_up")
def test_a_corpus_without_chosen_settings_is_refused():
    with pytest.raises(ResiduumError, match="the corpus 'brown', only for sample"):
        preset("brown", "r-product", fraction=1.0, constraints=True, seed=0)


@pytest.mark.usefixtures("_made_up")
def test_a_warm_up_is_as_long_in_proportion():
    run = chosen("s-godel")
    assert (of_length(run, 30).epochs, of_length(run, 30).warm_up) == (30, 9)
    assert of_length(run, 1).warm_up == 1
    assert of_length(run, None) == run


def test_a_plan_has_every_run_once_and_text_without_labels_only_for_rules():
    found = plan("sample", [], [0.5, 1.0], [False, True], [0, 20], unlabelled=True)
    assert len(found) == len(set(found)) == 2 * 2 * 4 * 2
    assert {run.relaxation for run in found} == set(PAPER)
    assert {(run.fraction, run.constraints) for run in found if run.unlabelled} == {(0.5, True)}


def test_texts_in_the_place_of_conll2000_have_its_settings():
    known = {"fraction": 0.1, "constraints": True, "seed": 0}
    own, published = (
        preset(name, "r-product", **known) for name in ("conll2000-0123", "conll2000")
    )
    assert own.corpus == "conll2000-0123"
    assert (own.hidden, own.weight) == (published.hidden, published.weight)


def test_the_chosen_settings_are_valid():
    for corpus, table in files.read_data("chunking_settings.json").items():
        assert {*PAPER, "all"} <= table.keys()
        for relaxation in table.keys() - {"all"}:
            for fraction in (0.1, 1.0):
                run = preset(corpus, relaxation, fraction=fraction, constraints=True, seed=0)
                assert run.learning_rate > 0
                assert run.weight > 0
                assert run.judge_every <= run.epochs
                assert (run.warm_up > 0) == (relaxation == "s-godel")
