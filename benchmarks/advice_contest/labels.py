"""Tasks about several labels of one thing: hierarchies, exclusion, exceptions, clauses."""

from __future__ import annotations

import itertools

import torch

from advice_contest.task import Examples, Task, blends, clouds, draw_labels, first, nothing

# A hierarchy: six leaves below two parents below one root, and few labels of the leaves alone.

PARENTS = {"cat": "pet", "dog": "pet", "fish": "pet", "car": "ride", "bus": "ride", "bike": "ride"}
NAMES = (*PARENTS, "pet", "ride")


def _hierarchy(generator: torch.Generator, count: int) -> Examples:
    leaf = draw_labels(generator, len(PARENTS), count)
    parent = torch.tensor([NAMES.index(one) for one in PARENTS.values()])[leaf]
    has = torch.zeros(count, len(NAMES), dtype=torch.long)
    has[torch.arange(count), leaf] = 1
    has[torch.arange(count), parent] = 1
    known = first(18, has)
    known[4:, len(PARENTS) :] = False  # of the parents even fewer
    return Examples({"Has": clouds(generator, leaf, len(PARENTS), 8, 1.0)}, {"Has": has},
                    {"Has": known})  # fmt: skip


# Six labels of which exactly one is true; only true ones are labelled.


def _exclusive(generator: torch.Generator, count: int) -> Examples:
    label = draw_labels(generator, 6, count)
    has = torch.nn.functional.one_hot(label, 6)
    known = first(25, has) & (has == 1)  # labels say only what is true
    return Examples({"Has": clouds(generator, label, 6, 8, 0.9)}, {"Has": has}, {"Has": known})


# Birds fly, fish do not; both have exceptions.


def _exceptions(generator: torch.Generator, count: int) -> Examples:
    bird = draw_labels(generator, 2, count)
    is_exception = torch.rand(count, generator=generator) < 0.2
    flies = torch.where(is_exception, 1 - bird, bird)
    has = torch.stack([bird, 1 - bird, flies], -1)
    known = first(40, has)
    known[6:, 2] = False
    return Examples({"Has": blends(generator, has, 8, 1.0)}, {"Has": has}, {"Has": known})


# Whether exactly one of two things is so is observed.


def _parity(generator: torch.Generator, count: int) -> Examples:
    a, b = draw_labels(generator, 2, 2, count)
    truth = {"A": a, "B": b, "Odd": (a + b) % 2}
    inputs = {name: clouds(generator, truth[name], 2, 6, 1.0) for name in "AB"}
    return Examples(inputs, truth, {"A": first(4, a), "B": first(4, b), "Odd": nothing(a)})


# Twelve clauses over eight labels.

CLAUSES = (
    "A -> B | C", "B -> ~C", "D -> A", "~D | E", "E -> ~F", "F -> G | H", "~(G & H)", "H -> ~A",
    "C -> F", "G -> B | F", "A & E -> D", "B | C | F",
)  # fmt: skip


def _obeys(value: dict[str, bool]) -> bool:
    a, b, c, d, e, f, g, h = value.values()
    return all([
        not a or b or c, not b or not c, not d or a, not d or e, not e or not f,
        not f or g or h, not (g and h), not h or not a, not c or f, not g or b or f,
        not (a and e) or d, b or c or f,
    ])  # fmt: skip


def _clauses(generator: torch.Generator, count: int) -> Examples:
    every = [dict(zip("ABCDEFGH", row, strict=True)) for row in itertools.product((0, 1), repeat=8)]
    models = torch.tensor([list(one.values()) for one in every if _obeys(one)])
    chosen = models[draw_labels(generator, len(models), count)]
    return Examples({"Has": blends(generator, chosen, 8, 1.0)}, {"Has": chosen},
                    {"Has": first(15, chosen)})  # fmt: skip


def _of_labels(clause: str) -> str:
    return "".join(f"Has({one})" if one.isalpha() else one for one in clause)


# Ten fine classes in three coarse ones; the coarse class is observed, few fine ones are labelled.

COARSE = (0, 0, 0, 0, 1, 1, 1, 2, 2, 2)


def _coarse(generator: torch.Generator, count: int) -> Examples:
    fine = draw_labels(generator, len(COARSE), count)
    truth = {"Fine": fine, "Coarse": torch.tensor(COARSE)[fine]}
    known = {"Fine": first(20, fine), "Coarse": nothing(fine)}
    return Examples({"Fine": clouds(generator, fine, len(COARSE), 8, 0.9)}, truth, known)


def _listed(names: str | tuple[str, ...]) -> str:
    return f"domain label = {', '.join(names)}\npredicate Has(label) independent\n"


def _numbered(rules: list[str]) -> str:
    return "".join(f"rule r{number}: {one}\n" for number, one in enumerate(rules))


TASKS = (
    Task(
        name="hierarchy",
        kind="labels below labels, few of them known",
        rules=_listed(NAMES)
        + _numbered([f"Has({leaf}) -> Has({parent})" for leaf, parent in PARENTS.items()]),
        networks={"has": (8, len(NAMES))},
        outputs={"Has": "has"},
        draw=_hierarchy,
        scored=("Has",),
        measure="f1",
    ),
    Task(
        name="exclusive labels",
        kind="exactly one of six sigmoids, only true ones labelled",
        rules="domain label = 0..5\npredicate Has(label) independent\n"
        "rule one: forall x, y in label where x < y: ~(Has(x) & Has(y))\n"
        "rule some: exists x in label: Has(x)\n",
        networks={"has": (8, 6)},
        outputs={"Has": "has"},
        draw=_exclusive,
        scored=("Has",),
        measure="f1",
    ),
    Task(
        name="rules with exceptions",
        kind="one example in five breaks the rules",
        rules=_listed(("bird", "fish", "flies"))
        + _numbered(["Has(bird) -> Has(flies)", "Has(fish) -> ~Has(flies)"]),
        networks={"has": (8, 3)},
        outputs={"Has": "has"},
        draw=_exceptions,
        scored=("Has",),
        measure="accuracy",
    ),
    Task(
        name="parity",
        kind="whether exactly one of two holds is observed",
        rules="predicate A\npredicate B\npredicate Odd\n"
        "rule odd: Odd <-> (A & ~B) | (B & ~A)\n",
        networks={"a": (6, 1), "b": (6, 1)},
        outputs={"A": "a", "B": "b"},
        draw=_parity,
        observed=("Odd",),
        scored=("A", "B"),
    ),
    Task(
        name="clauses",
        kind="twelve clauses over eight labels",
        rules=_listed("ABCDEFGH") + _numbered([_of_labels(one) for one in CLAUSES]),
        networks={"has": (8, 8)},
        outputs={"Has": "has"},
        draw=_clauses,
        scored=("Has",),
        measure="f1",
        is_held_out=True,
    ),
    Task(
        name="fine below coarse",
        kind="coarse classes observed, few fine ones labelled",
        rules="domain fine = 0..9\ndomain coarse = 0..2\n"
        "function above(fine): coarse = "
        + ", ".join(f"{fine}: {coarse}" for fine, coarse in enumerate(COARSE))
        + "\npredicate Fine(fine)\npredicate Coarse(coarse)\n"
        "rule above: forall f in fine: Fine(f) -> Coarse(above(f))\n",
        networks={"fine": (8, 10)},
        outputs={"Fine": "fine"},
        draw=_coarse,
        observed=("Coarse",),
        scored=("Fine",),
        is_held_out=True,
    ),
)  # fmt: skip
