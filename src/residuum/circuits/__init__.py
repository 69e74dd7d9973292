"""Circuits: a rule over discrete variables in a form in which its probability is quick to compute.

A circuit is built once for a rule and then evaluated for each batch. `circuit.py` says what a
circuit is.
"""
