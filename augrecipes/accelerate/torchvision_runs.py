"""Transforms of torchvision in runs: those that become one compiled recipe, and those that are called as they were."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, repeat
from operator import itemgetter
from typing import Any

import cv2
import numpy as np
import torch
from PIL import Image

from augrecipes.accelerate.report import StepReport
from augrecipes.compiler.compile import build
from augrecipes.interop.draft import FOREIGN, Call, RecipeDraft, takes_of
from augrecipes.interop.torchvision import convert, read_transform
from augrecipes.ops.groups import COMPOSE
from augrecipes.recipe.model import Optimize

_NAMES = FOREIGN["torchvision"]["transforms"]


def _names(call: Call) -> set[str]:
    return {each.name for each in call.walk()}


def is_random(call: Call) -> bool:
    """Whether a transform, or one inside it, draws anything."""
    begins = tuple(_NAMES["drawn"])
    return any(each.name.lower().startswith(begins) and each.args.get("p") not in (0, 1) for each in call.walk())


def _why_not(call: Call, behind: Sequence[Call], *, evaluates: bool) -> str:
    """Why a transform runs as it was: pixels, or what is drawn, would be otherwise. Empty: they would not."""
    if evaluates and not _names(call).isdisjoint(_NAMES["near"]):
        return "an evaluation keeps the pixels of torchvision"
    how = " ".join(str(each.args.get("interpolation")).lower() for each in call.walk())
    if any(mode in how for mode in _NAMES["smooth"]):
        return "its interpolation differs here"
    is_whole = all(each.name not in _NAMES["crops"] for each in behind)
    if is_whole and call.name in _NAMES["shorter"] and np.size(call.args["size"]) == 1:
        return "the longer side is rounded here, cut off there"
    differs = not _names(call).isdisjoint(_NAMES["otherwise"]) or draft_of([call]).notes
    return "differs here: see docs/MIGRATING.md" if differs else ""


def draft_of(calls: Sequence[Call], *, by_pillow: bool = True) -> RecipeDraft:
    """What the transforms do, to images of Pillow or to tensors."""
    draft = RecipeDraft("accelerated", "a pipeline of torchvision")
    convert(draft, Call(COMPOSE, children=tuple(calls)))
    if not by_pillow:
        draft.keys["output"]["layout"] = "chw"
    elif [call.name for call in calls[:1]] not in (["PILToTensor"], ["ToImage"]):
        # Pillow always smooths; its nearest pixel is another.
        for line in draft.lines():
            if "area_for_downscale" in takes_of(line.name):
                exact = line.args.get("interpolation") == "nearest"
                line.args |= {"interpolation": "nearest_exact"} if exact else {"area_for_downscale": "image"}
    return draft


@dataclass(slots=True)
class TransformRun:
    """Some transforms in a row.

    Attributes:
        transforms: as they were.
        calls: the same as the importer reads them; empty: they run as they were.
        why: why they do, always or in the last call; empty: they ran natively.
        optimize: how the others are compiled.
        number: of the run; different ones draw different numbers.
    """

    transforms: Sequence[Any]
    calls: Sequence[Call]
    why: str
    optimize: Optimize
    number: int
    _pipelines: dict[bool, Any] = field(default_factory=dict)
    # By kinds of images; None: one did not run natively, and none before it had.
    _forms: dict[Any, Callable[[np.ndarray], Any] | None] = field(default_factory=dict)

    def as_it_was(self, *inputs: Any) -> tuple[Any, ...]:
        """A sample, by the transforms themselves."""
        for transform in self.transforms:
            made = transform(*inputs)
            inputs = made if len(inputs) > 1 else (made,)
        return inputs

    def image(self, image: Any, key: tuple[int, int]) -> Any:
        """An image with the draws of a key: natively where it is one that recipes take."""
        if self._forms.get(kind := signature_of(image), self._form) is None:
            return self.as_it_was(image)[0]
        try:
            pixels = self.pipeline(by_pillow=isinstance(kind, str)).run(*key, 0, {"image": _pixels(image)})["image"]
            form = self._forms[kind] = self._forms.get(kind) or self._form(image, pixels)
        except Exception as error:  # never refuse what works without us; the transforms say themselves what is wrong
            self.why = f"the last image ran as it was: {error}"
            self._forms.setdefault(kind, None)
            return self.as_it_was(image)[0]
        self.why = ""
        return form(pixels)

    def _form(self, image: Any, pixels: np.ndarray) -> Callable[[np.ndarray], Any]:
        """What makes of pixels what the transforms give of such an image; ValueError: pixels do not do for that."""
        with torch.random.fork_rng(devices=()):
            (theirs,) = self.as_it_was(image)
        is_tensor = isinstance(theirs, torch.Tensor)
        wanted = (str(theirs.dtype)[6:], len(theirs)) if is_tensor else ("uint8", len(theirs.getbands()))
        if (str(pixels.dtype), pixels.shape[0 if is_tensor else 2]) != wanted:
            raise ValueError(f"{type(theirs).__name__} of another type comes out")
        if is_tensor:
            return lambda pixels: torch.from_numpy(pixels).as_subclass(type(theirs))
        return lambda pixels: Image.fromarray(pixels if pixels.shape[2] > 1 else pixels[..., 0])

    def pipeline(self, *, by_pillow: bool = True) -> Any:
        """What runs it natively, for images of Pillow or tensors."""
        if by_pillow not in self._pipelines:
            recipe = replace(draft_of(self.calls, by_pillow=by_pillow).whole_recipe(), max_bytes=None)
            self._pipelines[by_pillow] = build(recipe, "train", self.optimize, self.number)
        return self._pipelines[by_pillow]

    def steps(self) -> Iterator[StepReport]:
        """How each of the transforms runs."""
        native = self.pipeline().native if self.calls else ""
        opaque = () if isinstance(native, str) else (type(step).__name__ for step, _ in native.opaque.values())
        how = "native" if self.calls else "as it was"
        yield from (StepReport(type(each).__name__, how, self.why or ", ".join(opaque)) for each in self.transforms)


def runs_of(transforms: Sequence[Any], optimize: Optimize) -> list[TransformRun]:
    """The transforms in runs: those that one recipe holds, and between them those that run as they were."""
    calls = [read_transform(each, "pipeline", repeat(place)) for place, each in enumerate(transforms)]
    draft, evaluates, ended = draft_of(calls), not any(map(is_random, calls)), ""
    left = {each.line: each.message.partition(": ")[0] for each in (*draft.left_out(), *draft.faults())}
    reasons: list[str] = []
    for place, call in enumerate(calls):
        reasons.append(ended or left.get(place) or _why_not(call, calls[place + 1 :], evaluates=evaluates))
        if reasons[-1] and not set().union(*map(_names, calls[:place])).isdisjoint(_NAMES["floats"]):
            ended = "behind what is no uint8 image any more"
    runs: list[TransformRun] = []
    for reason, group in groupby(zip(reasons, transforms, calls, strict=True), itemgetter(0)):
        _, part, inside = zip(*group, strict=True)
        quick = all(call.name in _NAMES["quick"] for call in inside) and "as quick as a conversion to an array"
        why = reason or quick or ""
        runs.append(TransformRun(part, () if why else inside, why, optimize, len(runs)))
        list(runs[-1].steps())  # which compiles it
    return runs


def signature_of(image: Any) -> object:
    """What tells kinds of images apart, of Pillow the mode; None: no recipe takes it."""
    if isinstance(image, Image.Image):
        return image.mode if image.mode in ("RGB", "L") else None
    is_plain = isinstance(image, torch.Tensor) and (image.dtype, image.ndim, image.is_cpu) == (torch.uint8, 3, True)
    is_known = is_plain and len(image) in (1, 3) and type(image).__name__ in ("Tensor", "Image")
    return (type(image), len(image)) if is_known else None


def _pixels(image: Any) -> np.ndarray:
    """An image as an array H×W×C."""
    if isinstance(image, torch.Tensor):
        rows = image.permute(1, 2, 0)  # as most readers of files have them
        return rows.numpy() if rows.is_contiguous() else cv2.merge([*image.numpy()]).reshape(rows.shape)
    if image.mode == "L":
        return np.frombuffer(image.tobytes(), np.uint8).reshape(image.height, image.width, 1)
    padded = np.frombuffer(image.tobytes("raw", "RGBX"), np.uint8)  # quicker than RGB: so they lie in Pillow
    return cv2.cvtColor(padded.reshape(image.height, image.width, 4), cv2.COLOR_RGBA2RGB)
