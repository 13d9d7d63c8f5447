"""Sources that are not as they should be: each defect is told with its sample, or the sample is replaced."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kinds import IMAGE
from PIL import Image

import augrecipes as ar
from augrecipes.data.samples import Samples
from augrecipes.errors import DataError, RecipeError
from augrecipes.recipe.parse import parse_text

BOXED = IMAGE.recipe  # takes a mask, boxes and keypoints
PLAIN = "{version: 1, recipe: plain, steps: [HorizontalFlip, RandomGamma: {p: 1.0}], eval: []}"

GOOD = np.zeros((32, 28, 3), np.uint8)
WRONG: dict[str, tuple[Any, str]] = {
    "uint16": (GOOD.astype(np.uint16), "depth="),
    "int64": (GOOD.astype(np.int64), "uint8"),
    "0 to 255 in floats": (np.full((32, 28, 3), 200.0), "0..1|0 to 1"),
    "chw": (np.zeros((3, 32, 28), np.uint8), 'axes="chw"'),
    "one axis": (np.zeros(9, np.uint8), "H×W×C"),
    "nothing": (np.zeros((0, 9, 3), np.uint8), "shape"),
    "None": (None, "no image"),
    "an object": (object(), "Pillow"),
    "no file": ("nowhere.png", "nowhere.png"),
    "no picture": (b"nonsense", "not a picture"),
    "Pillow's I;16": (Image.fromarray(np.zeros((9, 9), np.uint16)), "8 bits"),
    "no image": ({"photo": GOOD}, "'photo'.*keys="),
    "a mask of another size": ({"image": GOOD, "mask": np.zeros((9, 9), int)}, "9×9 px, but it is 32×28"),
    "a mask of colours": ({"image": GOOD, "mask": np.eye(32, 28)[..., None] * [1, 2, 3]}, "mask"),
    "too large labels": ({"image": GOOD, "mask": np.full((32, 28), 2**40)}, "32 bits"),
    "boxes of three": ({"image": GOOD, "boxes": [[1, 2, 3]]}, r"\(n, 4\)"),
    "labels of boxes": ({"image": GOOD, "boxes": [[1, 2, 3, 4]], "box_labels": ["cat"]}, "integers"),
    "three parts": ((GOOD, 1, 2), "keys="),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_told_with_the_sample(name: str) -> None:
    row, text = WRONG[name]
    ds = Samples([GOOD, row], parse_text(BOXED), name="mine")
    with pytest.raises(DataError, match=text) as told:
        ds[1]
    assert name == "no file" or told.value.path == "mine[1]"
    skipping = Samples([GOOD, row], parse_text(BOXED), name="mine", on_error="skip")
    dl = ar.loader(skipping, 2)
    list(dl)
    assert [record.index for record in dl.skipped] == [1]


def test_a_source_that_fails_is_a_data_error() -> None:
    class Broken(list[Any]):
        def __getitem__(self, index: Any) -> Any:
            raise OSError("disk on fire")

    with pytest.raises(DataError, match=r"Broken\[0\]: the source fails: OSError: disk on fire"):
        Samples(Broken([1]), parse_text(PLAIN))[0]


@pytest.mark.parametrize(
    ("source", "error"),
    [([], DataError), (7, TypeError), (iter([GOOD]), TypeError), ("nowhere", DataError), (__file__, DataError)],
)
def test_what_is_no_source(source: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        Samples(source, parse_text(PLAIN))


def test_datasets_of_ours_are_no_sources(roots: dict[str, Path]) -> None:
    with pytest.raises(TypeError, match="give what it reads"):
        Samples(IMAGE.open(roots["image"]), parse_text(PLAIN))
    with pytest.raises(RecipeError, match="TileBags"):
        Samples([GOOD], "stained-tissue-bag")


def test_required_and_untaken_annotations() -> None:
    needs = parse_text("{version: 1, recipe: a, inputs: {mask: required}, steps: [HorizontalFlip], eval: []}")
    with pytest.raises(DataError, match="requires mask"):
        Samples([GOOD], needs)[0]
    without = parse_text("{version: 1, recipe: a, inputs: {mask: absent}, steps: [HorizontalFlip], eval: []}")
    assert "mask" not in Samples([{"image": GOOD, "mask": GOOD[..., 0]}], without)[0]
