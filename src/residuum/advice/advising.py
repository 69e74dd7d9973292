"""Advice, step by step: what is known so far can be asked for at any time."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Final

from residuum.advice.fitting import draw_fitted, fit, groundings_by_rule
from residuum.advice.forms import existential
from residuum.advice.made_up import unweighted
from residuum.advice.measuring import Measured, measure
from residuum.advice.recommending import PREFERENCE, Advice, recommend
from residuum.advice.rehearsing import Rehearsal, Rehearsed
from residuum.advice.samples import Sample
from residuum.advice.traps import MANY, Trap, traps_of_measurements, traps_of_rules
from residuum.relaxations import Relaxation, relaxation
from residuum.relaxations.catalogue import EXACT
from residuum.syntax import Knowledge

SECONDS: Final = 45.0
"""Rehearsals end after so many seconds, and no measurement is begun later."""

MOST_RULES: Final = 8
"""The most rules that are measured one by one."""

REWRITTEN: Final = ("s-product", "r-product")
"""The relaxations under which rules are rehearsed in another form."""

NO_LABELS: Final = (
    "The sample has no labels: one example in eight was taken as labelled; if you train with other "
    "labels, add them as `label:NAME`"
)

OVERS: Final = ("mean", "p-mean(2)", "log-mean-exp(1)", "worst(10%)")
"""The aggregators over groundings that are rehearsed, beside the conjunction."""


class Consultation:
    """Advice about the rules of a knowledge on one or more samples of predictions.

    The first sample is rehearsed; without samples predictions are drawn. `relaxations` are tried
    in the order of preference, and `exact` too where its circuit is small, unless `with_exact` is
    False. Rehearsals end after so many `seconds`; all else is bounded in work.
    """

    def __init__(
        self,
        knowledge: Knowledge,
        samples: Sequence[Sample],
        relaxations: Sequence[Relaxation],
        *,
        with_exact: bool = True,
        seconds: float = SECONDS,
    ) -> None:
        self._asked = knowledge
        self._given = samples
        chosen = [one for one in relaxations if one != EXACT]
        self._relaxations = sorted(chosen, key=_place)
        self._with_exact = with_exact
        self._seconds = seconds
        self._forms: dict[str, str] = {}
        self._remarks: list[str] = []
        self._skipped: list[str] = []
        self._why_not = ""
        self._traps: list[Trap] = []
        self.measured: list[Measured] = []
        self.rehearsed: list[Rehearsed] = []
        self.rewritten: list[Rehearsed] = []
        self.aggregated: dict[str, Rehearsed] = {}
        self.count = count_parts(knowledge, chosen, samples=len(samples) or 2)

    def steps(self) -> Iterator[None]:
        """Do the work, and yield after each of at most `count` parts of it."""
        until = time.monotonic() + self._seconds
        fitted = [fit(self._asked, one) for one in self._given] or draw_fitted(self._asked)
        knowledge, sample, left_out = fitted[0]
        self._remarks += [f"To save time: {one}" for one in left_out]
        if self._given and not sample.labels and not sample.observed:
            self._remarks.append(NO_LABELS)
        self._traps += traps_of_rules(self._asked, knowledge, sample)
        yield
        self._why_not = _why_not(knowledge, sample)
        if not self._why_not:
            yield from self._rehearse(knowledge, sample, until)
        rules = list(knowledge.rules)[:MOST_RULES]
        if len(rules) < len(self._asked.rules):
            self._remarks.append(f"{len(rules)} of {len(self._asked.rules)} rules are measured")
        for one in fitted:
            for rule in rules:
                if time.monotonic() < until and rule in one.knowledge.rules:
                    self.measured += measure(one.knowledge, rule, one.sample, self._relaxations)
                yield

    def _rehearse(self, knowledge: Knowledge, sample: Sample, until: float) -> Iterator[None]:
        rehearsal = Rehearsal(knowledge, sample)
        first, others = self._relaxations[:1], self._relaxations[1:]
        yield from self._try_out(rehearsal, [None, *first], until)
        if self._with_exact and (time.monotonic() > until or rehearsal.is_feasible()):
            yield from self._try_out(rehearsal, [EXACT], until)
        elif self._with_exact:
            self._remarks.append("`exact` is left out: its circuit is too large to try")
        yield from self._try_out(rehearsal, others, until)
        yield from self._aggregate(rehearsal, knowledge, sample, until)
        changed, forms = existential(knowledge, sample)
        if forms:
            self._forms = forms
            rehearsal = Rehearsal(changed, sample)
            for name in REWRITTEN:
                result = rehearsal.try_out(relaxation(name), until)
                self.rewritten += [] if result is None else [result]
                yield

    def _aggregate(
        self, rehearsal: Rehearsal, knowledge: Knowledge, sample: Sample, until: float
    ) -> Iterator[None]:
        """Rehearse other aggregators, if there are many groundings or if their number varies."""
        most = max(groundings_by_rule(knowledge, sample).values(), default=0)
        if self._relaxations and (most >= MANY or sample.lengths is not None):
            best = recommend(self.rehearsed).relaxation
            one = self._relaxations[0] if best in (None, EXACT.name) else relaxation(str(best))
            for over in OVERS:
                result = rehearsal.try_out(one, until, over=over)
                self.aggregated |= {} if result is None else {over: result}
                yield

    def _try_out(
        self, rehearsal: Rehearsal, relaxations: Sequence[Relaxation | None], until: float
    ) -> Iterator[None]:
        for one in relaxations:
            result = rehearsal.try_out(one, until)
            if result is not None:
                self.rehearsed.append(result)
            elif one is not None:
                self._skipped.append(one.name)
            yield

    def advice(self, remarks: Sequence[str] = ()) -> Advice:
        """Return the advice that follows from what is known."""
        late = [f"Time was up before {', '.join(self._skipped)} could be rehearsed"]
        traps = [*self._traps, *traps_of_measurements(self.measured)]
        if self._why_not:
            return Advice(None, (self._why_not, *self._remarks, *remarks), {}, tuple(traps))
        return recommend(
            self.rehearsed,
            self.rewritten,
            self._forms,
            aggregated=self.aggregated,
            traps=traps,
            remarks=[*self._remarks, *(late if self._skipped else []), *remarks],
        )


def _why_not(knowledge: Knowledge, sample: Sample) -> str:
    """Return why there is nothing to rehearse, or an empty text."""
    if len({len(one) for one in (*sample.logits.values(), *sample.observed.values())}) > 1:
        return "Rules read different numbers of examples, and are not rehearsed together"
    answers = unweighted(knowledge, "s-product").satisfied(
        sample.logits, lengths=sample.lengths, observed=sample.observed
    )
    if all(bool(obeyed.all()) for obeyed in answers.values()):
        return "No grounding is violated here, so that nothing tells the relaxations apart"
    return ""


def count_parts(knowledge: Knowledge, relaxations: Sequence[Relaxation], *, samples: int) -> int:
    """Return how many parts the work has, at most."""
    rehearsals = 1 + len(relaxations) + 1 + len(OVERS) + len(REWRITTEN)  # with none and exact
    return 1 + rehearsals + samples * min(MOST_RULES, len(knowledge.rules))


def _place(one: Relaxation) -> int:
    return PREFERENCE.index(one.name) if one.name in PREFERENCE else len(PREFERENCE)
