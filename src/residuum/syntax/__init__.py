"""One grammar for Python, the command line and rule files."""

from residuum.syntax.asking import atoms_of as atoms_of
from residuum.syntax.asking import depth as depth
from residuum.syntax.asking import evaluate as evaluate
from residuum.syntax.asking import expand as expand
from residuum.syntax.asking import free_variables as free_variables
from residuum.syntax.asking import is_satisfiable as is_satisfiable
from residuum.syntax.asking import is_tautology as is_tautology
from residuum.syntax.asking import negation_normal_form as negation_normal_form
from residuum.syntax.asking import render as render
from residuum.syntax.asking import size as size
from residuum.syntax.asking import substitute as substitute
from residuum.syntax.knowledge import Domain as Domain
from residuum.syntax.knowledge import Facts as Facts
from residuum.syntax.knowledge import Function as Function
from residuum.syntax.knowledge import Knowledge as Knowledge
from residuum.syntax.knowledge import Predicate as Predicate
from residuum.syntax.knowledge import Quantity as Quantity
from residuum.syntax.knowledge import Rule as Rule
from residuum.syntax.loading import load as load
from residuum.syntax.loading import loads as loads
from residuum.syntax.parsing import as_formula as as_formula
from residuum.syntax.parsing import parse as parse
