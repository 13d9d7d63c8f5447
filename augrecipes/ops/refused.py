"""Classes of albumentations that cannot be a step of a recipe: why, and what to use instead."""

import json
from pathlib import Path

_WORDS = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
OWN_CODE: str = _WORDS["own_code"]  # the ways of what only Python can say
REFUSED: dict[str, str] = _WORDS["classes"]
