"""The programs in examples/ run."""

import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parent.parent / "examples"


def test_the_picture_of_obedient_tags_is_drawn(tmp_path):
    picture = tmp_path / "tags.png"
    command = [sys.executable, EXAMPLES / "obedient_tags.py", picture]
    subprocess.run(command, check=True, capture_output=True)
    assert picture.read_bytes().startswith(b"\x89PNG")
