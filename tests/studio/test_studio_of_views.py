"""The studio over a recipe of views: all of them with their names, and of its steps each in the view that has it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from studio_pages import Page
from support.checks import planted_faults

import augrecipes as ar
from augrecipes.preview import display, rows
from augrecipes.recipe.parse import parse_text
from augrecipes.studio import draws
from augrecipes.studio import view as of_studio

TEXT = """\
version: 1
recipe: two
kind: views
shared: [HorizontalFlip, RandomCrop: {height: 60, width: 80}]
views:
  global:
    count: 2
    steps: [RandomResizedCrop: {size: [48, 48], scale: [0.6, 1.0]}, RandomGamma: {p: 1.0}]
  local: {count: 3, steps: [RandomResizedCrop: {size: [24, 24]}, OneOf: {steps: [Blur, ToGray], p: 1.0}]}
eval: []
"""
NAMES = ["global 1", "global 2", "local 1", "local 2", "local 3"]


def check_views(page: Page) -> None:
    """Each image is the view that its words name."""
    line, _ = page.lines("/api/draws", text=TEXT, indices=[1], epochs=[2], size=0)
    made = parse_text(TEXT).compile(seed=0).at(1, 2)(image=ar.read_image(page.files[1]))
    views = [image for name in ("global", "local") for image in made[name]]
    assert [one["target"] for one in line["pictures"]] == NAMES
    for shown, view in zip(line["pictures"], views, strict=True):
        np.testing.assert_array_equal(page.pixels(shown["url"]), display.rgb_of_output(view, parse_text(TEXT).output))


def check_switches(page: Page) -> None:
    """A step that is off is off in its own view alone."""
    whole, less = (
        page.lines("/api/draws", text=TEXT, indices=[1], epochs=[0], size=0, off=off)[0]["pictures"]
        for off in ([], ["views.local.steps.1"])
    )
    assert [a["url"] == b["url"] for a, b in zip(whole, less, strict=True)] == [True, True, False, False, False]


def check_stages(page: Page) -> None:
    """Stages are those of the first view, and extremes those of the view that has the step."""
    lines = page.lines("/api/stages", text=TEXT, index=0, epoch=0)
    paths = ["shared.0", "shared.1", "views.global.steps.0", "views.global.steps.1"]
    assert [line["path"] for line in lines[:-1]] == [None, *paths, None]
    sizes = {"shared.1": (60, 80), "views.global.steps.0": (48, 48), "views.local.steps.1.steps.0": (24, 24)}
    for path, size in sizes.items():
        found = page.post("/api/extremes", text=TEXT, path=path, index=0)
        assert page.pixels(found["most"]["url"]).shape[:2] == size


@pytest.mark.parametrize("check", [check_views, check_switches, check_stages])
def test_views_are_shown_switched_and_stepped_through(page: Page, check: Callable[[Page], None]) -> None:
    check(page)
    assert [step["path"] for step in page.post("/api/check", text=TEXT)["steps"]][-1] == "views.local.steps.1.steps.1"


def test_costs_and_comparisons_and_a_variant(page: Page) -> None:
    costs = page.post("/api/cost", text=TEXT, index=0)
    assert {one["site"] for one in costs["steps"]} >= {"RandomCrop#1", "local/OneOf#1/Blur#1"}
    assert sum(one["ms"] for one in costs["plan"]) <= costs["timing"]["after"]["whole"] * 1.01
    found = page.post("/api/compare", a={"text": TEXT}, b={"text": TEXT, "optimize": "none"}, index=0)
    assert found["largest"] == 0
    assert found["words"][-1] == "images are those of the first view, global"
    slider_changed = page.post(
        "/api/slide",
        text="version: 1\nrecipe: b\nextends: simclr\n",
        path="views.view.steps.1",
        argument="p",
        value=0.25,
    )
    assert "view.HorizontalFlip.p: 0.25" in slider_changed["text"]


def the_first(out: Any, names: Any) -> Any:
    for name, words, _, on_it in ROWS(out, names):
        yield name, words, out[name][0], on_it


ROWS = rows.images_of


def on(check: Callable[[Page], None]) -> Callable[[Any], None]:
    return lambda fixture: check(fixture("page"))


test_planted_faults_are_found = planted_faults(
    {
        "the first view in the place of all": (on(check_views), (draws, "images_of", the_first)),
        "steps of the first view only": (on(check_stages), (of_studio, "part_of", lambda recipe, _: recipe.parts()[0])),
    }
)
