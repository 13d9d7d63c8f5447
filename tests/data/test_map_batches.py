"""A recipe over batches of columns: the samples of (epoch, index), however rows are batched, wherever it runs."""

from __future__ import annotations

import os
import pickle
import random
import sys
from typing import Any

import numpy as np
import pytest
import torch
from kinds import IMAGE, PAIR

import augrecipes as ar
from augrecipes.data.samples import Samples
from augrecipes.data.transform import BatchTransform, _column
from augrecipes.errors import DataError, RecipeError
from augrecipes.recipe.parse import parse_text

PLAIN = "{version: 1, recipe: plain, steps: [HorizontalFlip, RandomGamma: {p: 1.0}, Rotate: {p: 1.0}], eval: []}"
SIZES = "{version: 1, recipe: s, steps: [RandomScale: {p: 1.0}, HorizontalFlip], eval: []}"
N = 12


def columns(rng: np.random.Generator, ragged: bool = False) -> dict[str, Any]:
    sizes = [(32, 28 + 2 * (k % 3) * ragged) for k in range(N)]
    images = np.empty(N, object)
    for k, size in enumerate(sizes):
        images[k] = rng.integers(0, 256, (*size, 3), np.uint8)
    image = images if ragged else np.stack(list(images))
    return {"image": image, "index": np.arange(N) + 3, "label": np.arange(N) % 3, "name": np.array([*map(str, sizes)])}


def taken(batch: dict[str, Any], rows: Any) -> dict[str, Any]:
    return {name: column[rows] for name, column in batch.items()}


def rowwise(batch: dict[str, Any]) -> dict[int, bytes]:
    """The picture of each index."""
    return {int(i): image.tobytes() for i, image in zip(batch["index"], batch["image"], strict=True)}


def holds(make: Any, ragged: bool) -> None:
    """The law: samples go by index and epoch, not by batches, their order, or copies of the function."""
    rng, chance = np.random.default_rng(0), random.Random(0)
    given = columns(rng, ragged)
    recipe = parse_text(SIZES if ragged else PLAIN)
    ds = Samples([{"image": image} for image in given["image"]], recipe, seed=5)
    for epoch in (0, 3):
        whole = rowwise(make(recipe, epoch)(given))
        for k in range(N):
            pipeline = recipe.compile(seed=5)
            image = np.asarray(pipeline.at(k + 3, epoch)(image=given["image"][k])["image"])
            assert whole[k + 3] == image.tobytes()
        assert whole != rowwise(make(recipe, epoch + 1)(given))
        seen: dict[int, bytes] = {}
        rows = chance.sample(range(N), N)
        function = make(recipe, epoch)
        while rows:
            some, rows = rows[: (n := chance.randrange(1, 5))], rows[n:]
            function = pickle.loads(pickle.dumps(function)) if chance.random() < 0.5 else function
            seen |= rowwise(function(taken(given, some)))
        assert seen == whole
    assert len(ds) == N


@pytest.mark.parametrize("ragged", [False, True])
def test_samples_are_those_of_index_and_epoch(ragged: bool) -> None:
    holds(lambda recipe, epoch: recipe.map_batches(seed=5, epoch=epoch), ragged)


def test_a_place_in_the_batch_for_an_index_is_caught() -> None:
    class ByPlace(BatchTransform):
        def __call__(self, batch: Any) -> dict[str, Any]:
            return super().__call__({**batch, "index": np.arange(len(batch["index"]))}) | {"index": batch["index"]}

    with pytest.raises(AssertionError):
        holds(lambda recipe, epoch: ByPlace(recipe, seed=5, epoch=epoch), False)


def test_columns_stay_and_sizes_are_stacked() -> None:
    given = columns(np.random.default_rng(0))
    made = parse_text(PLAIN).map_batches()(given)
    assert [*made] == [*given]
    assert made["label"] is given["label"]
    assert (made["image"].shape, made["image"].dtype) == ((N, 3, 32, 28), np.float32)
    ragged = parse_text(SIZES).map_batches()(columns(np.random.default_rng(0), True))
    assert ragged["image"].dtype == object
    assert ragged["image"][0].ndim == 3
    nothing = {"image": np.zeros((0, 4, 4, 3), np.uint8)}
    assert parse_text(PLAIN).map_batches()(nothing)["image"] is nothing["image"]


def test_without_an_index_nothing_is_drawn() -> None:
    given = columns(np.random.default_rng(0))
    given.pop("index")
    with pytest.raises(DataError, match=r"has no column 'index' or '__key__' or 'path', .*; there is 'image'"):
        parse_text(PLAIN).map_batches(seed=5)(given)


