"""Records as runs of the chunking study would leave them, with results that are made up."""

import numpy as np

from residuum.results import Curve, Record
from residuum.study.chunking.settings import SCHEME, STUDY, preset

SENTENCES = 150
SEEDS = (0, 20, 50)
GOLD = np.random.default_rng(1).integers(1, 12, SENTENCES)
VECTORS = "100d-0123456789ab"


def run(
    relaxation, seed, level, *, constraints=False, fraction=0.1, corpus="conll2000",
    embeddings=VECTORS, viterbi=0.0, violations=0.5, study=STUDY, dev=(40.0, 50.0), **others,
):  # fmt: skip
    """A run that finds each chunk with some chance, in percent, and guesses as many as there are.

    The same sentences are hard for all runs, and seeds differ by little. Decoding that obeys the
    rules finds `viterbi` points more.
    """
    settings = preset(
        corpus, relaxation, fraction=fraction, constraints=constraints, seed=seed,
        embeddings=embeddings, **others,
    )  # fmt: skip
    hard = np.random.default_rng(7).normal(0, 8, SENTENCES)
    noise = np.random.default_rng((seed, len(relaxation))).normal(0, 1, SENTENCES)
    outcomes = {"gold": GOLD}
    measures = {"violations": violations + 0.01 * seed / 50, "soft_violations": 2 * violations}
    for start, gain in (("", 0.0), ("viterbi_", viterbi)):
        share = np.clip(level + gain + hard + noise, 0, 100) / 100
        outcomes[f"{start}correct"] = np.round(GOLD * share)
        outcomes[f"{start}guessed"] = GOLD
        measures[f"{start}f1"] = 100 * outcomes[f"{start}correct"].sum() / GOLD.sum()
    curves = {name: Curve([15, 30], dev) for name in ("dev/f1", "dev/score")}
    return Record(
        study=study,
        scheme=SCHEME,
        configuration=settings.configuration,
        measures=measures,
        outcomes={name: values.astype(np.uint8) for name, values in outcomes.items()},
        curves=curves,
    )


def runs(relaxation, level, **others):
    """The same for each seed of the paper."""
    return [run(relaxation, seed, level, **others) for seed in SEEDS]
