"""Each line of docs/DIFFERENCES.md: what albumentations 2.0.8 does, and what is done here in all three modes."""

import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import albumentations as A
import cv2
import numpy as np
import pytest

import augrecipes as ar
from augrecipes.cli import main
from augrecipes.ops.stain import HEStain as OurHEStain

PAGE = Path(__file__).parents[2] / "docs" / "DIFFERENCES.md"
B = {"boxes": {"format": "pascal_voc", "labels": "c"}}
K = {"keypoints": {"format": "xy", "labels": "k", "remove_invisible": False}}
Z = np.zeros((50, 70, 3), np.uint8)


def theirs(*steps: Any, boxes: Any = None, points: Any = None, **sample: Any) -> dict[str, Any]:
    """What an `A.Compose` makes; `boxes` and `points` are its parameters."""
    return dict(A.Compose(list(steps), bbox_params=boxes, keypoint_params=points)(**sample))


def ours(mode: str, step: dict[str, Any], inputs: dict[str, Any] | None = None, **sample: Any) -> dict[str, Any]:
    made = {"version": 1, "recipe": "t", "optimize": mode, "inputs": inputs or {}, "steps": [step], "eval": []}
    made["output"] = {"dtype": "float32", "layout": "hwc"}
    return dict(ar.load(made).compile(seed=0).at(0)(**sample))


def voc(**more: Any) -> Any:
    return A.BboxParams("pascal_voc", label_fields=["c"], **more)


def xy(form: str = "xy", **more: Any) -> Any:
    return A.KeypointParams(form, label_fields=["k"], **{"remove_invisible": False, **more})


def box_beside_a_hole(mode: str) -> None:
    hole = {"num_holes_range": (1, 1), "hole_height_range": (4, 4), "hole_width_range": (4, 4)}
    sample: dict[str, Any] = {"image": np.zeros((200, 200, 3), np.uint8), "boxes": [[5.9, 5.9, 20.9, 20.9]], "c": [0]}
    found = theirs(A.CoarseDropout(**hole, p=1), boxes=voc(), image=sample["image"], bboxes=sample["boxes"], c=[0])
    np.testing.assert_allclose(found["bboxes"], [[5, 5, 20, 20]], atol=1e-5)
    lists = {name: list(value) for name, value in hole.items()}
    np.testing.assert_allclose(ours(mode, {"CoarseDropout": {**lists, "p": 1}}, B, **sample)["boxes"], sample["boxes"])


def box_without_width(mode: str) -> None:
    crop = {"x_min": 10, "y_min": 0, "x_max": 60, "y_max": 60}
    image = np.zeros((100, 81, 3), np.uint8)  # of widths at which 60 is rounded down
    rows = np.array([[60, 10, 80, 20]], np.float32)
    found = theirs(A.Crop(**crop), boxes=voc(), image=image, bboxes=rows, c=[0])
    np.testing.assert_allclose(found["bboxes"], [[50, 10, 50, 20]], atol=1e-4)
    assert not len(ours(mode, {"Crop": crop}, B, image=image, boxes=[[60, 10, 80, 20]], c=[0])["boxes"])


def box_seen_whole(mode: str) -> None:
    whole = {"boxes": {**B["boxes"], "min_visibility": 1.0}}
    box = [[5, 6, 20, 30]]
    found = theirs(A.HorizontalFlip(p=1), boxes=voc(min_visibility=1.0), image=Z, bboxes=box, c=[0])
    assert len(found["bboxes"]) == 0
    np.testing.assert_allclose(
        ours(mode, {"HorizontalFlip": {"p": 1}}, whole, image=Z, boxes=box, c=[0])["boxes"],
        [[50, 6, 65, 30]],
        atol=1e-4,
    )


def box_in_a_mirrored_border(mode: str) -> None:
    step, box = A.Pad(20, border_mode=cv2.BORDER_REFLECT_101), [[5, 5, 10, 10]]
    assert len(theirs(step, boxes=voc(), image=Z, bboxes=box, c=[0])["bboxes"]) > 1
    found = ours(mode, {"Pad": {"padding": 20, "border_mode": "reflect_101"}}, B, image=Z, boxes=box, c=[0])
    np.testing.assert_allclose(found["boxes"], [[25, 25, 30, 30]], atol=1e-4)


