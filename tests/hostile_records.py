"""Records that a store takes and a study cannot use, and records full of hostile text."""

import math
from dataclasses import replace

import numpy as np

from residuum.results import Curve, Divergence

WRONG = (
    None, True, False, -1, 0, 1, 0.5, 1e-320, 1.7e308, 2**1000, "", "abc", "\x1b[31m", "12",
)  # fmt: skip
NO_NUMBERS = (math.nan, math.inf, -math.inf)


def damaged(record):
    """Copies of a sound record, each with one thing missing or wrong."""
    known = dict(record.configuration)
    for name in known:
        yield replace(record, configuration=without(known, name))
        for value in WRONG:
            yield replace(record, configuration={**known, name: value})
    yield replace(record, configuration={})
    lost = replace(record, measures={}, outcomes={}, diverged=Divergence(1, ["parameters"]))
    for place, curves in enumerate(
        (record.curves, {}, dict.fromkeys(record.curves, Curve([], [])))
    ):
        yield replace(lost, curves=curves, configuration={**known, "seed": 1000 + place})
    yield replace(record, configuration={**known, "unheard of": 1})
    yield from (replace(record, **{kind: {}}) for kind in ("measures", "curves", "outcomes"))
    for name in record.measures:
        yield replace(record, measures=without(record.measures, name))
        for value in NO_NUMBERS:
            yield replace(record, measures={**record.measures, name: value})
    for name, curve in record.curves.items():
        yield replace(record, curves=without(record.curves, name))
        others = [Curve([], []), Curve([0], [1.0]), *(Curve([10**9], [v]) for v in NO_NUMBERS)]
        others.append(Curve([*curve.epochs, 10**6], [*curve.values, math.nan]))
        yield from (replace(record, curves={**record.curves, name: other}) for other in others)
    for name, outcomes in record.outcomes.items():
        yield replace(record, outcomes=without(record.outcomes, name))
        for other in (outcomes[:0], outcomes[:1], outcomes[:-1], np.zeros_like(outcomes)):
            yield replace(record, outcomes={**record.outcomes, name: other})
        other = outcomes.astype(np.uint8 if outcomes.dtype == np.bool_ else np.bool_)
        yield replace(record, outcomes={**record.outcomes, name: other})
    shorter = {name: outcomes[: len(outcomes) // 2] for name, outcomes in record.outcomes.items()}
    yield replace(record, outcomes=shorter)
    yield replace(record, outcomes=dict.fromkeys(record.outcomes, np.zeros(0, np.bool_)))


def without(mapping, name):
    return {key: value for key, value in mapping.items() if key != name}


HOSTILE = (
    '"><script>document.title="owned"</script>',
    "<img src=x onerror=alert(1)>",
    "' onload='alert(1)",
    "javascript:alert(1)",
    "]]><svg onload=alert(1)>",
    "-->{{ 7 * 7 }}{% raw %}",
    "$\\frac{1}{0}$ $x_1$ \\input{/etc/passwd}",
    "_hidden",
    "a\nb\r\n\\end{tabular}\x00\x1b[31m\x07\u202eabc\u2028",
    "../../../etc/passwd",
    "/etc/passwd",
    "con",
    "=cmd|' /C calc'!A0",
    "x" * 5000,
    "; touch owned; $(touch owned) `touch owned`",
    'id="b" 3.14159 url(#a)',
    "#010101 font-family: x; ",
)
"""Text that means something to HTML, SVG, LaTeX, CSV, Jinja, a shell or a file system."""


def hostile(record, number):
    """The record with hostile text wherever a study takes any text, and in its environment."""
    text = HOSTILE[number % len(HOSTILE)]
    known = dict(record.configuration)
    free = {name: text for name in ("corpus", "embeddings") if name in known}
    extra = {text: text} if number % 3 == 0 else {}
    environment = dict.fromkeys(("device", "torch", "python", "residuum", text), text)
    return replace(record, configuration={**known, **free, **extra}, environment=environment)
