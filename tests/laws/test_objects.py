"""Objects stay whole: every point keeps its box, every mask its box, and a left eye is a left eye in every image."""

from typing import Any

import albumentations as A
import numpy as np
import pytest
from hypothesis import strategies as st
from support.checks import SEEDS, holds, planted, planted_faults, same, tries

import augrecipes as ar
from augrecipes.compiler.run import objects, points
from augrecipes.mixtures import batch as batches

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
SIDE = (60, 80)
NAMES = ("nose", "left", "right")
STEPS: tuple[Any, ...] = (
    {"HorizontalFlip": {"p": 0.6}}, {"VerticalFlip": {"p": 0.6}}, {"Transpose": {"p": 0.6}}, {"D4": {"p": 0.7}},
    {"RandomRotate90": {"p": 0.7}}, {"Rotate": {"limit": 170, "p": 0.6}}, {"Perspective": {"p": 0.5}},
    {"Affine": {"scale": {"x": [-1, -1], "y": [1, 1]}, "rotate": [-30, 30], "p": 0.6}},
    {"ShiftScaleRotate": {"scale_limit": [0.1, 0.3], "p": 0.5}}, {"RandomScale": {"scale_limit": 0.3, "p": 0.5}},
    {"RandomCrop": {"height": 40, "width": 40, "p": 0.6}}, {"RandomResizedCrop": {"size": [50, 40], "p": 0.5}},
    {"OneOf": {"p": 0.8, "steps": [{"HorizontalFlip": {"p": 0.5}}, {"Transpose": {"p": 0.5}}]}},
    {"Sequential": {"p": 0.8, "steps": [{"SquareSymmetry": {"p": 0.8}}, {"RandomGamma": {"p": 0.5}}]}},
)  # fmt: skip


def sample(rng: np.random.Generator, count: int, first: int = 0) -> dict[str, Any]:
    """An image with boxes, the nose, the left and the right eye in each, and its mask; each point knows who it is."""
    boxes, marks, masks = np.zeros((count, 4), np.float32), [], np.zeros((count, *SIDE), np.uint8)
    for k in range(count):
        x, y = rng.integers(0, 50, 2)
        boxes[k] = x, y, x + 20, y + 10
        masks[k, y : y + 10, x : x + 20] = k + 1
        mark = first + 10 * k
        marks += [[x + 10, y + 8, mark], [x + 4, y + 2, mark + 1], [x + 16, y + 2, mark + 2]]
    return {
        "image": rng.integers(0, 256, (*SIDE, 3), np.uint8), "boxes": boxes, "masks": masks,
        "box_labels": np.arange(first, first + 10 * count, 10), "keypoints": np.array(marks, np.float32).reshape(-1, 3),
    }  # fmt: skip


def recipe(steps: list[Any], of: Any, **points: Any) -> dict[str, Any]:
    inputs = {"boxes": {"format": "pascal_voc", "min_visibility": 0.3}, "keypoints": {"of": of, **points}}
    return {"version": 1, "recipe": "t", "inputs": inputs, "steps": steps, "eval": [], "output": {"dtype": "uint8"}}