STILL = {"alpha": 1e-6, "sigma": 8.0}


def box_in_a_field(mode: str) -> None:
    box = [[10.5, 12.25, 30.75, 40.5]]
    found = theirs(A.ElasticTransform(**STILL, p=1), boxes=voc(), image=Z, bboxes=box, c=[0])["bboxes"]
    assert np.abs(np.asarray(found) - box).max() > 0.4
    still = ours(mode, {"ElasticTransform": {**STILL, "p": 1}}, B, image=Z, boxes=box, c=[0])["boxes"]
    np.testing.assert_allclose(still, box, atol=1e-2)


def box_that_is_none(mode: str) -> None:
    with pytest.raises(ValueError, match=r"in the range \[0\.0, 1\.0\]"):
        theirs(A.HorizontalFlip(p=1), boxes=voc(), image=Z, bboxes=[[1, 1, 85, 5]], c=[0])
    with pytest.raises(ar.DataError, match=r"box 0 .*`clip: true`"):
        ours(mode, {"HorizontalFlip": {"p": 1}}, B, image=Z, boxes=[[1, 1, 85, 5]], c=[0])


def masks_of_boxes(mode: str) -> None:
    masks, box = np.ones((2, 50, 70), np.uint8), [[1, 1, 9, 9], [40, 30, 60, 45]]
    crop = {"x_min": 0, "y_min": 0, "x_max": 20, "y_max": 20}
    assert len(theirs(A.Crop(**crop), boxes=voc(), image=Z, masks=masks, bboxes=box, c=[0, 1])["masks"]) == 2
    assert len(ours(mode, {"Crop": crop}, B, image=Z, masks=masks, boxes=box, c=[0, 1])["masks"]) == 1


def point_in_a_field(mode: str) -> None:
    points = [[20.4, 30.6], [20.4, 30.6], [80.0, 10.0]]
    found = theirs(A.ElasticTransform(**STILL, p=1), points=xy(), image=Z, keypoints=points, k=[0, 1, 2])["keypoints"]
    assert len(found) < 3 or np.abs(np.asarray(found) - points).max() > 0.3
    still = ours(mode, {"ElasticTransform": {**STILL, "p": 1}}, K, image=Z, keypoints=points, k=[0, 1, 2])
    np.testing.assert_allclose(still["keypoints"], points, atol=1e-2)


def point_in_a_mirrored_border(mode: str) -> None:
    points, step = [[5, 5], [30, 30]], A.Rotate((45, 45), border_mode=cv2.BORDER_REFLECT_101, p=1)
    assert len(theirs(step, points=xy(), image=Z, keypoints=points, k=[0, 1])["keypoints"]) == 18
    turn = {"Rotate": {"limit": [45, 45], "border_mode": "reflect_101", "p": 1}}
    assert len(ours(mode, turn, K, image=Z, keypoints=points, k=[0, 1])["keypoints"]) == 2


def point_in_a_resize(mode: str) -> None:
    found = theirs(A.Resize(200, 280), points=xy(), image=Z, keypoints=[[10, 20]], k=[0])["keypoints"]
    np.testing.assert_allclose(found, [[40, 80]])
    large = ours(mode, {"Resize": {"height": 200, "width": 280}}, K, image=Z, keypoints=[[10, 20]], k=[0])
    np.testing.assert_allclose(large["keypoints"], [[41.5, 81.5]], atol=1e-4)


def point_at_the_side(mode: str) -> None:
    shift = A.Affine(translate_px={"x": (-1, -1), "y": (0, 0)}, p=1)
    assert not len(theirs(shift, points=xy(remove_invisible=True), image=Z, keypoints=[[0.75, 9]], k=[0])["keypoints"])
    seen = {"keypoints": {"format": "xy", "labels": "k"}}
    step = {"Affine": {"translate_px": {"x": [-1, -1], "y": [0, 0]}, "p": 1}}
    np.testing.assert_allclose(
        ours(mode, step, seen, image=Z, keypoints=[[0.75, 9]], k=[0])["keypoints"], [[-0.25, 9]], atol=1e-4
    )


