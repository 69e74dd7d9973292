"""The relaxations of the paper as the textbook has them, on numbers with many digits.

Formulas are nested tuples; a number may be an mpmath number or a NumPy long double.
"""

from __future__ import annotations

from typing import Any

SHAPES: dict[str, Any] = {
    "P": "P",
    "~P": ("~", "P"),
    "P & Q": ("&", "P", "Q"),
    "P | Q": ("|", "P", "Q"),
    "P -> Q": ("->", "P", "Q"),
    "P & Q -> R": ("->", ("&", "P", "Q"), "R"),
    "P -> Q | R": ("->", "P", ("|", "Q", "R")),
    "(P -> Q) | ~R": ("|", ("->", "P", "Q"), ("~", "R")),
}


def truth(shape: Any, name: str, given: dict[str, Any], pick: Any) -> Any:
    """Return the degree of a formula; `pick(x <= y, then, otherwise)` chooses."""
    if isinstance(shape, str):
        return given[shape]
    x, *rest = (truth(part, name, given, pick) for part in shape[1:])
    if shape[0] == "~":
        return 1 - x
    (y,) = rest
    if shape[0] == "&":
        return conjunction(name, x, y, pick)
    if shape[0] == "|":
        return 1 - conjunction(name, 1 - x, 1 - y, pick)
    if name.startswith("s-"):
        return 1 - conjunction(name, x, 1 - y, pick)
    if name == "r-product":
        return pick(x <= y, 1 + 0 * x, y / x)
    return pick(x <= y, 1 + 0 * x, y if name == "r-godel" else 1 - x + y)


def conjunction(name: str, x: Any, y: Any, pick: Any) -> Any:
    if name.endswith("product"):
        return x * y
    if name.endswith("godel"):
        return pick(x <= y, x, y)
    return pick(x + y <= 1, 0 * x, x + y - 1)


def penalty(shape: Any, name: str, given: dict[str, Any], pick: Any, log: Any) -> Any:
    """Return the penalty of a formula whose outermost conjunction is left uncapped."""
    if name == "lukasiewicz-maxsat" and shape[0] == "&":
        return sum(penalty(part, name, given, pick, log) for part in shape[1:])
    found = truth(shape, name, given, pick)
    return -log(found) if name.endswith("product") else 1 - found


def largest_term(shape: Any, name: str, given: dict[str, Any], pick: Any, log: Any) -> Any:
    """Return the largest number that the penalty is a sum or difference of."""
    own = penalty(shape, name, given, pick, log)
    if not name.endswith("product"):  # falsities near 0 are differences of degrees near 1
        return own * 0 + 1
    if name != "r-product" or isinstance(shape, str):
        return own
    parts = [largest_term(part, name, given, pick, log) for part in shape[1:]]
    if shape[0] == "->":
        parts += [penalty(part, name, given, pick, log) for part in shape[1:]]
    for part in parts:
        own = pick(own <= part, part, own)
    return own
