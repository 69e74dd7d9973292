"""The directive `names`: the docstrings of a group of `residuum.__all__`."""

import inspect
import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.docutils import SphinxDirective

import residuum

EXACTLY = "probability, marginals, decode, sample, count, entropy, log_likelihood"
ASKED = "satisfied, violations, metrics, diagnose"
MEMBERS = {
    "CompiledRule": f"forward, {ASKED}, truth, coverage, each, explain, {EXACTLY}, formula, "
    "weight, epoch, set_process_group",
    "CompiledKnowledge": f"forward, total, penalties, {ASKED}, truth, coverage, explain, "
    f"{EXACTLY}, rules, weights, epoch, set_process_group",
    "Theory": f"forward, {ASKED}, {EXACTLY}, freeze, unfreeze, relaxation, weight, epoch, "
    "set_process_group",
    "CircuitLoss": f"forward, {EXACTLY}",
}
"""What users call, where a class has other methods that only the package needs."""

MADE_BY_A_FUNCTION = {"CompiledRule", "CompiledKnowledge", "Consistency", "RuleCheck", "Verdict"}
"""Classes whose constructor nobody calls."""


def groups() -> dict[str, list[str]]:
    """Return the names of `residuum.__all__` by the comment above them."""
    door = Path(residuum.__file__).read_text(encoding="utf-8")
    [listed] = re.findall(r"__all__ = \[.*?\n(.*?)\]", door, re.DOTALL)
    parts = re.split(r"^ *# (.*)\n", listed, flags=re.MULTILINE)[1:]
    return {
        heading: re.findall(r'"(\w+)"', names)
        for heading, names in zip(parts[::2], parts[1::2], strict=True)
    }


def directive_of(name: str) -> list[str]:
    """Return the reStructuredText that shows the docstring of a name and of its members."""
    thing = getattr(residuum, name)
    whole = f"residuum.{name}"
    if inspect.ismodule(thing):
        return [f".. automodule:: {whole}", "   :members:", "   :show-inheritance:"]
    if isinstance(thing, type) and issubclass(thing, Exception):
        return [f".. autoexception:: {whole}"]
    if isinstance(thing, type):
        lines = [f".. autoclass:: {whole}", f"   :members: {MEMBERS.get(name, '')}"]
        return [*lines, "   :exclude-members: sort_with", "   :class-doc-from: class"]
    kind = "autofunction" if callable(thing) else "autodata"
    return [f".. {kind}:: {whole}", *(["   :no-value:"] if kind == "autodata" else [])]


class Names(SphinxDirective):
    """Show the docstrings of a group."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        known = groups()
        if self.arguments[0] not in known:
            raise self.error(f"expected a group of residuum.__all__: {', '.join(known)}")
        lines = ["```{eval-rst}"]
        for name in known[self.arguments[0]]:
            lines += [*directive_of(name), ""]
        return self.parse_text_to_nodes("\n".join([*lines, "```"]))


def as_restructured_text(_app: Sphinx, _kind: str, _name: str, *rest: object) -> None:
    """Change the lines of a docstring where Markdown and reStructuredText differ."""
    lines = rest[-1]
    assert isinstance(lines, list)
    for number, line in enumerate(lines):
        closed = re.sub(r"(`[^`]+`)(?=\w)", r"\1\\ ", line)  # `Fraction`s
        lines[number] = re.sub(r"(?<![`\w*])\*(?=\w)", r"\\*", closed)  # (rules, *batch)


def without_constructor(
    _app: Sphinx, kind: str, name: str, *_rest: object
) -> tuple[str, None] | None:
    """Show no constructor of a class whose objects a function returns."""
    return ("", None) if kind == "class" and name.split(".")[-1] in MADE_BY_A_FUNCTION else None


def in_one_signature(_app: Sphinx) -> None:
    """Show `compile` with all its options, rather than once for each overload."""
    analyzer = ModuleAnalyzer.for_module("residuum.losses.compile")
    analyzer.analyze()
    analyzer.overloads.clear()


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive, and read docstrings as they are written."""
    app.add_directive("names", Names)
    app.connect("autodoc-process-docstring", as_restructured_text)
    app.connect("autodoc-process-signature", without_constructor)
    app.connect("builder-inited", in_one_signature)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
