"""One grammar for Python, the command line and rule files."""

from residuum.syntax.knowledge import Domain as Domain
from residuum.syntax.knowledge import Facts as Facts
from residuum.syntax.knowledge import Function as Function
from residuum.syntax.knowledge import Knowledge as Knowledge
from residuum.syntax.knowledge import Predicate as Predicate
from residuum.syntax.knowledge import Rule as Rule
from residuum.syntax.parsing import as_formula as as_formula
from residuum.syntax.parsing import parse as parse
from residuum.syntax.rule_files import load as load
from residuum.syntax.rule_files import loads as loads
