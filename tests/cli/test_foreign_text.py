"""Control characters in text of users are printed as escapes, never sent to the terminal."""

import ast
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

import residuum.cli
from residuum.cli.outputs import print_table, say, say_lines

HOSTILE = "\x1b]0;owned\x07\x1b[31m\x9b2J\r\u202e[red][link=file:///]x[/link]"
SPELT = r"\x1b]0;owned\x07\x1b[31m\x9b2J\r\u202e[red][link=file:///]x[/link]"
RULES = f"""
domain D = {json.dumps(HOSTILE)}, "b"
predicate P(D)
rule r: forall x in D: P(x)
"""


@pytest.mark.parametrize(
    "words",
    [
        ["show", f"P({json.dumps(HOSTILE)})"],
        ["check", f"{HOSTILE.replace('/', '')}.rsd"],
        ["relaxations", HOSTILE],
        ["score", "predictions"],
        ["advise", "rules.rsd", "-r", HOSTILE],
        ["check", "wrong.rsd"],
        ["sweep", "status", "sweep.toml"],
        ["study", "digits", "--table", "--store", HOSTILE.replace("/", "")],
        ["study", "digits", "--images", HOSTILE],
        [HOSTILE],
        [f"--{HOSTILE}"],
    ],
    ids=lambda words: words[0] if words[0].isalpha() else "usage",
)  # fmt: skip
def test_nothing_that_controls_a_terminal_is_printed(residuum, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    tag = f"B-{HOSTILE.replace(chr(13), '')}"
    (tmp_path / "predictions").write_text(f"word {tag} {tag}\n")
    (tmp_path / "rules.rsd").write_text(RULES)
    (tmp_path / "wrong.rsd").write_text(RULES.replace("P(x)", f"P({json.dumps(HOSTILE)}, x)"))
    (tmp_path / "sweep.toml").write_text(f"{json.dumps(HOSTILE)} = 1\n")
    written = "".join(residuum(*words)[1:])
    assert "owned" in written or "x1b" in written, written
    assert all(one.isprintable() or one == "\n" for one in written), written


def test_no_control_character_reaches_a_terminal(tmp_path):
    """Where there is a terminal, less is taken out on the way to it."""
    ours, its = pty.openpty()
    words = [sys.executable, "-m", "residuum", "check", f"{HOSTILE.replace('/', '')}.rsd"]
    process = subprocess.Popen(words, stdin=its, stdout=its, stderr=its, cwd=tmp_path)
    os.close(its)
    written = b""
    try:
        while part := os.read(ours, 1 << 16):
            written += part
    except OSError:  # Linux says so at the end, where others return nothing
        pass
    assert process.wait() == 2
    os.close(ours)
    shown = written.decode().replace("\r\n", "\n")
    assert shown.startswith(f"residuum: {SPELT.replace('/', '')}.rsd: ")
    assert all(one.isprintable() or one == "\n" for one in shown)


def test_say_prints_one_line_and_say_lines_several(capsys):
    say(f"a {HOSTILE}\nb")
    say_lines("c\nd\x1b")
    assert capsys.readouterr().out == f"a {SPELT}\\nb\nc\nd\\x1b\n"


def test_tables_show_markup_and_escapes_as_they_are_written(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    print_table([f"head {HOSTILE}", "[red]other"], [[f"cell {HOSTILE}", "[bold]b"]])
    out = capsys.readouterr().out
    for shown in (f"head {SPELT}", "[red]other", f"cell {SPELT}", "[bold]b"):
        assert shown in out


def test_json_is_ascii_and_exact(residuum):
    label = HOSTILE + "\n\x7f\u2028é"
    _, out, _ = residuum("show", "--json", f"P({json.dumps(label)})")
    assert all(one.isprintable() or one == "\n" for one in out)
    assert out.isascii()
    assert json.loads(out)["latex"].startswith(r"P(\text{")
    assert "\x1b" in json.loads(out)["latex"]


def test_only_one_module_of_the_command_line_prints():
    """So that none forgets; the progress of a training has a screen of its own."""
    own = {"outputs.py", "progress.py", "study/watching.py"}
    folder = Path(residuum.cli.__file__).parent
    printing = {
        str(path.relative_to(folder))
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in
        ("print", "typer.echo", "typer.secho", "Console", "sys.stdout.write", "sys.stderr.write")
    }  # fmt: skip
    assert printing <= own


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a disk that is full")
@pytest.mark.parametrize("options", [(), ("--json",)])
def test_output_that_cannot_be_written_ends_with_a_message(options):
    command = [sys.executable, "-m", "residuum", "truth", "P -> Q", "P=1", "Q=0.5", *options]
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            command, check=False, stdout=full, stderr=subprocess.PIPE, text=True, timeout=120
        )
    assert done.returncode == 2
    assert done.stderr.startswith("residuum: ")
    assert done.stderr.endswith("No space left on device\n")
    assert done.stderr.count("\n") == 1
