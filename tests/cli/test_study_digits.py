"""The digits study at the command line: run, stopped, continued, tabulated, refused."""

import builtins
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import get_args

import pytest
import torch

from made_up_runs import run, runs
from residuum.results import Store, write_archive
from residuum.study.decisions import Status
from residuum.study.digits import experiment
from residuum.study.digits.data import sets
from residuum.study.digits.task import JointTask

TINY = ("--digit-size", "20", "--pair-size", "40", "--seeds", "0")
MEASURES = {
    "digit_accuracy", "operator_accuracy", "coherence", "commutativity", "associativity",
    "distributivity", "sum_accuracy", "product_coherence",
}  # fmt: skip

# A test runner in the background may have taught its children to ignore interrupts.
COMMAND = """
import signal
from residuum.study.digits.data import sets
sets.DRAWS_PER_IMAGE = 1
signal.signal(signal.SIGINT, signal.default_int_handler)
from residuum.cli import main
main()
"""


@pytest.fixture
def store(tmp_path):
    return tmp_path / "runs.sqlite"


@pytest.fixture(autouse=True)
def somewhere_else(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RESIDUUM_STORE", raising=False)


@pytest.fixture
def small_sets(monkeypatch):
    """One pair or triple for each image of TEST: what takes longest here is to measure networks."""
    import_module("residuum.study.digits.findings")  # it keeps a copy of the number
    monkeypatch.setattr(sets, "DRAWS_PER_IMAGE", 1)
    monkeypatch.setattr(experiment, "_sets", cache(experiment._sets.__wrapped__))


@pytest.mark.usefixtures("small_sets")
def test_a_run_is_trained_once_and_found_again(residuum, store):
    words = ("study", "digits", *TINY, "--epochs", "1", "-r", "r-product", "--store", str(store))
    code, out, err = residuum(*words, "--json")
    [found] = json.loads(out)
    assert code == 0
    assert "1 runs, 0 of them found" in err
    assert found.keys() >= MEASURES | {"id", "relaxation", "protocol", "seed", "seconds"}
    assert (found["relaxation"], found["protocol"], found["seed"]) == ("r-product", "joint", 0)
    assert (found["digit_size"], found["pair_size"], found["epochs"]) == (20, 40, 1)
    assert all(0 <= found[name] <= 100 for name in MEASURES)
    code, out, err = residuum(*words, "--json")
    assert json.loads(out) == [found]
    assert "1 of them found" in err
    code, out, err = residuum(*words)
    assert code == 0
    assert "one answer for all" in out
    assert f"{found['digit_accuracy']:.1f}" in out


@pytest.mark.usefixtures("small_sets")
def test_a_pipeline_learns_in_three_stages(residuum, store):
    words = ("study", "digits", *TINY, "--epochs", "1", "--protocol", "pipeline")
    code, out, _ = residuum(*words, "-r", "r-product", "--json", "--store", str(store))
    [found] = json.loads(out)
    assert (code, found["protocol"]) == (0, "pipeline")
    [record] = Store(store)
    stages = {name.split(":")[0] for name in record.curves}
    assert stages == {"Digit", "Sum", "Product"}


@pytest.mark.usefixtures("small_sets")
def test_a_run_that_diverged_is_said_to_have_diverged(residuum, store, monkeypatch):
    losses = JointTask.losses

    def exploding(task, step):
        factors = torch.where(task._seeds == 1, torch.nan, 1.0)
        return {name: loss * factors for name, loss in losses(task, step).items()}

    monkeypatch.setattr(JointTask, "losses", exploding)
    monkeypatch.setenv("COLUMNS", "200")
    words = ("study", "digits", *TINY, "--epochs", "3", "-r", "r-product", "--seeds", "1")
    words = (*words, "--store", str(store))
    code, out, _ = residuum(*words)
    assert code == 0
    assert "1 of 2 broken" in out
    assert "1 of 2 runs are broken" in out
    code, out, _ = residuum(*words, "--json")
    calm, wild = json.loads(out)
    assert calm["diverged"] is None
    assert calm.keys() - wild.keys() >= MEASURES
    assert (wild["seed"], wild["diverged"]["epoch"]) == (1, 1)
    assert "joint: parameters" in wild["diverged"]["not_finite"]


def test_a_norm_for_gradients_makes_other_runs(residuum, store):
    words = ("study", "digits", *TINY, "--epochs", "1", "-r", "r-product", "--store", str(store))
    code, out, _ = residuum(*words, "--clip", "0.5", "--json")
    [found] = json.loads(out)
    assert (code, found["clip"]) == (0, 0.5)
    _, out, _ = residuum(*words, "--json")
    [plain] = json.loads(out)
    assert "clip" not in plain
    assert plain["id"] != found["id"]
    for clip, left_out in (((), 1), (("--clip", "0.5"), 1), (("--clip", "7"), 2)):
        _, out, _ = residuum(*words, *clip, "--table", "--json")
        assert json.loads(out)["left_out"] == left_out


def test_quick_is_one_seed_of_the_papers_relaxations():
    from residuum.cli.study.digits import Wanted, _plan, _quick

    nothing = Wanted(None, (), (), (), (), (), None, "paper", None)
    found = _plan(_quick(nothing), "float32")
    assert [one.relaxation for one in found] == [
        "s-godel", "s-product", "r-product", "lukasiewicz-maxsat",
    ]  # fmt: skip
    assert {one.images for one in found} == {"embedded"}
    assert {one.seed for one in found} == {0}


def test_without_sizes_all_of_digit_and_the_middle_one_of_pair():
    from residuum.cli.study.digits import Wanted, _plan

    wanted = Wanted("mnist", ("joint", "pipeline"), (), (), (), (), None, "paper", None)
    found = _plan(wanted, "bfloat16")
    assert len(found) == 3 * 3 * (4 + 3)
    assert {one.digit_size for one in found} == {1000, 5000, 25_000}
    assert {one.pair_size for one in found} == {5000}
    as_the_authors = _plan(replace(wanted, warm_ups="original"), "bfloat16")
    changed = [one for one, other in zip(as_the_authors, found, strict=True) if one != other]
    assert {(one.protocol, one.relaxation, one.warm_up) for one in changed} == {
        ("pipeline", "lukasiewicz-maxsat", 8)
    }


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-r", "r-produkt"), "r-produkt"),
        (("--digit-size", "9999"), "DIGIT can have 1 to 600"),
        (("--digit-size", "20", "--pair-size", "999999"), "at most 179,700 different pairs"),
        (("--seeds", str(2**63)), "seed: expected a whole number from 0 to 2^63 - 1, got 922"),
        (("--seeds", "0,x"), "expected whole numbers such as 0,20,50, got '0,x'"),
        (("--clip", "0"), "clip: expected a norm above 0, got 0"),
        (("--protocol", "both"), "expected joint or pipeline, got 'both'"),
        (("--quick", "--images", "mnist"), "--quick is for the embedded images"),
        (("--markdown",), "--markdown is a form of --table"),
        (("--table",), "no records"),
        (("--table", "--store", "nowhere.sqlite"), "there is no store nowhere.sqlite"),
    ],
)
def test_a_mistake_is_said_in_words_before_anything_is_trained(residuum, tmp_path, words, message):
    own = () if "--store" in words else ("--store", str(tmp_path / "runs.sqlite"))
    if "--table" in words and own:
        Store(tmp_path / "runs.sqlite").close()
    code, out, err = residuum("study", "digits", *words, *own)
    assert (code, out) == (2, "")
    assert message in err
    assert err.startswith("residuum: ")


