"""Runs of Ultralytics: what has a step of the same meaning, what is named, and what is no such file."""

from __future__ import annotations

import io
import json
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import augrecipes as ar
from augrecipes.bring.dialects import ultralytics
from augrecipes.bring.importing import draft_of, of_document
from augrecipes.bring.reading import of_text
from augrecipes.cli import main

# What a run writes, as its own defaults have it.
RUN: dict[str, Any] = {
    "task": "detect", "mode": "train", "model": "yolo11n.pt", "data": "data.yaml", "epochs": 100, "imgsz": 320,
    "batch": 16, "rect": False, "multi_scale": False, "close_mosaic": 10, "hsv_h": 0.015, "hsv_s": 0.7, "hsv_v": 0.4,
    "degrees": 0.0, "translate": 0.1, "scale": 0.5, "shear": 0.0, "perspective": 0.0, "flipud": 0.0, "fliplr": 0.5,
    "bgr": 0.0, "mosaic": 1.0, "mixup": 0.0, "cutmix": 0.0, "copy_paste": 0.0, "copy_paste_mode": "flip",
    "auto_augment": "randaugment", "erasing": 0.4, "cfg": None, "tracker": "botsort.yaml",
}  # fmt: skip
HYP = {key: RUN[key] for key in ("hsv_h", "hsv_s", "hsv_v", "degrees", "translate", "scale", "shear", "perspective",
                                 "flipud", "fliplr", "mosaic", "mixup", "copy_paste")} | {"lr0": 0.01}  # fmt: skip


def draft(**values: Any) -> Any:
    return of_document(of_text(json.dumps(RUN | values, indent=1), "args.yaml"))


def steps_of(made: Any) -> dict[str, Any]:
    return {step.name: dict(step.args) for step in made.recipe().steps}


def test_a_run_becomes_a_recipe_and_what_it_lacks_is_named() -> None:
    made = draft()
    assert [problem.name for problem in made.left_out()] == ["mosaic: 1"]
    assert [problem.line for problem in made.left_out()] == [list(RUN).index("mosaic") + 2]
    found = made.recipe()
    assert [step.name for step in found.steps] == [
        "LongestMaxSize", "PadIfNeeded", "Affine", "ColorJitter", "HorizontalFlip",
    ]  # fmt: skip
    assert [step.name for step in found.eval or ()] == ["LongestMaxSize", "PadIfNeeded"]
    assert found.inputs.boxes is not None
    assert made.dataset == 'ar.ImageFolder(files="data.yaml", split="train", recipe="args.yaml")'
    out = found.compile(seed=1)(image=np.full((100, 160, 3), 90, np.uint8), boxes=[[5, 5, 60, 60]], box_labels=[1])
    assert out["image"].shape == (3, 320, 320)


unit = st.floats(0, 0.95).map(lambda value: round(value, 3))


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "degrees": st.floats(0, 180).map(lambda value: round(value, 2)),
            "translate": unit,
            "scale": unit,
            "shear": st.floats(0, 40).map(lambda value: round(value, 2)),
            "hsv_h": st.floats(0, 0.5).map(lambda value: round(value, 4)),
            "hsv_s": unit,
            "hsv_v": unit,
            "flipud": unit,
            "fliplr": unit,
            "imgsz": st.integers(32, 640),
            "bgr": unit,
            "mosaic": unit,
            "mixup": unit,
            "cutmix": unit,
            "copy_paste": unit,
            "perspective": st.floats(0, 0.001).map(lambda value: round(value, 5)),
            "erasing": unit,
            "auto_augment": st.sampled_from([None, "randaugment", "augmix"]),
            "task": st.sampled_from(["detect", "segment", "pose", "classify", "obb"]),
        },
    )
)
def test_every_strength_is_a_step_or_is_named(values: dict[str, Any]) -> None:
    """What is not 0 shows: in the step that means it, or among what is left out; what is 0 shows nowhere."""
    given_ = RUN | values
    made = draft(**values)
    steps, named = steps_of(made), {problem.name.partition(":")[0] for problem in made.left_out()}
    classifies = given_["task"] == "classify"
    flips = {"flipud": "VerticalFlip", "fliplr": "HorizontalFlip"}
    for key, name in flips.items():
        assert (name in steps) == bool(given_[key])
    made_steps = {step.name: step for step in made.recipe().steps}
    for key, name in flips.items():
        if given_[key]:
            assert (made_steps[name].p if made_steps[name].p is not None else 0.5) == pytest.approx(given_[key])
    others = ("mosaic", "mixup", "cutmix", "copy_paste", "bgr", "perspective")
    assert {key for key in others if key in named} == (set() if classifies else {key for key in others if given_[key]})
    if classifies:
        assert ("Erasing" in steps) == bool(given_["erasing"])
        assert ("auto_augment" in named) == bool(given_["auto_augment"])
        assert steps["RandomResizedCrop"]["scale"][0] == pytest.approx(1 - given_["scale"])
        return
    warp = steps.get("Affine", {})
    assert bool(warp) == any(given_[key] for key in ("degrees", "translate", "scale", "shear"))
    for key, ours, low, high in (
        ("degrees", "rotate", -given_["degrees"], given_["degrees"]),
        ("translate", "translate_percent", -given_["translate"], given_["translate"]),
        ("scale", "scale", 1 - given_["scale"], 1 + given_["scale"]),
    ):
        assert (ours in warp) == bool(given_[key])
        if ours in warp:
            assert list(warp[ours]) == pytest.approx([low, high])
    assert ("shear" in warp) == bool(given_["shear"])
    assert ("ColorJitter" in steps) == any(given_[key] for key in ("hsv_h", "hsv_s", "hsv_v"))
    assert ("task" in named) == (given_["task"] == "obb")


