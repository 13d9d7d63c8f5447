"""`out=`: results written into the caller's memory."""

from typing import Any

import numpy as np
import pytest
import torch
from support.checks import read_only

import augrecipes as ar
from augrecipes.recipe.parse import parse_text

IMAGE = """
steps: [{RandomCrop: {height: 8, width: 6}}, HorizontalFlip, {ColorJitter: {hue: [0, 0], p: 0.5}}, VerticalFlip]
"""
PAIR = "kind: pair\nscales: {lr: 1, hr: 2}\nsteps: [{RandomCrop: {height: 4, width: 4, at: lr}}, {D4: {p: 1.0}}]\n"
BAG = "kind: bag\nbag: {max_tiles: 4}\nsteps: [{RandomCrop: {height: 8, width: 6}}, HorizontalFlip]\n"


def of(text: str, output: str = "{}") -> ar.Recipe:
    return parse_text(f"version: 1\nrecipe: t\neval: []\noutput: {output}\n{text}")


def image_of(height: int = 20, width: int = 20, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)


@pytest.mark.parametrize("optimize", ["none", "exact", "fast"])
@pytest.mark.parametrize("where", ["host", "device"])
@pytest.mark.parametrize("layout", ["chw", "hwc"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "uint8"])
@pytest.mark.parametrize("floats", [False, True])
def test_images_are_written_into_a_batch(optimize: Any, where: str, layout: str, dtype: str, floats: bool) -> None:
    pipeline = of(IMAGE, f"{{dtype: {dtype}, layout: {layout}, where: {where}}}").compile(optimize=optimize)
    image = image_of().astype(np.float32) / 255 if floats else image_of()
    first = pipeline.at(0)(image=image)["image"]
    batch = np.full((5, *first.shape), 77, first.dtype)
    for k in range(1, 4):
        row = batch[k]
        out = pipeline.at(k)(image=image, out=row, label=k)
        assert out["image"] is row
        assert out["label"] == k
        assert "out" not in out
        expected = pipeline.at(k)(image=image)["image"]
        assert np.array_equal(row, expected)
        assert not np.shares_memory(expected, batch)
    assert (batch[[0, 4]] == 77).all()


def test_a_function_is_asked_for_memory_of_the_right_size() -> None:
    lent: list[np.ndarray] = []

    def lend(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        lent.append(np.empty(shape, dtype))
        return lent[-1]

    tiles = [image_of(seed=k) for k in range(3)]
    scene = {"lr": image_of(10, 10), "hr": image_of()}
    for text, targets, out in (
        (IMAGE, {"image": image_of()}, lend),
        (BAG, {"images": tiles}, lend),
        (PAIR, scene, {"lr": lend, "hr": lend}),
    ):
        pipeline = of(text).compile()
        expected, done = pipeline.at(1)(**targets), pipeline.at(1)(**targets, out=out)
        for name in pipeline.outputs:
            assert any(np.shares_memory(done[name], array) for array in lent)
            assert np.array_equal(done[name], expected[name])


class Copies:
    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.zeros((3, 8, 6), np.float32)


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (np.zeros((3, 8, 7), np.float32), r"out is float32 of shape \(3, 8, 7\), the image comes out as float32 of"),
        (np.zeros((3, 8, 6), np.float64), r"out is float64 of shape \(3, 8, 6\), the image comes out as float32"),
        (np.zeros((3, 8, 6), ">f4"), "out is >f4"),
        (read_only(np.zeros((3, 8, 6), np.float32)), "out is read-only"),
        (Copies(), "share its memory with one; got Copies"),
        ([[1.0, 2.0]], "share its memory with one; got list"),
        ([[1.0], [1.0, 2.0]], "cannot be written to from numpy"),
        (torch.zeros((3, 8, 6), requires_grad=True), "cannot be written to from numpy"),
        (torch.zeros((3, 8, 6), dtype=torch.bfloat16), "cannot be written to from numpy"),
        (torch.zeros((3, 8, 6), device="meta"), "cannot be written to from numpy"),
        (lambda shape, dtype: np.empty((1, *shape), dtype), "out is float32 of shape"),
        (lambda shape, dtype: np.empty(shape, np.float64), "out is float64"),
        (lambda shape, dtype: read_only(np.zeros((3, 8, 6), np.float32)), "out is read-only"),
        (lambda shape, dtype: None, "share its memory with one"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_a_data_error(out: Any, message: str) -> None:
    with pytest.raises(ar.DataError, match=message):
        of(IMAGE).compile().at(0)(image=image_of(), out=out)
