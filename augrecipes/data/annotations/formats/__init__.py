"""One file a format. Each is found by its name, so that a new one is a new file here, and nothing else.

A format's file has:

    TITLE      its name, for messages
    LOOKS      what such data looks like, for messages
    claims     (PathView) → whether a file or folder is of this format
    read       (Request, FoundObjects) → None: adds what is there; DataError where it is not to be read at all
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any


@cache
def every() -> dict[str, Any]:
    """The formats' modules by name.

    >>> "coco" in every()
    True
    """
    return {name: import_module(f"{__name__}.{name}") for _, name, _ in sorted(iter_modules(__path__), key=str)}
