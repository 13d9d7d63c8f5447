"""Batches: what is stacked, listed, padded and refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from augrecipes.data.collate import MASK_PADDING, Collate, collate_for
from augrecipes.errors import CollateError


def sample(height: int = 4, width: int = 5, index: int = 0, boxes: int = 1) -> dict[str, Any]:
    return {
        "image": torch.full((3, height, width), index + 1.0),
        "mask": torch.full((height, width), index + 1),
        "boxes": torch.ones(boxes, 4),
        "box_labels": torch.ones(boxes, dtype=torch.int64),
        "label": index,
        "index": index,
        "path": f"{index}.png",
    }


def test_default_stacks() -> None:
    batch = Collate()([sample(index=i, boxes=i) for i in range(3)])
    assert batch["image"].shape == (3, 3, 4, 5)
    assert (batch["mask"].shape, batch["mask"].dtype) == ((3, 4, 5), torch.int64)
    assert torch.equal(batch["label"], torch.tensor([0, 1, 2]))
    assert batch["label"].dtype == torch.int64
    assert batch["path"] == ["0.png", "1.png", "2.png"]
    assert [len(b) for b in batch["boxes"]] == [len(b) for b in batch["box_labels"]] == [0, 1, 2]


@pytest.mark.parametrize(
    "make",
    [
        lambda i: torch.arange(12.0).reshape(3, 4).T + i,  # not contiguous
        lambda i: torch.zeros(0, 3),
        torch.tensor,
        lambda i: torch.full((2, 2), i, dtype=torch.bfloat16),
        lambda i: torch.full((2, 2), float(i), requires_grad=True),
        lambda i: torch.full((2, 2), complex(0, i)).conj(),
    ],
)
def test_stacks_as_torch_does(make: Callable[[int], torch.Tensor]) -> None:
    values = [make(i) for i in range(3)]
    stacked = Collate()([{"image": value} for value in values])["image"]
    assert stacked.dtype == values[0].dtype
    assert torch.equal(stacked, torch.stack(values))


def test_boxes_stay_lists_where_counts_agree() -> None:
    assert isinstance(Collate()([sample(), sample()])["boxes"], list)


def test_default_refuses_with_both_sizes() -> None:
    with pytest.raises(
        CollateError, match=r"3×4×5 in sample 0 \([^)]*\), but 3×4×6 in sample 7.*\"pad\".*\"list\""
    ) as caught:
        Collate()([sample(), sample(), sample(width=6, index=7)])
    assert caught.value.path == "7.png"
    with pytest.raises(CollateError, match=r"torch\.float32.*torch\.uint8"):
        Collate()([{"image": torch.zeros(1)}, {"image": torch.zeros(1, dtype=torch.uint8)}])


@pytest.mark.parametrize("swap", [False, True])
def test_missing_keys_are_named(swap: bool) -> None:
    pair = [sample(), {k: v for k, v in sample(index=1).items() if k != "mask"}]
    with pytest.raises(CollateError, match=r"sample 0 \([^)]*\) has 'mask', sample 1 \([^)]*\) has not"):
        Collate()(pair[::-1] if swap else pair)


def test_list_keeps_tensors_apart() -> None:
    batch = Collate("list")([sample(), sample(height=9, index=1)])
    assert [tuple(v.shape) for v in batch["image"]] == [(3, 4, 5), (3, 9, 5)]
    assert torch.equal(batch["label"], torch.tensor([0, 1]))


sizes = st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=1, max_size=4)


@given(sizes, st.sampled_from(["chw", "hwc"]))
def test_pad_keeps_every_pixel_and_marks_the_rest(found: list[tuple[int, int]], layout: Any) -> None:
    samples = [sample(h, w, i) for i, (h, w) in enumerate(found)]
    if layout == "hwc":
        samples = [s | {"image": s["image"].permute(1, 2, 0)} for s in samples]
    batch = Collate("pad", layout)(samples)
    height, width = max(h for h, _ in found), max(w for _, w in found)
    image = batch["image"] if layout == "chw" else batch["image"].permute(0, 3, 1, 2)
    assert image.shape == (len(found), 3, height, width)
    assert batch["padding"].shape == (len(found), height, width)
    for i, (h, w) in enumerate(found):
        assert (image[i, :, :h, :w] == i + 1).all()
        assert (batch["mask"][i, :h, :w] == i + 1).all()
        assert not batch["padding"][i, :h, :w].any()
        assert batch["padding"][i].sum() == height * width - h * w
        assert (image[i, :, batch["padding"][i]] == 0).all()
        assert (batch["mask"][i][batch["padding"][i]] == MASK_PADDING).all()


def test_padded_mask_pixels_count_in_no_loss() -> None:
    batch = Collate("pad")([sample(2, 2), sample(4, 4)])
    scores = torch.zeros(2, 3, 4, 4)
    assert torch.isfinite(torch.nn.functional.cross_entropy(scores, batch["mask"]))


def test_pad_refuses_other_channels() -> None:
    with pytest.raises(CollateError, match="1×4×5 in sample 1"):
        Collate("pad")([sample(), sample(index=1) | {"image": torch.zeros(1, 4, 5)}])


def test_numpy_and_numbers() -> None:
    batch = Collate()([{"a": np.zeros((2, 2), np.float32), "b": np.float64(0.5), "c": True}] * 2)
    assert batch["a"].shape == (2, 2, 2)
    assert batch["b"].tolist() == [0.5, 0.5]
    assert batch["c"].dtype == torch.bool


def test_samples_that_are_not_dicts() -> None:
    assert Collate()([(torch.zeros(2), 1), (torch.ones(2), 2)])[1].tolist() == [1, 2]
    with pytest.raises(CollateError, match="do not fit"):
        Collate()([torch.zeros(2), torch.zeros(3)])


def test_a_function_is_taken_as_it_is() -> None:
    assert collate_for(len, []) is len
