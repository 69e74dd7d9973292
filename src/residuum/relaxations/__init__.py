"""Relaxations: the connectives on degrees of truth, written once for every kind of number."""

from residuum.relaxations.carriers import FLOATS as FLOATS
from residuum.relaxations.carriers import FRACTIONS as FRACTIONS
from residuum.relaxations.carriers import Carrier as Carrier
from residuum.relaxations.catalogue import DEFAULT as DEFAULT
from residuum.relaxations.catalogue import PAPER as PAPER
from residuum.relaxations.catalogue import Parameter as Parameter
from residuum.relaxations.catalogue import default_relaxations as default_relaxations
from residuum.relaxations.catalogue import is_built_in as is_built_in
from residuum.relaxations.catalogue import parameter_of as parameter_of
from residuum.relaxations.catalogue import register as register
from residuum.relaxations.catalogue import relaxation as relaxation
from residuum.relaxations.catalogue import relaxation_names as relaxation_names
from residuum.relaxations.degrees import Degree as Degree
from residuum.relaxations.evaluation import interpret as interpret
from residuum.relaxations.evaluation import truth as truth
from residuum.relaxations.generated import Generated as Generated
from residuum.relaxations.logics import Relaxation as Relaxation
from residuum.relaxations.tnorms import TNorm as TNorm