def test_a_foreign_store_is_refused_and_left_as_it_is(residuum, tmp_path):
    (tmp_path / "notes.txt").write_text("my notes")
    code, _, err = residuum("study", "digits", *TINY, "--store", "notes.txt")
    assert code == 2
    assert "no store of runs" in err
    assert (tmp_path / "notes.txt").read_text() == "my notes"


def test_missing_mnist_is_an_error_in_words(residuum, tmp_path, monkeypatch):
    monkeypatch.setenv("RESIDUUM_DATA", str(tmp_path))
    monkeypatch.setenv("RESIDUUM_CACHE", "")  # nothing is downloaded then
    code, _, err = residuum("study", "digits", "--images", "mnist", "--store", "runs.sqlite")
    assert code == 2
    assert "train-images-idx3-ubyte.gz" in err
    assert "RESIDUUM_DATA" in err


def test_missing_cuda_is_an_error_in_words(residuum, store, monkeypatch):
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    code, _, err = residuum("study", "digits", *TINY, "--device", "cuda", "--store", str(store))
    assert (code, err) == (
        2,
        "residuum: device cuda: PyTorch finds no CUDA here; choose cpu\n",
    )


@pytest.mark.parametrize(("missing", "advice"), [("torch", "study"), ("sklearn", "study")])
def test_a_missing_library_is_named_with_how_to_install_it(residuum, monkeypatch, missing, advice):
    plain = builtins.__import__

    def without(name, *rest, **options):
        if name.split(".")[0] == missing:
            raise ImportError(f"No module named {name!r}", name=missing)
        return plain(name, *rest, **options)

    experiment._sets.cache_clear()
    monkeypatch.setattr(builtins, "__import__", without)
    code, _, err = residuum("study", "digits", *TINY, "--store", "runs.sqlite")
    assert code == 2
    assert "not installed" in err
    assert f"pip install 'residuum[{advice}]'" in err


