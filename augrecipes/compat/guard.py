"""Import albumentations: the proven version alone, as late as possible, without the network or torch.

Three distributions bring a package of this name. albumentations is the one that everything is proven against.
nrtk-albumentations, a fork of its last release under the same licence, may stand in for it, should it ever be gone;
records then name it, since its pixels may differ. AlbumentationsX, of another licence, is refused.

Also, without an import of it: what its constructors warn of, how they are built, and what they check.
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
# Distributions that may bring it, each in the version that is proven.
PROVEN = {"albumentations": VERSION, "nrtk-albumentations": "2.3.0"}
REFUSED = "albumentationsx"

_state = {"without_torch": False}
_thread = threading.local()  # `messages` that this thread collects
_INSTALL = f"pip install albumentations=={VERSION}"


def without_torch() -> None:
    """Ask for an import that leaves torch and scipy out: for commands that look at recipes and touch no pixels.

    Only a process of our own may ask for it (the command line does): what albumentations could not import it does
    without until the process ends. No effect once albumentations or torch is imported.
    """
    _state["without_torch"] = True


@cache
def installed_version() -> str:
    """What decides pixels, for records: a version of albumentations, or of what stands in for it; imports nothing.

    >>> installed_version()
    '2.0.8'
    """
    return " and ".join(
        number if name == "albumentations" else f"{name} {number}" for name, number in _installed().items()
    )


@cache
def albumentations() -> ModuleType:
    """The albumentations module.

    Raises:
        AugrecipesError: it is missing, of a version that augrecipes does not know, or AlbumentationsX.

    >>> albumentations().__name__
    'albumentations'
    """
    refuse_others(_installed(), version_of(REFUSED))
    stay_offline()
    module = _import()
    listen(module)
    return module


def refuse_others(versions: dict[str, str], refused: str | None) -> None:
    """Raise unless exactly one distribution brings albumentations, in its proven version.

    Args:
        versions: by distribution, of those in `PROVEN`.
        refused: the version of AlbumentationsX, where that is installed.

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


def _installed() -> dict[str, str]:
    return {name: number for name in PROVEN if (number := version_of(name)) is not None}


def version_of(distribution: str) -> str | None:
    """Of an installed distribution; None where it is not there."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def _import() -> ModuleType:
    if not _state["without_torch"] or "torch" in sys.modules or "albumentations" in sys.modules:
        return importlib.import_module("albumentations")
    # None makes `import torch` an ImportError, which albumentations expects; the entry must not outlive the import.
    sys.modules["torch"] = None  # type: ignore[assignment]
    try:
        _defer("scipy.special")  # a third of the import, used by one transform when it runs
        return importlib.import_module("albumentations")
    finally:
        del sys.modules["torch"]


def _defer(name: str) -> None:
    """Let `from package import module` bind a module that loads when something in it is first used."""
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


# What albumentations' constructors warn of, collected by the thread that builds. `warnings.catch_warnings` changes the
# whole process: two threads in it leave Python's warnings broken, and each records what others warn of. So the name
# `warn` in albumentations' own modules asks first whether its thread collects. Who does not is warned as ever.


def listen(package: ModuleType) -> None:
    """Let every module of `package` that took `warn` from Python's warnings ask here first. Once is enough."""
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
    """What modules that were told to `listen` warn of inside the block, in this thread alone."""
    before, _thread.messages = getattr(_thread, "messages", None), []
    try:
        yield _thread.messages
    finally:
        _thread.messages = before


# How albumentations' constructors are built, and what their InitSchema keeps to itself.


def constructor_of(cls: type) -> Callable[..., Any]:
    """The constructor that a class has or inherits."""
    return vars(next(base for base in cls.__mro__ if "__init__" in vars(base)))["__init__"]


def is_validated(cls: type) -> bool:
    """Whether an InitSchema checks the arguments first: albumentations' metaclass names such constructors so."""
    return constructor_of(cls).__name__ == "custom_init"


def fields(cls: type) -> dict[str, tuple[Any, Sequence[Any]]]:
    """Annotation and metadata of each field of the InitSchema that a class has or inherits.

    A constructor without an InitSchema of its own hands what it shares with its parent on to the parent's.
    """
    schema = getattr(cls, "InitSchema", None)
    return {name: (field.annotation, field.metadata) for name, field in getattr(schema, "model_fields", {}).items()}
