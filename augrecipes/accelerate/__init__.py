"""Other people's pipelines, accelerated in one line: they are called as before, and give what they gave."""

from __future__ import annotations

from copy import deepcopy
from functools import wraps
from typing import Any

from augrecipes.compat.guard import albumentations
from augrecipes.recipe.model import Optimize


def accelerate(transform: Any, optimize: Optimize = "exact", seed: int | None = None) -> Any:
    """A pipeline that does what this one does, faster, with draws of its own for each call, worker and epoch.

    Of albumentations comes an `A.Compose` (of the very class that went in), to be called by the same names with the
    same arrays; it gives the same types, label fields, additional targets and tensors. Steps that no kernel knows,
    classes of one's own and Lambdas run as they are. Boxes, points and masks go where the pixels under them go,
    also where albumentations does otherwise. A mask keeps its dtype, and labels their type unless some step runs as
    it is. `set_random_seed` works; copies and pickled ones go on where this one was; in a DataLoader no worker
    repeats another, and no epoch one before. `print(t)` says how each step runs, `t.explain()` measures as well.

    Of torchvision comes a `Compose` of its version that takes and gives what that did: Pillow's images, uint8 tensors
    and `tv_tensors.Image`, with labels or without; other samples run as they were. What runs natively draws other
    random numbers, of the same distributions, which is said once; evaluations keep torchvision's pixels.

    A list of transforms gives a list of one such Compose, for trainers that take lists; one of pipelines each of them.

    What is later changed in its transforms counts where the list is another; else call this again.

    Args:
        transform: an `A.Compose`, a transform or a list of them; a pipeline of torchvision; or a trainer's class whose
            objects keep their pipeline as `transform`: from here on theirs are accelerated.
        optimize: `exact` gives the pixels of albumentations, `fast` merges steps within declared bounds, `none` only
            keys the draws.
        seed: of the draws; None: that of the Compose, or one of chance.

    Raises:
        TypeError: it is none of these.
        ValueError: there is no such `optimize`.

    >>> import albumentations as A, numpy as np
    >>> train = accelerate(A.Compose([A.RandomCrop(64, 64), A.HorizontalFlip(), A.Normalize(), A.ToTensorV2()]), seed=1)
    >>> isinstance(train, A.Compose), train(image=np.zeros((80, 90, 3), np.uint8))["image"].shape
    (True, torch.Size([3, 64, 64]))
    """
    if optimize not in ("none", "exact", "fast"):
        raise ValueError(f"optimize must be none, exact or fast, got {optimize!r}")
    parts = transform if isinstance(transform, list | tuple) else [transform]
    if any(each.__module__.startswith("torchvision.") for part in parts for each in type(part).__mro__):
        from augrecipes.accelerate import torchvision

        composed = torchvision.accelerated(parts, optimize, seed)
        return composed if parts == [transform] else [composed]
    A = albumentations()  # noqa: N806 - as everybody calls it
    if parts and all(isinstance(each, A.BasicTransform | A.BaseCompose) for each in parts):
        from augrecipes.accelerate.compose import accelerated

        if parts == [transform]:
            return accelerated(transform, optimize, seed)
        pipelines = parts if all(isinstance(each, A.Compose) for each in parts) else [A.Compose([*deepcopy(parts)])]
        return [accelerated(each, optimize, seed) for each in pipelines]
    if isinstance(transform, type):
        return _accelerate_objects(transform, optimize, seed)
    raise TypeError(f"accelerate takes an A.Compose, or transforms of albumentations or torchvision, got {transform!r}")


def _accelerate_objects(cls: Any, optimize: Optimize, seed: int | None) -> Any:
    """Let each object of a class have its `transform` accelerated once it is made."""
    start = cls.__init__

    @wraps(start)
    def begin(self: Any, *args: Any, **named: Any) -> None:
        start(self, *args, **named)
        if getattr(self, "transform", None) is not None:
            self.transform = accelerate(self.transform, optimize, seed)

    cls.__init__ = begin
    return cls
