"""What albumentations' constructors warn of, collected by the thread that builds.

`warnings.catch_warnings` changes the whole process: two threads in it leave Python's warnings broken, and each records
what others warn of. So the name `warn` in albumentations' own modules asks first whether its thread collects. Who does
not collect is warned as ever.
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

_mine = threading.local()


def listen(package: ModuleType) -> None:
    """Let every module of `package` that took `warn` from Python's warnings ask here first. Once is enough."""
    for name, module in tuple(sys.modules.items()):
        inside = name == package.__name__ or name.startswith(f"{package.__name__}.")
        if inside and vars(module).get("warn") is warnings.warn:
            vars(module)["warn"] = _warn


def _warn(message: Any, category: Any = None, stacklevel: int = 1, source: Any = None) -> None:
    messages = getattr(_mine, "messages", None)
    if messages is None:
        warnings.warn(message, category, stacklevel + 1, source)
    else:
        messages.append(str(message))


@contextmanager
def collected() -> Iterator[list[str]]:
    """What modules that were told to `listen` warn of inside the block, in this thread alone."""
    before, _mine.messages = getattr(_mine, "messages", None), []
    try:
        yield _mine.messages
    finally:
        _mine.messages = before
