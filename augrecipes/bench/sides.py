"""Sides, the contenders of a comparison: recipes at levels of the optimiser, and stock, over the same samples.

`stock` is the baseline: the same steps in a plain `A.Compose`, as written by hand, behind the loader of augrecipes.
"""

import copy
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import augrecipes.data.loader as loading
from augrecipes.bench.timing import Work, spread_out
from augrecipes.compat.albumentations import A
from augrecipes.compiler.compile import build, check
from augrecipes.data.packed import Packed
from augrecipes.data.samples import Samples
from augrecipes.errors import BenchError, DataError
from augrecipes.interop import plain
from augrecipes.ops.records import own_names
from augrecipes.ops.registry import is_registered
from augrecipes.recipe import kinds
from augrecipes.recipe.model import UINT8_HWC, Mode, Optimize, Output, Recipe, Step
from augrecipes.sources.arguments import data_arguments
from augrecipes.sources.opening import StrPath, is_source, open_data
from augrecipes.sources.sample import RecipeSource
from augrecipes.sources.stored import StoredSource, remaining_recipe
from augrecipes.store import is_store, open_store

STOCK, _IMAGE = "stock", "image"


@dataclass(frozen=True)
class Side:
    """A contender of a comparison.

    Attributes:
        recipe: the recipe's name, unique in the comparison.
        optimize: the level of the optimiser, or `stock`.
        dataset: the samples of a pass, in order.
        source: the recipe; of a packed store, the steps that remain to be applied.
        whole: the dataset of all samples.
    """

    recipe: str
    optimize: str
    dataset: Any
    source: Recipe
    whole: Any

    @property
    def name(self) -> str:
        """Recipe and level."""
        return f"{self.recipe} · {self.optimize}"

    def through(self, pipeline: Any, source: Recipe | None = None) -> "Side":
        """Return a side with the same samples and another pipeline, and its recipe if that differs."""
        return replace(self, dataset=with_pipeline(self.dataset, pipeline, source), source=source or self.source)

    def rewind(self) -> None:
        """Restart the random parameters of stock, which does not draw by sample and epoch."""
        if isinstance(self.dataset.pipeline, StockPipeline):
            self.dataset.pipeline.rewind()


@dataclass(frozen=True)
class Setting:
    """Data and parameters that all sides share.

    Attributes:
        data: a folder, a CSV file or a packed store; for pairs, also a folder by target.
        mode: the section, `train` or `eval`.
        seed: seed of the random parameters.
        masks: a folder of masks.
        recipes: all compared recipes.
    """

    data: Any
    mode: Mode = "train"
    seed: int = 0
    masks: StrPath | None = None
    recipes: tuple[Recipe, ...] = ()

    def data_of(self, recipe: Recipe) -> Any:
        """Return the data without the folders of targets that other recipes read and this one makes."""
        if not recipe.facts.scales or not isinstance(self.data, Mapping):
            return self.data
        pairs = kinds.part(recipe.kind, "checks")
        read = (name for other in self.recipes for name in pairs.targets_of(other, self.mode))
        others = {*read}.difference(pairs.targets_of(recipe, self.mode))
        return {name: roots for name, roots in self.data.items() if pairs.target_of(name, recipe.scales) not in others}

    @property
    def stored(self) -> bool:
        """Whether the data are a packed store, whose samples have some of the recipe's steps applied."""
        return isinstance(self.data, str | os.PathLike) and not is_source(self.data) and is_store(self.data)

    def remaining_recipe(self, recipe: Recipe) -> tuple[Recipe, tuple[str, ...]]:
        """Return the remaining steps of a recipe, and the labels of those that the packed store has applied already."""
        return remaining_recipe(recipe, open_store(self.data), self.mode, self.seed) if self.stored else (recipe, ())

    def reader(self, recipe: Recipe, pipeline: Any) -> RecipeSource:
        """Open the data for reading sample by sample, to inspect what the steps do."""
        if self.stored:
            return StoredSource(open_store(self.data), recipe, pipeline.targets)
        return open_data(recipe, pipeline.targets, self.data_of(recipe), self.masks)


