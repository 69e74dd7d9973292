"""Predictions about all members of open domains: tables in an .npz file, as for `rs.compile`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from torch import Tensor

from residuum.advice.archives import LABEL, LENGTHS, OBSERVED, PAIRS, read_arrays, with_prefix
from residuum.advice.closing import open_functions, relations_in_guards
from residuum.errors import DataError
from residuum.losses import compile as compile_rule
from residuum.losses.degrees.logits import Form
from residuum.losses.inputs.checking import refuse_unknown
from residuum.printable import printable
from residuum.syntax import Knowledge


class Tables(NamedTuple):
    """Predictions, evidence and labels of all members, with the numbers of members in front.

    `pairs` are relations that are known, as in rs.Pairs. `functions` have the number of the value
    for each member. `domains` are the open domains of each predicate, `label_sizes` the numbers of
    labels of its others; `sizes` are the numbers of members.
    """

    path: Path
    form: Form
    arrays: Mapping[str, Tensor]
    observed: Mapping[str, Tensor]
    labels: Mapping[str, Tensor]
    pairs: Mapping[str, Tensor]
    functions: Mapping[str, Tensor]
    function_domains: Mapping[str, tuple[str, str]]
    domains: Mapping[str, Sequence[str]]
    label_sizes: Mapping[str, Sequence[int]]
    sizes: Mapping[str, int]

    def links(self) -> Iterator[tuple[Sequence[str], list[list[int]]]]:
        """Yield what links members: their domains, and a column of numbers for each link."""
        for name, index in self.pairs.items():
            yield self.domains[name], index.tolist()
        for arrays in (self.observed, self.labels):
            for name, table in arrays.items():
                own = self.domains[name]
                if len(own) > 1 and table.dim() == len(own) and not table.is_floating_point():
                    yield own, (table == 1).nonzero().T.tolist()
        for name, values in self.functions.items():
            numbers = [int(one) for one in values.tolist()]
            yield self.function_domains[name], [list(range(len(numbers))), numbers]


def read_tables(path: Path, knowledge: Knowledge, form: Form = "probs") -> Tables:
    """Return the tables in an .npz file. DataError says what is missing or does not fit together.

    A table has a dimension for each argument over an open domain, in front of those of its other
    arguments. Numbers in it are checked when members have been chosen.
    """
    arrays = read_arrays(path, form)
    where = printable(path)
    if LENGTHS in arrays:
        raise DataError(f"{where}: expected no `{LENGTHS}`, as relations have no sequences; "
                        "leave it out")  # fmt: skip
    parts = {prefix: with_prefix(arrays, prefix) for prefix in (OBSERVED, LABEL, PAIRS)}
    known = {one.name: one for one in open_functions(knowledge)}
    functions = {name: arrays.pop(name) for name in known if name in arrays}
    rules = compile_rule(knowledge).rules.values()
    read = list(dict.fromkeys(name for rule in rules for name in rule.plan.read))
    for some in (arrays, *parts.values()):
        refuse_unknown(some, read)
    domains, label_sizes = {}, {}
    for name in read:
        declared = knowledge.predicates.get(name) or knowledge.quantities.get(name)
        if declared is None:
            raise DataError(
                f"{where}: expected rules whose atoms read members by variables, got `{name}`, "
                "which tables cannot give; leave out the sample"
            )
        own = declared.domains or ()
        domains[name] = [one for one in own if knowledge.domains[one].is_open]
        others = [knowledge.domains[one].labels for one in own if one not in domains[name]]
        label_sizes[name] = [len(labels or ()) for labels in others]
    found = Tables(
        path, form, arrays, parts[OBSERVED], parts[LABEL], parts[PAIRS], functions,
        {name: (one.domains[0], one.result) for name, one in known.items()}, domains,
        label_sizes, {},
    )  # fmt: skip
    for name, one in known.items():
        if len(one.domains) > 1 or not all(
            knowledge.domains[of].is_open for of in (one.domains[0], one.result)
        ):
            raise DataError(
                f"{where}: expected functions from one member of an open domain to another, got "
                f"`{name}`, whose values tables cannot give; leave out the sample"
            )
        if name not in functions:
            raise DataError(
                f"{where}: expected the array `{name}` with the number of the value for each "
                "member, found none; add it"
            )
    for predicate in relations_in_guards(knowledge):
        if predicate.name not in found.pairs:
            raise DataError(
                f"{where}: a guard reads `{predicate.name}`: expected the members between which it "
                f"holds as `{PAIRS}{predicate.name}`, an array of integers of shape "
                f"({len(predicate.domains)}, number), found none; add it"
            )
    return found._replace(sizes=_sizes(found, knowledge, where))


def _sizes(tables: Tables, knowledge: Knowledge, where: str) -> dict[str, int]:
    """Return how many members open domains have. DataError says where tables do not agree."""
    sizes: dict[str, int] = {}

    def set_size(name: str, domain: str, size: int) -> None:
        if sizes.setdefault(domain, size) != size:
            raise DataError(
                f"{where}: expected {sizes[domain]} members of `{domain}` in `{name}`, as in other "
                f"arrays, found {size}; give all arrays for the same members"
            )

    for prefix, some in (("", tables.arrays), (OBSERVED, tables.observed), (LABEL, tables.labels)):
        for name, table in some.items():
            own = tables.domains[name]
            expected = [*own, *tables.label_sizes[name]]
            fewest = len(expected) - (1 if prefix else 0)  # labels of a softmax have no last one
            rest = list(table.shape[len(own) :])
            if (
                not fewest <= table.dim() <= len(expected)
                or rest != expected[len(own) : table.dim()]
            ):
                raise DataError(
                    f"{where}: `{prefix}{name}`: expected a table of the shape "
                    f"({', '.join(map(str, expected))}), with members in front, found "
                    f"{tuple(table.shape)}; give a table of all members"
                )
            for domain, size in zip(own, table.shape, strict=False):
                set_size(prefix + name, domain, size)
    for name, values in tables.functions.items():
        set_size(name, tables.function_domains[name][0], values.numel())
    numbered = [(PAIRS + name, tables.domains[name], index) for name, index in tables.pairs.items()]
    numbered += [
        (name, [tables.function_domains[name][1]], values.unsqueeze(0))
        for name, values in tables.functions.items()
    ]
    for name, own, index in numbered:
        if index.dim() != 2 or len(index) != len(own) or bool((index != index.round()).any()):
            raise DataError(
                f"{where}: `{name}`: expected whole numbers of members of {', '.join(own)}, a row "
                f"for each, found the shape {tuple(index.shape)}; give the pairs as columns"
            )
        for domain, row in zip(own, index, strict=True):
            _check_numbers(name, domain, row, sizes, knowledge, where)
    for domain, one in knowledge.domains.items():
        if one.is_open and not sizes.get(domain):
            raise DataError(
                f"{where}: expected an array that shows the members of `{domain}`, found none; add "
                "the predictions, labels or evidence of a predicate about them"
            )
    return sizes


def _check_numbers(
    name: str, domain: str, row: Tensor, sizes: dict[str, int], knowledge: Knowledge, where: str
) -> None:
    """Raise DataError for numbers of no members. Where nothing else shows members, pairs do."""
    if not knowledge.domains[domain].is_open or not row.numel():
        return
    first, last = int(row.min()), int(row.max())
    size = sizes.setdefault(domain, last + 1)
    if first < 0 or last >= size:
        raise DataError(
            f"{where}: `{name}`: expected numbers of members of `{domain}` from 0 to {size - 1}, "
            f"found {first if first < 0 else last}; number members from 0"
        )
