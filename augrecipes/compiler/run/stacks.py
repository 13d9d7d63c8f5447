"""Run steps on stacks of images and masks part by part, each part as if it came alone.

albumentations joins the parts of some stacks to one image of many channels, of which OpenCV takes 512, and lets some
steps draw again for each part. Here each part goes through `apply` by itself under one draw: generators from which a
step draws while it acts are reset for each part to where its sampler left them.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np

from augrecipes.compiler.run.extra_targets import LIKE

_OURS = ("albumentations", "augrecipes")
_WHOLE = ("mask3d", "masks3d")
Act = Callable[..., Any]


def act_part_by_part(steps: Iterable[Any], likes: Mapping[str, str]) -> None:
    """Let transforms, and those in groups, take the parts of stacks one by one, under one draw.

    A user's class with a method of its own for stacks keeps it.

    Args:
        steps: transforms and groups; they are changed.
        likes: by name, the albumentations target that each further target is like.
    """
    for step in steps:
        act_part_by_part(getattr(step, "transforms", ()), likes)
        functions = getattr(step, "_key2func", {})
        if "image" not in functions:
            continue
        drawn: list[Any] = []  # states of the step's generators after its sampler
        alone = {"image": partial(_act_as_drawn, step, drawn, functions["image"]), "mask": functions.get("mask")}
        functions["image"] = alone["image"]
        for name, like in likes.items():
            act, axes = alone["image" if LIKE[like].is_image else "mask"], LIKE[like].axes
            own = getattr(type(step), f"apply_to_{like}", None)
            if act is not None and like not in _WHOLE and getattr(own, "__module__", _OURS[0]).startswith(_OURS):
                functions[name] = partial(_act_on_parts, act, axes)
        step.apply_with_params = partial(_note_and_act, step, drawn, step.apply_with_params)


def _note_and_act(step: Any, drawn: list[Any], act: Act, params: dict[str, Any], **targets: Any) -> Any:
    drawn[:] = step.random_generator.bit_generator.state, step.py_random.getstate()
    return act(params, **targets)


def _act_as_drawn(step: Any, drawn: list[Any], act: Act, image: np.ndarray, **params: Any) -> np.ndarray:
    step.random_generator.bit_generator.state, state = drawn
    step.py_random.setstate(state)
    return np.asarray(act(image, **params))


def _act_on_parts(act: Act, axes: int, stack: np.ndarray, **params: Any) -> np.ndarray:
    parts = [act(np.ascontiguousarray(part), **params) for part in stack.reshape(-1, *stack.shape[axes:])]
    return np.stack(parts).reshape(*stack.shape[:axes], *parts[0].shape)
