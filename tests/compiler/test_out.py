"""`out=`: results written into the caller's memory."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
import torch

import augrecipes as ar
from augrecipes.errors import DataError
from augrecipes.recipe.parse import parse_text

IMAGE = """
steps: [{RandomCrop: {height: 8, width: 6}}, HorizontalFlip, {ColorJitter: {hue: [0, 0], p: 0.5}}, VerticalFlip]
"""
PAIR = "kind: pair\nscales: {lr: 1, hr: 2}\nsteps: [{RandomCrop: {height: 4, width: 4, at: lr}}, {D4: {p: 1.0}}]\n"
BAG = "kind: bag\nbag: {max_tiles: 4}\nsteps: [{RandomCrop: {height: 8, width: 6}}, HorizontalFlip]\n"


def of(text: str, output: str = "{}") -> ar.Recipe:
    return parse_text(f"version: 1\nrecipe: t\neval: []\noutput: {output}\n{text}")


def picture(height: int = 20, width: int = 20, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)


@pytest.mark.parametrize("optimize", ["none", "exact", "fast"])
@pytest.mark.parametrize("where", ["host", "device"])
@pytest.mark.parametrize("layout", ["chw", "hwc"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "uint8"])
@pytest.mark.parametrize("floats", [False, True])
def test_images_are_written_into_a_batch(optimize: Any, where: str, layout: str, dtype: str, floats: bool) -> None:
    pipeline = of(IMAGE, f"{{dtype: {dtype}, layout: {layout}, where: {where}}}").compile(optimize=optimize)
    image = picture().astype(np.float32) / 255 if floats else picture()
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


def test_memory_need_not_be_contiguous() -> None:
    pipeline = of(IMAGE).compile()
    wide = np.zeros((3, 8, 13), np.float32)
    pipeline.at(3)(image=picture(), out=wide[:, ::-1, 1::2])
    assert np.array_equal(wide[:, ::-1, 1::2], pipeline.at(3)(image=picture())["image"])
    assert not wide[..., ::2].any()


def test_torch_tensors_share_their_memory() -> None:
    pipeline = of(IMAGE, "{dtype: float16}").compile()
    batch = torch.zeros((2, 3, 8, 6), dtype=torch.float16)
    row = batch[1]
    assert pipeline.at(1)(image=picture(), out=row)["image"] is row
    assert np.array_equal(batch[1].numpy(), pipeline.at(1)(image=picture())["image"])
    assert not batch[0].any()


def test_nothing_given_is_nothing_said() -> None:
    pipeline = of(IMAGE).compile()
    assert np.array_equal(pipeline.at(1)(image=picture(), out=None)["image"], pipeline.at(1)(image=picture())["image"])
    assert pipeline(image=picture(), out=np.empty((3, 8, 6), np.float32))["image"].shape == (3, 8, 6)


def test_a_function_is_asked_for_memory_of_the_right_size() -> None:
    lent: list[np.ndarray] = []

    def lend(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        lent.append(np.empty(shape, dtype))
        return lent[-1]

    tiles = [picture(seed=k) for k in range(3)]
    scene = {"lr": picture(10, 10), "hr": picture()}
    for text, targets, out in (
        (IMAGE, {"image": picture()}, lend),
        (BAG, {"images": tiles}, lend),
        (PAIR, scene, {"lr": lend, "hr": lend}),
    ):
        pipeline = of(text).compile()
        expected, done = pipeline.at(1)(**targets), pipeline.at(1)(**targets, out=out)
        for name in pipeline.outputs:
            assert any(np.shares_memory(done[name], array) for array in lent)
            assert np.array_equal(done[name], expected[name])


def test_a_function_that_gives_the_wrong_memory_is_a_data_error() -> None:
    wrong: list[tuple[Any, str]] = [
        (lambda shape, dtype: np.empty((1, *shape), dtype), "out is float32 of shape"),
        (lambda shape, dtype: np.empty(shape, np.float64), "out is float64"),
        (lambda shape, dtype: read_only(), "out is read-only"),
        (lambda shape, dtype: None, "share its memory with one"),
    ]
    for out, message in wrong:
        with pytest.raises(DataError, match=message):
            of(IMAGE).compile().at(0)(image=picture(), out=out)


class Copies:
    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.zeros((3, 8, 6), np.float32)


def read_only() -> np.ndarray:
    array = np.zeros((3, 8, 6), np.float32)
    array.setflags(write=False)
    return array


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (np.zeros((3, 8, 7), np.float32), r"out is float32 of shape \(3, 8, 7\), the image comes out as float32 of"),
        (np.zeros((3, 8, 6), np.float64), r"out is float64 of shape \(3, 8, 6\), the image comes out as float32"),
        (np.zeros((3, 8, 6), ">f4"), "out is >f4"),
        (read_only(), "out is read-only"),
        (Copies(), "share its memory with one; got Copies"),
        ([[1.0, 2.0]], "share its memory with one; got list"),
        ([[1.0], [1.0, 2.0]], "cannot be written to from numpy"),
        (torch.zeros((3, 8, 6), requires_grad=True), "cannot be written to from numpy"),
        (torch.zeros((3, 8, 6), dtype=torch.bfloat16), "cannot be written to from numpy"),
        (torch.zeros((3, 8, 6), device="meta"), "cannot be written to from numpy"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_a_data_error(out: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        of(IMAGE).compile().at(0)(image=picture(), out=out)


def test_the_picture_itself_is_no_place_for_the_result() -> None:
    pipeline = of("steps: [HorizontalFlip]", "{dtype: uint8, layout: hwc}").compile()
    image = picture()
    with pytest.raises(DataError, match="lies in the memory of what goes in"):
        pipeline.at(0)(image=image, out=image)
    with pytest.raises(DataError, match="lies in the memory of what goes in"):
        of(BAG, "{dtype: uint8, layout: hwc}").compile().at(0)(images=[image], out=image[None, :8, :6])


@pytest.mark.parametrize("threads", [1, 3])
def test_bags(threads: int) -> None:
    pipeline = of(BAG).compile(threads=threads)
    tiles = [picture(seed=k) for k in range(7)]
    out = torch.zeros((7, 3, 8, 6))
    done = pipeline.at(2)(images=tiles, out=out)
    assert done["image"] is out
    assert np.array_equal(out.numpy(), pipeline.at(2)(images=tiles)["image"])
    one = np.empty((3, 8, 6), np.float32)
    assert pipeline.at(2, 0, 4)(image=tiles[4], out=one)["image"] is one
    assert np.array_equal(one, out[4].numpy())
    with pytest.raises(DataError, match=r"out is float32 of shape \(6, 3, 8, 6\), the bag comes .*\(7, 3, 8, 6\)"):
        pipeline.at(2)(images=tiles, out=np.zeros((6, 3, 8, 6), np.float32))


def test_pairs_by_target() -> None:
    pipeline = of(PAIR).compile()
    scene = {"lr": picture(10, 10), "hr": picture()}
    expected = pipeline.at(1)(**scene)
    lr, hr = np.zeros((3, 4, 4), np.float32), torch.zeros((3, 8, 8))
    done = pipeline.at(1)(**scene, out={"lr": lr, "hr": hr})
    assert done["lr"] is lr
    assert done["hr"] is hr
    assert "out" not in done
    assert np.array_equal(lr, expected["lr"])
    assert np.array_equal(hr.numpy(), expected["hr"])
    done = pipeline.at(1)(**scene, out={"hr": hr})
    assert done["hr"] is hr
    assert np.array_equal(done["lr"], expected["lr"])
    for out, message in (
        (lr, r"out must be a dict of arrays by target \(lr, hr\), got ndarray"),
        ({"x2": lr}, "got the keys 'x2'"),
        ({"lr": hr}, r"out\['lr'\] is float32 of shape \(3, 8, 8\), lr comes out as float32 of shape \(3, 4, 4\)"),
    ):
        with pytest.raises(DataError, match=message):
            pipeline.at(1)(**scene, out=out)


@pytest.mark.parametrize(
    "colour", ["", "- ColorJitter: {brightness: 0.2, contrast: 0.1, saturation: 0.1, hue: 0, p: 1.0}"]
)
def test_nothing_large_is_allocated_for_a_sample(colour: str) -> None:
    """The scratch has grown to what these samples need; then bookkeeping is all that is allocated."""
    recipe = of(f"""
steps:
  - Rotate: {{limit: 25, border_mode: reflect_101, p: 1.0}}
  - RandomResizedCrop: {{size: [96, 96], scale: [0.5, 1.0]}}
  - HorizontalFlip
  - Transpose
  {colour}
""")
    pipeline, image, out = recipe.compile(optimize="fast"), picture(200, 200), np.empty((3, 96, 96), np.float32)
    for _ in range(2):
        for k in range(20):
            pipeline.at(k)(image=image, out=out)
    tracemalloc.start()
    try:
        for k in range(20):
            before = tracemalloc.get_traced_memory()[0]
            tracemalloc.reset_peak()
            pipeline.at(k)(image=image, out=out)
            if k:
                assert tracemalloc.get_traced_memory()[1] - before < 10_000
    finally:
        tracemalloc.stop()
