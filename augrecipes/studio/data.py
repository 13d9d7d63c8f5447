"""The studio's data: opened once for each way that recipes read them, then read and cached sample by sample."""

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from augrecipes.compiler.run.pipeline import Pipeline
from augrecipes.demo.dataset import draw_dataset, draw_scenes
from augrecipes.demo.slides import draw_slides
from augrecipes.errors import DataError
from augrecipes.lru import LruCache
from augrecipes.recipe.model import Mode, Recipe
from augrecipes.sources import opening, stains
from augrecipes.sources.sample import RecipeSource, Sample
from augrecipes.sources.stored import Store, StoredSource, check_targets, open_store, remaining_recipe
from augrecipes.store import is_store
from augrecipes.studio.requests import Refused

MOST_BYTES = 160 << 20  # of cached samples, as read
DECODED_PX = 4 << 20  # larger files stay encoded; a pipeline that reads windows decodes only those, each time
MOST_PX = 40_000_000  # larger images are not shown
# The demo's folders of pairs, by downscaling factor.
_SCALES: dict[float, str] = {1: "HR", 2: "LR_bicubic/X2", 4: "LR_bicubic/X4"}
_TISSUE = ("tissue", "stain", "patholog", "slide")  # in the name or description of recipes for slides


@dataclass
class StudioData:
    """Reads samples for recipes.

    Attributes:
        data: as `augrecipes.preview` takes them, or a packed dataset; None: images that the demo draws.
        masks: a folder of masks.
        store: the open packed dataset; None for files.

    Raises:
        StoreError: the data are a packed dataset that is damaged, or newer.
        DataError: masks together with a packed dataset.
    """

    data: opening.Data | None = None
    masks: Any = None
    store: Store | None = field(init=False, default=None)
    _files: LruCache[RecipeSource] = field(default_factory=lambda: LruCache(16))
    _samples: LruCache[Sample] = field(default_factory=lambda: LruCache(MOST_BYTES, _nbytes))
    _demo: LruCache[Path] = field(default_factory=lambda: LruCache(8))
    _folders: list[Path] = field(default_factory=list)

    def __post_init__(self) -> None:
        if isinstance(self.data, str | os.PathLike) and is_store(self.data, damaged=True):
            self.store = open_store(self.data)
            if self.masks is not None:
                raise DataError("a store has the masks that it was packed with: leave --masks out", str(self.data))

    def left(self, recipe: Recipe, mode: Mode, seed: int) -> tuple[Recipe, tuple[str, ...]]:
        """Split off the steps that a packed dataset has applied: the remaining recipe, and the labels of those steps.

        Raises:
            StoreError: the recipe does not begin with the steps that the dataset was packed with.
        """
        if self.store is None or recipe.section(mode) is None:
            return recipe, ()
        return remaining_recipe(recipe, self.store, mode, seed)

    def source(self, recipe: Recipe, pipeline: Pipeline) -> RecipeSource:
        """Open the data as a recipe reads them, from the cache where possible.

        Raises:
            DataError: the recipe cannot read them.
        """
        if recipe.inputs.stack:
            raise DataError("the studio shows single images; `augrecipes preview` shows stacks of frames")
        targets, store = pipeline.targets, self.store
        data, masks = (self.data, self.masks) if self.data is not None else self._demo_for(recipe, targets)
        if store is not None:
            check_targets(store, targets, pipeline.mode)

        def listing() -> RecipeSource:
            return StoredSource(store, recipe, targets) if store else opening.open_data(recipe, targets, data, masks)

        bags = recipe.bag, stains.source_methods(recipe)  # they decide which tiles are read, and with which stains
        key = recipe.kind, targets, recipe.inputs, repr(recipe.scales.plain()), store.digest if store else str(data)
        return self._files.get((*key, *bags), listing)

    def sample(self, recipe: Recipe, pipeline: Pipeline, unit: int, epoch: int = 0) -> Sample:
        """Read one image, scene or tile as the pipeline takes it; large files are decoded only where it needs them.

        Raises:
            DataError: it cannot be read.
        """
        files = self.source(recipe, pipeline)
        fast, reads = pipeline.optimize == "fast" and pipeline.reads, pipeline.reads
        baked = epoch % files.epochs if isinstance(files, StoredSource) else 0

        def read() -> Sample:
            if isinstance(files, StoredSource):
                _check_size(files.shape(unit, baked), files.path(unit))
                return files.sample(unit, baked, undecoded=fast)
            self._check_inside(files, unit)
            return _read_sample(files, unit, as_files=fast, reads=reads)

        return self._samples.get((files, unit, fast, baked), read)

    def _check_inside(self, files: RecipeSource, unit: int) -> None:
        """Refuse a file outside the data folders that a link inside them leads to."""
        values = self.data.values() if isinstance(self.data, Mapping) else [self.data]
        named = [place for some in values for place in (some if isinstance(some, list) else [some])]
        roots = [Path(os.path.realpath(os.fsdecode(place))) for place in named if isinstance(place, str | os.PathLike)]
        if not roots or not all(root.is_dir() for root in roots):
            return  # a list of files may name any place
        for path in files.table.paths(unit).values():
            if not any(Path(os.path.realpath(path)).is_relative_to(root) for root in roots):
                message = f"{path}: a link that leads out of the folder of data is not followed"
                raise Refused(403, "outside", message, "give the folder that it leads to as --data")

    def _demo_for(self, recipe: Recipe, targets: Sequence[str]) -> tuple[Any, Path | None]:
        """Choose demo data that suit a recipe, and masks where it needs some; draw them on first use."""
        facts = recipe.facts
        if facts.tiles:
            return str(self._draw("slides", lambda at: draw_slides(at, bags=4, shrink=2))), None
        if facts.scales:
            most = max(recipe.scales.values())
            folders = {name: _SCALES.get(most / recipe.scales[name]) for name in targets}
            if strange := [name for name, folder in folders.items() if folder is None]:
                raise DataError(
                    f"the demo's scenes come at three scales, 1, 2 and 4; none is that of {', '.join(strange)}: "
                    "give your own with --data TARGET=FOLDER"
                )
            pairs = self._draw("pairs", lambda at: draw_scenes(at, count=6))
            return {name: str(pairs / str(folder)) for name, folder in folders.items()}, None
        masked, boxed = recipe.inputs.mask == "required", recipe.inputs.boxes is not None
        about = f"{recipe.name} {recipe.about}".lower()
        if not masked and not boxed and not any(word in about for word in _TISSUE):
            return str(self._draw("photos", lambda at: draw_dataset(at, tiles=0, photo_count=12)) / "photos"), None
        tissue = self._draw("tissue", lambda at: draw_dataset(at, tiles=12, photo_count=0))
        return str(tissue / ("tissue.csv" if boxed else "tissue")), tissue / "tissue-masks" if masked else None

    def _draw(self, name: str, draw: Callable[[Path], object]) -> Path:
        def drawn() -> Path:
            folder = Path(tempfile.mkdtemp(prefix="augrecipes-studio-"))
            self._folders.append(folder)
            draw(folder / name)
            return folder / name

        return self._demo.get(name, drawn)

    def close(self) -> None:
        """Remove the demo's files."""
        for folder in self._folders:
            shutil.rmtree(folder, ignore_errors=True)


def _read_sample(files: RecipeSource, unit: int, *, as_files: bool, reads: bool) -> Sample:
    """Read a sample; images stay encoded where the pipeline decodes them itself, or where they are large."""
    sample = files.sample(unit, undecoded=True)
    for name, image in sample.images.items():
        pixels = _check_size(image.shape, sample.path)
        if not isinstance(image, np.ndarray) and not (as_files or (reads and pixels > DECODED_PX)):
            sample.images[name] = image.array()
    if not isinstance(mask := sample.rest.get("mask"), np.ndarray | None):
        sample.rest["mask"] = mask.array()[:, :, 0]
    return sample


def _check_size(shape: tuple[int, ...], path: str) -> int:
    """Return the number of pixels; Refused above `MOST_PX`."""
    pixels = shape[0] * shape[1]
    if pixels > MOST_PX:
        raise Refused(413, "too-large", f"{path}: more than {MOST_PX:,} pixels are not shown here")
    return pixels


def _nbytes(sample: Sample) -> int:
    return sum(int(getattr(part, "nbytes", 64)) for part in sample.targets.values())