def test_names_key_draws_too() -> None:
    given = columns(np.random.default_rng(0))
    given["image"][:] = given["image"][0]
    named = parse_text(PLAIN).map_batches(index="name")({**given, "name": [f"{k // 2}.jpg" for k in range(N)]})["image"]
    assert np.array_equal(named[0], named[1])
    assert not np.array_equal(named[1], named[2])
    paths = {"image": given["image"], "path": np.array([f"{k // 2}.jpg" for k in range(N)])}
    assert np.array_equal(parse_text(PLAIN).map_batches()(paths)["image"], named)


def test_masks_boxes_and_pairs() -> None:
    rng = np.random.default_rng(0)
    given = columns(rng)
    boxes, labels = np.empty(N, object), np.empty(N, object)
    for k in range(N):
        boxes[k], labels[k] = np.array([[1, 2, 20, 25]] * (k % 3), np.float32).reshape(-1, 4), np.full(k % 3, 7)
    given |= {"mask": rng.integers(0, 9, (N, 32, 28)).astype(np.uint8), "boxes": boxes, "box_labels": labels}
    recipe = parse_text(IMAGE.recipe)
    made = recipe.map_batches(seed=1)(given)
    for k in range(N):
        taken_ = {name: given[name][k] for name in ("image", "mask", "boxes", "box_labels")}
        expected = recipe.compile(seed=1).at(k + 3, 0)(**taken_)
        for name in ("image", "mask", "boxes"):
            assert np.array_equal(made[name][k], expected[name])
    pairs = {"hr": rng.integers(0, 256, (4, 40, 36, 3), np.uint8), "lr": rng.integers(0, 256, (4, 20, 18, 3), np.uint8)}
    both = parse_text(PAIR.recipe).map_batches()({**pairs, "index": np.arange(4)})
    assert (both["hr"].shape[-2:], both["lr"].shape[-2:]) == ((24, 20), (12, 10))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"index": np.arange(3)}, "columns of a batch have one length; it has image: 12"),
        ({"index": np.arange(N) - 9}, "-9: an index is at least 0, got -9"),
        ({"index": np.arange(N) / 2}, "an index is an integer or text"),
        ({"epoch": 3}, "a batch is a dict of columns"),
        ({"image": [None] * N}, "3: has no image"),
        ({"image": [b"nonsense"] * N}, "3: .*not a picture"),
    ],
)
def test_what_is_wrong_is_told_with_the_row(change: dict[str, Any], said: str) -> None:
    with pytest.raises(DataError, match=said):
        parse_text(PLAIN).map_batches()({**columns(np.random.default_rng(0)), **change})


def test_what_has_one_shape_and_two_types_stays_apart() -> None:
    made = _column([torch.zeros(2, 3), torch.ones(2, 3, dtype=torch.uint8)], None)
    assert [(one.shape, one.dtype.name) for one in made] == [((2, 3), "float32"), ((2, 3), "uint8")]


def test_arguments() -> None:
    with pytest.raises(DataError, match=r"has no column 'id', .*there is 'image'"):
        parse_text(PLAIN).map_batches(index="id")(columns(np.random.default_rng(0)))
    with pytest.raises(RecipeError, match="a bag is no one picture"):
        ar.load("stained-tissue-bag").map_batches()
    with pytest.raises((TypeError, ValueError)):
        parse_text(PLAIN).map_batches(epoch=-1)


@pytest.mark.filterwarnings("ignore")
def test_ray_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks, batches and processes of Ray's own, which may be of any size."""
    why = "Ray Data wants ray, pyarrow and pandas: pip install 'ray[data]'"
    for needed in ("pyarrow", "pandas"):
        pytest.importorskip(needed, reason=why)
    ray: Any = pytest.importorskip("ray", reason=why, exc_type=ImportError)
    data: Any = pytest.importorskip("ray.data", reason=why, exc_type=ImportError)
    paths = os.pathsep.join(filter(None, sys.path))
    for name, value in (("RAY_USAGE_STATS_ENABLED", "0"), ("RAY_AUTH_MODE", "disabled"), ("PYTHONPATH", paths)):
        monkeypatch.setenv(name, value)
    given = columns(np.random.default_rng(0))
    function = parse_text(PLAIN).map_batches(seed=5)
    ray.init(
        address="local", num_cpus=2, include_dashboard=False, object_store_memory=80_000_000, log_to_driver=False,
        logging_level="error",
    )  # fmt: skip
    try:
        rows = [{name: column[k] for name, column in given.items()} for k in range(N)]
        ds = data.from_items(rows, override_num_blocks=3).map_batches(function, batch_format="numpy", batch_size=5)
        found = {int(row["index"]): row["image"].tobytes() for row in ds.take_all()}
    finally:
        ray.shutdown()
    assert found == rowwise(function(given))
