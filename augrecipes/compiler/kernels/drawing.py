"""What every kernel does with the steps inside it: let one draw, and see what its window and its result are."""

from __future__ import annotations

from typing import Any

import numpy as np


def draw(step: Any, data: dict[str, Any]) -> dict[str, Any]:
    """The parameters that a transform draws for the sample `data`, by its own samplers; it keeps them as `params`."""
    params: dict[str, Any] = step.update_transform_params(params=step.get_params(), data=data)
    params.update(step.get_params_dependent_on_data(params=params, data=data))
    step.params = params
    return params


def is_plain_window(params: dict[str, Any]) -> bool:
    """Whether a window lies inside the image and does nothing else. If not, the step itself must pad, or raise."""
    x_min, y_min, x_max, y_max = params["crop_coords"]
    height, width = params["shape"][:2]
    return params.get("pad_params") is None and 0 <= x_min < x_max <= width and 0 <= y_min < y_max <= height


def with_channels(array: np.ndarray) -> np.ndarray:
    """H×W×C, also where a step has dropped the channel of a grey image."""
    return array if array.ndim == 3 else array[..., None]
