"""Taggers equal PyTorch's layers, and do not depend on the other sentences and runs."""

import pytest
import torch
from torch import nn

from residuum.study.chunking.data.batches import Sentences, bucketed, make_batch, sampled
from residuum.study.chunking.data.corpus import load_corpus
from residuum.study.chunking.data.vocabulary import known_words, make_lexicon
from residuum.study.chunking.knowledge import tag_names
from residuum.study.chunking.networks import DROPOUT, Taggers

CORPUS = load_corpus("sample")
LEXICON = make_lexicon(CORPUS)
KNOWN = torch.tensor(known_words(LEXICON, CORPUS.train, None))
CPU = torch.device("cpu")


def _taggers(seeds=(0,), cell="lstm", vectors=None, layers=1):
    known = KNOWN.expand(len(seeds), -1)
    return Taggers(seeds, known, vectors, cell=cell, hidden=12, layers=layers)


SENTENCES = Sentences(LEXICON, CORPUS.train)


def _batch(*places):
    return make_batch([SENTENCES], [torch.tensor(places)], CPU)


def _tag(taggers, batch, moment=None):
    """Tag sentences that are the same for all runs."""
    return taggers(batch, torch.zeros(taggers.runs, dtype=torch.int64), moment)


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize(("cell", "layer"), [("lstm", nn.LSTM), ("gru", nn.GRU)])
def test_a_tagger_is_pytorchs_layers_word_by_word(cell, layer, layers):
    taggers = _taggers((3, 7), cell, layers=layers)
    recurrent = layer(200, 6, layers, bidirectional=True, batch_first=True)
    convolution = nn.Conv1d(30, 100, 3, padding=1)
    output = nn.Linear(12, 23)
    run = 1
    with torch.no_grad():
        kinds = {"ih": "input", "hh": "state"}
        for name, parameter in recurrent.named_parameters():
            part, kind, number, *way = name.split("_")
            layer_name = "" if number == "l0" else f"_{int(number[1:]) + 1}"
            direction = "backward" if way else "forward"
            ours = f"{direction}_{kinds[kind]}{layer_name}_{part}"
            parameter.copy_(getattr(taggers, ours)[run])
        for mine, module in (("filters", convolution), ("output", output)):
            module.weight.copy_(getattr(taggers, f"{mine}_weight")[run])
            module.bias.copy_(getattr(taggers, f"{mine}_bias")[run])
        places = (4, 0, 17)
        logits = _tag(taggers, _batch(*places))[run]
        for row, place in enumerate(places):
            inputs = []
            for word in CORPUS.train[place].words:
                number = LEXICON.words[word.lower()]
                vector = taggers.words[run, number if KNOWN[number] else 0]
                spelling = torch.tensor([ord(one) - 31 for one in word])
                encoding = convolution(taggers.characters[run, spelling].T[None])[0].amax(-1)
                inputs.append(torch.cat([vector, encoding]))
            expected = output(recurrent(torch.stack(inputs)[None])[0])[0]
            torch.testing.assert_close(logits[row, : len(inputs)], expected)


def test_batches_hold_each_word_with_its_tag():
    places = ((2, 5, 3), (11, 2, 0))
    batch = make_batch([SENTENCES] * 2, list(map(torch.tensor, places)), CPU)
    for reader, row in ((reader, row) for reader in range(2) for row in range(3)):
        sentence = CORPUS.train[places[reader][row]]
        words, forms = LEXICON.numbers(sentence)
        count = len(sentence.words)
        tags = batch.tags[reader, row].tolist()
        assert batch.places[reader, row] == places[reader][row]
        assert batch.lengths[reader, row] == count
        assert batch.words[reader, row, :count].tolist() == words
        assert [tag_names()[tag] for tag in tags[:count]] == [*sentence.tags]
        assert set(tags[count:]) <= {-100}
        spellings = batch.spellings[reader]
        width = spellings.shape[1]
        for form, index in zip(forms, batch.forms[reader, row].tolist(), strict=False):
            assert spellings[index].tolist() == LEXICON.spellings[form, :width].tolist()
            assert not LEXICON.spellings[form, width:].any()


