"""Stock for pairs: crops, flips and turns as one writes them by hand for two grids, and a Compose for each target."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from augrecipes.bench.stock import compose, made_of
from augrecipes.compat.albumentations import A
from augrecipes.compiler.rewrite.nodes import action_of
from augrecipes.compiler.run.grid import unit
from augrecipes.errors import BenchError
from augrecipes.ops import groups
from augrecipes.ops.capabilities import claims
from augrecipes.recipe.model import Mode, Recipe, Step

Pictures = dict[str, np.ndarray]
Move = Callable[[Pictures, np.random.Generator], None]


class StockPairPipeline:
    """As `StockPipeline`, of pairs: steps of one target, and crops, flips and turns of all of them.

    Raises:
        BenchError: the recipe has another step that targets share, which nobody writes by hand.
    """

    reads = False

    def __init__(self, recipe: Recipe, mode: Mode = "train", seed: int = 0) -> None:
        self._seed, self.outputs = seed, tuple(recipe.scales)
        self.targets = self.outputs
        units = unit(dict(recipe.scales))
        self._moves = [_move(step, self.targets, units, recipe.name) for step in recipe.section(mode) or ()]
        self._lasts = {
            name: (compose(_bare(recipe, name), mode, seed), recipe.outputs.get(name, recipe.output))
            for name in self.targets
        }
        self._composes = [one for move in self._moves for one in getattr(move, "composes", ())]
        self.rewind()

    def rewind(self) -> None:
        """From here on the same draws again."""
        self._rng = np.random.default_rng(self._seed)
        for one in self._composes:
            one.set_random_seed(self._seed)

    def at(self, index: int, epoch: int = 0, tile: int = 0) -> Callable[..., dict[str, Any]]:
        """What makes the next sample, whatever its key."""
        del index, epoch, tile
        return self._sample

    def _sample(self, **pictures: Any) -> dict[str, Any]:
        pictures.pop("out", None)  # a batch's memory: stock leaves copying to the collate function
        for move in self._moves:
            move(pictures, self._rng)
        for name, (last, output) in self._lasts.items():
            image = last(image=pictures[name])["image"]
            image = image.transpose(2, 0, 1) if output.layout == "chw" else image
            dtype = "uint8" if output.where == "device" else output.dtype
            pictures[name] = np.ascontiguousarray(image, dtype)
        return pictures


def _bare(recipe: Recipe, name: str) -> Recipe:
    """The output of one target, as a recipe without steps."""
    return Recipe(recipe.name, output=recipe.outputs.get(name, recipe.output), eval=())


class _Alone:
    """A step of one target."""

    def __init__(self, step: Step, name: str) -> None:
        self._name, self.composes = name, (A.Compose([made_of(step)]),)

    def __call__(self, pictures: Pictures, rng: np.random.Generator) -> None:
        del rng
        pictures[self._name] = self.composes[0](image=pictures[self._name])["image"]


class _Turn:
    """A flip or turn, drawn once for all."""

    def __init__(self, step: Step, names: tuple[str, ...]) -> None:
        self._names, self._step = names, made_of(step)
        self.composes = (A.Compose([self._step]),)  # whose seed is the step's

    def __call__(self, pictures: Pictures, rng: np.random.Generator) -> None:
        if rng.random() < self._step.p:
            drawn = self._step.get_params()
            for name in self._names:
                pictures[name] = self._step.apply(pictures[name], **drawn)


def _move(step: Step, targets: tuple[str, ...], units: dict[str, int], recipe: str) -> Move:
    names = step.target or targets
    if len(names) == 1 and step.name != groups.DEGRADE:
        return _Alone(step, names[0])
    if claims(step.name).cuts_sides and set(names) == set(targets):
        at = units[step.at or min(targets, key=units.__getitem__)]
        return _crop(step.args["height"] // at, step.args["width"] // at, units, random=claims(step.name).random)
    if not step.is_group and action_of(step) == "dihedral":
        return _Turn(step, names)
    raise BenchError(
        f"{recipe}: {step.site} acts on several targets, and albumentations has no form of it for several sizes; stock "
        "pairs know crops, flips and turns, and steps of one target"
    )


def _crop(rows: int, columns: int, units: dict[str, int], *, random: bool) -> Move:
    """One window, in cells of the coarsest grid."""

    def crop(pictures: Pictures, rng: np.random.Generator) -> None:
        first = next(iter(units))
        height, width = (size // units[first] for size in pictures[first].shape[:2])
        y, x = (height - rows) // 2, (width - columns) // 2
        if random:
            y, x = int(rng.integers(0, height - rows + 1)), int(rng.integers(0, width - columns + 1))
        for name, k in units.items():
            pictures[name] = pictures[name][y * k : (y + rows) * k, x * k : (x + columns) * k]

    return crop
