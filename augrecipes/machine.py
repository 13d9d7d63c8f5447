"""What the machine gives this process: cores, and a folder for what can be computed again."""

from __future__ import annotations

import os
import sys
from pathlib import Path

CACHE = "AUGRECIPES_CACHE"


def cores() -> int:
    """The cores that this process may use; not all that there are, where an affinity is set."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cache_folder() -> Path:
    """The user's cache folder for augrecipes: `AUGRECIPES_CACHE`, or else in the place that the system has for caches.

    Raises:
        OSError: there is none: nobody knows where the user's home is.
    """
    if given := os.environ.get(CACHE):
        return Path(given)
    try:
        if sys.platform == "win32":
            return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local", "augrecipes", "Cache")
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Caches" / "augrecipes"
        given = os.environ.get("XDG_CACHE_HOME", "")
        return Path(given if os.path.isabs(given) else Path.home() / ".cache", "augrecipes")  # noqa: PTH117
    except RuntimeError as error:
        raise FileNotFoundError(str(error)) from None
