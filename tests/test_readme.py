"""What the documents show is run: Python as it stands, commands with the output they print."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from residuum.cli import main

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [README, *(page.read_text(encoding="utf-8") for page in sorted(ROOT.glob("docs/*.md")))]
PYTHON = [code for page in PAGES for code in re.findall(r"```python\n(.*?)```", page, re.DOTALL)]
CONSOLE = [c for page in PAGES for c in re.findall(r"```console\n(\$ .*?)```", page, re.DOTALL)]


@pytest.mark.parametrize("code", PYTHON)
def test_python_examples_run_as_they_stand(code, capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    torch.manual_seed(torch.default_generator.initial_seed())
    exec(compile(code, "<example>", "exec"), {"__name__": "__main__"})
    promised = re.findall(r"print\(.*\)  # (\S+)$", code, re.MULTILINE)
    printed = capsys.readouterr().out.split()
    assert all(value in printed for value in promised)


def test_the_first_example_runs_in_a_process_of_its_own():
    done = subprocess.run([sys.executable, "-W", "error", "-c", PYTHON[0]], cwd=ROOT)
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
    lines = [line for line in PYTHON[0].splitlines() if line.strip()]
    assert len([line for line in lines if not line.startswith("import")]) <= 10


def test_there_are_examples_to_run():
    assert len(PYTHON) >= 4
    assert len(CONSOLE) >= 2


def test_continuous_integration_runs_the_readme_command():
    assert "make test" in README
    commands = (ROOT / ".ci" / "run").read_text(encoding="utf-8").strip().splitlines()
    assert commands[-2:] == ["make test", "make packages"]


@pytest.mark.parametrize("page", sorted(ROOT.glob("*.md")) + sorted(ROOT.glob("docs/*.md")))
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target
