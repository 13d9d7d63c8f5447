"""What of an output albumentations has no class for, as a step of its own: other dtypes and colours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from augrecipes.compat.albumentations import A
from augrecipes.compiler.kernels.sink import Sink
from augrecipes.recipe.model import Normalize, Output


class ToOutput(A.ImageOnlyTransform):  # type: ignore[misc]
    """Scales an image and turns its colours, as `output:` of a recipe does; stands last in a pipeline.

    Args:
        dtype: `float32`, `float16`, `uint8` or `uint16`.
        color: `rgb`, `bgr`, `y`, `gray` or `ycbcr`.
        mean: of values in 0..1, one number or one a channel; None: scaled to `value_range` instead.
        std: the same.
        value_range: what 0 and full scale become without `mean` and `std`.
        p: probability.

    Image: H×W×C, uint8 (0..255) or float32 (0..1), RGB or grey; H×W×C of `dtype` comes out. Draws: none.

    >>> ToOutput(color="bgr", dtype="uint8")(image=np.full((1, 1, 3), (1, 2, 3), np.uint8))["image"].tolist()
    [[[3, 2, 1]]]
    """

    def __init__(
        self,
        dtype: str = "float32",
        color: str = "rgb",
        mean: Sequence[float] | None = None,
        std: Sequence[float] | None = None,
        value_range: Sequence[float] = (0.0, 1.0),
        p: float = 1.0,
    ) -> None:
        super().__init__(p=p)
        self.dtype, self.color, self.mean, self.std, self.value_range = dtype, color, mean, std, value_range
        normalize = None if mean is None or std is None else Normalize(tuple(mean), tuple(std))
        low, high = value_range
        self._output = Output(dtype, "hwc", normalize, (float(low), float(high)), color)

    @staticmethod
    def arguments_of(output: Output) -> dict[str, Any]:
        """The arguments that do what an output says, its layout apart.

        >>> ToOutput.arguments_of(Output(dtype="float16"))
        {'dtype': 'float16', 'color': 'rgb'}
        """
        arguments: dict[str, Any] = {"dtype": output.dtype, "color": output.color}
        if output.normalize is not None:
            arguments |= {"mean": output.normalize.mean, "std": output.normalize.std}
        elif output.range != Output().range:
            arguments["value_range"] = output.range
        return arguments

    def apply(self, img: np.ndarray, **_: Any) -> np.ndarray:
        """The image as the output has it."""
        sink = Sink(self._output)
        return sink(img if img.ndim > 2 else img[..., None])
