"""Steps as earlier releases of albumentations took them: their meaning is kept, and whatever is lost is named."""

import json
import random
import re
from itertools import product
from math import sqrt
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from support.every_class import _NEEDED

from augrecipes.compat.albumentations import A
from augrecipes.interop import albumentations
from augrecipes.interop.compose import convert
from augrecipes.interop.draft import Call, LeftOut, RecipeDraft
from augrecipes.interop.importing import draft_of
from augrecipes.interop.objects import draft_of_saved
from augrecipes.interop.reading import of_text
from augrecipes.ops import registry
from augrecipes.ops.outputs import OUTPUTS
from augrecipes.recipe import history
from augrecipes.recipe.nodes import Place

HERE = Path(__file__).parent
RELEASES: list[dict[str, Any]] = json.loads((HERE / "albumentations_releases.json").read_text())
# With what 0.3 to 2.0.7 took and 1.0 to 2.0.8 do not.
OLDER: dict[str, dict[str, Any]] = json.loads((HERE.parent / "recipe" / "albumentations_arguments.json").read_text())


def call(name: str, *args: Any, **named: Any) -> Call:
    given = {"_args_": list(args), **named} if args else named
    return Call(name, given, None, Place("old.py", 3, 5), "albumentations")


def compose(*children: Call, **named: Any) -> RecipeDraft:
    draft = RecipeDraft("old", "a test", Place("old.py", 1, 1))
    convert(draft, Call("Compose", named, children, Place("old.py", 1, 1), "albumentations"))
    return draft


@pytest.mark.parametrize("row", (HERE / "old_steps.txt").read_text(encoding="utf-8").splitlines())
def test_what_a_step_was_is_what_it_is(row: str) -> None:
    """Left a step of any release, right what must be among the arguments of today's; None: it is left out."""
    old, new = (eval(side, {"call": call}) for side in row.split(" -> "))
    draft = compose(call("D4"), old, call("Transpose"))
    if new is None:
        (left,) = draft.left_out()
        assert (left.line, left.name) == (3, old.name)
        assert [step.name for step in draft.recipe().steps] == ["D4", "Transpose"]
        return
    assert draft.left_out() == ()
    step = draft.recipe().steps[1]
    assert {**step.args.plain(), "p": step.p}.items() >= new.items()


@pytest.mark.parametrize("variance", [10, 50, 400])
def test_noise_is_as_strong(variance: int) -> None:
    recipe = compose(call("GaussNoise", var_limit=[variance, variance], always_apply=True)).recipe()
    image = np.full((200, 200, 3), 128, np.uint8)
    made = recipe.to_albumentations()(image=image)["image"].astype(float)
    assert -0.75 < made.std() - sqrt(variance) < 0.4  # what is drawn is cut to whole levels


@pytest.mark.parametrize(
    "old",
    [call("Cutout", 1, 12, 30, p=1), call("CoarseDropout", max_holes=1, max_height=12, max_width=30, p=1)],
    ids=lambda old: old.name,
)
def test_holes_are_as_large(old: Call) -> None:
    made = compose(old).recipe().to_albumentations()
    image = np.full((200, 200, 3), 255, np.uint8)
    for _ in range(5):
        rows, columns = np.nonzero(made(image=image)["image"][..., 0] == 0)
        assert (int(np.ptp(rows)) + 1, int(np.ptp(columns)) + 1, len(rows)) == (12, 30, 360)


@pytest.mark.parametrize("quality", [0, 1, 40])
def test_a_jpeg_is_as_coarse(quality: int) -> None:
    image = np.random.default_rng(0).integers(0, 256, (32, 32, 3), np.uint8)
    made = compose(call("JpegCompression", quality, quality, p=1)).recipe().to_albumentations()
    coded = cv2.imencode(".jpg", image, (cv2.IMWRITE_JPEG_QUALITY, quality))[1]
    np.testing.assert_array_equal(made(image=image)["image"], cv2.imdecode(coded, cv2.IMREAD_COLOR))


def test_flip_turns_over_along_one_axis_or_both() -> None:
    image = np.arange(6, dtype=np.uint8).reshape(2, 3, 1)
    made = compose(call("Flip", p=1)).recipe().to_albumentations()
    seen = {bytes(np.ascontiguousarray(made(image=image)["image"])) for _ in range(60)}
    assert seen == {bytes(np.ascontiguousarray(turned)) for turned in (image[::-1], image[:, ::-1], image[::-1, ::-1])}


