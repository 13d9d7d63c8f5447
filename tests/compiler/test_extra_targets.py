"""What travels beside an image follows it, whatever applies the recipe; and what is no target of a recipe."""

import copy
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import albumentations as A
import cv2
import numpy as np
import pytest
import torch
from support import folders as tars
from support.checks import in_a_thread
from support.folders import RECIPE
from support.kinds import PAIR, annotated

import augrecipes as ar
from augrecipes.compiler.run.draws import Draws
from augrecipes.recipe.parse import parse_text

GREY = np.full((260, 300, 3), 120, np.uint8)
IMAGE = np.random.default_rng(0).integers(0, 256, (60, 80, 3), dtype=np.uint8)
MASK = np.random.default_rng(1).integers(0, 5, (60, 80), dtype=np.uint8)
LEVELS: Any = ("none", "exact", "fast")
STEPS = "[{Rotate: {limit: 20, p: 1.0}}, {RandomCrop: {height: 40, width: 50}}, {ColorJitter: {p: 1.0}}]"


def recipe(steps: str = STEPS, **more: str) -> ar.Recipe:
    rest = "".join(f"{key}: {value}\n" for key, value in more.items())
    return parse_text(f"version: 1\nrecipe: test\nsteps: {steps}\neval: []\n{rest}")


@pytest.mark.parametrize("optimize", LEVELS)
def test_every_image_of_a_sample_is_stained_alike(optimize: Any) -> None:
    pipeline = ar.load("stained-tissue").compile(optimize=optimize, seed=3)
    pipeline.add_targets({"left": "image"})
    for index in range(4):
        out = pipeline.at(index)(image=GREY, images=[GREY, GREY], volume=np.stack([GREY] * 3), left=GREY)
        assert not np.allclose(out["image"], out["image"].flat[0] * 0)
        for other in (out["left"], *out["images"], *out["volume"].swapaxes(0, 1)):
            np.testing.assert_array_equal(other, out["image"])


@pytest.mark.parametrize("optimize", LEVELS)
def test_it_is_plain_albumentations(optimize: Any) -> None:
    """The same steps in a plain Compose, each given the generators of its key, make the same of every target."""
    source = recipe(output="{dtype: uint8, layout: hwc}")
    plain = A.Compose([A.Rotate(limit=20, p=1.0), A.RandomCrop(height=40, width=50), A.ColorJitter(p=1.0)])
    given = {
        "image": IMAGE,
        "images": np.stack([IMAGE, IMAGE[::-1]]),
        "masks": np.stack([MASK, MASK[::-1], MASK]),
        "volume": np.stack([IMAGE[:, ::-1], IMAGE]),
        "mask3d": np.stack([MASK, MASK[:, ::-1]]),
    }
    draws = Draws(9)
    for step, site in zip(plain.transforms, [s.site for s in source.steps], strict=True):
        step.random_generator, step.py_random = draws.add(site)
    for index in range(5):
        draws.position(0, index)
        expected = plain(**{key: value.copy() for key, value in given.items()})
        np.testing.assert_equal(source.compile(optimize=optimize, seed=9).at(index)(**given), expected)


@pytest.mark.parametrize("layout", ["chw", "hwc"])
def test_shapes_and_dtypes(layout: str) -> None:
    # Rotate and others of albumentations' fail on `masks3d`.
    pipeline = recipe("[{RandomCrop: {height: 40, width: 50}}, CLAHE]", output=f"{{layout: {layout}}}").compile()
    out = pipeline.at(0)(
        image=IMAGE,
        images=(IMAGE, IMAGE),
        volume=np.stack([IMAGE[..., 0]] * 4),
        volumes=np.stack([IMAGE] * 6).reshape(2, 3, *IMAGE.shape),
        masks=[MASK, MASK],
        mask3d=np.stack([MASK] * 4) > 1,
        masks3d=np.stack([MASK] * 6).reshape(2, 3, *MASK.shape).astype(np.float64),
    )
    assert [type(out[key]) for key in ("images", "masks")] == [list, list]
    shapes = {key: np.shape(value) for key, value in out.items()}
    size, first = (40, 50), layout == "chw"
    assert shapes == {
        "image": (3, *size) if first else (*size, 3),
        "images": (2, 3, *size) if first else (2, *size, 3),
        "volume": (1, 4, *size) if first else (4, *size, 1),
        "volumes": (2, 3, 3, *size) if first else (2, 3, *size, 3),
        "masks": (2, *size),
        "mask3d": (4, *size),
        "masks3d": (2, 3, *size),
    }
    dtypes = {key: np.asarray(value).dtype.name for key, value in out.items()}
    assert dtypes == dict.fromkeys(shapes, "float32") | {"masks": "int64", "mask3d": "int64", "masks3d": "float64"}


