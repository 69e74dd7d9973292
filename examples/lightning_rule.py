"""A Lightning module that learns from a rule: which digit comes next, without a single label.

Run it with `python examples/lightning_rule.py`; it takes seconds. It needs Lightning:
`pip install 'residuum[lightning]'`.
"""

import logging
import warnings

import lightning.pytorch as pl
import torch
from torch.utils.data import DataLoader, TensorDataset

import residuum as rs
from residuum.integrations.lightning import RuleCallback


class NextDigit(pl.LightningModule):
    """Labels say which digit an image shows; the rule says which digit follows."""

    def __init__(self):
        super().__init__()
        self.network = torch.nn.Linear(10, 20)
        self.rule = rs.compile(
            "forall d in digit: Digit(d) -> Next((d + 1) mod 10)",
            domains={"digit": 10},
            weight=rs.ramp(0.1, 1.0, epochs=5),  # the callback tells the rule its epoch
        )

    def forward(self, images):
        digit, following = self.network(images).chunk(2, dim=1)
        return {"Digit": digit, "Next": following}

    def training_step(self, batch, _):
        images, labels = batch
        outputs = self(images)
        return rs.facts(outputs["Digit"], labels) + self.rule(outputs)

    def validation_step(self, batch, _):
        images, labels = batch
        outputs = self(images)
        right = outputs["Next"].argmax(1) == (labels + 1) % 10
        self.log("next", right.float().mean())
        return outputs

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=0.05)


def main():
    """Train, and print what was measured."""
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module="lightning")
    torch.manual_seed(0)
    labels = torch.arange(1000) % 10
    images = torch.eye(10)[labels] + 0.1 * torch.randn(1000, 10)
    data = DataLoader(TensorDataset(images, labels), batch_size=100)
    trainer = pl.Trainer(
        max_epochs=20, accelerator="cpu", logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False,
        callbacks=[RuleCallback(lambda module, outputs, _: module.rule.metrics(outputs))],
    )  # fmt: skip
    model = NextDigit()
    trainer.fit(model, data, data)
    for name, number in trainer.callback_metrics.items():
        print(f"{name}: {number:.3f}")
    print(f"weight of the rule in its last epoch: {model.rule.weight:g}")


if __name__ == "__main__":
    main()