def angle(mode: str, step: Any, same: dict[str, Any], degrees: float) -> tuple[float, float]:
    rows = [[20.0, 10.0, degrees]]
    angled = {"keypoints": {"format": "xya", "labels": "k", "remove_invisible": False}}
    found = theirs(step, points=xy("xya"), image=Z, keypoints=rows, k=[0])["keypoints"]
    return float(found[0][2]), float(ours(mode, same, angled, image=Z, keypoints=rows, k=[0])["keypoints"][0][2])


def angle_of_a_rotation(mode: str) -> None:
    turn = {"Rotate": {"limit": [30, 30], "p": 1}}
    np.testing.assert_allclose(angle(mode, A.Rotate((30, 30), p=1), turn, 100), (130, 70), atol=1e-3)


def angle_of_a_transposition(mode: str) -> None:
    found = angle(mode, A.Transpose(p=1), {"Transpose": {"p": 1}}, 200)
    np.testing.assert_allclose(found, (70, 250), atol=1e-3)


def mirrored_points(mode: str) -> None:
    points, names = [[10, 20], [30, 20]], ["left", "right"]
    found = theirs(A.HorizontalFlip(p=1), points=xy(), image=Z, keypoints=points, k=names)
    assert list(found["k"]) == names
    paired = {"keypoints": {**K["keypoints"], "flip_pairs": [["left", "right"]]}}
    mirrored = ours(mode, {"HorizontalFlip": {"p": 1}}, paired, image=Z, keypoints=points, k=names)
    at = dict(zip(mirrored["k"], np.asarray(mirrored["keypoints"]).tolist(), strict=True))
    assert at == {"right": [59.0, 20.0], "left": [39.0, 20.0]}


def mask_in_a_resize(mode: str) -> None:
    mask = np.arange(8, dtype=np.uint8)[None].repeat(8, axis=0)
    image = np.zeros((8, 8, 3), np.uint8)
    assert theirs(A.Resize(2, 2), image=image, mask=mask)["mask"].tolist() == [[0, 4]] * 2
    found = ours(mode, {"Resize": {"height": 2, "width": 2}}, {"mask": "required"}, image=image, mask=mask)["mask"]
    assert found.tolist() == [[2, 6]] * 2


def fill_of_a_mask(mode: str) -> None:
    mask = np.ones((50, 70), np.uint8)
    assert set(np.unique(theirs(A.Pad(4, fill_mask=-100), image=Z, mask=mask)["mask"]).tolist()) == {0, 1}
    found = ours(mode, {"Pad": {"padding": 4, "fill_mask": -100}}, {"mask": "required"}, image=Z, mask=mask)["mask"]
    assert set(np.unique(found).tolist()) == {-100, 1}


def fill_of_floats(mode: str) -> None:
    image = np.zeros((9, 9, 3), np.float32)
    assert theirs(A.Pad(4, fill=114), image=image)["image"].max() == 114
    assert ours(mode, {"Pad": {"padding": 4, "fill": 114}}, image=image)["image"].max() == np.float32(114 / 255)


TILT: dict[str, Any] = {"scale": (0.2, 0.2), "fit_output": True, "p": 1}


def fill_of_all_channels(mode: str) -> None:
    colours = np.unique(theirs(A.Perspective(**TILT, fill=114), image=Z)["image"].reshape(-1, 3), axis=0)
    assert [114, 0, 0] in colours.tolist()
    found = ours(mode, {"Perspective": {**TILT, "scale": [0.2, 0.2], "fill": 114}}, image=Z)["image"]
    assert (found == found[..., :1]).all()
    np.testing.assert_allclose(found.max(), 114 / 255, atol=1e-6)


def fill_of_some_channels(mode: str) -> None:
    assert theirs(A.Pad(4, fill=(1, 2)), image=Z)["image"][0, 0].tolist() == [1, 2, 0]
    with pytest.raises(ar.DataError, match="the fill has 2 levels and the image has 3 channels"):
        ours(mode, {"Pad": {"padding": 4, "fill": [1, 2]}}, image=Z)


def fill_of_frames(mode: str) -> None:
    frames, crop = np.zeros((2, 50, 70, 3), np.uint8), {"height": 60, "width": 80, "pad_if_needed": True}
    with pytest.raises((AssertionError, ValueError, cv2.error)):
        assert theirs(A.CenterCrop(**crop), images=frames)["images"].shape == (2, 60, 80, 3)
    assert ours(mode, {"CenterCrop": crop}, images=frames)["images"].shape == (2, 60, 80, 3)


