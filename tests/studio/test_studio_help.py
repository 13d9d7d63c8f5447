"""What the page is told of arguments, of gaps that an import left, of classes, and of errors that many draws have."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from studio_pages import QUICK, Page, write_images

from augrecipes.interop.draft import LEFT_OUT
from augrecipes.ops import registry
from augrecipes.recipe.edit import TextEdit, TextSpan, applied
from augrecipes.studio import file
from augrecipes.studio.editing import PageText
from augrecipes.studio.file import pair_names

PAIRS = {
    ("CLAHE", "tile_grid_size"): ("rows", "columns"),
    ("GridDropout", "holes_number_xy"): ("x", "y"),
    ("GridDropout", "shift_xy"): ("x", "y"),
    ("GridElasticDeform", "num_grid_xy"): ("x", "y"),
    ("LongestMaxSize", "max_size_hw"): ("height", "width"),
    ("Pad", "padding"): ("left, right", "top, bottom"),
    ("RandomGridShuffle", "grid"): ("rows", "columns"),
    ("RandomResizedCrop", "size"): ("height", "width"),
    ("RandomSizedCrop", "size"): ("height", "width"),
    ("SmallestMaxSize", "max_size_hw"): ("height", "width"),
}
SIZED = """\
version: 1
recipe: sized
steps:
  - RandomResizedCrop: {size: [48, 96], scale: [0.5, 1.0]}
"""
SOURCE = """\
import albumentations as A
train = A.Compose([
    A.Lambda(image=lambda x, **k: x, name="first"),
    A.HorizontalFlip(),
    A.Lambda(image=lambda x, **k: 255 - x, name="last"),
])
"""


def test_pairs_that_are_no_ranges_are_known_by_their_schema() -> None:
    found = {
        (name, argument): names
        for name in registry.names()
        for argument, schema in (registry.arguments(name) or {"properties": {}})["properties"].items()
        if (names := pair_names(argument, schema))
    }
    assert found == PAIRS
    steps = file.schema()["steps"]
    for (name, argument), names in PAIRS.items():
        known = steps[name]["arguments"][argument]
        assert (known["type"], known["names"], known["whole"]) == ("pair", names, True)
    assert steps["Rotate"]["arguments"]["limit"]["type"] == "range"
    number = {"type": "integer", "minimum": 1}
    own = {"type": "array", "prefixItems": [number, number], "minItems": 2, "maxItems": 2}
    assert pair_names("cells", own) == ("first", "second")  # of a class that somebody registers
    assert pair_names("cells_range", own) is pair_names("cells", {**own, "x-nondecreasing": True}) is None


def test_extremes_leave_a_size_as_it_is_written(page: Page) -> None:
    found = page.post("/api/extremes", text=SIZED, path="steps.0", size=0)
    assert [page.pixels(found[which]["url"]).shape for which in ("least", "most")] == [(48, 96, 3)] * 2
    assert found["least"]["apart"] < found["most"]["apart"]


def test_no_help_ends_within_a_sentence() -> None:
    for name, step in file.schema()["steps"].items():
        for text in (step["first_line"], *(known["doc"] for known in step["arguments"].values())):
            assert text.count("(") == text.count(")"), (name, text)
            assert not text.endswith(("...", "i.e", "e.g", ":", ",")), (name, text)


def test_what_an_import_left_out_is_a_warning_until_its_comment_goes(page: Page) -> None:
    text = page.post("/api/import", text=SOURCE, name="train.py")["text"]
    lines = [at for at, line in enumerate(text.splitlines(), 1) if "left out: Lambda" in line]
    problems = page.post("/api/check", text=text)["problems"]
    assert [one["from"][0] for one in problems] == lines
    assert len(lines) == 2
    for one in problems:
        assert (one["severity"], one["code"]) == ("warning", "E602")
        assert one["message"].startswith("left out: Lambda: ")
        assert one["more"]
    (edit,) = problems[0]["fix"]["edits"]
    span = TextSpan(*(PageText(text).offset(line, column + 1) for line, column in (edit["from"], edit["to"])))
    mended = applied(text, [TextEdit(span, edit["text"])])
    assert [*mended.splitlines()] == [line for at, line in enumerate(text.splitlines(), 1) if at != lines[0]]
    assert [one["from"][0] for one in page.post("/api/check", text=mended)["problems"]] == [lines[1] - 1]
    assert not LEFT_OUT.search(QUICK + "# it was left out: nobody knows why\n")


def test_classes_take_turns(open_page: Callable[..., Page], tmp_path: Path) -> None:
    found = open_page(None, write_images(tmp_path / "two", "bag")).post("/api/source", text=QUICK)
    assert [found["names"][index].partition("/")[0] for index in found["turns"]] == ["a", "b"] * 3
    assert found["turns"] == [0, 3, 1, 4, 2, 5]
    assert open_page(None, write_images(tmp_path / "one", "image")).post("/api/source", text=QUICK)["turns"] == []
    many = file.class_turns(np.repeat(np.arange(40), 100))
    assert len(many) == file.NAMES
    assert many[:41] == [*range(0, 4000, 100), 1]


def test_an_error_of_many_draws_has_one_cause(page: Page) -> None:
    text = "version: 1\nrecipe: large\nsteps: [RandomCrop: {height: 999, width: 999, p: 1.0}]\n"
    *lines, _ = page.lines("/api/draws", text=text, indices=[0, 1, 2], epochs=[0, 1])
    assert len({line["error"]["message"] for line in lines}) == 3  # each names its file
    (cause,) = {line["cause"] for line in lines}
    assert cause.startswith("step RandomCrop#1: ")
    assert not any(line["name"] in cause for line in lines)


@pytest.mark.parametrize("bound", [{}, {"maximum": 8}, {"default": 3}])
def test_the_end_of_a_slider_is_a_guess_without_bound_and_default(bound: dict[str, Any]) -> None:
    assert file.argument_of("height", {"type": "integer", "minimum": 1, **bound})["endless"] is not bool(bound)
