"""A torchvision Compose, version 2 or 1, that runs through the compiler, with the same interface."""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import groupby, repeat
from operator import itemgetter
from typing import Any

import cv2
import numpy as np
import torch
from PIL import Image

from augrecipes.accelerate.keyed import KeyedCopy, StepReport, class_made, sample_for
from augrecipes.compat.torch import tree_flatten, tree_unflatten
from augrecipes.compiler.compile import build
from augrecipes.errors import logger
from augrecipes.interop.draft import FOREIGN, Call, RecipeDraft, argument_schemas
from augrecipes.interop.torchvision import convert, read_transform
from augrecipes.ops.groups import COMPOSE
from augrecipes.recipe.model import Optimize

_NAMES = FOREIGN["torchvision"]["transforms"]


def _names(call: Call) -> set[str]:
    return {inner.name for inner in call.walk()}


def is_random(call: Call) -> bool:
    """Whether a transform, or one inside it, draws anything."""
    begins = tuple(_NAMES["drawn"])
    return any(inner.name.lower().startswith(begins) and inner.args.get("p") not in (0, 1) for inner in call.walk())


def _why_not(call: Call, following: Sequence[Call], *, evaluates: bool) -> str:
    """Why a transform must run as it was, because pixels or draws would differ; empty: it need not."""
    if evaluates and not _names(call).isdisjoint(_NAMES["near"]):
        return "an evaluation keeps the pixels of torchvision"
    interpolations = " ".join(str(inner.args.get("interpolation")).lower() for inner in call.walk())
    if any(mode in interpolations for mode in _NAMES["smooth"]):
        return "its interpolation differs here"
    is_whole = all(later.name not in _NAMES["crops"] for later in following)
    if is_whole and call.name in _NAMES["shorter"] and np.size(call.args["size"]) == 1:
        return "the longer side is rounded here, cut off there"
    differs = not _names(call).isdisjoint(_NAMES["otherwise"]) or draft_of([call]).notes
    return "differs here: see docs/MIGRATING.md" if differs else ""


def draft_of(calls: Sequence[Call], *, by_pillow: bool = True) -> RecipeDraft:
    """The recipe draft of transforms, for Pillow images or for tensors."""
    draft = RecipeDraft("accelerated", "a pipeline of torchvision")
    convert(draft, Call(COMPOSE, children=tuple(calls)))
    if not by_pillow:
        draft.keys["output"]["layout"] = "chw"
    elif [call.name for call in calls[:1]] not in (["PILToTensor"], ["ToImage"]):
        # Pillow always antialiases, and rounds nearest neighbours differently.
        for line in draft.lines():
            if "area_for_downscale" in argument_schemas(line.name):
                exact = line.args.get("interpolation") == "nearest"
                line.args |= {"interpolation": "nearest_exact"} if exact else {"area_for_downscale": "image"}
    return draft


