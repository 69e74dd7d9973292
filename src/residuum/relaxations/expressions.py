"""Truth functions as text and as LaTeX.

The text is a Python expression in x, y and a parameter. Tests evaluate it and compare it with the
implementation; the package itself only shows it.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass


@dataclass(frozen=True)
class Expressions:
    """A t-norm in writing: T(x, y), its dual, its residuum or None, and its penalty."""

    conjunction: str
    disjunction: str
    residuum: str | None
    penalty: str

    def s_implication(self) -> str:
        """Return the S-implication: the disjunction of 1 − x and y."""
        return ast.unparse(_NegateX().visit(ast.parse(self.disjunction, mode="eval")))


class _NegateX(ast.NodeTransformer):
    """Replace x by 1 − x, and 1 − x by x."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        if ast.unparse(node) == "1 - x":
            return ast.Name("x")
        self.generic_visit(node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.parse("1 - x", mode="eval").body if node.id == "x" else node


def to_latex(expression: str) -> str:
    r"""Return the LaTeX of a truth function's text.

    >>> to_latex("1 if x <= y else y / x")
    '\\begin{cases} 1 & \\text{if } x \\leq y \\\\ \\frac{y}{x} & \\text{otherwise} \\end{cases}'
    """
    return _latex(ast.parse(expression, mode="eval").body)


_SYMBOLS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: r"\,", ast.LtE: r"\leq", ast.GtE: r"\geq",
    ast.Lt: "<", ast.Gt: ">", ast.Eq: "=",
}  # fmt: skip
_NAMES = {"λ": r"\lambda", "γ": r"\gamma"}
_FUNCTIONS = {"min": r"\min", "max": r"\max", "log": r"\log", "exp": r"\exp", "g_inverse": "g^{-1}"}
_SUM, _SIGN, _PRODUCT, _FRACTION, _POWER, _TIGHT = range(6)


def _latex(node: ast.expr, tightness: int = 0) -> str:
    match node:
        case ast.Constant(value):
            return str(value)
        case ast.Name(name):
            return _NAMES.get(name, name)
        case ast.Call(ast.Name(name), arguments):
            inside = ", ".join(_latex(argument) for argument in arguments)
            return rf"{_FUNCTIONS.get(name, name)}\left({inside}\right)"
        case ast.UnaryOp(ast.USub(), operand):
            return _bracket("-" + _latex(operand, _SIGN), tightness > _SIGN)
        case ast.BinOp(left, ast.Pow(), right):
            return _bracket(f"{_latex(left, _TIGHT)}^{{{_latex(right)}}}", tightness > _POWER)
        case ast.BinOp(left, ast.Div(), right):
            return _bracket(rf"\frac{{{_latex(left)}}}{{{_latex(right)}}}", tightness > _FRACTION)
        case ast.BinOp(left, operator, right):
            own = _PRODUCT if isinstance(operator, ast.Mult) else _SUM
            after = _FRACTION if own == _PRODUCT else _SIGN + 1
            text = f"{_latex(left, own)} {_SYMBOLS[type(operator)]} {_latex(right, after)}"
            return _bracket(text, tightness > own)
        case ast.Compare(left, operators, rights):
            chain = [
                f" {_SYMBOLS[type(operator)]} {_latex(right)}"
                for operator, right in zip(operators, rights, strict=True)
            ]
            return _latex(left) + "".join(chain)
        case ast.IfExp(test, body, orelse):
            return (
                rf"\begin{{cases}} {_latex(body)} & \text{{if }} {_latex(test)} \\ "
                rf"{_latex(orelse)} & \text{{otherwise}} \end{{cases}}"
            )
    raise AssertionError(f"no LaTeX for {ast.dump(node)}")


def _bracket(text: str, needed: bool) -> str:
    return rf"\left({text}\right)" if needed else text
