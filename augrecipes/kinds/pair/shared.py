"""Steps that targets of a pair share: drawn once on the common grid and applied to every target at its own scale.

And Degrade, which makes a target from another on the fly, such as LR from HR.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal, NamedTuple

import cv2
import numpy as np

from augrecipes.compat.albumentations import A, Sample, geometric, sampler_of
from augrecipes.compiler.executor.program import Program
from augrecipes.compiler.kernels.encoded_images import EncodedWindow
from augrecipes.compiler.kernels.step_draws import is_plain_window
from augrecipes.compiler.lowering.lower import parts_of, transform
from augrecipes.compiler.run.deep_images import from_unit, to_unit
from augrecipes.compiler.run.program_run import ProgramRun, PythonFallback
from augrecipes.errors import DataError, RecipeError
from augrecipes.kinds.pair.grid import Factors, Scene, scale_factors
from augrecipes.ops import groups, records, registry, resize_to_target
from augrecipes.ops.matrices import Size, in_pixels, matrix_of
from augrecipes.recipe.model import Arguments, Recipe, Step

How = Literal["window", "dihedral", "resampled", "plain"]


class PairStep(A.BaseCompose):  # type: ignore[misc]
    """One step of a pair.

    - A window is drawn in cells of the common grid; each target is cropped to the same cells, as a view.
    - A flip or turn is drawn once.
    - A step that resamples is drawn in cells; its geometry is scaled to each target, pixel centres considered.
    - Any other step draws its parameters on the coarsest of its targets, and is applied to all with the same.
    - A step of one target runs on that target.

    Args:
        step: the step of the recipe.
        targets: the targets that it acts on.
        factors: scale factors, by target.

    Raises:
        RecipeError: the step's sizes are no whole cells, or targets of different size cannot share the step.
    """

    def __init__(self, step: Step, targets: tuple[str, ...], factors: Factors) -> None:
        self.names, self.factors = targets, factors
        self.how: How = how_to_share(step) if len(targets) > 1 else "plain"
        source = factors[step.at or min(targets, key=factors.__getitem__)]
        # One transform draws, in cells. Transforms that resample know their output size, so each target has its own.
        self.step: Any = transform(step if self.how == "plain" else scaled_to(step, 1, source))
        self.by_target: Mapping[str, Any] = {}
        if self.how == "resampled":
            self.by_target = {name: registry.construct(scaled_to(step, factors[name], source)) for name in targets}
        super().__init__([self.step], p=self.step.p)

    @property
    def largest_factor(self) -> int:
        """Pixels of the finest target along the unit in which the step's sizes are given."""
        return 1 if self.how == "plain" else max(self.factors[name] for name in self.names)

    def __call__(self, *_: Any, force_apply: bool = False, **data: Any) -> dict[str, Any]:
        """Apply the step to the scene (`scene=`), in place."""
        scene: Scene = data["scene"]
        self.step.params = {}
        names = scene.present(self.names)
        if names and self.step.should_apply(force_apply=force_apply):
            self.act(scene, names)
        return data

    def act(self, scene: Scene, names: Sequence[str]) -> None:
        """Apply the step to these targets of a scene, the coarsest first, in place."""
        arrays = scene.arrays
        if len(self.names) == 1:
            arrays[names[0]] = np.atleast_3d(self.step(force_apply=True, image=arrays[names[0]])["image"])
            return
        own_range: Any = getattr(self.step, "own_range", None)  # of deep images, scaled to floats in 0..1 for the step
        images = {name: arrays[name] for name in names} if own_range else {}
        units = {name: to_unit(image, own_range) for name, image in images.items()}
        arrays |= units
        params = self._draw(scene, names)
        for name in names:
            arrays[name] = self._changed(arrays[name], params, self.factors[name], self.by_target.get(name, self.step))
        arrays |= {name: from_unit(arrays[name], units[name], image, own_range) for name, image in images.items()}
        scene.size()  # raises where the targets no longer fit

    def _draw(self, scene: Scene, names: Sequence[str]) -> dict[str, Any]:
        """Draw the parameters for these targets, and update the scene's matrix."""
        sample = sampler_of(self.step)
        if self.how == "plain":
            self.step.params = sample({"image": scene.arrays[names[0]]})
            return self.step.params
        try:
            self.step.params = params = sample({"image": scene.stand_in()})
        except Exception as error:  # albumentations' own, for a window that is larger than the scene
            sizes = ", ".join(f"{n} {scene.arrays[n].shape[0]}×{scene.arrays[n].shape[1]} px" for n in names)
            raise ValueError(f"{error}; counted in cells of the common grid, of {sizes}") from error
        if scene.matrix is not None:
            keeps_pixels = self.how == "dihedral" or (self.how == "window" and is_plain_window(params))
            size = params["shape"][:2]
            move = matrix_of(type(self.step).__name__, params, size, size) if keeps_pixels else None
            scene.matrix = None if move is None else move @ scene.matrix
        return params

    def _changed(self, image: Any, params: dict[str, Any], factor: int, step: Any) -> np.ndarray:
        """Apply the step to the image of a target.

        Args:
            image: the image; an EncodedWindow where the step is the first.
            params: the parameters that were drawn.
            factor: scale factor of the target.
            step: the transform whose output size, if it has one, is in the target's pixels.
        """
        if self.how == "window" and is_plain_window(params):
            x_min, y_min, x_max, y_max = (int(v) * factor for v in params["crop_coords"])
            return image[y_min:y_max, x_min:x_max]
        image = image.array() if isinstance(image, EncodedWindow) else image
        if self.how == "resampled" and "matrix" not in params and "scale" in params:
            return np.atleast_3d(_rescale(step, params, image, factor))
        own = params if self.how == "plain" else _scaled_params(params, factor)
        return np.atleast_3d(step.apply_with_params({**own, "shape": image.shape}, image=image)["image"])


