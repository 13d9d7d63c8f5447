"""Recipes of kind pair: one scene on several grids, aligned by construction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from augrecipes.compiler.kernels.gathering import Views
from augrecipes.compiler.kernels.moves import Moved
from augrecipes.compiler.kernels.sink import Allocate, Sink
from augrecipes.compiler.kernels.undecoded import Undecoded, realised
from augrecipes.compiler.native_plan.carrying_out import Places
from augrecipes.compiler.native_plan.keyed_steps import NotNativeError
from augrecipes.compiler.native_plan.pictures import InMemory
from augrecipes.compiler.plan import Compiled
from augrecipes.compiler.plan.nodes import Fused, Group, Node
from augrecipes.compiler.run.beside import is_array
from augrecipes.compiler.run.degrade import Degrade
from augrecipes.compiler.run.grid import Region, unit
from augrecipes.compiler.run.lower import Sites, group, lower_step
from augrecipes.compiler.run.natively import kept_from_plans
from augrecipes.compiler.run.output_buffer import output_buffer
from augrecipes.compiler.run.pipeline import Pipeline
from augrecipes.compiler.run.scene import Scene
from augrecipes.compiler.run.scene_plans import ScenePlans, scene_plans
from augrecipes.compiler.run.shared import DeferredMoves, Shared
from augrecipes.compiler.run.targets import arrival_of, picture_in
from augrecipes.errors import DataError
from augrecipes.flow import Arrival
from augrecipes.ops import groups
from augrecipes.recipe.model import Inputs, Step

Take = Callable[[str, tuple[int, ...], np.dtype[Any]], np.ndarray]

# What lies on one picture cannot lie on a scene of several.
_FOREIGN = ("image", "images", "mask", "masks", "boxes", "bboxes", "keypoints")


class PairPipeline(Pipeline):
    """A compiled recipe of kind pair.

    Targets in: one array H×W or H×W×C a target of `scales:`, all uint8 (0..255) or all float32 (0..1), or pictures that
    are not decoded yet; those that a
    Degrade makes are not given. Up to scale − 1 pixels too many are cut off at the bottom and at the right.
    Targets out: every target of `scales:`, each as its output says; with `save_applied_params` also `window`: of each
    input target the (y0, x0, y1, x1) that the output shows, in pixels, before flips and turns; None where a step has
    padded or resampled. `out={target: array}` is written to, and its arrays come out; functions (shape, dtype) → array
    will do in their place.

    Draws: windows, flips and turns once, on the coarsest grid that all targets have in common, and scaled to each
    target. Shared colour steps draw once.
    """

    natively = "samples of pairs, and batches of packed ones"  # what may run so, in words

    def __init__(self, compiled: Compiled, arrival: Arrival = "uint8") -> None:
        recipe = compiled.recipe
        scales: dict[str, int] = dict(recipe.scales)
        sites: Sites = []
        labels: list[tuple[Any, str]] = []
        self.units = unit(scales)
        steps = compiled.plans[arrival].steps
        transforms = [_lower(step, tuple(scales), self.units, sites, labels) for step in steps]
        shared = [made for made, _ in labels if isinstance(made, Shared)]
        if compiled.optimize != "none":
            for one in shared:
                one.quicken()
        self._cells = {id(made.step): made.cell for made in shared}
        super().__init__(compiled, arrival, transforms, sites)
        self._sites = sites
        self._labels |= {id(made): site for made, site in labels}
        made = {step.args["target"] for step in steps if isinstance(step, Step) and step.name == groups.DEGRADE}
        self.outputs = tuple(name for name in scales if name not in compiled.later)
        self.targets = tuple(name for name in self.outputs if name not in made)
        self._inputs = {name: _inputs_of(name, recipe.inputs, self.units) for name in self.targets}
        self.sinks = {name: Sink(recipe.outputs.get(name, recipe.output)) for name in scales}

    def add_targets(self, additional_targets: dict[str, str] | None) -> None:
        """Refused: a target of a pair has a scale."""
        if additional_targets:
            raise TypeError("the targets of a pair are those of the recipe's `scales:`; add it there")
        super().add_targets(additional_targets)

    def _made(self, step: Any) -> Any:
        raise TypeError("the steps of a pair act on several targets at once; pipeline.recipe.steps describes them")

    def sample(self, epoch: int, index: int, tile: int, targets: dict[str, Any]) -> dict[str, Any]:
        """One sample at one key."""
        return self.coming(arrival_of(targets.get(self.targets[0])))._planned(epoch, index, tile, targets)

    def _planned(self, epoch: int, index: int, tile: int, targets: dict[str, Any]) -> dict[str, Any]:
        """One sample that comes as this pipeline's own plan takes it."""
        targets = dict(targets)
        out = self._outs(targets)
        scene, rest = self._scene(targets)
        allocate: Callable[[str], Allocate] = lambda name: out[name][1] if name in out else np.empty  # noqa: E731
        plans = self.plans
        made = None if plans is None else plans.sample(epoch, index, tile, scene, allocate)
        if made is None:
            self._steps(scene, epoch, index, tile)
            made = {name: self.sinks[name](scene.moved(name), allocate(name)) for name in self.outputs}
        for name in self.outputs:
            rest[name] = out[name][0] if name in out and not callable(out[name][0]) else made[name]
        if self.compiled.save_applied_params:
            rest["applied"] = self.applied()
            region = scene.region
            rest["window"] = {name: region and region.pixels(self.units[name]) for name in self.targets}
        return rest

    def many(
        self, epoch: int, indices: Sequence[int] | np.ndarray, pictures: Mapping[str, InMemory], take: Take
    ) -> dict[str, np.ndarray] | None:
        """Several samples side by side, each as `at` gives it; None where they come out with different sizes.

        Args:
            epoch: of the draws.
            indices: that key the draws.
            pictures: by target, as an earlier part of the recipe left them: not checked again.
            take: gives the memory for a target's results: (target, shape of one, dtype) → array (n, *shape).
        """
        mine = self.for_this_thread()
        if (plans := mine.plans) is None:
            return mine._many(epoch, [*map(int, indices)], pictures, range(len(indices)), take)
        out: dict[str, np.ndarray] = {}

        def places(name: str) -> Places:
            def rows(shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[np.ndarray, Sequence[int]]:
                out[name] = take(name, shape, dtype)
                return out[name], range(len(indices))

            return rows

        left = plans.many(epoch, indices, pictures, places)
        if left is None or not left:
            return None if left is None else out
        if len(left) == len(indices):
            return mine._many(epoch, [*map(int, indices)], pictures, left, take)
        own: Take = lambda _, shape, dtype: np.empty((len(left), *shape), dtype)  # noqa: E731
        one_by_one = mine._many(epoch, [int(indices[k]) for k in left], pictures, left, own)
        if one_by_one is None or any(found.shape[1:] != out[name].shape[1:] for name, found in one_by_one.items()):
            return None
        for name, found in one_by_one.items():
            out[name][left] = found
        return out

    def _many(
        self, epoch: int, indices: Sequence[int], pictures: Mapping[str, InMemory], places: Sequence[int], take: Take
    ) -> dict[str, np.ndarray] | None:
        """The same of the pictures at some places, cut one by one and finished together."""
        found: dict[str, list[np.ndarray]] = {name: [] for name in self.outputs}
        for index, k in zip(indices, places, strict=True):
            scene = self._whole_cells({name: lying.array(k) for name, lying in pictures.items()})
            self._steps(scene, epoch, index, 0)
            for name, made in found.items():
                made.append(_as_view(scene.moved(name)))
        first = {name: arrays[0] for name, arrays in found.items()}
        if any(a.shape != first[n].shape or a.dtype != np.uint8 for n, arrays in found.items() for a in arrays):
            return None
        return {
            name: self.sinks[name].many(
                Views(arrays), first[name].shape, lambda shape, dtype, name=name: take(name, shape[1:], dtype)
            )
            for name, arrays in found.items()
        }

    @property
    def plans(self) -> ScenePlans | None:
        """What carries out samples now; None: steps run one by one, for instance because they are looked at."""
        return self.native if isinstance(self.native, ScenePlans) else None

    @property
    def at_once(self) -> ScenePlans | str:
        """What carries out its samples, however they come, without Python; or why nothing does."""
        return self.coming("encoded" if self.reads else "uint8").native

    @cached_property
    def native(self) -> ScenePlans | str:
        """What carries out samples without Python between their steps, or why nothing does."""
        if (why := kept_from_plans(self)) is not None or self.compiled.save_applied_params:
            return why or "what its steps draw is asked for"
        sinks = {name: self.sinks[name] for name in self.outputs}
        seed, position, most = self.compiled.seed, self.draws.position, self.recipe.max_bytes
        try:
            plans = scene_plans(self.transforms, self._sites, sinks, self.units, seed, position, most)
        except NotNativeError as reason:
            return str(reason)
        return replace(plans, by_target={name: self.taken(plan) for name, plan in plans.by_target.items()})

    def _outs(self, targets: dict[str, Any]) -> dict[str, tuple[Any, Allocate]]:
        """What the results are to be written into, by target; taken out of the targets."""
        out = targets.pop("out", None)
        if out is None:
            return {}
        if not isinstance(out, Mapping) or not set(out) <= set(self.outputs):
            raise DataError(f"out must be a dict of arrays by target ({', '.join(self.outputs)}), got {_named(out)}")
        given = [targets.get(name) for name in self.targets]
        return {name: (array, output_buffer(array, name, given, f"out[{name!r}]")) for name, array in out.items()}

    def trace(self, epoch: int, index: int, tile: int, targets: dict[str, Any]) -> list[tuple[str, Any]]:
        """The pictures after each outermost step, and each of those inside a Degrade, by target."""
        scene, _ = self._scene(targets)
        found: list[tuple[str, Any]] = []
        scene.stages = found
        self._steps(scene, epoch, index, tile)
        return found

    def _scene(self, targets: dict[str, Any]) -> tuple[Scene, dict[str, Any]]:
        """The scene of the targets that were given, and whatever else was given."""
        rest = dict(targets)
        self._check_names(rest)
        arrays: dict[str, np.ndarray | Undecoded] = {}
        for name in self.targets:
            arrays[name] = picture_in(rest.pop(name), self._inputs[name], name, lazily=self.takes_files)
        if not self.compiled.resumes:  # what steps have left may differ
            _check_alike(arrays)
        return self._whole_cells(arrays), rest

    def _whole_cells(self, arrays: Mapping[str, np.ndarray | Undecoded]) -> Scene:
        """The scene of these targets, without what they have beyond their last whole cells."""
        scene = Scene(dict(arrays), self.units, None)
        rows, columns = scene.shape()
        scene.region = Region(0, 0, rows, columns)
        for name, array in arrays.items():
            scene.arrays[name] = array[: rows * self.units[name], : columns * self.units[name]]
        return scene

    def _check_names(self, given: Mapping[str, Any]) -> None:
        wrong, others = "", given.keys() - set(self.outputs)
        for name in self.outputs:
            if name in self.targets and given.get(name) is None:
                wrong = wrong or f"{name} is missing"
            if name not in self.targets and name in given:
                wrong = wrong or f"{name} is made by Degrade and cannot be given"
        for name in sorted(others):
            if given[name] is not None and (name in _FOREIGN or is_array(given[name])):
                wrong = wrong or f"a pair has no {name!r}"
        if wrong:
            raise DataError(f"{wrong}; the recipe's targets are {', '.join(f'{name}=' for name in self.targets)}")

    def _steps(self, scene: Scene, epoch: int, index: int, tile: int) -> None:
        """Run the steps on the scene, every step at its key."""
        self.position(epoch, index, tile)
        try:
            for step in self.transforms:
                step(scene=scene)
                if not isinstance(step, Degrade):  # it has shown its own steps
                    scene.show(self.label_of(step))
            scene.shape()
        except Exception as error:
            blamed = self.blame(error)
            if blamed is error:
                raise
            raise blamed from error
        for name, array in scene.arrays.items():
            if array.dtype not in (np.uint8, np.float32):
                raise DataError(f"the steps left {name} as {array.dtype}; images are uint8 or float32")


def _check_alike(arrays: Mapping[str, np.ndarray | Undecoded]) -> None:
    """DataError unless all targets have the same channels and dtype."""
    (first, one), *others = arrays.items()
    for name, array in others:
        for what, mine, its in (("channels", array.shape[2], one.shape[2]), ("dtype", array.dtype, one.dtype)):
            if mine != its:
                raise DataError(f"{first} and {name} must have the same {what}, got {its} and {mine}")


def _as_view(image: np.ndarray | Moved) -> np.ndarray:
    """The pixels of an image whose moves may be pending: nothing is copied unless it has to be decoded."""
    return image.symmetry.view(realised(image.base)) if isinstance(image, Moved) else image


def _named(out: Any) -> str:
    return f"the keys {', '.join(map(repr, out))}" if isinstance(out, Mapping) else type(out).__name__


def _inputs_of(name: str, inputs: Inputs, units: Mapping[str, int]) -> Inputs:
    """The inputs of one target: `min_size` counts pixels of the coarsest."""
    if inputs.min_size is None:
        return inputs
    coarsest = min(units.values())
    height, width = (-(-n * units[name] // coarsest) for n in inputs.min_size)
    return replace(inputs, min_size=(height, width))


def _lower(
    node: Node,
    targets: tuple[str, ...],
    units: Mapping[str, int],
    sites: Sites,
    labels: list[tuple[Any, str]],
) -> Any:
    """The object of one step; `targets` are those of the group around it."""
    made: Any
    if isinstance(node, Fused):
        return DeferredMoves([_lower(child, targets, units, sites, labels) for child in node.steps])
    step = node.written if isinstance(node, Group) else node
    if step.name == groups.DEGRADE:
        children = [lower_step(child, sites) for child in step.steps]
        made = Degrade(step.args["source"], step.args["target"], children, [child.site for child in step.steps])
        labels.append((made, step.site))
        return made
    targets = step.target or targets
    if step.is_group:
        made = group(step, [_lower(child, targets, units, sites, labels) for child in node.steps])
        sites.append((made, step.site, False))
        return made
    made = Shared(step, targets, units)
    sites.append((made.step, step.site, False))
    labels.append((made, step.site))
    return made


PIPELINE = PairPipeline
