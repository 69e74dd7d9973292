"""Sweep files: what they mean, and what is refused before anything runs."""

import json
from pathlib import Path

import pytest

from residuum.study.common_settings import SEEDS
from residuum.sweeps import SweepError, read_sweep
from residuum.sweeps.definitions import Choice, Range
from residuum.sweeps.sweep_files import TOGETHER

EXAMPLES = Path(__file__).parents[2] / "examples" / "sweeps"

DIGITS = {
    "study": '"digits"',
    "settings": {
        "images": '"embedded"', "relaxation": '"r-product"', "digit_size": "20",
        "pair_size": "40", "epochs": "9",
    },
    "space": {"learning_rate": "[0.1, 0.01]"},
}  # fmt: skip


def write(folder, **changes):
    """Write a sweep file; `table__key` changes a key, and None removes one."""
    content = json.loads(json.dumps(DIGITS))
    for path, value in changes.items():
        *tables, key = path.split("__")
        place = content
        for table in tables:
            place = place.setdefault(table, {})
        place[key] = value
        if value is None:
            del place[key]
    plain = [f"{key} = {value}" for key, value in content.items() if not isinstance(value, dict)]
    for key, table in content.items():
        if isinstance(table, dict):
            plain += [f"[[{key}]]" if key == "each" else f"[{key}]"]
            plain += [f"{name} = {value}" for name, value in table.items()]
    path = folder / "sweep.toml"
    path.write_text("\n".join(plain))
    return path


def test_keys_that_are_not_given_have_defaults(tmp_path):
    sweep = read_sweep(write(tmp_path))
    assert (sweep.sampler, sweep.pruner, sweep.measure) == ("grid", "none", "score")
    assert (sweep.trials, sweep.together) == (2, TOGETHER["grid"])
    assert (sweep.seeds, sweep.final_seeds) == ((20,), SEEDS)
    assert (sweep.configurations, sweep.rungs, sweep.storage) == (({},), (None,), None)


def test_lists_are_choices_and_tables_are_ranges(tmp_path):
    sweep = read_sweep(
        write(
            tmp_path,
            sampler='"tpe"',
            trials="5",
            space__weight="{low = 0.05, high = 2, log = true}",
            space__batch="{low = 8, high = 64, step = 8}",
            space__optimiser='["sgd", "adam"]',
        )
    )
    assert sweep.space == {
        "learning_rate": Choice((0.1, 0.01)),
        "weight": Range(0.05, 2.0, log=True),
        "batch": Range(8, 64, step=8, is_whole=True),
        "optimiser": Choice(("sgd", "adam")),
    }


def test_lists_in_each_give_all_combinations_and_its_tables_add_up(tmp_path):
    path = write(
        tmp_path, settings__relaxation=None, settings__digit_size=None,
        each__relaxation='["r-product", "s-product"]', each__digit_size="[20, 30]",
    )  # fmt: skip
    path.write_text(
        path.read_text()
        + '\n[[each]]\nrelaxation = "s-godel"\ndigit_size = 20\nwarm_up = 1\nwarm_up_rate = 0.1\n'
    )
    assert read_sweep(path).configurations == (
        {"relaxation": "r-product", "digit_size": 20},
        {"relaxation": "r-product", "digit_size": 30},
        {"relaxation": "s-product", "digit_size": 20},
        {"relaxation": "s-product", "digit_size": 30},
        {"relaxation": "s-godel", "digit_size": 20, "warm_up": 1, "warm_up_rate": 0.1},
    )


def test_word_vectors_are_found_from_the_folder_of_the_file(tmp_path):
    path = write(
        tmp_path, study='"chunking"', settings__images=None, settings__digit_size=None,
        settings__pair_size=None, settings__corpus='"sample"', settings__constraints="true",
        settings__embeddings='"vectors.txt"',
    )  # fmt: skip
    assert read_sweep(path).settings["embeddings"] == str(tmp_path / "vectors.txt")


@pytest.mark.parametrize(
    ("least", "epochs", "rungs"),
    [(1, 9, (1, 3, None)), (1, 10, (1, 3, 9, None)), (2, 6, (2, None)), (4, 5, (4, None))],
)
def test_rungs_grow_threefold_until_all_epochs(tmp_path, least, epochs, rungs):
    path = write(
        tmp_path, pruner='"halving"', least_epochs=str(least), settings__epochs=str(epochs)
    )
    assert read_sweep(path).rungs == rungs


