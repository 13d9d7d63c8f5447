"""Stock is what one writes by hand, and no more."""

from __future__ import annotations

from pathlib import Path

import albumentations as A
import numpy as np
import pytest
from small_data import kind_data

from augrecipes.bench.sides import Setting, StockPipeline, albumentations_only, sides_of, stock_side, work_of
from augrecipes.errors import BenchError
from augrecipes.recipe.parse import parse_text

IMAGE = np.random.default_rng(0).integers(0, 256, (60, 80, 3), np.uint8)
STEPS = """
steps:
  - RandomResizedCrop: {size: [32, 32]}
  - OneOf: {p: 0.5, steps: [{ToGray: {p: 1}}, {InvertImg: {p: 1}}]}
  - ColorJitter: {p: 1.0}
"""


@pytest.mark.parametrize(
    ("output", "last"),
    [
        ("{normalize: imagenet}", A.Normalize()),
        ("{}", A.ToFloat(max_value=255)),
        ("{range: [-1, 1]}", A.Normalize(mean=(0.5,) * 3, std=(0.5,) * 3)),
        ("{dtype: uint8}", A.NoOp()),
    ],
)
def test_the_same_as_by_hand(output: str, last: A.BasicTransform) -> None:
    made = parse_text(f"version: 1\nrecipe: mine\n{STEPS}\neval: []\noutput: {output}\n")
    hand = A.Compose(
        [
            A.RandomResizedCrop(size=(32, 32)),
            A.OneOf([A.ToGray(p=1), A.InvertImg(p=1)], p=0.5),
            A.ColorJitter(p=1.0),
            last,
        ],
        seed=3,
    )
    stock = StockPipeline(made, seed=3)
    for k in range(6):
        np.testing.assert_allclose(
            stock.at(k)(image=IMAGE)["image"], hand(image=IMAGE)["image"].transpose(2, 0, 1), atol=1e-6
        )


def test_rewinding_gives_the_same_again() -> None:
    stock = StockPipeline(parse_text(f"version: 1\nrecipe: mine\n{STEPS}\neval: []\n"))
    stock.rewind()
    first = [stock.at(k)(image=IMAGE)["image"] for k in range(4)]
    stock.rewind()
    for one in first:
        np.testing.assert_array_equal(stock.at(0)(image=IMAGE)["image"], one)


def test_boxes_masks_and_points_come_along() -> None:
    made = parse_text(
        "version: 1\nrecipe: mine\ninputs: {boxes: {format: pascal_voc, labels: kinds}, keypoints: {format: xy}}\n"
        "steps: [HorizontalFlip: {p: 1.0}]\neval: []\n"
    )
    targets = {"boxes": [[1, 2, 11, 12]], "kinds": [7], "keypoints": [[3, 4]], "mask": np.zeros((60, 80), np.uint8)}
    found = StockPipeline(made).at(0)(image=IMAGE, **targets)
    ours = made.compile().at(0)(image=IMAGE, **targets)
    np.testing.assert_allclose(found["boxes"], ours["boxes"], atol=1e-4)
    np.testing.assert_allclose(found["keypoints"], ours["keypoints"], atol=1e-4)
    assert found["mask"].dtype == ours["mask"].dtype


def test_what_albumentations_lacks_is_left_out() -> None:
    made = parse_text(
        "version: 1\nrecipe: mine\nsteps: [HorizontalFlip, StainJitter, {OneOf: {steps: [{StainJitter: {p: 1}}]}}]\n"
    )
    plain, left = albumentations_only(made)
    assert [step.name for step in plain.steps] == ["HorizontalFlip"]
    assert left == ("StainJitter#1", "OneOf#1/StainJitter#1")


def test_pairs_have_no_plain_form(tmp_path: Path) -> None:
    made, data = kind_data("pair", tmp_path)
    (side,) = sides_of({"it": made}, ["none"], Setting(data), 2)
    with pytest.raises(BenchError, match="compare the settings of the optimiser"):
        stock_side(side, Setting(data))


@pytest.mark.parametrize("kind", ["image", "bag"])
def test_batches_are_of_the_same_kind(kind: str, tmp_path: Path) -> None:
    made, data = kind_data(kind, tmp_path)
    (side,) = sides_of({"it": made}, ["none"], Setting(data), 2)
    ours, stock = (next(work_of(one, 1).start()) for one in (side, stock_side(side, Setting(data))))
    assert ours["image"].shape == stock["image"].shape
    assert ours["image"].dtype == stock["image"].dtype
    assert ours.keys() == stock.keys()
