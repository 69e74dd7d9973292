"""The directive `grammar`: the rules of `grammar.lark` as EBNF, read when the pages are built."""

import re
from importlib.resources import files

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

WORDS = {
    "_AT": '"at"',
    "COUNTING": '"least" | "most" | "exactly"',
    "_OF": '"of"',
    "HIDDEN": '"hidden"',
    "EXCLUSIVE": '"exclusive" | "softmax"',
    "_SCALE": '"scale"',
    "SMOOTHING": '"logistic" | "ramp"',
    "_OVER": '"over"',
    "_TERM_BRACKET": '"("',
}
"""What the parser tells from its neighbours, and the grammar therefore only declares."""


def text_of_grammar() -> str:
    """Return the grammar that the package parses with."""
    return files("residuum.syntax").joinpath("grammar.lark").read_text(encoding="utf-8")


def as_ebnf(grammar: str) -> str:
    """Return the rules and the terminals of a Lark grammar in EBNF."""
    lines = [line for line in grammar.splitlines() if not re.match(r"//|%|\s*$", line)]
    rules = re.sub(r"\n\s+", " ", "\n".join(lines)).splitlines()
    declared = [f"{name}: {spelt}" for name, spelt in WORDS.items()]
    return "\n".join(_shown(rule) for rule in [*rules, *declared])


def _shown(rule: str) -> str:
    name, _, body = rule.partition(":")
    body = re.sub(r"\s*->\s*\w+(?=\s|$)", "", body)  # names of nodes
    body = re.sub(r"\(\?!\\w\)|\(\?!=\)", "", body)  # what may not follow a word
    branches = (
        re.split(r"\s\|\s(?![^(\[]*[)\]])", f" {body.strip()}") if "/" not in body else [body]
    )
    name = _named(re.sub(r"\.\d$", "", name.lstrip("?")))
    first, *rest = (_named(branch.strip()) for branch in branches)
    return "\n".join([f"{name} = {first}", *(f"    | {branch}" for branch in rest)])


def _named(text: str) -> str:
    """Return text with terminals named as they are read: `_IMPLIES` as `IMPLIES`."""
    return re.sub(r"(?<![\w\"/])_(?=[A-Za-z])", "", text)


class Grammar(SphinxDirective):
    """Show the grammar."""

    def run(self) -> list[nodes.Node]:
        shown = as_ebnf(text_of_grammar())
        return [nodes.literal_block(shown, shown, language="text")]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("grammar", Grammar)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
