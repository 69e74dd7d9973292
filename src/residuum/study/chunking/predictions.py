"""Files of predicted tags, as the shared task's script reads them: word … gold predicted."""

from __future__ import annotations

from residuum.errors import DataError
from residuum.study.chunking.columns import broken, sentences_in

Tags = list[list[str]]


def read_predictions(content: bytes, source: object) -> tuple[Tags, Tags]:
    """Return the gold tags and the predicted tags of each sentence: the last two columns.

    There may be any number of columns before them, the same in all lines.
    """
    gold: Tags = []
    predicted: Tags = []
    width = 0
    for lines in sentences_in(content, source):
        for number, columns in lines:
            width = width or len(columns)
            if len(columns) < 2:
                raise broken(source, number, "a gold tag and a predicted one", "1 column")
            if len(columns) != width:
                expected = f"{width} columns, as in the lines before"
                raise broken(source, number, expected, f"{len(columns)}")
            for tag in columns[-2:]:
                if not _is_tag(tag):
                    raise broken(source, number, "tags such as B-NP, I-NP and O", f"`{tag}`")
        gold.append([columns[-2] for _, columns in lines])
        predicted.append([columns[-1] for _, columns in lines])
    if not gold:
        raise DataError(f"`{source}`: expected one sentence at least, found none")
    return gold, predicted


def _is_tag(tag: str) -> bool:
    prefix, _, kind = tag.partition("-")
    return tag == "O" or (prefix in ("B", "I") and kind != "")
