"""Questions that a circuit answers exactly: rules and knowledge share these methods.

They are the same under every relaxation: they speak of the probability that a rule holds, and of
the predictions that obey it. What answers them is imported when it is first asked: a rule that is
only learnt from needs no circuit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, overload

import torch
from torch import Tensor

from residuum.errors import GroundingError
from residuum.logic.terms import as_label
from residuum.losses.degrees.tensors import in_full
from residuum.losses.inputs.calls import Call
from residuum.losses.inputs.evidence import Observed
from residuum.losses.routes.definition import Definition

if TYPE_CHECKING:
    from residuum.losses.rules import CompiledRule

Tensors = Mapping[str, Tensor]
Labels = dict[str, Tensor]
Names = Iterable[str]


class ExactAnswers:
    """Methods about all predictions that obey a rule, or all rules of a knowledge together.

    Outputs are taken as independent: a softmax is one random variable, and a sigmoid is one. The
    methods take the tensors, `lengths` and `observed` labels of a call. Of a knowledge, `rules`
    selects the rules that must hold.
    """

    def rule_of(self, rules: Names | None) -> CompiledRule:
        """Return the rule that is asked about; of a knowledge, the conjunction of its rules."""
        raise NotImplementedError

    def asked(
        self,
        rules: Names | None,
        tensors: Tensors | None,
        named: Tensors,
        lengths: Any,
        observed: Observed | None,
    ) -> tuple[Definition, Call]:
        """Return the rule that is asked about, and a call of it with its tensors checked."""
        raise NotImplementedError

    def probability(
        self,
        tensors: Tensors | None = None,
        /,
        *,
        rules: Names | None = None,
        lengths: Any = None,
        observed: Observed | None = None,
        **named: Tensor,
    ) -> Tensor:
        """Return the probability that the rule holds, one per example.

        With evidence it is the probability given what is observed.
        """
        from residuum.losses.routes.exact import log_probability

        definition, call = self.asked(rules, tensors, named, lengths, observed)
        with in_full(call.device):
            return torch.exp(log_probability(definition, call))

    def marginals(
        self,
        tensors: Tensors | None = None,
        /,
        *,
        rules: Names | None = None,
        lengths: Any = None,
        observed: Observed | None = None,
        **named: Tensor,
    ) -> dict[str, Tensor]:
        """Return by predicate the probability of each output given that the rule holds.

        They have the shapes of the tensors, with 0 in the padding of sequences, and have gradients.
        """
        from residuum.losses.questions.distribution import marginals

        definition, call = self.asked(rules, tensors, named, lengths, observed)
        with in_full(call.device):
            return marginals(definition, call)

    def entropy(
        self,
        tensors: Tensors | None = None,
        /,
        *,
        rules: Names | None = None,
        lengths: Any = None,
        observed: Observed | None = None,
        **named: Tensor,
    ) -> Tensor:
        """Return the entropy, in nats, of all outputs given that the rule holds, one per example.

        Minimising it makes a network decide between the predictions that obey the rule.
        """
        from residuum.losses.questions.distribution import entropy

        definition, call = self.asked(rules, tensors, named, lengths, observed)
        with in_full(call.device):
            return entropy(definition, call)

    def log_likelihood(
        self,
        tensors: Tensors | None = None,
        /,
        labels: Observed | None = None,
        *,
        rules: Names | None = None,
        lengths: Any = None,
        **named: Tensor,
    ) -> Tensor:
        """Return the log-probability of labels given that the rule holds, one per example.

        Its negative is the loss of a semantic probabilistic layer. Labels are given as evidence is;
        −100 marks an output without a label, which is summed out. Labels that break the rule have
        the log-probability of the floor, about −70; `check=True` refuses them.
        """
        from residuum.losses.questions.likelihood import log_likelihood

        refuse_no_labels(labels)
        definition, alone = self.asked(rules, tensors, named, lengths, None)
        _, labelled = self.asked(rules, tensors, named, lengths, labels)
        with in_full(alone.device):
            return log_likelihood(definition, alone, labelled)

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
        from residuum.losses.questions.decoding import decode, decode_several

        definition, call = self.asked(rules, tensors, named, lengths, observed)
        with in_full(call.device):
            if k is None:
                return decode(definition, call)
            return decode_several(definition, call, _checked("k", k))

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
        from residuum.losses.questions.decoding import sample

        definition, call = self.asked(rules, tensors, named, lengths, observed)
        with in_full(call.device):
            return sample(definition, call, _checked("n", n), generator)

    def count(self, length: int | None = None, *, rules: Names | None = None) -> int:
        """Return how many predictions obey the rule, for sequences of a length if it has any."""
        from residuum.losses.questions.distribution import count

        definition = self.rule_of(rules).definition
        sequences = definition.plan.sequence_domains
        if bool(sequences) != (length is not None):
            expected = f"a length, for {', '.join(sequences)}" if sequences else "no length"
            raise GroundingError(
                f"count: expected {expected}, got {'none' if length is None else length}"
            )
        sizes = {} if length is None else dict.fromkeys(sequences, _checked("length", length, 0))
        return count(definition, sizes)


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
