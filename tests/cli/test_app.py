"""The verbs of the command: all that are registered, with help and JSON."""

import typer.main

import residuum as rs
from residuum.cli.app import GROUPS, VERBS, app


def commands():
    """The words of each command, such as `sweep run`."""
    for name, verb in typer.main.get_command(app).commands.items():
        if hasattr(verb, "list_commands"):
            yield from ((name, other) for other in verb.list_commands(None))
        else:
            yield (name,)


def test_every_registered_verb_is_a_command():
    names = [function.__name__.replace("_", "-") for function in VERBS]
    groups = [group.info.name for group in GROUPS]
    assert list(dict.fromkeys(words[0] for words in commands())) == [*names, *groups]


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