@dataclass(slots=True)
class TransformRun:
    """Consecutive transforms that run natively together, or as they were.

    Attributes:
        transforms: the original transforms.
        calls: the transforms as the importer reads them; empty: they run as they were.
        why: why they run, or ran in the last call, as they were; empty: natively.
        optimize: optimisation of the native pipeline.
        number: number of the run, which keys its draws.
    """

    transforms: Sequence[Any]
    calls: Sequence[Call]
    why: str
    optimize: Optimize
    number: int
    _pipelines: dict[bool, Any] = field(default_factory=dict)
    # Result converters by kind of image; None: the first image of the kind did not run natively.
    _forms: dict[Any, Callable[[np.ndarray], Any] | None] = field(default_factory=dict)

    def as_it_was(self, *inputs: Any) -> tuple[Any, ...]:
        """Run the original transforms on a sample."""
        for transform in self.transforms:
            result = transform(*inputs)
            inputs = result if len(inputs) > 1 else (result,)
        return inputs

    def image(self, image: Any, key: tuple[int, int]) -> Any:
        """Transform an image with the draws of a key, natively where recipes take such images."""
        if self._forms.get(kind := signature_of(image), self._form) is None:
            return self.as_it_was(image)[0]
        try:
            pixels = self.pipeline(by_pillow=isinstance(kind, str)).run(*key, 0, {"image": _pixels(image)})["image"]
            form = self._forms[kind] = self._forms.get(kind) or self._form(image, pixels)
        except Exception as error:  # never refuse what works without us; the transforms raise their own errors
            self.why = f"the last image ran as it was: {error}"
            self._forms.setdefault(kind, None)
            return self.as_it_was(image)[0]
        self.why = ""
        return form(pixels)

    def _form(self, image: Any, pixels: np.ndarray) -> Callable[[np.ndarray], Any]:
        """A converter of pixels to the type that the transforms return; ValueError where that is not possible."""
        with torch.random.fork_rng(devices=()):
            (result,) = self.as_it_was(image)
        is_tensor = isinstance(result, torch.Tensor)
        wanted = (str(result.dtype)[6:], len(result)) if is_tensor else ("uint8", len(result.getbands()))
        if (str(pixels.dtype), pixels.shape[0 if is_tensor else 2]) != wanted:
            raise ValueError(f"the transforms return another {type(result).__name__}")
        if is_tensor:
            return lambda pixels: torch.from_numpy(pixels).as_subclass(type(result))
        return lambda pixels: Image.fromarray(pixels if pixels.shape[2] > 1 else pixels[..., 0])

    def pipeline(self, *, by_pillow: bool = True) -> Any:
        """The native pipeline of the run, for Pillow images or for tensors."""
        if by_pillow not in self._pipelines:
            recipe = replace(draft_of(self.calls, by_pillow=by_pillow).whole_recipe(), max_bytes=None)
            self._pipelines[by_pillow] = build(recipe, "train", self.optimize, self.number)
        return self._pipelines[by_pillow]

    def steps(self) -> Iterator[StepReport]:
        """How each of the transforms runs."""
        native = self.pipeline().native if self.calls else ""
        opaque = () if isinstance(native, str) else (type(step).__name__ for step, _ in native.opaque.values())
        how = "native" if self.calls else "as it was"
        for transform in self.transforms:
            yield StepReport(type(transform).__name__, how, self.why or ", ".join(opaque))


def runs_of(transforms: Sequence[Any], optimize: Optimize) -> list[TransformRun]:
    """Divide transforms into runs that one recipe can hold, and runs that stay as they were."""
    calls = [read_transform(each, "pipeline", repeat(place)) for place, each in enumerate(transforms)]
    draft, evaluates, ended = draft_of(calls), not any(map(is_random, calls)), ""
    left = {each.line: each.message.partition(": ")[0] for each in (*draft.left_out(), *draft.problems())}
    reasons: list[str] = []
    for place, call in enumerate(calls):
        reasons.append(ended or left.get(place) or _why_not(call, calls[place + 1 :], evaluates=evaluates))
        if reasons[-1] and not set().union(*map(_names, calls[:place])).isdisjoint(_NAMES["floats"]):
            ended = "after what is no longer a uint8 image"
    runs: list[TransformRun] = []
    for reason, group in groupby(zip(reasons, transforms, calls, strict=True), itemgetter(0)):
        _, part, inside = zip(*group, strict=True)
        quick = all(call.name in _NAMES["quick"] for call in inside) and "as quick as a conversion to an array"
        why = reason or quick or ""
        runs.append(TransformRun(part, () if why else inside, why, optimize, len(runs)))
        list(runs[-1].steps())  # which compiles it
    return runs


def signature_of(image: Any) -> object:
    """The kind of an image, for Pillow its mode; None: no recipe takes it."""
    if isinstance(image, Image.Image):
        return image.mode if image.mode in ("RGB", "L") else None
    is_plain = isinstance(image, torch.Tensor) and (image.dtype, image.ndim, image.is_cpu) == (torch.uint8, 3, True)
    is_known = is_plain and len(image) in (1, 3) and type(image).__name__ in ("Tensor", "Image")
    return (type(image), len(image)) if is_known else None


