"""Sides: what is compared, each a recipe at a setting of the optimiser, or stock, over the same samples.

`stock` is the baseline: the same steps in a plain `A.Compose`, as one writes them by hand, behind our own loader.
"""

from __future__ import annotations

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
    """One of those that are compared.

    Attributes:
        recipe: its name, told apart from others of the same name.
        optimize: the setting of the optimiser, or `stock`.
        dataset: the samples that are read, in their order.
        source: the recipe itself; of a packed store what is left of it.
        whole: all samples.
    """

    recipe: str
    optimize: str
    dataset: Any
    source: Recipe
    whole: Any

    @property
    def name(self) -> str:
        """Recipe and setting."""
        return f"{self.recipe} · {self.optimize}"

    def through(self, pipeline: Any, source: Recipe | None = None) -> Side:
        """The same samples through another pipeline, of another recipe if that is given."""
        return replace(self, dataset=with_pipeline(self.dataset, pipeline, source), source=source or self.source)

    def rewound(self) -> None:
        """Random parameters of its own begin again."""
        if isinstance(self.dataset.pipeline, StockPipeline):
            self.dataset.pipeline.rewind()


@dataclass(frozen=True)
class Setting:
    """What holds for every side.

    Attributes:
        data: a folder or a CSV file; for pairs a folder by target, or a CSV file; or a packed store.
        mode: the section.
        seed: of the random parameters.
        masks: a folder of masks.
        recipes: all that are compared.
    """

    data: Any
    mode: Mode = "train"
    seed: int = 0
    masks: StrPath | None = None
    recipes: tuple[Recipe, ...] = ()

    def data_of(self, recipe: Recipe) -> Any:
        """The data without the folders of targets that others of the recipes read, and this one makes."""
        if not recipe.facts.scales or not isinstance(self.data, Mapping):
            return self.data
        pairs = kinds.part(recipe.kind, "checks")
        read = (name for other in self.recipes for name in pairs.targets_of(other, self.mode))
        others = {*read}.difference(pairs.targets_of(recipe, self.mode))
        return {name: roots for name, roots in self.data.items() if pairs.target_of(name, recipe.scales) not in others}

    @property
    def stored(self) -> bool:
        """Whether a packed store is read: its samples have some of the recipe's steps behind them."""
        return isinstance(self.data, str | os.PathLike) and not is_source(self.data) and is_store(self.data)

    def remaining_recipe(self, recipe: Recipe) -> tuple[Recipe, tuple[str, ...]]:
        """What is left of a recipe to be done, and the labels of the steps that the store holds already."""
        return remaining_recipe(recipe, open_store(self.data), self.mode, self.seed) if self.stored else (recipe, ())

    def reader(self, recipe: Recipe, pipeline: Any) -> RecipeSource:
        """The data one by one, to inspect what the steps do."""
        if self.stored:
            return StoredSource(open_store(self.data), recipe, pipeline.targets)
        return open_data(recipe, pipeline.targets, self.data_of(recipe), self.masks)


def dataset_of(recipe: Recipe, setting: Setting, optimize: Optimize | None = None) -> Any:
    """The Dataset that a user would make of the data.

    Raises:
        DataError: there is nothing there, or it is not as it should be.
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
    """The same samples through another pipeline, of another recipe if that is given."""
    copied = copy.copy(dataset)
    copied.pipeline, copied.recipe = pipeline, recipe or dataset.recipe
    return copied


def sides_of(
    recipes: Mapping[str, Recipe], optimize: Sequence[Optimize] | None, setting: Setting, samples: int
) -> list[Side]:
    """Every recipe at every setting, over the same samples.

    Args:
        recipes: by the name that they are shown under.
        optimize: None: as written, and as the recipe itself chooses.
        setting: of all of them.
        samples: how many.

    Raises:
        BenchError: recipes of several kinds.
        DataError: as `dataset_of`.
        LintError, RecipeError: as `Recipe.compile`.
    """
    if len(of_kinds := sorted({recipe.kind for recipe in recipes.values()})) > 1:
        raise BenchError(f"recipes must be of one kind, and these are of kinds {' and '.join(of_kinds)}")
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
    """The pipeline of what is left to do; the tiles of a bag one after another, so that stages add up."""
    check(recipe)
    level: Any = optimize
    return build(recipe, setting.mode, level, setting.seed, threads=threads, resumes=setting.stored)


def stock_side(side: Side, setting: Setting, yardstick: Recipe | None = None) -> Side:
    """Stock albumentations compared with a recipe.

    Args:
        side: of the recipe.
        setting: of both.
        yardstick: the recipe that stock runs; None: the side's own. Steps that albumentations does not have are
            left out.

    Raises:
        BenchError: albumentations has no plain form of the recipe, or of what the packed dataset holds.
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
    """A side as work to be timed, in this process."""
    batches = loading.loader(side.dataset, batch_size, num_workers=0, collate=collate)

    def start() -> Iterator[Any]:
        side.rewound()
        batches.set_epoch(0)
        return iter(batches)

    return Work(side.name, start)


