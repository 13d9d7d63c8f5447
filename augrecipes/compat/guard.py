"""Imports albumentations: only proven versions, as late as possible, without network or torch.

Three distributions contain a package of this name. albumentations is the original. nrtk-albumentations, a fork of its
last release under the same licence, may replace it; records then name it, as its pixels may differ. AlbumentationsX,
under another licence, is refused.

Also, without an import: the warnings of its constructors, how these are built, and what they check.
"""

import importlib
import importlib.util
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import Any

from augrecipes.compat import stay_offline
from augrecipes.errors import AugrecipesError

VERSION = "2.0.8"
# Distributions that contain it, with their proven versions.
PROVEN = {"albumentations": VERSION, "nrtk-albumentations": "2.3.0"}
REFUSED = "albumentationsx"

_state = {"without_torch": False}
_thread = threading.local()  # `messages`: warnings that this thread collects
_INSTALL = f"pip install albumentations=={VERSION}"


def without_torch() -> None:
    """Import albumentations without torch and scipy, for commands that read recipes and touch no pixels.

    Only the command line may call this: albumentations lacks these imports until the process ends. No effect once
    albumentations or torch is imported.
    """
    _state["without_torch"] = True


@cache
def installed_version() -> str:
    """The version of albumentations, or name and version of the fork, for records; imports nothing.

    >>> installed_version()
    '2.0.8'
    """
    return " and ".join(
        number if name == "albumentations" else f"{name} {number}" for name, number in _installed_versions().items()
    )


@cache
def albumentations() -> ModuleType:
    """The albumentations module.

    Raises:
        AugrecipesError: it is missing, of a version that augrecipes does not know, or AlbumentationsX.

    >>> albumentations().__name__
    'albumentations'
    """
    refuse_others(_installed_versions(), version_of(REFUSED))
    stay_offline()
    module = _import()
    listen(module)
    return module


def refuse_others(versions: dict[str, str], refused: str | None) -> None:
    """Raise unless exactly one distribution brings albumentations, in its proven version.

    Args:
        versions: the installed version of each distribution in `PROVEN`.
        refused: the installed version of AlbumentationsX; None: it is not installed.

    >>> refuse_others({"nrtk-albumentations": "2.3.0"}, None)
    >>> refuse_others({"albumentations": "1.4.0"}, None)
    Traceback (most recent call last):
    augrecipes.errors.AugrecipesError: albumentations 1.4.0 is installed; augrecipes is proven against 2.0.8: ...
    """
    if refused:
        raise AugrecipesError(
            f"AlbumentationsX {refused} is installed, another package under the same name (and licensed AGPL); "
            f"augrecipes needs albumentations: pip uninstall albumentationsx; {_INSTALL}"
        )
    if len(versions) > 1:
        raise AugrecipesError(
            f"{' and '.join(versions)} are installed, which write the same files; keep one: "
            f"pip uninstall {' '.join(versions)}; {_INSTALL}"
        )
    for name, number in versions.items():
        if number != PROVEN[name]:
            raise AugrecipesError(
                f"{name} {number} is installed; augrecipes is proven against {PROVEN[name]}: "
                f"pip install {name}=={PROVEN[name]}"
            )
    if not versions:
        raise AugrecipesError(f"albumentations is not installed; augrecipes is proven against {VERSION}: {_INSTALL}")


def _installed_versions() -> dict[str, str]:
    return {name: number for name in PROVEN if (number := version_of(name)) is not None}


def version_of(distribution: str) -> str | None:
    """The version of a distribution; None: it is not installed."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def _import() -> ModuleType:
    if not _state["without_torch"] or "torch" in sys.modules or "albumentations" in sys.modules:
        return importlib.import_module("albumentations")
    # With None `import torch` raises ImportError, which albumentations expects; the entry is removed after the import.
    sys.modules["torch"] = None  # type: ignore[assignment]
    try:
        _defer("scipy.special")  # takes a third of the import, and only one transform uses it
        return importlib.import_module("albumentations")
    finally:
        del sys.modules["torch"]


def _defer(name: str) -> None:
    """Make `from package import module` bind a lazy module, which loads on first use."""
    package, _, attribute = name.rpartition(".")
    if name in sys.modules:
        return
    parent = importlib.import_module(package)
    spec = importlib.util.find_spec(name)
    if spec is None or spec.loader is None:
        return
    spec.loader = importlib.util.LazyLoader(spec.loader)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    setattr(parent, attribute, module)


# Warnings of albumentations' constructors are collected by thread. `warnings.catch_warnings` changes the whole process:
# two threads in it leave Python's warnings broken, and each records those of others. So `warn` in albumentations' own
# modules is replaced by a function that asks first whether its thread collects.


def listen(package: ModuleType) -> None:
    """Replace `warn` in all modules of `package` by `_warn`; idempotent."""
    for name, module in tuple(sys.modules.items()):
        inside = name == package.__name__ or name.startswith(f"{package.__name__}.")
        if inside and vars(module).get("warn") is warnings.warn:
            vars(module)["warn"] = _warn


def _warn(message: Any, category: Any = None, stacklevel: int = 1, source: Any = None) -> None:
    messages = getattr(_thread, "messages", None)
    if messages is None:
        warnings.warn(message, category, stacklevel + 1, source)
    else:
        messages.append(str(message))


@contextmanager
def collected() -> Iterator[list[str]]:
    """Collect the warnings of modules after `listen`, inside the block and in this thread only."""
    before, _thread.messages = getattr(_thread, "messages", None), []
    try:
        yield _thread.messages
    finally:
        _thread.messages = before


# How albumentations' constructors are built, and the fields of their InitSchema.


def constructor_of(cls: type) -> Callable[..., Any]:
    """The constructor that a class has or inherits."""
    return vars(next(base for base in cls.__mro__ if "__init__" in vars(base)))["__init__"]


def is_validated(cls: type) -> bool:
    """Whether an InitSchema checks the arguments, by the name that albumentations' metaclass gives the constructor."""
    return constructor_of(cls).__name__ == "custom_init"


def fields(cls: type) -> dict[str, tuple[Any, Sequence[Any]]]:
    """Annotation and metadata of each field of the InitSchema that a class has or inherits.

    A constructor without its own InitSchema passes the arguments that it shares with its parent on to the parent's.
    """
    schema = getattr(cls, "InitSchema", None)
    return {name: (field.annotation, field.metadata) for name, field in getattr(schema, "model_fields", {}).items()}
