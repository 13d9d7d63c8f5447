"""What a recipe's steps do to one's samples (how often they act, what they fill and clip), and each step left out.

Everything is measured on the recipe as written (level `none`), whose random parameters every plan shares.

To measure borders, a second copy of the recipe transforms a label mask with the same random parameters. Every step that
treats borders fills the mask with zero there, whatever it does to the image (`reflect_101`, `replicate`, a colour), so
a zero is a pixel that the step filled. The pixel is set to the step's number, which later crops and rotations carry
along. Masks are sampled by nearest neighbour, so a share is exact but for the pixels along an edge. Pixels written by
dropouts and noise are no border.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.bench.fidelity import Fidelity, Likeness, bicubic_likeness, fidelities
from augrecipes.bench.sides import Setting, Side, work_of
from augrecipes.bench.timing import Ratio, fitting, interleaved, ratio, spread_out
from augrecipes.compiler.compile import build, pipeline_of
from augrecipes.compiler.rewrite import ARRIVALS, Compiled, Plan
from augrecipes.compiler.run.clock import SINK, route_steps
from augrecipes.compiler.run.deep_images import fill_nodata, to_unit
from augrecipes.errors import AugrecipesError, DataError
from augrecipes.progress import Progress
from augrecipes.recipe.model import Recipe, Step
from augrecipes.sources.sample import Sample
from augrecipes.verify.variants import changed, fill_borders, without_step

AS_READ = "as read"
_SOURCE = 255  # label of the pixels of the source image
_MOST_STEPS = 250  # steps with a label of their own


@dataclass(frozen=True, slots=True)
class Effect:
    """Statistics of the images after an outermost step, or as read.

    Attributes:
        target: which image: `image`, or a target of a pair.
        step: its label, or `as read`.
        filled: share of the recipe's last image that this step filled as a border, 0..1; None: not measured (pairs).
        clipped: share of values at 0 or full scale after the step, 0..1, without borders.
        means: mean of each channel after the step, in levels of 0..255, with borders, as in training.
        deviations: standard deviation of each channel, in levels.
    """

    target: str
    step: str
    filled: float | None
    clipped: float
    means: tuple[float, ...]
    deviations: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Effects:
    """The effects of a recipe on samples.

    Attributes:
        samples: number of inspected samples; each tile of a bag is a sample.
        applied: share of the samples that a step acted on, 0..1, by label; those inside groups too.
        steps: the effect of each step, in order.
        means: mean of each channel of the output, in the output's units, by target.
        deviations: standard deviation of each channel, likewise.
        left_out: number of samples that cannot be read or that a step fails on.
        fidelity: of pairs, PSNR and SSIM of each target, enlarged by bicubic interpolation, against the finest.
    """

    samples: int
    applied: dict[str, float]
    steps: tuple[Effect, ...]
    means: dict[str, tuple[float, ...]]
    deviations: dict[str, tuple[float, ...]]
    left_out: int = 0
    fidelity: tuple[Fidelity, ...] = ()

    def last(self, target: str) -> Effect:
        """The effect of the last step, by target."""
        return [effect for effect in self.steps if effect.target == target][-1]

    @property
    def filled(self) -> float | None:
        """Share of the recipe's last image that is border; None: not measured."""
        shares = [effect.filled for effect in self.steps if effect.filled is not None]
        return sum(shares) / len({effect.target for effect in self.steps}) if shares else None


