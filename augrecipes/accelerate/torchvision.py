"""A Compose of torchvision, version 2 or 1, that runs through the compiler, and is called as it was before."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from copy import copy
from functools import cache
from typing import Any

import numpy as np
import torch
from PIL import Image

from augrecipes.accelerate.keyed import KeyedCopy
from augrecipes.accelerate.report import Acceleration, StepReport, in_turns, sample_for
from augrecipes.accelerate.torchvision_runs import TransformRun, draft_of, is_random, runs_of, signature_of
from augrecipes.compat.torch import tree_flatten, tree_unflatten
from augrecipes.ops.groups import COMPOSE
from augrecipes.recipe.model import Optimize

_log = logging.getLogger("augrecipes")
_HOME = "torchvision.transforms"
_announced: list[str] = []


class TorchvisionCompose(KeyedCopy):
    """What makes a Compose of torchvision run through the compiler: see `augrecipes.accelerate.accelerate`.

    Attributes:
        transforms: copies of the transforms that it was made of.
    """

    transforms: Sequence[Any]
    _seen: list[Any] | None = None
    _runs: list[TransformRun] | None = None

    @classmethod
    def of(cls, compose: Any, optimize: Optimize, seed: int | None) -> TorchvisionCompose:
        """A copy of a Compose that is accelerated."""
        made: TorchvisionCompose = cls.copy_of(compose, optimize)
        made.start(seed)
        drawn = [] if made.why_not else [run for run in made._current() if any(map(is_random, run.calls))]
        if drawn and not _announced:
            changes = [change for run in drawn for change in draft_of(run.calls).changes()]
            _announced.extend(["pixels that are resized or recoloured are a level apart", *changes])
            _log.warning(
                "ar.accelerate draws other numbers than torchvision, alike distributed; %s", "; ".join(_announced)
            )
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return self._pickled(class_of)

    def _apply(self, *inputs: Any) -> Any:
        """A sample, as the Compose takes and gives it, with draws that no other call makes."""
        key = self._key()
        for run in self._current():
            inputs = _run_sample(run, key, inputs)
        return inputs if len(inputs) > 1 else inputs[0]

    def _current(self) -> list[TransformRun]:
        """The runs of the transforms as they are now."""
        if self._runs is None or self._seen != [*self.transforms]:
            self._seen = [*self.transforms]
            try:
                self._runs = runs_of(self._seen, self._optimize)
            except Exception as error:  # never refuse what works without us
                self._runs = [TransformRun(self._seen, (), f"it could not be compiled: {error}", self._optimize, 0)]
        return self._runs

    def explain(self: Any, *inputs: Any) -> Acceleration:
        """Which steps run natively, and how many times as fast it all is: measured on a sample.

        Args:
            inputs: a sample, as for a call; without one a drawn photo.

        Returns:
            What prints as a table; `ratio`, `before` and `now` (ms) are what was measured.
        """
        inputs = inputs or (Image.fromarray(sample_for({})["image"]),)
        plain, trial = self._plain(), copy(self)  # whose calls move no draw of this one
        self._timing = in_turns(lambda: plain(*inputs), lambda: trial(*inputs), "an image")
        return self._report()

    def _report(self) -> Acceleration:
        steps = [StepReport(type(each).__name__, "as it was") for each in self.transforms]
        if not self.why_not:
            steps = [step for run in self._current() for step in run.steps()]
        return Acceleration(self.source.__name__, self._optimize, self.why_not, steps, self._timing)


def _run_sample(run: TransformRun, key: tuple[int, int], inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """A sample behind a run; as it was where it is more than an image and what goes through transforms untouched."""
    if run.calls and len(inputs) == 1 and signature_of(inputs[0]) is not None:
        return (run.image(inputs[0], key),)
    if run.calls:
        leaves, spec = tree_flatten(inputs)
        plain = [place for place, leaf in enumerate(leaves) if type(leaf) is torch.Tensor]
        others = {
            place for place, leaf in enumerate(leaves) if isinstance(leaf, Image.Image | torch.Tensor | np.ndarray)
        }
        known = [*others.difference(plain)]
        place = min([*known, *plain], default=0)
        if signature_of(leaves[place]) is not None and known in ([], [place]):
            leaves[place] = run.image(leaves[place], key)
            return tuple(tree_unflatten(leaves, spec))
        run.why = "the last sample ran as it was: it is not one RGB, grey or uint8 image with labels"
    made = run.as_it_was(*inputs)
    return made if len(inputs) > 1 else (made,)


def _library_class(source: Any) -> Any:
    """The class of torchvision that a class is, or is made of; `object`: none."""
    return next((each for each in source.__mro__ if each.__module__.startswith(_HOME)), object)


@cache
def class_of(source: Any) -> type[TorchvisionCompose]:
    """The class of what is made of a Compose of this class, of which it is one, too."""
    method = "forward" if hasattr(source, "forward") else "__call__"  # those of version 2 are modules of torch
    own = {"__module__": __name__, "source": source}
    if getattr(source, method) is getattr(_library_class(source), method):
        own[method] = TorchvisionCompose._apply
    else:
        own["why_not"] = f"{source.__name__} is a class of its own, which is called as it is"
    return type(source.__name__, (TorchvisionCompose, source), own)


def accelerated(parts: Sequence[Any], optimize: Optimize, seed: int | None) -> TorchvisionCompose:
    """A Compose, or one of some transforms, that is accelerated."""
    compose = parts[0]
    if len(parts) > 1 or _library_class(type(compose)).__name__ != COMPOSE:
        second = any(_library_class(type(part)).__module__.startswith(f"{_HOME}.v2") for part in parts)
        compose = sys.modules[f"{_HOME}.v2" if second else _HOME].Compose([*parts])
    source: Any = getattr(compose, "source", type(compose))
    return class_of(source).of(compose, optimize, seed)
