"""Rules in the Trainer of Hugging Face: what is added to the loss, and what is logged."""

from types import SimpleNamespace

import pytest
import torch

import residuum as rs
from residuum.errors import GroundingError
from residuum.integrations.hugging_face import RuleTrainerMixin

TAGGED = "forall i in s: Tag(i + 1, 1) -> Tag(i, 1) | Tag(i, 2)"
OPTIONS = {"domains": {"s": "sequence", "t": 3}, "predicates": {"Tag": ("s", "t")}}
PAIR = {"domains": {"t": 2}, "predicates": {"A": ("t",), "B": ("t",)}}


class Plain:
    """A trainer with the methods that the mixin calls, whose model returns what it is given."""

    def __init__(self):
        self.state = SimpleNamespace(epoch=None)
        self.logged = []
        self.current_gradient_accumulation_steps = 4
        self.model_accepts_loss_kwargs = False
        self.compute_loss_func = None

    def compute_loss(self, model, inputs, return_outputs=False, **_):
        outputs = model(**inputs)
        return (torch.tensor(1.0), outputs) if return_outputs else torch.tensor(1.0)

    def log(self, logs):
        self.logged.append(dict(logs))


class WithRules(RuleTrainerMixin, Plain):
    pass


class Model(torch.nn.Module):
    def forward(self, logits, **_):
        return {"loss": None, "logits": logits}


def test_the_penalty_is_added_and_the_attention_mask_gives_lengths():
    rule = rs.compile(TAGGED, "s-product", weight=rs.ramp(0.5, 1.5, epochs=2), **OPTIONS)
    trainer = WithRules(rules=rule)
    logits = torch.randn(2, 5, 3)
    mask = torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])
    alone = rs.compile(TAGGED, "s-product", **OPTIONS)(Tag=logits, lengths=[3, 5])
    for epoch, weight in ((None, 0.5), (0.7, 0.5), (1.2, 1.0)):
        trainer.state.epoch = epoch
        given = {"logits": logits, "attention_mask": mask}
        loss = trainer.compute_loss(Model(), given)
        torch.testing.assert_close(loss, 1 + weight * alone)
    trainer.log({"loss": 1.0})
    trainer.log({"other": 1.0})
    mean = (0.5 + 0.5 + 1.0) / 3 * alone.item()
    assert trainer.logged[0]["rules_penalty"] == pytest.approx(mean)
    assert "rules_penalty" not in trainer.logged[1]


@pytest.mark.parametrize(
    ("said", "kwargs", "function", "items", "divided"),
    [
        (None, False, None, None, False),
        (None, True, None, 7, True),
        (None, True, None, None, False),
        (None, False, len, None, True),
        (False, True, None, 7, False),
        (True, False, None, None, True),
    ],
)
def test_accumulated_batches_count_once(said, kwargs, function, items, divided):
    trainer = WithRules(rules=rs.compile("A(0)", domains={"t": 2}, predicates={"A": ("t",)}))
    trainer.model_accepts_loss_kwargs = kwargs
    trainer.compute_loss_func = function
    if said is not None:
        trainer.loss_is_scaled_for_ga = said
    loss = trainer.compute_loss(Model(), {"logits": torch.zeros(3, 2)}, num_items_in_batch=items)
    penalty = torch.tensor(2.0).log() / (4 if divided else 1)
    torch.testing.assert_close(loss, 1 + penalty)


def test_padding_in_front_is_refused_in_words():
    trainer = WithRules(rules=rs.compile(TAGGED, **OPTIONS))
    mask = torch.tensor([[0, 1, 1], [1, 1, 1]])
    with pytest.raises(GroundingError, match="padding_side='right'"):
        trainer.compute_loss(Model(), {"logits": torch.zeros(2, 3, 3), "attention_mask": mask})


