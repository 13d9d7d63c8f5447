"""Recipes of kind views: one image through the steps twice, each time with draws of its own."""

from typing import Any

import numpy as np

from augrecipes.kinds.image.pipeline import ImagePipeline


class ViewsPipeline(ImagePipeline):
    """A compiled recipe of kind views: `image` goes in, `a` and `b` come out, drawn as tiles 0 and 1."""

    origins = {"a": "image", "b": "image"}  # type: ignore[assignment]  # noqa: RUF012

    def __init__(self, compiled: Any, *arrival: Any) -> None:
        super().__init__(compiled, *arrival)
        if not compiled.pauses:  # what is packed is the image: both views begin with the same steps
            self.outputs = ("a", "b")

    def sample(self, epoch: int, index: int, tile: int, targets: dict[str, Any], allocate: Any = np.empty) -> Any:
        """Both views."""
        if self.compiled.pauses:
            return super().sample(epoch, index, tile, targets, allocate)
        given = {name: value for name, value in targets.items() if name != "out"}
        made = [super(ViewsPipeline, self).sample(epoch, index, k, dict(given)) for k in (0, 1)]
        return dict(zip(self.outputs, (one["image"] for one in made), strict=True))


PIPELINE = ViewsPipeline