def _pixels(image: Any) -> np.ndarray:
    """An image as an array H×W×C."""
    if isinstance(image, torch.Tensor):
        rows = image.permute(1, 2, 0)  # contiguous, if a reader has permuted H×W×C before
        return rows.numpy() if rows.is_contiguous() else cv2.merge([*image.numpy()]).reshape(rows.shape)
    return np.atleast_3d(np.array(image))


_HOME = "torchvision.transforms"
_announced: list[str] = []


class TorchvisionCompose(KeyedCopy):
    """An accelerated Compose of torchvision: see `augrecipes.accelerate.accelerate`."""

    @staticmethod
    @cache
    def class_of(source: Any) -> "type[TorchvisionCompose]":
        """The accelerated subclass of a Compose class."""
        method = "forward" if hasattr(source, "forward") else "__call__"  # classes of version 2 are torch modules
        is_own = getattr(source, method) is not getattr(_library_class(source), method)
        return class_made(TorchvisionCompose, source, is_own=is_own, **{method: TorchvisionCompose._apply})

    def _apply(self, *inputs: Any) -> Any:
        """Transform a sample as the Compose does, with draws that no other call makes."""
        key = self._key()
        for run in self.current():
            inputs = _run_sample(run, key, inputs)
        return inputs if len(inputs) > 1 else inputs[0]

    def _compiled(self) -> list[TransformRun]:
        return runs_of(self._seen, self._optimize)

    def _uncompiled(self, why_not: str) -> list[TransformRun]:
        return [TransformRun(self._seen, (), why_not, self._optimize, 0)]

    def _drawn(self) -> tuple[Any, dict[str, Any]]:
        return (Image.fromarray(sample_for({})["image"]),), {}

    def _steps(self) -> Iterator[StepReport]:
        return (step for run in self.current() for step in run.steps())


def _run_sample(run: TransformRun, key: tuple[int, int], inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Run a sample; natively only if it is one image with values that transforms pass through."""
    if run.calls:
        leaves, spec = tree_flatten(inputs)
        images = [at for at, leaf in enumerate(leaves) if isinstance(leaf, Image.Image | torch.Tensor | np.ndarray)]
        known = [at for at in images if type(leaves[at]) is not torch.Tensor]
        if images and signature_of(leaves[images[0]]) is not None and known in ([], images[:1]):
            leaves[images[0]] = run.image(leaves[images[0]], key)
            return tuple(tree_unflatten(leaves, spec))
        run.why = "the last sample ran as it was: it is not one RGB, grey or uint8 image with labels"
    return run.as_it_was(*inputs)


def _library_class(source: Any) -> Any:
    """The torchvision class that a class is or inherits from; `object`: none."""
    return next((base for base in source.__mro__ if base.__module__.startswith(_HOME)), object)


def accelerated(parts: Sequence[Any], optimize: Optimize, seed: int | None) -> TorchvisionCompose:
    """Accelerate a Compose, or transforms as a Compose."""
    compose = parts[0]
    if len(parts) > 1 or _library_class(type(compose)).__name__ != COMPOSE:
        second = any(_library_class(type(part)).__module__.startswith(f"{_HOME}.v2") for part in parts)
        compose = sys.modules[f"{_HOME}.v2" if second else _HOME].Compose([*parts])
    result: TorchvisionCompose = TorchvisionCompose.of(compose, optimize, seed)
    runs = [] if result.why_not else result.current()
    drawn = [run for run in runs if any(map(is_random, run.calls))]
    if drawn and not _announced:
        changes = [change for run in drawn for change in draft_of(run.calls).changes()]
        _announced.extend(["pixels that are resized or recoloured are a level apart", *changes])
        logger.warning(
            "ar.accelerate draws other numbers than torchvision, alike distributed; %s", "; ".join(_announced)
        )
    return result
