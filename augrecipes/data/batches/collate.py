"""Samples to batches: stack what fits, refuse, list or pad what does not.

A sample is a dict. In the batch

- tensors and arrays are stacked (`default`), kept as a list (`list`), or padded at the bottom and right, bags by tiles
  at their end (`pad`);
- numbers become one tensor (`label`, `index`: int64);
- text, boxes, keypoints, their labels and anything else become lists with one entry a sample: they differ in length.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
import torch
from torch.utils.data import default_collate

from augrecipes.data.batches.memory import empty
from augrecipes.data.batches.rows import BatchRows
from augrecipes.errors import CollateError

Ragged = Literal["default", "list", "pad"]
Layout = Literal["chw", "hwc"]

# One entry a sample, because their number of rows says how many boxes or points a sample has.
RAGGED_KEYS = frozenset({"boxes", "box_labels", "keypoints", "keypoint_labels", "applied"})
# Label of padded mask pixels: `ignore_index` of torch's losses by default, and never a label of a file.
MASK_PADDING = -100
# Coordinates of tiles that are not there, as of tiles whose place is not known.
NO_PLACE = -1


def collate_for(
    choice: Any, *, layout: Layout = "chw", ragged_keys: frozenset[str] = RAGGED_KEYS
) -> Callable[[list[Any]], Any]:
    """The function behind `collate=`: a name, or a callable that takes the list of samples as it is."""
    if callable(choice):
        return cast("Callable[[list[Any]], Any]", choice)
    if choice not in ("default", "list", "pad"):
        raise ValueError(f"collate must be 'default', 'list', 'pad' or a function, got {choice!r}")
    return Collate(choice, layout, ragged_keys)


@dataclass(frozen=True)
class Collate:
    """Turns a list of samples into a batch.

    Args:
        ragged: what happens to tensors of different sizes: `default` raises CollateError, `list` keeps all tensors as
            lists, `pad` enlarges them to the largest height and width. Images are padded with 0 and get a bool tensor
            `padding` (n, H, W), True where there is no image; int64 masks are padded with -100, which torch's losses
            ignore, other integer masks with 255. Bags get as many tiles as the largest, zeros with coordinates -1,
            and `padding` is (n, tiles).
        layout: of the images, for `pad`.
        ragged_keys: keys that always become lists.

    >>> import torch
    >>> batch = Collate("default")([{"image": torch.zeros(3, 4, 4), "label": k, "path": "a.png"} for k in (0, 1)])
    >>> batch["image"].shape, batch["label"], batch["path"]
    (torch.Size([2, 3, 4, 4]), tensor([0, 1]), ['a.png', 'a.png'])
    """

    ragged: Ragged = "default"
    layout: Layout = "chw"
    ragged_keys: frozenset[str] = RAGGED_KEYS

    def __call__(self, samples: list[Any], rows: BatchRows | None = None) -> Any:
        """The batch; CollateError where samples do not fit together. What lies in `rows` already is not moved."""
        if not samples or not isinstance(samples[0], Mapping):
            return _other(samples)
        _check_keys(samples)
        batch: dict[str, Any] = {}
        for key in samples[0]:
            values = [sample[key] for sample in samples]
            if key in self.ragged_keys:
                batch[key] = values
            elif isinstance(values[0], torch.Tensor | np.ndarray):
                tensors = [torch.as_tensor(v) for v in values]
                whole = None if rows is None else rows.whole(key, tensors)
                if whole is None:
                    self._tensors(key, tensors, samples, batch)
                else:
                    self._whole(key, whole, samples, batch)
            elif all(isinstance(v, bool | int | float | np.number | np.bool_) for v in values):
                batch[key] = torch.as_tensor(values)
            else:
                batch[key] = values
        return batch

    def _whole(self, key: str, whole: torch.Tensor, samples: list[Any], batch: dict[str, Any]) -> None:
        """Samples of one size, which lie in their batch: nothing is enlarged, so the padding is empty."""
        batch[key] = whole
        if self.ragged != "pad" or whole.ndim < 4:
            return
        if _is_bag(samples[0]):
            if key == "image":
                batch["padding"] = torch.zeros(whole.shape[:2], dtype=torch.bool)
            return
        top = 1 if self.layout == "hwc" else whole.ndim - 2
        name = "padding" if key == "image" else f"padding_{key}"
        batch[name] = torch.zeros((len(whole), *whole.shape[top : top + 2]), dtype=torch.bool)

    def _tensors(self, key: str, values: list[torch.Tensor], samples: list[Any], batch: dict[str, Any]) -> None:
        if self.ragged == "list":
            batch[key] = values
            return
        odd = next((i for i, v in enumerate(values) if v.dtype != values[0].dtype or v.ndim != values[0].ndim), None)
        if odd is not None:
            raise _misfit(key, values, samples, odd)
        bags = _is_bag(samples[0])
        if self.ragged == "pad" and bags and values[0].ndim:
            _pad_tiles(key, values, samples, batch)
            return
        if self.ragged == "pad" and not bags and values[0].ndim >= 2:
            self._pad(key, values, samples, batch)
            return
        odd = next((i for i, v in enumerate(values) if v.shape != values[0].shape), None)
        if odd is not None:
            raise _misfit(key, values, samples, odd)
        # A bag's tensor belongs to nobody else, and there may be no room for it twice.
        batch[key] = values[0].unsqueeze(0) if bags and len(values) == 1 else _stack(values)

    def _pad(self, key: str, values: list[torch.Tensor], samples: list[Any], batch: dict[str, Any]) -> None:
        is_mask = values[0].ndim == 2
        top = 0 if is_mask or self.layout == "hwc" else values[0].ndim - 2
        rest = [tuple(v.shape[:top]) + tuple(v.shape[top + 2 :]) for v in values]
        odd = next((i for i, r in enumerate(rest) if r != rest[0]), None)
        if odd is not None:
            raise _misfit(key, values, samples, odd)
        height, width = (max(v.shape[top + axis] for v in values) for axis in (0, 1))
        shape = (len(values), *values[0].shape[:top], height, width, *values[0].shape[top + 2 :])
        out = torch.full(shape, _filling(values[0].dtype) if is_mask else 0, dtype=values[0].dtype)
        padding = torch.ones((len(values), height, width), dtype=torch.bool)
        for i, value in enumerate(values):
            rows, columns = value.shape[top], value.shape[top + 1]
            out[i].narrow(top, 0, rows).narrow(top + 1, 0, columns).copy_(value)
            padding[i, :rows, :columns] = False
        batch[key] = out
        if not is_mask:
            batch["padding" if key == "image" else f"padding_{key}"] = padding


def _is_bag(sample: Any) -> bool:
    return "bag" in sample


def _pad_tiles(key: str, values: list[torch.Tensor], samples: list[Any], batch: dict[str, Any]) -> None:
    """Bags as one tensor, each with as many tiles as the largest has: empty ones at its end."""
    first = values[0]
    odd = next((i for i, v in enumerate(values) if v.shape[1:] != first.shape[1:]), None)
    if odd is not None:
        raise _misfit(key, values, samples, odd)
    counts = torch.tensor([len(v) for v in values])
    most = int(counts.max())
    if len(values) == 1:
        batch[key] = first.unsqueeze(0)
    else:
        batch[key] = empty((len(values), most, *first.shape[1:]), first.dtype)
        for row, value in zip(batch[key], values, strict=True):
            row[: len(value)] = value
            row[len(value) :] = NO_PLACE if key == "coords" else 0
    if key == "image":
        batch["padding"] = torch.arange(most) >= counts[:, None]


def _stack(values: list[torch.Tensor]) -> torch.Tensor:
    """One tensor of tensors of one shape and dtype, in shared memory when this is a worker.

    Copied by numpy: torch.stack divides even a small copy among OpenMP threads, which wait for each other. On cores
    that have other work, such as the training step, that takes 20 to 100 times as long as the copy.
    """
    first = values[0]
    if not all(_plain(v) for v in values):
        return cast("torch.Tensor", default_collate(values))
    out = empty((len(values), *first.shape), first.dtype)
    np.stack([v.numpy() for v in values], out=out.numpy())
    return out


def _plain(value: torch.Tensor) -> bool:
    """Whether numpy can read the tensor as it is."""
    return (
        type(value) is torch.Tensor
        and value.device.type == "cpu"
        and value.layout is torch.strided
        and value.dtype not in (torch.bfloat16, torch.complex32)
        and not (value.requires_grad or value.is_conj() or value.is_neg() or value.is_quantized)
    )


def _filling(dtype: torch.dtype) -> int:
    if dtype.is_floating_point:
        return 0
    return 255 if dtype == torch.uint8 else 0 if dtype == torch.bool else MASK_PADDING


def _other(samples: list[Any]) -> Any:
    """Samples that are not dicts, from a user's own dataset: torch's rules."""
    try:
        return default_collate(samples)
    except (RuntimeError, TypeError) as error:
        raise CollateError(f"samples do not fit into one batch: {error}; give collate= a function of yours") from error


def _check_keys(samples: list[Any]) -> None:
    keys = set(samples[0])
    for i, sample in enumerate(samples):
        if not isinstance(sample, Mapping):
            raise CollateError(f"{_name(samples, i)} is a {type(sample).__name__}, {_name(samples, 0)} is a dict")
        if set(sample) != keys:
            more, less = (samples[0], sample) if keys - set(sample) else (sample, samples[0])
            missing = ", ".join(repr(k) for k in more if k not in less)
            has, lacks = (0, i) if more is samples[0] else (i, 0)
            raise CollateError(
                f"{_name(samples, has)} has {missing}, {_name(samples, lacks)} has not: "
                "every sample of a batch needs the same keys",
                _path(samples[lacks]),
            )


def _misfit(key: str, values: list[torch.Tensor], samples: list[Any], odd: int) -> CollateError:
    a, b = values[0], values[odd]
    if a.dtype != b.dtype:
        what = f"{_size(a)} of {a.dtype} in {_name(samples, 0)}, but {_size(b)} of {b.dtype} in {_name(samples, odd)}"
    else:
        what = f"{_size(a)} in {_name(samples, 0)}, but {_size(b)} in {_name(samples, odd)}"
    if _is_bag(samples[odd]) and a.shape[1:] == b.shape[1:]:
        mend = "bags differ in size: load them with batch_size=1"
    else:
        mend = "end the recipe in a crop or resize of fixed size"
    return CollateError(
        f'{key!r} is {what}; {mend}, or with collate="pad" (enlarges, adds a padding mask) or collate="list"',
        _path(samples[odd]),
    )


def _size(value: torch.Tensor) -> str:
    return "×".join(map(str, value.shape)) or "a scalar"


def _name(samples: list[Any], i: int) -> str:
    index = samples[i].get("index") if isinstance(samples[i], Mapping) else None
    name = f"sample {index}" if index is not None else f"sample {i} of the batch"
    return f"{name} ({path})" if (path := _path(samples[i])) else name


def _path(sample: Any) -> str | None:
    path = sample.get("path") if isinstance(sample, Mapping) else None
    return path if isinstance(path, str) else None
