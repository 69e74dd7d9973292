"""Rules that contradict each other, and rules that follow from others."""

from residuum.checks.checking import check as check
from residuum.checks.checking import check_steps as check_steps
from residuum.checks.findings import Contradiction as Contradiction
from residuum.checks.findings import Entailed as Entailed
from residuum.checks.findings import RuleCheck as RuleCheck
