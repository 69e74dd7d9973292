"""Rules need neither Lightning nor transformers; where Lightning is missing, an error says so."""

import subprocess
import sys

CODE = """
import sys
import residuum as rs
import residuum.integrations.hugging_face

rs.compile("A"), rs.Theory
print([name for name in ("lightning", "transformers", "accelerate") if name in sys.modules])
sys.modules["lightning"] = None  # as if it were not installed
try:
    import residuum.integrations.lightning
except rs.ResiduumError as error:
    print(error)
"""


def test_rules_need_no_other_library_and_a_missing_one_is_named():
    result = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True)
    message = "residuum.integrations.lightning needs Lightning: pip install 'residuum[lightning]'"
    assert (result.stdout, result.stderr) == (f"[]\n{message}\n", "")
