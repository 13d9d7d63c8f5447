"""Effects: what a recipe's steps do to one's samples: how often they act, what they fill, what they clip, what is left.

All of it is measured on the recipe as it is written (`none`), whose draws every plan shares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.bench.borders import SOURCE, Borders, plainly
from augrecipes.bench.sides import Setting, spread_out
from augrecipes.compiler.kernels.step_draws import with_channels
from augrecipes.compiler.run.instrument import instrument
from augrecipes.errors import DataError
from augrecipes.progress import Progress
from augrecipes.recipe.model import Recipe, Step
from augrecipes.sources.sample import Sample

AS_READ = "as read"


@dataclass(frozen=True, slots=True)
class Effect:
    """What is there after one outermost step, or as it was read.

    Attributes:
        target: which picture: `image`, or a target of a pair.
        step: its label, or `as read`.
        filled: share of the recipe's last picture that this step filled as a border, 0..1; None: not measured (pairs).
        clipped: share of values at 0 or full scale after the step, 0..1; borders do not count.
        means: of each channel after the step, in levels, 0..255; borders count, for they are trained on.
        deviations: of each channel, in levels.
    """

    target: str
    step: str
    filled: float | None
    clipped: float
    means: tuple[float, ...]
    deviations: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Effects:
    """What a recipe does.

    Attributes:
        samples: how many were looked at; of bags each tile is one.
        applied: share of the samples that a step acted on, 0..1, by label; those inside groups too.
        steps: after each step, in their order.
        means: of each channel of what comes out, in the output's units, by target.
        deviations: the same.
        left_out: samples that cannot be read or that a step fails on.
    """

    samples: int
    applied: dict[str, float]
    steps: tuple[Effect, ...]
    means: dict[str, tuple[float, ...]]
    deviations: dict[str, tuple[float, ...]]
    left_out: int = 0

    def last(self, target: str) -> Effect:
        """What is there after the last step."""
        return [effect for effect in self.steps if effect.target == target][-1]

    @property
    def filled(self) -> float | None:
        """Share of the recipe's last picture that is border; None: not measured."""
        found = [effect.filled for effect in self.steps if effect.filled is not None]
        return sum(found) if found else None


