"""Formula → text: ASCII and Unicode that parse back to the same formula, and LaTeX.

Brackets are written only where they are needed. `_spell` says of which parts the text of a node
is made. The length of the text is computed from it before anything is written, so that a formula
with a text of astronomical length is refused, and its length is told.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from residuum.errors import FormulaTooLargeError, ResiduumError
from residuum.limits import LONGEST_TEXT
from residuum.logic import formulas as fm
from residuum.logic import terms as tm
from residuum.logic.counting import Count, CountOf, CountQuantifier
from residuum.logic.nodes import Node, fold

LARGEST_SUMMARY: Final = 30
"""The most nodes of a formula whose text `repr` shows."""

# How tightly operators bind. An operand that binds less tightly gets brackets.
_IFF, _IMPLIES, _OR, _AND, _UNARY = range(1, 6)
_SUM, _PRODUCT, _LEAF = range(6, 9)


class Operand(NamedTuple):
    """A child in the text of its parent, and how tightly it must bind to need no brackets.

    A quantifier reaches as far right as it can. So an operand that ends in a quantifier needs
    brackets unless nothing follows it, which `is_last` says.
    """

    node: Node
    tightness: int
    is_last: bool


Part = str | Operand
Spelling = Sequence[Part]


@dataclass(frozen=True)
class Style:
    """How symbols, names and labels are written."""

    symbols: Mapping[str, str]
    name: Callable[[str], str]
    label: Callable[[str], str]

    def __getitem__(self, symbol: str) -> str:
        return self.symbols.get(symbol, symbol)


def _unicode_label(label: str) -> str:
    printable = label.isprintable()
    return json.dumps(label, ensure_ascii=not printable)


def _latex_escape(text: str) -> str:
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    return re.sub(r"[\\~^#$%&_{}]", lambda m: special.get(m[0], "\\" + m[0]), text)


def _latex_name(name: str) -> str:
    escaped = _latex_escape(name)
    return escaped if len(name) == 1 else rf"\mathit{{{escaped}}}"


def _same(name: str) -> str:
    return name


# In the symbols of counting, `#` stands for the number.
_ASCII = Style({"exactly 1 ": "exists! "}, _same, json.dumps)
_UNICODE = Style(
    {
        "~": "¬", " & ": " ∧ ", " | ": " ∨ ", " -> ": " → ", " <-> ": " ↔ ",
        "true": "⊤", "false": "⊥", "forall ": "∀", "exists ": "∃", " in ": " ∈ ",
        "!=": "≠", "<=": "≤", ">=": "≥",
        "exactly 1 ": "∃!", "at least # ": "∃≥# ", "at most # ": "∃≤# ", "exactly # ": "∃=# ",
    },
    _same, _unicode_label,
)  # fmt: skip
_LATEX = Style(
    {
        "~": r"\lnot ", " & ": r" \land ", " | ": r" \lor ", " -> ": r" \rightarrow ",
        " <-> ": r" \leftrightarrow ", "true": r"\top", "false": r"\bot",
        "forall ": r"\forall ", "exists ": r"\exists ", " in ": r" \in ", ": ": r" \colon ",
        " where ": r" \text{ where } ", "!=": r"\neq", "<=": r"\leq", ">=": r"\geq",
        "*": r"\cdot", "mod": r"\bmod", "div": r"\mathbin{\mathrm{div}}",
        "exactly 1 ": r"\exists! ", "exactly # ": r"\exists^{=#} ",
        "at least # ": r"\exists^{\geq #} ", "at most # ": r"\exists^{\leq #} ",
        "at least # of ": r"\text{at least } # \text{ of } ",
        "at most # of ": r"\text{at most } # \text{ of } ",
        "exactly # of ": r"\text{exactly } # \text{ of } ",
    },
    _latex_name, lambda label: rf"\text{{{_latex_escape(label)}}}",
)  # fmt: skip

STYLES: Final[Mapping[str, Style]] = {"ascii": _ASCII, "unicode": _UNICODE, "latex": _LATEX}


def render(node: Node, style: str = "ascii") -> str:
    r"""Return the text of a formula or term in the style "ascii", "unicode" or "latex".

    ASCII and Unicode text parses back to the same formula. A text of more than LONGEST_TEXT
    characters raises FormulaTooLargeError.

    >>> P, Q = fm.atoms("P Q")
    >>> render((P & ~Q) >> P, "latex")
    'P \\land \\lnot Q \\rightarrow P'
    """
    if style not in STYLES:
        raise ResiduumError(f"expected a style among {', '.join(STYLES)}, got {style!r}")
    chosen = STYLES[style]
    extents = _measure(node, chosen)
    length = extents[node].length
    if length > LONGEST_TEXT:
        raise FormulaTooLargeError(
            f"expected a formula whose text has at most {LONGEST_TEXT:,} characters, got one with "
            f"{count_in_words(length)} characters; render its parts, or share fewer of them"
        )
    return "".join(_write(node, chosen, extents))


def summarise(node: Node) -> str:
    """Return the `repr` of a node, which is short however large the node is."""
    kind = type(node).__name__
    if _is_large(node):
        return f"<{kind}, more than {LARGEST_SUMMARY} nodes>"
    length = _measure(node, _ASCII)[node].length
    if length > 20 * LARGEST_SUMMARY:
        return f"<{kind}, {count_in_words(length)} characters>"
    return f"<{kind} {render(node)}>"


def brief(term: tm.Term) -> str:
    """Return the text of a term between backticks, or the `repr` of a large one."""
    return summarise(term) if _is_large(term) else f"`{render(term)}`"


def _is_large(node: Node) -> bool:
    seen, stack = 0, [node]
    while stack and seen <= LARGEST_SUMMARY:
        stack.extend(stack.pop().children)
        seen += 1
    return bool(stack) or seen > LARGEST_SUMMARY


def count_in_words(count: int) -> str:
    """Return a number as a short text, however large the number is.

    >>> count_in_words(12345), count_in_words(2**200)
    ('12,345', 'about 10^60')
    """
    if count < 10**15:
        return f"{count:,}"
    return f"about 10^{math.floor(count.bit_length() * math.log10(2))}"


class _Extent(NamedTuple):
    """The length of a child's text, and what decides whether it needs brackets."""

    length: int
    tightness: int
    ends_in_quantifier: bool


