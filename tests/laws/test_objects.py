"""Objects stay whole: every point keeps its box, every mask its box, and a left eye is a left eye in every image."""

from typing import Any

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


def check(steps: list[Any], seed: int, count: int, named: bool, of: Any, invisible: bool, given: bool) -> None:
    """Of a sample: rows agree, points stay with their boxes, and the triangle of names never turns over."""
    rng = np.random.default_rng(seed)
    pairs: Any = [["left", "right"]] if named else [[1, 2]]
    made = ar.load(recipe(steps, of, labels="names", flip_pairs=pairs, remove_invisible=invisible))
    taken, own = sample(rng, count), np.arange(count)
    if count == 0:
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
    masks = out.get("masks", ())
    assert len(masks) == len(boxes)
    assert all({*np.unique(mask)} <= {0, label + 1} for mask, label in zip(masks, boxes, strict=True))
    assert ("object" in out) == ("keypoint_object" in out) == (given or of is not None)
    if "object" in out:
        assert out["object"].tolist() == own[boxes].tolist()
        assert out["keypoint_object"].tolist() == own[who // 10].tolist()
    if of is not None:
        assert {*who // 10} <= {*boxes}
    elif not invisible:
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
    st.sampled_from((None, "boxes")), st.booleans(), st.booleans(),
)  # fmt: skip


def test_points_and_masks_stay_with_their_boxes() -> None:
    holds(check, *SAMPLES)


def check_mixed(name: str, seed: int, of: Any, count: int) -> None:
    """Of a batch: an image has each object once, and a point is of the object that its box is of."""
    rng = np.random.default_rng(seed)
    items = [{**sample(rng, 3, 1000 * k), "mask": np.ones(SIDE, np.uint8)} for k in range(count)]
    for item in items:
        del item["masks"]
    steps = [{"RandomCrop": {"height": 50, "width": 50}}, "HorizontalFlip"]
    made = {**recipe(steps, of, flip_pairs=[[1, 2]], remove_invisible=False), "batch": [name]}
    ds = ar.Samples([{**item, "object": np.arange(3)} for item in items], made, seed=seed)
    batch = ar.collate(ds)([ds[0, k] for k in range(count)])
    for k in range(count):
        numbers, who = batch["object"][k].tolist(), batch["keypoints"][k][:, 2].int() // 10
        assert len({*numbers}) == len(numbers) == len(batch["boxes"][k])
        box = dict(zip(numbers, (batch["box_labels"][k] // 10).tolist(), strict=True))
        owners = batch["keypoint_object"][k].tolist()
        assert len(owners) == len(who)
        assert all(box.get(owner, mark) == mark for owner, mark in zip(owners, who.tolist(), strict=True))
        assert of is None or {*owners} <= {*numbers}


MIXED = (st.sampled_from(("Mosaic", "CutMix", "CopyPaste")), SEEDS, st.sampled_from((None, "boxes")), st.integers(2, 4))


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


ALL, MIXTURES = planted(check, *SAMPLES), planted(check_mixed, *MIXED)
test_planted_faults_are_found = planted_faults(
    {
        "what lies beside stays": (ALL, (points, "arrange", unfiltered)),
        "mirrors go unseen": (ALL, (objects, "_turned", lambda move, mirrored, **drawn: mirrored)),
        "every step mirrors": (ALL, (objects, "_turned", lambda move, mirrored, **drawn: not mirrored)),
        "points of another box": (ALL, (points, "link", backwards)),
        "masks stay": (ALL, (objects, "BESIDE", {**objects.BESIDE, "bboxes": ("object",)})),
        "one number for two objects": (MIXTURES, (batches.BatchArrays, "_annotate", unnumbered)),
    }
)
