"""Rules in Lightning: a callback that advances their epochs and logs how well they are obeyed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from residuum.errors import ResiduumError
from residuum.losses.schedules import Scheduled

try:
    from lightning.pytorch import Callback, LightningModule, Trainer
except ModuleNotFoundError as error:
    if error.name is None or error.name.partition(".")[0] != "lightning":
        raise
    raise ResiduumError(
        "residuum.integrations.lightning needs Lightning: pip install 'residuum[lightning]'"
    ) from None

Measure = Callable[[Any, Any, Any], Mapping[str, float]]


class RuleCallback(Callback):
    """Advances the epochs of rules, knowledge and theories, and logs their metrics.

    It finds them among the attributes of the LightningModule. `measure` is optional: a function of
    the module, of what its `validation_step` (or `test_step`) returned, and of the batch, which
    returns numbers to log, such as `module.rule.metrics(outputs)`. They are logged as
    `rules/penalty` and so on, as means over the examples of an epoch.
    """

    def __init__(self, measure: Measure | None = None) -> None:
        self._measure = measure

    def on_train_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Set the epochs of all rules to that of the trainer."""
        for module in pl_module.modules():
            if isinstance(module, Scheduled):
                module.epoch = trainer.current_epoch

    def on_validation_batch_end(
        self,
        trainer: Trainer,  # noqa: ARG002
        pl_module: LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,  # noqa: ARG002
        dataloader_idx: int = 0,  # noqa: ARG002
    ) -> None:
        """Log what is measured of one batch."""
        self._log(pl_module, outputs, batch)

    def on_test_batch_end(
        self,
        trainer: Trainer,  # noqa: ARG002
        pl_module: LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,  # noqa: ARG002
        dataloader_idx: int = 0,  # noqa: ARG002
    ) -> None:
        """Log what is measured of one batch."""
        self._log(pl_module, outputs, batch)

    def _log(self, module: LightningModule, outputs: Any, batch: Any) -> None:
        if self._measure is None:
            return
        found = self._measure(module, outputs, batch)
        if not isinstance(found, Mapping):
            raise ResiduumError(
                "measure: expected a function that returns numbers by name, such as "
                f"rule.metrics(outputs), got {type(found).__name__} from it"
            )
        named = {f"rules/{name}": number for name, number in found.items()}
        module.log_dict(named, on_step=False, on_epoch=True)