def test_added_targets_go_wherever_the_pipeline_goes() -> None:
    pipeline = recipe().compile(optimize="fast", seed=4)
    found = [in_a_thread(lambda: pipeline.at(0)(image=IMAGE))]
    pipeline.add_targets({"left": "image"})
    pipeline.add_targets({"cells": "mask"})
    expected = pipeline.at(0)(image=IMAGE, left=IMAGE[::-1], cells=MASK)
    found.append(in_a_thread(lambda: pipeline.at(0)(image=IMAGE, left=IMAGE[::-1], cells=MASK)))
    copies = (pickle.loads(pickle.dumps(pipeline)), copy.deepcopy(pipeline))
    found += [made.at(0)(image=IMAGE, left=IMAGE[::-1], cells=MASK) for made in copies]
    for other in found[1:]:
        np.testing.assert_equal(other, expected)
    assert expected["cells"].dtype == np.int64
    np.testing.assert_array_equal(
        found[0]["image"], recipe().compile(optimize="fast", seed=4).at(0)(image=IMAGE)["image"]
    )


@pytest.mark.parametrize(
    ("added", "message"),
    [
        ({"two": "bboxes"}, "can be like image, images"),
        ({"mask": "image"}, "'mask' is a target already"),
        ({"images": "image"}, "is a target already"),
        ({"box_labels": "image"}, "is a target already"),
    ],
)
def test_what_cannot_be_added(added: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        recipe(inputs="{boxes: coco}").compile().add_targets(added)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"images": [IMAGE, IMAGE[:50]]}, "images must be an array, or a list of numpy arrays of one shape and dtype"),
        ({"images": [IMAGE, "b.png"]}, "images must be an array, or a list"),
        ({"images": []}, "images must be an array, or a list"),
        ({"images": "frames"}, "images must be a numpy array of 3 or 4 dimensions, got str"),
        ({"images": IMAGE[None, :50]}, "images of shape (1, 50, 80, 3) does not lie on the image of shape (60, 80, 3)"),
        ({"images": IMAGE[None].astype(np.int64)}, "images[0] must be uint8 (0..255) or float32 (0..1), got int64"),
        ({"volumes": IMAGE[None, None].astype(np.float32)}, "volumes[0][0] is float32 and holds values of"),
        ({"masks": MASK[None, :50]}, "masks of shape (1, 50, 80) does not lie on the image"),
        ({"mask3d": MASK}, "mask3d of shape (60, 80) does not lie on the image"),
        ({"masks": [MASK, None]}, "masks must be an array, or a list"),
        ({"image": None, "masks": MASK[None]}, "image must be a numpy array, got NoneType"),
        ({"image": None, "images": IMAGE[None], "out": np.zeros(3)}, "out receives the image, and the sample"),
        ({"image": None, "images": IMAGE[None], "mask": MASK[:50]}, "mask of shape (50, 80) does not lie"),
    ],
)
def test_what_does_not_fit(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ar.DataError) as caught:
        recipe().compile().at(0)(**{"image": IMAGE, **given})
    assert message in str(caught.value)


class Tensor:
    """What arrays of other libraries look like."""

    shape = (3, 60, 80)


NO_TARGETS: tuple[Any, ...] = (IMAGE, MASK, [IMAGE], (MASK, MASK), np.zeros(3), Tensor(), [Tensor()])


class TestNames:
    @pytest.mark.parametrize("name", ["image2", "mask2", "depth", "Image", "masks2d", "applied"])
    @pytest.mark.parametrize("value", NO_TARGETS, ids=lambda v: type(v).__name__)
    @pytest.mark.parametrize("optimize", LEVELS)
    def test_an_array_of_an_unknown_name_is_an_error(self, name: str, value: Any, optimize: Any) -> None:
        pipeline = recipe(inputs="{mask: optional}").compile(optimize=optimize)
        with pytest.raises(ar.DataError) as caught:
            pipeline(**{"image": IMAGE, name: value})
        said = str(caught.value)
        like = "mask" if "mask" in name else "image"
        assert f"{name!r} is an array, and no target of this recipe (image, mask, images, volume" in said
        assert f"pipeline.add_targets({{{name!r}: {like!r}}})" in said

    def test_the_names_are_those_of_the_recipe(self) -> None:
        inputs = "{mask: absent, boxes: {format: coco, labels: kind}, keypoints: {format: xy, labels: null}}"
        pipeline = recipe(inputs=inputs).compile()
        given = {"image": IMAGE, "boxes": np.array([[1, 2, 3, 4]]), "kind": np.array([4]), "keypoints": np.ones((1, 2))}
        assert pipeline.at(0)(**given).keys() == given.keys()
        with pytest.raises(ar.DataError, match=r"\(boxes, image, keypoints, kind, images, "):
            pipeline.at(0)(**given, box_labels=np.array([4]))

    def test_what_a_step_reads_is_known(self) -> None:
        steps = "[{RandomCropNearBBox: {max_part_shift: 0.1, cropping_bbox_key: where}}]"
        where = np.array([5, 5, 40, 40])
        assert recipe(steps).compile().at(0)(image=IMAGE, where=where)["where"] is where
        with pytest.raises(ar.DataError, match=r"masks3d, where\)"):
            recipe(steps).compile().at(0)(image=IMAGE, where=where, there=where)


