"""`residuum check`: all problems of a rule file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from residuum.cli.errors import MISTAKE
from residuum.cli.inputs import AsJson
from residuum.cli.outputs import print_json, say
from residuum.errors import KnowledgeError
from residuum.syntax import Knowledge, load


def check(
    file: Annotated[Path, typer.Argument(metavar="FILE.rsd", help="A rule file.")],
    as_json: AsJson = False,
) -> None:
    """Check a rule file and list all its problems.

    \b
    residuum check digits.rsd
    residuum check --json digits.rsd
    """
    try:
        knowledge = load(file)
    except KnowledgeError as error:
        if not as_json:
            raise
        found = [{"line": p.line, "column": p.column, "message": p.message} for p in error.problems]
        print_json({"ok": False, "errors": found})
        raise typer.Exit(MISTAKE) from None
    if as_json:
        print_json({"ok": True, "errors": []})
    else:
        say(f"{file}: in order: {_contents(knowledge)}")


def _contents(knowledge: Knowledge) -> str:
    counted = {
        "domain": len(knowledge.domains),
        "function": len(knowledge.functions),
        "predicate": len(knowledge.predicates),
        "set of facts": len(knowledge.facts),
        "rule": len(knowledge.rules),
    }
    plurals = {"set of facts": "sets of facts"}
    return ", ".join(
        f"{count} {name if count == 1 else plurals.get(name, name + 's')}"
        for name, count in counted.items()
    )
