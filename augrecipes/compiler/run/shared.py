"""Steps that targets of a pair share: drawn once on the common grid, carried out on every target at its own scale."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from augrecipes.compat.albumentations import A, geometric
from augrecipes.compiler.kernels import resize_native, twins
from augrecipes.compiler.kernels.moves import Moved, symmetry_of
from augrecipes.compiler.kernels.step_draws import draw, is_plain_window, with_channels
from augrecipes.compiler.run.lower import transform
from augrecipes.compiler.run.resampled import Resize, resample
from augrecipes.compiler.run.scene import Scene
from augrecipes.compiler.run.sharing import How, how_to_share, refusal
from augrecipes.ops.capabilities import capability
from augrecipes.ops.registry import construct, effective
from augrecipes.recipe.model import Arguments, Step


class Shared(A.BaseCompose):  # type: ignore[misc]
    """One step of a pair.

    - A window is drawn in cells of the common grid; each target is cut at the same cells, a copy of nothing.
    - A flip or turn is drawn once.
    - A step that resamples is drawn in cells; its geometry is scaled to each target, pixel centres considered.
    - Any other step draws its parameters on the coarsest of its targets, and is applied to all with the same.
    - A step of one target runs on that target.

    Args:
        step: as it was written.
        targets: that it acts on.
        units: pixels along a common cell, by target.

    Raises:
        RecipeError: the step's numbers are no whole cells, or the step cannot be shared by targets of different size.
    """

    def __init__(self, step: Step, targets: tuple[str, ...], units: Mapping[str, int]) -> None:
        self.names, self.units = targets, units
        self.how: How = how_to_share(step) if len(targets) > 1 else "plain"
        self.cell = 1 if self.how == "plain" else max(units[name] for name in targets)
        at = step.at or min(targets, key=units.__getitem__)
        # One transform draws, in cells. Those that resample know their size, so each target has one of its own.
        cell = step if self.how == "plain" else _scaled(step, 1, units[at])
        self.step: Any = transform(cell)
        self.by_target: dict[str, Any] = {}
        if self.how == "resampled":
            self.by_target = {name: construct(_scaled(step, units[name], units[at])) for name in targets}
        self._resize: Resize = geometric.resize
        super().__init__([self.step], p=self.step.p)

    def quicken(self) -> None:
        """Let twins do what is resampled for each target; the step that draws is a pipeline's to attach them to."""
        twins.attach(self.by_target.values())
        self._resize = resize_native.functions().get("resize", geometric.resize)

    def __call__(self, *_: Any, force_apply: bool = False, **data: Any) -> dict[str, Any]:
        """The scene (`scene=`) after the step; it is changed in place."""
        scene: Scene = data["scene"]
        self.step.params = {}
        names = scene.present(self.names)
        if names and self.step.should_apply(force_apply=force_apply):
            if len(names) == 1 and len(self.names) == 1:
                done = self.step(force_apply=True, image=scene.pixels(names[0]))
                scene.arrays[names[0]] = with_channels(done["image"])
            else:
                self._share(scene, names)
            if not scene.defers and (len(self.names) > 1 or self.how != "plain"):
                scene.shape()  # raises where the targets no longer fit
        return data

    def _share(self, scene: Scene, names: list[str]) -> None:
        if self.how == "plain":
            params = draw(self.step, {"image": scene.pixels(names[0])})
        else:
            try:
                params = draw(self.step, {"image": scene.stand_in()})
            except Exception as error:  # albumentations' own, for a window that is larger than the scene
                sizes = ", ".join(f"{n} {scene.arrays[n].shape[0]}×{scene.arrays[n].shape[1]} px" for n in names)
                raise ValueError(f"{error}; counted in cells of the common grid, of {sizes}") from error
        if self.how == "window" and is_plain_window(params):
            x_min, y_min, x_max, y_max = (int(v) for v in params["crop_coords"])
            scene.region = scene.region and scene.region.cut(x_min, y_min, x_max, y_max)
            for name in names:
                array, k = scene.arrays[name], scene.units[name]
                if isinstance(array, Moved):
                    scene.arrays[name] = array.cut(x_min * k, y_min * k, x_max * k, y_max * k)
                else:
                    scene.arrays[name] = array[y_min * k : y_max * k, x_min * k : x_max * k]
            return
        if self.how == "dihedral":
            symmetry = symmetry_of(type(self.step).__name__, params)
            scene.region = scene.region and scene.region.turned(symmetry)
            if scene.defers:
                for name in names:
                    array = scene.arrays[name]
                    scene.arrays[name] = (array if isinstance(array, Moved) else Moved(array)).turned(symmetry)
                return
        elif self.how != "plain":
            scene.region = None
        for name in names:
            array, k = scene.pixels(name), scene.units[name]
            if self.how == "resampled":
                scene.arrays[name] = with_channels(resample(self.by_target[name], params, array, k, self._resize))
                continue
            own = {**params, "shape": array.shape}
            if self.how == "window":
                own |= _in_pixels(params, k)
            scene.arrays[name] = with_channels(self.step.apply_with_params(own, image=array)["image"])


class DeferredMoves(A.BaseCompose):  # type: ignore[misc]
    """Windows, flips and turns of all targets: drawn one after another, and deferred until a target's pixels are read.

    A turn after a window moves fewer pixels; one that nothing reads before the sink is carried out by the sink.

    Args:
        steps: in order.
    """

    def __init__(self, steps: list[Shared]) -> None:
        super().__init__(steps, p=1.0)

    def __call__(self, *_: Any, force_apply: bool = False, **data: Any) -> dict[str, Any]:
        """The scene (`scene=`), with the moves pending; each step has its own gate."""
        del force_apply
        scene: Scene = data["scene"]
        scene.defers = True
        for step in self.transforms:
            step(scene=scene)
        scene.defers = False
        return data


def _in_pixels(params: dict[str, Any], unit: int) -> dict[str, Any]:
    """A window drawn in cells, in pixels of one target."""
    pads = params.get("pad_params")
    return {
        "crop_coords": tuple(int(v) * unit for v in params["crop_coords"]),
        "pad_params": pads and {side: int(v) * unit for side, v in pads.items()},
    }


def _scaled(step: Step, to: int, at: int) -> Step:
    """The step with the arguments that count pixels multiplied by `to` / `at`."""
    record = capability(step.name)
    pixels = record.pixels if record is not None else ()
    merged = effective(step)
    args = step.args.plain()
    for name in pixels:
        value = args.get(name, merged.get(name))
        if value is not None:
            args[name] = _times(value, Fraction(to, at), step, name)
    return replace(step, args=Arguments(args))


def _times(value: Any, factor: Fraction, step: Step, name: str) -> Any:
    if isinstance(value, list | tuple):
        return [_times(item, factor, step, name) for item in value]
    if value is None or isinstance(value, bool) or not isinstance(value, int):
        return value
    scaled = value * factor
    if scaled.denominator != 1:
        raise refusal(step, f"{name}: {value} px are no whole number of cells of the targets' common grid")
    return int(scaled)