@pytest.mark.parametrize(("pixels", "size"), [(9.66, 512), (20, 200)])
def test_the_affine_part_of_an_elastic_one_moves_pixels_as_far(pixels: float, size: int) -> None:
    elastic = call("ElasticTransform", 120, 6, pixels, p=0.4)
    draft = compose(call("Resize", size, size), Call("OneOf", {"p": 0.3}, (elastic, call("Blur"))))
    assert draft.left_out() == ()
    group = draft.recipe().steps[1].steps[0]
    assert (group.name, group.p, [step.p for step in group.steps]) == ("Sequential", 0.4, [1.0, 1.0])
    affine = A.Affine(**{k: v for k, v in group.steps[0].args.plain().items() if k != "border_mode"}, p=1)
    side, rng = size // 3, np.random.default_rng(0)
    corners = np.array([[0, 0, 1], [0, size, 1], [size, size, 1]], float).T
    triangle = [[size / 2 + side] * 2, [size / 2 + side, size / 2 - side], [size / 2 - side] * 2]
    there = np.array(triangle, np.float32)
    moved: list[list[float]] = [[], []]
    for _ in range(600):
        old = cv2.getAffineTransform(there, there + rng.uniform(-pixels, pixels, (3, 2)).astype(np.float32))
        new = affine.get_params_dependent_on_data({"shape": (size, size, 3)}, {})["matrix"][:2]
        for found, matrix in zip(moved, (old, new), strict=True):
            found.append(float(np.hypot(*(matrix @ corners - corners[:2])).mean()))
    assert np.mean(moved[1]) == pytest.approx(np.mean(moved[0]), rel=0.15)


VALUES = [
    None,
    0,
    1,
    3,
    0.3,
    -2,
    300,
    True,
    False,
    "constant",
    "x",
    [3, 7],
    [0.1, 0.2],
    [10, 20],
    [1, 2, 3],
    {"a": 1},
    [],
]


def drawn(entry: dict[str, Any], rng: random.Random) -> Call:
    """A transform with arguments of its time, some of them strange, by name and by place."""
    named = {**entry["arguments"], **OLDER.get(entry["class"], {})}
    mixed = {key: rng.choice([value, *VALUES[:3], rng.choice(VALUES)]) for key, value in named.items()}
    named = {key: value for key, value in mixed.items() if rng.random() < 0.6}
    named = {key: 8 if value == "<required>" else value for key, value in named.items()}
    places = history.PLACES.get(entry["class"], "").split()
    by_place = [named.pop(key, 3) for key in places[: rng.randint(0, 3)]] if rng.random() < 0.3 else []
    extra: dict[str, Any] = {"always_apply": rng.choice([True, False])} if rng.random() < 0.5 else {}
    extra |= {"p": rng.choice([0, 0.5, 1, 1.0, "x"])} if rng.random() < 0.3 else {}
    extra |= {"nonsense": 3} if rng.random() < 0.1 else {}
    return call(entry["class"], *by_place, **(named | extra))


def silent(old: Call, draft: RecipeDraft) -> list[str]:
    """Arguments that are neither used, nor told, nor named as lost."""
    text = draft.to_yaml()
    whole = [item for item in draft.steps if isinstance(item, LeftOut)]
    used = {key for line in draft.lines() for key in line.args}
    nothing = ("_args_", "always_apply")
    told = [key for key in old.args if key in used or key in text or key in nothing or old.args[key] is None]
    return [] if whole else [key for key in old.args if key not in told]


@pytest.mark.parametrize("part", range(8))
def test_whatever_was_written_nothing_fails_and_nothing_is_lost_in_silence(part: int) -> None:
    for entry in RELEASES[part::8]:
        if entry["class"] in OUTPUTS:
            continue
        rng = random.Random(f"{entry['class']} {entry['first']}")
        for _ in range(2):
            old = drawn(entry, rng)
            draft = compose(old, call("D4"))
            assert draft.recipe().steps[-1].name == "D4"
            assert silent(old, draft) == [], old


