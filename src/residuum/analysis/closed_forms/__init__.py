"""Closed forms of integrals: antiderivatives, and the numbers they lead to.

The antiderivatives load when they are first needed.
"""

from typing import TYPE_CHECKING

from residuum.doors import door

if TYPE_CHECKING:
    from residuum.analysis.closed_forms import antiderivatives as antiderivatives
else:
    __getattr__ = door(__name__)
