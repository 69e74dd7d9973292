"""Rules that contradict each other, rules that follow from others, and reasoning shortcuts."""

from typing import TYPE_CHECKING

from residuum.doors import door

if TYPE_CHECKING:
    from residuum.checks.checking import check as check
    from residuum.checks.checking import check_steps as check_steps
    from residuum.checks.findings import Contradiction as Contradiction
    from residuum.checks.findings import Entailed as Entailed
    from residuum.checks.findings import RuleCheck as RuleCheck
    from residuum.checks.reasoning_shortcuts import Shortcuts as Shortcuts
    from residuum.checks.reasoning_shortcuts import shortcuts as shortcuts
else:
    __getattr__ = door(
        __name__,
        {
            "Contradiction": "residuum.checks.findings",
            "Entailed": "residuum.checks.findings",
            "RuleCheck": "residuum.checks.findings",
            "Shortcuts": "residuum.checks.reasoning_shortcuts",
            "check": "residuum.checks.checking",
            "check_steps": "residuum.checks.checking",
            "shortcuts": "residuum.checks.reasoning_shortcuts",
        },
    )
