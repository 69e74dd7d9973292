"""Rules in Lightning: epochs are advanced, and metrics are logged."""

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

import residuum as rs
from residuum.errors import ResiduumError

pl = pytest.importorskip("lightning.pytorch", reason="Lightning is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")  # Lightning's advice about workers and loggers

KNOWLEDGE = rs.loads("domain d = 0..2\npredicate A(d)\nrule one: A(0) -> A(1)\nrule two: ~A(2)")
IMAGES = torch.linspace(-1, 1, 15).reshape(5, 3)


class Model(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.network = torch.nn.Linear(3, 3)
        self.rules = rs.compile(KNOWLEDGE, weights={"one": rs.ramp(0, 1, epochs=2)})
        self.nested = torch.nn.ModuleDict({"rule": rs.compile("P", weight=rs.ramp(1, 2, epochs=9))})
        self.seen = []

    def training_step(self, batch, _):
        self.seen.append((self.rules.epoch, self.nested["rule"].epoch, self.rules.weights["one"]))
        return self.rules.total(A=self.network(batch[0]))

    def validation_step(self, batch, _):
        return {"A": self.network(batch[0])}

    test_step = validation_step

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


def trainer_with(callback, folder, **options):
    return pl.Trainer(
        accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False, default_root_dir=folder, callbacks=[callback], **options,
    )  # fmt: skip


def test_epochs_follow_the_trainer_and_metrics_are_means_over_examples(tmp_path):
    from residuum.integrations.lightning import RuleCallback

    data = DataLoader(TensorDataset(IMAGES), batch_size=2)  # the last batch has one example
    model = Model()
    callback = RuleCallback(lambda module, outputs, _: module.rules.metrics(outputs))
    trainer = trainer_with(callback, tmp_path, max_epochs=3)
    trainer.fit(model, data, data)
    assert model.seen == [(e, e, e / 2) for e in range(3) for _ in range(3)]
    expected = model.rules.metrics(A=model.network(IMAGES))
    logged = {name: number.item() for name, number in trainer.callback_metrics.items()}
    assert logged == pytest.approx({f"rules/{k}": v for k, v in expected.items()}, rel=1e-5)
    trainer.test(model, data, verbose=False)
    assert trainer.callback_metrics["rules/one/penalty"].item() == pytest.approx(
        expected["one/penalty"], rel=1e-5
    )


def test_without_a_measure_only_epochs_are_set(tmp_path):
    from residuum.integrations.lightning import RuleCallback

    model = Model()
    data = DataLoader(TensorDataset(IMAGES), batch_size=5)
    trainer = trainer_with(RuleCallback(), tmp_path, max_epochs=2)
    trainer.fit(model, data, data)
    assert model.rules.epoch == 1
    assert not trainer.callback_metrics


def test_a_measure_that_returns_no_numbers_is_refused_in_words(tmp_path):
    from residuum.integrations.lightning import RuleCallback

    data = DataLoader(TensorDataset(IMAGES), batch_size=5)
    trainer = trainer_with(RuleCallback(lambda *_: 3.0), tmp_path, max_epochs=1)
    with pytest.raises(ResiduumError, match="numbers by name"):
        trainer.fit(Model(), data, data)
