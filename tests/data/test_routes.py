"""Annotations follow their image: whatever applies a recipe, its samples are those of the pipeline at that key."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import torch
from support import tars
from support.kinds import IMAGE, PAIR, annotated

import augrecipes as ar
from augrecipes.recipe.parse import parse_text

ANNOTATIONS = ("image", "mask", "boxes", "box_labels", "keypoints")
BOXED = parse_text(IMAGE.recipe)  # takes a mask, boxes and keypoints
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
