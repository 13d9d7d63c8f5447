"""Random sets, written in every format, list to the same columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sets import OUTLINED, WRITERS, Picture, Set, random_set

from augrecipes.kinds.image.dataset import ImageFolder
from augrecipes.recipe.model import Recipe
from augrecipes.recipe.parse import parse_text
from augrecipes.sources.annotations.records import AnnotationOptions
from augrecipes.sources.annotations.table import table_of_annotations
from augrecipes.sources.columns import Columns
from augrecipes.sources.defects import Findings

FORMATS = ("pascal_voc", "coco", "yolo", "albumentations")
FEW = settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def recipe(boxes: str = "", *, keypoints: str = "", mask: str = "absent", steps: str = "[NoOp]") -> Recipe:
    lines = [f"mask: {mask}"]
    lines += [f"boxes: {{format: {boxes}, labels: kinds}}"] if boxes else []
    lines += [f"keypoints: {{{keypoints}}}"] if keypoints else []
    text = f"version: 1\nrecipe: test\ninputs: {{{', '.join(lines)}}}\nsteps: {steps}\neval: derived\n"
    return parse_text(text)


def listed(path: Path, made: Recipe, **options: Any) -> Columns:
    """As a dataset lists it, and without its log."""
    found = Findings()
    table = table_of_annotations(path, AnnotationOptions(made.inputs, **options), found)
    found.refuse()
    return table


def expected(picture: Picture, classes: tuple[str, ...]) -> list[tuple[int, list[float]]]:
    """The rule in plain words: marked ones are left out, the rest cut to the picture, what is empty then left out."""
    found = []
    for thing in picture.things:
        x1, x2 = (min(max(v, 0.0), float(picture.width)) for v in thing.corners[::2])
        y1, y2 = (min(max(v, 0.0), float(picture.height)) for v in thing.corners[1::2])
        if not thing.flagged and x2 - x1 > 1e-4 and y2 - y1 > 1e-4:
            found.append((classes.index(thing.label), [x1, y1, x2, y2]))
    return found


def in_px(rows: np.ndarray, format: str, picture: Picture) -> np.ndarray:
    rows = rows.astype(float)
    if format == "yolo":
        rows = np.hstack([rows[:, :2] - rows[:, 2:] / 2, rows[:, :2] + rows[:, 2:] / 2])
    if format in ("yolo", "albumentations"):
        rows = rows * ([picture.width, picture.height] * 2)
    if format == "coco":
        rows = np.hstack([rows[:, :2], rows[:, :2] + rows[:, 2:]])
    return rows


def check_boxes(path: Path, of: Set, format: str) -> None:
    table = listed(path, recipe(format))
    assert [table.images.name(k).rpartition("images/")[2].rpartition("train/")[2] for k in range(len(table))] == [
        picture.name for picture in of.pictures
    ]
    assert table.boxes is not None
    assert table.boxes.labels is not None
    assert table.box_classes is not None
    for k, picture in enumerate(of.pictures):
        wanted = expected(picture, of.classes)
        labels = table.boxes.labels_of(k)
        assert labels is not None
        assert [table.box_classes[label] for label in labels] == [of.classes[label] for label, _ in wanted]
        got = in_px(table.boxes.rows(k), format, picture)
        np.testing.assert_allclose(got, np.reshape([corners for _, corners in wanted], (-1, 4)), atol=2e-4)


@pytest.mark.parametrize("name", WRITERS)
@FEW
@given(seed=st.integers(0, 10**6), format=st.sampled_from(FORMATS))
def test_random_sets_list_to_what_is_in_them(
    tmp_path_factory: pytest.TempPathFactory, name: str, seed: int, format: str
) -> None:
    of = random_set(seed)
    check_boxes(WRITERS[name](tmp_path_factory.mktemp("set"), of), of, format)


@pytest.mark.parametrize("name", WRITERS)
@FEW
@given(seed=st.integers(0, 10**6), format=st.sampled_from(FORMATS))
def test_what_is_listed_goes_through_a_pipeline(
    tmp_path_factory: pytest.TempPathFactory, name: str, seed: int, format: str
) -> None:
    """Boxes at and over every edge are taken by albumentations, and come out as they went in."""
    of = random_set(seed)
    ds = ImageFolder(files=WRITERS[name](tmp_path_factory.mktemp("set"), of), recipe=recipe(format))
    for k in range(len(ds)):
        sample = ds[k]
        rows = ds.table.boxes
        assert rows is not None
        np.testing.assert_allclose(sample["boxes"].numpy(), rows.rows(k), atol=1e-3)
        assert sample["kinds"].tolist() == list(rows.labels_of(k) if rows.labels is not None else ())


@pytest.mark.parametrize("name", OUTLINED)
@FEW
@given(seed=st.integers(0, 10**6))
def test_polygons_are_drawn_exactly(tmp_path_factory: pytest.TempPathFactory, name: str, seed: int) -> None:
    of = random_set(seed, polygons=True, flagged=False)
    path = WRITERS[name](tmp_path_factory.mktemp("set"), of)
    drawn = listed(path, recipe(mask="required"))
    assert drawn.boxes is None
    assert drawn.outlines is not None
    for k, picture in enumerate(of.pictures):
        mask = drawn.outlines.draw(k, picture.height, picture.width)
        want = np.zeros_like(mask)
        for thing in picture.things:
            want[inside(thing.polygon, picture)] = of.classes.index(thing.label) + 1
        assert (mask != want).mean() < 0.01  # shares of YOLO round: a centre may lie on an edge


def inside(polygon: list[float], picture: Picture) -> np.ndarray:
    """Pixels whose centres lie in a polygon: by its angles, the slow way."""
    x, y = np.meshgrid(np.arange(picture.width) + 0.5, np.arange(picture.height) + 0.5)
    ring = np.reshape(polygon, (-1, 2))
    odd = np.zeros(x.shape, bool)
    for (x1, y1), (x2, y2) in zip(ring, np.roll(ring, -1, axis=0), strict=True):
        crosses = (y1 <= y) != (y2 <= y)
        with np.errstate(divide="ignore", invalid="ignore"):
            odd ^= crosses & (x >= x1 + (y - y1) * (x2 - x1) / (y2 - y1))
    return odd