def check(steps: list[Any], seed: int, count: int, named: bool, of: Any, hides: bool, given: bool, more: bool) -> None:
    """Of a sample: rows agree, points stay with their boxes, and the triangle of names never turns over."""
    rng = np.random.default_rng(seed)
    pairs: Any = [["left", "right"]] if named else [[1, 2]]
    made = ar.load(recipe(steps, of, labels="names", flip_pairs=pairs, remove_invisible=hides))
    taken, own = sample(rng, count), np.arange(count)
    if not more or count == 0:
        del taken["masks"]
    taken["names"] = list(NAMES) * count if named else [0, 1, 2] * count
    if given:
        own = rng.permutation(40)[:count]
        taken |= {"object": own, "keypoint_object": np.repeat(own, 3)}
    found = [made.compile(optimize=mode, seed=seed).at(3)(**taken) for mode in ("none", "exact", "fast")]  # type: ignore[arg-type]
    out = {key: value for key, value in found[0].items() if key != "image"}
    for other in found[1:]:
        same({key: other[key] for key in other if key != "image"}, out)
    boxes, who = out["box_labels"] // 10, out["keypoints"][:, -1].astype(int)
    if "masks" in out:
        assert len(out["masks"]) == len(boxes)
        assert all({*np.unique(mask)} <= {0, label + 1} for mask, label in zip(out["masks"], boxes, strict=True))
    assert ("object" in out) == ("keypoint_object" in out) == (given or of is not None)
    if "object" in out:
        assert out["object"].tolist() == own[boxes].tolist()
        assert out["keypoint_object"].tolist() == own[who // 10].tolist()
    if of is not None:
        assert {*who // 10} <= {*boxes}
    elif not hides:
        assert sorted(who) == sorted(taken["keypoints"][:, -1])
    for k in {*who // 10}:
        rows = np.flatnonzero(who // 10 == k)
        places = [NAMES.index(out["names"][row]) if named else out["names"][row] for row in rows]
        assert places == sorted({*places})
        if len(rows) == 3:
            nose, left, right = out["keypoints"][rows, :2]
            assert np.linalg.det([left - nose, right - nose]) > 0


SAMPLES = (
    st.lists(st.sampled_from(STEPS), max_size=4), SEEDS, st.integers(0, 4), st.booleans(),
    st.sampled_from((None, "boxes")), st.booleans(), st.booleans(), st.booleans(),
)  # fmt: skip


def test_points_and_masks_stay_with_their_boxes() -> None:
    holds(check, *SAMPLES)


def check_mixed(name: str, seed: int, of: Any, count: int) -> None:
    """Of a batch: an image has each object once, and a point is of the object that its box is of."""
    rng = np.random.default_rng(seed)
    items = [{**sample(rng, 3, 1000 * k), "mask": np.ones(SIDE, np.uint8)} for k in range(count)]
    steps = [{"RandomCrop": {"height": 50, "width": 50}}, "HorizontalFlip"]
    made = {**recipe(steps, of, flip_pairs=[[1, 2]], remove_invisible=False), "batch": [name]}
    ds = ar.Samples([{**item, "object": np.arange(3)} for item in items], made, seed=seed)
    batch = ar.collate(ds)([ds[0, k] for k in range(count)])
    same(next(iter(ar.loader(ds, count, shuffle=False, num_workers=0))), batch)
    for k in range(count):
        numbers, who = batch["object"][k].tolist(), batch["keypoints"][k][:, 2].int() // 10
        assert len({*numbers}) == len(numbers) == len(batch["boxes"][k]) == len(batch["masks"][k])
        for mask, label in zip(batch["masks"][k], batch["box_labels"][k], strict=True):
            assert {*mask.unique().tolist()} == {0, int(label) // 10 % 100 + 1}
        box = dict(zip(numbers, (batch["box_labels"][k] // 10).tolist(), strict=True))
        owners = batch["keypoint_object"][k].tolist()
        assert len(owners) == len(who)
        assert all(box.get(owner, mark) == mark for owner, mark in zip(owners, who.tolist(), strict=True))
        assert of is None or {*owners} <= {*numbers}


SCALED = {"Mosaic": {"scale": [1.0, 1.5]}}
MIXED = (
    st.sampled_from(("Mosaic", SCALED, "CutMix", "CopyPaste")),
    SEEDS,
    st.sampled_from((None, "boxes")),
    st.integers(2, 4),
)


def test_objects_of_a_mixed_image_are_told_apart() -> None:
    holds(check_mixed, *MIXED, tried=tries(20))


def unfiltered(key: str, rows: Any, done: Any, declared: Any, labels: Any) -> Any:
    return np.arange(len(rows)), labels


def backwards(data: dict[str, Any], *more: Any) -> None:
    objects.link(data, *more)
    if "keypoint_object" in data:
        data["keypoint_object"] = data["keypoint_object"][::-1]


def unnumbered(batch: Any, k: int, *parts: Any) -> None:
    found = [batches.seen(sample, region, batch.recipe.inputs, shift) for sample, region, shift in parts]
    for key in found[0] if found else ():
        batch.values[key][k] = np.concatenate([part[key] for part in found])


# -- one by one --------------------------------------------------------------------------------------------------------

IMAGE = np.zeros((*SIDE, 3), np.uint8)
BOXES = {"boxes": [[5, 5, 25, 25], [50, 5, 70, 25]], "box_labels": [1, 2]}
FOUR = [[10, 10], [20, 10], [55, 10], [65, 10]]


def mirrored(given: dict[str, Any], **keypoints: Any) -> dict[str, Any]:
    made = recipe([{"HorizontalFlip": {"p": 1.0}}], keypoints.pop("of", None), **keypoints)
    return ar.load(made).compile(seed=0).at(0)(image=IMAGE, **given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"keypoints": FOUR[:3]}, "2 boxes and 3 keypoints: each box has as many of them"),
        ({"boxes": [], "box_labels": [], "keypoints": FOUR}, "0 boxes and 4 keypoints"),
        ({"object": [1, 2, 3]}, "object of shape (3,) and int64 should be one whole number for each of 2"),
        ({"object": ["a", "b"]}, "of shape (2,) and <U1 should be one whole number"),
        ({"keypoint_object": [0, 1]}, "keypoint_object of shape (2,) and int64"),
        ({"masks": np.zeros((3, *SIDE), np.uint8)}, "2 boxes and 3 masks: `masks` are of instances, one for each box"),
    ],
)
def test_what_does_not_fit(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ar.DataError) as caught:
        mirrored({**BOXES, "keypoints": FOUR, **given}, of="boxes")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("labels", "pairs", "x", "left"),
    [
        (None, [[0, 1]], [59, 69, 14, 24], None),
        (["l", "r", "l", "r"], [["l", "r"]], [59, 69, 14, 24], ["l", "r", "l", "r"]),
        (np.array([7, 8, 7, 8]), [[7, 8]], [59, 69, 14, 24], [7, 8, 7, 8]),
        ([5, 5, 5, 5], [[0, 1]], [59, 69, 14, 24], [5, 5, 5, 5]),  # labels of classes
        ([0, 1, 2, 3], [[0, 1]], [59, 69, 14, 24], [0, 1, 2, 3]),  # labels that number rows
        (["l", "n", "m", "r"], [["l", "r"]], [69, 59, 24, 14], ["r", "n", "m", "l"]),  # without their partners
        ([3, 9, 4, 9], [[3, 4]], [69, 59, 24, 14], [4, 9, 3, 9]),
        ([3, 9, 4, 9], [], [69, 59, 24, 14], [3, 9, 4, 9]),
    ],
)
def test_what_a_pair_is(labels: Any, pairs: Any, x: list[int], left: Any) -> None:
    key = {} if labels is None else {"names": labels}
    out = mirrored({**BOXES, "keypoints": FOUR, **key}, flip_pairs=pairs, **({"labels": "names"} if key else {}))
    assert out["keypoints"][:, 0].tolist() == x
    assert left is None or [*out["names"]] == left
    assert "object" not in out


class Turned(A.DualTransform):  # type: ignore[misc]
    """A mirror of somebody's own, of which nothing is known."""

    _targets = A.HorizontalFlip._targets

    def apply(self, img: Any, **_: Any) -> Any:
        return img[:, ::-1]

    def apply_to_bboxes(self, bboxes: Any, **_: Any) -> Any:
        bboxes[:, [0, 2]] = 1 - bboxes[:, [2, 0]]
        return bboxes

    def apply_to_keypoints(self, keypoints: Any, **params: Any) -> Any:
        keypoints[:, 0] = params["shape"][1] - 1 - keypoints[:, 0]
        return keypoints


@pytest.mark.usefixtures("own_classes")
def test_a_mirror_of_ones_own() -> None:
    ar.register(Turned)
    out = (
        ar.load(recipe([{"Turned": {"p": 1.0}}], None, flip_pairs=[[0, 1]]))
        .compile()
        .at(0)(image=IMAGE, keypoints=FOUR[:2])
    )
    assert out["keypoints"][:, 0].tolist() == [59, 69]


@pytest.mark.parametrize("optimize", ["none", "exact", "fast"])
def test_views_have_objects(optimize: Any) -> None:
    """Steps that views share may mirror them, and so may their own."""
    crop = {"Crop": {"x_min": 0, "y_min": 0, "x_max": 48, "y_max": 60, "p": 1.0}}
    made = recipe([], "boxes", flip_pairs=[[0, 1]]) | {
        "kind": "views", "shared": [crop, {"HorizontalFlip": {"p": 1.0}}],
        "views": {"a": {"steps": []}, "b": {"steps": [{"VerticalFlip": {"p": 1.0}}]}},
    }  # fmt: skip
    del made["steps"]
    out = ar.load(made).compile(optimize=optimize).at(0)(image=IMAGE, **BOXES, keypoints=FOUR)
    assert out["a_object"][0].tolist() == [0]
    assert out["a_keypoint_object"][0].tolist() == [0, 0]
    assert out["a_keypoints"][0][:, 0].tolist() == [27, 37]
    assert out["b_keypoints"][0][:, 0].tolist() == [37, 27]


ALL, MIXTURES = planted(check, *SAMPLES), planted(check_mixed, *MIXED)
# Crops leave boxes out, whose masks go along.
CROPS = st.lists(st.sampled_from([step for step in STEPS if "RandomCrop" in step]), min_size=1, max_size=2)
MASKED = planted(check, CROPS, SEEDS, st.just(4), *SAMPLES[3:-1], st.just(True))
test_planted_faults_are_found = planted_faults(
    {
        "what lies beside stays": (ALL, (points, "arrange", unfiltered)),
        "mirrors go unseen": (ALL, (objects, "_mirrored_flag", lambda move, mirrored, **drawn: mirrored)),
        "every step mirrors": (ALL, (objects, "_mirrored_flag", lambda move, mirrored, **drawn: not mirrored)),
        "points of another box": (ALL, (points, "link", backwards)),
        "masks stay": (MASKED, (objects, "BESIDE", {**objects.BESIDE, "bboxes": ("object",)})),
        "one number for two objects": (MIXTURES, (batches.BatchArrays, "_annotate", unnumbered)),
    }
)
