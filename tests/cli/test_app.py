"""The verbs of the command: all that are registered, with help and JSON."""

import subprocess
import sys

import typer
import typer.main

import residuum as rs
from residuum.cli.app import VERBS, app


def commands():
    """The words of each command, such as `sweep run`."""
    group = typer.main.get_command(app)
    context = typer.Context(group)
    for name in group.list_commands(context):
        verb = group.get_command(context, name)
        if hasattr(verb, "list_commands"):
            yield from ((name, other) for other in verb.list_commands(typer.Context(verb)))
        else:
            yield (name,)


def test_every_registered_verb_is_a_command():
    assert list(dict.fromkeys(words[0] for words in commands())) == list(VERBS)


def test_a_misspelt_verb_is_refused_with_the_one_that_was_meant(residuum):
    code, _, err = residuum("consistancy")
    assert code == 2
    assert "consistency" in err


def test_a_verb_imports_no_file_of_another():
    program = """
import sys
from residuum.cli.app import app
app(["truth", "P", "P=1"], standalone_mode=False)
print(*sorted(name for name in sys.modules if name.startswith("residuum.cli.")))
"""
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
    loaded = done.stdout.decode().splitlines()[-1].split()
    assert "residuum.cli.truth" in loaded
    assert not {f"residuum.cli.{name}" for name in VERBS if name != "truth"} & set(loaded)


def test_every_command_shows_an_example_and_takes_json(residuum, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    for words in commands():
        code, out, err = residuum(*words, "--help")
        assert (code, err) == (0, "")
        assert f"residuum {' '.join(words)} " in out.partition("Usage:")[2].partition("\n")[2], (
            words
        )
        assert "--json" in out, words


def test_the_version_is_printed(residuum):
    assert residuum("--version") == (0, f"residuum {rs.__version__}\n", "")
