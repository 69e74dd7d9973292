"""The programs in examples/ run."""

import re
import runpy
import sys
from pathlib import Path

import pytest
import torch

from residuum.cli import main

EXAMPLES = Path(__file__).parent.parent / "examples"


@pytest.fixture
def run(monkeypatch, capsys):
    """Run an example, and return the lines that it prints; a warning is an error."""

    def run(name, *words):
        monkeypatch.setattr(sys, "argv", [name, *words])
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")
        return capsys.readouterr().out.splitlines()

    return run


def test_the_picture_of_obedient_tags_is_drawn(run, tmp_path):
    picture = tmp_path / "tags.png"
    run("obedient_tags.py", str(picture))
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_the_first_picture_is_of_a_loss_that_falls_and_violations_that_vanish(run, tmp_path):
    picture = tmp_path / "first.png"
    run("first_picture.py", str(picture))
    assert picture.read_bytes().startswith(b"\x89PNG")
    losses, violated = runpy.run_path(str(EXAMPLES / "first_picture.py"))["train"]()
    assert losses[-1] < losses[0] / 10
    assert violated[0] > 0.5
    assert violated[-1] == 0


@pytest.fixture(scope="module")
def cookbook():
    """The names of the program that draws the pictures of the cookbook."""
    return runpy.run_path(str(EXAMPLES / "cookbook_pictures.py"))


def test_the_pictures_of_the_cookbook_are_drawn_from_its_recipes(cookbook, tmp_path):
    with torch.random.fork_rng():
        cookbook["main"](tmp_path)
    drawn = {path.stem: path.read_bytes() for path in tmp_path.iterdir()}
    assert drawn.keys() == cookbook["PICTURES"].keys()
    for name, picture in drawn.items():
        assert picture.startswith(b"\x89PNG"), name
        assert len(picture) < 40_000, name


def test_the_cookbook_shows_each_of_its_pictures_on_the_page_of_the_recipe(cookbook):
    folder = cookbook["RECIPES"]
    assert {path.stem for path in folder.glob("*.png")} == cookbook["PICTURES"].keys()
    for name in cookbook["PICTURES"]:
        assert (folder / f"{name}.png").stat().st_size < 40_000
        assert f"]({name}.png)" in (folder / f"{name}.md").read_text(encoding="utf-8")


def test_a_penalty_falls_while_the_rule_is_broken_more_often(run):
    _, *rows = run("satisfied_by_half.py")
    found = {row.split()[0]: [float(n) for n in re.findall(r"\d+\.\d+", row)] for row in rows}
    before, after, obeyed, obeys, _, dead = found["r-product"]
    assert after < before / 100
    assert obeys < obeyed - 5
    assert dead > 99
    assert found["s-product"][3] > obeys + 5


def test_a_lightning_module_learns_from_a_rule(run):
    pytest.importorskip("lightning", reason="Lightning is not installed")
    found = dict(line.split(": ") for line in run("lightning_rule.py"))
    assert float(found["next"]) > 0.95
    assert float(found["rules/satisfied"]) > 0.95
    assert found["weight of the rule in its last epoch"] == "1"


def test_a_hugging_face_trainer_learns_from_a_rule(run):
    pytest.importorskip("transformers", reason="transformers is not installed")
    pytest.importorskip("accelerate", reason="accelerate is not installed")
    lines = [line for line in run("hugging_face_rule.py") if line.startswith("weight")]
    without, with_rule = ([float(n) for n in re.findall(r"[\d.]+(?=%)", line)] for line in lines)
    assert all(number < 80 for number in without)
    assert all(number > 95 for number in with_rule)


def test_a_regression_obeys_its_rule(run):
    printed = "\n".join(run("regression_bound.py"))
    alone, ruled = (
        [float(share) / 100 for share in re.findall(r"rule ([\d.]+)%", part)]
        for part in printed.split("labels and the rule")
    )
    assert alone[-1] > 0.03
    assert ruled[-1] < 0.005


