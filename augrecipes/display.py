"""What notebooks ask of the objects of this package: as what they are shown."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

# What draws pages ("html") and sheets ("dataset"). `augrecipes/__init__.py` says it: it stands above all that is shown.
renderers: dict[str, Callable[..., Any]] = {}


class Displayed:
    """An object that a notebook shows as HTML; terminals have its `repr`."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        """The object as HTML that needs nothing else: no file, no script, no network. Never raises."""
        return str(renderers["html"](self))


@contextmanager
def quiet() -> Iterator[None]:
    """Log no warnings of recipes that are compiled to be shown: who runs them gets them."""
    log = logging.getLogger("augrecipes")
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(before)
