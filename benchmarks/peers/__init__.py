"""The libraries beside which augrecipes is measured: a module each, and the Datasets of the source articles.

A module has

- `NAME`, and `find()`: its version, or `AbsentError` with the reason;
- `WORKLOADS`: by the type of a workload, a function that offers the library's ways of doing it, as sides;
- `WITHOUT`: by the type of a workload, why the library is not measured with it.

`pip install -e '.[peers]'` brings five of them; of what is not there the tables tell how it is installed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from comparison import Missing, Side

# Those that fork workers stand before those that start threads.
LIBRARIES = (
    "articles",
    "albumentations",
    "torchvision",
    "kornia",
    "torchtransform",
    "variopinta",
    "augrs",
    "dali",
)

# The least ratio beside those that set out to be quick themselves: ahead of each, whatever it runs.
AHEAD = dict.fromkeys(("torchtransform", "variopinta", "augrs"), 1.0)


class AbsentError(Exception):
    """A library is not installed, or does not work here."""


def installed(package: str, hint: str, load: Callable[[], Any]) -> str:
    """The version of an installed package.

    Args:
        package: as the package index names it.
        hint: how it is installed.
        load: imports it.

    Raises:
        AbsentError: it is not there, or it cannot be imported.
    """
    try:
        load()
        return version(package).partition("+")[0]
    except (ModuleNotFoundError, PackageNotFoundError):
        raise AbsentError(f"not installed ({hint})") from None
    except Exception as error:  # whatever a broken build of another library raises
        raise AbsentError(f"installed, but cannot be imported: {error}") from error


def sides_of(workload: Any) -> Iterator[Side | Missing]:
    """What every library offers for a workload, one after another."""
    for name in LIBRARIES:
        yield from offers(import_module(f"peers.{name}"), workload)


def offers(library: Any, workload: Any) -> Iterator[Side | Missing]:
    """What one library offers for a workload; nothing where neither it nor its module has anything to say of it."""
    kind = type(workload)
    if kind in library.WITHOUT:
        yield Missing(library.NAME, library.WITHOUT[kind])
    elif kind in library.WORKLOADS:
        try:
            found = library.find()
        except AbsentError as absent:
            yield Missing(library.NAME, str(absent))
        else:
            for side in library.WORKLOADS[kind](workload):
                yield replace(side, maker=library.NAME, version=found)
