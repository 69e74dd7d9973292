"""Rules in the `Trainer` of Hugging Face: a mixin that adds their penalty to the loss."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from residuum.errors import GroundingError
from residuum.losses import CompiledKnowledge, CompiledRule


class RuleTrainerMixin:
    """Adds the penalty of a rule, or of a compiled knowledge, on the model's logits to the loss.

    Put it before the trainer: `class RuleTrainer(RuleTrainerMixin, Trainer): pass`, and pass
    `rules=` beside the arguments of the trainer. The rules read one predicate, whose tensor is
    `outputs.logits`; override `rule_tensors` if they read several. If they are over sequences, the
    attention mask gives the lengths.

    The penalty with its weight is part of the loss, in training and in evaluation. Each log of the
    training loss has `rules_penalty`, its mean since the last log. An evaluation has the metrics of
    the rules, such as `eval_rules_satisfied`, of the batches of its own process. The epoch of
    schedules is that of the trainer.
    """

    def __init__(self, *args: Any, rules: CompiledRule | CompiledKnowledge, **options: Any) -> None:
        if not isinstance(rules, CompiledRule | CompiledKnowledge):
            raise GroundingError(
                f"rules: expected what rs.compile returns, got {type(rules).__name__}"
            )
        if isinstance(rules, CompiledRule) and rules.reduction == "none":
            raise GroundingError(
                "rules: expected a penalty of the batch, got reduction='none'; compile the rule "
                "with reduction='mean'"
            )
        self.rules = rules
        self._penalties: list[Tensor] = []
        self._measured: list[tuple[int, dict[str, float]]] = []
        super().__init__(*args, **options)

    def rule_tensors(self, inputs: Mapping[str, Any], outputs: Any) -> Mapping[str, Tensor]:  # noqa: ARG002
        """Return the tensors that the rules read: the model's logits, for their one predicate."""
        names = _predicates_of(self.rules)
        if len(names) != 1:
            raise GroundingError(
                f"rules: expected rules that read one predicate, the model's logits, got "
                f"{', '.join(names) or 'none'}; override `rule_tensors` to say what each one reads"
            )
        logits = outputs["logits"] if isinstance(outputs, Mapping) else outputs[1]
        return {names[0]: logits}

    def rule_lengths(self, inputs: Mapping[str, Any]) -> Tensor | None:
        """Return the lengths of sequences by the attention mask; None if there is no need."""
        mask = inputs.get("attention_mask")
        if mask is None or not _are_over_sequences(self.rules):
            return None
        lengths: Tensor = mask.long().sum(-1)
        positions = torch.arange(mask.shape[-1], device=mask.device)
        if not torch.equal(mask.bool(), positions < lengths.unsqueeze(-1)):
            raise GroundingError(
                "attention_mask: expected padding at the ends of sequences, got it elsewhere; set "
                "padding_side='right', or override `rule_lengths` and `rule_tensors`"
            )
        return lengths

    def compute_loss(
        self,
        model: Any,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: Any = None,
    ) -> Any:
        """Return the loss of the trainer plus the penalty of the rules."""
        lengths = self.rule_lengths(inputs)
        loss, outputs = super().compute_loss(  # type: ignore[misc]
            model, inputs, return_outputs=True, num_items_in_batch=num_items_in_batch
        )
        tensors = self.rule_tensors(inputs, outputs)
        self.rules.epoch = int(self.state.epoch or 0)  # type: ignore[attr-defined]
        price = self.rules.total if isinstance(self.rules, CompiledKnowledge) else self.rules
        penalty = price(tensors, lengths=lengths)
        if model.training:
            self._penalties.append(penalty.detach())
            if self._is_scaled(num_items_in_batch):
                # The trainer adds up the losses of accumulated batches, but does not divide them.
                penalty = penalty / self.current_gradient_accumulation_steps  # type: ignore[attr-defined]
        else:
            size = len(next(iter(tensors.values())))
            self._measured.append((size, self.rules.metrics(tensors, lengths=lengths)))
        total = loss + penalty
        return (total, outputs) if return_outputs else total

    def _is_scaled(self, num_items_in_batch: Any) -> bool:
        """Return whether the trainer takes the loss for one that is scaled for accumulation."""
        said = getattr(self, "loss_is_scaled_for_ga", None)
        if said is not None:
            return bool(said)
        by_model = self.model_accepts_loss_kwargs and num_items_in_batch is not None  # type: ignore[attr-defined]
        return bool(by_model or self.compute_loss_func is not None)  # type: ignore[attr-defined]

    def log(self, logs: dict[str, float], *args: Any, **options: Any) -> None:
        """Log numbers, and the mean penalty since the last training loss was logged."""
        if "loss" in logs and self._penalties:
            logs["rules_penalty"] = torch.stack(self._penalties).mean().item()
            self._penalties.clear()
        super().log(logs, *args, **options)  # type: ignore[misc]

    def evaluation_loop(self, *args: Any, metric_key_prefix: str = "eval", **options: Any) -> Any:
        """Evaluate, and add the metrics of the rules: means over examples."""
        self._measured.clear()
        output = super().evaluation_loop(  # type: ignore[misc]
            *args, metric_key_prefix=metric_key_prefix, **options
        )
        examples = sum(size for size, _ in self._measured)
        for name in self._measured[0][1] if examples else ():
            total = sum(size * found[name] for size, found in self._measured)
            output.metrics[f"{metric_key_prefix}_rules_{name}"] = total / examples
        return output


def _predicates_of(rules: CompiledRule | CompiledKnowledge) -> list[str]:
    slots = [slot for rule in _each(rules) for slot in rule.plan.given]
    return list(dict.fromkeys(slot.name for slot in slots if not slot.predicate.is_hidden))


def _are_over_sequences(rules: CompiledRule | CompiledKnowledge) -> bool:
    return any(rule.plan.sequence_domains for rule in _each(rules))


def _each(rules: CompiledRule | CompiledKnowledge) -> list[CompiledRule]:
    return [rules] if isinstance(rules, CompiledRule) else list(rules.rules.values())
