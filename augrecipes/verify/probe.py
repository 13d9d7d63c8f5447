"""Pictures of our own sent through a plan: steps that move pixels run as the plan has them, all others are left out.

A step that no rule merges, and that is no matrix (a distortion, a shuffle, a warp by the nearest pixel), folds and
tears what is sent through, and whatever comes after it would be measured on the tears. There pictures begin afresh:
what has come so far is kept, the step is seen alone, and new pictures go on from it. Each such leg is compared by
itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from augrecipes.compiler.plan.nodes import Node, is_open, is_single, opened, singles
from augrecipes.compiler.run.instrument import SINK, instrument
from augrecipes.flow import Dtype
from augrecipes.ops.capabilities import capability
from augrecipes.ops.registry import effective
from augrecipes.recipe.model import Step
from augrecipes.sources.sample import Sample
from augrecipes.verify.ramps import places_mask
from augrecipes.verify.variants import moves_pixels

# (number of the leg, target, shape H×W×C) → the picture that it begins with.
Picture: TypeAlias = Callable[[int, str, tuple[int, int, int]], NDArray[Any]]


@dataclass(slots=True)
class Leg:
    """A stretch of a plan, from one place where pictures are made to the next, or to the end.

    Attributes:
        before: label of the step that it ends before, or that it is; "" at the end of the plan.
        alone: it is that step, and nothing else.
        shapes: by target H×W×C where it begins.
        images: by target what came out, float32 or uint8 H×W×C.
        mask: what came out of a `places_mask`, or None.
        passed: the image after each step that resampled it, in order: those of a plan of the steps as written.
    """

    before: str
    alone: bool
    shapes: dict[str, tuple[int, int, int]]
    images: dict[str, NDArray[Any]] = field(default_factory=dict)
    mask: NDArray[Any] | None = None
    passed: list[NDArray[Any]] = field(default_factory=list)


class Probe:
    """One pipeline, of which only what moves pixels runs.

    Args:
        pipeline: compiled; it stays as it is.
        dtype: whose plan is looked at, whatever the pictures are.
        afresh: labels of the steps at which pictures begin afresh, see `tears`.
    """

    def __init__(self, pipeline: Any, dtype: Dtype, afresh: frozenset[str] = frozenset()) -> None:
        plans = pipeline.compiled.plans
        compiled = replace(pipeline.compiled, plans={**plans, "uint8": plans[dtype], "float32": plans[dtype]})
        steps = {step.site: step for top in plans[dtype].steps for step in opened(top)}
        self._left_out = frozenset(site for site, step in steps.items() if not is_open(step) and not _moves(step))
        self._resamples = frozenset(site for site, step in steps.items() if _resamples(step))
        self._afresh = afresh
        self.pipeline = pipeline.again(compiled)
        self.pipeline.dress(lambda copy: instrument(copy, self._call))

    def run(self, given: Sample, epoch: int, picture: Picture, through: Any = None, **more: Any) -> list[Leg]:
        """Send pictures through; `more` targets instead of the sample's own.

        A mask, where the sample has one, says where its pixels lie.
        """
        self._picture = picture
        shapes = {name: (*image.shape[:2], image.shape[2]) for name, image in given.images.items()}
        self._legs: list[Leg] = [Leg("", False, shapes)]
        pictures = {name: picture(0, name, shape) for name, shape in shapes.items()}
        if "mask" in given.rest:
            pictures["mask"] = places_mask(*given.rest["mask"].shape[:2])
        self.done = given.run(through or self.pipeline, epoch, **pictures, **more)
        last = self._legs[-1]
        last.images = {name: image for name, image in self.done.items() if name in self.pipeline.outputs}
        last.mask = self.done.get("mask")
        return self._legs

    def _call(self, label: str, step: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if label == SINK:
            return np.array(args[0] if isinstance(args[0], np.ndarray) else args[0].array())
        if label in self._left_out:
            return {name: value for name, value in kwargs.items() if name != "force_apply"}
        if label in self._afresh:
            return self._begin(label, step, args, kwargs)
        done = step(*args, **kwargs)
        if label in self._resamples and "image" in kwargs and done["image"] is not kwargs["image"]:
            self._legs[-1].passed.append(np.array(done["image"]))
        return done

    def _begin(self, label: str, step: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The step alone, on new pictures, and new ones behind it."""
        leg = len(self._legs)
        fresh = self._fresh(leg, kwargs)
        done = step(*args, **{**kwargs, **fresh})
        if done["image"] is fresh["image"]:  # it did not act
            return {**done, **{name: kwargs[name] for name in fresh}}
        self._end(label, kwargs)
        self._legs.append(Leg(label, True, {"image": fresh["image"].shape}))
        self._end(label, done)
        behind = self._fresh(leg + 1, done)
        self._legs.append(Leg("", False, {"image": behind["image"].shape}))
        return {**done, **behind}

    def _fresh(self, leg: int, data: dict[str, Any]) -> dict[str, Any]:
        height, width, *channels = data["image"].shape
        made = {"image": self._picture(leg, "image", (height, width, *(channels or [1])))}
        if data.get("mask") is not None:
            made["mask"] = places_mask(*data["mask"].shape[:2])
        return made

    def _end(self, label: str, data: dict[str, Any]) -> None:
        leg = self._legs[-1]
        image = np.array(data["image"])  # kernels use their memory again
        leg.before, leg.images = label, {"image": image if image.ndim == 3 else image[..., None]}
        leg.mask = None if data.get("mask") is None else np.array(data["mask"])


def tears(plain: Any, fast: Any, dtype: Dtype) -> frozenset[str]:
    """Labels of the steps, run as they are by both pipelines, that are no linear resampling by one matrix."""
    both = [
        {step.site: step for top in pipeline.compiled.plans[dtype].steps for step in opened(top)}
        for pipeline in (plain, fast)
    ]
    return frozenset(
        site
        for site, step in both[0].items()
        if site in both[1] and is_single(step) and moves_pixels(step) and not _is_smooth(step)
    )


def _is_smooth(step: Step) -> bool:
    """Whether ramps come out of a step as ramps, but for borders and edges."""
    record = capability(step.name)
    action = "opaque" if record is None else record.action_for(effective(step))
    return action in ("identity", "window", "dihedral") or (
        action == "warp" and effective(step).get("interpolation", "linear") == "linear"
    )


def _moves(node: Node) -> bool:
    """Whether a step, or one of those that a rule has fused in it, moves pixels."""
    return any(map(moves_pixels, singles(node)))


def _resamples(step: Node) -> bool:
    if not is_single(step):
        return False
    record = capability(step.name)
    return record is None or record.resamples
