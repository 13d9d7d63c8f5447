"""Law: masks that a recipe says how to read give what labels made of them beforehand give, in every mode and dtype."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import torch

import augrecipes as ar
from augrecipes.compiler.run import input_values
from augrecipes.errors import RecipeError, StoreError
from augrecipes.images.encoded import encoded
from augrecipes.packing.run import pack
from augrecipes.recipe.inputs import MaskLabels
from augrecipes.recipe.parse import parse_text
from augrecipes.recipe.write import to_yaml

STEPS = """
  - Rotate: {limit: 30, fill_mask: 1, border_mode: constant, p: 1.0}
  - RandomCrop: {height: 40, width: 48}
  - HorizontalFlip
  - ElasticTransform: {p: 0.5}
"""
LEVELS = ("none", "exact", "fast")


def recipe(mask: str = "optional", steps: str = STEPS, more: str = "") -> Any:
    return parse_text(f"version: 1\nrecipe: t\ninputs: {{mask: {mask}}}\n{more}\nsteps:{steps}")


def stored(dtype: Any, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    values = {"b": [0, 1], "u": [0, 7, 128, 255], "i": [-1, 0, 7, 255], "f": [0.0, 0.25, 0.5, 1.0]}
    return rng.choice(np.array(values[np.dtype(dtype).kind], dtype), (70, 80))


def image(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (70, 80, 3), np.uint8)


VALUES = "{values: {255: 1, 7: 300, -1: 2, 1: 4}}"
TABLE = {255: 1, 7: 300, -1: 2, 1: 4}


def by_hand(mask: np.ndarray, table: dict[int, int]) -> np.ndarray:
    """What `values` means, pixel by pixel."""
    labels = [table.get(value, value) for value in mask.ravel().tolist()]
    return np.array(labels).reshape(mask.shape)


@pytest.mark.parametrize("optimize", LEVELS)
@pytest.mark.parametrize("dtype", [bool, np.uint8, np.uint16, np.int16, np.int32, np.int64, np.float32, np.float64])
def test_values_are_labels_made_beforehand(dtype: Any, optimize: str) -> None:
    mask, table = stored(dtype), {int(k): v for k, v in TABLE.items()}
    known = by_hand(mask, table).astype({bool: np.uint8, np.uint8: np.uint16}.get(dtype, dtype))  # 300 is a label
    mapped, plain = (recipe(text).compile(optimize=optimize) for text in (VALUES, "optional"))
    for k in range(4):
        a, b = mapped.at(k)(image=image(), mask=mask), plain.at(k)(image=image(), mask=known)
        assert a["mask"].dtype == b["mask"].dtype
        assert np.array_equal(a["mask"], b["mask"])
        assert np.array_equal(a["image"], b["image"])


@pytest.mark.parametrize("optimize", LEVELS)
@pytest.mark.parametrize(("dtype", "threshold"), [(np.uint8, 128), (np.uint16, 100), (np.float32, 0.5), (bool, 1)])
def test_a_threshold_makes_two_labels(dtype: Any, threshold: float, optimize: str) -> None:
    mask = stored(dtype)
    mapped = recipe(f"{{threshold: {threshold}}}").compile(optimize=optimize)
    plain = recipe().compile(optimize=optimize)
    a, b = (
        each.at(3)(image=image(), mask=one)["mask"]
        for each, one in ((mapped, mask), (plain, (mask >= threshold).astype(np.uint8)))
    )
    assert a.dtype == np.int64
    assert np.array_equal(a, b)
    assert set(np.unique(a)) == {0, 1}


def test_stacks_of_instances_are_labels_too() -> None:
    stack = np.stack([stored(np.uint8, k) for k in range(3)])
    pipeline = recipe("{values: {255: 1}}", "\n  - HorizontalFlip: {p: 1.0}").compile()
    for masks in (stack, [*stack]):
        done = pipeline.at(0)(image=image(), masks=masks)["masks"]
        assert np.array_equal(np.stack([*done]), by_hand(stack, {255: 1})[:, :, ::-1])
    assert pipeline.at(0)(image=image(), masks=stack[:0])["masks"].shape == (0, 70, 80)


def write(folder: Path, count: int = 6) -> tuple[Path, Path]:
    for name in ("images", "masks"):
        (folder / name).mkdir(parents=True)
    for k in range(count):
        cv2.imwrite(str(folder / f"images/{k}.png"), image(k))
        cv2.imwrite(str(folder / f"masks/{k}.png"), stored(np.uint8, k) // 255 * 255)
    return folder / "images", folder / "masks"


WINDOW = "\n  - RandomCrop: {height: 40, width: 48}\n  - HorizontalFlip"


@pytest.mark.parametrize("optimize", LEVELS)
def test_files_batches_and_windows(tmp_path: Path, optimize: Any) -> None:
    images, masks = write(tmp_path)
    mapped, plain = (
        ar.ImageFolder(images, recipe(text, WINDOW), masks=masks, optimize=optimize)
        for text in ("{values: {255: 1}}", "optional")
    )
    for batch, other in zip(ar.loader(mapped, 3), ar.loader(plain, 3), strict=True):
        assert set(batch["mask"].unique().tolist()) == {0, 1}
        assert torch.equal(batch["mask"], other["mask"] // 255)
    file = encoded((masks / "0.png").read_bytes(), name="mask", channels=None, mask=True)
    cut = mapped.pipeline.at(0)(image=encoded((images / "0.png").read_bytes(), name="image"), mask=file)
    assert np.array_equal(cut["mask"], mapped[0]["mask"])


@pytest.mark.parametrize("steps", ["\n  - Resize: {height: 50, width: 60}" + WINDOW, WINDOW], ids=["baked", "bare"])
@pytest.mark.parametrize("text", ["{values: {255: 1, 1: 2}}", "{threshold: 200}"])
def test_packed_masks_are_mapped_once(tmp_path: Path, steps: str, text: str) -> None:
    images, masks = write(tmp_path)
    mapped = recipe(text, steps)
    pack(mapped, str(images), tmp_path / "store", masks=str(masks), workers=0, format="raw")
    files, store = ar.ImageFolder(images, mapped, masks=masks), ar.Packed(tmp_path / "store", mapped)
    for k in range(6):
        assert torch.equal(files[k]["mask"], store[k]["mask"])
    for batch, other in zip(ar.loader(files, 3), ar.loader(store, 3), strict=True):
        assert torch.equal(batch["mask"], other["mask"])
    if "Resize" in steps:
        with pytest.raises(StoreError, match="mask as"):
            ar.Packed(tmp_path / "store", recipe("optional", steps))
    else:
        assert set(ar.Packed(tmp_path / "store", recipe("optional", steps))[0]["mask"].unique().tolist()) == {0, 255}


@pytest.mark.parametrize("optimize", LEVELS)
def test_views(optimize: str) -> None:
    text = (
        "version: 1\nrecipe: v\nkind: views\ninputs: {mask: {values: {255: 1, 1: 2}}}\n"
        "shared: [Resize: {height: 50, width: 60}]\nviews: {a: {count: 2, steps: [HorizontalFlip]}}\n"
    )
    mask = np.where(stored(np.uint8) == 255, 255, 0).astype(np.uint8)
    done = parse_text(text).compile(optimize=optimize).at(0)(image=image(), mask=mask)
    assert set(np.unique(done["a_mask"])) == {0, 1}


def test_what_was_given_stays_as_it_is() -> None:
    mask = stored(np.uint8)
    before = mask.copy()
    recipe("{values: {255: 1}}", " []").compile().at(0)(image=image(), mask=mask)
    assert np.array_equal(mask, before)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("{values: {a: 1}}", "whole numbers"),
        ("{values: {1.5: 1}}", "whole numbers"),
        ("{values: {255: 0.5}}", "a whole number"),
        ("{values: {255: 1}, threshold: 3}", "leave one out"),
        ("{values: 3}", "mapping"),
        ("{threshold: high}", "number"),
        ("{treshold: 3}", "threshold"),
        ("maybe", "optional"),
    ],
)
def test_what_makes_no_sense_is_an_error_with_its_place(text: str, part: str) -> None:
    with pytest.raises(RecipeError, match=part) as raised:
        recipe(text)
    assert raised.value.problems[0].line == 3


def test_writer_digest_and_pairs() -> None:
    for text in ("{values: {255: 1, -1: 0}, presence: required}", "{threshold: 0.5}", "{presence: required}"):
        mapped = recipe(text)
        assert parse_text(to_yaml(mapped)) == mapped
    assert recipe("{values: {255: 1}}").digest != recipe("{values: {255: 2}}").digest != recipe().digest
    assert recipe("{presence: required}") == recipe("required")
    with pytest.raises(RecipeError, match="images only"):
        parse_text(
            "version: 1\nrecipe: p\nkind: pair\nscales: {lr: 1, hr: 2}\ninputs: {mask: {threshold: 1}}\nsteps: []"
        )


def test_the_lint_of_ignored_labels_counts_in_labels() -> None:
    steps = "\n  - Rotate: {limit: 30, border_mode: constant, p: 1.0}"
    codes = [[each.code for each in ar.lint(recipe(text, steps))] for text in ("{values: {0: 255, 1: 0}}", "optional")]
    assert ["L606" in each for each in codes] == [True, False]


def planted(monkeypatch: pytest.MonkeyPatch, fault: Any) -> None:
    monkeypatch.setattr(input_values, "relabelled", fault)
    input_values._table.cache_clear()


def test_planted_faults_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table that maps labels again, and a threshold that leaves its own value out."""

    def again(mask: np.ndarray, said: MaskLabels) -> np.ndarray:
        result = mask.astype(input_values.label_dtype(mask.dtype, said))
        for value, label in said.values:
            result[result == value] = label
        return result

    planted(monkeypatch, again)
    table = "{values: {255: 7, 7: 300}}"
    mapped = recipe(table).compile().at(0)(image=image(), mask=stored(np.uint8))["mask"]
    plain = recipe().compile().at(0)(image=image(), mask=by_hand(stored(np.uint8), {255: 7, 7: 300}))["mask"]
    assert not np.array_equal(mapped, plain)
    planted(monkeypatch, lambda mask, said: (mask > said.threshold).astype(np.uint8))
    with pytest.raises(AssertionError):
        test_a_threshold_makes_two_labels(np.uint8, 128, "none")
    input_values._table.cache_clear()
