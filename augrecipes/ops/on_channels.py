"""Limit steps to some channels of an image: they see only these, and the others keep their bits."""

from collections.abc import Callable
from typing import Any

import numpy as np

from augrecipes.compat import Mixin
from augrecipes.ops.records import op_record


class OnChannels(Mixin):  # type: ignore[misc]
    """A mixin in front of a transform's class: it sees and changes only the channels of `channel_numbers`."""

    channel_numbers: tuple[int, ...]
    image_names: frozenset[str] = frozenset({"image", "images", "volume", "volumes"})

    def update_transform_params(self, params: dict[str, Any], data: dict[str, Any]) -> Any:
        """Complete the drawn parameters with the shape of these channels."""
        return super().update_transform_params(params=params, data=self._each(data, self._stand_in))

    def get_params_dependent_on_data(self, params: dict[str, Any], data: dict[str, Any]) -> Any:
        """Draw from an image of these channels, or from its size alone."""
        draws_from = op_record(type(self).__name__).draws_from
        pixels = draws_from is None or "image" in draws_from
        parts = self._each(data, self._selected if pixels else self._stand_in)
        return super().get_params_dependent_on_data(params=params, data=parts)

    def apply_with_params(self, params: dict[str, Any], *args: Any, **data: Any) -> dict[str, Any]:
        """Run the step on these channels, and put the results back among the others."""
        parts, names = self._each(data, self._selected), self._names(data)
        shape = parts[names[0]].shape[-3:] if names else params["shape"]
        result: dict[str, Any] = super().apply_with_params({**params, "shape": shape}, *args, **parts)
        for name in names:
            changed, result[name] = np.asarray(result[name]), np.array(data[name])
            result[name][..., self.channel_numbers] = changed.reshape(parts[name].shape)  # some drop the axis of grey
        return result

    def _names(self, data: dict[str, Any]) -> list[str]:
        return [name for name in data if name in self.image_names and data[name] is not None]

    def _each(self, data: dict[str, Any], part: Callable[[Any], np.ndarray]) -> dict[str, Any]:
        """The sample with a function applied to each of its images."""
        return {**data, **{name: part(data[name]) for name in self._names(data)}}

    def _selected(self, image: Any) -> np.ndarray:
        self._stand_in(image)
        return np.take(image, self.channel_numbers, axis=-1)

    def _stand_in(self, image: Any) -> np.ndarray:
        """An array with the shape and dtype of these channels, but no pixels."""
        array = np.asarray(image)
        count = array.shape[-1]
        if max(self.channel_numbers) >= count:
            raise ValueError(f"it changes channel {max(self.channel_numbers)}, and the image has {count} channels")
        return np.broadcast_to(np.zeros((), array.dtype), (*array.shape[:-1], len(self.channel_numbers)))


def limit_to_channels(step: Any, numbers: tuple[int, ...]) -> None:
    """Limit a transform to these channels, before a group takes it up."""
    from augrecipes.compat.albumentations import add_mixin

    add_mixin(step, OnChannels)
    step.channel_numbers = numbers
