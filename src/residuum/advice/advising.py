"""Advice, step by step: what is known so far can be asked for at any time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from residuum.advice.closing import relating_rules
from residuum.advice.fitting import (
    Fitted,
    draw_fitted,
    fewer_rules,
    fit,
    groundings_by_rule,
)
from residuum.advice.forms import existential
from residuum.advice.made_up import unweighted
from residuum.advice.measuring import Measured, measure
from residuum.advice.recommending import PREFERENCE, Advice, recommend
from residuum.advice.rehearsing import Rehearsal, Rehearsed, is_feasible
from residuum.advice.samples import Sample, read_sample, unseen_predicates
from residuum.advice.tables import Tables, read_tables
from residuum.advice.traps import MANY, Trap, traps_of_measurements, traps_of_rules
from residuum.advice.work import Budget, Counting
from residuum.advice.worlds import Settled, settle
from residuum.losses.degrees.logits import Form
from residuum.relaxations import Relaxation, relaxation
from residuum.relaxations.catalogue import EXACT
from residuum.syntax import Knowledge

WORK: Final = 3e10
"""The most work of all rehearsals (`work.py`): about 15 seconds."""

MEASURING: Final = 5e9
"""The most work of measurements, which are begun as long as some of it is left."""

SECONDS: Final = 50.0
"""No more is begun after so many seconds of computing, on machines that are very slow."""

MOST_RULES: Final = 8
"""The most rules that are measured one by one."""

REWRITTEN: Final = ("s-product", "r-product")
"""The relaxations under which rules are rehearsed in another form."""

NO_LABELS: Final = (
    "The sample has no labels: one example in eight was taken as labelled; if you train with other "
    "labels, add them as `label:NAME`"
)

ROWS: Final = (
    "Rules about members cost the mean over choices of members, as in rs.Theory with its usual "
    "`reduction`"
)

ONLY_LABELS: Final = "`exact` is left out: it takes no rules that relate members of open domains"

OVERS: Final = ("mean", "p-mean(2)", "log-mean-exp(1)", "worst(10%)")
"""The aggregators over groundings that are rehearsed, beside the conjunction."""


def read_given(path: Path, knowledge: Knowledge, form: Form = "probs") -> Sample | Tables:
    """Return the predictions in an .npz file: examples, or tables for rules about members."""
    if relating_rules(knowledge):
        return read_tables(path, knowledge, form)
    return read_sample(path, knowledge, form, takes_hidden=True)


class Consultation:
    """Advice about the rules of a knowledge on one or more samples of predictions.

    The first sample is rehearsed; without samples predictions are drawn. `relaxations` are tried
    in the order of preference, and `exact` too where its circuit is small, unless `with_exact` is
    False. What is done is bounded in work, and by so many `seconds` of computing.
    """

    def __init__(
        self,
        knowledge: Knowledge,
        samples: Sequence[Sample | Tables],
        relaxations: Sequence[Relaxation],
        *,
        with_exact: bool = True,
        seconds: float = SECONDS,
    ) -> None:
        self._asked = fewer_rules(knowledge)
        self._given = samples
        self._are_related = bool(relating_rules(self._asked))
        chosen = [one for one in relaxations if one != EXACT]
        self._relaxations = sorted(chosen, key=_place)
        self._with_exact = with_exact
        self._seconds = seconds
        self._forms: dict[str, str] = {}
        self._remarks: list[str] = []
        count, kept = len(knowledge.rules), len(self._asked.rules)
        if kept < count:
            self._remarks.append(f"To save time: {kept:,} of {count:,} rules, from all of the file")
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
        budget = Budget(WORK, self._seconds)
        fitted, scales, remark = self._settled()
        knowledge, sample, left_out = fitted[0]
        self._remarks += [remark] if remark else []
        self._remarks += [f"To save time: {one}" for one in left_out]
        if self._given and not sample.labels and not sample.observed:
            self._remarks.append(NO_LABELS)
        unseen = unseen_predicates(knowledge, sample)
        if unseen:
            self._leave_to_exact(unseen)
        else:
            asked = knowledge if self._are_related else self._asked
            self._traps += traps_of_rules(asked, knowledge, sample)
        yield
        self._why_not = self._why_not or _why_not(knowledge, sample)
        if not self._why_not:
            yield from self._rehearse(knowledge, sample, scales, budget)
        rules = list(knowledge.rules)[:MOST_RULES] if self._relaxations else []
        if self._relaxations and len(rules) < len(self._asked.rules):
            self._remarks.append(f"{len(rules)} of {len(self._asked.rules)} rules are measured")
        budget = budget.renewed(MEASURING)
        for one in fitted:
            for rule in rules:
                if not budget.is_spent and rule in one.knowledge.rules:
                    self._measure(one, rule, budget)
                yield

    def _measure(self, fitted: Fitted, rule: str, budget: Budget) -> None:
        """Measure a rule under all relaxations; the first of them shows how much work they are."""
        counting = Counting()
        with counting:
            self.measured += measure(fitted.knowledge, rule, fitted.sample, self._relaxations[:1])
        self.measured += measure(fitted.knowledge, rule, fitted.sample, self._relaxations[1:])
        budget.spend(counting.work * len(self._relaxations))

    def _settled(self) -> Settled:
        """Return what fits the budget: of the samples, or of predictions that are drawn."""
        if self._are_related:
            tables = [one for one in self._given if isinstance(one, Tables)]
            self._remarks += [ROWS, *([ONLY_LABELS] if self._with_exact else [])]
            return settle(self._asked, tables[0] if tables else None)
        given = [one for one in self._given if isinstance(one, Sample)]
        return Settled([fit(self._asked, one) for one in given] or draw_fitted(self._asked), {})

    def _leave_to_exact(self, unseen: Sequence[str]) -> None:
        """Leave out all relaxations but `exact`, since rules read hidden predicates."""
        names = ", ".join(f"`{name}`" for name in unseen)
        only = f"Only `exact` sums out the hidden {names}: no other relaxation was tried"
        if self._with_exact:
            self._remarks.append(only)
        else:
            self._why_not = f"{only}, and `exact` was not asked for"
        self._relaxations = []

    def _rehearse(
        self, knowledge: Knowledge, sample: Sample, scales: Mapping[str, float], budget: Budget
    ) -> Iterator[None]:
        is_exact = self._with_exact and not self._are_related and is_feasible(knowledge, sample)
        if self._with_exact and not self._are_related and not is_exact:
            self._remarks.append("`exact` is left out: its circuit is too large to try")
        if not is_exact and not self._relaxations:
            self._why_not = "There is no relaxation to rehearse"
            return
        rehearsal = Rehearsal(knowledge, sample, scales)
        first, others = self._relaxations[:1], self._relaxations[1:]
        yield from self._try_out(rehearsal, [None, *first], budget)
        yield from self._try_out(rehearsal, [EXACT] if is_exact else [], budget)
        yield from self._try_out(rehearsal, others, budget)
        if not self._relaxations:
            return
        yield from self._aggregate(rehearsal, knowledge, sample, budget)
        changed, forms = knowledge, dict[str, str]()
        if not self._are_related:
            changed, forms = existential(knowledge, sample)
        if forms:
            self._forms = forms
            rehearsal = Rehearsal(changed, sample)
            for name in REWRITTEN:
                result = rehearsal.try_out(relaxation(name), budget)
                self.rewritten += [] if result is None else [result]
                yield

    def _aggregate(
        self, rehearsal: Rehearsal, knowledge: Knowledge, sample: Sample, budget: Budget
    ) -> Iterator[None]:
        """Rehearse other aggregators, if there are many groundings or if their number varies."""
        most = max(groundings_by_rule(knowledge, sample).values(), default=0)
        if self._relaxations and (most >= MANY or sample.lengths is not None):
            best = recommend(self.rehearsed).relaxation
            one = self._relaxations[0] if best in (None, EXACT.name) else relaxation(str(best))
            for over in OVERS:
                if self._are_related and over == "mean":  # the mean over rows is what they cost
                    continue
                result = rehearsal.try_out(one, budget, over=over)
                self.aggregated |= {} if result is None else {over: result}
                yield

    def _try_out(
        self, rehearsal: Rehearsal, relaxations: Sequence[Relaxation | None], budget: Budget
    ) -> Iterator[None]:
        for one in relaxations:
            result = rehearsal.try_out(one, budget)
            if result is not None:
                self.rehearsed.append(result)
            elif one is not None:
                self._skipped.append(one.name)
            yield

    def advice(self, remarks: Sequence[str] = ()) -> Advice:
        """Return the advice that follows from what is known."""
        names = ", ".join(self._skipped)
        late = [f"The budget of work was spent before {names} could be rehearsed"]
        traps = [*self._traps, *traps_of_measurements(self.measured)]
        if self._why_not:
            return Advice(None, (self._why_not, *self._remarks, *remarks), {}, tuple(traps))
        return recommend(
            self.rehearsed,
            self.rewritten,
            self._forms,
            aggregated=self.aggregated,
            instead_of="the mean over rows"
            if self._are_related
            else "the conjunction of groundings",
            traps=traps,
            remarks=[*self._remarks, *(late if self._skipped else []), *remarks],
        )


def _why_not(knowledge: Knowledge, sample: Sample) -> str:
    """Return why there is nothing to rehearse, or an empty text.

    Whether predictions obey rules with hidden predicates is not asked.
    """
    if len({len(one) for one in (*sample.logits.values(), *sample.observed.values())}) > 1:
        return "Rules read different numbers of examples, and are not rehearsed together"
    if unseen_predicates(knowledge, sample):
        return ""
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
