"""`residuum score`: precision, recall and F1 of chunks, as `conlleval` counts them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from residuum.cli.inputs import AsJson
from residuum.cli.outputs import print_json, print_table, say

if TYPE_CHECKING:
    from residuum.study.chunking.scoring import Score, Tally


def score(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="Lines of `word … gold predicted`, a blank line between sentences; "
            "'-' reads standard input.",
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Score predicted chunk tags, in percent.

    \b
    residuum score predictions.txt
    residuum score --json - < predictions.txt
    """
    from residuum.study.chunking.data.columns import read_predictions
    from residuum.study.chunking.scoring import score as score_of
    from residuum.study.data_files import unpack

    if file == "-":
        content, source = sys.stdin.buffer.read(), "standard input"
    else:
        content, source = unpack(Path(file)), file
    found = score_of(*read_predictions(content, source))
    if as_json:
        print_json(_score_object(found))
    else:
        _print_score(found)


def _score_object(found: Score) -> dict[str, object]:
    types = {kind: _shares(tally) | {"support": tally.gold} for kind, tally in found.types.items()}
    return {**_shares(found.overall), "accuracy": found.accuracy, "types": types}


def _shares(tally: Tally) -> dict[str, float]:
    return {"precision": tally.precision, "recall": tally.recall, "f1": tally.f1}


def _print_score(found: Score) -> None:
    heads = ("chunk", "precision", "recall", "F1", "found", "there", "right")
    rows = {**found.types, "all": found.overall}
    print_table(heads, [(name, *_tally_cells(tally)) for name, tally in rows.items()])
    say(f"{found.tags:,} tags in {len(found.sentences):,} sentences, {found.accuracy:.2f}% right")


def _tally_cells(tally: Tally) -> tuple[str, ...]:
    shares = (f"{share:.2f}" for share in _shares(tally).values())
    return (*shares, f"{tally.guessed:,}", f"{tally.gold:,}", f"{tally.correct:,}")
