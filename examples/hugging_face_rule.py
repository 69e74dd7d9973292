"""A Hugging Face Trainer that learns from a rule: tags of words that have no label.

A tiny transformer is made from a configuration, and the sentences are made up, so that nothing is
downloaded. Run it with `python examples/hugging_face_rule.py`; it takes seconds. It needs
transformers: `pip install 'residuum[hugging-face]'`.
"""

import tempfile

import torch
from torch.nn.functional import pad
from transformers import BertConfig, BertForTokenClassification, Trainer, TrainingArguments
from transformers.utils import logging

import residuum as rs
from residuum.integrations.hugging_face import RuleTrainerMixin

TAGS = ["when", "who", "what"]


class RuleTrainer(RuleTrainerMixin, Trainer):
    """A trainer whose loss has the penalty of the rules in it."""


def sentences(count, known, seed):
    """Return made-up sentences of 12 words at most: tags go round, and words tell their tags.

    Of the twelve words, only those below `known` have labels.
    """
    random = torch.Generator().manual_seed(seed)
    found = []
    for _ in range(count):
        length, start = torch.randint(6, 13, (2,), generator=random).tolist()
        tags = (torch.arange(length) + start) % len(TAGS)
        words = tags + len(TAGS) * torch.randint(4, (length,), generator=random)
        labels = tags.masked_fill(words >= known, -100)
        padding = (0, 12 - length)
        found.append({
            "input_ids": pad(words, padding, value=12),
            "attention_mask": pad(torch.ones_like(words), padding),
            "labels": pad(labels, padding, value=-100),
        })  # fmt: skip
    return found


def accuracy(found):
    """Return the share of tokens whose tag is right; padding has no label."""
    counts = found.label_ids != -100
    return {"accuracy": (found.predictions.argmax(-1) == found.label_ids)[counts].mean()}


def trained(weight):
    """Train with a rule of this weight, and return what the evaluation says."""
    torch.manual_seed(0)
    rule = rs.compile(
        "forall i in position, t in tag: Tag(i, t) -> Tag(i + 1, after(t))",
        domains={"position": "sequence", "tag": TAGS},
        predicates={"Tag": ("position", "tag")},
        functions={"after": {"when": "who", "who": "what", "what": "when"}},
        weight=weight,
    )
    config = BertConfig(
        vocab_size=13, hidden_size=32, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=64, max_position_embeddings=12, num_labels=len(TAGS),
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        settings = TrainingArguments(
            folder, num_train_epochs=10, per_device_train_batch_size=32, learning_rate=5e-3,
            report_to="none", save_strategy="no", logging_strategy="no", disable_tqdm=True,
            use_cpu=True, seed=0,
        )  # fmt: skip
        trainer = RuleTrainer(
            rules=rule, model=BertForTokenClassification(config), args=settings,
            train_dataset=sentences(256, known=6, seed=1),
            eval_dataset=sentences(256, known=12, seed=2), compute_metrics=accuracy,
        )  # fmt: skip
        trainer.train()
        return trainer.evaluate()


def main():
    """Train, and print what was measured."""
    logging.set_verbosity_error()
    for weight in (0.0, 0.1):
        found = trained(weight)
        print(
            f"weight {weight:g}: {found['eval_rules_satisfied']:.1%} of the sentences obey the "
            f"rule, {found['eval_accuracy']:.1%} of the tags are right"
        )


if __name__ == "__main__":
    main()