def _measure(root: Node, style: Style) -> Mapping[Node, _Extent]:
    extents: dict[Node, _Extent] = {}

    def measure(node: Node, _: Sequence[None]) -> None:
        length, open_end = 0, isinstance(node, fm.Quantifier)
        for part in _spell(node, style):
            if isinstance(part, str):
                length += len(part)
            else:
                bracketed = _needs_brackets(part, extents[part.node])
                length += extents[part.node].length + 2 * bracketed
                if part.is_last and not bracketed:
                    open_end = open_end or extents[part.node].ends_in_quantifier
        open_end = open_end and not isinstance(node, CountOf)  # its bracket closes everything
        extents[node] = _Extent(length, _tightness(node), open_end)

    fold(root, {}, default=measure)
    return extents


def _needs_brackets(operand: Operand, extent: _Extent) -> bool:
    if isinstance(operand.node, fm.Quantifier):
        return not operand.is_last
    return extent.tightness < operand.tightness or (
        extent.ends_in_quantifier and not operand.is_last
    )


def _write(root: Node, style: Style, extents: Mapping[Node, _Extent]) -> list[str]:
    written: list[str] = []
    stack: list[Part] = [Operand(root, 0, True)]
    while stack:
        part = stack.pop()
        if isinstance(part, str):
            written.append(part)
            continue
        parts = list(_spell(part.node, style))
        if _needs_brackets(part, extents[part.node]):
            parts = ["(", *parts, ")"]
        stack.extend(reversed(parts))
    return written


