"""Plugins: packages that register classes of steps, and that run where a recipe names them.

A package announces a plugin as an entry point of the group `augrecipes.plugins`: a module, or a function without
arguments, that calls `augrecipes.register`. That it is installed runs nothing. A recipe asks for it by the entry
point's name, so all that a recipe can name is what its user has installed; no path and no module.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import EntryPoint, entry_points
from threading import RLock
from types import ModuleType

ENTRY_POINT_GROUP = "augrecipes.plugins"


class BrokenPlugin(Exception):  # noqa: N818 - told apart by what it names
    """A plugin that an installed package announces cannot be run."""


_lock = RLock()
_loaded: set[str] = set()


def announced() -> dict[str, tuple[EntryPoint, ...]]:
    """What installed packages announce, by name; more than one where packages share a name. Imports none of them."""
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
        from augrecipes import versions  # brings OpenCV, which reading a recipe does without

        versions.decides(*_package(points[0]))
        _loaded.add(name)


def _package(point: EntryPoint) -> tuple[str, str]:
    """Name and version of the package that announces it."""
    return (point.value, "") if point.dist is None else (point.dist.name, point.dist.version)


@contextmanager
def _failures(value: str) -> Iterator[None]:
    """Whatever the plugin raises, as one error."""
    try:
        yield
    except (Exception, SystemExit) as error:
        raise BrokenPlugin(f"{value} fails: {type(error).__name__}: {error}") from error
