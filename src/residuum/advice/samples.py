"""Samples that rules are measured on: predictions of a model, or random ones."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple
from zipfile import ZipFile

import numpy as np
import torch
from numpy.lib.format import (
    MAGIC_PREFIX,
    read_array,
    read_array_header_1_0,
    read_array_header_2_0,
    read_magic,
)
from torch import Tensor

from residuum.errors import DataError
from residuum.grounding.plans import Slot
from residuum.losses import compile as compile_rule
from residuum.losses.degrees.logits import FORMS, Form
from residuum.losses.inputs.checking import refuse_unknown
from residuum.losses.inputs.evidence import IGNORED
from residuum.losses.rules import CompiledRule
from residuum.printable import printable
from residuum.study.data_files import UNREADABLE, open_member
from residuum.syntax import Knowledge

LENGTHS: Final = "lengths"
"""The array that holds the lengths of padded sequences."""

OBSERVED: Final = "observed:"
LABEL: Final = "label:"
"""What the names of arrays begin with that hold evidence, and labels that networks learn from."""

EXAMPLES: Final = 128
"""The number of random examples."""

POSITIONS: Final = 8
"""The length of sequences in random examples."""

CONFIDENCE: Final = 5.0
"""Confident predictions have the logits of uniform ones, times this factor."""

SPREAD: Final = 2.0
"""Random quantities are logistic, with this many of their scales."""

MOST_NUMBERS: Final = 2**25
"""The most numbers in all arrays of a file together: 268 MB in double precision."""

LARGEST_HEADER: Final = 2**14
"""The bytes that are read to learn the shape of an array; NumPy accepts headers up to 10,000."""

NEAREST: Final = 1e-15
"""Probabilities of sigmoids are kept at least this far from 0 and 1, where logits are infinite."""


class Sample(NamedTuple):
    """Predictions, evidence and labels, by the names of the tensors that rules take.

    `logits` are in double precision; of quantities they are the numbers themselves. `observed` is
    what the rules are told. `labels` are those that networks are trained on. −100 marks an output
    without a label, NaN a quantity without one. All have the examples as their first dimension.
    """

    name: str
    logits: Mapping[str, Tensor]
    lengths: Tensor | None = None
    observed: Mapping[str, Tensor] = {}
    labels: Mapping[str, Tensor] = {}

    @property
    def examples(self) -> int:
        """The number of examples."""
        return max(len(one) for one in (*self.logits.values(), *self.observed.values()))

    def is_observed(self, name: str) -> bool:
        """Return whether an output is observed in every example."""
        return name in self.observed and bool((self.observed[name] != IGNORED).all())

    def at(self, rows: Tensor) -> Sample:
        """Return some of the examples."""

        def chosen(arrays: Mapping[str, Tensor]) -> dict[str, Tensor]:
            return {n: one[rows] if len(one) > 1 else one for n, one in arrays.items()}

        lengths = None if self.lengths is None else self.lengths[rows]
        return Sample(self.name, chosen(self.logits), lengths, chosen(self.observed),
                      chosen(self.labels))  # fmt: skip

    def with_members(self, slots: Mapping[str, Slot], domain: str, keep: Tensor) -> Sample:
        """Return the sample with some members of a domain, which `keep` has the places of."""

        def kept(arrays: Mapping[str, Tensor], *, are_labels: bool) -> dict[str, Tensor]:
            found = {}
            for name, one in arrays.items():
                for place, own in enumerate(slots[name].domains if name in slots else ()):
                    if own.name != domain:
                        continue
                    if 1 + place < one.dim():
                        one = one.index_select(1 + place, keep)
                    elif are_labels:  # the classes of a softmax
                        matches = one.unsqueeze(-1) == keep
                        one = torch.where(matches.any(-1), matches.long().argmax(-1), IGNORED)
                found[name] = one
            return found

        lengths = self.lengths
        domains = {own.name: own for slot in slots.values() for own in slot.domains}
        if lengths is not None and domains[domain].is_sequence:
            lengths = lengths.clamp(max=len(keep))
        return Sample(
            self.name,
            kept(self.logits, are_labels=False),
            lengths,
            kept(self.observed, are_labels=True),
            kept(self.labels, are_labels=True),
        )


def read_sample(
    path: Path, knowledge: Knowledge, form: Form = "probs", *, content: bytes | None = None
) -> Sample:
    """Return the predictions in an .npz file: one array for each tensor that the rules take.

    Arrays have the names of the tensors in a call of the compiled rules, and the examples as
    their first dimension. GroundingError and DataError say what is missing or wrong. With `content`
    no file is read, and `path` only names it.
    """
    if form not in FORMS:
        raise DataError(
            f"expected predictions as one of {', '.join(FORMS)}, got {form!r}; name the "
            "form that the file has"
        )
    arrays = _arrays(path, content)
    lengths = arrays.pop(LENGTHS, None)
    observed, labels = _with_prefix(arrays, OBSERVED), _with_prefix(arrays, LABEL)
    slots: dict[str, Slot] = {}
    for rule in _rules(knowledge, form).values():
        own = {slot.name: slot for slot in rule.plan.given}
        read = {name: arrays[name] for name in own if name in arrays}
        told = {name: observed[name] for name in own if name in observed}
        own_lengths = lengths if rule.plan.sequence_domains else None
        call = rule.receive(read, own_lengths, told or None)  # refuses what does not fit, in words
        if len(call.batch) != 1 or not call.batch[0]:
            raise DataError(
                f"{printable(path)}: expected arrays with one or more examples in the first "
                f"dimension, got the batch {call.batch}; add that dimension, or examples"
            )
        known = {slot.name: labels[slot.name] for slot in rule.plan.outputs if slot.name in labels}
        if known:  # labels must fit as evidence does
            rule.receive(read, own_lengths, {**told, **known})
        for quantity in rule.plan.quantities:
            _check_numbers(quantity.name, labels, arrays)
        slots |= own
    for some in (arrays, observed, labels):
        refuse_unknown(some, [*slots])
    logits = {
        name: _logits(arrays[name].double(), slot, form, is_quantity=is_quantity(knowledge, name))
        for name, slot in slots.items()
        if name in arrays
    }
    return Sample(path.name, logits, lengths, observed, labels)


def _check_numbers(name: str, labels: Mapping[str, Tensor], arrays: Mapping[str, Tensor]) -> None:
    if name in labels and labels[name].shape != arrays[name].shape:
        raise DataError(
            f"`{LABEL}{name}`: expected as many numbers as `{name}` has, of the shape "
            f"{tuple(arrays[name].shape)}, got {tuple(labels[name].shape)}; write NaN where there "
            "is no label"
        )


def _with_prefix(arrays: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """Take the arrays whose names begin with a prefix out of others."""
    names = [name for name in arrays if name.startswith(prefix)]
    return {name.removeprefix(prefix): arrays.pop(name) for name in names}


def is_quantity(knowledge: Knowledge, name: str) -> bool:
    """Return whether a tensor holds numbers, by its name, such as `Price(left(p))`."""
    return name.split("(")[0] in knowledge.quantities


def slots_of(knowledge: Knowledge) -> dict[str, Slot]:
    """Return the tensors that the rules take, by name."""
    rules = compile_rule(knowledge).rules.values()
    return {slot.name: slot for rule in rules for slot in rule.plan.given}


def draw_samples(knowledge: Knowledge, *, examples: int = EXAMPLES, seed: int = 0) -> list[Sample]:
    """Return random predictions: a uniform sample and a confident one.

    In the uniform sample all distributions over the classes of a softmax are equally likely, and
    so are all degrees of a sigmoid. Quantities lie a few of their scales apart.
    """
    generator = torch.Generator().manual_seed(seed)
    _rules(knowledge, "logits")  # refuses what advice cannot take
    uniform = {}
    for name, slot in slots_of(knowledge).items():
        sizes = [POSITIONS if d.labels is None else len(d.labels) for d in slot.domains]
        drawn = torch.rand(examples, *sizes, dtype=torch.float64, generator=generator)
        drawn = drawn.clamp(NEAREST, 1 - NEAREST)
        if is_quantity(knowledge, name):
            scale = knowledge.quantities[name.split("(")[0]].scale
            uniform[name] = SPREAD * (scale or 1.0) * torch.logit(drawn)
            continue
        # Exponential variables divided by their sum are uniform on the simplex.
        uniform[name] = torch.log(-torch.log(drawn)) if slot.is_exclusive else torch.logit(drawn)
    confident = {
        name: logits if is_quantity(knowledge, name) else CONFIDENCE * logits
        for name, logits in uniform.items()
    }
    return [Sample("uniform", uniform), Sample("confident", confident)]


def _rules(knowledge: Knowledge, form: Form) -> Mapping[str, CompiledRule]:
    for predicate in knowledge.predicates.values():
        if predicate.is_hidden:
            raise DataError(
                "expected rules about outputs of networks, got the hidden predicate "
                f"`{predicate.name}`, which only `exact` can sum out; leave out its rules"
            )
    if not knowledge.rules:
        raise DataError(
            "expected a file with a rule or more, got one without any; add a rule to it"
        )
    return compile_rule(knowledge, inputs=form, check=True).rules


def _arrays(path: Path, content: bytes | None) -> dict[str, Tensor]:
    expected = f"{printable(path)}: expected an .npz file of named arrays, as numpy.savez writes it"
    try:
        with path.open("rb") if content is None else io.BytesIO(content) as file:
            if file.read(len(MAGIC_PREFIX)) == MAGIC_PREFIX:
                raise DataError(f"{expected}, got a single array; save it by a name")
            with ZipFile(file) as archive:
                return _read_members(archive, printable(path))
    except DataError:
        raise
    except UNREADABLE as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise DataError(f"{expected}: {reason}") from None


def _read_members(archive: ZipFile, source: str) -> dict[str, Tensor]:
    """Return the arrays of an archive. Sizes are checked before anything is decompressed."""
    found: dict[str, Tensor] = {}
    room = MOST_NUMBERS
    for member in archive.infolist():
        name = member.filename.removesuffix(".npy")
        where = f"{source}: `{printable(name)}`"
        if name == member.filename or name in found or not name.isprintable():
            raise DataError(
                f"{where}: expected arrays by different names, each in a file that ends in .npy, "
                f"found the file {member.filename!a}; write all arrays by one numpy.savez"
            )
        with open_member(archive, member, where) as opened:
            shape, dtype, start = _read_header(opened.read(LARGEST_HEADER), where)
        are_labels = name.startswith((OBSERVED, LABEL))
        if dtype.kind not in ("iu" if name == LENGTHS else "fiub" if are_labels else "fiu"):
            raise DataError(
                f"{where}: expected numbers, got an array of {dtype}; convert it before it is saved"
            )
        count = math.prod(shape)
        if count > room:
            raise DataError(
                f"{where}: expected at most {MOST_NUMBERS:,} numbers in all arrays together, found "
                f"the shape {shape}; give fewer examples"
            )
        if member.file_size != start + count * dtype.itemsize:
            raise DataError(
                f"{where}: expected {count:,} numbers of {dtype.itemsize} bytes for the shape "
                f"{shape}, found {member.file_size - start:,} bytes; write the file anew"
            )
        with open_member(archive, member, where) as opened:
            array = read_array(opened, allow_pickle=False)
        room -= count
        is_whole = dtype.kind in "iub" and (name == LENGTHS or are_labels)
        found[name] = torch.from_numpy(np.array(array, np.int64 if is_whole else np.float64))
    return found


def _read_header(content: bytes, where: str) -> tuple[tuple[int, ...], np.dtype[Any], int]:
    """Return the shape of an array, its type, and the offset of its first number."""
    file = io.BytesIO(content)
    try:
        read = {(1, 0): read_array_header_1_0, (2, 0): read_array_header_2_0}[read_magic(file)]
        shape, _, dtype = read(file)
    except Exception as error:  # NumPy evaluates the text of the header, which may raise anything
        raise DataError(
            f"{where}: expected an array as numpy.savez writes it, found something else "
            f"({type(error).__name__}); write the file anew"
        ) from None
    if any(size < 0 for size in shape):
        raise DataError(
            f"{where}: expected sizes of 0 or more, found the shape {shape}; write the file anew"
        )
    return shape, dtype, file.tell()


def _logits(given: Tensor, slot: Slot, form: Form, *, is_quantity: bool) -> Tensor:
    if is_quantity or form == "logits" or (form == "log_probs" and slot.is_exclusive):
        return given
    probabilities = given.exp() if form == "log_probs" else given
    if not slot.is_exclusive:
        return torch.logit(probabilities, eps=NEAREST)
    return torch.log(probabilities).clamp(min=-math.inf)
