"""A recipe's name out of that of a file."""

from __future__ import annotations

import re
from pathlib import Path


def name_of(file: str) -> str:
    """`[a-z0-9-]`, from a file's name without its ending; `imported` where nothing is left of it.

    >>> name_of("configs/Train_Aug.v2.json"), name_of("<stdin>")
    ('train-aug-v2', 'stdin')
    """
    return re.sub(r"[^a-z0-9]+", "-", Path(file).stem.lower()).strip("-") or "imported"