def _tightness(node: Node) -> int:
    match node:
        case fm.Iff():
            return _IFF
        case fm.Implies():
            return _IMPLIES
        case fm.Or():
            return _OR
        case fm.And():
            return _AND
        case fm.Not() | fm.Quantifier():
            return _UNARY
        case tm.Arithmetic(operator):
            return _SUM if operator in "+-" else _PRODUCT
        case _:
            return _LEAF


def _spell(node: Node, style: Style) -> Spelling:
    """Return the parts of a node's text, without brackets around its operands."""
    match node:
        case tm.Variable(name):
            return [style.name(name)]
        case tm.Constant(value):
            return [str(value) if isinstance(value, int) else style.label(value)]
        case tm.Number(value):
            return [repr(value)]
        case tm.Application(function, arguments):
            return [style.name(function), "(", *_listed(arguments), ")"]
        case fm.Atom(predicate, arguments):
            called = ["(", *_listed(arguments), ")"] if arguments else []
            return [style.name(predicate), *called]
        case tm.Arithmetic(operator, left, right):
            tight = _tightness(node)
            return [
                Operand(left, tight, False),
                f" {style[operator]} ",
                Operand(right, tight + 1, True),
            ]
        case fm.Comparison(operator, left, right):
            return [Operand(left, _SUM, False), f" {style[operator]} ", Operand(right, _SUM, True)]
        case fm.Truth(value):
            return [style["true" if value else "false"]]
        case fm.Not(operand):
            return [style["~"], Operand(operand, _UNARY, True)]
        case fm.And(operands):
            return _joined(operands, style[" & "], _AND + 1)
        case fm.Or(operands):
            return _joined(operands, style[" | "], _OR + 1)
        case fm.Implies(antecedent, consequent):
            arrow = style[" -> "]
            return [Operand(antecedent, _OR, False), arrow, Operand(consequent, _IMPLIES, True)]
        case fm.Iff(left, right):
            return [Operand(left, _IFF, False), style[" <-> "], Operand(right, _IMPLIES, True)]
        case CountOf(count, operands):
            # Nothing that follows an operand could belong to it, so that each is like a last one.
            listed: list[Part] = []
            for operand in operands:
                listed += [", ", Operand(operand, 0, True)]
            return [_counting(count, "of ", style), "(", *listed[1:], ")"]
        case fm.Quantifier():
            return _spell_quantifier(node, style)
    raise AssertionError(f"no spelling for {type(node).__name__}")


def _listed(arguments: tuple[tm.Term, ...]) -> Spelling:
    return _joined(arguments, ", ", 0)


def _joined(operands: Sequence[Node], separator: str, tightness: int) -> list[Part]:
    parts: list[Part] = []
    for operand in operands:
        parts += [separator, Operand(operand, tightness, False)]
    parts[-1] = Operand(operands[-1], tightness, True)
    return parts[1:]


def _spell_quantifier(node: fm.Quantifier, style: Style) -> Spelling:
    groups: list[tuple[str, list[str]]] = []
    for variable, domain in node.bindings:
        if not groups or groups[-1][0] != domain:
            groups.append((domain, []))
        groups[-1][1].append(style.name(variable))
    heads = [", ".join(names) + style[" in "] + style.name(domain) for domain, names in groups]
    if isinstance(node, CountQuantifier):
        is_one = node.count == Count("exactly", 1)
        word = style["exactly 1 "] if is_one else _counting(node.count, "", style)
    else:
        word = style["forall " if isinstance(node, fm.Forall) else "exists "]
    parts: list[Part] = [word, ", ".join(heads)]
    if node.guard is not None:
        parts += [style[" where "], Operand(node.guard, 0, True)]
    return [*parts, style[": "], Operand(node.body, 0, True)]


def _counting(count: Count, what: str, style: Style) -> str:
    return style[f"{count.relation} # {what}"].replace("#", str(count.number))
