"""Stages, extremes, two settings beside each other, cost, verify, import and eject; pairs, bags and stores."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from asking import Page, picture

import augrecipes as ar
from augrecipes.preview.display import picture_of_input, picture_of_output
from augrecipes.recipe.words import in_words
from augrecipes.studio import extremes

TEXT = """\
version: 1
recipe: mine
steps:
  - RandomCrop: {height: 48, width: 64}
  - Rotate: {limit: [20, 20], border_mode: reflect_101, p: 1.0}
  - OneOf:
      steps:
        - GaussianBlur: {p: 1.0}
        - RandomBrightnessContrast: {p: 1.0}
  - HorizontalFlip: {p: 0.5}
eval: derived
"""


def test_stages_are_those_of_the_pipeline(page: Page) -> None:
    pipeline = ar.load(TEXT).compile(seed=4, optimize="none")
    image = ar.read_image(page.files[1])
    for epoch in range(4):
        lines = page.lines("/api/stages", text=TEXT, index=1, epoch=epoch, seed=4, size=0)
        assert [line.get("path") for line in lines] == [None, "steps.0", "steps.1", "steps.2", "steps.3", None, None]
        traced = pipeline.stages(1, epoch)(image=image)
        for line, (_, stage) in zip(lines[1:5], traced, strict=True):
            assert np.array_equal(page.pixels(line["url"]), picture_of_input(stage))
        out = pipeline.at(1, epoch)(image=image)["image"]
        assert np.array_equal(page.pixels(lines[5]["url"]), picture_of_output(out, pipeline.recipe.output))
        flipped = not np.array_equal(traced[3][1], traced[2][1])
        assert lines[4]["applied"] is flipped
        assert lines[4]["words"].startswith("did not act") is not flipped
        assert "window 64×48 at (" in lines[1]["words"]
        assert "angle" in lines[2]["words"]
        assert "20°" in lines[2]["words"]
        (ran,) = lines[3]["inner"]
        assert ran["path"] in ("steps.2.steps.0", "steps.2.steps.1")
        assert ran["name"] in lines[3]["words"]


def test_switches_leave_other_draws(page: Page) -> None:
    plain = page.lines("/api/stages", text=TEXT, index=1, seed=4)
    off = page.lines("/api/stages", text=TEXT, index=1, seed=4, off=["steps.1", "steps.2"], force={"steps.3": 1})
    assert [line["on"] for line in off[1:5]] == [True, False, False, True]
    assert off[1] == plain[1]  # the crop draws what it drew
    assert off[2]["words"] == "switched off"
    assert off[4]["applied"] is True
    assert page.lines("/api/stages", text=TEXT, index=1, seed=4, force={"steps.3": 0})[4]["applied"] is False
    forced = [page.lines("/api/stages", text=TEXT, index=1, epoch=e, force={"steps.2.steps.1": 1})[3] for e in range(5)]
    assert {line["inner"][0]["path"] for line in forced} == {"steps.2.steps.1"}
    for body in ({"off": ["steps.9"]}, {"force": {"steps.0": 2}}, {"force": {"steps.0": True}}, {"off": "steps.0"}):
        assert page.ask("POST", "/api/stages", {"text": TEXT, **body}).status in (400, 404)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"brightness": 1.0834, "hue": -0.012, "shape": (3, 4)}, "brightness × 1.08, hue −0.012"),
        ({"crop_coords": (30, 12, 254, 236)}, "window 224×224 at (30, 12)"),
        ({"matrix": [*cv2.getRotationMatrix2D((0, 0), -17.3, 1.0).tolist(), [0, 0, 1]]}, "angle 17.3°"),
        ({"rotate": 24.889, "scale": {"x": 0.8, "y": 0.8}, "matrix": np.eye(3)}, "angle 24.9°, scale × 0.8"),
        ({"group_element": "r90"}, "rotated by 90°"),
        ({"holes": np.zeros((2, 4), int)}, "2 holes"),
        ({"noise_map": np.zeros((4, 5, 3), np.float32)}, "noise map spread 0"),
        ({"alpha": 1.2, "beta": -3.5}, "contrast × 1.2, brightness −3.5"),
        ({"quality": 71, "image_type": ".jpg"}, "quality 71"),
        ({"matrix": np.array([[1, 0, 0], [0, 1, 0], [0.001, 0, 1]])}, "corners moved"),
        ({"seed": 3, "interpolation": 1, "fill": 0}, ""),
    ],
)
def test_draws_in_words(params: dict[str, Any], words: str) -> None:
    assert in_words(params) == words


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
  - SomeOf:
      n: 1
      steps:
        - GaussianBlur: {sigma_limit: [0.1, 6.0]}
        - HueSaturationValue
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
    assert off["most"]["words"].startswith(
        "RandomBrightnessContrast: "
    )  # the step that is meant, not the one behind it


SECTIONS = """\
version: 1
recipe: sections
steps:
  - CenterCrop: {height: 60, width: 70}
  - HorizontalFlip
  - Blur
