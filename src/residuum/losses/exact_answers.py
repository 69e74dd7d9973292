"""Questions that a circuit answers exactly: rules, knowledge and theories share these methods.

They are the same under every relaxation: they speak of the probability that a rule holds, and of
the predictions that obey it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, overload

import torch
from torch import Tensor

from residuum.errors import GroundingError
from residuum.logic.terms import as_label
from residuum.losses import questions
from residuum.losses.degrees.tensors import in_full
from residuum.losses.inputs.arguments import (
    Inputs,
    Names,
    Tensors,
    named_tensors,
    takes_tensors_and_labels,
    takes_tensors_and_rules,
)
from residuum.losses.inputs.calls import Call
from residuum.losses.inputs.evidence import Observed
from residuum.losses.routes.definition import Definition

if TYPE_CHECKING:
    from residuum.losses.rules import CompiledRule

Labels = dict[str, Tensor]
Answer = TypeVar("Answer")


class ExactAnswers:
    """Methods about all predictions that obey a rule, or all rules of a knowledge together.

    Outputs are taken as independent: a softmax is one random variable, and a sigmoid is one. The
    methods take the tensors, `lengths` and `observed` labels of a call (`log_likelihood` takes
    labels in their place). Of a knowledge, `rules` selects the rules that must hold.
    """

    def rule_of(self, rules: Names | None) -> CompiledRule:
        """Return the rule that is asked about; of a knowledge, the conjunction of its rules."""
        raise NotImplementedError

    def asked(self, given: Inputs, rules: Names | None) -> tuple[Definition, Call]:
        """Return the rule that is asked about, and a call of it with its tensors checked."""
        raise NotImplementedError

    def _answer(
        self, question: Callable[[Definition, Call], Answer], given: Inputs, rules: Names | None
    ) -> Answer:
        definition, call = self.asked(given, rules)
        with in_full(call.device):
            return question(definition, call)

    @takes_tensors_and_rules
    def probability(self, given: Inputs, rules: Names | None) -> Tensor:
        """Return the probability that the rule holds, one per example.

        With evidence it is the probability given what is observed.
        """
        return self._answer(questions.distribution.probability, given, rules)

    @takes_tensors_and_rules
    def marginals(self, given: Inputs, rules: Names | None) -> dict[str, Tensor]:
        """Return by predicate the probability of each output given that the rule holds.

        They have the shapes of the tensors, with 0 in the padding of sequences, and have gradients.
        """
        return self._answer(questions.distribution.marginals, given, rules)

    @takes_tensors_and_rules
    def entropy(self, given: Inputs, rules: Names | None) -> Tensor:
        """Return the entropy, in nats, of all outputs given that the rule holds, one per example.

        Minimising it makes a network decide between the predictions that obey the rule.
        """
        return self._answer(questions.distribution.entropy, given, rules)

    @takes_tensors_and_labels
    def log_likelihood(self, given: Inputs, labels: Observed | None, rules: Names | None) -> Tensor:
        """Return the log-probability of labels given that the rule holds, one per example.

        Its negative is the loss of a semantic probabilistic layer. Labels are given as evidence is;
        −100 marks an output without a label, which is summed out. Labels that break the rule have
        the log-probability of the floor, about −70; `check=True` refuses them.
        """
        refuse_no_labels(labels)
        definition, alone = self.asked(given, rules)
        _, labelled = self.asked(given._replace(observed=labels), rules)
        with in_full(alone.device):
            return questions.likelihood.log_likelihood(definition, alone, labelled)

    @overload
    def decode(
        self,
        tensors: Tensors | None = None,
        /,
        *,
        k: None = None,
        rules: Names | None = None,
        lengths: Any = None,
        observed: Observed | None = None,
        **named: Tensor,
    ) -> Labels: ...
    @overload
    def decode(
        self,
        tensors: Tensors | None = None,
        /,
        *,
        k: int,
        rules: Names | None = None,
        lengths: Any = None,
        observed: Observed | None = None,
        **named: Tensor,
    ) -> list[Labels]: ...
    def decode(
        self,
        tensors: Tensors | None = None,
        /,
        *,
        k: int | None = None,
        rules: Names | None = None,
        lengths: Any = None,
        observed: Observed | None = None,
        **named: Tensor,
    ) -> Labels | list[Labels]:
        """Return by predicate the labels of the most probable prediction that obeys the rule.

        Labels are class numbers of a softmax, and 0 or 1 of a sigmoid, as `observed` takes them;
        the padding of sequences gets −100. With `k` it is a list of the k best predictions, the
        best one first; where fewer obey the rule, the labels of the others are −100.
        """
        given = Inputs(named_tensors(tensors, named), lengths, observed)
        if k is None:
            return self._answer(questions.decoding.decode, given, rules)
        best = partial(questions.decoding.decode_several, count=_checked("k", k))
        return self._answer(best, given, rules)

    def sample(
        self,
        tensors: Tensors | None = None,
        /,
        n: int = 1,
        *,
        generator: torch.Generator | None = None,
        rules: Names | None = None,
        lengths: Any = None,
        observed: Observed | None = None,
        **named: Tensor,
    ) -> Labels:
        """Return by predicate the labels of n random predictions that obey the rule.

        Each prediction is drawn with its probability given that the rule holds. Labels are as those
        of `decode`, with one dimension more, of size n, in front.
        """
        given = Inputs(named_tensors(tensors, named), lengths, observed)
        drawn = partial(questions.decoding.sample, count=_checked("n", n), generator=generator)
        return self._answer(drawn, given, rules)

    def count(self, length: int | None = None, *, rules: Names | None = None) -> int:
        """Return how many predictions obey the rule, for sequences of a length if it has any."""
        definition = self.rule_of(rules).definition
        sequences = definition.plan.sequence_domains
        if bool(sequences) != (length is not None):
            expected = f"a length, for {', '.join(sequences)}" if sequences else "no length"
            raise GroundingError(
                f"count: expected {expected}, got {'none' if length is None else length}"
            )
        sizes = {} if length is None else dict.fromkeys(sequences, _checked("length", length, 0))
        return questions.distribution.count(definition, sizes)


def refuse_no_labels(labels: Any) -> None:
    """Raise GroundingError unless labels are given by name."""
    if not isinstance(labels, Mapping):
        given = "none" if labels is None else type(labels).__name__
        raise GroundingError(
            f"labels: expected labels by the names of predicates, {{name: labels}}, got {given}"
        )


def _checked(name: str, given: Any, least: int = 1) -> int:
    given = as_label(given)
    if not isinstance(given, int) or isinstance(given, bool) or given < least:
        raise GroundingError(f"{name}: expected an integer, {least} or more, got {given!r}")
    return given
