"""The device stage: what it makes of uint8 is what the host's sink would have made."""

import shutil
import sysconfig
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import augrecipes as ar
from augrecipes.compiler.kernels.sink import Sink
from augrecipes.data.collate import Collate
from augrecipes.device.stage import TargetStage
from augrecipes.recipe.model import Inputs, Normalize, Output
from augrecipes.recipe.parse import parse_text

_HALF_ULP = 2.0**-10  # of float16, relative


@st.composite
def specs(draw: st.DrawFn, channels: int) -> Output:
    """An output that goes with so many channels, for the device."""
    color = draw(st.sampled_from(("rgb", "y", "gray", "ycbcr") + ("bgr",) * (channels == 3)))
    if channels not in (1, 3):
        color = "rgb"
    leaving = {"y": 1, "gray": 1, "ycbcr": 3}.get(color, channels)
    dtype = draw(st.sampled_from(("float32", "float16", "uint8")))
    layout = draw(st.sampled_from(("chw", "hwc")))
    span = draw(st.sampled_from(((0.0, 1.0), (0.0, 255.0), (-1.0, 1.0))))
    normal = None
    if dtype != "uint8" and draw(st.booleans()):
        size = draw(st.sampled_from((1, leaving)))
        numbers = st.floats(0.01, 2.0)
        normal = Normalize(
            tuple(draw(st.lists(numbers, min_size=size, max_size=size))),
            tuple(draw(st.lists(numbers, min_size=leaving, max_size=leaving))),
        )
    return Output(dtype, layout, normal, span, color, "device")


@st.composite
def cases(draw: st.DrawFn) -> tuple[Output, np.ndarray]:
    """An output and a few images, N×H×W×C."""
    channels = draw(st.sampled_from((1, 3, 3, 3, 5)))
    output = draw(specs(channels))
    shape = (draw(st.integers(1, 3)), draw(st.integers(1, 9)), draw(st.integers(1, 9)), channels)
    return output, np.random.default_rng(draw(st.integers(0, 2**32))).integers(0, 256, shape, np.uint8)


def check(output: Output, found: torch.Tensor, expected: np.ndarray) -> None:
    """Equal to float32 rounding, which counts relative to the numbers that were added up."""
    assert found.shape == expected.shape
    assert str(found.dtype) == f"torch.{expected.dtype}"
    if output.dtype == "uint8":
        assert np.array_equal(found.numpy(), expected)
        return
    least = min(output.normalize.std) if output.normalize else 1 / max(abs(v) for v in output.range)
    size = max(1.0, 1 / least) * (max(1.0, *output.normalize.mean) if output.normalize else 1.0)
    bound = 1e-6 * size + (np.abs(expected.astype(np.float64)) * _HALF_ULP if output.dtype == "float16" else 0)
    assert (np.abs(found.numpy().astype(np.float64) - expected.astype(np.float64)) <= bound).all()


def on_host(output: Output, images: np.ndarray) -> np.ndarray:
    sink = Sink(replace(output, where="host"))
    return np.stack([sink(image) for image in images])


def as_loaded(output: Output, images: np.ndarray) -> torch.Tensor:
    sink = Sink(output)
    return torch.from_numpy(np.stack([sink(image) for image in images]))


@given(cases())
def test_equals_the_hosts_sink(case: tuple[Output, np.ndarray]) -> None:
    output, images = case
    loaded = as_loaded(output, images)
    assert loaded.dtype == torch.uint8
    before = loaded.clone()
    stage, expected = TargetStage(output), on_host(output, images)
    check(output, stage(loaded), expected)
    check(output, stage(loaded[0]), expected[0])
    check(output, stage(loaded[None]), expected[None])
    assert torch.equal(loaded, before)


@given(st.integers(0, 2**32), st.sampled_from(("y", "gray", "ycbcr")))
def test_rounded_planes_are_the_same_to_the_level(seed: int, color: str) -> None:
    """Many thousand colours: sums that end in a half must go the same way."""
    output = Output("uint8", color=color, where="device")
    images = np.random.default_rng(seed).integers(0, 256, (1, 64, 64, 3), np.uint8)
    check(output, TargetStage(output)(as_loaded(output, images)), on_host(output, images))


@given(st.integers(0, 2**32), specs(3))
def test_float_images_leave_as_uint8(seed: int, output: Output) -> None:
    images = np.random.default_rng(seed).random((1, 5, 7, 3), np.float32)
    loaded = as_loaded(output, images)
    assert loaded.dtype == torch.uint8
    check(output, TargetStage(output)(loaded), on_host(output, np.rint(images * np.float32(255)).astype(np.uint8)))


_DEEP = (
    Inputs(dtype="uint16"), Inputs(dtype="uint16", range=(100.0, 4095.0)), Inputs(dtype="float32"),
    Inputs(dtype="float32", range=(-1000.0, 3000.0)),
)  # fmt: skip


