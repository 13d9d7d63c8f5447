"""Verdicts of constructors, kept between runs in the user's cache directory.

A file that is missing, broken, or cannot be written costs time and nothing else.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from augrecipes import __version__, atomic
from augrecipes.compat.guard import installed_version
from augrecipes.machine import cache_folder
from augrecipes.ops.readable import Refusal

MOST = 2000
MAX_BYTES = 4_000_000

_kept: dict[Path, dict[str, list[str]]] = {}
_lock = threading.Lock()  # threads may check recipes at the same time


class SavedVerdict(NamedTuple):
    """What is known of one step: the refusal, or None where the class takes it."""

    refusal: Refusal | None


def file() -> Path:
    """The file of the installed versions. OSError where there is no cache folder."""
    return cache_folder() / f"verdicts-{installed_version()}-{__version__}.json"


def key(name: str, arguments: Mapping[str, Any], p: float | None, edition: str) -> str:
    """A name for one class with one set of arguments."""
    text = json.dumps([name, arguments, p, edition], sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def look_up(key: str) -> SavedVerdict | None:
    """What earlier runs found, or None."""
    with contextlib.suppress(OSError):
        found = _read(file()).get(key)
        if found is not None:
            return SavedVerdict(Refusal(found[0], found[1]) if found else None)
    return None


def remember(key: str, refusal: Refusal | None) -> None:
    """Keep a verdict for later runs; the oldest leave first."""
    with contextlib.suppress(OSError):
        path = file()
        with _lock:
            kept = _read(path)
            kept[key] = [] if refusal is None else [refusal.message, refusal.argument]
            while len(kept) > MOST:
                del kept[next(iter(kept))]
            text = json.dumps(kept)
        atomic.write(path, text.encode(), lasting=False)


def _read(path: Path) -> dict[str, list[str]]:
    if path not in _kept:
        _kept[path] = _load(path)
    return _kept[path]


def _load(path: Path) -> dict[str, list[str]]:
    try:
        if path.stat().st_size > MAX_BYTES:
            return {}
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {
        key: value
        for key, value in found.items()
        if isinstance(value, list) and len(value) in (0, 2) and all(isinstance(item, str) for item in value)
    }