eval:
  - Equalize: {p: 1.0}
  - CenterCrop: {height: 40, width: 50}
  - HorizontalFlip: {p: 1.0}
"""


def sizes_behind_eval(page: Page) -> list[tuple[int, ...]]:
    """Of the images behind each step of a section whose steps have the labels of another section's."""
    found = (page.post("/api/extremes", text=SECTIONS, path=f"eval.{k}", index=1) for k in range(3))
    return [page.pixels(one["most"]["url"]).shape[:2] for one in found]


def test_extremes_of_evaluation_have_its_own_steps_before_them(page: Page) -> None:
    assert sizes_behind_eval(page) == [(120, 160), (40, 50), (40, 50)]


def test_planted_steps_of_the_other_section_are_noticed(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    real, other = extremes.sites_before, {"CenterCrop#1", "HorizontalFlip#1", "Blur#1"}
    monkeypatch.setattr(extremes, "sites_before", lambda view, path: {*other, *real(view, path)})
    assert sizes_behind_eval(page) != [(120, 160), (40, 50), (40, 50)]


PAIR_WITH_DEGRADE = """\
version: 1
recipe: made
kind: pair
scales: {lr: 1, hr: 2}
steps:
  - RandomCrop: {height: 24, width: 24, at: lr}
  - Degrade:
      source: hr
      target: lr
      steps:
        - GaussianBlur: {sigma_limit: [0.2, 4.0], p: 0.5}
        - ResizeToTarget
        - GaussNoise: {std_range: [0.01, 0.2]}
eval: []
"""


def test_extremes_of_pairs_show_what_changes_most(open_page: Callable[..., Page], tmp_path: Path) -> None:
    for name, k in (("hr", 2), ("lr", 1)):
        (tmp_path / name).mkdir()
        for number in range(2):
            assert cv2.imwrite(str(tmp_path / name / f"{number}.png"), picture(number, 60 * k, 80 * k))
    page = open_page(None, {name: str(tmp_path / name) for name in ("hr", "lr")})
    noise = page.post("/api/extremes", text=PAIR, path="steps.2", index=1)
    assert (noise["most"]["target"], noise["most"]["width"]) == ("lr", 24)
    assert noise["least"]["apart"] < noise["most"]["apart"]
    crop = page.post("/api/extremes", text=PAIR, path="steps.0", index=1)
    assert crop["least"]["apart"] <= crop["most"]["apart"]
    made = open_page(None, {"hr": str(tmp_path / "hr")})
    for path in ("steps.1", "steps.1.steps.0", "steps.1.steps.2"):
        found = made.post("/api/extremes", text=PAIR_WITH_DEGRADE, path=path, index=1)
        assert (found["most"]["target"], found["most"]["width"]) == ("lr", 24)
        assert found["least"]["apart"] < found["most"]["apart"]


def test_two_settings_beside_each_other(page: Page) -> None:
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
    assert [step["path"] for step in found["steps"]] == [
        "steps.0", "steps.1", "steps.2", "steps.2.steps.0", "steps.2.steps.1", "steps.3"
    ]  # fmt: skip
    assert all(step["before_us"] >= 0 for step in found["steps"])
    assert found["total_before_us"] > 0
    assert found["per_second"] == pytest.approx(1e6 / found["total_after_us"])
    explained = ar.explain(ar.load(TEXT), optimize="fast", arrival="uint8")
    assert {rule["name"] for rule in found["rules"] if rule["fired"]} == {rule.rule for rule in explained.rules}
    assert {one["name"]: one["why"] for one in found["stayed"]} == {one.site: one.why for one in explained.stayed}


def test_import_and_export(page: Page) -> None:
    import json

    import albumentations as A

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


PAIR = """\
version: 1
recipe: sr
kind: pair
scales: {lr: 1, hr: 2}
steps:
  - RandomCrop: {height: 24, width: 24, at: lr}
  - HorizontalFlip
  - GaussNoise: {std_range: [0.01, 0.03], target: lr, p: 0.5}
"""


def test_pairs_with_their_scenes(open_page: Callable[..., Page], tmp_path: Path) -> None:
    for name, k in (("hr", 2), ("lr", 1)):
        (tmp_path / name).mkdir()
        assert cv2.imwrite(str(tmp_path / name / "0.png"), picture(0, 60 * k, 80 * k))
    page = open_page(None, {name: str(tmp_path / name) for name in ("hr", "lr")})
    assert page.post("/api/source", text=PAIR)["kind"] == "pairs"
    (line, _) = page.lines("/api/draws", text=PAIR, seed=2, source=True)
    sizes = {one["target"]: page.pixels(one["source"]["url"]).shape for one in line["pictures"]}
    assert sizes == {"lr": (60, 80, 3), "hr": (120, 160, 3)}
    stages = page.lines("/api/stages", text=PAIR, seed=2)
    assert [one["target"] for one in stages[1]["pictures"]] == ["lr", "hr"]


BAG = """\
version: 1
recipe: slides
kind: bag
bag: {max_tiles: 5}
steps:
  - HorizontalFlip
  - StainJitter: {sigma: 0.05, share: bag, p: 1.0}
"""


def test_tiles_are_chosen_by_their_numbers(open_page: Callable[..., Page], tmp_path: Path) -> None:
    for number in range(8):
        (tmp_path / "a").mkdir(exist_ok=True)
        assert cv2.imwrite(str(tmp_path / "a" / f"{number}.png"), picture(number, 40, 40))
    page = open_page(None, tmp_path)
    whole = BAG.replace("bag: {max_tiles: 5}", "bag: {max_tiles: 100}")
    line = page.lines("/api/draws", text=whole, chosen=[6, 1])[0]
    assert [shown["tile"] for shown in line["pictures"]] == [6, 1]
    assert [words.split(":")[0] for words in line["words"]] == ["StainJitter"]  # what the tiles share
    assert page.lines("/api/draws", text=BAG, tiles=4)[0]["more"] == 4
    assert (
        page.lines("/api/stages", text=whole, chosen=[6], size=0)[0]["url"]
        == page.lines("/api/draws", text=whole, chosen=[6], source=True)[0]["pictures"][0]["source"]["url"]
    )
    picked = {shown["tile"] for shown in page.lines("/api/draws", text=BAG, tiles=8)[0]["pictures"]}
    lines = page.lines("/api/draws", text=BAG, chosen=sorted({*range(8)} - picked))
    assert "picks others than" in lines[0]["error"]["message"]
    line = page.lines("/api/draws", text=BAG, chosen=list(range(8)))[0]
    assert {shown["tile"] for shown in line["pictures"]} == picked
    assert page.post("/api/compare", a={"text": whole}, b={"text": whole}, chosen=[7])["largest"] == 0
    assert page.ask("POST", "/api/compare", {"a": {"text": whole}, "b": {"text": whole}, "chosen": [8]}).status == 404


def test_masks_boxes_and_points_travel(open_page: Callable[..., Page], photos: Path, tmp_path: Path) -> None:
    masks = tmp_path / "masks"
    masks.mkdir()
    for file in photos.iterdir():
        mask = np.zeros((120, 160), np.uint8)
        mask[20:60, 30:90] = 2
        assert cv2.imwrite(str(masks / f"{file.stem}.png"), mask)
    page = open_page(None, photos, masks=masks)
    text = TEXT.replace("steps:\n  - RandomCrop", "inputs: {mask: required}\nsteps:\n  - RandomCrop", 1)
    line = page.lines("/api/draws", text=text, indices=[1])[0]
    overlay = page.pixels(line["pictures"][0]["overlay"]["mask"])
    assert overlay.shape == (48, 64, 4)
    image = ar.read_image(page.files[1])
    mask = cv2.imread(str(masks / f"{page.files[1].stem}.png"), cv2.IMREAD_UNCHANGED)
    out = ar.load(text).compile(seed=0).at(1)(image=image, mask=mask)
    assert np.array_equal(overlay[..., 3] > 0, out["mask"] > 0)
