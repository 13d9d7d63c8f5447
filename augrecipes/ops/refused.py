"""Classes of albumentations that cannot be steps of a recipe: why, and what to use instead."""

import json
from pathlib import Path

_WORDS = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
OWN_CODE: str = _WORDS["own_code"]  # how to use arguments that only Python can express
REFUSED: dict[str, str] = _WORDS["classes"]
