"""augrecipes: write what should happen to your samples; the compiler decides how and where it runs.

>>> import augrecipes as ar
>>> recipe = ar.load("folder-128")
>>> recipe.kind
'image'
"""

from __future__ import annotations

import logging
import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from augrecipes.compat import stay_offline
from augrecipes.errors import harmless_record
from augrecipes.kinds import KINDS, facts

if TYPE_CHECKING:
    from augrecipes.bench.run import bench as bench
    from augrecipes.bring.dialects.torchvision import from_torchvision as from_torchvision
    from augrecipes.bring.importing import from_albumentations as from_albumentations
    from augrecipes.compiler.explain import explain as explain
    from augrecipes.compiler.run.pipeline import Pipeline as Pipeline
    from augrecipes.data.loader import Loader as Loader
    from augrecipes.data.loader import loader as loader
    from augrecipes.data.packed import Packed as Packed
    from augrecipes.data.samples import Samples as Samples
    from augrecipes.demo.dataset import draw_dataset as draw_dataset
    from augrecipes.demo.dataset import draw_scenes as draw_scenes
    from augrecipes.demo.slides import draw_slides as draw_slides
    from augrecipes.demo.slides import draw_whole_slides as draw_whole_slides
    from augrecipes.diff.recipes import diff as diff
    from augrecipes.errors import AugrecipesError as AugrecipesError
    from augrecipes.errors import BenchError as BenchError
    from augrecipes.errors import CollateError as CollateError
    from augrecipes.errors import DataError as DataError
    from augrecipes.errors import Diagnostic as Diagnostic
    from augrecipes.errors import LintError as LintError
    from augrecipes.errors import LoaderError as LoaderError
    from augrecipes.errors import RecipeError as RecipeError
    from augrecipes.errors import StoreError as StoreError
    from augrecipes.errors import UnprovenWarning as UnprovenWarning
    from augrecipes.images.encoded import open_encoded as open_encoded
    from augrecipes.kinds.bag.dataset import SlideBags as SlideBags
    from augrecipes.kinds.bag.dataset import TileBags as TileBags
    from augrecipes.kinds.image.dataset import ImageFolder as ImageFolder
    from augrecipes.kinds.pair.dataset import PairedImages as PairedImages
    from augrecipes.lint import lint as lint
    from augrecipes.ops.registry import register as register
    from augrecipes.packing.merge import merge_parts as merge_parts
    from augrecipes.packing.run import pack as pack
    from augrecipes.preview.grid import preview as preview
    from augrecipes.preview.grid import sample_grid as sample_grid
    from augrecipes.recipe import load as load
    from augrecipes.recipe.gallery import gallery_names as gallery_names
    from augrecipes.recipe.model import Recipe as Recipe
    from augrecipes.recipe.model import Step as Step
    from augrecipes.sources.files import read_image as read_image
    from augrecipes.sources.files import read_mask as read_mask
    from augrecipes.sources.sample import Source as Source
    from augrecipes.store.verify import verify_store as verify_store
    from augrecipes.studio.notebook import studio as studio
    from augrecipes.verify.run import verify as verify

__version__ = "0.1.0"

stay_offline()

# Where each public name lives: module:name. Imported on first use: torch and albumentations take over a second.
_HOMES = {
    "AugrecipesError": "errors:AugrecipesError",
    "BenchError": "errors:BenchError",
    "CollateError": "errors:CollateError",
    "DataError": "errors:DataError",
    "Diagnostic": "errors:Diagnostic",
    "LintError": "errors:LintError",
    "Loader": "data.loader:Loader",
    "LoaderError": "errors:LoaderError",
    "Packed": "data.packed:Packed",
    "Pipeline": "compiler.run.pipeline:Pipeline",
    "Recipe": "recipe.model:Recipe",
    "RecipeError": "errors:RecipeError",
    "Step": "recipe.model:Step",
    "Samples": "data.samples:Samples",
    "SlideBags": "kinds.bag.dataset:SlideBags",
    "Source": "sources.sample:Source",
    "StoreError": "errors:StoreError",
    "UnprovenWarning": "errors:UnprovenWarning",
    "bench": "bench.run:bench",
    "diff": "diff.recipes:diff",
    "draw_dataset": "demo.dataset:draw_dataset",
    "draw_scenes": "demo.dataset:draw_scenes",
    "draw_slides": "demo.slides:draw_slides",
    "draw_whole_slides": "demo.slides:draw_whole_slides",
    "explain": "compiler.explain:explain",
    "from_albumentations": "bring.importing:from_albumentations",
    "from_torchvision": "bring.dialects.torchvision:from_torchvision",
    "gallery_names": "recipe.gallery:gallery_names",
    "lint": "lint:lint",
    "load": "recipe:load",
    "loader": "data.loader:loader",
    "merge_parts": "packing.merge:merge_parts",
    "open_encoded": "images.encoded:open_encoded",
    "pack": "packing.run:pack",
    "preview": "preview.grid:preview",
    "read_image": "sources.files:read_image",
    "read_mask": "sources.files:read_mask",
    "register": "ops.registry:register",
    "sample_grid": "preview.grid:sample_grid",
    "studio": "studio.notebook:studio",
    "verify": "verify.run:verify",
    "verify_store": "store.verify:verify_store",
}
_HOMES |= {facts(kind).dataset: f"kinds.{kind}.dataset:DATASET" for kind in KINDS}

__all__ = ["__version__", *sorted(_HOMES)]  # noqa: PLE0604  names, every one

logging.getLogger(__name__).addFilter(harmless_record)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'augrecipes' has no attribute {name!r}; it has {', '.join(sorted(_HOMES))}")
    home, _, own = _HOMES[name].partition(":")
    if home.partition(".")[0] == name:
        return import_module(f"augrecipes.{name}")  # a folder of that name, which can be called, see below
    value = globals()[name] = getattr(import_module(f"augrecipes.{home}"), own)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


class _Folder(ModuleType):
    """A folder of the package that does, when it is called, what the function of its name does: `ar.diff(...)`."""

    def __call__(self, *args: Any, **more: Any) -> Any:
        return self.function(*args, **more)

    @property
    def __signature__(self) -> Any:
        return import_module("inspect").signature(self.function)

    @property
    def function(self) -> Any:
        """The function of that name."""
        home, _, own = _HOMES[self.__name__.rpartition(".")[2]].partition(":")
        return getattr(import_module(f"augrecipes.{home}"), own)


class _Package(ModuleType):
    """This package: a folder that is imported becomes its attribute, and hides the function of the same name."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _HOMES and isinstance(value, ModuleType):
            value.__class__ = _Folder
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
