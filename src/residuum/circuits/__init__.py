"""Circuits: a rule over discrete variables in a form in which its probability is quick to compute.

A circuit is built once for a rule and then evaluated for each batch. `circuit.py` says what a
circuit is; `loading.py` reads circuits that other programs compiled.
"""

from residuum.circuits.circuit import Circuit as Circuit
from residuum.circuits.counting import count as count
from residuum.circuits.counting import weighted_count as weighted_count
from residuum.circuits.loading import load_circuit as load_circuit
from residuum.circuits.smoothing import smoothed as smoothed
