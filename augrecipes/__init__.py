"""augrecipes: write what should happen to your samples; the compiler decides how and where it runs.

>>> import augrecipes as ar
>>> recipe = ar.load("folder-128")
>>> recipe.kind
'image'
"""

import re
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from augrecipes import api
from augrecipes.compat import stay_offline
from augrecipes.recipe.kinds import KINDS, facts

__version__ = "0.1.0"

stay_offline()

# The module of each public name, read from the type stub. Imported on first use: torch alone takes over a second.
_STUB = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
_HOMES = {name: (home, name) for home, name in re.findall(r"    from augrecipes\.(\S+) import (\w+) as", _STUB)}
_HOMES |= {facts(kind).dataset: (f"kinds.{kind}.dataset", "DATASET") for kind in KINDS}

__all__ = ["__version__", *sorted(_HOMES)]  # noqa: PLE0604  every item is a str

api.bind()


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'augrecipes' has no attribute {name!r}; it has {', '.join(sorted(_HOMES))}")
    home, own = _HOMES[name]
    value = globals()[name] = getattr(import_module(f"augrecipes.{home}"), own)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


class _Package(ModuleType):
    """The package's class: importing a subpackage such as `augrecipes.diff` does not hide the function of that name."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _HOMES or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
