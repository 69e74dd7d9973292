"""A relaxation: the truth function of each connective, derived from a t-norm and S or R."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, final

from residuum.errors import UnknownRelaxationError
from residuum.logic.counting import Count
from residuum.relaxations.carriers import Carrier, Exact, Number
from residuum.relaxations.counting import counted
from residuum.relaxations.degrees import Degree
from residuum.relaxations.expressions import to_latex
from residuum.relaxations.rows import ListedRow
from residuum.relaxations.tnorms import Archimedean, Structure, TNorm

Kind = Literal["S", "R", "S and R"]


@final
@dataclass(frozen=True)
class Relaxation:
    """Truth functions of ¬, ∧, ∨, → and ↔ on degrees of truth.

    Negation is 1 − x and ∨ is dual to ∧. In an S-logic x → y is ¬x ∨ y, in an R-logic it is the
    residuum of ∧; x ↔ y is the ∧ of both implications. If `is_capped` is False, penalties of the
    outermost conjunction are added up without the limit g(0), as in weighted MAX-SAT.

    >>> import residuum as rs
    >>> logic = rs.relaxation("r-product")
    >>> logic.name
    'r-product'
    >>> rs.truth("P -> Q", {"P": 0.8, "Q": 0.4}, logic)
    0.5
    """

    name: str
    tnorm: TNorm
    kind: Kind
    is_capped: bool = True

    def __post_init__(self) -> None:
        if self.kind != "S" and self.tnorm.expressions.residuum is None:
            raise UnknownRelaxationError(
                f"`{self.name}`: expected a left-continuous t-norm for an R-logic, got one that is "
                "not; use its S-logic"
            )

    # Truth functions and penalties

    def negate(self, x: Degree) -> Degree:
        """Return the negation of a degree, ¬x."""
        return x.negated

    def conjoin(self, degrees: Sequence[Degree]) -> Degree:
        """Return the conjunction of one or more degrees."""
        return self.tnorm.conjoin_all(degrees)

    def disjoin(self, degrees: Sequence[Degree]) -> Degree:
        """Return the disjunction of one or more degrees: the dual of the conjunction."""
        return self.tnorm.conjoin_all([x.negated for x in degrees]).negated

    def imply(self, x: Degree, y: Degree) -> Degree:
        """Return x → y."""
        return self.disjoin((x.negated, y)) if self.kind == "S" else self.tnorm.residuum(x, y)

    def equate(self, x: Degree, y: Degree) -> Degree:
        """Return x ↔ y."""
        return self.tnorm.conjoin(self.imply(x, y), self.imply(y, x))

    def count(self, count: Count, degrees: Sequence[Degree]) -> Degree:
        """Return the degree to which a count of one or more degrees holds."""
        row = ListedRow(degrees)
        return counted(self.tnorm, count, row.degree, row)

    def penalty(self, x: Degree) -> Number:
        """Return the penalty of a degree: g(x) for a generator g, or 1 − x without one."""
        return self.tnorm.penalty(x)

    def conjoin_penalties(self, on: Carrier, penalties: Sequence[Number]) -> Number:
        """Return the penalty of a conjunction of rules from the penalties of the rules."""
        if not self.is_capped:
            return sum(penalties[1:], start=penalties[0])
        return self.tnorm.conjoin_penalties(on, penalties)

    # Properties

    @property
    def structure(self) -> Structure:
        """The structure of its t-norm: strict, nilpotent, idempotent, or not continuous."""
        return self.tnorm.structure

    @property
    def parameters(self) -> Mapping[str, Exact]:
        """The parameters in its expressions, by symbol."""
        return self.tnorm.parameters

    @property
    def source(self) -> str:
        """The authors who described its t-norm, and the year."""
        return self.tnorm.source

    @property
    def expressions(self) -> Mapping[str, str]:
        """The truth function of each connective and the penalty, as text in x and y."""
        written = self.tnorm.expressions
        implication = written.s_implication() if self.kind == "S" else str(written.residuum)
        return {
            "not": "1 - x",
            "and": written.conjunction,
            "or": written.disjunction,
            "implies": implication,
            "iff": "and(implies(x, y), implies(y, x))",
            "penalty": written.penalty,
        }

    @property
    def latex(self) -> Mapping[str, str]:
        """The truth function of each connective and the penalty in LaTeX."""
        return {
            name: r"(x \rightarrow y) \land (y \rightarrow x)"
            if name == "iff"
            else to_latex(expression)
            for name, expression in self.expressions.items()
        }

    @property
    def discontinuities(self) -> Mapping[str, str]:
        """Where connectives are discontinuous, as conditions on x and y."""
        jumps = self.tnorm.jumps
        found = {name: jumps[name].where for name in ("and", "or") if name in jumps}
        implication = jumps.get(self._implication)
        if implication is not None:
            found["implies"] = implication.where
            found["iff"] = jumps.get("iff", implication).where
        return found

    @property
    def is_subdifferentiable(self) -> Mapping[str, bool | None]:
        """Whether each connective is locally Lipschitz on the open cube (P1). None: unknown."""
        jumps, steep = self.tnorm.jumps, self.tnorm.is_steep

        def smooth(jump: str, steepness: str) -> bool | None:
            if jump in jumps and jumps[jump].inside:
                return False
            return None if steep[steepness] is None else not steep[steepness]

        lattice = smooth("and", "and")
        implies = smooth(self._implication, "and" if self.kind == "S" else "residuum")
        return {"not": True, "and": lattice, "or": lattice, "implies": implies, "iff": implies}

    @property
    def _implication(self) -> str:
        return "s-implies" if self.kind == "S" else "residuum"

    @property
    def has_generator(self) -> bool:
        """Whether its t-norm has an additive generator, which is the penalty."""
        return isinstance(self.tnorm, Archimedean)

    def __str__(self) -> str:
        return self.name
