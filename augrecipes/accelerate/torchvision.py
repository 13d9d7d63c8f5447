"""A Compose of torchvision, version 2 or 1, that runs through the compiler, and is called as it was before."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
import torch
from PIL import Image

from augrecipes.accelerate.keyed import KeyedCopy, class_made
from augrecipes.accelerate.report import StepReport, sample_for
from augrecipes.accelerate.torchvision_runs import TransformRun, draft_of, is_random, runs_of, signature_of
from augrecipes.compat.torch import tree_flatten, tree_unflatten
from augrecipes.ops.groups import COMPOSE
from augrecipes.recipe.model import Optimize

_HOME = "torchvision.transforms"
_log = logging.getLogger("augrecipes")
_announced: list[str] = []


class TorchvisionCompose(KeyedCopy):
    """What makes a Compose of torchvision run through the compiler: see `augrecipes.accelerate.accelerate`."""

    @staticmethod
    @cache
    def class_of(source: Any) -> type[TorchvisionCompose]:
        """The class of what is made of a Compose of this class, of which it is one, too."""
        method = "forward" if hasattr(source, "forward") else "__call__"  # those of version 2 are modules of torch
        is_own = getattr(source, method) is not getattr(_library_class(source), method)
        return class_made(TorchvisionCompose, source, is_own=is_own, **{method: TorchvisionCompose._apply})

    def _apply(self, *inputs: Any) -> Any:
        """A sample, as the Compose takes and gives it, with draws that no other call makes."""
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
    """A sample behind a run; as it was where it is more than an image and what goes through transforms untouched."""
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
    """The class of torchvision that a class is, or is made of; `object`: none."""
    return next((each for each in source.__mro__ if each.__module__.startswith(_HOME)), object)


def accelerated(parts: Sequence[Any], optimize: Optimize, seed: int | None) -> TorchvisionCompose:
    """A Compose, or one of some transforms, that is accelerated."""
    compose = parts[0]
    if len(parts) > 1 or _library_class(type(compose)).__name__ != COMPOSE:
        second = any(_library_class(type(part)).__module__.startswith(f"{_HOME}.v2") for part in parts)
        compose = sys.modules[f"{_HOME}.v2" if second else _HOME].Compose([*parts])
    made: TorchvisionCompose = TorchvisionCompose.of(compose, optimize, seed)
    drawn = [] if made.why_not else [run for run in made.current() if any(map(is_random, run.calls))]
    if drawn and not _announced:
        changes = [change for run in drawn for change in draft_of(run.calls).changes()]
        _announced.extend(["pixels that are resized or recoloured are a level apart", *changes])
        _log.warning("ar.accelerate draws other numbers than torchvision, alike distributed; %s", "; ".join(_announced))
    return made