# Annotations follow their image: whatever applies a recipe, its samples are those of the pipeline at that key.


ANNOTATIONS = ("image", "mask", "boxes", "box_labels", "keypoints")
BOXED = parse_text(RECIPE)  # takes a mask, boxes and keypoints
Rows = list[dict[str, Any]]


def by_dataset(rows: Rows, folder: Path) -> Rows:
    ds = ar.Samples(rows, BOXED, seed=3)
    (batch,) = ar.loader(ds, len(rows), num_workers=0)
    assert batch["score"].dtype.is_floating_point
    assert batch["caption"] == [row["caption"] for row in rows]
    assert [len(boxes) for boxes in batch["boxes"]] == [len(ds[0, i]["boxes"]) for i in range(len(rows))]
    return [ds[1, i] for i in range(len(rows))]


def by_transform(rows: Rows, folder: Path) -> Rows:
    transform = BOXED.transform(seed=3)
    transform.set_epoch(1)
    return [transform(row, index=i) for i, row in enumerate(rows)]


def by_batches(rows: Rows, folder: Path) -> Rows:
    columns: dict[str, Any] = {"index": np.arange(len(rows))}
    for name in rows[0]:
        columns[name] = np.empty(len(rows), object)
        columns[name][:] = [np.asarray(row[name]) for row in rows]
    made = BOXED.map_batches(seed=3, epoch=1)(columns)
    return [{name: column[i] for name, column in made.items()} for i in range(len(rows))]


def by_archive(rows: Rows, folder: Path) -> Rows:
    """Boxes and a label of the JSON, a mask of its own."""
    inside: dict[str, bytes] = {}
    for i, row in enumerate(rows):
        said = {name: row[name] for name in ("boxes", "box_labels")}
        said |= {"label": int(row["label"]), "keypoints": row["keypoints"].tolist(), "of": {"kind": 2}}
        inside |= {
            f"{i}.png": cv2.imencode(".png", row["image"][:, :, ::-1])[1].tobytes(),
            f"{i}.mask.png": cv2.imencode(".png", row["mask"].astype(np.uint16))[1].tobytes(),
            f"{i}.json": json.dumps(said).encode(),
        }
    path = tars.write(folder / "a.tar", inside)
    keyed = ar.Samples(path, BOXED, keys={"image": "png", "label": "json.of.kind"})
    assert [keyed[i]["label"] for i in range(len(rows))] == [2] * len(rows)
    ds = ar.Samples(path, BOXED, seed=3)
    return [ds[1, i] for i in range(len(rows))]


@pytest.mark.parametrize("route", [by_dataset, by_transform, by_batches, by_archive])
def test_annotations_follow_their_image(route: Callable[[Rows, Path], Rows], tmp_path: Path) -> None:
    rows, pipeline = annotated(), BOXED.compile(seed=3)
    for i, (row, sample) in enumerate(zip(rows, route(rows, tmp_path), strict=True)):
        expected = pipeline.at(i, 1)(
            image=row["image"],
            mask=row["mask"].astype(np.uint16),
            boxes=np.array(row["boxes"], np.float32).reshape(-1, 4),
            box_labels=row["box_labels"],
            keypoints=row["keypoints"].numpy(),
        )
        for name in ANNOTATIONS:
            assert np.array_equal(np.asarray(sample[name]), np.asarray(expected[name])), name
        beside = ("label",) if route is by_archive else ("label", "caption", "score")
        assert [sample[name] for name in beside] == [row[name] for name in beside]


def test_parts_of_a_row_are_called_as_it_is_said() -> None:
    row = annotated()[1]
    image, mask = row["image"], row["mask"]
    found = BOXED.transform()(image, mask, index=4)
    for sample, keys, places in (
        ((image, mask), None, (0, 1)),
        ((mask, image), ("mask", "image"), (1, 0)),
        ((mask, "x", image), {"image": 2, "mask": 0}, (2, 0)),
        ({"photo": image, "seg": mask}, {"image": "photo", "mask": "seg"}, ("photo", "seg")),
    ):
        named: Any = BOXED.transform(**({} if keys is None else {"keys": keys}))(sample, index=4)
        assert all(torch.equal(named[place], part) for place, part in zip(places, found, strict=True))


def test_pairs() -> None:
    hr, recipe = np.random.default_rng(0).integers(0, 256, (40, 36, 3), np.uint8), parse_text(PAIR.recipe)
    rows = {"lr": hr[::2, ::2], "hr": hr}
    expected = recipe.compile().at(3, 0)(**rows)
    found = recipe.transform()({**rows, "name": "x"}, index=3)
    both: Any = recipe.transform(keys=("lr", "hr"))((rows["lr"], hr), index=3)
    batch = recipe.map_batches()({name: part[None] for name, part in rows.items()} | {"index": np.array([3])})
    for k, name in enumerate(("lr", "hr")):
        assert np.array_equal(found[name].numpy(), expected[name])
        assert np.array_equal(batch[name][0], expected[name])
        assert torch.equal(both[k], found[name])
