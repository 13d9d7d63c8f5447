"""What stands beside the steps: kinds, inputs, output, variants; and both recipes as a sheet."""

from itertools import combinations
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from support.folders import draw_waves

import augrecipes as ar
from augrecipes.diff import diff
from augrecipes.diff.images import compared
from augrecipes.errors import DataError, RecipeError
from augrecipes.preview.cells import SheetRow
from augrecipes.preview.display import EMPTY
from augrecipes.recipe.model import Recipe
from augrecipes.recipe.parse import parse_text


def recipe(steps: str = "[]", rest: str = "", name: str = "test") -> Recipe:
    return parse_text(f"version: 1\nrecipe: {name}\nsteps: {steps}\n{rest}")


def differing(a: Recipe, b: Recipe) -> dict[str, tuple[Any, Any]]:
    return {change.key: (change.a, change.b) for change in diff(a, b).settings}


PAIR, OUTPUT = "kind: pair\nscales: {lr: 1, hr: 4}", "kind: pair\nscales: {lr: 1, hr: 4}\noutput: "
ALL_DEFAULTS = "output: {range: [0, 1.0], dtype: float32, layout: chw, color: rgb, where: host}"
IMAGENET = "output: {normalize: {std: [0.229, 0.224, 0.225], mean: [0.485, 0.456, 0.406]}}"
NORMALIZED = {"output.normalize": (None, {"mean": [0.5], "std": [0.5]}), "output.range": ([0, 1], None)}
SETTINGS: list[tuple[str, str, dict[str, Any]]] = [
    ("output: {}", ALL_DEFAULTS, {}),
    ("output: {dtype: uint8}", "output: {dtype: uint8, range: [0, 255]}", {}),
    ("output: {normalize: imagenet}", IMAGENET, {}),
    ("inputs: {mask: optional}", "inputs: {}", {}),
    ("inputs: {boxes: optional}", "inputs: {boxes: {format: pascal_voc}}", {}),
    ("inputs: {boxes: absent, keypoints: absent}", "", {}),
    ("scales: {b: 2, a: 1}\nkind: pair", "allow_resampling: false\nkind: pair\nscales: {a: 1, b: 2}", {}),
    (f"{OUTPUT}{{layout: hwc}}", f"{OUTPUT}{{lr: {{layout: hwc}}, hr: {{layout: hwc}}}}", {}),
    ("", "output: {layout: hwc}", {"output.layout": ("chw", "hwc")}),
    ("", "output: {where: device}", {"output.where": ("host", "device")}),
    ("", "output: {normalize: {mean: 0.5, std: 0.5}}", NORMALIZED),
    ("", "inputs: {image: {channels: 1}}", {"inputs.image.channels": (None, 1)}),
    ("", "inputs: {image: {min_size: [8, 9]}}", {"inputs.image.min_size": (None, [8, 9])}),
    ("", "inputs: {icc: srgb}", {"inputs.image.icc": (None, "srgb")}),
    ("", "inputs: {mask: required}", {"inputs.mask": ("optional", "required")}),
    ("inputs: {boxes: coco}", "inputs: {boxes: {format: coco, clip: true}}", {"inputs.boxes.clip": (False, True)}),
    ("inputs: {keypoints: xy}", "inputs: {keypoints: yx}", {"inputs.keypoints.format": ("xy", "yx")}),
    (PAIR, "kind: pair\nscales: {lr: 1, hr: 2}", {"scales.hr": (4, 2)}),
    (PAIR, f"{OUTPUT}{{layout: hwc}}", {"output.layout": ("chw", "hwc")}),
    (PAIR, f"{OUTPUT}{{hr: {{layout: hwc}}}}", {"output.hr.layout": ("chw", "hwc")}),
]


@pytest.mark.parametrize(("a", "b", "changes"), SETTINGS)
def test_settings_that_differ(a: str, b: str, changes: dict[str, Any]) -> None:
    one, other = recipe(rest=a), recipe(rest=b)
    assert differing(one, other) == changes
    assert differing(other, one) == {key: (after, before) for key, (before, after) in changes.items()}


def test_a_share_of_real_images_is_named_as_it_is_written() -> None:
    made, mixed, real = (ar.load("real-esrgan-x4", overrides=more) for more in (
        {}, {"inputs.lr.real": 0.3}, {"inputs.lr.real": 1},
    ))  # fmt: skip
    assert differing(made, mixed) == {"inputs.lr.real": (None, 0.3)}
    assert differing(mixed, real) == {"inputs.lr.real": (0.3, 1)}


def test_boxes_or_none() -> None:
    (changed,) = differing(recipe(), recipe(rest="inputs: {boxes: coco}")).items()
    assert changed[0] == "inputs.boxes" and changed[1][0] is None and changed[1][1]["format"] == "coco"