def dataset_of(recipe: Recipe, setting: Setting, optimize: Optimize | None = None) -> Any:
    """Return the Dataset that a user would make of the data.

    Raises:
        DataError: the data are missing or unfit for the recipe, or `masks` does not apply to them.
    """
    data = setting.data_of(recipe)
    common: dict[str, Any] = {"mode": setting.mode, "seed": setting.seed, "optimize": optimize}
    if setting.stored:
        if setting.masks is not None:
            raise DataError("a store has the masks that it was packed with: leave --masks out", str(data))
        return Packed(data, recipe, **common)
    if is_source(data):
        if setting.masks is not None:
            raise DataError("masks= goes with files; a source gives each sample with its mask: leave it out")
        return Samples(data, recipe, **common)
    source = data_arguments(recipe, data)
    if source.files is None and isinstance(source.root, Mapping) != recipe.facts.scales:
        by_scale = sorted(recipe.scales, key=lambda name: -recipe.scales[name])
        folders = " ".join(f"{name}=FOLDER" for name in by_scale) or "one folder"
        raise DataError(f"{recipe.name} is of kind {recipe.kind}: give {folders}, or a CSV file")
    if recipe.facts.annotated:
        common["masks"] = setting.masks
    return kinds.part(recipe.kind, "dataset").DATASET(source.root, recipe, files=source.files, **source.more, **common)


def with_pipeline(dataset: Any, pipeline: Any, recipe: Recipe | None = None) -> Any:
    """Copy a dataset with another pipeline, and its recipe if that differs."""
    copied = copy.copy(dataset)
    copied.pipeline, copied.recipe = pipeline, recipe or dataset.recipe
    return copied


def sides_of(
    recipes: Mapping[str, Recipe], optimize: Sequence[Optimize] | None, setting: Setting, samples: int
) -> list[Side]:
    """Return a side for every recipe at every level, over the same samples.

    Args:
        recipes: recipes by the names that reports show.
        optimize: levels of the optimiser; None: `none`, and the level that each recipe chooses.
        setting: data and parameters of all sides.
        samples: samples per pass.

    Raises:
        BenchError: the recipes are of several kinds.
        DataError: as `dataset_of`.
        LintError, RecipeError: as `Recipe.compile`.
    """
    if len(found := sorted({recipe.kind for recipe in recipes.values()})) > 1:
        raise BenchError(f"recipes must be of one kind, and these are of kinds {' and '.join(found)}")
    sides: list[Side] = []
    for name, recipe in recipes.items():
        whole, (left, _) = dataset_of(recipe, setting), setting.remaining_recipe(recipe)
        part = whole.subset(np.asarray(spread_out(len(whole), samples), np.int64))
        sides += [
            Side(name, level, with_pipeline(part, compiled(left, setting, level)), left, whole)
            for level in optimize or dict.fromkeys(("none", recipe.optimize))
        ]
    return sides


def compiled(recipe: Recipe, setting: Setting, optimize: str, threads: int | None = 1) -> Any:
    """Compile a recipe or its remaining steps; by default on one thread, so that the stages of a bag's tiles add up."""
    check(recipe)
    level: Any = optimize
    return build(recipe, setting.mode, level, setting.seed, threads=threads, resumes=setting.stored)


def stock_side(side: Side, setting: Setting, yardstick: Recipe | None = None) -> Side:
    """Return the stock side to compare a recipe with.

    Args:
        side: a side of the recipe.
        setting: data and parameters of both.
        yardstick: the recipe that stock runs; None: the side's own. Steps that albumentations does not have are
            left out.

    Raises:
        BenchError: albumentations has no plain form of the recipe, or of the packed dataset's annotations.
    """
    recipe, _ = albumentations_only(yardstick or side.source)
    if recipe.facts.scales or recipe.inputs.is_deep:
        several = "steps that images of several sizes share"
        what = several if recipe.facts.scales else "`inputs:` of 16 bits, a range or missing data"
        cure = "compare the settings of the optimiser instead"
        raise BenchError(f"{recipe.name}: albumentations has no plain form of {what}; {cure}")
    points = (recipe.inputs.boxes, recipe.inputs.keypoints)
    if setting.stored and any(annotation is not None and annotation.presence != "absent" for annotation in points):
        raise BenchError(
            f"{recipe.name}: a packed dataset holds boxes and keypoints as its steps left them, which albumentations "
            "does not take: compare with stock on the files"
        )
    return replace(side.through(StockPipeline(recipe, setting.mode, setting.seed), recipe), optimize=STOCK)


def work_of(side: Side, batch_size: int, collate: Any = "default") -> Work:
    """Return a side as work to be timed in this process."""
    batches = loading.loader(side.dataset, batch_size, num_workers=0, collate=collate)

    def start() -> Iterator[Any]:
        side.rewind()
        batches.set_epoch(0)
        return iter(batches)

    return Work(side.name, start)


def albumentations_only(recipe: Recipe) -> tuple[Recipe, tuple[str, ...]]:
    """Remove the steps that albumentations does not have from a recipe; return it and the labels of those steps."""
    removed: list[str] = []

    def only(steps: Sequence[Step]) -> tuple[Step, ...]:
        kept_steps = []
        for step in steps:
            if step.name in own_names() or is_registered(step.name):
                removed.append(step.site)
                continue
            members = only(step.steps)
            if not step.is_group or members:
                kept_steps.append(replace(step, steps=members))
        return tuple(kept_steps)

    views = tuple(replace(view, steps=only(view.steps)) for view in recipe.views)
    plain_recipe = replace(recipe, steps=only(recipe.steps), views=views, eval=only(recipe.eval or ()))
    return plain_recipe, tuple(dict.fromkeys(removed))


