"""A recipe's output as a torch module: uint8 or uint16 is copied to the device, and converted to floats there."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from augrecipes.compiler.kernels.formulas import COLOR_PLANES, RGB, ColorPlane, check_color, scales_and_shifts
from augrecipes.errors import DataError, RecipeError
from augrecipes.recipe.inputs import Inputs
from augrecipes.recipe.model import Output, Recipe

_DTYPES = {name: getattr(torch, name) for name in ("float32", "float16", "uint8", "uint16")}
_EIGHT_BITS = Inputs()
Batch = TypeVar("Batch", Tensor, list[Tensor], dict[str, Any])


class DeviceStage(nn.Module):
    """The output conversion of a recipe as a torch module for the training device; see `Recipe.device_stage`.

    A batch is a tensor (..., C, H, W) or (..., H, W, C), as the recipe's `output` says, uint8 or of the recipe's depth;
    a list of such tensors; or the loader's dict, of which a copy is returned with the image (of pairs: each target)
    replaced. Other entries pass through, and so do targets whose output says `where: host`. The result has the output's
    colour, range, normalisation and dtype. Where the loader has padded (`padding`), it is 0, as on the host. The module
    draws nothing, has no parameters and no saved state, and computes in float32 whatever the dtype of the network. It
    works under `torch.compile`.

    Args:
        recipe: a recipe whose output, or a target's output, says `where: device`.

    Raises:
        RecipeError: no output says so.

    >>> import augrecipes as ar
    >>> recipe = ar.load("folder-128", overrides={"output.where": "device"})
    >>> stage = recipe.device_stage()
    >>> stage(torch.full((2, 3, 4, 4), 255, dtype=torch.uint8)).dtype
    torch.float32
    """

    def __init__(self, recipe: Recipe) -> None:
        super().__init__()
        further = [name for name, target in recipe.targets.items() if target.is_image]
        views = [view.name for view in recipe.views]  # in evaluation there is an image instead
        names = tuple(recipe.scales) or ("images" if recipe.inputs.stack else "image", *further, *views)
        absent = {name for name in further if recipe.targets[name].presence == "optional"}
        self.optional = absent | {"image", *views} if views else absent
        outputs: Mapping[str, Output] = {name: recipe.outputs.get(name, recipe.output) for name in names}
        on_device = [name for name in names if outputs[name].where == "device"]
        if not on_device:
            which = f"; its targets are {', '.join(names)}" if recipe.scales else ""
            raise RecipeError(
                f"{recipe.file}: nothing is left for a device, the loader gives the output as it is; "
                f"`output: {{where: device}}` makes the loader deliver uint8{which}"
            )
        self.names = tuple(on_device)
        # A ModuleList, not a ModuleDict: a target's name, such as `forward`, may be no valid name of a module.
        self.stages = nn.ModuleList(TargetStage(outputs[name], recipe.inputs) for name in on_device)

    def forward(self, batch: Batch) -> Batch:
        """Convert the images of a batch as the host would have.

        Raises:
            DataError: an image is missing, or its dtype or dimensions are not what the loader gives.
        """
        if not isinstance(batch, dict):
            if len(self.names) > 1 + len(self.optional):
                raise DataError(f"give the batch as a dict: the device's targets are {', '.join(self.names)}")
            return self.stages[0](batch)
        result, missing = dict(batch), [name for name in self.names if name not in batch]
        if len(missing) == len(self.names) or [name for name in missing if name not in self.optional]:
            which = " or ".join(map(repr, missing))
            raise DataError(f"the batch has no {which}; it has {', '.join(map(repr, batch)) or 'nothing'}")
        for name, stage in zip(self.names, self.stages, strict=True):
            if name in result:
                padding = result.get("padding" if name in ("image", "images") else f"padding_{name}")
                result[name] = stage(result[name], padding)
        return result


class TargetStage(nn.Module):
    """The output conversion of one target: colour, scale and shift, dtype.

    Args:
        output: the target's output.
        inputs: the recipe's inputs, for the depth and range of images.
    """

    scale: Tensor
    shift: Tensor

    def __init__(self, output: Output, inputs: Inputs = _EIGHT_BITS) -> None:
        super().__init__()
        self.output, self.dtype = output, _DTYPES[inputs.deep_dtype or "uint8"]
        lowest, highest = inputs.full_range
        self.low = float(torch.tensor(lowest, dtype=torch.float32))  # subtracted from each value first
        self.full, self.first = highest - lowest, lowest - self.low
        self.axis = -3 if output.layout == "chw" else -1
        # The number of constants: one for all channels, or one for each.
        normal = output.normalize
        self.numbers = 1 if normal is None else max(len(normal.mean), len(normal.std))
        for name in ("scale", "shift"):
            self.register_buffer(name, None, persistent=False)
        self._put_constants(torch.get_default_device())

    def _put_constants(self, device: torch.device) -> None:
        pairs = self._affines(self.numbers)
        shape = (self.numbers, 1, 1) if self.axis == -3 else (self.numbers,)
        for name, values in zip(("scale", "shift"), zip(*pairs, strict=True), strict=True):
            setattr(self, name, torch.tensor(values, dtype=torch.float32, device=device).view(shape))

    def _affines(self, channels: int) -> list[tuple[float, float]]:
        """The (scale, shift) of each channel."""
        if self.output.dtype == "uint8":
            return [(255.0 / self.full, -self.first * 255.0 / self.full)] * channels
        return scales_and_shifts(self.output, channels, self.full, self.first)

    def _apply(self, fn: Callable[[Any], Any], recurse: bool = True) -> "TargetStage":
        """Move the constants to the network's device, but keep them float32."""
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        self._put_constants(self.scale.device)
        return self

    def forward(self, image: Any, padding: Any = None) -> Any:
        """Convert a tensor of the loader, or a list of them.

        Args:
            image: uint8 or of the recipe's depth, in the output's layout, with any leading dimensions.
            padding: bool, True where there is no image: (..., H, W), or a flag for each tile.
        """
        if isinstance(image, (list, tuple)):
            return [self(item) for item in image]
        if not isinstance(image, Tensor):
            raise DataError(f"the device stage takes tensors, got {type(image).__name__}")
        if image.dtype != self.dtype:
            raise DataError(f"the device stage takes what the loader gives, {self.dtype}, got {image.dtype}")
        if image.ndim < 3:
            raise DataError(f"an image has at least three dimensions ({self.output.layout}), got {tuple(image.shape)}")
        check_color(self.output.color, image.shape[self.axis])
        values = image if self.dtype == torch.uint8 else image.to(torch.float32, copy=True).sub_(self.low)
        result = self._scaled(self._coloured(values))
        return result if padding is None else result.masked_fill(self._like(padding, image), 0)

    def _like(self, padding: Tensor, image: Tensor) -> Tensor:
        """The padding, of pixels or of tiles, with the image's dimensions."""
        if padding.ndim == image.ndim - 1:
            return padding.unsqueeze(self.axis)
        if padding.ndim == image.ndim - 3:
            return padding[..., None, None, None]
        raise DataError(f"padding of shape {tuple(padding.shape)} does not lie on images of shape {tuple(image.shape)}")

    def _scaled(self, image: Tensor) -> Tensor:
        if image.dtype == torch.uint8 and self.output.dtype == "uint8":
            return image
        channels = image.shape[self.axis]
        if self.numbers not in (1, channels):
            self._affines(channels)  # raises the error
        # As on the host, one float32 multiplication and addition per value; in place, on a copy.
        values = image.to(torch.float32).mul_(self.scale).add_(self.shift)
        values = values.round_().clamp_(0, 255) if self.output.dtype == "uint8" else values
        return values.to(_DTYPES[self.output.dtype])

    def _coloured(self, image: Tensor) -> Tensor:
        """Convert to the output's colour; the result is uint8 where that holds its values."""
        color, grey = self.output.color, image.shape[self.axis] == 1
        if color == "rgb" or (color == "gray" and grey):
            return image
        if color == "bgr":
            return image.flip(self.axis)
        return torch.cat([self._plane(plane, image) for plane in COLOR_PLANES[color]], self.axis)

    def _plane(self, plane: ColorPlane, image: Tensor) -> Tensor:
        rounds = image.dtype == torch.uint8 and self.output.dtype == "uint8"
        planes = image.to(torch.int32 if rounds else torch.float32).unbind(self.axis)
        red, green, blue = planes * RGB if len(planes) == 1 else planes
        r, g, b = plane.parts if rounds else plane.weights
        total = (red * r + green * g + blue * b).unsqueeze(self.axis)
        if not rounds:
            return total + plane.offset * self.full / 255
        return torch.div(total + plane.rounding(), plane.unit, rounding_mode="floor").to(torch.uint8)
