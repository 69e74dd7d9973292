"""Chunks counted in tensors are those that are counted one by one."""

import random

import torch

from residuum.study.chunking.knowledge import tag_names
from residuum.study.chunking.measures import chunk_kinds, count_chunks
from residuum.study.chunking.scoring import score


def _random_tags(rng, length):
    """Tags in which chunks are long, and often the same as in a neighbour's."""
    names = [name for name in tag_names() if name[2:] in ("NP", "VP")] + ["O"]
    return [rng.choice(names) for _ in range(length)]


def test_counts_are_those_of_the_sets_of_chunks():
    rng = random.Random(0)
    index = {name: number for number, name in enumerate(tag_names())}
    gold, predicted = [], []
    for _ in range(3000):
        tags = _random_tags(rng, rng.randint(1, 9))
        gold.append(tags)
        predicted.append([tag if rng.random() < 0.7 else rng.choice(tag_names()) for tag in tags])
    # What stands beyond the end of a sentence does not count, whatever it is.
    rows = [
        torch.tensor([
            [index[tag] for tag in tags] + [rng.randrange(23) for _ in range(9 - len(tags))]
            for tags in some
        ])
        for some in (gold, predicted)
    ]  # fmt: skip
    lengths = torch.tensor([len(tags) for tags in gold])
    counts = count_chunks(rows[0], rows[1], lengths)
    expected = score(gold, predicted)
    sentences = torch.tensor([list(tally) for tally in expected.sentences])
    assert torch.equal(torch.stack(counts[:3]).sum(-1).T, sentences)
    for kind, name in enumerate(chunk_kinds()):
        by_kind = tuple(int(count[:, kind].sum()) for count in counts[:3])
        assert by_kind == tuple(expected.types.get(name, (0, 0, 0)))
    assert int(counts.right_tags.sum()) == expected.right_tags


def test_runs_and_sentences_may_have_any_shape():
    torch.manual_seed(0)
    gold, predicted = torch.randint(23, (2, 3, 4, 5, 6))
    lengths = torch.randint(1, 7, (3, 4, 5))
    whole = count_chunks(gold, predicted, lengths)
    part = count_chunks(gold[2, 1], predicted[2, 1], lengths[2, 1])
    for one, other in zip(whole, part, strict=True):
        assert torch.equal(one[2, 1], other)
