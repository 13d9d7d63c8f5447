"""Draws, stages, extremes, two settings next to each other, cost, import and export; of images, pairs and bags."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import albumentations as A
import cv2
import numpy as np
import pytest
from studio_pages import BAG, PAIR, Page, image_of, write_images

import augrecipes as ar
from augrecipes.preview.display import rgb_of_input, rgb_of_output
from augrecipes.studio import compare

TEXT = """\
version: 1
recipe: mine
steps:
  - RandomCrop: {height: 48, width: 64}
  - Rotate: {limit: [20, 20], border_mode: reflect_101, p: 1.0}
  - OneOf: {steps: [GaussianBlur: {p: 1.0}, RandomBrightnessContrast: {p: 1.0}]}
  - HorizontalFlip: {p: 0.5}
eval: derived
"""


def test_what_the_page_starts_with(page: Page) -> None:
    assert page.get("/api/alive") == {"sha": None}
    found = page.get("/api/recipe")
    assert found["path"] is None
    assert ar.load(found["text"]).name == "my-recipe"
    assert page.post("/api/check", text=found["text"])["problems"] == []
    assert {one["name"] for one in page.get("/api/gallery")} == set(ar.gallery_names())
    assert "Rotate" in page.get("/api/schema")["steps"]
    refused = page.ask("POST", "/api/draws", {"text": "version: 1\nrecipe: x\nsteps: [Rotat]\n"})
    assert (refused.status, "Rotate" in refused.json["error"]["message"]) == (422, True)
    assert page.ask("POST", "/api/draws", {"text": TEXT, "indices": [99]}).status == 404


def test_small_images_are_small_and_those_that_are_gone_are_drawn_again(page: Page) -> None:
    shown = page.lines("/api/draws", text=TEXT, size=32)[0]["pictures"][0]
    assert page.pixels(shown["url"]).shape == (24, 32, 3)
    assert (shown["width"], shown["height"]) == (64, 48)
    page.studio.images.__init__(1, len)  # type: ignore[misc]
    assert page.ask("GET", shown["url"]).status == 404
    assert page.ask("GET", page.lines("/api/draws", text=TEXT)[0]["pictures"][0]["url"]).status == 200


def test_stages_are_those_of_the_pipeline(page: Page) -> None:
    pipeline = ar.load(TEXT).compile(seed=4, optimize="none")
    image = ar.read_image(page.files[1])
    for epoch in range(4):
        lines = page.lines("/api/stages", text=TEXT, index=1, epoch=epoch, seed=4, size=0)
        assert [line.get("path") for line in lines] == [None, "steps.0", "steps.1", "steps.2", "steps.3", None, None]
        traced = pipeline.stages(1, epoch)(image=image)
        for line, (_, stage) in zip(lines[1:5], traced, strict=True):
            assert np.array_equal(page.pixels(line["url"]), rgb_of_input(stage))
        out = pipeline.at(1, epoch)(image=image)["image"]
        assert np.array_equal(page.pixels(lines[5]["url"]), rgb_of_output(out, pipeline.recipe.output))
        flipped = not np.array_equal(traced[3][1], traced[2][1])
        assert lines[4]["applied"] is flipped
        assert lines[4]["words"].startswith("did not act") is not flipped
        assert "window 64×48 at (" in lines[1]["words"]
        assert re.match("angle −?20°", lines[2]["words"])
        assert lines[3]["words"].startswith(("GaussianBlur", "RandomBrightnessContrast"))


def test_switches_leave_other_draws(page: Page) -> None:
    plain = page.lines("/api/stages", text=TEXT, index=1, seed=4)
    off = page.lines("/api/stages", text=TEXT, index=1, seed=4, off=["steps.1", "steps.2"], force={"steps.3": 1})
    assert [line["on"] for line in off[1:5]] == [True, False, False, True]
    assert off[1] == plain[1]  # the crop draws what it drew
    assert off[2]["words"] == "switched off"
    assert off[4]["applied"] is True
    assert page.lines("/api/stages", text=TEXT, index=1, seed=4, force={"steps.3": 0})[4]["applied"] is False
    for epoch in range(5):
        forced = page.lines("/api/stages", text=TEXT, index=1, epoch=epoch, force={"steps.2.steps.1": 1})
        assert forced[3]["words"].startswith("RandomBrightnessContrast")
    for body in ({"off": ["steps.9"]}, {"force": {"steps.0": 2}}, {"force": {"steps.0": True}}, {"off": "steps.0"}):
        assert page.ask("POST", "/api/stages", {"text": TEXT, **body}).status in (400, 404)


GROUPS = """\
version: 1
recipe: groups
steps:
  - HorizontalFlip
  - OneOf:
      p: 0.2
      steps:
        - Rotate: {limit: 5, border_mode: reflect_101}
        - RandomBrightnessContrast: {brightness_limit: [0.5, 0.6], contrast_limit: 0}
  - SomeOf: {n: 1, steps: [GaussianBlur: {sigma_limit: [0.1, 6.0]}, HueSaturationValue]}
  - Sequential: {steps: [Blur: {blur_limit: [3, 9]}, VerticalFlip]}