def glass(mode: str) -> None:
    white = np.full((40, 40, 3), 255, np.uint8)
    assert A.HEStain(method="vahadane", p=1)(image=white)["image"].max() < 9
    assert issubclass(OurHEStain, A.HEStain)
    assert (ours(mode, {"HEStain": {"method": "vahadane", "p": 1}}, image=white)["image"] == 1).all()


def one_pixel(mode: str) -> None:
    line = np.zeros((9, 1, 3), np.uint8)
    if cv2.__version__ >= "5":  # OpenCV 4 keeps the axis
        assert theirs(A.ToGray(p=1), image=line)["image"].shape == (9, 3)
    assert ours(mode, {"ToGray": {"p": 1}}, image=line)["image"].shape == (9, 1, 3)


def sharpen_grey(mode: str) -> None:
    grey = np.random.default_rng(0).integers(0, 256, (12, 12, 1), np.uint8)
    assert theirs(A.Sharpen(method="gaussian", p=1), image=grey)["image"].shape == (12, 12, 12)
    assert ours(mode, {"Sharpen": {"method": "gaussian", "p": 1}}, image=grey)["image"].shape == (12, 12, 1)


def nothing_chosen(mode: str) -> None:
    with pytest.raises(ZeroDivisionError):
        A.OneOf([A.HorizontalFlip(p=0), A.VerticalFlip(p=0)], p=1)
    never = [{"HorizontalFlip": {"p": {"by_epoch": [0, 1]}}}]
    image = np.random.default_rng(0).integers(0, 256, (8, 9, 3), np.uint8)
    found = ours(mode, {"OneOf": {"steps": never}}, image=image)["image"]
    np.testing.assert_allclose(found, image / np.float32(255), atol=1e-6)


def draws_of_frames(mode: str) -> None:
    frames = np.zeros((2, 40, 40, 3), np.uint8)
    first, second = theirs(A.CoarseDropout(fill="random", p=1), images=frames)["images"]
    assert (first != second).any()
    step = {"CoarseDropout": {"fill": "random", "p": 1}}
    alone, (first, second) = ours(mode, step, image=frames[0])["image"], ours(mode, step, images=frames)["images"]
    assert alone.max() > 0
    np.testing.assert_array_equal([first, second], [alone, alone])


CASES: dict[str, Callable[[str], None]] = {
    case.__name__.replace("_", "-"): case
    for case in (
        *(box_beside_a_hole, box_without_width, box_seen_whole, box_in_a_mirrored_border, box_in_a_field),
        *(box_that_is_none, masks_of_boxes, point_in_a_field, point_in_a_mirrored_border, point_in_a_resize),
        *(point_at_the_side, angle_of_a_rotation, angle_of_a_transposition, mirrored_points, mask_in_a_resize),
        *(fill_of_a_mask, fill_of_floats, fill_of_all_channels, fill_of_some_channels, fill_of_frames),
        *(glass, one_pixel, sharpen_grey, nothing_chosen, draws_of_frames),
    )
}


def test_the_page_has_these_lines() -> None:
    assert re.findall(r"^\| `([a-z-]+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE) == [*CASES]


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize("mode", ["none", "exact", "fast"])
@pytest.mark.parametrize("name", CASES)
def test_both_values(name: str, mode: str) -> None:
    CASES[name](mode)


def test_import_and_verify_name_the_steps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "train.py"
    source.write_text(
        "import albumentations as A\n"
        "train = A.Compose([A.Resize(64, 64), A.GridDistortion(), A.Blur()],\n"
        "    bbox_params=A.BboxParams('coco', label_fields=['c']))\n",
        encoding="utf-8",
    )
    with suppress(SystemExit):
        main(["import", str(source), "--no-time"])
    said = " ".join("".join(capsys.readouterr()).split())
    assert "does otherwise in GridDistortion, Resize: docs/DIFFERENCES.md" in said
    cv2.imwrite(str(tmp_path / "one.png"), np.random.default_rng(0).integers(0, 256, (40, 50, 3), np.uint8))
    with suppress(SystemExit):
        main(["verify", "detection", "--data", str(tmp_path), "--samples", "2"])
    said = " ".join("".join(capsys.readouterr()).split())
    assert "docs/DIFFERENCES.md" in said
