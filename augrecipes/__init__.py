"""augrecipes: write what should happen to your samples; the compiler decides how and where it runs.

>>> import augrecipes as ar
>>> recipe = ar.load("folder-128")
>>> recipe.kind
'image'
"""

from __future__ import annotations

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

from augrecipes.compat import stay_offline
from augrecipes.errors import harmless_record

if TYPE_CHECKING:
    from augrecipes.compiler.pipeline import Pipeline as Pipeline
    from augrecipes.data.bags import TileBags as TileBags
    from augrecipes.data.folder import ImageFolder as ImageFolder
    from augrecipes.data.loader import Loader as Loader
    from augrecipes.data.loader import loader as loader
    from augrecipes.data.packed import Packed as Packed
    from augrecipes.data.pairs import PairedImages as PairedImages
    from augrecipes.data.views import concat as concat
    from augrecipes.errors import AugrecipesError as AugrecipesError
    from augrecipes.errors import BenchError as BenchError
    from augrecipes.errors import CollateError as CollateError
    from augrecipes.errors import DataError as DataError
    from augrecipes.errors import DecoderError as DecoderError
    from augrecipes.errors import Diagnostic as Diagnostic
    from augrecipes.errors import LintError as LintError
    from augrecipes.errors import LoaderError as LoaderError
    from augrecipes.errors import RecipeError as RecipeError
    from augrecipes.errors import StoreError as StoreError
    from augrecipes.ops.registry import register as register
    from augrecipes.recipe import load as load
    from augrecipes.recipe.model import Recipe as Recipe
    from augrecipes.recipe.model import Step as Step

__version__ = "0.1.0"

stay_offline()

# Where each public name lives. Imported on first use: torch and albumentations take over a second.
_HOMES = {
    "AugrecipesError": "augrecipes.errors",
    "BenchError": "augrecipes.errors",
    "CollateError": "augrecipes.errors",
    "DataError": "augrecipes.errors",
    "DecoderError": "augrecipes.errors",
    "Diagnostic": "augrecipes.errors",
    "ImageFolder": "augrecipes.data.folder",
    "LintError": "augrecipes.errors",
    "Loader": "augrecipes.data.loader",
    "LoaderError": "augrecipes.errors",
    "Packed": "augrecipes.data.packed",
    "PairedImages": "augrecipes.data.pairs",
    "Pipeline": "augrecipes.compiler.pipeline",
    "Recipe": "augrecipes.recipe.model",
    "RecipeError": "augrecipes.errors",
    "Step": "augrecipes.recipe.model",
    "StoreError": "augrecipes.errors",
    "TileBags": "augrecipes.data.bags",
    "concat": "augrecipes.data.views",
    "load": "augrecipes.recipe",
    "loader": "augrecipes.data.loader",
    "register": "augrecipes.ops.registry",
}

__all__ = ["__version__", *sorted(_HOMES)]  # noqa: PLE0604  names, every one

logging.getLogger(__name__).addFilter(harmless_record)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'augrecipes' has no attribute {name!r}; it has {', '.join(sorted(_HOMES))}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