eval: derived
"""


def test_extremes_of_groups_are_those_of_their_steps(page: Page) -> None:
    of_one = page.post("/api/extremes", text=GROUPS, path="steps.1", index=1)
    assert of_one["most"]["words"].startswith("RandomBrightnessContrast: ")
    assert of_one["least"]["words"].startswith("Rotate: angle")
    inner = page.post("/api/extremes", text=GROUPS, path="steps.1.steps.1", index=1)
    assert of_one["most"]["apart"] >= inner["most"]["apart"] * 0.99
    for path in ("steps.2", "steps.3"):
        found = page.post("/api/extremes", text=GROUPS, path=path, index=1)
        assert found["least"]["apart"] < found["most"]["apart"]
        assert page.pixels(found["most"]["url"]).shape == (120, 160, 3)
    off = page.post("/api/extremes", text=GROUPS, path="steps.1", index=1, off=["steps.0"])
    assert off["most"]["words"].startswith("RandomBrightnessContrast: ")  # the step that is meant, not the next one


SECTIONS = """\
version: 1
recipe: sections
steps: [CenterCrop: {height: 60, width: 70}, HorizontalFlip, Blur]
eval: [Equalize: {p: 1.0}, CenterCrop: {height: 40, width: 50}, HorizontalFlip: {p: 1.0}]
"""


def sizes_behind_eval(page: Page) -> list[tuple[int, ...]]:
    """Of the images behind each step of a section whose steps have the labels of another section's."""
    found = (page.post("/api/extremes", text=SECTIONS, path=f"eval.{k}", index=1) for k in range(3))
    return [page.pixels(one["most"]["url"]).shape[:2] for one in found]


