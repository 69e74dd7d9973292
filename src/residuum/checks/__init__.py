"""Rules that contradict each other, rules that follow from others, and reasoning shortcuts."""

from residuum.checks.checking import check as check
from residuum.checks.checking import check_steps as check_steps
from residuum.checks.findings import Contradiction as Contradiction
from residuum.checks.findings import Entailed as Entailed
from residuum.checks.findings import RuleCheck as RuleCheck
from residuum.checks.reasoning_shortcuts import Shortcuts as Shortcuts
from residuum.checks.reasoning_shortcuts import shortcuts as shortcuts