@given(st.integers(0, 2**32), st.sampled_from((1, 3, 5)).flatmap(lambda n: st.tuples(st.just(n), specs(n))),
       st.sampled_from(_DEEP))  # fmt: skip
def test_deep_images_leave_as_they_are(seed: int, case: tuple[int, Output], inputs: Inputs) -> None:
    """16 bits and floats travel with values of their own; the device takes their range to 0..1."""
    (channels, output), (low, high) = case, inputs.full_range
    images = np.random.default_rng(seed).uniform(low, high, (2, 5, 7, channels))
    images = images.astype(np.uint16) if inputs.dtype == "uint16" else images.astype(np.float32)
    device, host = (Sink(one, inputs.range, inputs.dtype) for one in (output, replace(output, where="host")))
    loaded, expected = (torch.from_numpy(np.stack([device(image) for image in images])), [*map(host, images)])
    assert np.array_equal(loaded.numpy(), images.transpose(0, 3, 1, 2) if output.layout == "chw" else images)
    before, stage = loaded.clone(), TargetStage(output, inputs)
    if output.dtype == "uint8" and output.color in ("y", "gray", "ycbcr"):  # sums of floats, in another order
        assert np.abs(stage(loaded).numpy().astype(int) - np.stack(expected)).max() <= 1
    else:
        check(output, stage(loaded), np.stack(expected))
    assert torch.equal(loaded, before)
    with pytest.raises(ar.DataError, match=f"what the loader gives, torch.{inputs.dtype}"):
        stage(loaded.to(torch.int32))


def of(text: str) -> tuple[ar.Recipe, ar.Recipe]:
    """A recipe whose output is for the device, and the same for the host."""
    return tuple(parse_text(f"version: 1\nrecipe: t\neval: []\n{text.replace('WHERE', w)}") for w in ("device", "host"))  # type: ignore[return-value]


IMAGE = """
steps: [{RandomCrop: {height: 8, width: 6}}, HorizontalFlip, {Rotate: {p: 1.0}}]
output: {normalize: imagenet, where: WHERE}
"""
PAIR = """
kind: pair
scales: {lr: 1, hr: 2, other: 2}
steps: [{RandomCrop: {height: 4, width: 4, at: lr}}, {D4: {p: 1.0}}]
output:
  where: WHERE
  lr: {range: [-1, 1], color: bgr, where: WHERE}
  hr: {color: y, dtype: float16, layout: hwc, where: WHERE}
  other: {color: gray, where: host}
"""


def image_of(height: int, width: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)


def test_images_with_masks() -> None:
    device, host = of(IMAGE)
    targets = [{"image": image_of(20, 20, k), "mask": image_of(20, 20, k)[..., 0]} for k in range(3)]
    for optimize in ("none", "exact", "fast"):
        a, b = (
            Collate()([tensors(r.compile(optimize=optimize).at(k)(**t)) for k, t in enumerate(targets)])
            for r in (device, host)
        )
        given_image, given_mask = a["image"], a["mask"]
        out = device.device_stage()(a)
        check(host.output, out["image"], b["image"].numpy())
        assert out["mask"] is given_mask
        assert torch.equal(given_mask, b["mask"])
        assert a["image"] is given_image
        assert given_image.dtype == torch.uint8


def test_pairs_with_outputs_by_target() -> None:
    device, host = of(PAIR)
    scene = {"lr": image_of(10, 10), "hr": image_of(20, 20), "other": image_of(20, 20, 1)}
    a, b = (tensors(r.compile().at(0)(**scene)) for r in (device, host))
    stage = device.device_stage()
    assert stage.names == ("lr", "hr")
    out = stage(a)
    for name in ("lr", "hr"):
        assert a[name].dtype == torch.uint8
        check(host.outputs[name], out[name], b[name].numpy())
    assert out["other"] is a["other"]
    with pytest.raises(ar.DataError, match="as a dict: the device's targets are lr, hr"):
        stage(a["lr"])


@pytest.mark.parametrize("layout", ["chw", "hwc"])
def test_padding_stays_zero(layout: str) -> None:
    """Images of different size are padded with zeros on the host; uint8's zero would be normalised away from it."""
    device, host = of(IMAGE.replace("WHERE}", f"WHERE, layout: {layout}}}"))
    samples = [
        [tensors({"image": Sink(r.output)(image_of(*size))}) for size in ((4, 6), (5, 3))] for r in (device, host)
    ]
    a, b = (Collate("pad", layout=layout)(s) for s in samples)  # type: ignore[arg-type]
    check(host.output, device.device_stage()(a)["image"], b["image"].numpy())
    a, b = (Collate("list", layout=layout)(s) for s in samples)  # type: ignore[arg-type]
    for found, expected in zip(device.device_stage()(a)["image"], b["image"], strict=True):
        check(host.output, found, expected.numpy())


def tensors(sample: dict[str, Any]) -> dict[str, Any]:
    return {k: torch.from_numpy(v) if isinstance(v, np.ndarray) else v for k, v in sample.items()}


