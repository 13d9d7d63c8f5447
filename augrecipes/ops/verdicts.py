"""Verdicts of constructors, kept between runs in the user's cache directory.

A file that is missing, broken, or cannot be written costs time and nothing else.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Mapping
from typing import Any, NamedTuple

from augrecipes import __version__, cache
from augrecipes.compat.guard import installed_version
from augrecipes.ops.readable import Refusal

MOST = 2000

_kept: dict[str, dict[str, list[str]]] = {}
_lock = threading.Lock()  # threads may check recipes at the same time


class SavedVerdict(NamedTuple):
    """What is known of one step: the refusal, or None where the class takes it."""

    refusal: Refusal | None


def file() -> str:
    """What the file of the installed versions is called."""
    return f"{installed_version()}-{__version__}"


def key(name: str, arguments: Mapping[str, Any], p: float | None, edition: str) -> str:
    """A name for one class with one set of arguments."""
    text = json.dumps([name, arguments, p, edition], sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def look_up(key: str) -> SavedVerdict | None:
    """What earlier runs found, or None."""
    found = _read(file()).get(key)
    return None if found is None else SavedVerdict(Refusal(found[0], found[1]) if found else None)


def remember(key: str, refusal: Refusal | None) -> None:
    """Keep a verdict for later runs; the oldest leave first."""
    name = file()
    with _lock:
        kept = _read(name)
        kept[key] = [] if refusal is None else [refusal.message, refusal.argument]
        while len(kept) > MOST:
            del kept[next(iter(kept))]
        text = json.dumps(kept)
    cache.VERDICTS.write(name, text.encode())


def _read(name: str) -> dict[str, list[str]]:
    if name not in _kept:
        _kept[name] = _load(name)
    return _kept[name]


def _load(name: str) -> dict[str, list[str]]:
    try:
        found = json.loads(cache.VERDICTS.read(name) or "{}")
    except (ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {
        key: value
        for key, value in found.items()
        if isinstance(value, list) and len(value) in (0, 2) and all(isinstance(item, str) for item in value)
    }
