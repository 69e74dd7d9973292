"""The chunking study at the command line: run, found again, tabulated, refused."""

import json
import subprocess
import sys
from typing import get_args

import pytest

from made_up_chunk_runs import run, runs
from residuum.results import Store, write_archive
from residuum.study.decisions import Status

SHORT = ("--seeds", "0", "--epochs", "1", "-r", "r-product")
TINY = (*SHORT, "--fraction", "0.2")


@pytest.fixture
def store(tmp_path):
    return tmp_path / "runs.sqlite"


@pytest.fixture(autouse=True)
def somewhere_else(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RESIDUUM_STORE", raising=False)


@pytest.fixture
def chunking(residuum, store):
    def command(*words):
        return residuum("study", "chunking", *words, "--store", str(store))

    return command


def test_runs_are_trained_once_and_found_again_in_both_decodings(chunking, store):
    code, out, err = chunking(*TINY, "--json")
    without, with_rules = json.loads(out)
    assert code == 0
    assert "sample: train 141 sentences, gold tags break no rule" in err
    assert "2 runs, 0 of them found" in err
    for found, constraints in ((without, False), (with_rules, True)):
        assert (found["relaxation"], found["fraction"], found["seed"]) == ("r-product", 0.2, 0)
        assert (found["constraints"], found["unlabelled"]) == (constraints, False)
        assert (found["decode"], found["epochs"]) == ("argmax", 1)
        assert found.keys() >= {
            "id",
            "f1",
            "violations",
            "soft_violations",
            "viterbi_f1",
            "seconds",
        }
        assert 0 <= found["violations"] <= 100
    code, out, err = chunking(*TINY, "--json", "--decode", "viterbi")
    assert "2 of them found" in err
    for before, after in zip((without, with_rules), json.loads(out), strict=True):
        assert (after["decode"], after["f1"]) == ("viterbi", before["viterbi_f1"])
        assert after["violations"] == before["viterbi_violations"] == 0
        assert after["argmax_f1"] == before["f1"]
        assert after["argmax_violations"] == before["violations"]
    code, out, _ = chunking(*TINY)
    lines = {line.split("  ")[1]: line.split() for line in out.splitlines() if "  " in line.strip()}
    assert code == 0
    assert f"{without['f1']:.2f}" in lines["r-product"]
    assert f"{with_rules['soft_violations']:.2f}" in lines["r-product + C"]
    assert "each word as it mostly is" in out
    with Store(store) as opened:
        assert len(list(opened.records("chunking"))) == 2


@pytest.mark.parametrize(
    ("flag", "constraints"), [("--constraints", True), ("--no-constraints", False)]
)
def test_runs_can_be_restricted_to_those_with_or_without_rules(chunking, flag, constraints):
    _, out, _ = chunking(*TINY, flag, "--json")
    [found] = json.loads(out)
    assert found["constraints"] is constraints


def test_quick_is_one_seed_of_the_papers_relaxations_with_rules_and_without():
    from residuum.cli.study.chunking import Wanted, _plan, _quick

    found = _plan(_quick(Wanted()), "sample", None)
    assert [(one.relaxation, one.constraints) for one in found] == [
        (name, constraints)
        for constraints in (False, True)
        for name in ("s-godel", "s-product", "r-product", "lukasiewicz-maxsat")
    ]
    assert {(one.seed, one.fraction, one.embeddings) for one in found} == {(0, 1.0, None)}


def test_without_options_conll2000_is_all_that_the_paper_has():
    from residuum.cli.study.chunking import Wanted, _plan

    found = _plan(Wanted(corpus="conll2000"), "conll2000", "100d-x")
    assert len(found) == 4 * 2 * 2 * 3
    assert {one.fraction for one in found} == {0.1, 1.0}
    assert {one.seed for one in found} == {0, 20, 50}
    weighted = _plan(Wanted(weight=0.5, unlabelled=True, fractions=[0.5]), "sample", None)
    assert {(one.weight, one.unlabelled) for one in weighted} == {(0.5, True), (0, False)}


BAD = "a DT I-NP\nb NN I-VP\n\n" * 20


@pytest.fixture
def own_text(tmp_path, monkeypatch):
    """A corpus of the user's whose gold tags break rules, and vectors for one of its words."""
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "train.txt").write_text(BAD)
    (folder / "test.txt").write_text("a DT B-NP\n\n")
    (folder / "vectors.txt").write_text("a 0.5 1 2\n")
    monkeypatch.setenv("RESIDUUM_DATA", str(folder))
    return folder


