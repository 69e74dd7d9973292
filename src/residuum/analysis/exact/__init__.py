"""Exact methods for logics with few values, orderings, polynomials or linear pieces.

A method loads when it is first tried.
"""

from typing import TYPE_CHECKING

from residuum.doors import door

if TYPE_CHECKING:
    from residuum.analysis.exact import moments as moments
    from residuum.analysis.exact import orderings as orderings
    from residuum.analysis.exact import polynomials as polynomials
    from residuum.analysis.exact import simplices as simplices
    from residuum.analysis.exact import three_valued as three_valued
else:
    __getattr__ = door(__name__)