def test_batches_of_the_loader(tmp_path: Path) -> None:
    """From files to the network: a quarter of the bytes travels, and the numbers are those of the host."""
    for k in range(4):
        folder = tmp_path / f"class-{k % 2}"
        folder.mkdir(exist_ok=True)
        cv2.imwrite(str(folder / f"{k}.png"), image_of(16, 16, k))
    device, host = of(IMAGE)
    a, b = (
        next(iter(ar.loader(ar.ImageFolder(tmp_path, r, cache=False), batch_size=4, shuffle=False, num_workers=0)))
        for r in (device, host)
    )
    assert 4 * a["image"].nbytes == b["image"].nbytes
    out = device.device_stage()(a)
    check(host.output, out["image"], b["image"].numpy())
    assert torch.equal(out["label"], b["label"])
    assert out["path"] == b["path"]


def test_wrong_batches_are_data_errors() -> None:
    device, _ = of(IMAGE)
    stage = device.device_stage()
    image = torch.zeros((2, 3, 4, 4), dtype=torch.uint8)
    for batch, message in (
        ({"label": 1}, "no 'image'; it has 'label'"),
        ({}, "it has nothing"),
        ({"image": image.float()}, "uint8, got torch.float32"),
        ({"image": "a.png"}, "takes tensors, got str"),
        ({"image": image[0, 0]}, r"three dimensions \(chw\), got \(4, 4\)"),
        ({"image": image[:, :2]}, "mean has 3 values, the output has 2 channels"),
        ({"image": image, "padding": torch.zeros(7, 2, 3, 4, 4) > 0}, "does not lie on images"),
    ):
        with pytest.raises(ar.DataError, match=message):
            stage(batch)
    with pytest.raises(ar.DataError, match="'bgr' needs three channels, the image has 4"):
        TargetStage(Output(color="bgr", where="device"))(torch.zeros((4, 2, 2), dtype=torch.uint8))


def test_without_a_device_target_there_is_no_stage() -> None:
    with pytest.raises(ar.RecipeError, match=r"nothing is left for a device.*output: \{where: device\}"):
        ar.load("folder-128").device_stage()
    with pytest.raises(ar.RecipeError, match="its targets are lr, hr"):
        ar.load("sr-x4").device_stage()


def has_compiler() -> bool:
    header = Path(sysconfig.get_path("include")) / "Python.h"
    return any(map(shutil.which, ("g++", "clang++"))) and header.is_file()


NEEDS_COMPILER = (
    pytest.mark.soak,
    pytest.mark.skipif(not has_compiler(), reason="inductor's CPU code needs a C++ compiler and Python.h"),
)


@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=NEEDS_COMPILER)])
@pytest.mark.parametrize("text", [IMAGE, PAIR], ids=["image", "pair"])
@pytest.mark.filterwarnings("ignore")  # torch's own, of its own modules
def test_works_under_torch_compile(text: str, backend: str) -> None:
    """The whole stage is one graph, and gives what it gives without; in a soak machine code is made of it, too."""
    device, _ = of(text)
    stage = device.device_stage()
    compiled = torch.compile(stage, fullgraph=True, backend=backend)
    targets = ("lr", "hr") if device.scales else ("image",)
    batch: dict[str, Any] = {"label": torch.tensor([1, 2]), "path": ["a", "b"]}
    for k, name in enumerate(targets):
        shape = (2, 8, 6, 3) if name == "hr" else (2, 3, 8, 6)
        batch[name] = torch.from_numpy(np.random.default_rng(k).integers(0, 256, shape, np.uint8))
    expected, found = stage(batch), compiled(batch)
    for name in targets:
        output = device.outputs.get(name, device.output)
        check(output, found[name], expected[name].numpy())
    assert found["path"] == ["a", "b"]
    assert all(batch[name].dtype == torch.uint8 for name in targets)


@pytest.mark.parametrize("depth", [8, 16])
def test_views(depth: int) -> None:
    views = "{a: {count: 2, steps: [HorizontalFlip]}, b: {count: 1, steps: [VerticalFlip]}}"
    device, host = of(
        f"kind: views\ninputs: {{depth: {depth}}}\nviews: {views}\noutput: {{range: [-1, 1], where: WHERE}}"
    )
    image = np.random.default_rng(1).integers(0, 2**depth, (6, 8, 3)).astype(f"uint{depth}")
    stage = device.device_stage()
    for mode in ("train", "eval"):
        loaded, expected = (recipe.compile(mode).at(3)(image=image) for recipe in (device, host))
        done = stage({name: torch.from_numpy(value) for name, value in loaded.items()})
        assert done.keys() == expected.keys() == ({"a", "b"} if mode == "train" else {"image"})
        assert all(np.abs(done[name].numpy() - expected[name]).max() <= 1e-6 for name in done)
    assert torch.equal(stage(torch.from_numpy(loaded["image"])), done["image"])
    with pytest.raises(ar.DataError, match="the batch has no 'image' or 'a' or 'b'; it has 'label'"):
        stage({"label": torch.zeros(2)})
