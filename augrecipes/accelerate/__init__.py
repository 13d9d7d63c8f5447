"""Accelerates pipelines of albumentations and torchvision; they are called as before, with the same results."""

from copy import deepcopy
from functools import wraps
from typing import Any

from augrecipes.compat.guard import albumentations
from augrecipes.recipe.model import Optimize


def accelerate(transform: Any, optimize: Optimize = "exact", seed: int | None = None) -> Any:
    """Make a faster pipeline that does the same, with draws of its own for each call, worker and epoch.

    albumentations: returns an `A.Compose` of the same class, which takes the same arrays by the same names and gives
    the same types, label fields, additional targets and tensors. Steps without a native kernel, users' classes and
    Lambdas run as they are. Boxes, keypoints and masks follow the pixels under them, even where albumentations errs. A
    mask keeps its dtype, and labels keep their type unless a step runs as it is. `set_random_seed` works; copies and
    unpickled pipelines continue the draws; in a DataLoader no worker or epoch repeats draws. `print(t)` shows how each
    step runs, and `t.explain()` also measures the speed.

    torchvision: returns a `Compose` of the same version with the same inputs and outputs: Pillow images, uint8 tensors
    and `tv_tensors.Image`, with or without labels; other samples run as before. Native steps draw other random numbers
    of the same distributions, which the log says once; pipelines without random steps keep torchvision's pixels.

    A list of transforms gives a list of one such Compose, for trainers that take lists; a list of pipelines gives a
    list of accelerated ones. A later change of the list of transforms takes effect; after a change of a transform's
    attributes, call this again.

    Args:
        transform: an `A.Compose`, a transform or a list of them; a pipeline of torchvision; or a class whose objects
            keep a pipeline as `transform`: the pipelines of new objects are then accelerated.
        optimize: `exact` gives the pixels of albumentations, `fast` merges steps within declared bounds, `none` only
            keys the draws.
        seed: seed of the draws, an int; None: that of the Compose, or a random one.

    Returns:
        The accelerated pipeline, or list of pipelines; a class is changed and returned.

    Raises:
        TypeError: `transform` is none of these.
        ValueError: `optimize` is unknown.

    >>> import albumentations as A, numpy as np
    >>> train = accelerate(A.Compose([A.RandomCrop(64, 64), A.HorizontalFlip(), A.Normalize(), A.ToTensorV2()]), seed=1)
    >>> isinstance(train, A.Compose), train(image=np.zeros((80, 90, 3), np.uint8))["image"].shape
    (True, torch.Size([3, 64, 64]))
    """
    if optimize not in ("none", "exact", "fast"):
        raise ValueError(f"optimize must be none, exact or fast, got {optimize!r}")
    parts = transform if isinstance(transform, list | tuple) else [transform]
    if any(base.__module__.startswith("torchvision.") for part in parts for base in type(part).__mro__):
        from augrecipes.accelerate import torchvision

        composed = torchvision.accelerated(parts, optimize, seed)
        return composed if parts == [transform] else [composed]
    A = albumentations()  # noqa: N806 - as everybody calls it
    if parts and all(isinstance(part, A.BasicTransform | A.BaseCompose) for part in parts):
        from augrecipes.accelerate.compose import accelerated

        if parts == [transform]:
            return accelerated(transform, optimize, seed)
        pipelines = parts if all(isinstance(part, A.Compose) for part in parts) else [A.Compose([*deepcopy(parts)])]
        return [accelerated(pipeline, optimize, seed) for pipeline in pipelines]
    if isinstance(transform, type):
        return _accelerate_objects(transform, optimize, seed)
    raise TypeError(f"accelerate takes an A.Compose, or transforms of albumentations or torchvision, got {transform!r}")


def _accelerate_objects(cls: Any, optimize: Optimize, seed: int | None) -> Any:
    """Patch a class so that the `transform` of each new object is accelerated."""
    original = cls.__init__

    @wraps(original)
    def init(self: Any, *args: Any, **named: Any) -> None:
        original(self, *args, **named)
        if getattr(self, "transform", None) is not None:
            self.transform = accelerate(self.transform, optimize, seed)

    cls.__init__ = init
    return cls
