"""What is compared: stock, which is what one writes by hand, and what packed stores leave to do."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import albumentations as A
import numpy as np
import pytest
from small_data import KINDS, kind_data

from augrecipes.bench.effects import effects
from augrecipes.bench.run import Options, bench
from augrecipes.bench.sides import (
    Setting,
    StockPipeline,
    albumentations_only,
    dataset_of,
    sides_of,
    stock_side,
    work_of,
)
from augrecipes.bench.stages import staged
from augrecipes.compiler.run.clock import READ
from augrecipes.errors import BenchError, DataError, StoreError
from augrecipes.packing.run import pack
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


RESIZE = (
    "version: 1\nrecipe: it\nsteps: [{Resize: {height: 40, width: 40}}]\neval: [{Resize: {height: 40, width: 40}}]\n"
)
QUICK = Options(["none", "fast"], samples=4, seconds=0.05)


def store_of(kind: str, tmp_path: Path, format_: str = "raw") -> tuple[Any, Any, str]:
    """A recipe, its data, and a store of them in which the first step is baked; of pairs none is."""
    (tmp_path / "data").mkdir()
    made, data = kind_data(kind, tmp_path / "data")
    if kind != "pair":
        resize = parse_text(RESIZE).steps
        made = replace(made, steps=(*resize, *made.steps), eval=resize)
    pack(made, data, tmp_path / "store", workers=0, format=format_)
    return made, data, str(tmp_path / "store")


@pytest.mark.parametrize("kind", KINDS)
def test_samples_and_effects_are_those_of_the_files(kind: str, tmp_path: Path) -> None:
    made, data, store = store_of(kind, tmp_path)
    files, stored = (sides_of({"it": made}, ["none"], Setting(place), 3)[0] for place in (data, store))
    for one, other in zip(work_of(files, 1).start(), work_of(stored, 1).start(), strict=True):
        for name in made.scales or ["image"]:
            np.testing.assert_array_equal(one[name].numpy(), other[name].numpy())
    left, baked = Setting(store).remaining_recipe(made)
    assert baked == (() if kind == "pair" else ("Resize#1",))
    of_files, of_store = effects(made, Setting(data), 4), effects(left, Setting(store), 4)
    assert of_store.samples == of_files.samples
    assert of_store.means == of_files.means
    assert of_store.deviations == of_files.deviations
    assert {**of_files.applied, **of_store.applied} == of_files.applied
    assert of_store.steps[-1].means == of_files.steps[-1].means


@pytest.mark.parametrize("format_", ["raw", "jpeg"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_stages_are_those_of_the_store(kind: str, format_: str, tmp_path: Path) -> None:
    made, _, store = store_of(kind, tmp_path, format_)
    found = bench({"it": made}, Setting(store), QUICK)
    steps = [step.site for step in made.steps][kind != "pair" :]
    for side in found.sides:
        stages = {stage.name: stage.ms for stage in side.stages}
        assert stages["read"] > 0
        assert (stages["decode"] > 0) == (format_ == "jpeg")
        assert "Resize#1" not in stages
        assert stages["sink"] > 0
    assert [stage.name for stage in found.sides[0].stages][2:-3] == steps
    (one,) = found.recipes
    assert one.baked == (() if kind == "pair" else ("Resize#1",))
    assert one.digest == made.digest


def test_a_whole_batch_is_timed_as_reading_and_sink(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    _, data = kind_data("image", tmp_path / "data")
    made = parse_text(RESIZE)
    pack(made, data, tmp_path / "store", workers=0)
    setting = Setting(str(tmp_path / "store"))
    (side,) = sides_of({"it": made}, ["exact"], setting, 4)
    one = staged(side, setting)
    next(one.work(4).start())
    assert one.clock.spent[READ] > 0
    assert one.clock.spent["\x00sink"] > 0
    assert "\x00collate" not in one.clock.spent


def test_stock_runs_what_is_left(tmp_path: Path) -> None:
    made, _, store = store_of("image", tmp_path)
    found = bench({"it": made}, Setting(store), Options(["exact"], stock=True, samples=4, seconds=0.05, effects=False))
    assert found.side("it", "stock") is not None
    steps = found.recipes[0].yardstick.partition("eval:")[0]
    assert "RandomResizedCrop" in steps
    assert "Resize:" not in steps


def test_what_cannot_be_compared_is_refused(tmp_path: Path) -> None:
    made, _, store = store_of("image", tmp_path)
    with pytest.raises(DataError, match="leave --masks out"):
        dataset_of(made, Setting(store, masks=store))
    other = parse_text("version: 1\nrecipe: it\nsteps: [{CenterCrop: {height: 8, width: 8}}]\neval: []\n")
    with pytest.raises(StoreError, match="does not begin with the steps"):
        bench({"it": other}, Setting(store), QUICK)
