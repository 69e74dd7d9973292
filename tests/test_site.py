"""The documentation site: its pages, and what is generated for them."""

import re
import sys
from pathlib import Path

import pytest

import residuum

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
sys.path[:0] = [str(DOCS), str(DOCS / "_extensions")]
PAGES = sorted(DOCS.rglob("*.md"))
RECIPES = [page for page in PAGES if page.parent.name == "cookbook" and page.stem != "index"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_begins_with_its_title_and_what_it_is_for(page):
    if "{include}" in (text := page.read_text(encoding="utf-8")):
        return
    title, first, *_ = text.split("\n\n")
    assert re.fullmatch(r"# \S.*", title)
    assert re.match(r"[A-Z*`\[]", first), "expected a sentence below the title"


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda page: page.name)
def test_a_recipe_is_short_and_shows_what_it_prints(recipe):
    text = recipe.read_text(encoding="utf-8")
    [(code, printed)] = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", text, re.DOTALL)
    assert len([line for line in code.splitlines() if line.strip()]) <= 30
    assert printed.strip()


def test_the_cookbook_lists_every_recipe_twice():
    index = (DOCS / "cookbook" / "index.md").read_text(encoding="utf-8")
    assert len(RECIPES) >= 14
    for recipe in RECIPES:
        assert f"({recipe.name})" in index  # in the table
        assert f"\n{recipe.stem}\n" in index  # in the navigation


def test_the_reference_shows_every_name():
    pages = "".join(p.read_text("utf-8") for p in (DOCS / "reference" / "python").glob("*.md"))
    pytest.importorskip("sphinx")
    from names import directive_of, groups

    shown = groups()
    assert [name for names in shown.values() for name in names] == residuum.__all__
    assert set(re.findall(r"```\{names\} (.*)", pages)) == set(shown)
    for name in residuum.__all__:
        assert directive_of(name)[0].endswith(f":: residuum.{name}")


def test_members_that_the_reference_names_exist():
    pytest.importorskip("sphinx")
    from names import MEMBERS

    for owner, members in MEMBERS.items():
        for member in members.split(", "):
            assert hasattr(getattr(residuum, owner), member), (owner, member)


def test_the_reference_shows_every_verb_of_the_command_line():
    pytest.importorskip("sphinx")
    from commands import verbs

    page = (DOCS / "reference" / "commands.md").read_text(encoding="utf-8")
    assert re.findall(r"```\{command\} (.*)", page) == list(verbs())
    assert re.findall(r"## residuum (.*)", page) == list(verbs())


def test_a_verb_is_shown_with_its_examples_and_options():
    pytest.importorskip("sphinx")
    from commands import in_markdown, verbs

    shown = in_markdown("consistency", verbs()["consistency"])
    assert '$ residuum consistency "P -> (Q -> P)" -r s-godel --digits 50\n' in shown
    assert "| `--digits" in shown
    assert "1\\<=x\\<=1000" in shown  # nothing is read as markup


def test_the_grammar_is_shown_whole():
    pytest.importorskip("sphinx")
    from grammar import WORDS, as_ebnf, text_of_grammar

    source = text_of_grammar()
    names = re.findall(r"^\??_?(\w+?)(?:\{x\})?(?:\.\d)?:", source, re.MULTILINE)
    [declared] = re.findall(r"^%declare (.*)", source, re.MULTILINE)
    assert declared.split() == list(WORDS)
    shown = re.findall(r"^(\w+)(?:\{x\})? = ", as_ebnf(source), re.MULTILINE)
    assert shown == [*names, *(word.lstrip("_") for word in WORDS)]
    assert '\n    | FORALL bindings [WHERE guard] ":" formula\n' in as_ebnf(source)


def test_links_to_files_outside_lead_to_the_pages_that_include_them():
    pytest.importorskip("sphinx")
    from outside_files import PAGES as INCLUDED
    from outside_files import lead_to_pages

    for source, page in INCLUDED.items():
        assert f"../{source}" in (DOCS / page).read_text(encoding="utf-8")
    text = (
        "[a](../../src/residuum/losses/README.md#every-call) [b](exact.md) [c](../../conftest.py)"
    )
    assert lead_to_pages(text, DOCS / "guide", DOCS) == (
        "[a](/inside/losses.md#every-call) [b](/guide/exact.md) [c](../../conftest.py)"
    )


def test_a_paragraph_that_is_too_long_is_refused(tmp_path):
    from check_site import mistakes

    words = "many words " * 54 + "and 5.\n"  # 600 characters, but for the end of the line
    page = tmp_path / "page.html"
    page.write_text(f"<p>{words}</p><pre>{words * 2}</pre><p><b>{words}</b></p>")
    assert mistakes(tmp_path) == []
    page.write_text(f"<li><p>One: <b>more</b>\n{words}</p></li>")
    [mistake] = mistakes(tmp_path)
    expected = "page.html: expected paragraphs of at most 600 characters, one has 610: One: more"
    assert mistake.startswith(expected)


def test_a_site_with_a_dead_link_or_a_foreign_script_is_refused(tmp_path):
    from check_site import mistakes

    (tmp_path / "good.html").write_text('<h1 id="top"><a href="good.html#top">here</a>')
    assert mistakes(tmp_path) == []
    (tmp_path / "bad.html").write_text(
        '<script src="https://elsewhere.example/a.js"></script><a href="gone.html"></a>'
        '<a href="good.html#gone"></a><a href="https://elsewhere.example/"></a>'
    )
    assert mistakes(tmp_path) == [
        "bad.html: expected a file of the site, it loads https://elsewhere.example/a.js",
        "bad.html: leads nowhere: gone.html",
        "bad.html: leads nowhere: good.html#gone",
    ]