def compose(recipe: Recipe, mode: Mode = "train", seed: int = 0) -> Any:
    """Return a recipe's steps as an `A.Compose` that ends in `A.Normalize` or `A.ToFloat` and returns H×W×C images.

    >>> import augrecipes as ar
    >>> [type(step).__name__ for step in compose(ar.load("folder-128"))]
    ['SmallestMaxSize', 'RandomCrop', 'HorizontalFlip', 'ToFloat']
    """
    steps = map(plain.transform, plain.equivalent(recipe.section(mode) or ()))
    return A.Compose([*steps, *output_objects(recipe.output)], **plain.processors_of(recipe.inputs), seed=seed)


class StockPipeline:
    """A pipeline, as our Datasets call it, that runs `A.Compose` with its own random parameters on one thread.

    `A.Normalize` or `A.ToFloat` and a transposition make the output. Each view has its own Compose. Pairs have none.
    """

    reads = False

    def __init__(self, recipe: Recipe, mode: Mode = "train", seed: int = 0) -> None:
        self._kind, self._seed, self._output = recipe.kind, seed, recipe.output
        self._dtype = np.dtype("uint8" if recipe.output.where == "device" else recipe.output.dtype)
        views, shared = recipe.views if mode == "train" else (), len(recipe.steps)
        first = replace(recipe, output=UINT8_HWC)
        self._first = compose(first, mode, seed) if views and shared else None
        rest = {v.name: replace(recipe.view(v.name), steps=recipe.view(v.name).steps[shared:]) for v in views}
        composes = {view.name: (view.count, compose(rest[view.name], mode, seed)) for view in views}
        self._composes = composes or {_IMAGE: (1, compose(recipe, mode, seed))}
        self.outputs = tuple(self._composes)

    def rewind(self) -> None:
        """Restart the random parameters."""
        for compose in filter(None, (self._first, *(compose for _, compose in self._composes.values()))):
            compose.set_random_seed(self._seed)

    def at(self, index: int, epoch: int = 0, tile: int = 0) -> Callable[..., dict[str, Any]]:
        """Return the function that makes the next sample; stock ignores the sample's key."""
        return self._sample

    def _sample(self, **targets: Any) -> dict[str, Any]:
        targets.pop("out", None)  # the row in the batch: the baseline leaves copying to the collate function
        if "boxes" in targets:
            targets["bboxes"] = targets.pop("boxes")
        targets = targets if self._first is None else self._first(**targets)
        if self.outputs == (_IMAGE,):
            return self._view(self._composes[_IMAGE][1], targets)
        sample = dict[str, Any]()
        for name, (count, compose) in self._composes.items():
            views = [self._view(compose, dict(targets)) for _ in range(count)]
            for key in views[0]:
                stack: Any = np.stack if key in (_IMAGE, "mask") else list
                sample[name if key == _IMAGE else f"{name}_{key}"] = stack([view[key] for view in views])
        return sample

    def _view(self, compose: Any, targets: dict[str, Any]) -> dict[str, Any]:
        view: dict[str, Any] = compose(**targets)
        image = view["image"].transpose(2, 0, 1) if self._output.layout == "chw" else view["image"]
        view["image"] = np.ascontiguousarray(image, self._dtype)
        if "mask" in view:
            view["mask"] = view["mask"].astype(np.int64)
        if "bboxes" in view:
            view["boxes"] = np.asarray(view.pop("bboxes"), np.float32).reshape(-1, 4)
        if "keypoints" in view:
            view["keypoints"] = np.asarray(view["keypoints"], np.float32)
        return view

    def bag(self, index: int, epoch: int, tiles: Sequence[int], read: Callable[[int], Any], **more: Any) -> Any:
        """Make the tiles of a bag, one after another."""
        images = [self._sample(image=read(k))["image"] for k in range(len(tiles))]
        out = more.get("allocate", np.empty)((len(images), *images[0].shape), images[0].dtype)
        np.stack(images, out=out)
        return kinds.part(self._kind, "pipeline").BagResult(out, tuple(range(len(tiles))))


def output_objects(output: Output) -> list[Any]:
    """Return the transforms of the output's range and dtype, as written by hand; colour order and layout have none."""
    dtype = "uint8" if output.dtype == "uint8" else "float32"
    return plain.output_objects(replace(output, dtype=dtype, color="rgb", layout="hwc"))
