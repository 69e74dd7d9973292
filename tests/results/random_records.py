"""Records of every kind, for Hypothesis: odd numbers, odd texts, empty arrays."""

import numpy as np
from hypothesis import strategies as st

from residuum.results import Curve, Divergence, Record

texts = st.text(max_size=8)  # without surrogates
names = st.text(min_size=1, max_size=8)
scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
)
flat = st.dictionaries(names, scalars | texts, max_size=5)
epochs = st.lists(st.integers(0, 10**6), max_size=6, unique=True).map(sorted)
curves = epochs.flatmap(
    lambda found: st.builds(
        Curve, st.just(found), st.lists(st.floats(), min_size=len(found), max_size=len(found))
    )
)
arrays = st.lists(st.booleans(), max_size=40).map(lambda bits: np.array(bits, dtype=np.bool_))
counts = st.lists(st.integers(0, 255), max_size=40).map(lambda n: np.array(n, dtype=np.uint8))
measured = st.builds(
    Record,
    study=names,
    scheme=st.integers(0, 10**9),
    configuration=flat,
    measures=st.dictionaries(names, st.floats(), max_size=4),
    curves=st.dictionaries(names, curves, max_size=3),
    outcomes=st.dictionaries(names, arrays | counts, max_size=3),
    seconds=st.floats(0, 1e9),
    environment=flat,
)
divergences = st.builds(Divergence, st.integers(1, 10**6), st.lists(names, min_size=1, max_size=3))
diverged = st.builds(
    Record,
    study=names,
    scheme=st.integers(0, 10**9),
    configuration=flat,
    curves=st.dictionaries(names, curves, max_size=3),
    diverged=divergences,
)
records = measured | diverged
