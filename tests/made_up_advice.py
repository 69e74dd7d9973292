"""Measurements of advice that are made up."""

from residuum.advice import Measured


def measured(relaxation, mended=0.5, **others):
    usual = {
        "rule": "r", "sample": "s", "examples": 1, "groundings": 1, "bytes": 4, "violated": 0.1,
        "stuck": 0.0, "raising": 0.5, "evaded": 0.0,
    }  # fmt: skip
    return Measured(relaxation=relaxation, mended=mended, **{**usual, **others})
