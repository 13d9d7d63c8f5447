"""Plugins: packages that register classes of steps, and that run when a recipe names them.

A package announces a plugin as an entry point of the group `augrecipes.plugins`: a module, or a function without
arguments, that calls `augrecipes.register`. Installing it runs nothing. A recipe names the entry point, so it can run
only what its user has installed, and no path or module.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import EntryPoint, entry_points
from threading import RLock
from types import ModuleType

ENTRY_POINT_GROUP = "augrecipes.plugins"


class BrokenPlugin(Exception):  # noqa: N818 - it names a state of a plugin
    """A plugin that an installed package announces cannot be run."""


_lock = RLock()
_loaded: set[str] = set()


def announced() -> dict[str, tuple[EntryPoint, ...]]:
    """The announced plugins by name, several where packages share a name; none is imported."""
    points = entry_points(group=ENTRY_POINT_GROUP)
    return {name: tuple(points.select(name=name)) for name in sorted(points.names)}


def is_loaded(name: str) -> bool:
    """Whether the plugin of this name has run in this process."""
    return name in _loaded


def load(name: str) -> None:
    """Run the plugin of this name, once in a process.

    Raises:
        KeyError: no installed package announces it.
        BrokenPlugin: it fails, several packages announce it, or a class has the name of another one.
    """
    with _lock:
        if name in _loaded:
            return
        points = announced()[name]
        if len(points) > 1:
            packages = ", ".join(sorted(_package(point)[0] for point in points))
            raise BrokenPlugin(f"{packages} announce a plugin of this name; uninstall all but one")
        with _failures(points[0].value):
            plugin = points[0].load()
            if not isinstance(plugin, ModuleType):
                plugin()
        from augrecipes import versions  # imports OpenCV, which reading a recipe does not need

        versions.decides(*_package(points[0]))
        _loaded.add(name)


def _package(point: EntryPoint) -> tuple[str, str]:
    """The name and version of the package that announces an entry point."""
    return (point.value, "") if point.dist is None else (point.dist.name, point.dist.version)


@contextmanager
def _failures(value: str) -> Iterator[None]:
    """Turn whatever a plugin raises into BrokenPlugin."""
    try:
        yield
    except (Exception, SystemExit) as error:
        raise BrokenPlugin(f"{value} fails: {type(error).__name__}: {error}") from error
