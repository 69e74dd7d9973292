"""How much truth a relaxation preserves: mean degrees of formulas, exact if possible."""

from residuum.analysis.closed_forms.numbers import ClosedForm as ClosedForm
from residuum.analysis.consistency import METHODS as METHODS
from residuum.analysis.consistency import consistency as consistency
from residuum.analysis.consistency import self_consistency as self_consistency
from residuum.analysis.gradients import Gradients as Gradients
from residuum.analysis.gradients import gradients as gradients
from residuum.analysis.properties import Properties as Properties
from residuum.analysis.properties import properties as properties
from residuum.analysis.results import Consistency as Consistency
from residuum.analysis.tautologies import Cell as Cell
from residuum.analysis.tautologies import Row as Row
from residuum.analysis.tautologies import catalogue as catalogue
from residuum.analysis.tautologies import tautology_table as tautology_table