@pytest.mark.parametrize("moment", [None, 3])
def test_a_sentence_is_tagged_the_same_alone_and_beside_longer_ones(moment):
    taggers = _taggers()
    shortest, longest = int(SENTENCES.lengths.argmin()), int(SENTENCES.lengths.argmax())
    alone = _tag(taggers, _batch(shortest), moment)[0, 0]
    among = _tag(taggers, _batch(shortest, longest, 4), moment)[0, 0]
    torch.testing.assert_close(among[: len(alone)], alone)


@pytest.mark.parametrize("layers", [1, 2])
def test_runs_differ_by_their_seed_and_not_by_their_company(layers):
    batch = _batch(0, 1, 2, 3)
    first, second, third = _tag(_taggers((3, 7, 3), layers=layers), batch, moment=5)
    assert torch.equal(first, third)
    assert not torch.allclose(first, second)
    torch.testing.assert_close(second, _tag(_taggers((7,), layers=layers), batch, moment=5)[0])


def test_layers_begin_apart_and_drop_units_of_their_own():
    taggers, batch = _taggers(layers=3), _batch(0)
    assert not torch.equal(taggers.forward_input_2_weight, taggers.forward_input_3_weight)
    dropped_out, seen = taggers._dropped_out, []

    def noting(name, x, moment):
        seen.append(name)
        return dropped_out(name, x, moment)

    taggers._dropped_out = noting
    _tag(taggers, batch, moment=1)
    assert len(set(seen)) == len(seen) == 4


def test_each_run_reads_the_sentences_of_its_reader():
    taggers = _taggers((3, 3))
    batch = make_batch([SENTENCES] * 2, [torch.tensor([8, 1]), torch.tensor([5, 2])], CPU)
    found = taggers(batch, torch.tensor([1, 0]))
    for logits, places in zip(found, ((5, 2), (8, 1)), strict=True):
        expected = _tag(taggers, _batch(*places))[0]
        for row, place in enumerate(places):
            length = SENTENCES.lengths[place]
            torch.testing.assert_close(logits[row, :length], expected[row, :length])


def test_units_are_dropped_out_in_training_only_and_anew_at_each_step():
    taggers, batch = _taggers(), _batch(0, 1, 2, 3)
    assert torch.equal(_tag(taggers, batch), _tag(taggers, batch))
    assert not torch.equal(_tag(taggers, batch, 1), _tag(taggers, batch))
    assert not torch.equal(_tag(taggers, batch, 1), _tag(taggers, batch, 2))
    ones = taggers._dropped_out("before", torch.ones(1, 10, 100, 100), 3)
    assert set(ones.unique().tolist()) == {0.0, 1 / (1 - DROPOUT)}
    assert abs(float(ones.mean()) - 1) < 0.02
    assert not torch.equal(ones[0, 0], ones[0, 1])


def test_words_begin_with_their_vectors():
    vectors = torch.full((len(LEXICON.words) + 1, 5), torch.nan)
    vectors[7] = torch.arange(5.0)
    words = _taggers((0, 1), vectors=vectors).words
    assert words[:, 7].tolist() == [[0, 1, 2, 3, 4]] * 2
    assert not words.isnan().any()
    assert not torch.equal(words[0, 8], words[1, 8])
    assert _tag(_taggers((0, 1), vectors=vectors), _batch(0, 1)).shape[-1] == 23


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


def test_steps_of_all_seeds_have_sentences_of_like_length():
    lengths = torch.randint(1, 50, (2000,), generator=torch.Generator().manual_seed(0))
    pairs = zip(*(bucketed(lengths, 16, seed, epoch=1) for seed in (0, 1)), strict=True)
    assert all(
        abs(int(lengths[one].max()) - int(lengths[other].max())) < 12 for one, other in pairs
    )


@pytest.mark.parametrize(("count", "among"), [(3, 10), (10, 10), (25, 10)])
def test_sentences_without_labels_are_drawn_evenly_and_anew_in_each_epoch(count, among):
    drawn = sampled(count, among, seed=1, epoch=0)
    often = torch.bincount(drawn, minlength=among)
    assert len(drawn) == count
    assert int(often.max()) - int(often.min()) <= 1
    assert drawn.tolist() != sampled(count, among, seed=1, epoch=1).tolist()