def _rescale(step: Any, params: dict[str, Any], image: np.ndarray, factor: int) -> np.ndarray:
    """Resize an image by the scale that was drawn, rounded to whole cells of the common grid."""
    rows, columns = params["shape"][:2]
    scale = params["scale"]
    size = (max(1, round(rows * scale)) * factor, max(1, round(columns * scale)) * factor)
    area = step.area_for_downscale in ("image", "image_mask") and scale < 1.0
    return np.asarray(geometric.resize(image, size, cv2.INTER_AREA if area else step.interpolation))


_ONE_SIDE = ("x_min", "x_max", "y_min", "y_max")  # of a crop; -1 where the step drew no crop


def _scaled_params(params: dict[str, Any], factor: int) -> dict[str, Any]:
    """Convert parameters drawn in cells to pixels of one target."""
    own = dict(params)
    if "crop_coords" in own:
        own["crop_coords"] = tuple(int(v) * factor for v in own["crop_coords"])
    if own.get("pad_params"):
        own["pad_params"] = {side: int(v) * factor for side, v in own["pad_params"].items()}
    if "matrix" in own:
        own["matrix"] = in_pixels(own["matrix"], factor)
    if "output_shape" in own:
        own["output_shape"] = tuple(int(n) * factor for n in own["output_shape"][:2])
    return own | {name: int(own[name]) * factor for name in _ONE_SIDE if own.get(name, -1) >= 0}


def scaled_to(step: Step, target_factor: int, source_factor: int) -> Step:
    """The step with its arguments in pixels multiplied by `target_factor` / `source_factor`."""
    merged, args = registry.effective(step), step.args.plain()
    for name in records.op_record(step.name).pixels:
        value = args.get(name, merged.get(name))
        if value is not None:
            args[name] = _times(value, Fraction(target_factor, source_factor), step, name)
    return replace(step, args=Arguments(args))


def _times(value: Any, factor: Fraction, step: Step, name: str) -> Any:
    if isinstance(value, list | tuple):
        return [_times(item, factor, step, name) for item in value]
    if isinstance(value, bool) or not isinstance(value, int):
        return value
    scaled = value * factor
    if scaled.denominator != 1:
        raise _refusal(step, f"{name}: {value} px are not a whole number of cells of the targets' common grid")
    return int(scaled)


def how_to_share(step: Step) -> How:
    """How a step acts on several targets.

    Raises:
        RecipeError: it resamples in a way that cannot be scaled to another grid.
    """
    record = records.op_record(step.name)
    action = registry.record_of(step).action if record.is_known else None
    if action in ("window", "dihedral"):
        return action
    if not record.is_known or not record.resamples_targets:
        return "plain"
    if step.name not in records.rescalable():
        names = ", ".join(records.rescalable())
        raise _refusal(step, f"cannot be shared by targets of different scale; of steps that resample, {names} can")
    return "resampled"


def _refusal(step: Step, message: str) -> RecipeError:
    """An error that names the step and its line."""
    return RecipeError(f"{step.site} (line {step.position.line}): {message}")


