"""Formulas as MathML, which browsers show without a script: `$x \\to y$` in a page."""

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.writers.html5 import HTML5Translator


def mathml(node: nodes.math, *, is_block: bool) -> str:
    """Return a formula of a page as MathML."""
    try:
        return tex2mathml(node.astext(), as_block=is_block)
    except MathError as error:
        raise ExtensionError(f"formula {node.astext()!r}: {error}") from None


def show_inline(translator: HTML5Translator, node: nodes.math) -> None:
    """Write a formula in the middle of a sentence."""
    translator.body.append(mathml(node, is_block=False))
    raise nodes.SkipNode


def show_block(translator: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula on a line of its own."""
    translator.body.append(f'<div class="formula">{mathml(node, is_block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer under the name `mathml`."""
    app.add_html_math_renderer("mathml", (show_inline, None), (show_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