def test_gold_tags_that_break_rules_are_counted_at_the_start(chunking, own_text):
    words = ("--corpus", "conll2000", "--embeddings", str(own_text / "vectors.txt"))
    code, out, err = chunking(*SHORT, *words, "--fraction", "1", "--no-constraints", "--json")
    assert code == 0
    assert "gold tags break inside_then_inside 20 times, start 20 times; test 1 sent" in err
    [found] = json.loads(out)
    assert found["corpus"].startswith("conll2000-")
    assert found["embeddings"].startswith("3d-")
    assert found["unknown_words"] == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-r", "r-produkt"), "r-produkt"),
        (("--fraction", "1.5"), "fraction: expected a share of the sentences"),
        (("--fraction", "0"), "fraction: expected a share of the sentences"),
        (("--fraction", "0.01"), "too few"),
        (("--seeds", "x"), "expected whole numbers such as 0,20,50, got 'x'"),
        (("--unlabelled", "--no-constraints"), "--unlabelled is for rules"),
        (("--unlabelled",), "with all sentences in use none is without labels"),
        (("--quick", "--corpus", "conll2000"), "--quick is for the sample"),
        (("--quick", "--embeddings", "x.txt"), "--quick is for the sample"),
        (("--embeddings", "x.txt"), "x.txt"),
        (("--markdown",), "--markdown is a form of --table"),
        (("--table", "--embeddings", "x.txt"), "leave --embeddings"),
        (("--table",), "no records"),
    ],
)
def test_a_mistake_is_said_in_words_before_anything_is_trained(chunking, store, words, message):
    Store(store).close()
    code, out, err = chunking(*words)
    assert (code, out) == (2, "")
    assert message in err
    assert err.startswith("residuum: ")


def test_tables_and_claims_come_from_the_store_and_from_archives(chunking, tmp_path, store):
    with Store(store) as opened:
        for record in runs("r-product", 85):
            opened.add(record)
    (tmp_path / "results").mkdir()
    other = run("r-product", 7, 9, batch=7)
    more = [*runs("s-product", 60), *runs("s-product", 60, fraction=1.0), other]
    twice = [*runs("r-product", 85)[:1], *more]
    write_archive(tmp_path / "results" / "chunking.jsonl", twice)
    code, out, _ = chunking("--table")
    assert code == 0
    assert "3 seeds (the paper's table 9)" in out
    assert "1 of 10 records have other settings" in out
    assert "What the paper claims" in out
    code, out, _ = chunking("--table", "--json")
    content = json.loads(out)
    assert content["left_out"] == 1
    assert {table.get("measure") for table in content["tables"]} >= {
        "f1",
        "viterbi_f1",
        "violations",
    }
    assert {claim["status"] for claim in content["claims"]} <= {*get_args(Status)}
    code, out, _ = chunking("--table", "--markdown", "--fraction", "1", "--decode", "viterbi")
    assert "| 100% | – | **" not in out
    assert "| 100% | – |" in out
    assert "| 10% |" not in out
    assert "F1 of the likeliest tags that obey the rules: conll2000" in out
    assert "F1 of the likeliest tags: conll2000" not in out


def test_options_take_several_values_at_once(chunking, store):
    with Store(store) as kept:
        for record in (*runs("r-product", 85), *runs("s-godel", 60)):
            kept.add(record)
    apart = chunking("--table", "--json", "--seeds", "0,20", "-r", "r-product", "-r", "s-godel")
    together = chunking("--table", "--json", "--seeds", "0", "20", "-r", "r-product", "s-godel")
    fewer = chunking("--table", "--json", "--seeds", "0", "-r", "r-product", "s-godel")
    assert apart[0] == 0
    assert apart[1] == together[1] != fewer[1]


def test_tables_need_no_torch(store):
    with Store(store) as opened:
        opened.add(run("r-product", 0, 90))
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from residuum.cli import main\n"
        f"sys.argv = ['residuum', 'study', 'chunking', '--table', '--store', {str(store)!r}]\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "printed" in done.stdout