def albumentations_only(recipe: Recipe) -> tuple[Recipe, tuple[str, ...]]:
    """The recipe without the steps that albumentations does not have, which may change; and the labels of those."""
    left: list[str] = []

    def only(steps: Sequence[Step]) -> tuple[Step, ...]:
        steps_left = []
        for step in steps:
            if step.name in own_names() or is_registered(step.name):
                left.append(step.site)
                continue
            inside = only(step.steps)
            if not step.is_group or inside:
                steps_left.append(replace(step, steps=inside))
        return tuple(steps_left)

    views = tuple(replace(view, steps=only(view.steps)) for view in recipe.views)
    plain_recipe = replace(recipe, steps=only(recipe.steps), views=views, eval=only(recipe.eval or ()))
    return plain_recipe, tuple(dict.fromkeys(left))


def compose(recipe: Recipe, mode: Mode = "train", seed: int = 0) -> Any:
    """A recipe's steps as an `A.Compose`, with `A.Normalize` or `A.ToFloat` for its output; H×W×C comes out.

    >>> import augrecipes as ar
    >>> [type(step).__name__ for step in compose(ar.load("folder-128"))]
    ['SmallestMaxSize', 'RandomCrop', 'HorizontalFlip', 'ToFloat']
    """
    steps = map(plain.transform, plain.equivalent(recipe.section(mode) or ()))
    return A.Compose([*steps, *output_objects(recipe.output)], **plain.processors_of(recipe.inputs), seed=seed)


class StockPipeline:
    """What a Dataset of ours asks of a pipeline, done by `A.Compose` with random parameters of its own. One thread.

    `A.Normalize` or `A.ToFloat` and a transposition stand for the output. Views have a Compose each. Not of pairs.
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
        """From here on the same random parameters again."""
        for compose in filter(None, (self._first, *(compose for _, compose in self._composes.values()))):
            compose.set_random_seed(self._seed)

    def at(self, index: int, epoch: int = 0, tile: int = 0) -> Callable[..., dict[str, Any]]:
        """What makes the next sample, whatever its key."""
        del index, epoch, tile
        return self._sample

    def _sample(self, **targets: Any) -> dict[str, Any]:
        targets.pop("out", None)  # a batch's memory: the baseline leaves copying to the collate function
        if "boxes" in targets:
            targets["bboxes"] = targets.pop("boxes")
        targets = targets if self._first is None else self._first(**targets)
        if self.outputs == (_IMAGE,):
            return self._one(self._composes[_IMAGE][1], targets)
        sample = dict[str, Any]()
        for name, (count, compose) in self._composes.items():
            views = [self._one(compose, dict(targets)) for _ in range(count)]
            for key in views[0]:
                stack: Any = np.stack if key in (_IMAGE, "mask") else list
                sample[name if key == _IMAGE else f"{name}_{key}"] = stack([view[key] for view in views])
        return sample

    def _one(self, compose: Any, targets: dict[str, Any]) -> dict[str, Any]:
        done: dict[str, Any] = compose(**targets)
        image = done["image"].transpose(2, 0, 1) if self._output.layout == "chw" else done["image"]
        done["image"] = np.ascontiguousarray(image, self._dtype)
        if "mask" in done:
            done["mask"] = done["mask"].astype(np.int64)
        if "bboxes" in done:
            done["boxes"] = np.asarray(done.pop("bboxes"), np.float32).reshape(-1, 4)
        if "keypoints" in done:
            done["keypoints"] = np.asarray(done["keypoints"], np.float32)
        return done

    def bag(self, index: int, epoch: int, tiles: Sequence[int], read: Callable[[int], Any], **more: Any) -> Any:
        """The tiles of a bag, one after another."""
        del index, epoch
        images = [self._sample(image=read(k))["image"] for k in range(len(tiles))]
        out = more.get("allocate", np.empty)((len(images), *images[0].shape), images[0].dtype)
        np.stack(images, out=out)
        return kinds.part(self._kind, "pipeline").BagResult(out, tuple(range(len(tiles))))


def output_objects(output: Output) -> list[Any]:
    """What stands for the output's numbers, as one writes them by hand; colours and layout are not among them."""
    dtype = "uint8" if output.dtype == "uint8" else "float32"
    return plain.output_objects(replace(output, dtype=dtype, color="rgb", layout="hwc"))
