"""Recipes of kind views: of one image several are made, by steps and draws of their own, and stacked by name."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, Self

import cv2
import numpy as np

from augrecipes.compiler.compile import build
from augrecipes.compiler.kernels import encoded_images, sink
from augrecipes.compiler.rewrite import Compiled
from augrecipes.compiler.rewrite.nodes import Steps
from augrecipes.compiler.run.batch import output_buffer
from augrecipes.compiler.run.pipeline import Pipeline
from augrecipes.errors import CollateError, DataError
from augrecipes.flow import Arrival
from augrecipes.kinds.image.pipeline import ImagePipeline
from augrecipes.native.kernels import Coded
from augrecipes.ops.records import op_record

_IMAGE, _MASK = "image", "mask"
LARGE = 1 << 20  # px: below, a file is decoded about as soon as it is known how small it may be
_PER_PIXEL = 1.5  # least px of the decoded image along a pixel of a view, as in the rule join_warps


class ViewsPipeline(ImagePipeline):
    """A compiled recipe of kind views.

    Targets in: those of an ImagePipeline. Targets out, for each view NAME of the recipe: `NAME`, all views of that
    name as one array (count, C, H, W), or (count, H, W, C), as the recipe's `output` says; `NAME_mask` (count, H, W);
    `NAME_boxes` and `NAME_keypoints`, lists with an array for each view, and their labels under `NAME_` and their own
    key; with `correspondence: true` `NAME_matrix` float64 (count, 3, 3), which maps pixel centres (x, y, 1) of each
    view to those of the image; with `save_applied_params` `applied`, a dict from each name to a list. Values that are
    no targets are returned unchanged. In mode `eval`, and while a dataset is packed, there is one image, `image`.

    `out`, a dict from names to arrays or to functions (shape, dtype) → array, is written to and returned.

    Draws: view k of a name draws at the key (index, epoch, k), each step under its name; the shared steps, and steps
    with `share: bag`, draw once for all views. So a view does not depend on the recipe's other views.
    """

    def __init__(self, compiled: Compiled, arrival: Arrival = "uint8") -> None:
        super().__init__(compiled, arrival)
        if compiled.mode == "train" and not compiled.pauses:
            self.outputs = tuple(view.name for view in compiled.recipe.views) or self.outputs

    @cached_property
    def parts(self) -> dict[str, ImagePipeline]:
        """For each view name, the pipeline of kind image that makes one view; {}: there is one image."""
        inputs = replace(self.recipe.inputs.behind_take, mask_labels=None)  # `sample` has made labels of masks
        recipe, compiled, parts = replace(self.recipe, inputs=inputs), self.compiled, dict[str, Any]()
        options = {name: getattr(compiled, name) for name in ("save_applied_params", "threads", "resumes", "added")}
        for name in (view.name for view in recipe.views if view.name in self.outputs):
            view = recipe.view(name, shares=True)
            parts[name] = build(view, compiled.mode, compiled.optimize, compiled.seed, **options)
        return parts

    @property
    def origins(self) -> dict[str, str]:
        """The image array that each result is made from."""
        return dict.fromkeys(self.outputs, _IMAGE)

    def sample(
        self, epoch: int, index: int, tile: int, targets: dict[str, Any], allocate: sink.Allocate = np.empty
    ) -> dict[str, Any]:
        """Make all views of one image."""
        if not self.parts:
            return super().sample(epoch, index, tile, targets, allocate)
        inputs = dict(self.as_steps_see(targets))
        out = inputs.pop("out", None)
        out = {} if out is None else out
        if not isinstance(out, Mapping) or not out.keys() <= self.parts.keys():
            raise DataError(f"out must be a dict of arrays by view: {', '.join(self.parts)}")
        places = self._places(epoch, index, inputs.get(_IMAGE))
        file = self._file(inputs.get(_IMAGE), places)
        for name in (_IMAGE, _MASK):
            if encoded_images.is_encoded(inputs.get(name)) and not (name == _IMAGE and file):
                inputs[name] = inputs[name].array()
        inputs |= file
        results: dict[str, Any] = {name: value for name, value in inputs.items() if name not in self.usual_targets}
        for name, count in ((view.name, view.count) for view in self.recipe.views):
            allocate = output_buffer(out[name], name, [inputs.get(_IMAGE)]) if name in out else np.empty
            block = _Block(name, count, allocate)
            make = self.parts[name].for_this_thread(epoch).sample
            views = [make(epoch, index, k, dict(inputs), partial(block.row, k)) for k in range(count)]
            results |= _stack_targets(name, views, inputs)
            results[name] = block.array if name not in out or callable(out[name]) else out[name]
            if self.recipe.correspondence and name in places:
                results[f"{name}_matrix"] = np.linalg.inv(places[name])
            if self.compiled.save_applied_params:
                results.setdefault("applied", {})[name] = [view["applied"] for view in views]
        return results

    def batch(self, images: Sequence[Any], *args: Any, **options: Any) -> np.ndarray:
        """Run images as one array, in mode `eval` only; TypeError otherwise, as a sample has several views."""
        if self.parts:
            raise TypeError("a sample of kind views is several images: call pipeline.at(index, epoch), or use ar.Views")
        return super().batch(images, *args, **options)

    def in_epoch(self, epoch: int) -> Self:
        """The pipeline's copy for an epoch; the pipelines of views copy themselves."""
        return self if self.parts else super().in_epoch(epoch)

    def renew(self, compiled: Compiled) -> None:
        """Compile the pipeline anew, and those of its views."""
        super().renew(compiled)
        for name in ("parts", "reads", "_may_reduce"):
            self.__dict__.pop(name, None)

    def dress(self, dress: Callable[[Pipeline], object]) -> None:
        """Apply a change to the pipeline and to those of its views."""
        super().dress(dress)
        for part in self.parts.values():
            part.dress(dress)

    def nodes(self, arrival: Arrival | None = None) -> Steps:
        """The nodes of all views; shared first steps once."""
        nodes = {node.site: node for part in self.parts.values() for node in part.nodes(arrival)}
        return tuple(nodes.values()) if self.parts else super().nodes(arrival)

    def _places(self, epoch: int, index: int, image: Any) -> dict[str, np.ndarray]:
        """The matrices from an image to its views, by name, where the recipe or a large file needs them."""
        if not hasattr(image, "shape") or not (self.recipe.correspondence or self._is_large(image)):
            return {}
        height, width, channels = (*image.shape, 1)[:3]
        places = {}
        for view in self.recipe.views:
            matrices = self.parts[view.name].for_this_thread(epoch).plain.step_matrices
            keys = [(epoch, index, k) for k in range(view.count)]
            places[view.name] = np.stack([matrices.at(key, (height, width, channels)) for key in keys])
        return places

    def _is_large(self, image: Any) -> bool:
        """Whether an image is a file so large that `fast` may decode it at a smaller scale."""
        return self._may_reduce and encoded_images.is_encoded(image) and image.shape[0] * image.shape[1] >= LARGE

    def _file(self, image: Any, places: Mapping[str, np.ndarray]) -> dict[str, Any]:
        """The image decoded at a smaller scale, where that is fine enough for all views; else {}."""
        scale = scale_for(image, np.concatenate([*places.values()])) if places and self._is_large(image) else 1
        return {_IMAGE: ReducedFile(image, scale)} if scale > 1 else {}

    @cached_property
    def reads(self) -> bool:
        """Whether the pipeline takes encoded images; with views, if it may decode them at a smaller scale."""
        return self._may_reduce if self.parts else super().reads

    @cached_property
    def _may_reduce(self) -> bool:
        """Whether images may be decoded at a smaller scale: all steps of all views move pixels by matrices."""
        steps = [step for part in self.parts.values() for step in part.recipe.walk() if not step.is_group]
        matrices = all(op_record(step.name).is_matrix for step in steps)
        return self.optimize == "fast" and matrices and all(part.reads for part in self.parts.values())


