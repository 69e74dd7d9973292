"""What `check` must find, from tables: for each rule, the predictions that obey it."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping

Table = Mapping[int, Mapping[str, frozenset[Hashable]]]
"""For each length of sequences (0: there are none), the predictions that obey each rule."""


def obeying(
    rules: Mapping[str, frozenset[Hashable]], names: Collection[str], every: frozenset[Hashable]
) -> frozenset[Hashable]:
    """Return the predictions that obey all the named rules that exist at this length."""
    return every.intersection(*(rules[name] for name in names if name in rules))


def assert_found(found, table: Table, everything: Mapping[int, frozenset[Hashable]]) -> None:
    """Assert that the contradictions and the entailed rules are those of the tables."""
    _assert_contradictions(found, table, everything)
    refuted = {n for n, rules in table.items() if not obeying(rules, [*rules], everything[n])}
    names = dict.fromkeys(name for rules in table.values() for name in rules)
    by_rule = {one.rule: one.by for one in found.entailed}
    assert len(by_rule) == len(found.entailed)
    for name in names:
        lengths = [n for n in table if name in table[n]]
        open_lengths = [n for n in lengths if n not in refuted]
        others = [other for other in names if other != name] if open_lengths else []

        def follows(by, name=name, lengths=open_lengths or lengths):
            return all(obeying(table[n], by, everything[n]) <= table[n][name] for n in lengths)

        assert (name in by_rule) == follows(others), name
        if name in by_rule:
            assert follows(by_rule[name])
            assert not any(
                follows([one for one in by_rule[name] if one != left]) for left in by_rule[name]
            )
            assert name not in by_rule[name]


def _assert_contradictions(found, table, everything):
    for one in found.contradictions:
        lengths = one.lengths or (0,)
        for n in lengths:
            assert set(one.rules) <= set(table[n])
            assert not obeying(table[n], one.rules, everything[n])
        readable = [n for n in table if set(one.rules) <= set(table[n])]
        agreeing = [n for n in readable if obeying(table[n], one.rules, everything[n])]
        assert one.at_every_length == (not agreeing)
        assert set(lengths) == set(readable) - set(agreeing)
        assert one.is_minimal
        # At the length where it was found every rule is needed; at others fewer may do.
        assert any(
            all(
                obeying(table[n], [r for r in one.rules if r != left], everything[n])
                for left in one.rules
            )
            for n in lengths
        )
    for n, rules in table.items():
        named = {
            rule for one in found.contradictions if n in (one.lengths or (0,)) for rule in one.rules
        }
        assert bool(named) == (not obeying(rules, [*rules], everything[n]))
        assert obeying(rules, set(rules) - named, everything[n])
