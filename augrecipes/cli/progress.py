"""How far a command's work is; where standard error is piped, lines of it are wrapped like all others."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import partial

from augrecipes import progress as ground
from augrecipes.cli.terminal import say


def progress(what: str) -> AbstractContextManager[ground.Progress]:
    """See `augrecipes.progress.progress`."""
    return ground.progress(what, partial(say, err=True))


def parts() -> AbstractContextManager[ground.Parts]:
    """See `augrecipes.progress.parts`."""
    return ground.parts(partial(say, err=True))