def test_a_key_that_is_forgotten_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ultralytics, "_flips", lambda given: [])
    with pytest.raises(AssertionError):
        test_every_strength_is_a_step_or_is_named()


def test_hue_and_brightness_mean_the_same() -> None:
    """Value of HSV, scaled, is all channels scaled; hue turns by that part of a turn."""
    import cv2

    made = draft(hsv_h=0, hsv_s=0, hsv_v=0.4, degrees=0, translate=0, scale=0, fliplr=0, mosaic=0).recipe()
    image = np.random.default_rng(0).integers(0, 150, (320, 320, 3), dtype=np.uint8)
    pipeline = made.compile(seed=3, save_applied_params=True)
    out = pipeline.at(0)(image=image, boxes=[], box_labels=[])
    (factor,) = [params["brightness"] for site, _, params in out["applied"] if site.startswith("ColorJitter")]
    h, s, v = cv2.split(cv2.cvtColor(image, cv2.COLOR_RGB2HSV))
    theirs = cv2.cvtColor(cv2.merge([h, s, np.clip(v * factor, 0, 255).astype(np.uint8)]), cv2.COLOR_HSV2RGB)
    ours = np.rint(np.moveaxis(out["image"], 0, -1) * 255)
    assert np.abs(ours - theirs).mean() < 1.5


def test_an_older_file_says_no_size() -> None:
    made = of_document(of_text(json.dumps(HYP), "hyp.scratch.yaml"))
    assert made.recipe().steps[0].args["max_size"] == 640
    assert any("imgsz" in note for note in made.notes)
    assert made.dataset == ""


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("scale", "big", "must be a number"), ("scale", 1.5, "below 1"), ("fliplr", 2, "probability"),
        ("imgsz", 0, "1 or more"), ("hsv_h", 0.9, "half a turn"), ("hsv_h", -0.1, "probability"),
        ("translate", [0.1], "must be a number"), ("mosaic", "yes please", "must be a number"),
    ],
)  # fmt: skip
def test_nonsense_names_key_and_line(key: str, value: Any, said: str) -> None:
    with pytest.raises(ar.RecipeError, match=rf"args.yaml:{list(RUN).index(key) + 2}:\d+: E603 {key}: .*{said}"):
        draft(**{key: value})


def test_other_configs_are_none() -> None:
    assert not ultralytics.owns(of_text("scale: 4\ndatasets: {train: {}}\n", "x.yml"))
    assert not ultralytics.owns(of_text("path: .\ntrain: images\nnames: [a]\n", "data.yaml"))
    assert ultralytics.owns(of_text(json.dumps(HYP), "hyp.yaml"))


class _Stream:
    def __init__(self, text: str | bytes) -> None:
        self.buffer = io.BytesIO(text.encode() if isinstance(text, str) else text)


@pytest.mark.parametrize(
    ("text", "step"),
    [
        (json.dumps(RUN), "LongestMaxSize"),
        ("train_pipeline = [dict(type='RandomFlip', prob=0.5), dict(type='Resize', scale=(100, 100))]", "Resize"),
        ("Compose(\n    RandomHorizontalFlip(p=0.3)\n    ToTensor()\n)", "HorizontalFlip"),
        ("transform:\n  - {_target_: albumentations.VerticalFlip, p: 0.2}\n", "VerticalFlip"),
    ],
)
def test_standard_input_is_read_as_a_file_is(text: str, step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", _Stream(text))
    assert step in steps_of(draft_of("-"))


@pytest.mark.parametrize("text", ["", "nothing", "{a: 1", b"\xff\xfe\x00", "x" * 1_000_002, "a: *b"])
def test_other_streams_are_errors(text: str | bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", _Stream(text))
    with pytest.raises(ar.RecipeError, match=r"^stdin"):
        draft_of("-")


def test_the_command_reads_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", _Stream(json.dumps(HYP | {"mosaic": 0})))
    with pytest.raises(SystemExit) as left:
        main(["import", "-", "--no-time"])
    assert left.value.code == 0
    assert re.search(r"^recipe: stdin$", capsys.readouterr().out, re.MULTILINE)