def test_what_changes_no_sample_is_a_remark() -> None:
    found = diff(recipe(rest="about: One.", name="a"), recipe(rest="about: Two.\noptimize: fast", name="b"))
    assert found.same
    assert found.remarks == (
        "recipe: a → b",
        "about: other words",
        "optimize: exact → fast: the same recipe and the same draws, planned differently",
    )
    a, b = (parse_text(f"version: 1\nrecipe: a\nsteps: [{flip}]") for flip in ("D4", "{D4: {p: 1.0}}"))
    assert diff(a, b).remarks == ("digest: the same in effect, in other words",)


def test_variants_are_compared_as_they_are_resolved() -> None:
    a = ar.load("stained-tissue")
    b = ar.load("stained-tissue", overrides={"RandomResizedCrop.size": [128, 128]}, without=["HorizontalFlip"])
    steps = [(one.what, one.site) for one in diff(a, b).steps]
    assert steps == [("changed", "RandomResizedCrop#1"), ("removed", "HorizontalFlip#1")]


RNG = np.random.default_rng(0)
LR, HR = RNG.integers(0, 256, (20, 24, 3), np.uint8), RNG.integers(0, 256, (40, 48, 3), np.uint8)
TILES = [RNG.integers(0, 256, (16, 20, 3), np.uint8) for _ in range(3)]

PAIRS = [
    "steps: [{RandomCrop: {height: 8, width: 8}}, {RandomGamma: {p: 1.0}}]",
    "steps: [{RandomCrop: {height: 8, width: 8, at: lr}}, {RandomGamma: {p: 1.0, target: [hr, lr]}}]",
    "steps: [{RandomCrop: {height: 8, width: 8, at: hr}}, {RandomGamma: {p: 1.0}}]",
    "steps: [{RandomCrop: {height: 8, width: 8}}, {RandomGamma: {p: 1.0, target: hr}}]",
    "steps: [{RandomCrop: {height: 8, width: 8}}, {Sequential: {target: hr, steps: [{RandomGamma: {p: 1.0}}]}}]",
    "steps: [{RandomCrop: {height: 8, width: 8}}, "
    "{Sequential: {target: hr, p: 1.0, steps: [{RandomGamma: {p: 1.0, target: hr}}]}}]",
    "steps: [{RandomCrop: {height: 8, width: 8}}, {RandomGamma: {p: 1.0}}]\noutput: {hr: {layout: hwc}}",
    "steps: [{RandomCrop: {height: 8, width: 8}}, {RandomGamma: {p: 1.0}}]\noutput: {hr: {layout: chw}}",
    "steps: [{RandomCrop: {height: 8, width: 8}}, {RandomGamma: {p: 1.0, id: fewer}}]",
]
BAGS = [
    "steps: [{RandomGamma: {p: 1.0}}, {Sequential: {steps: [{RandomGamma: {p: 1.0}}]}}]",
    "steps: [{RandomGamma: {p: 1.0, share: tile}}, {Sequential: {share: tile, steps: [{RandomGamma: {p: 1.0}}]}}]",
    "steps: [{RandomGamma: {p: 1.0, share: bag}}, {Sequential: {steps: [{RandomGamma: {p: 1.0}}]}}]",
    "steps: [{RandomGamma: {p: 1.0}}, {Sequential: {share: bag, steps: [{RandomGamma: {p: 1.0}}]}}]",
    "steps: [{RandomGamma: {p: 1.0}}, {Sequential: {steps: [{RandomGamma: {p: 1.0, share: bag}}]}}]",
]


def pair(text: str) -> Recipe:
    return parse_text(f"version: 1\nrecipe: a\nkind: pair\nscales: {{lr: 1, hr: 2}}\neval: []\n{text}")


def bag(text: str) -> Recipe:
    return parse_text(f"version: 1\nrecipe: a\nkind: bag\neval: []\n{text}")


def sample_of_pair(recipe: Recipe, index: int) -> dict[str, Any]:
    made: dict[str, Any] = recipe.compile().at(index)(lr=LR, hr=HR)
    return made


def sample_of_bag(recipe: Recipe, index: int) -> dict[str, Any]:
    pipeline = recipe.compile()
    return {str(k): pipeline.at(index, 0, k)(image=tile)["image"] for k, tile in enumerate(TILES)}


