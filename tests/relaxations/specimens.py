"""The relaxations under test: the whole catalogue, and every family at many parameters."""

from __future__ import annotations

import numpy as np
import pytest

from residuum.relaxations import Degree, Generated, Relaxation, relaxation, relaxation_names, truth

POWERS = (".3", ".5", "1", "2", "5", "100", "1e9", "inf")
PARAMETERS = {
    "hamacher": ("0", ".5", "1", "2", "10"),
    "frank": ("1e-300", ".001", ".5", "1", "1.0000000001", "2", "1e5", "1e300", "inf"),
    "yager": POWERS,
    "dombi": POWERS,
    "aczel-alsina": POWERS,
    "schweizer-sklar": (
        "-inf", "-1e9", "-100", "-2", "-1", "-.5", "-1e-9", "0", "1e-9", ".5", "1", "2", "100",
    ),
    "sugeno-weber": ("-.999", "-.5", "0", ".5", "2", "1e9", "inf"),
}  # fmt: skip
MILD = {
    "hamacher": ("0", ".5", "2"),
    "frank": (".1", "2", "100"),
    "yager": (".5", "2", "3"),
    "dombi": (".5", "2", "3"),
    "aczel-alsina": (".5", "2", "3"),
    "schweizer-sklar": ("-2", "-.5", ".5", "2", "3"),
    "sugeno-weber": ("-.5", ".5", "10"),
}
UNPARAMETRISED = ("product", "godel", "nilpotent-minimum")


def cube(x: Degree) -> object:
    return x.on.power(x.false, 3)


def odds(x: Degree) -> object:
    return x.on.ratio(x.false, x.true, at_zero=float("inf"))


OWN_CUBIC = Generated(cube, lambda on, g: Degree(on, false=on.power(g, 1 / 3)), at_zero=1)
OWN_ODDS = Generated(
    odds, lambda on, g: Degree(on, true=on.ratio(on.constant(1), 1 + g, at_zero=0)), at_zero=np.inf
)
OWN_FALSITY = Generated(lambda x: x.false, lambda on, g: Degree(on, false=g), at_zero=1)
OWN = {"cubic": OWN_CUBIC, "odds": OWN_ODDS, "falsity": OWN_FALSITY}


def named(prefixes: str, families: dict[str, tuple[str, ...]]) -> list[str]:
    """Return the names of the families' logics, `families` giving the parameters."""
    return [
        f"{prefix}-{family}({value})"
        for prefix in prefixes
        for family, values in families.items()
        for value in values
    ]


def both(names: tuple[str, ...]) -> list[str]:
    return [f"{prefix}-{name}" for prefix in "sr" for name in names]


def own(prefixes: str = "sr") -> list[Relaxation]:
    return [
        Relaxation(f"{prefix}-own-{name}", tnorm, "S" if prefix == "s" else "R")
        for prefix in prefixes
        for name, tnorm in OWN.items()
    ]


def resolved(names: list[str], extra: list[Relaxation]) -> list[Relaxation]:
    found = {logic.name: logic for logic in (relaxation(name) for name in names)}
    return [*found.values(), *extra]


LUKASIEWICZ = ["lukasiewicz", "lukasiewicz-maxsat"]
LOGICS = resolved(
    [
        *relaxation_names(),
        *LUKASIEWICZ,
        *both(UNPARAMETRISED),
        "s-drastic",
        *named("sr", PARAMETERS),
    ],
    own(),
)
MILD_LOGICS = resolved(
    [*LUKASIEWICZ, *both(UNPARAMETRISED), "s-drastic", *named("sr", MILD)], own()
)
TNORMS = [logic for logic in LOGICS if not logic.name.startswith("r-")]
RESIDUA = [logic for logic in LOGICS if logic.kind != "S"]
GENERATED = [logic for logic in TNORMS if logic.has_generator]

# The other rational logics are these, as the tests of limits show.
RATIONAL_TNORMS = [
    "product", "godel", "nilpotent-minimum",
    *(f"hamacher({value})" for value in ("0", "1/3", "2", "10")),
    *(f"sugeno-weber({value})" for value in ("-.999", "-1/2", ".5", "2", "1e9")),
]  # fmt: skip
_RATIONAL_OWN = ("own-odds", "own-falsity")
RATIONAL = resolved(
    [
        "lukasiewicz", "s-drastic", *both(tuple(RATIONAL_TNORMS)),
        "r-yager(1)", "r-dombi(1)", "r-schweizer-sklar(0)",
    ],
    [logic for logic in own() if logic.name.endswith(_RATIONAL_OWN)],
)  # fmt: skip
RATIONAL_RESIDUA = [logic for logic in RATIONAL if logic.kind != "S"]


def every(logics: list[Relaxation]) -> pytest.MarkDecorator:
    """Parametrize a test over logics, shown by their names."""
    return pytest.mark.parametrize("logic", logics, ids=lambda logic: logic.name[:32])


TINY = (5e-324, 1e-300, 1e-160, 1e-17)
SHORT_OF_ONE = (1 - 1e-12, 1 - 2**-52, 1 - 2**-53)
GRID = np.array(
    [0, *TINY, 1e-12, 1e-3, 0.1, 0.25, 1 / 3, 0.5, 0.6, 0.75, 0.9, 0.999, *SHORT_OF_ONE, 1]
)
X, Y = np.meshgrid(GRID, GRID, indexing="ij")


def value(text: str, logic: Relaxation | str, *degrees: object) -> object:
    """Return the truth of a formula in P, Q, R, S with these degrees, in order."""
    return truth(text, dict(zip("PQRS", degrees, strict=False)), logic)


STEP = 8 * 2.0**-52
"""What rounding may move a degree in [0, 1]: a few units in the last place of 1."""


def lower(x: np.ndarray) -> np.ndarray:
    return np.clip(x - STEP, 0, 1)


def higher(x: np.ndarray) -> np.ndarray:
    return np.clip(x + STEP, 0, 1)
