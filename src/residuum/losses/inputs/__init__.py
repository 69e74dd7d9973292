"""The inputs of a rule: tensors, lengths of sequences, and what their shapes decide."""

from typing import TYPE_CHECKING

from residuum.doors import door

if TYPE_CHECKING:
    from residuum.losses.inputs import numbers as numbers
else:
    __getattr__ = door(__name__)