def test_a_planted_silence_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(albumentations, "UNKNOWN", "")
    monkeypatch.setattr("augrecipes.recipe.history.current_arguments", lambda *_: {})
    old = call("Blur", blur_limit=3)
    assert silent(old, compose(old)) == ["blur_limit"]


def test_defaults_of_its_time_are_told_where_a_part_is_old() -> None:
    draft = compose(call("ShiftScaleRotate"), call("GaussNoise", var_limit=[1, 2]))
    (note,) = [note for note in draft.notes if "before 2.0" in note]
    assert "ShiftScaleRotate: {border_mode: reflect_101}" in note
    assert not any("before 2.0" in note for note in compose(call("ShiftScaleRotate")).notes)


def test_every_old_default_is_one_that_its_class_takes() -> None:
    for name in history.DEFAULTS:
        more = {"height": 8, "width": 8} if name == "RandomCrop" else {}
        assert compose(call(name, always_apply=False, **more)).left_out() == ()


def test_what_says_nothing_is_not_lost() -> None:
    draft = compose(
        Call("ReplayCompose", {"additional_targets": {"mask": "mask"}, "bbox_params": None}, (call("D4"),)),
        call("Transpose"),
        additional_targets={"image": "image"},
        bbox_params=None,
    )
    assert draft.left_out() == ()
    assert [step.name for step in draft.recipe().steps] == ["D4", "Transpose"]
    assert compose(call("D4"), additional_targets={"other": "image"}).left_out()[0].name == "additional_targets"


def test_steps_behind_the_normalisation_are_named_as_such() -> None:
    group = Call("OneOf", {"p": 0.5}, (call("ToGray"), call("RandomGamma")))
    draft = compose(call("Normalize", [0.5], [0.5]), group, call("D4"))
    assert [(left.name, "behind the normalisation" in left.message) for left in draft.left_out()] == [
        ("RandomGamma", True),
    ]  # fmt: skip
    assert [step.name for step in draft.recipe().steps] == ["OneOf", "D4"]


def test_groups_and_boxes_of_earlier_releases() -> None:
    some = Call("SomeOf", {"_args_": [3]}, (call("D4"), call("Blur"), call("Lambda")))
    params = Call("BboxParams", {"_args_": ["yolo", ["labels"], 4]})
    draft = compose(some, Call("OneOf", {"_args_": [0.3]}, (call("D4"), call("Blur"))), bbox_params=params)
    assert [left.name for left in draft.left_out()] == ["Lambda"]
    recipe = draft.recipe()
    assert (recipe.steps[0].args["n"], recipe.steps[1].p) == (2, 0.3)
    assert recipe.inputs.boxes is not None
    boxes = recipe.inputs.boxes
    assert (boxes.format, boxes.labels, boxes.min_area) == ("yolo", "labels", 4)
    assert [left.name for left in compose(bbox_params={"format": "boxes"}).left_out()] == ["inputs.boxes.format"]


@pytest.mark.parametrize(
    ("children", "named", "lost"),
    [
        ((call("Normalize", mean="x"),), {}, "output.normalize.mean"),
        ((call("Normalize", max_pixel_value="x"),), {}, "Normalize"),
        ((call("ToTensor", normalize=3),), {}, "ToTensor"),
        ((call("D4"),), {"p": "x"}, "p"),
        ((Call("OneOf", {"p": 3}, (call("D4"), call("Blur"))),), {}, "OneOf"),
        ((call("D4"),), {"keypoint_params": {"format": "zz"}}, "inputs.keypoints.format"),
        ((call("D4"),), {"keypoint_params": 3}, "keypoint_params"),
    ],
)
def test_what_nothing_takes_is_named_and_the_rest_comes_in(children: Any, named: Any, lost: str) -> None:
    draft = compose(*children, call("Transpose"), **named)
    assert [left.name for left in draft.left_out()] == [lost]
    assert draft.recipe().steps[-1].name == "Transpose"


LIVE = (HERE / "configs" / "live.py.txt").read_text(encoding="utf-8")