def test_extremes_of_evaluation_have_its_own_steps_before_them(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sizes_behind_eval(page) == [(120, 160), (40, 50), (40, 50)]
    real, other = compare.sites_before, {"CenterCrop#1", "HorizontalFlip#1", "Blur#1"}
    monkeypatch.setattr(compare, "sites_before", lambda view, path: {*other, *real(view, path)})  # planted
    assert sizes_behind_eval(page) != [(120, 160), (40, 50), (40, 50)]


DEGRADED = (
    PAIR.partition("  - HorizontalFlip")[0]
    + """\
  - Degrade:
      source: hr
      target: lr
      steps: [GaussianBlur: {sigma_limit: [0.2, 4.0], p: 0.5}, ResizeToTarget, GaussNoise: {std_range: [0.01, 0.2]}]
eval: []
"""
)


def test_pairs_with_their_scenes(open_page: Callable[..., Page], tmp_path: Path) -> None:
    page = open_page(None, write_images(tmp_path, "pair"))
    assert page.post("/api/source", text=PAIR)["kind"] == "pairs"
    (line, _) = page.lines("/api/draws", text=PAIR, seed=2, source=True)
    sizes = {one["target"]: page.pixels(one["source"]["url"]).shape for one in line["pictures"]}
    assert sizes == {"lr": (60, 80, 3), "hr": (120, 160, 3)}
    stages = page.lines("/api/stages", text=PAIR, seed=2)
    assert [one["target"] for one in stages[1]["pictures"]] == ["lr", "hr"]
    crop = page.post("/api/extremes", text=PAIR, path="steps.0", index=1)
    assert crop["least"]["apart"] <= crop["most"]["apart"]
    made = open_page(None, {"hr": str(tmp_path / "hr")})
    of_degrade = ((made, DEGRADED, path) for path in ("steps.1", "steps.1.steps.0", "steps.1.steps.2"))
    for one, text, path in ((page, PAIR, "steps.2"), *of_degrade):
        found = one.post("/api/extremes", text=text, path=path, index=1)
        assert (found["most"]["target"], found["most"]["width"]) == ("lr", 24)  # what changes most
        assert found["least"]["apart"] < found["most"]["apart"]


def test_two_settings_next_to_each_other(page: Page) -> None:
    other = TEXT.replace("[20, 20]", "[40, 40]")
    found = page.post("/api/compare", a={"text": TEXT}, b={"text": other}, index=1, size=0)
    a, b = (page.pixels(found[side]["url"]).astype(float) for side in "ab")
    assert found["largest"] == np.abs(a - b).max() > 0
    assert found["mean"] == pytest.approx(np.abs(a - b).max(axis=-1).mean())
    assert any("limit: [20, 20] → [40, 40]" in line for line in found["words"])
    assert page.pixels(found["difference"]["url"]).shape == a.shape
    same = page.post("/api/compare", a={"text": TEXT}, b={"text": TEXT, "optimize": "none"}, index=1)
    assert (same["largest"], same["words"]) == (0, ["optimize: exact → none"])
    sizes = page.post("/api/compare", a={"text": TEXT}, b={"text": TEXT, "off": ["steps.0"]}, index=1)
    assert (sizes["difference"], sizes["largest"]) == (None, None)
    pair = ar.load("sr-x4").to_yaml()
    assert page.ask("POST", "/api/compare", {"a": {"text": TEXT}, "b": {"text": pair}}).status == 422


def test_cost_names_every_step_and_rule(page: Page) -> None:
    found = page.post("/api/cost", text=TEXT, index=1, optimize="fast")
    names = ["RandomCrop", "Rotate", "OneOf", "GaussianBlur", "RandomBrightnessContrast", "HorizontalFlip"]
    assert [step["name"] for step in found["steps"]] == names
    assert all(step["ms"] >= 0 for step in (*found["steps"], *found["plan"]))
    assert min(found["timing"][when]["whole"] for when in ("before", "after")) > 0
    explained = ar.explain(ar.load(TEXT), optimize="fast", arrival="uint8").to_json()
    for part in ("rules", "stayed", "native"):
        assert found[part] == explained[part]
    assert not {rule["rule"] for rule in found["idle"]} & {rule["rule"] for rule in found["rules"]}


def test_import_and_export(page: Page) -> None:
    saved = json.dumps(A.to_dict(A.Compose([A.HorizontalFlip(p=0.3), A.Rotate(limit=10)])))
    found = page.post("/api/import", name="aug.json", text=saved)
    assert [step.name for step in ar.load(found["text"]).steps] == ["HorizontalFlip", "Rotate"]
    assert page.post("/api/import", name="mine.yaml", text=TEXT) == {"text": TEXT, "notes": []}
    assert page.ask("POST", "/api/import", {"name": "x.txt", "text": "hello"}).status == 422
    code = page.post("/api/export", text=TEXT, **{"as": "python"})
    assert code["name"] == "mine.py"
    scope: dict[str, Any] = {}
    exec(compile(code["text"], "mine.py", "exec"), scope)
    assert len(scope["train"].transforms) == 6  # and the output
    assert "__version__" in json.loads(page.post("/api/export", text=TEXT, **{"as": "json"})["text"])
    assert page.ask("POST", "/api/export", {"text": TEXT, "as": "exe"}).status == 400


def test_tiles_are_chosen_by_their_numbers(open_page: Callable[..., Page], tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    for number in range(8):
        assert cv2.imwrite(str(tmp_path / "a" / f"{number}.png"), image_of(number, 40, 40))
    page = open_page(None, tmp_path)
    whole = BAG.replace("max_tiles: 5", "max_tiles: 100")
    line = page.lines("/api/draws", text=whole, chosen=[6, 1], source=True)[0]
    assert [shown["tile"] for shown in line["pictures"]] == [6, 1]
    assert [words.split(":")[0] for words in line["words"]] == ["StainJitter"]  # what the tiles share
    assert page.lines("/api/draws", text=BAG, tiles=4)[0]["more"] == 4
    stage = page.lines("/api/stages", text=whole, chosen=[6], size=0)[0]
    assert stage["url"] == line["pictures"][0]["source"]["url"]
    picked = {shown["tile"] for shown in page.lines("/api/draws", text=BAG, tiles=8)[0]["pictures"]}
    lines = page.lines("/api/draws", text=BAG, chosen=sorted({*range(8)} - picked))
    assert "picks others than" in lines[0]["error"]["message"]
    line = page.lines("/api/draws", text=BAG, chosen=list(range(8)))[0]
    assert {shown["tile"] for shown in line["pictures"]} == picked
    sides = {"a": {"text": whole}, "b": {"text": whole}}
    assert page.post("/api/compare", **sides, chosen=[7])["largest"] == 0
    assert page.ask("POST", "/api/compare", {**sides, "chosen": [8]}).status == 404
