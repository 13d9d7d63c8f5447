"""The public names, each once: what type checkers read, and where `augrecipes` finds them on first use."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from augrecipes.accelerate import accelerate as accelerate
    from augrecipes.bench.run import bench as bench
    from augrecipes.compiler.explain import explain as explain
    from augrecipes.compiler.run.pipeline import Pipeline as Pipeline
    from augrecipes.data.collate import collate as collate
    from augrecipes.data.loader import Loader as Loader
    from augrecipes.data.loader import loader as loader
    from augrecipes.data.packed import Packed as Packed
    from augrecipes.data.samples import Samples as Samples
    from augrecipes.demo.dataset import draw_dataset as draw_dataset
    from augrecipes.demo.dataset import draw_scenes as draw_scenes
    from augrecipes.demo.glyphs import draw_glyphs as draw_glyphs
    from augrecipes.demo.slides import draw_slides as draw_slides
    from augrecipes.demo.slides import draw_whole_slides as draw_whole_slides
    from augrecipes.diff import diff as diff
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
    from augrecipes.interop.importing import from_albumentations as from_albumentations
    from augrecipes.interop.torchvision import from_torchvision as from_torchvision
    from augrecipes.kinds.bag.dataset import SlideBags as SlideBags
    from augrecipes.kinds.bag.dataset import TileBags as TileBags
    from augrecipes.kinds.image.dataset import ImageFolder as ImageFolder
    from augrecipes.kinds.pair.dataset import PairedImages as PairedImages
    from augrecipes.kinds.views.dataset import Views as Views
    from augrecipes.lint import lint as lint
    from augrecipes.ops.rand_stain import stain_template as stain_template
    from augrecipes.ops.registry import register as register
    from augrecipes.packing.parts import merge_parts as merge_parts
    from augrecipes.packing.run import pack as pack
    from augrecipes.preview import preview as preview
    from augrecipes.preview import sample_grid as sample_grid
    from augrecipes.recipe.gallery import gallery_names as gallery_names
    from augrecipes.recipe.model import Recipe as Recipe
    from augrecipes.recipe.model import Step as Step
    from augrecipes.recipe.parse import load as load
    from augrecipes.sources.files import read_image as read_image
    from augrecipes.sources.files import read_mask as read_mask
    from augrecipes.sources.source import Source as Source
    from augrecipes.store.verify import verify_store as verify_store
    from augrecipes.studio.server import studio as studio
    from augrecipes.trials.run import trial as trial
    from augrecipes.tta.image_views import TTA as TTA
    from augrecipes.tta.image_views import tta as tta
    from augrecipes.verify.run import verify as verify

__all__: list[str]
__version__: str
