"""Makes the strategies shared by the test folders importable."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
