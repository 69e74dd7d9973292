"""Tasks of the field that train nothing: what a run comes to is made up from its settings."""

from residuum.field import Measure, Published, Task
from residuum.results import Record

PAGE = """
from residuum.field import Measure, Published, Task

def train(data, run):
    for epoch in run.epochs():
        run.check(epoch, loss=float("nan") if run["rate"] > 1 else 0.0)
    return {"right": data + run["rate"] + run.seed, "wrong": 7.0}

TASK = Task(
    name="made-up",
    title="Made up",
    shows="that pages are found",
    load=lambda quick: 10 if quick else 20,
    train=train,
    measures={
        "right": Measure("right", chance=5.0),
        "wrong": Measure("wrong", chance=99.0, lower_is_better=True),
    },
    methods={"slow": {"rate": 0.5}, "fast": {"rate": 1.0}, "wild": {"rate": 2.0}},
    parts={"small": {}, "large": {}},
    only_in={"wild": ["large"]},
    settings={"epochs": 2, "is_kind": True, "name": "x"},
    quick={"epochs": 1},
    published=[Published("others", "large", {"right": 50.0}, "a book")],
    notes=["Nobody made these figures."],
)
"""


def make_task(**changed):
    """A task of one part with the methods `a` and `b`, and the measure `right` in percent."""
    fields = {
        "name": "made-up",
        "title": "Made up",
        "shows": "nothing",
        "load": lambda quick: quick,
        "train": lambda _data, run: {"right": float(run.seed)},
        "methods": {"a": {}, "b": {}},
        "measures": {"right": Measure("right", chance=10.0)},
        "published": [Published("others", "", {"right": 50.0}, "a book")],
    }
    return Task(**{**fields, **changed})


def make_record(task, method, seed, right, *, part="", split="test", diverged=None, **settings):
    """The record of a run; with `diverged` it has no measures."""
    known = task.settings_of(method, part, is_quick=False) | settings
    known |= {"method": method, "part": part, "seed": seed, "split": split, "quick": False}
    measures = {} if diverged else dict.fromkeys(task.measures, right)
    return Record(
        task.study, task.scheme, known, measures=measures, seconds=3.0 + seed, diverged=diverged
    )
