"""`residuum check`: all problems of a rule file, and what its rules say together."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from residuum import checks
from residuum.checks.wording import (
    scope_of,
    tell_contradiction,
    tell_entailed,
    tell_unchecked,
)
from residuum.cli.errors import MISTAKE, print_error
from residuum.cli.inputs import AsJson
from residuum.cli.outputs import print_json, say
from residuum.cli.progress import with_progress
from residuum.errors import KnowledgeError
from residuum.limits import MOST_SHOWN
from residuum.syntax import Knowledge, load

if TYPE_CHECKING:
    from residuum.checks import Contradiction, RuleCheck


def check(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A rule file (.rsd), DIMACS CNF (.cnf) or clauses."),
    ],
    as_json: AsJson = False,
) -> None:
    """Check a file of rules or clauses, and list all its problems.

    Rules that contradict each other are an error. Rules that follow from others are listed. Open
    domains have one member here, and sequences have 1 to 4 positions. What would take too long is
    listed as not checked.

    \b
    residuum check digits.rsd
    residuum check --json rules.cnf
    """
    try:
        knowledge = load(file)
    except KnowledgeError as error:
        if not as_json:
            raise
        found = [{"line": p.line, "column": p.column, "message": p.message} for p in error.problems]
        print_json({"ok": False, "errors": found})
        raise typer.Exit(MISTAKE) from None
    steps = with_progress(checks.check_steps(knowledge), len(knowledge.rules) + 1, "checking")
    *_, checked = steps
    assert checked is not None
    if as_json:
        print_json(_as_json(checked))
    else:
        if checked.is_consistent:
            say(f"{file}: no mistakes found in {_contents(knowledge)}")
        for line in _remarks(checked):
            say(line)
    if not checked.is_consistent:
        if not as_json:
            print_error("\n".join([f"{file}: rules contradict each other", *_errors(checked)]))
        raise typer.Exit(MISTAKE)


def _contents(knowledge: Knowledge) -> str:
    counted = {
        "domain": len(knowledge.domains),
        "function": len(knowledge.functions),
        "predicate": len(knowledge.predicates),
        **({"quantity": len(knowledge.quantities)} if knowledge.quantities else {}),
        "set of facts": len(knowledge.facts),
        "rule": len(knowledge.rules),
    }
    plurals = {"set of facts": "sets of facts", "quantity": "quantities"}
    return ", ".join(
        f"{count} {name if count == 1 else plurals.get(name, name + 's')}"
        for name, count in counted.items()
    )


def _as_json(checked: RuleCheck) -> dict[str, Any]:
    return {
        "ok": checked.is_consistent,
        "errors": [],
        "contradictions": [
            {
                "rules": one.rules,
                "lengths": one.lengths,
                "at_every_length": one.at_every_length,
                "minimal": one.is_minimal,
            }
            for one in checked.contradictions
        ],
        "entailed": [
            {"rule": one.rule, "by": one.by, "minimal": one.is_minimal} for one in checked.entailed
        ],
        "not_checked": [
            {"rule": rule, "reason": reason} for rule, reason in checked.unchecked.items()
        ],
        "lengths": checked.lengths,
        "open_domains": checked.open_domains,
    }


def _errors(checked: RuleCheck) -> list[str]:
    found = [one for one in checked.contradictions if one.at_every_length]
    return [f"{tell_contradiction(one)}. Change {_one_of(one)}." for one in found]


def _one_of(found: Contradiction) -> str:
    return "it" if len(found.rules) == 1 else "one of them"


def _remarks(checked: RuleCheck) -> Iterator[str]:
    for contradiction in checked.contradictions:
        if not contradiction.at_every_length:
            yield tell_contradiction(contradiction)
    for entailed in checked.entailed[:MOST_SHOWN]:
        yield tell_entailed(entailed)
    if len(checked.entailed) > MOST_SHOWN:
        more = len(checked.entailed) - MOST_SHOWN
        yield f"… and {more:,} more rules follow from others; --json lists them"
    yield from tell_unchecked(checked)
    scope = scope_of(checked)
    if scope:
        yield f"contradictions and redundant rules: checked with {scope}"
