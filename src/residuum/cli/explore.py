"""`residuum explore`: a page in the browser on which formulas and rules can be tried out."""

from __future__ import annotations

import threading
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from residuum.cli.inputs import AsJson
from residuum.cli.outputs import print_json, say
from residuum.errors import ResiduumError
from residuum.explorer.limits import LONGEST_RULES


def explore(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE.rsd", help="A rule file to begin with.")
    ] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port; 0 stands for any free one.")
    ] = 0,
    browser: Annotated[
        bool, typer.Option(help="Open the page in the browser; the address is printed either way.")
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Try out formulas and rules on a page in the browser, until Ctrl-C.

    Everything is computed and served on this machine. Only who has the address can open the page.

    \b
    residuum explore
    residuum explore rules.rsd
    residuum explore --no-browser --port 8080
    """
    opened = None if file is None else {"name": file.name, "text": _read(file)}
    try:
        from residuum.explorer.serving import serve
    except ModuleNotFoundError as error:
        missing = str(error.name).partition(".")[0]
        if missing not in ("starlette", "uvicorn"):
            raise
        raise ResiduumError(
            f"expected {missing} for the explorer, and it is not installed; run: pip install "
            "'residuum[explore]'"
        ) from None

    def announce(address: str) -> None:
        if as_json:
            print_json({"address": address})
        else:
            say(address)
            say("Ctrl-C ends the explorer")
        if browser:
            # A browser in the terminal returns only when it is closed.
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    serve(announce, port=port, opened=opened)


def _read(file: Path) -> str:
    """Return the text of a rule file. Mistakes in its rules are shown on the page."""
    try:
        with file.open("rb") as source:
            content = source.read(4 * LONGEST_RULES + 1)
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ResiduumError(
            f"{file}: expected UTF-8 text, got another byte at {error.start}; convert it to UTF-8"
        ) from None
    except OSError as error:
        raise ResiduumError(f"{file}: {error.strerror or error}") from None
    if len(text) > LONGEST_RULES:
        raise ResiduumError(
            f"{file}: expected at most {LONGEST_RULES:,} characters, got more; explore a part of it"
        )
    return text
