"""How albumentations is imported: in the one version that is proven, as late as possible, without torch if need be."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType

from augrecipes.errors import AugrecipesError
from augrecipes.ops.warned import listen

VERSION = "2.0.8"

_state = {"without_torch": False}


def without_torch() -> None:
    """Ask for an import that leaves torch and scipy out: for commands that look at recipes and touch no pixels.

    Only a process of our own may ask for it (the command line does): what albumentations could not import it does
    without until the process ends. No effect once albumentations or torch is imported.
    """
    _state["without_torch"] = True


@cache
def installed_version() -> str:
    """The version of the installed albumentations, or an empty text; imports nothing.

    >>> installed_version()
    '2.0.8'
    """
    try:
        return version("albumentations")
    except PackageNotFoundError:
        return ""


@cache
def albumentations() -> ModuleType:
    """The albumentations module.

    Raises:
        AugrecipesError: it is missing, of a version that augrecipes does not know, or AlbumentationsX.

    >>> albumentations().__name__
    'albumentations'
    """
    _refuse_others()
    module = _import()
    listen(module)
    return module


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


def _refuse_others() -> None:
    found = installed_version()
    try:
        other = version("albumentationsx")
    except PackageNotFoundError:
        other = ""
    if other:
        raise AugrecipesError(
            f"AlbumentationsX {other} is installed, which is another package under the same name (and licensed AGPL); "
            f"augrecipes needs albumentations: pip uninstall albumentationsx; pip install albumentations=={VERSION}"
        )
    if found != VERSION:
        have = f"albumentations {found} is installed" if found else "albumentations is not installed"
        raise AugrecipesError(
            f"{have}; augrecipes is proven against {VERSION} only: pip install albumentations=={VERSION}"
        )


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