def test_tables_and_claims_come_from_the_store_and_from_archives(residuum, tmp_path, store):
    with Store(store) as opened:
        for record in runs("r-product", 95):
            opened.add(record)
    (tmp_path / "results").mkdir()
    twice = [*runs("r-product", 95)[:1], *runs("s-product", 60), run("r-product", 7, 9, weight=7.0)]
    write_archive(tmp_path / "results" / "digits.jsonl", twice)
    code, out, _ = residuum("study", "digits", "--table", "--store", str(store))
    assert code == 0
    assert "PAIR 5,000, 3 seeds (the paper's table 3)" in out
    assert "1 of 7 records have other settings" in out
    assert "What the paper claims" in out
    _, page, _ = residuum("study", "digits", "--table", "--markdown", "--store", str(store))
    remarks = [block for block in page.split("\n\n") if not block.startswith("|")]
    assert remarks[-1] == "What the paper claims"  # each remark is a paragraph of its own
    assert remarks[-2].startswith("1 of 7 records have other settings")
    code, out, _ = residuum("study", "digits", "--table", "--json", "--store", str(store))
    content = json.loads(out)
    assert content["left_out"] == 1
    assert {table["measure"] for table in content["tables"]} >= {"digit_accuracy", "coherence"}
    assert {claim["status"] for claim in content["claims"]} <= {*get_args(Status)}
    code, out, _ = residuum(
        "study", "digits", "--table", "--markdown", "-r", "s-product", "--store", str(store)
    )
    assert "| s-product |" in out
    assert "| r-product | – |" in out


def test_tables_need_no_torch(store):
    with Store(store) as opened:
        opened.add(run("r-product", 0, 90))
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from residuum.cli import main\n"
        f"sys.argv = ['residuum', 'study', 'digits', '--table', '--store', {str(store)!r}]\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "printed" in done.stdout


def test_training_imports_no_tables_no_claims_and_no_other_study(store):
    words = ["study", "digits", *TINY, "--epochs", "1", "-r", "r-product", "--json"]
    code = (
        "import sys\n"
        "from residuum.cli import main\n"
        "from residuum.study.digits.data import sets\n"
        "sets.DRAWS_PER_IMAGE = 1\n"
        f"sys.argv = {['residuum', *words, '--store', str(store)]!r}\n"
        "try:\n    main()\n"
        "finally:\n    print(*sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    loaded = set(done.stderr.split())
    assert "residuum.study.digits.experiment" in loaded
    unwanted = ("tables", "claims", "findings", "grouped_runs", "verdicts", "decisions")
    assert not [
        name
        for name in loaded
        if name.startswith(
            ("residuum.study.chunking", "residuum.cli.study.chunking", "residuum.sweeps")
        )
        or (name.startswith("residuum.study") and name.endswith(unwanted))
    ]


posix = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


@contextmanager
def running(*words, stderr):
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, "study", "digits", *words],
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def wait_for(text, path, process):
    while text not in path.read_text():
        assert process.poll() is None, path.read_text()
        time.sleep(0.05)


@posix
@pytest.mark.usefixtures("small_sets")
def test_a_study_that_is_interrupted_or_killed_goes_on_and_keeps_what_is_finished(
    residuum, tmp_path, store
):
    sizes = ("--digit-size", "20", "--pair-size", "40", "-r", "r-product", "--json")
    sizes, log = (*sizes, "--store", str(store)), tmp_path / "log"
    quick, endless = ("--epochs", "1", "--seeds", "0,1"), ("--epochs", "100000", "--seeds", "2")
    code, out, _ = residuum("study", "digits", *sizes, *quick)
    finished = json.loads(out)
    assert (code, len(finished)) == (0, 2)

    with log.open("w") as err, running(*sizes, *endless, stderr=err) as process:
        wait_for("joint: epoch", log, process)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert json.loads(out) == []
    assert "finishing the epoch under way" in log.read_text()
    assert "interrupted with 0 of 1 runs done; the same command goes on" in log.read_text()
    assert "Traceback" not in log.read_text()
    [checkpoint] = tmp_path.glob("runs.sqlite.checkpoints/*")
    first = last_epoch(log)

    with log.open("w") as err, running(*sizes, *endless, stderr=err) as process:
        wait_for("joint: epoch", log, process)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert last_epoch(log) > first
    assert checkpoint.exists()

    code, out, err = residuum("study", "digits", *sizes, *quick)
    assert code == 0
    assert "2 of them found" in err
    assert json.loads(out) == finished


def last_epoch(log):
    lines = [line for line in log.read_text().splitlines() if line.startswith("joint: epoch")]
    return int(lines[-1].split()[2])