@pytest.mark.parametrize(
    ("make", "sample", "texts"), [(pair, sample_of_pair, PAIRS), (bag, sample_of_bag, BAGS)], ids=["pairs", "bags"]
)
def test_same_is_same_and_different_is_different(make: Any, sample: Any, texts: list[str]) -> None:
    recipes = [make(text) for text in texts]
    samples = [[sample(recipe, index) for index in range(8)] for recipe in recipes]
    alike = 0
    for (a, made), (b, other) in combinations(zip(recipes, samples, strict=True), 2):
        equal = all(np.array_equal(one[name], two[name]) for one, two in zip(made, other, strict=True) for name in one)
        assert diff(a, b).same == equal, diff(a, b)
        alike += equal
    assert alike


BRIGHTNESS = "[{RandomBrightnessContrast: {brightness_limit: [%s, %s], contrast_limit: [0, 0], p: 1.0}}]"


def drawn(steps: str = "[]", rest: str = "") -> Recipe:
    return parse_text(f"version: 1\nrecipe: test\nsteps: {steps}\neval: []\n{rest}")


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    return draw_waves(tmp_path / "photos", 5, (40, 60))


def rows(*given: Any, **how: Any) -> list[SheetRow]:
    """The rows of the sheet."""
    sheet = compared(*given, **how)
    assert sheet.pixels.dtype == np.uint8
    return list(sheet.rows)


def test_the_same_is_identical(photos: Path) -> None:
    made = rows(drawn("[HorizontalFlip]"), drawn("[{HorizontalFlip: {p: 0.5}}]"), photos, rows=3)
    assert [row.caption for row in made] == [f"{photos.name}/{k}.png" for k in (0, 1, 3)]
    for row in made:
        a, b, difference = row.groups
        np.testing.assert_array_equal(a.cells[0].image, b.cells[0].image)
        assert difference.header == "identical"
        assert (difference.cells[0].image == EMPTY).all()
        headers = [row.source and row.source.header, a.header, b.header]
        assert headers == ["source · 60×40", "A · 60×40 · float32", "B · 60×40 · float32"]


def test_a_difference_is_amplified(photos: Path) -> None:
    (row,) = rows(drawn(BRIGHTNESS % (0, 0)), drawn(BRIGHTNESS % (0.02, 0.02)), photos, rows=1)
    difference = row.groups[2]
    assert difference.header == "difference × 32 · most 5"
    assert difference.cells[0].image.mean() < np.mean(EMPTY) - 50


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (drawn(rest="output: {range: [0, 255], layout: hwc}"), "looks the same, other values"),
        (drawn("[{CenterCrop: {height: 20, width: 30}}]"), "sizes differ"),
    ],
)
def test_what_has_no_difference_to_show(photos: Path, other: Recipe, said: str) -> None:
    (row,) = rows(drawn(), other, photos, rows=1)
    assert row.groups[2].header == said


def test_masks_that_differ(tmp_path: Path) -> None:
    photos, masks = draw_waves(tmp_path / "one", 1, (40, 60)), tmp_path / "masks"
    masks.mkdir()
    mask = np.zeros((40, 60), np.uint8)
    mask[:, :30] = 1
    cv2.imwrite(str(masks / "0.png"), mask)
    (row,) = rows(drawn(), drawn("[{HorizontalFlip: {p: 1.0}}]"), photos, rows=1, masks=masks)
    assert row.notes == ["index 0 · mask differs in 100 %"]


def test_a_row_for_each_target_of_a_pair_and_each_tile_of_a_bag(tmp_path: Path) -> None:
    for name, size in (("hr", 64), ("lr", 16)):
        (tmp_path / name).mkdir()
        cv2.imwrite(str(tmp_path / name / "0.png"), np.full((size, size, 3), 90, np.uint8))
    pairs = "kind: pair\nscales: {lr: 1, hr: 4}"
    data = {"hr": str(tmp_path / "hr"), "lr": str(tmp_path / "lr")}
    made = rows(drawn("[HorizontalFlip]", pairs), drawn("[{InvertImg: {p: 1.0, target: lr}}]", pairs), data)
    assert [(row.notes[0], row.groups[2].header) for row in made] == [
        ("lr · index 0", "difference × 2 · most 75"),
        ("hr · index 0", "identical"),
    ]
    bags = draw_waves(tmp_path / "bags" / "slide", 2, (16, 16)).parent
    a = drawn("[HorizontalFlip]", "kind: bag")
    assert [row.notes[0] for row in rows(a, a, bags)] == ["index 0 · tile 0", "index 0 · tile 1"]


def test_what_cannot_be_drawn(photos: Path) -> None:
    with pytest.raises(DataError, match="A is of kind image and B of kind bag"):
        compared(drawn(), drawn(rest="kind: bag"), photos)
    with pytest.raises(RecipeError, match="no `eval:` section"):
        compared(drawn(), parse_text("version: 1\nrecipe: a\nsteps: []"), photos, mode="eval")
    with pytest.raises(DataError, match="no such file"):
        compared(drawn(), drawn(), photos / "missing")