def effects(recipe: Recipe, setting: Setting, samples: int, progress: Progress | None = None) -> Effects:
    """Run samples through a recipe as it is written, and look after each step.

    Args:
        recipe: of any kind.
        setting: data, section, seed.
        samples: how many, spread over the data.
        progress: called with (samples done, samples).

    Raises:
        DataError: no sample could be looked at; the reason of the first.
    """
    watcher = _Watcher(recipe, recipe.section(setting.mode) or (), setting)
    reader = setting.reader(recipe, watcher.pipeline)
    first: DataError | None = None
    left_out, numbers = 0, spread_out(len(reader), min(samples, len(reader)) if setting.mode == "eval" else samples)
    for done, number in enumerate(numbers):
        try:
            watcher.look(reader.read(number), done // max(len(reader), 1))
        except DataError as error:
            left_out, first = left_out + 1, first or error
        if progress:
            progress(done + 1, len(numbers))
    if first is not None and left_out == len(numbers):
        raise first
    return watcher.found(len(numbers) - left_out, left_out)


@dataclass
class _Sums:
    """Of the values of one picture, over samples."""

    count: int = 0
    extremes: int = 0
    inside: int = 0
    total: Any = 0.0
    squares: Any = 0.0

    def add(self, image: NDArray[Any], borders: NDArray[np.uint8] | None = None, full: float = 0.0) -> None:
        """A picture H×W×C, whose full scale is `full`; `borders`: H×W, `SOURCE` where there is none."""
        values = image.reshape(-1, image.shape[-1]).astype(np.float64)
        self.count += len(values)
        self.total, self.squares = self.total + values.sum(0), self.squares + (values**2).sum(0)
        if full:
            own = values if borders is None else values[borders.reshape(-1) == SOURCE]
            self.inside += own.size
            self.extremes += int(((own <= 0) | (own >= full)).sum())

    def means(self) -> tuple[float, ...]:
        return tuple((np.asarray(self.total) / self.count).tolist())

    def deviations(self) -> tuple[float, ...]:
        means = np.asarray(self.total) / self.count
        return tuple(np.sqrt(np.maximum(self.squares / self.count - means**2, 0)).tolist())


@dataclass
class _Watcher:
    """A recipe whose steps are looked at."""

    recipe: Recipe
    steps: tuple[Step, ...]
    setting: Setting
    pipeline: Any = field(init=False)
    _sums: dict[tuple[str, str], _Sums] = field(default_factory=dict)
    _out: dict[str, _Sums] = field(default_factory=dict)
    _acted: dict[str, int] = field(default_factory=dict)
    _filled: dict[str, int] = field(default_factory=dict)
    _pixels: int = 0
    _now: list[tuple[tuple[str, str], NDArray[Any]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.pipeline = plainly(self.recipe, self.steps, self.setting)
        instrument(self.pipeline, self._step)
        self._outermost = {step.site for step in self.steps}
        self._borders = None if self.recipe.facts.scales else Borders(self.recipe, self.setting)

    def look(self, sample: Sample, epoch: int) -> None:
        """One sample. Raises DataError, and then nothing of it counts."""
        borders = {} if self._borders is None else self._borders.of(sample, epoch)
        self._now = [((name, AS_READ), image) for name, image in sample.images.items()]
        done = sample.run(self.pipeline, epoch)
        for (name, label), image in self._now:
            full = 255.0 if image.dtype == np.uint8 else 1.0
            levels = image if full == 255.0 else image * np.float32(255)
            self._sums.setdefault((name, label), _Sums()).add(levels, _fitting(borders.get(label), image), 255.0)
        acted = {site for site, _, _ in done["applied"]}
        for top in self.steps:
            for step in top.walk():
                if step.site in acted or any(child.site in acted for child in step.walk()):
                    self._acted[step.site] = self._acted.get(step.site, 0) + 1
        if self._borders is not None and self.steps:
            last = borders[self.steps[-1].site]
            self._pixels += last.size
            for step in self.steps:
                count = int((last == self._borders.number(step.site)).sum())
                self._filled[step.site] = self._filled.get(step.site, 0) + count
        for name in self.pipeline.outputs:
            self._out.setdefault(name, _Sums()).add(_channels_last(done[name], self.recipe, name))

    def _step(self, label: str, step: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        done = step(*args, **kwargs)
        if label in self._outermost:
            pictures = kwargs["scene"].arrays if "scene" in kwargs else {"image": done["image"]}
            self._now += [((name, label), np.array(with_channels(image))) for name, image in pictures.items()]
        return done

    def found(self, samples: int, left_out: int) -> Effects:
        """What there was."""
        return Effects(
            samples=samples,
            applied={step.site: self._acted.get(step.site, 0) / samples for top in self.steps for step in top.walk()},
            steps=tuple(self._effects()),
            means={name: sums.means() for name, sums in self._out.items()},
            deviations={name: sums.deviations() for name, sums in self._out.items()},
            left_out=left_out,
        )

    def _effects(self) -> Iterator[Effect]:
        for (name, label), sums in self._sums.items():
            filled = None if self._borders is None else self._filled.get(label, 0) / max(self._pixels, 1)
            clipped = sums.extremes / max(sums.inside, 1)
            yield Effect(name, label, filled, clipped, sums.means(), sums.deviations())


def _fitting(borders: NDArray[np.uint8] | None, image: NDArray[Any]) -> NDArray[np.uint8] | None:
    """The borders of a picture, where they have its size."""
    return borders if borders is not None and borders.shape == image.shape[:2] else None


def _channels_last(image: NDArray[Any], recipe: Recipe, name: str) -> NDArray[Any]:
    layout = recipe.outputs.get(name, recipe.output).layout
    return np.moveaxis(image, 0, -1) if layout == "chw" else image
