"""Pages of tasks: what they may say, and where they are found."""

import pytest

from made_up_tasks import PAGE, make_task
from residuum.errors import ResiduumError
from residuum.field import Measure, Published, find_task, task_names


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ({"train": None}, "neither"),
        ({"together": lambda _data, _runs: []}, "both"),
        ({"only_in": {"c": [""]}}, "'c'"),
        ({"only_in": {"a": ["large"]}}, "'large'"),
        ({"published": [Published("x", "large", {}, "y")]}, "'large'"),
        ({"published": [Published("x", "", {"wrong": 1.0}, "y")]}, "'wrong'"),
        ({"settings": {"seed": 3}}, "'seed'"),
        ({"methods": {"a": {"split": "test"}}}, "'split'"),
    ],
)
def test_a_page_that_contradicts_itself_is_refused(changed, found):
    with pytest.raises(ResiduumError, match=f"task made-up: expected .*{found}; correct the page"):
        make_task(**changed)


def test_settings_of_a_method_replace_those_of_a_part_and_quick_ones_replace_all():
    task = make_task(
        settings={"rate": 1, "epochs": 9, "width": 4},
        parts={"": {"rate": 2, "epochs": 8}},
        methods={"a": {"rate": 3}, "b": {}},
        quick={"epochs": 1},
    )
    assert task.settings_of("a", "", is_quick=False) == {"rate": 3, "epochs": 8, "width": 4}
    assert task.settings_of("b", "", is_quick=True) == {"rate": 2, "epochs": 1, "width": 4}


def test_a_measure_knows_which_values_are_better():
    high, low = Measure("accuracy"), Measure("time", chance=9, unit="s", lower_is_better=True)
    assert (high.best([1, 3, 2]), low.best([2, 1, 3]), low.best([])) == (3, 1, None)
    assert (high.behind(1, 3), low.behind(3, 1), low.behind(1, 3)) == (2, 2, -2)


@pytest.fixture
def pages(tmp_path, monkeypatch):
    folder = tmp_path / "examples" / "field"
    folder.mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    return folder


def test_tasks_are_found_below_the_current_folder(pages):
    (pages / "made_up.py").write_text(PAGE)
    (pages / "_helper.py").write_text("")
    assert task_names() == ["made-up"]
    assert find_task("made-up").title == "Made up"
    assert find_task("made-up") is find_task("made-up")


def test_a_page_in_another_folder_is_another_task(pages, tmp_path, monkeypatch):
    (pages / "made_up.py").write_text(PAGE)
    first = find_task("made-up")
    other = tmp_path / "other"
    (other / "examples" / "field").mkdir(parents=True)
    (other / "examples" / "field" / "made_up.py").write_text(PAGE.replace("Made up", "Else"))
    monkeypatch.chdir(other)
    assert (first.title, find_task("made-up").title) == ("Made up", "Else")


def test_elsewhere_the_tasks_beside_the_source_are_found(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "addition" in task_names()
    assert [find_task(name).name for name in task_names()] == task_names()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "found no TASK"),
        ("TASK = 3", "found the name None"),
        (PAGE.replace('"made-up"', '"another"'), "found the name 'another'"),
        ("import nowhere_to_be_found", "found no nowhere_to_be_found; install it"),
    ],
)
def test_a_page_without_its_task_is_refused_in_words(pages, text, message):
    (pages / "made_up.py").write_text(text)
    for _ in range(2):  # a page that failed is read again
        with pytest.raises(ResiduumError, match=message):
            find_task("made-up")


def test_an_unknown_task_is_refused_with_a_suggestion(pages):
    (pages / "made_up.py").write_text(PAGE)
    with pytest.raises(ResiduumError, match=r"--list.*'maid-up'.*`made-up`"):
        find_task("maid-up")


def test_a_diverged_run_never_counts_as_the_best():
    with pytest.raises(ResiduumError, match="measure time: expected a `chance` above 0"):
        Measure("time", unit="s", lower_is_better=True)
