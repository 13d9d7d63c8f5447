"""The files and stores that the tests of datasets use."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "data"))
