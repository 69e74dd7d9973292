"""Taggers are PyTorch's layers; sentences and runs are the same in any company."""

import pytest
import torch
from torch import nn

from residuum.study.chunking.batches import Sentences, bucketed
from residuum.study.chunking.corpus import load_corpus
from residuum.study.chunking.knowledge import tag_names
from residuum.study.chunking.taggers import DROPOUT, Taggers
from residuum.study.chunking.vocabulary import known_words, make_lexicon

CORPUS = load_corpus("sample")
LEXICON = make_lexicon(CORPUS)
KNOWN = torch.tensor(known_words(LEXICON, CORPUS.train, None))
CPU = torch.device("cpu")


def _taggers(seeds=(0,), cell="lstm", vectors=None):
    return Taggers(seeds, KNOWN.expand(len(seeds), -1), vectors, cell=cell, hidden=12)


@pytest.fixture(scope="module")
def sentences():
    return Sentences(LEXICON, CORPUS.train, CPU)


@pytest.mark.parametrize(("cell", "layer"), [("lstm", nn.LSTM), ("gru", nn.GRU)])
def test_a_tagger_is_pytorchs_layers_word_by_word(sentences, cell, layer):
    taggers = _taggers((3, 7), cell)
    recurrent = layer(200, 6, bidirectional=True, batch_first=True)
    convolution = nn.Conv1d(30, 100, 3, padding=1)
    output = nn.Linear(12, 23)
    run = 1
    with torch.no_grad():
        for suffix, name in (("", "forward"), ("_reverse", "backward")):
            for theirs, ours in (("ih", "input"), ("hh", "state")):
                for part in ("weight", "bias"):
                    given = getattr(taggers, f"{name}_{ours}_{part}")[run]
                    getattr(recurrent, f"{part}_{theirs}_l0{suffix}").copy_(given)
        for mine, module in (("filters", convolution), ("output", output)):
            module.weight.copy_(getattr(taggers, f"{mine}_weight")[run])
            module.bias.copy_(getattr(taggers, f"{mine}_bias")[run])
        batch = sentences.batch(torch.tensor([4, 0, 17]))
        logits = taggers(run, batch)
        for row, place in enumerate(batch.places.tolist()):
            inputs = []
            for word in CORPUS.train[place].words:
                number = LEXICON.words[word.lower()]
                vector = taggers.words[run, number if KNOWN[number] else 0]
                spelling = torch.tensor([ord(one) - 31 for one in word])
                encoding = convolution(taggers.characters[run, spelling].T[None])[0].amax(-1)
                inputs.append(torch.cat([vector, encoding]))
            expected = output(recurrent(torch.stack(inputs)[None])[0])[0]
            torch.testing.assert_close(logits[row, : len(inputs)], expected)


def test_batches_hold_each_word_with_its_tag_the_longest_sentence_first(sentences):
    batch = sentences.batch(torch.tensor([2, 5, 3]))
    assert batch.lengths.tolist() == sorted(batch.lengths.tolist(), reverse=True)
    assert sorted(batch.places.tolist()) == [2, 3, 5]
    for row, place in enumerate(batch.places.tolist()):
        sentence = CORPUS.train[place]
        words, forms = LEXICON.numbers(sentence)
        count = len(sentence.words)
        assert batch.lengths[row] == count
        assert batch.words[row, :count].tolist() == words
        assert [tag_names()[tag] for tag in batch.tags[row, :count].tolist()] == [*sentence.tags]
        assert set(batch.tags[row, count:].tolist()) <= {-100}
        width = batch.spellings.shape[1]
        for form, index in zip(forms, batch.forms[row].tolist(), strict=False):
            assert batch.spellings[index].tolist() == LEXICON.spellings[form, :width].tolist()
            assert not LEXICON.spellings[form, width:].any()


def test_a_sentence_is_tagged_the_same_alone_and_among_longer_ones(sentences):
    taggers = _taggers()
    together = sentences.batch(torch.arange(30))
    logits = taggers(0, together)
    for row, (place, length) in enumerate(
        zip(together.places.tolist(), together.lengths.tolist(), strict=True)
    ):
        alone = taggers(0, sentences.batch(torch.tensor([place])))
        torch.testing.assert_close(logits[row, :length], alone[0])


def test_runs_differ_by_their_seed_and_not_by_their_company(sentences):
    batch = sentences.batch(torch.arange(4))
    stacked = _taggers((3, 7, 3))
    first, second, third = (stacked(run, batch, moment=5) for run in range(3))
    assert torch.equal(first, third)
    assert not torch.allclose(first, second)
    assert torch.equal(second, _taggers((7,))(0, batch, moment=5))


def test_units_are_dropped_out_in_training_only_and_anew_at_each_step(sentences):
    taggers, batch = _taggers(), sentences.batch(torch.arange(4))
    assert torch.equal(taggers(0, batch), taggers(0, batch))
    assert not torch.equal(taggers(0, batch, 1), taggers(0, batch))
    assert not torch.equal(taggers(0, batch, 1), taggers(0, batch, 2))
    ones = taggers._dropped_out("before", 0, torch.ones(1000, 100), 3)
    assert set(ones.unique().tolist()) == {0.0, 1 / (1 - DROPOUT)}
    assert abs(float(ones.mean()) - 1) < 0.02


def test_words_begin_with_their_vectors(sentences):
    vectors = torch.full((len(LEXICON.words) + 1, 5), torch.nan)
    vectors[7] = torch.arange(5.0)
    words = _taggers((0, 1), vectors=vectors).words
    assert words[:, 7].tolist() == [[0, 1, 2, 3, 4]] * 2
    assert not words.isnan().any()
    assert not torch.equal(words[0, 8], words[1, 8])
    assert _taggers((0, 1), vectors=vectors)(0, sentences.batch(torch.arange(2))).shape[-1] == 23


@pytest.mark.parametrize("count", [1, 7, 64, 130])
def test_each_epoch_sees_every_sentence_once_in_an_order_of_its_own(count):
    lengths = torch.arange(count) % 11 + 1
    batches = bucketed(lengths, 4, seed=1, epoch=2)
    assert len(batches) == -(-count // 4)
    assert sorted(torch.cat(batches).tolist()) == list(range(count))
    again = bucketed(lengths, 4, seed=1, epoch=2)
    assert [one.tolist() for one in again] == [one.tolist() for one in batches]
    if count > 7:
        others = (bucketed(lengths, 4, seed=1, epoch=3), bucketed(lengths, 4, seed=0, epoch=2))
        assert all(torch.cat(one).tolist() != torch.cat(batches).tolist() for one in others)


def test_sentences_of_like_length_are_together():
    lengths = torch.randint(1, 50, (2000,), generator=torch.Generator().manual_seed(0))
    batches = bucketed(lengths, 16, seed=0, epoch=0)
    padded = sum(int(lengths[batch].max()) * len(batch) for batch in batches)
    assert padded < 1.1 * int(lengths.sum())
