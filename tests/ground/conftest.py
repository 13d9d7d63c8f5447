"""What is kept is of data sets of every kind, which other tests draw."""

import sys
from pathlib import Path

sys.path += [str(Path(__file__).parents[1] / name) for name in ("data", "remote", "sources", "slides")]
