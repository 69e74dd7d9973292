"""`residuum sweep run` and `status`: results, interrupts, mistakes."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from residuum.cli.sweep import words_of
from residuum.errors import ResiduumError
from residuum.results import Store
from residuum.sweeps import read_sweep
from residuum.sweeps.tuned_studies import TUNED

TINY = str(Path(__file__).parents[2] / "examples" / "sweeps" / "tiny.toml")

# A test runner in the background may have taught its children to ignore interrupts.
COMMAND = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from residuum.cli import main
main()
"""


@pytest.fixture(autouse=True)
def somewhere_else(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_a_sweep_is_run_once_looked_at_and_drawn(residuum):
    own = ("--store", "runs.sqlite")
    code, out, _ = residuum("sweep", "status", TINY, *own)
    assert code == 0
    assert out.count("0 of 6 trials, 0 of 2 final runs") == 2
    assert "not known yet" in out
    assert not Path("runs.sqlite").exists()
    code, _, err = residuum("sweep", "status", TINY, *own, "-o", "scores.png")
    assert (code, "expected a finished trial" in err) == (2, True)

    code, out, err = residuum("sweep", "run", TINY, *own, "--json")
    assert code == 0
    assert "chunking-tuning: 12 runs, 0 of them found" in err
    found = json.loads(out)
    assert [one["configuration"]["relaxation"] for one in found] == ["s-product", "r-product"]
    assert [len(one["runs"]) for one in found] == [2, 2]
    with Store("runs.sqlite") as store:
        assert len(list(store.records("chunking-tuning"))) == 12
        for winner in found:
            tried = store.records("chunking-tuning", **winner["configuration"])
            best = max(max(one.curves["dev/score"].values) for one in tried)
            assert winner["dev"] == best
            for run in winner["runs"]:
                assert store.get(run["id"]).measures["f1"] == run["f1"]
                assert store.get(run["id"]).configuration.items() >= winner["settings"].items()

    code, out, err = residuum("sweep", "run", TINY, *own)
    assert "chunking: 4 runs, 4 of them found" in err
    assert out.count("on TEST, 2 seeds: f1 ") == 2
    code, out, _ = residuum("sweep", "status", TINY, *own, "-o", "scores.png")
    assert out.count("6 of 6 trials, 2 of 2 final runs") == 2
    assert f"score on DEV {found[0]['dev']:.2f}%" in out
    assert "time left, on one device: 0 s" in out
    assert Path("scores.png").read_bytes().startswith(b"\x89PNG")
    code, out, _ = residuum("sweep", "status", TINY, *own, "--json")
    [one, _] = json.loads(out)
    assert (one["best"], one["best_value"]) == (found[0]["settings"], found[0]["dev"])
    assert (len(one["values"]), one["given_up"], one["final_runs"]) == (6, 0, 2)


def test_every_study_that_can_be_tuned_has_words_for_its_runs():
    tiny = read_sweep(Path(TINY))
    for name in TUNED:
        words = words_of(replace(tiny, study=name))
        assert callable(words.parts)
        assert words.done.__module__ == words_of.__module__


def test_a_bad_file_is_refused_before_anything_runs(residuum, tmp_path):
    Path("bad.toml").write_text('study = "digits"\n[space]\nlearnin_rate = [1]\n')
    for verb in ("run", "status"):
        code, out, err = residuum("sweep", verb, "bad.toml", "--store", "runs.sqlite")
        assert (code, out) == (2, "")
        assert "residuum: bad.toml: space.learnin_rate: expected one of" in err
    assert [path.name for path in tmp_path.iterdir()] == ["bad.toml"]


def test_too_few_data_are_reported_before_training(residuum):
    text = (
        Path(TINY).read_text().replace('corpus = "sample"', 'corpus = "sample"\nfraction = 0.001')
    )
    Path("sweep.toml").write_text(text)
    code, _, err = residuum("sweep", "run", "sweep.toml", "--store", "runs.sqlite")
    assert (code, "together" in err) == (2, False)
    assert err.startswith("residuum: ")


@pytest.mark.filterwarnings("default")  # Ray leaves files and sockets to be collected
def test_a_cluster_finds_what_this_machine_finds(residuum):
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'residuum[cluster]'")
    text = Path(TINY).read_text().replace('["s-product", "r-product"]', '"s-product"')
    Path("sweep.toml").write_text(text.replace("epochs = 6", "epochs = 2"))
    here = residuum("sweep", "run", "sweep.toml", "--store", "here.sqlite", "--json")
    there = residuum(
        "sweep", "run", "sweep.toml", "--store", "there.sqlite", "--json", "--engine", "ray"
    )
    assert (here[0], there[0]) == (0, 0)
    assert json.loads(there[1]) == json.loads(here[1])
    assert "6 of 6 done: relaxation s-product, learning_rate" in there[2]


def test_the_cluster_is_asked_for_by_its_address_and_device(residuum, monkeypatch):
    from residuum.sweeps import clusters

    def connected(address, device):
        raise ResiduumError(f"asked for {device} at {address}")

    monkeypatch.setattr(clusters, "connected", connected)
    words = ("--engine", "ray", "--device", "cuda", "--address", "auto", "--store", "runs.sqlite")
    code, _, err = residuum("sweep", "run", TINY, *words)
    assert (code, "asked for cuda at auto" in err) == (2, True)
    code, _, err = residuum("sweep", "run", TINY, "--address", "auto")
    assert (code, "expected --engine ray" in err) == (2, True)


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_an_interrupt_says_how_to_continue_and_status_shows_the_progress(residuum):
    Path("sweep.toml").write_text(Path(TINY).read_text().replace("epochs = 6", "epochs = 100000"))
    log = Path("log")
    with log.open("w") as err:
        process = subprocess.Popen(
            [sys.executable, "-c", COMMAND, "sweep", "run", "sweep.toml", "--store", "runs.sqlite"],
            stdout=subprocess.DEVNULL,
            stderr=err,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        try:
            while "Tag: epoch" not in log.read_text():
                assert process.poll() is None, log.read_text()
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=60) == 130
        finally:
            process.kill()
            process.wait()
    assert "interrupted; the same command continues" in log.read_text()
    assert "`residuum sweep status sweep.toml --store runs.sqlite`" in log.read_text()
    assert "Traceback" not in log.read_text()
    code, out, _ = residuum("sweep", "status", "sweep.toml", "--store", "runs.sqlite")
    assert code == 0
    assert out.count("0 of 6 trials") == 2
