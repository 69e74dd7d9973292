"""How much truth a relaxation preserves: integrals over the unit cube, exactly where possible."""

from residuum.analysis.closed_forms import ClosedForm as ClosedForm
from residuum.analysis.criteria import Properties as Properties
from residuum.analysis.criteria import properties as properties
from residuum.analysis.diagnostics import Gradients as Gradients
from residuum.analysis.diagnostics import gradients as gradients
from residuum.analysis.integrals import METHODS as METHODS
from residuum.analysis.integrals import consistency as consistency
from residuum.analysis.integrals import self_consistency as self_consistency
from residuum.analysis.results import Consistency as Consistency
from residuum.analysis.tautologies import Cell as Cell
from residuum.analysis.tautologies import Row as Row
from residuum.analysis.tautologies import catalogue as catalogue
from residuum.analysis.tautologies import tautology_table as tautology_table