def test_what_cannot_be_added_is_refused_in_words():
    with pytest.raises(GroundingError, match=r"expected what rs\.compile returns, got str"):
        WithRules(rules="A -> B")
    with pytest.raises(GroundingError, match="reduction='mean'"):
        WithRules(rules=rs.compile("A", reduction="none"))
    trainer = WithRules(rules=rs.compile("A(0) -> B(0)", **PAIR))
    with pytest.raises(GroundingError, match="got A, B; override `rule_tensors`"):
        trainer.compute_loss(Model(), {"logits": torch.zeros(3, 2)})


def test_a_real_trainer_learns_accumulates_and_logs(tmp_path):
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    pytest.importorskip("accelerate", reason="accelerate is not installed")
    transformers.utils.logging.set_verbosity_error()

    class RuleTrainer(RuleTrainerMixin, transformers.Trainer):
        pass

    knowledge = rs.loads("""domain s sequence\ndomain t = 0..2\npredicate Tag(s, t)
        rule one weight 2: forall i in s: Tag(i + 1, 1) -> Tag(i, 1)\nrule two: ~Tag(0, 1)""")
    rules = rs.compile(knowledge, "s-product")
    config = transformers.BertConfig(
        vocab_size=5, hidden_size=8, num_hidden_layers=1, num_attention_heads=1,
        intermediate_size=8, max_position_embeddings=4, num_labels=3,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    torch.manual_seed(0)
    data = [
        {"input_ids": torch.tensor([1, 2, 3, 4]).roll(n), "labels": torch.tensor([n % 3, 1, 2, 0]),
         "attention_mask": torch.tensor([1, 1, 1, n % 2])}
        for n in range(4)
    ]  # fmt: skip
    model = transformers.BertForTokenClassification(config)
    before = {name: one.clone() for name, one in model.state_dict().items()}

    def trained(batch, steps):
        settings = transformers.TrainingArguments(
            str(tmp_path), num_train_epochs=1, per_device_train_batch_size=batch,
            gradient_accumulation_steps=steps, learning_rate=0.1, optim="sgd", logging_steps=1,
            report_to="none", save_strategy="no", disable_tqdm=True, use_cpu=True,
            max_grad_norm=0.0, per_device_eval_batch_size=3,
        )  # fmt: skip
        model.load_state_dict(before)
        trainer = RuleTrainer(rules=rules, model=model, args=settings, train_dataset=data,
                              eval_dataset=data, compute_loss_func=no_loss)  # fmt: skip
        trainer.train()
        return trainer

    def no_loss(outputs, *_, **__):  # so that the rules alone are seen
        return 0 * outputs["logits"].sum()

    trainer = trained(4, 1)
    after = {name: one.clone() for name, one in model.state_dict().items()}
    found = trainer.evaluate()
    inputs = {key: torch.stack([one[key] for one in data]) for key in data[0]}
    with torch.no_grad():
        outputs = model.eval()(**inputs)
    lengths = inputs["attention_mask"].sum(-1)
    expected = rules.metrics(Tag=outputs.logits, lengths=lengths)
    assert {k: found[f"eval_rules_{k}"] for k in expected} == pytest.approx(expected, rel=1e-4)
    total = rules.total(Tag=outputs.logits, lengths=lengths).item()
    assert found["eval_loss"] == pytest.approx(total, rel=1e-4)
    assert any("rules_penalty" in one for one in trainer.state.log_history)
    trained(1, 4)  # four batches of one example each make the same step
    for name, one in model.state_dict().items():
        torch.testing.assert_close(one, after[name], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (
            "(forall x in t: A(x) -> H(x)) & ~H(0)",
            {"domains": {"t": 2}, "outputs": {"H": "hidden"}},
        ),
        ("A < 3", {"quantities": {"A": 2.0}}),
    ],
)
def test_the_logits_are_the_one_tensor_that_rules_read(text, options):
    rule = rs.compile(text, "exact", **options)
    logits = torch.randn(6, 2) if "hidden" in str(options) else torch.randn(6)
    trainer = WithRules(rules=rule)
    loss = trainer.compute_loss(Model(), {"logits": logits})
    torch.testing.assert_close(loss, 1 + rule(A=logits))
    model = Model().eval()
    trainer.compute_loss(model, {"logits": logits})
    assert trainer._measured == [(6, rule.metrics(A=logits))]