def test_a_search_is_named_by_what_decides_it_and_the_budget_does_not(tmp_path):
    def name(**changes):
        sweep = read_sweep(write(tmp_path, **changes))
        return sweep.name(sweep.configurations[0])

    assert name() == name(trials="1") == name(final_seeds="[7]")
    others = {
        name(), name(seeds="[1]"), name(settings__epochs="8"), name(measure='"sum_coherence"'),
        name(space__learning_rate="[0.1]"), name(space__batch="[8]"), name(together="7"),
    }  # fmt: skip
    assert len(others) == 7


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"study": None}, "study: expected digits or chunking, got none"),
        ({"study": '"digit"'}, "study: expected digits or chunking, got 'digit'. Did you mean"),
        ({"budget": "3"}, "budget: expected one of study, "),
        ({"space": "{}"}, "space: expected a table of settings to search for"),
        ({"settings__learnin_rate": "1"}, "settings.learnin_rate: expected one of"),
        ({"settings__learnin_rate": "1"}, "Did you mean `learning_rate`?"),
        ({"space__wieght": "[1]"}, "space.wieght: expected one of"),
        ({"space__wieght": "[1]"}, "Did you mean `weight`?"),
        ({"space__weight": "[]"}, "space.weight: expected at least one value"),
        ({"space__weight": "1"}, "space.weight: expected a list of values or a range"),
        ({"space__weight": "[1, 1.0]"}, "space.weight[1]: expected each value once, got 1.0"),
        ({"space__weight": '[1, "2"]'}, "space.weight[1]: expected a number, got '2'"),
        ({"space__batch": "[1.5]"}, "space.batch[0]: expected a whole number, got 1.5"),
        ({"space__batch": "[true]"}, "space.batch[0]: expected a whole number, got True"),
        ({"space__weight": "[nan]"}, "space.weight[0]: expected a number, got nan"),
        ({"space__freeze": "[0]"}, "space.freeze[0]: expected true or false, got 0"),
        ({"space__optimiser": '["sdg"]'}, "space.optimiser[0]: expected sgd or adam, got 'sdg'"),
        ({"space__optimiser": "{low = 1, high = 2}"}, "space.optimiser: expected a list"),
        ({"space__weight": "{low = 2, high = 1}"}, "space.weight: expected low below high"),
        ({"space__weight": "{low = 1, high = 1}"}, "got the empty range 1.0 to 1.0"),
        ({"space__weight": "{low = 1}"}, "space.weight.high: expected a number, got none"),
        ({"space__weight": "{low = 1, hihg = 2}"}, "space.weight.hihg: expected one of low, high"),
        ({"space__weight": "{low = 0, high = 1, log = true}"}, "space.weight.log: expected low"),
        ({"space__weight": "{low = 0, high = 1, step = 0}"}, "space.weight.step: expected more"),
        ({"space__weight": "{low = 1, high = 2}"}, 'space.weight: expected a list for a grid'),
        ({"space__learning_rate": "[0.1, -1]"}, "space.learning_rate: -1.0 is not possible"),
        ({"space__weight": "[-1, 1]"}, "space.weight: expected a number from 0 on, got -1.0"),
        ({"space__warm_up": "[0, 10]"}, "space.warm_up: expected at most the 9 epochs, got 10"),
        ({"settings__warm_up": "10"}, "settings.warm_up: expected at most the 9 epochs"),
        ({"settings__relaxation": '"r-produkt"'}, "settings.relaxation: "),
        ({"space__warm_up_relaxation": '["x-product"]'}, "space.warm_up_relaxation: "),
        ({"settings__epochs": None}, "settings.epochs: expected a value, got none"),
        ({"settings__epochs": '"9"'}, "settings.epochs: expected a whole number, got '9'"),
        ({"settings__seed": "1"}, "settings.seed: "),
        ({"settings__learning_rate": "1"}, "space.learning_rate: expected learning_rate in"),
        ({"each__epochs": "[1]"}, "each.epochs: expected epochs in one table"),
        ({"each__digitsize": "[1]"}, "each[0].digitsize: expected one of"),
        ({"each": "3"}, "each: expected a list, got 3"),
        ({"final__epochs": "0"}, "final.epochs: expected at least 1, got 0"),
        ({"final__images": '"mnist"'}, "final.images: expected the same images for all runs"),
        ({"settings__images": None, "each__images": '"mnist"'}, "each.images: expected the same"),
        ({"seeds": "[]"}, "seeds: expected at least one value"),
        ({"seeds": "[-1]"}, "seeds: expected whole numbers from 0 on, got -1"),
        ({"final_seeds": '["a"]'}, "final_seeds[0]: expected a whole number, got 'a'"),
        ({"trials": "0"}, "trials: expected at least 1, got 0"),
        ({"sampler": '"tpe"'}, "trials: expected the number of settings"),
        ({"sampler": '"random"'}, "sampler: expected grid or tpe, got 'random'"),
        ({"measure": '"test"'}, "measure: expected a measure on DEV (score, digit_accuracy"),
        ({"pruner": '"halving"'}, "least_epochs: expected the epochs before the first halving"),
        ({"least_epochs": "3"}, 'least_epochs: expected pruner = "halving"'),
    ],
)  # fmt: skip
def test_a_mistake_is_refused_with_the_path_of_its_key(tmp_path, changes, message):
    path = write(tmp_path, **changes)
    with pytest.raises(SweepError) as caught:
        read_sweep(path)
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"{path}: ")


def test_broken_toml_is_refused_with_its_line(tmp_path):
    path = tmp_path / "sweep.toml"
    path.write_text('study = "digits"\n[space\n')
    with pytest.raises(SweepError, match=r"expected TOML, .*line 2"):
        read_sweep(path)
    path.write_bytes(b"study = '\xff'")
    with pytest.raises(SweepError, match="UTF-8"):
        read_sweep(path)
    with pytest.raises(SweepError, match="cannot be read"):
        read_sweep(tmp_path / "none.toml")
    with pytest.raises(SweepError, match="cannot be read"):
        read_sweep(tmp_path)


def test_every_file_that_ships_can_be_run():
    found = {path.name: read_sweep(path) for path in EXAMPLES.glob("*.toml")}
    assert len(found) >= 5
    joint = found["paper-digits.toml"]
    rates = joint.space.keys() - {"period"}
    assert joint.trials == 432 * 3
    assert rates == {"learning_rate", "weight", "batch", "optimiser"}
    assert len(joint.configurations) == 36
    assert len({json.dumps(one, sort_keys=True) for one in joint.configurations}) == 36
    assert (joint.settings["epochs"], joint.final["epochs"], joint.seeds) == (300, 1600, (20,))
    assert found["paper-chunking.toml"].trials == 6 * 3