def effects(recipe: Recipe, setting: Setting, samples: int, progress: Progress | None = None) -> Effects:
    """Run samples through a recipe as written, and inspect the images after each step.

    Args:
        recipe: of any kind; of several views of a name the first is inspected.
        setting: data, section, seed.
        samples: number of samples, spread evenly over the data.
        progress: called with (samples done, samples).

    Raises:
        DataError: no sample could be inspected; gives the reason for the first.
    """
    if recipe.views and setting.mode == "train":
        views = {view.name: recipe.view(view.name) for view in recipe.views}
        return _merge_views({name: effects(view, setting, samples, progress) for name, view in views.items()})
    watcher = _Watcher(recipe, setting)
    reader = setting.reader(recipe, watcher.pipeline)
    errors: list[DataError] = []
    numbers = spread_out(len(reader), min(samples, len(reader)) if setting.mode == "eval" else samples)
    for k, number in enumerate(numbers):
        try:
            watcher.watch(reader.sample(number), k // max(len(reader), 1))
        except DataError as error:
            errors.append(error)
            watcher.likeness.append({})
        if progress:
            progress(k + 1, len(numbers))
    if errors and len(errors) == len(numbers):
        raise errors[0]
    return watcher.summary(len(numbers) - len(errors), len(errors))


def _merge_views(by_view: dict[str, Effects]) -> Effects:
    """Join the effects of all views, each as a target; shared steps act alike in all."""
    applied = {site: share for effects in by_view.values() for site, share in effects.applied.items()}
    steps = tuple(replace(effect, target=name) for name, effects in by_view.items() for effect in effects.steps)
    means = {name: effects.means["image"] for name, effects in by_view.items()}
    deviations = {name: effects.deviations["image"] for name, effects in by_view.items()}
    first = next(iter(by_view.values()))
    return Effects(first.samples, applied, steps, means, deviations, first.left_out)


class _Watcher:
    """Runs a recipe, observes its steps, and sums statistics over samples."""

    def __init__(self, recipe: Recipe, setting: Setting) -> None:
        self._recipe, self._steps = recipe, recipe.section(setting.mode) or ()
        self._all = [step for top in self._steps for step in top.walk()]
        self._number = {step.site: k + 1 for k, step in enumerate(self._steps[:_MOST_STEPS])}
        self.pipeline = _pipeline(recipe, self._steps, setting, self._see)
        self._borders = None
        if not recipe.facts.scales:
            probe = replace(recipe, inputs=replace(recipe.inputs, mask="optional"))
            self._borders = _pipeline(probe, changed(self._steps, fill_borders), setting, self._mark)
        self._sums: dict[tuple[str, str], NDArray[Any]] = {}  # by target and step
        self._out: dict[str, NDArray[Any]] = {}
        self._acted: Counter[str] = Counter()
        self._filled = np.zeros(256, np.int64)  # pixels of the last images, by the step that filled them
        self._now: list[tuple[tuple[str, str], NDArray[Any]]] = []
        self._masks: dict[str, NDArray[np.uint8]] = {}  # of the sample, by outermost step
        self._last, self.likeness = list[NDArray[Any]](), list[Likeness]()  # of this sample, and of all

    def watch(self, sample: Sample, epoch: int) -> None:
        """Add a sample to the sums. A sample that raises DataError counts in none of them."""
        self._masks, self._last, inputs = {}, [], self._recipe.inputs
        full_range = inputs.full_range if inputs.dtype else (0.0, 1.0)
        if self._borders is not None:
            height, width = sample.images["image"].shape[:2]
            sample.run(self._borders, epoch, mask=np.full((height, width), _SOURCE, np.uint8))
        self._now = [((name, AS_READ), fill_nodata(image, inputs)[0]) for name, image in sample.images.items()]
        result = sample.run(self.pipeline, epoch)
        for (name, label), image in self._now:
            levels = image if image.dtype == np.uint8 else to_unit(image, full_range) * np.float32(255)
            mask = self._masks.get(label)
            sums = _sums(levels, mask if mask is not None and mask.shape == image.shape[:2] else None)
            self._sums[name, label] = self._sums.get((name, label), 0) + sums
        acted = {site for site, _, _ in result["applied"]}
        self._acted.update(step.site for step in self._all if acted & {inner.site for inner in step.walk()})
        if self._masks:
            self._filled += np.bincount(self._masks[self._steps[-1].site].ravel(), minlength=256)
        for name in self.pipeline.outputs:
            layout = self._recipe.outputs.get(name, self._recipe.output).layout
            image = np.moveaxis(result[name], 0, -1) if layout == "chw" else result[name]
            self._out[name] = self._out.get(name, 0) + _sums(image)
        if self._recipe.facts.scales:
            last = dict(zip(self.pipeline.outputs, self._last, strict=True))
            self.likeness.append(bicubic_likeness(last, self._recipe.scales, full_range))

    def _see(self, label: str, output: Any) -> None:
        self._last += [output] * (label == SINK)
        names = [name for name in self._recipe.scales or ("image",) if label != SINK and name in output]
        self._now += [((name, label), np.array(np.atleast_3d(output[name]))) for name in names]

    def _mark(self, label: str, output: dict[str, Any]) -> None:
        """Label the pixels that a step has filled with its number, which later steps carry along."""
        mask = np.array(output["mask"])
        mask[mask == 0] = self._number.get(label, 0)
        output["mask"] = mask
        self._masks[label] = mask[..., 0] if mask.ndim == 3 else mask

    def summary(self, samples: int, left_out: int) -> Effects:
        """Return the effects over all samples."""
        out = {name: _moments(sums) for name, sums in self._out.items()}
        filled = self._filled / max(self._filled.sum(), 1)
        steps = tuple(
            Effect(name, label, None if self._borders is None else float(filled[self._number.get(label, 0)]),
                   float(sums[2] / max(sums[1], 1)), *_moments(sums))
            for (name, label), sums in self._sums.items()
        )  # fmt: skip
        applied = {step.site: self._acted[step.site] / samples for step in self._all}
        means, deviations = ({name: pair[k] for name, pair in out.items()} for k in (0, 1))
        return Effects(samples, applied, steps, means, deviations, left_out, fidelities(self.likeness))


def _sums(image: NDArray[Any], borders: NDArray[np.uint8] | None = None) -> NDArray[Any]:
    """The number of pixels, of values outside borders and of clipped ones; then sums and sums of squares by channel."""
    values = image.reshape(-1, image.shape[-1]).astype(np.float64)
    inside = values if borders is None else values[borders.reshape(-1) == _SOURCE]
    clipped = ((inside <= 0) | (inside >= 255)).sum()
    return np.array([len(values), inside.size, clipped, *values.sum(0), *(values**2).sum(0)])


def _moments(sums: NDArray[Any]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Means and standard deviations of channels."""
    means, squares = np.split(sums[3:] / sums[0], 2)
    return tuple(means.tolist()), tuple(np.sqrt(np.maximum(squares - means**2, 0)).tolist())


def _pipeline(recipe: Recipe, steps: tuple[Step, ...], setting: Setting, see: Callable[[str, Any], None]) -> Any:
    """A pipeline of these steps, unoptimised and without lints, that reports its random parameters.

    Args:
        recipe: the recipe that has these steps.
        steps: the steps to run.
        setting: section, seed.
        see: called with the label of each outermost step and its arrays by target; of pairs with `SINK` and each image.
    """
    plans, tops = dict.fromkeys(ARRIVALS, Plan(steps)), {step.site for step in steps}
    pipeline = pipeline_of(Compiled(recipe, setting.mode, "none", setting.seed, True, plans, 1, resumes=setting.stored))

    def call(label: str, step: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        output = step(*args, **kwargs)
        if label in tops or (label == SINK and recipe.facts.scales):
            see(label, kwargs["scene"].arrays if "scene" in kwargs else args[0] if label == SINK else output)
        return output

    route_steps(pipeline, call)
    return pipeline


@dataclass(frozen=True, slots=True)
class Ablated:
    """A recipe without one of its steps.

    Attributes:
        step: the label of the step left out.
        ratio: the time without the step over the time of the whole recipe; None: the rest cannot run.
        effects: the effects without the step; None: the rest cannot run.
        why: why the rest cannot run; empty if it can.
    """

    step: str
    ratio: Ratio | None
    effects: Effects | None
    why: str = ""


def without_each(recipe: Recipe, mode: Any) -> list[tuple[str, Recipe]]:
    """List (label of the step left out, the recipe without it), in order.

    >>> import augrecipes as ar
    >>> [(label, len(less.steps)) for label, less in without_each(ar.load("folder-128"), "train")]
    [('SmallestMaxSize#1', 2), ('RandomCrop#1', 2), ('HorizontalFlip#1', 2)]
    """
    return [(step.site, without_step(recipe, mode, step)) for step in recipe.listed(mode)]


def ablate(
    side: Side, setting: Setting, batch_size: int, *, seconds: float, samples: int, progress: Progress | None = None
) -> list[Ablated]:
    """Ablation: time a side without each step, interleaved with the whole, and inspect the effects of the rest.

    Args:
        side: a recipe at a setting of the optimiser.
        setting: the side's data, section and seed.
        batch_size: samples in a batch.
        seconds: approximate time for each variant.
        samples: number of samples that effects are measured on.
        progress: called with (rounds done, rounds).
    """
    # Without its last crop or resize a recipe may return images of several sizes, so collate into lists.
    works, ablated = [work_of(side, batch_size, "list")], []
    for label, less in without_each(side.source, setting.mode):
        # Without lints: a variant may be foolish, and the recipe itself has been checked.
        level: Any = side.optimize
        pipeline = build(less, setting.mode, level, setting.seed, threads=1, resumes=setting.stored)
        work = work_of(side.through(pipeline, less), batch_size, "list")
        try:
            next(work.start())
            ablated.append(Ablated(label, None, effects(less, setting, samples)))
            works.append(work)
        except AugrecipesError as error:
            ablated.append(Ablated(label, None, None, str(error)))
    size = fitting(works, seconds, -(-len(side.dataset) // batch_size))
    whole, *times = interleaved(works, *size, progress)[0]
    ratios = (ratio(seconds, whole) for seconds in times)
    return [each if each.effects is None else replace(each, ratio=next(ratios)) for each in ablated]
