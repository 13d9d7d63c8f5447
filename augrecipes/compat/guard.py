"""The one door to albumentations: the proven version, imported as late as possible, without the network or torch.

Three distributions bring a package of this name. albumentations is the one that everything is proven against.
nrtk-albumentations, a fork of its last release under the same licence, may stand in for it, should it ever be gone;
records then name it, since its pixels may differ. AlbumentationsX, of another licence, is refused.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType

from augrecipes.compat import stay_offline
from augrecipes.compat.warned import listen
from augrecipes.errors import AugrecipesError

VERSION = "2.0.8"
# Distributions that may bring it, each in the version that is proven.
PROVEN = {"albumentations": VERSION, "nrtk-albumentations": "2.3.0"}
REFUSED = "albumentationsx"

_state = {"without_torch": False}
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
        found if name == "albumentations" else f"{name} {found}" for name, found in _installed().items()
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


def refuse_others(found: dict[str, str], refused: str | None) -> None:
    """Raise unless exactly one distribution brings albumentations, in its proven version.

    Args:
        found: versions by distribution, of those in `PROVEN`.
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
    if len(found) > 1:
        raise AugrecipesError(
            f"{' and '.join(found)} are installed, which write the same files; keep one: "
            f"pip uninstall {' '.join(found)}; {_INSTALL}"
        )
    for name, have in found.items():
        if have != PROVEN[name]:
            raise AugrecipesError(
                f"{name} {have} is installed; augrecipes is proven against {PROVEN[name]}: "
                f"pip install {name}=={PROVEN[name]}"
            )
    if not found:
        raise AugrecipesError(f"albumentations is not installed; augrecipes is proven against {VERSION}: {_INSTALL}")


def _installed() -> dict[str, str]:
    return {name: found for name in PROVEN if (found := version_of(name)) is not None}


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