def test_arguments_that_todays_classes_leave_out_come_from_the_file(tmp_path: Path) -> None:
    (tmp_path / "live.py").write_text(LIVE, encoding="utf-8")
    draft = draft_of(f"{tmp_path / 'live.py'}:train")
    assert draft.left_out() == ()
    first, second = draft.recipe().steps[1].steps
    assert (first.args["std_range"], second.args["std_range"]) == ((0.0124, 0.0277), (0.0392, 0.0784))
    lines = draft.to_yaml().splitlines()
    for wanted in (
        "  - RandomScale: {scale_limit: 0.05}",
        "  - ShiftScaleRotate: {shift_limit: 0.05, scale_limit: 0.05, rotate_limit: [-15, 15]}",
        "  - MotionBlur: {blur_limit: [11, 21]}  # was blur_limit: [10, 20], which the class takes as [11, 21]",
    ):
        assert wanted in lines
    assert any("(10, 20) automatically adjusted to (11, 21)" in note for note in draft.notes)
    late = draft_of(f"{tmp_path / 'live.py'}:late")
    assert (late.left_out(), late.recipe().steps[0].args["std_range"]) == ((), (0.00877, 0.0215))
    (left,) = draft_of(f"{tmp_path / 'live.py'}:hidden").left_out()
    assert left.name == "GaussNoise.var_limit"


# What any release since 1.0.0 saved, with the defaults of its time.

NEEDED = {
    **_NEEDED,
    "RandomResizedCrop": {"height": 8, "width": 9, "size": [8, 9]},
    "RandomSizedCrop": {"min_max_height": [8, 9], "height": 8, "width": 9, "size": [8, 9]},
    "IAACropAndPad": {"px": 3},
}
# Of several arguments without a default of their own, one must be given.
ALSO = {name: NEEDED[name] for name in ("CropAndPad", "LongestMaxSize", "SmallestMaxSize", "IAACropAndPad")}


def imported(entry: dict[str, Any], *, always: bool = False) -> RecipeDraft:
    """The draft of one class as `A.save` of its time wrote it."""
    name, args = entry["class"], dict(entry["arguments"])
    args |= {key: NEEDED[name][key] for key, value in args.items() if value == "<required>"}
    args |= {key: value for key, value in ALSO.get(name, {}).items() if key in args}
    if entry["last"] < "2":
        args["always_apply"] = always
    p = 1.0 if name in OUTPUTS else 0.5
    step = {"__class_fullname__": name, **args, "p": p}
    whole = {"__class_fullname__": "Compose", "p": 1.0, "transforms": [step], "bbox_params": None}
    return draft_of_saved(of_text(json.dumps({"__version__": entry["first"], "transform": whole}), "saved.json"))


@pytest.mark.parametrize("cls", dict.fromkeys(entry["class"] for entry in RELEASES))
def test_every_class_of_every_release(cls: str) -> None:
    for entry, always in product([entry for entry in RELEASES if entry["class"] == cls], (False, True)):
        draft = imported(entry, always=always)
        affine = entry["arguments"].get("alpha_affine")  # of images whose size nothing tells
        assert [left.name for left in draft.left_out()] == ["ElasticTransform.alpha_affine"] * bool(affine)
        recipe = draft.recipe()
        if entry["class"] in OUTPUTS:
            assert recipe.steps == ()
            continue
        (step,) = recipe.steps
        assert step.name == history.CLASSES.get(entry["class"], "OneOf" if entry["class"] == "Flip" else entry["class"])
        wanted = 1.0 if always and entry["last"] < "2" else 0.5
        assert registry.default_p(step.name) == wanted if step.p is None else step.p == wanted
        # Whatever has another name today, and says something, is told at the line.
        text = draft.to_yaml()
        takes = (registry.arguments(step.name) or {"properties": {}})["properties"]
        for name, value in entry["arguments"].items():
            if value not in (None, "<required>") and name not in takes:
                assert f"{name}: " in "".join(re.split("# was|# left out", text)[1:]), text


@pytest.mark.parametrize("table", ["RENAMED", "JOINED", "CONVERTED"])
def test_a_planted_fault_is_found(monkeypatch: pytest.MonkeyPatch, table: str) -> None:
    """Were a table empty, some release would not be imported."""
    monkeypatch.setattr(history, table, {})
    failed = 0
    for entry in RELEASES:
        draft = imported(entry)
        failed += bool(draft.left_out()) and "alpha_affine" not in entry["arguments"]
    assert failed
