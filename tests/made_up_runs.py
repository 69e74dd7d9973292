"""Records as runs of the study would leave them, with results that are made up."""

import numpy as np

from residuum.results import Curve, Record
from residuum.study.digits.data.sets import draw_pair_test
from residuum.study.digits.settings import SCHEME, STUDY, preset

IMAGES = 120
PAIRS = draw_pair_test(IMAGES)
LAWS = ("commutativity", "associativity", "distributivity")
JUDGED = ("digit_accuracy", "sum_coherence", "product_coherence", "score")
SEEDS = (0, 20, 50)


def run(
    relaxation, seed, accuracy, *, protocol="joint", digit_size=1000, pair_size=5000,
    images="mnist", curves=None, study=STUDY, laws=None, **others,
):  # fmt: skip
    """A run that reads each image rightly with some chance, in percent, and pairs as well.

    The same images are hard for all runs, and seeds differ by less than a point.
    """
    settings = preset(
        images, protocol, relaxation, digit_size=digit_size, pair_size=pair_size, seed=seed,
        **{"precision": "bfloat16", **others},
    )  # fmt: skip
    hard = np.random.default_rng(7).permutation(IMAGES) / IMAGES * 100
    noise = np.random.default_rng((seed, len(relaxation))).normal(0, 0.4, IMAGES)
    is_read = hard + noise < accuracy
    outcomes = {"digit": is_read}
    for name in ("sum_accuracy", "product_accuracy", "sum_coherence", "product_coherence"):
        outcomes[name] = is_read[PAIRS].all(axis=1)
    measures = {
        "digit_accuracy": 100 * is_read.mean(),
        "operator_accuracy": 100 * outcomes["sum_accuracy"].mean(),
        "coherence": 100 * outcomes["sum_coherence"].mean(),
        **dict.fromkeys(LAWS, accuracy + 0.1 * seed / 50 if laws is None else laws),
    }
    known = {
        **{f"{protocol}: dev/{name}": [(100, accuracy), (200, accuracy)] for name in JUDGED},
        f"{protocol}: selected": [(200, 200)],
        **(curves or {}),
    }
    return Record(
        study=study,
        scheme=SCHEME,
        configuration=settings.configuration,
        measures=measures,
        outcomes=outcomes,
        curves={name: Curve(*zip(*points, strict=True)) for name, points in known.items()},
    )


def runs(relaxation, accuracy, **others):
    """The same for each seed of the paper."""
    return [run(relaxation, seed, accuracy, **others) for seed in SEEDS]