def test_the_smokers_obey_the_rules_that_facts_allow(run):
    lines = run("smokers.py")
    first, last = (
        {name: float(value) for name, value in re.findall(r"(\w+) ([\d.]+)", line.split("of ")[1])}
        for line in (lines[0], lines[2])
    )
    assert last["irreflexive"] > 0.97 > first["irreflexive"]
    assert last["symmetric"] > 0.95 > first["symmetric"]
    assert any('Smokes("f") -> Cancer("f")' in line for line in lines)  # who has no cancer


def test_citations_tell_categories(run):
    printed = "\n".join(run("citations.py", "--quick"))
    alone, ruled = (float(share) for share in re.findall(r"([\d.]+)% of", printed))
    assert ruled > alone + 5


def test_digits_are_learnt_from_sums_if_the_rule_is_written_with_exists(run):
    *rows, warning = run("digits_from_sums.py")
    shares = [int(n) for row in rows for n in re.findall(r"(\d+)% of the digits", row)]
    assert len(shares) == 4
    assert all(share > 90 for share in shares[:3])
    assert shares[3] < 30
    assert "write the rule with `exists`" in warning


def test_parents_of_a_class_hierarchy_are_learnt_without_labels(run):
    _, *rows = run("class_hierarchy.py")
    found = {tuple(row.split()[:2]): [int(n) for n in re.findall(r"(\d+)%", row)] for row in rows}
    for learnt in ("r-product", "s-product", "exact"):
        assert all(share > 85 for share in found[learnt, "0.1"])
    assert all(share > 85 for share in found["r-product", "1.0"])
    for forgetful in ("s-product", "exact", "r-godel"):
        assert all(share < 30 for share in found[forgetful, "1.0"])
    assert found["r-godel", "0.1"][1] < 30


def test_long_sentences_outweigh_short_ones_unless_the_mean_is_taken(run):
    _, *rows = run("long_sentences.py")
    found = {}
    for row in rows:
        over, length, penalty, right = row.split()
        found[over, length] = float(penalty), int(right.removesuffix("%"))
    assert found["conjunction", "50"][0] > 9 * found["conjunction", "5"][0]
    assert found["mean", "50"][0] == pytest.approx(found["mean", "5"][0], abs=0.01)
    drowned = found.pop(("conjunction", "50"))[1]
    assert all(right > drowned + 20 for _, right in found.values())


def test_labels_that_only_say_yes_suffice_with_rules(run):
    *shares, one_animal, one_coat = run("labels_that_say_yes.py")
    denied, said_yes, ruled = (int(n) for row in shares for n in re.findall(r"(\d+)%", row))
    assert max(denied, said_yes) < 50
    assert ruled > 85
    for line in (one_animal, one_coat):
        in_file, in_python = re.findall(r"\d\.\d+", line)
        assert in_file == in_python


def test_rules_are_watched(run):
    *lines, right = run("watching_rules.py")
    dead = dict(re.findall(r"untrained, (.*): (\d+)%", "\n".join(lines)))
    assert dead == {"lukasiewicz": "100", "r-product": "100", "s-product": "0"}
    first, *_, last = (
        dict(re.findall(r"(\S+) ([\d.]+)(?:  |$)", line)) for line in lines if "epoch" in line
    )
    assert (float(first["weight"]), float(last["weight"])) == (0.1, 1.0)
    assert float(first["sum/satisfied"]) < 0.5
    assert float(last["sum/satisfied"]) > 0.95
    assert float(first["sum/penalty"]) < float(last["sum/penalty"])
    assert right == "right sums: 100%"


def test_own_rules_are_reported_from_what_the_example_writes(run, tmp_path, monkeypatch, capsys):
    [command] = run("report_of_own_rules.py", str(tmp_path / "new"))
    page = tmp_path / "own.html"
    monkeypatch.setattr(sys, "argv", [*command.split(), "-r", "r-product", "-o", str(page)])
    with pytest.raises(SystemExit) as stop:
        main()
    assert (stop.value.code or 0, capsys.readouterr().err) == (0, "")
    assert "“odd” is broken most" in page.read_text("utf-8")