class _Block:
    """The array of all views of a name, allocated when the first view knows its shape."""

    def __init__(self, name: str, count: int, allocate: sink.Allocate) -> None:
        self._name, self._count, self._allocate = name, count, allocate
        self.array: Any = None

    def row(self, k: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        """The part of the array for view k."""
        if self.array is None:
            self.array = self._allocate((self._count, *shape), dtype)
        if self.array.shape[1:] != shape:
            raise CollateError(
                f"views {self._name} of one image come out as {self.array.shape[1:]} and {shape}: end their steps in a "
                "crop or resize of fixed size"
            )
        return self.array[k]


def _stack_targets(name: str, views: list[dict[str, Any]], inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The targets beside the images of views, as `NAME_target`: masks as one array, others as lists."""
    targets = {*inputs, "object", "keypoint_object"} - {_IMAGE}
    changed = [key for key in views[0] if key in targets and views[0][key] is not inputs.get(key)]
    return {
        f"{name}_{key}": np.stack([view[key] for view in views]) if key == _MASK else [view[key] for view in views]
        for key in changed
    }


class ReducedFile:
    """An encoded image that is decoded at a reduced scale; still smaller scales are averaged from that.

    Args:
        source: the file.
        scale: `scale` × `scale` pixels of the file are decoded as one. Finer scales decode the file again.
    """

    def __init__(self, source: encoded_images.Decodable, scale: int) -> None:
        self._source, self._scale = source, scale
        self.shape, self.dtype = source.shape, source.dtype
        self._decoded: dict[int, np.ndarray] = {}

    def scales(self) -> tuple[int, ...]:
        """The scales at which the file's decoder reduces."""
        return self._source.scales()

    def array(self) -> np.ndarray:
        """The whole image."""
        return self.view(0, 0, *self.shape[:2])

    def view(self, y0: int, x0: int, y1: int, x1: int, reduce: int = 1) -> np.ndarray:
        """A window, ends exclusive, with `reduce` × `reduce` pixels averaged to one."""
        if reduce not in self._decoded:
            self._decoded[reduce] = self._whole(reduce)
        return self._decoded[reduce][y0 // reduce : -(-y1 // reduce), x0 // reduce : -(-x1 // reduce)]

    def coded(self, y0: int, x0: int, y1: int, x1: int) -> Coded | None:
        """None: kernels do not decode this image themselves."""
        return None

    def _whole(self, reduce: int) -> np.ndarray:
        height, width, channels = self.shape
        if reduce <= self._scale:
            return self._source.view(0, 0, height, width, reduce)
        finer, factor = self.view(0, 0, height, width, self._scale), reduce // self._scale
        below, right = -finer.shape[0] % factor, -finer.shape[1] % factor
        if below or right:  # replicated, as JPEG encoders fill the last blocks
            finer = cv2.copyMakeBorder(finer, 0, below, 0, right, cv2.BORDER_REPLICATE)
        size = finer.shape[1] // factor, finer.shape[0] // factor
        return np.asarray(cv2.resize(finer, size, interpolation=cv2.INTER_AREA)).reshape(size[1], size[0], channels)


def scale_for(image: encoded_images.Decodable, matrices: Any) -> int:
    """The greatest reduction by a file's decoder that is fine enough for all views; 1: none is.

    Args:
        image: the file.
        matrices: float64 (n, 3, 3), the map from the image to each view.
    """
    finest = np.linalg.svd(np.asarray(matrices)[:, :2, :2], compute_uv=False).max()
    return max((k for k in image.scales() if k * _PER_PIXEL * finest <= 1), default=1)


PIPELINE = ViewsPipeline
