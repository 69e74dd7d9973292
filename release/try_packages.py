"""Builds the packages, and tries them as a user would: in environments without anything else.

The sdist is built from the tree and the wheel from the sdist, so that neither can miss a file. For
each extra, the wheel is installed into an empty environment of its own, with the versions of
constraints.txt, and the examples of the README run there, away from the tree. Nothing is uploaded.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from email import message_from_bytes
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "packages"
INSTALL = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
PYTHON_BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
NO_MODULE = "import importlib.util as u; assert not u.find_spec({!r}), 'is installed'"
FILES = """
import residuum as rs
from importlib.resources import files

data = files("residuum") / "data"
assert (files("residuum") / "py.typed").is_file()
for name in ("digits.rsd", "chunking.rsd"):
    assert rs.load(str(data / name)).rules
"""


def say(text: str) -> None:
    print(f"packages: {text}", flush=True)


def run(python: Path, *words: str | Path, cwd: Path) -> None:
    """Run a command of an environment that knows nothing of the tree or of other environments."""
    unknown = ("PYTHONPATH", "VIRTUAL_ENV", "RESIDUUM_STORE")
    kept = {name: value for name, value in os.environ.items() if name not in unknown}
    subprocess.run([python, *words], cwd=cwd, env=kept, check=True)


def empty_environment(name: str) -> Path:
    """Return the Python of a new environment."""
    folder = BUILD / name
    venv.create(folder, with_pip=True, clear=True)
    return folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"


def build() -> tuple[Path, Path]:
    """Return the sdist and the wheel that is built from it."""
    shutil.rmtree(BUILD, ignore_errors=True)
    BUILD.mkdir(parents=True)
    python = empty_environment("builder")
    run(python, *INSTALL, "build", cwd=BUILD)
    run(python, "-m", "build", "--outdir", BUILD / "dist", ROOT, cwd=BUILD)
    [sdist], [wheel] = (sorted((BUILD / "dist").glob(kind)) for kind in ("*.tar.gz", "*.whl"))
    say(f"{sdist.name}: {sdist.stat().st_size:,} bytes; {wheel.name}: {wheel.stat().st_size:,}")
    return sdist, wheel


def sources() -> set[str]:
    """Return the files of the package in the tree, as a wheel names them."""
    paths = (path for path in (ROOT / "src").rglob("*") if path.is_file())
    hidden = {"__pycache__", ".ruff_cache", ".mypy_cache"}
    return {
        path.relative_to(ROOT / "src").as_posix()
        for path in paths
        if not hidden & set(path.parts) and ".egg-info" not in str(path)
    }


def check_contents(sdist: Path, wheel: Path) -> None:
    """Check that both hold the package whole and nothing else, and what an index would show."""
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
        [metadata] = [name for name in archive.namelist() if name.endswith("/METADATA")]
        shown = message_from_bytes(archive.read(metadata))
    differing = sorted(held ^ sources())
    assert not differing, f"the wheel and src/ differ in {differing[:9]}"
    beside = {"README.md", "CHANGELOG.md", "CITATION.cff", "LICENSE", "pyproject.toml"}
    beside |= {"PKG-INFO", ".gitignore"}  # the builder adds these two
    with tarfile.open(sdist) as archive:
        names = {member.name.partition("/")[2] for member in archive if member.isfile()}
    differing = sorted(names ^ ({f"src/{name}" for name in held} | beside))
    assert not differing, f"the sdist and the tree differ in {differing[:9]}"
    relative = re.findall(r"\]\((?!https?:)[^)]*\)", str(shown.get_payload()))
    assert not relative, f"links that lead nowhere on a package index: {relative[:9]}"
    for page, version in (("CITATION.cff", "version: {}\n"), ("README.md", "version = {{{}}},")):
        expected = version.format(shown["Version"])
        assert expected in (ROOT / page).read_text("utf-8"), f"{page} lacks {expected!r}"


def try_extra(wheel: Path, extra: str) -> None:
    """Install the wheel with an extra into an empty environment, and use it there."""
    name = extra or "core"
    python, away = empty_environment(name), BUILD / f"away-{name}"
    away.mkdir()
    what = f"{wheel}[{extra}]" if extra else str(wheel)
    constraints = ("--constraint", ROOT / "constraints.txt")
    run(python, *INSTALL, "--use-pep517", *constraints, what, cwd=away)
    run(python, "-W", "error", "-c", FILES, cwd=away)
    run(python, "-m", "residuum", "consistency", "P -> (Q -> P)", cwd=away)
    examples = PYTHON_BLOCK.findall((ROOT / "README.md").read_text("utf-8"))
    if not extra:
        run(python, "-c", NO_MODULE.format("torch"), cwd=away)
        examples = [code for code in examples if "import torch" not in code]
    for code in examples:
        run(python, "-W", "error", "-c", code, cwd=away)
    say(f"{name}: {len(examples)} examples of the README run")
    if extra == "learn":
        check_types(python, away)


def check_types(python: Path, away: Path) -> None:
    """Let a type checker read a program that uses the installed package."""
    run(python, *INSTALL, "--constraint", ROOT / "constraints.txt", "mypy", cwd=away)
    consumer = shutil.copy(ROOT / "release" / "consumer.py", away)
    run(python, "-m", "mypy", "--strict", consumer, cwd=away)


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    words.add_argument("--extras", default=",learn", help="such as ,learn: none, then learn")
    extras = words.parse_args().extras.split(",")
    sdist, wheel = build()
    check_contents(sdist, wheel)
    for extra in extras:
        try_extra(wheel, extra)
    say(f"both are good to upload, from {sdist.parent}")


if __name__ == "__main__":
    main()
