"""The report of a comparison: one page that needs nothing else, plots, and the record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Report = Mapping[str, Any]  # a comparison, or a part of it, as `Bench.to_json()` has it
