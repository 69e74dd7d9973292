"""`residuum study chunking`: learn chunk tags from labels and from rules between tags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from residuum.cli.inputs import AsJson
from residuum.cli.outputs import say
from residuum.cli.study.options import (
    AsMarkdown,
    AsTable,
    Device,
    Epochs,
    Names,
    Seeds,
    StoreFile,
    check_markdown,
    names_in,
    seeds_in,
)
from residuum.cli.study.training import as_object, asked_records, train
from residuum.cli.study.watching import Part, Words
from residuum.errors import ResiduumError
from residuum.relaxations.catalogue import find_meaning
from residuum.results import Record
from residuum.study.chunking.data.corpus import Corpus, CorpusName
from residuum.study.chunking.findings import Decoding, System, label, measures_of
from residuum.study.chunking.settings import STUDY, TUNING, Settings
from residuum.study.common_settings import SEEDS
from residuum.training.devices import DeviceName, find_device

if TYPE_CHECKING:
    from residuum.study.chunking.data.vectors import WordVectors

FRACTIONS: Final[dict[CorpusName, tuple[float, ...]]] = {"conll2000": (0.1, 1.0), "sample": (1.0,)}
"""The fractions of the sentences that run by default; a tenth of the sample is too little."""


@dataclass(frozen=True)
class Wanted:
    """The options that select runs; an option that was not given is None or empty."""

    corpus: CorpusName | None = None
    relaxations: Sequence[str] = ()
    fractions: Sequence[float] = ()
    constraints: bool | None = None
    unlabelled: bool = False
    seeds: Sequence[int] = ()
    weight: float | None = None
    epochs: int | None = None


def chunking(
    quick: Annotated[
        bool,
        typer.Option("--quick", help="One seed of each on the sample, in a minute."),
    ] = False,
    corpus: Annotated[
        CorpusName | None,
        typer.Option(help="The sample that is part of residuum (by default), or CoNLL-2000."),
    ] = None,
    relaxation: Names = None,
    fraction: Annotated[
        list[float] | None,
        typer.Option(
            help="The share of the sentences that is in use, or several. By default 1, "
            "and of CoNLL-2000 also 0.1."
        ),
    ] = None,
    constraints: Annotated[
        bool | None,
        typer.Option(
            "--constraints/--no-constraints",
            help="Only with rules, or only without. By default both.",
        ),
    ] = None,
    unlabelled: Annotated[
        bool,
        typer.Option("--unlabelled", help="Rules also on the sentences that are not in use."),
    ] = False,
    decode: Annotated[
        Decoding | None,
        typer.Option(
            help="What is shown: the likeliest tag of each word (by default), or the likeliest "
            "tags that obey the rules. Both are kept; --table has both.",
        ),
    ] = None,
    embeddings: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Word vectors in GloVe's format; learnt without it."),
    ] = None,
    seeds: Seeds = None,
    weight: Annotated[
        float | None,
        typer.Option(min=0, help="That of the rules (λ), instead of those chosen."),
    ] = None,
    epochs: Epochs = None,
    device: Device = "auto",
    store: StoreFile = None,
    table: AsTable = False,
    markdown: AsMarkdown = False,
    as_json: AsJson = False,
) -> None:
    """Learn to mark chunks in sentences, from labels and from rules about neighbouring tags.

    Runs that are in the store are not run again. Ctrl-C stops after the epoch under way, and the
    same command goes on from there.

    \b
    residuum study chunking --quick
    residuum study chunking --corpus conll2000 --embeddings glove.6B.100d.txt.gz
    residuum study chunking --fraction 0.5 --constraints --unlabelled -r s-product --json
    residuum study chunking --table
    """
    wanted = Wanted(
        corpus,
        names_in(relaxation, find_meaning),
        fraction or (),
        constraints,
        unlabelled,
        seeds_in(seeds),
        weight,
        epochs,
    )
    check_markdown(markdown=markdown, table=table)
    if unlabelled and constraints is False:
        raise ResiduumError("--unlabelled is for rules: leave out --no-constraints")
    if table and embeddings:
        raise ResiduumError("--table has the runs with all vectors there are: leave --embeddings")
    if table:
        _print_tables(wanted, decode, store, as_json=as_json, markdown=markdown)
        return
    if quick and embeddings:
        raise ResiduumError("--quick is for the sample without vectors; leave out one of both")
    if quick:
        wanted = _quick(wanted)
    _train(wanted, decode or "argmax", embeddings, device, store, as_json)


def _quick(wanted: Wanted) -> Wanted:
    if wanted.corpus == "conll2000":
        raise ResiduumError("--quick is for the sample; leave it out for CoNLL-2000")
    return replace(wanted, seeds=wanted.seeds or (0,))


def _train(
    wanted: Wanted,
    decoding: Decoding,
    embeddings: Path | None,
    device: DeviceName,
    path: Path | None,
    as_json: bool,
) -> None:
    """Train the runs that are missing, and print the measures of all."""
    chosen = find_device(device)
    from residuum.cli.study.chunking_reports import print_summary
    from residuum.study.chunking.data.corpus import load_corpus
    from residuum.study.chunking.data.splits import make_split
    from residuum.study.chunking.experiment import Chunking
    from residuum.study.chunking.transitions import gold_report

    corpus = load_corpus(wanted.corpus or "sample")
    vectors = _vectors(embeddings, corpus)
    runs = _plan(wanted, corpus.name, None if vectors is None else vectors.name)
    for run in runs:  # raises for impossible fractions before any training starts
        make_split(len(corpus.train), run.fraction, run.seed)
    say(gold_report(corpus), err=True)

    def to_object(record: Record) -> dict[str, Any]:
        return {**as_object(record, measures_of(record, decoding)), "decode": decoding}

    experiment = Chunking(corpus, vectors, chosen)
    records = train(experiment, runs, path, WORDS, to_object if as_json else None)
    if not as_json:
        print_summary(records, corpus, decoding)


def _vectors(path: Path | None, corpus: Corpus) -> WordVectors | None:
    from residuum.study.chunking.data.vectors import read_vectors
    from residuum.study.chunking.data.vocabulary import make_lexicon

    return None if path is None else read_vectors(path, make_lexicon(corpus).words)


def _plan(wanted: Wanted, corpus: str, embeddings: str | None) -> list[Settings]:
    from residuum.study.chunking.settings import plan

    fractions = wanted.fractions or FRACTIONS[wanted.corpus or "sample"]
    if wanted.unlabelled and min(fractions) >= 1:
        raise ResiduumError(
            "--unlabelled: with all sentences in use none is without labels; give a --fraction"
        )
    return plan(
        corpus,
        wanted.relaxations,
        fractions,
        (False, True) if wanted.constraints is None else (wanted.constraints,),
        wanted.seeds or SEEDS,
        unlabelled=wanted.unlabelled,
        epochs=wanted.epochs,
        embeddings=embeddings,
        **({} if wanted.weight is None else {"weight": wanted.weight}),
    )


def _print_tables(
    wanted: Wanted, decoding: Decoding | None, path: Path | None, *, as_json: bool, markdown: bool
) -> None:
    from residuum.cli.study.chunking_reports import print_tables

    asked = asked_records(path, (STUDY, TUNING), lambda record: _is_wanted(record, wanted))
    decodings: Sequence[Decoding] = ("argmax", "viterbi") if decoding is None else (decoding,)
    print_tables(
        asked,
        decodings,
        epochs=wanted.epochs,
        weight=wanted.weight,
        as_json=as_json,
        markdown=markdown,
    )


def _is_wanted(record: Record, wanted: Wanted) -> bool:
    known = record.configuration.get  # a record that lacks a setting is skipped later
    corpus = str(known("corpus")).partition("-")[0]
    return (
        wanted.corpus in (None, corpus)
        and (not wanted.relaxations or known("relaxation") in wanted.relaxations)
        and (not wanted.fractions or known("fraction") in wanted.fractions)
        and wanted.constraints in (None, known("constraints"))
        and (not wanted.unlabelled or known("unlabelled") == known("constraints"))
        and (not wanted.seeds or known("seed") in wanted.seeds)
    )


def _common(run: Settings) -> str:
    vectors = f"vectors {run.embeddings}" if run.embeddings else "no vectors"
    return (
        f"{run.corpus}, {100 * run.fraction:g}% of the sentences, {vectors}, {run.cell} of "
        f"{run.layers} × {run.hidden} units, {run.optimiser}"
    )


def _row(run: Settings) -> str:
    return run.relaxation + label(System(run.relaxation, run.constraints, run.unlabelled))


def _done(record: Record) -> str:
    known: Any = record.configuration
    system = System(*(known[name] for name in System._fields))
    measures = record.measures
    run = f"{system.relaxation}{label(system)}, {100 * known['fraction']:g}%, seed {known['seed']}"
    if record.diverged:
        return f"{run}: {record.diverged}"
    return (
        f"{run}: F1 {measures['f1']:.2f}%, {measures['violations']:.2f}% of transitions break "
        f"the rules; F1 {measures['viterbi_f1']:.2f}% if none may"
    )


def _parts(run: Settings) -> list[Part]:
    return [Part("Tag", run.epochs, 1.0 if run.unlabelled else run.fraction)]


WORDS: Final = Words[Settings](stack=_common, row=_row, done=_done, parts=_parts)
