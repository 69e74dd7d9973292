"""What the documents show is run: Python as it stands, commands with the output they print.

A block of `text` right after a block of Python is all that the Python prints.
"""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from residuum.cli import main

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
TEXTS = {page.relative_to(ROOT).as_posix(): page.read_text(encoding="utf-8") for page in PAGES}
README = TEXTS["README.md"]
BLOCK = re.compile(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", re.DOTALL)
PYTHON = [
    pytest.param(code, printed, id=f"{page} {number}")
    for page, text in TEXTS.items()
    for number, (code, printed) in enumerate(BLOCK.findall(text), 1)
]
CONSOLE = [c for t in TEXTS.values() for c in re.findall(r"```console\n(\$ .*?)```", t, re.DOTALL)]
FIRST = BLOCK.findall(README)[0][0]


@pytest.mark.parametrize(("code", "printed"), PYTHON)
def test_python_examples_run_as_they_stand(code, printed, capsys, monkeypatch):
    for library in re.findall(r"^(?:import|from) (lightning|transformers)\b", code, re.MULTILINE):
        pytest.importorskip(library)
    monkeypatch.chdir(ROOT)
    with torch.random.fork_rng():
        torch.manual_seed(torch.default_generator.initial_seed())
        exec(compile(code, "<example>", "exec"), {"__name__": "__main__"})
    promised = re.findall(r"print\(.*\)  # (\S+)$", code, re.MULTILINE)
    found = capsys.readouterr().out
    assert all(value in found.split() for value in promised)
    assert not printed or found == printed


def test_the_first_example_runs_in_a_process_of_its_own():
    done = subprocess.run([sys.executable, "-W", "error", "-c", FIRST], cwd=ROOT)
    assert done.returncode == 0


@pytest.mark.parametrize("shown", CONSOLE)
def test_commands_print_what_is_shown(shown, tmp_path, monkeypatch, capsys):
    (tmp_path / "src").symlink_to(ROOT / "src")  # files are read from there, and written here
    monkeypatch.chdir(tmp_path)
    command, _, output = shown.partition("\n")
    words = shlex.split(command.removeprefix("$ "))
    assert words[0] == "residuum"
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as stop:
        main()
    assert (capsys.readouterr().out, stop.value.code or 0) == (output, 0)


def test_the_first_example_has_ten_lines_at_most_beside_its_imports():
    lines = [line for line in FIRST.splitlines() if line.strip()]
    assert len([line for line in lines if not line.startswith("import")]) <= 10


def test_there_are_examples_to_run():
    assert len(PYTHON) >= 4
    assert len(CONSOLE) >= 2


def test_continuous_integration_runs_the_readme_command():
    assert "make test" in README
    commands = (ROOT / ".ci" / "run").read_text(encoding="utf-8").strip().splitlines()
    assert commands[-3:] == ["make docs", "make test", "make packages"]


@pytest.mark.parametrize("page", [*ROOT.glob("*.md"), *PAGES[1:]], ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target
