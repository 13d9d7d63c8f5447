"""The sink as a torch module: whole numbers travel, fewer bytes, and become floats where the network is."""

from __future__ import annotations

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
    """The rest of a recipe's output, done on the training device; see `Recipe.device_stage`.

    A batch is a tensor, a list of tensors, or a dict as the loader gives it, in which the image (of pairs: each target)
    is replaced; the caller's own batch stays as it is. Everything else passes through, as do targets whose output says
    `where: host`. Where the loader has padded (`padding`), the result is 0, as it is on the host. Draws nothing, has no
    parameters and nothing to save, and computes in float32 whatever the network around it computes in. Works under
    `torch.compile`.

    Args:
        recipe: its output, or that of some target, says `where: device`.

    Raises:
        RecipeError: it does not.

    >>> import augrecipes as ar
    >>> recipe = ar.load("folder-128", overrides={"output.where": "device"})
    >>> stage = recipe.device_stage()
    >>> stage(torch.full((2, 3, 4, 4), 255, dtype=torch.uint8)).dtype
    torch.float32
    """

    def __init__(self, recipe: Recipe) -> None:
        super().__init__()
        further = [name for name, target in recipe.targets.items() if target.is_image]
        views = [view.name for view in recipe.views]  # of which evaluation makes none, but an image
        names = tuple(recipe.scales) or ("images" if recipe.inputs.stack else "image", *further, *views)
        absent = {name for name in further if recipe.targets[name].presence == "optional"}
        self.optional = absent | {"image", *views} if views else absent
        outputs: Mapping[str, Output] = {name: recipe.outputs.get(name, recipe.output) for name in names}
        mine = [name for name in names if outputs[name].where == "device"]
        if not mine:
            which = f"; its targets are {', '.join(names)}" if recipe.scales else ""
            raise RecipeError(
                f"{recipe.file}: nothing is left for a device, the loader gives the output as it is; "
                f"`output: {{where: device}}` lets uint8 leave the loader{which}"
            )
        self.names = tuple(mine)
        # Names of targets are free, and those of modules are not: `forward` or `a.b` cannot be one.
        self.stages = nn.ModuleList(TargetStage(outputs[name], recipe.inputs) for name in mine)

    def forward(self, batch: Batch) -> Batch:
        """The batch with its images as the host's sink would have made them.

        Raises:
            DataError: an image is missing or is not what the loader gives.
        """
        if not isinstance(batch, dict):
            if len(self.names) > 1 + len(self.optional):
                raise DataError(f"give the batch as a dict: the device's targets are {', '.join(self.names)}")
            return self.stages[0](batch)
        done, missing = dict(batch), [name for name in self.names if name not in batch]
        if len(missing) == len(self.names) or not self.optional.issuperset(missing):
            which = " or ".join(map(repr, missing))
            raise DataError(f"the batch has no {which}; it has {', '.join(map(repr, batch)) or 'nothing'}")
        for name, stage in zip(self.names, self.stages, strict=True):
            if name in done:
                padding = done.get("padding" if name in ("image", "images") else f"padding_{name}")
                done[name] = stage(done[name], padding)
        return done


class TargetStage(nn.Module):
    """What is left to do for one target: colour, scale and shift, dtype.

    Args:
        output: of the target.
        inputs: of the recipe: the depth and the range of images.
    """

    scale: Tensor
    shift: Tensor

    def __init__(self, output: Output, inputs: Inputs = _EIGHT_BITS) -> None:
        super().__init__()
        self.output, self.dtype = output, _DTYPES[inputs.deep_dtype or "uint8"]
        lowest, highest = inputs.full_range
        self.low = float(torch.tensor(lowest, dtype=torch.float32))  # is taken from each value first
        self.full, self.first = highest - lowest, lowest - self.low
        self.axis = -3 if output.layout == "chw" else -1
        # One number that suits any channel, or one a channel.
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
        """(scale, shift) of each channel."""
        if self.output.dtype == "uint8":
            return [(255.0 / self.full, -self.first * 255.0 / self.full)] * channels
        return scales_and_shifts(self.output, channels, self.full, self.first)

    def _apply(self, fn: Callable[[Any], Any], recurse: bool = True) -> TargetStage:
        """The constants follow the network to its device, and not to its dtype."""
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        self._put_constants(self.scale.device)
        return self

    def forward(self, image: Any, padding: Any = None) -> Any:
        """A tensor of what the loader gives, uint8 or of the recipe's depth, or a list of such.

        In the output's layout, with any dimensions in front.

        `padding` is a bool tensor, True where there is no image: (..., H, W), or one flag a tile.
        """
        if isinstance(image, list | tuple):
            return [self(each) for each in image]
        if not isinstance(image, Tensor):
            raise DataError(f"the device stage takes tensors, got {type(image).__name__}")
        if image.dtype != self.dtype:
            raise DataError(f"the device stage takes what the loader gives, {self.dtype}, got {image.dtype}")
        if image.ndim < 3:
            raise DataError(f"an image has at least three dimensions ({self.output.layout}), got {tuple(image.shape)}")
        check_color(self.output.color, image.shape[self.axis])
        values = image if self.dtype == torch.uint8 else image.to(torch.float32, copy=True).sub_(self.low)
        done = self._scaled(self._coloured(values))
        return done if padding is None else done.masked_fill(self._like(padding, image), 0)

    def _like(self, padding: Tensor, image: Tensor) -> Tensor:
        """The padding with the image's dimensions: it came with a flag a pixel, or a flag a tile."""
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
            self._affines(channels)  # says what is wrong
        # As on the host, one multiplication and one addition of float32 a value, in memory of our own.
        values = image.to(torch.float32).mul_(self.scale).add_(self.shift)
        values = values.round_().clamp_(0, 255) if self.output.dtype == "uint8" else values
        return values.to(_DTYPES[self.output.dtype])

    def _coloured(self, image: Tensor) -> Tensor:
        """The channels that leave; uint8 where that holds their values."""
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
