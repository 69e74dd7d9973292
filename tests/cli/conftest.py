"""The command line, run as its users do."""

import io
import sys

import pytest

from residuum.cli import main


@pytest.fixture
def residuum(monkeypatch, capsys):
    def run(*words: str, stdin: bytes = b"") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["residuum", *words])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        out, err = capsys.readouterr()
        return code, out, err

    return run