def sharing(recipe: Recipe, steps: tuple[Step, ...]) -> Iterator[tuple[str, str]]:
    """The label of each step, and which targets share its draws, in words."""
    scales: dict[str, int] = dict(recipe.scales)
    real = recipe.inputs.real if steps is recipe.steps else {}
    for step in steps:
        for site, text in _sharing_of(step, tuple(scales), scale_factors(scales)):
            share = real.get(str(step.args.get("target")), 0)
            yield site, f"{text}; {share:g} of the samples read it where there is a file" if share else text


def _sharing_of(step: Step, targets: tuple[str, ...], factors: Factors) -> Iterator[tuple[str, str]]:
    targets = step.target or targets
    names = ", ".join(targets)
    if step.name == groups.DEGRADE:
        yield step.site, f"makes {step.args['target']} from {step.args['source']}"
    elif step.is_group:
        yield step.site, f"one choice for {names}"
        for child in step.steps:
            yield from _sharing_of(child, targets, factors)
    elif len(targets) == 1:
        yield step.site, f"{names} alone"
    else:
        cell = " : ".join(str(factors[name]) for name in targets)
        text = {
            "window": f"one window for {names}, whole cells of {cell} px",
            "dihedral": f"one draw for {names}",
            "resampled": f"one geometry for {names}, scaled {cell}",
            "plain": f"one draw for {names}, the same parameters",
        }[how_to_share(step)]
        coarsest = f"{min(targets, key=factors.__getitem__)}, the coarsest, because it has no `at`"
        unit = f"; its sizes are in pixels of {step.at or coarsest}" if records.op_record(step.name).pixels else ""
        yield step.site, text + unit


Key = tuple[int, int, int]  # epoch, index and tile


class Degrade(A.BaseCompose):  # type: ignore[misc]
    """Runs steps on a copy of `source`, and puts the result into the scene as `target`.

    The steps may change the size in between; the last size must be the target's, which ResizeToTarget ensures.

    Args:
        step: the step of the recipe.
        transforms: the transforms of the steps inside it.
    """

    def __init__(self, step: Step, transforms: list[Any]) -> None:
        super().__init__([], p=1.0)  # without the transforms: BaseCompose would seed them
        self.source, self.target = step.args["source"], step.args["target"]
        self.transforms, self.labels = transforms, [child.site for child in step.steps]
        self._resizes = [part for part in parts_of(self) if isinstance(part, resize_to_target.ResizeToTarget)]

    def __call__(self, *_: Any, force_apply: bool = False, **data: Any) -> dict[str, Any]:
        """Add the target to the scene (`scene=`), in place."""
        self.act(data["scene"])
        return data

    def act(self, scene: Scene) -> None:
        """Make the target of a scene."""
        rows, columns = scene.size()
        size = (rows * scene.factors[self.target], columns * scene.factors[self.target])
        self.set_target_size(size)
        inner: dict[str, Any] = {"image": scene.arrays[self.source]}
        for step, label in zip(self.transforms, self.labels, strict=True):
            inner = step(**inner)
            scene.add_stage(label, **{self.target: np.atleast_3d(inner["image"])})
        image = np.atleast_3d(inner["image"])
        if image.shape[:2] != size:
            raise DataError(
                f"Degrade leaves {image.shape[0]}×{image.shape[1]} px, {self.target} is {size[0]}×{size[1]} px here: "
                "end its steps in ResizeToTarget"
            )
        scene.arrays[self.target] = image

    def set_target_size(self, size: Size) -> None:
        """Set the (height, width) in px that ResizeToTarget steps resize to."""
        for step in self._resizes:
            step.size = size


class DegradeProgram(NamedTuple):
    """A Degrade whose steps run as a native program.

    Attributes:
        degrade: the Degrade of the pipeline.
        program: the program of its steps, from uint8 H×W×C to uint8 H×W×C.
        resizes: places in the program of steps that resize to the target.
        call: calls a step at an exit, as in `PairPrograms`.
    """

    degrade: Degrade
    program: Program
    resizes: tuple[int, ...]
    call: Callable[..., Any]

    def run(self, key: Key, image: np.ndarray, size: Size) -> np.ndarray:
        """Make the target's image, of this (height, width) in px, from the source's image."""
        self.degrade.set_target_size(size)
        for place in self.resizes:
            self.program.resize_to(place, size)
        target, _ = ProgramRun(self.program, key, image).finish(np.empty, self.run_step)
        if target.shape[:2] != size:
            raise PythonFallback
        return target

    def run_step(self, place: int, data: Sample) -> Sample:
        """Run the step at an exit."""
        step, forced = self.program.opaque[place]
        return self.call(step, step, **({"force_apply": True} if forced else {}), **data)
