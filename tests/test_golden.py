"""Digests and samples stay as they were: what recipes of all kinds gave when `tests/golden/samples.json` was written.

A change that means to change samples writes the file again, and the changelog says so:

    python tests/test_golden.py
"""

import copy
import hashlib
import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

import augrecipes as ar
from augrecipes.compat.guard import installed_version

GOLDEN = Path(__file__).parent / "golden" / "samples.json"
GALLERY = sorted((Path(__file__).parent.parent / "recipes").glob("*.yaml"))
# What the gallery leaves out: joined warps and colours in every order, groups, tables, grey, float32, other targets.
WRITTEN = {
    "warps": "steps: [SafeRotate: {p: 1.0}, Affine: {scale: [0.8, 1.2], p: 1.0}, Resize: {height: 90, width: 120}]",
    "colours": "steps: [ColorJitter: {p: 1.0}, ToGray: {p: 0.3}, RandomBrightnessContrast, HueSaturationValue]",
    "tables": "steps: [RandomGamma: {p: 1.0}, Solarize, Posterize, InvertImg, RandomCrop: {height: 60, width: 70}]",
    "groups": "steps: [SomeOf: {n: 2, p: 1.0, steps: [Blur, HorizontalFlip, D4]}, OneOf: {steps: [CLAHE, Sharpen]}]",
    "turns": "steps: [RandomRotate90: {p: 1.0}, Transpose, VerticalFlip, D4, CenterCrop: {height: 64, width: 80}]",
    "noise": "steps: [GaussNoise: {p: 1.0}, ISONoise, ImageCompression, CoarseDropout: {p: 1.0}, Downscale]",
    "fields": "steps: [ElasticTransform: {p: 1.0}, GridDistortion, Perspective: {p: 1.0}, OpticalDistortion]",
    "sequence": "steps: [Sequential: {p: 0.7, steps: [RandomResizedCrop: {size: [64, 96]}, PlanckianJitter, NoOp]}]",
    "grey": "inputs: {image: {channels: 1}}\n"
    "steps: [ShiftScaleRotate, RandomGamma, Equalize, RandomCrop: {height: 64, width: 64}]",
    "mask": "inputs: {mask: required}\n"
    "steps: [RandomScale, PadIfNeeded: {min_height: 320, min_width: 350}, Rotate: {p: 1.0}]",
    "points": (
        "inputs: {keypoints: {format: xy}}\nsteps: [HorizontalFlip: {p: 1.0}, Affine: {rotate: [-30, 30], p: 1.0}]\n"
        "output: {dtype: uint8, layout: hwc}"
    ),
    "stain": "steps: [StainJitter: {sigma: 0.1, p: 1.0}, RandomCrop: {height: 64, width: 64}]\noutput: {layout: hwc}",
}
LEVELS = ("none", "exact", "fast")
# Masks of noise that merged warps move: under OpenCV 4 Python does that, which takes other pixels than the kernel.
FAR_BY_OPENCV_4 = {
    "stained-tissue": {"train fast 0 mask", "train fast 1 mask"},
    "written warps": {"train fast 0 mask", "train fast 1 mask"},
}


def smooth(seed: int, size: tuple[int, int], channels: int = 3) -> np.ndarray:
    """An image with edges and slopes, of whole numbers, so that every processor draws the same."""
    rng = np.random.default_rng(seed)
    coarse = rng.integers(0, 256, (size[0] // 8 + 1, size[1] // 8 + 1, channels), np.uint8)
    fine = np.kron(coarse, np.ones((8, 8, 1), np.uint8))[: size[0], : size[1]]
    return np.ascontiguousarray(fine // 2 + rng.integers(0, 100, fine.shape, np.uint8))


def given(recipe: ar.Recipe, index: int, dtype: str) -> dict[str, Any]:
    """The targets of one sample."""

    def image_of(seed: int, size: tuple[int, int]) -> np.ndarray:
        image = smooth(seed, size, 1 if recipe.inputs.channels == 1 else 3)
        return image if dtype == "uint8" else image.astype(np.float32) / np.float32(255)

    if recipe.kind == "pair":
        return {
            name: image_of(index + scale, (96 * scale, 80 * scale))
            for name, scale in recipe.scales.items()
            if name in recipe.compile(optimize="none").targets
        }
    if recipe.kind == "bag":
        return {"images": [image_of(10 * index + k, (288, 320)) for k in range(3)]}
    found: dict[str, Any] = {"image": image_of(index, (300, 280))}
    corners = np.array([[20, 30, 120, 140], [100, 60, 250, 280], [5, 200, 60, 290]], np.float32)
    if recipe.inputs.mask != "absent":
        found["mask"] = smooth(index + 50, (300, 280), 1)[..., 0] // 100
    if recipe.inputs.boxes is not None:
        found["boxes"] = corners
        if recipe.inputs.boxes.labels:
            found[recipe.inputs.boxes.labels] = [1, 2, 3]
    if recipe.inputs.keypoints is not None:
        found["keypoints"] = corners[:, :2].copy()
    return found


def record(array: np.ndarray) -> dict[str, Any]:
    """Its digest, and what other processors must come near to: the means of 16 parts, in tens of thousandths."""
    array = np.ascontiguousarray(array)
    flat = array.astype(np.float64).ravel()
    parts = [float(part.mean()) if part.size else 0.0 for part in np.array_split(flat, 16)]
    digest = hashlib.sha256(array.tobytes()).hexdigest()[:16]
    return {
        "shape": list(array.shape),
        "dtype": str(array.dtype),
        "digest": digest,
        "means": np.round(parts, 4).tolist(),
    }


def samples(recipe: ar.Recipe) -> dict[str, Any]:
    """What the recipe makes of two samples, at every level, in both modes, of both dtypes."""
    found: dict[str, Any] = {}
    for mode in ("train", "eval") if recipe.eval is not None else ("train",):
        for level in LEVELS:
            pipeline = recipe.compile(mode=mode, optimize=level, seed=7)
            for index, dtype in ((0, "uint8"), (1, "uint8"), (2, "float32")):
                made = pipeline.at(index, epoch=1)(**given(recipe, index, dtype))
                for name, value in made.items():
                    if isinstance(value, np.ndarray):
                        found[f"{mode} {level} {index} {name}"] = record(value)
    return found


def here() -> str:
    """What decides bits beside the recipe: versions, and which kernels OpenCV has for this processor."""
    words = re.sub(r"[*]", "", cv2.getCPUFeaturesLine()).split()
    kernels = [word for word in ("AVX2", "AVX512-SKX", "NEON") if word in words] + ["IPP"] * cv2.ipp.useIPP()
    return " ".join([installed_version(), cv2.__version__, np.__version__, *kernels])


def recipes(folder: Path) -> dict[str, ar.Recipe]:
    """The gallery's, and those above."""
    found = {path.stem: ar.load(path) for path in GALLERY}
    for name, text in WRITTEN.items():
        path = folder / f"{name}.yaml"
        path.write_text(f"version: 1\nrecipe: {name}\n{text}\n", encoding="utf-8")
        found[f"written {name}"] = ar.load(path)
    return found


def differences(then: dict[str, Any], now: dict[str, Any], *, bits: bool) -> list[str]:
    """Names of the samples that are others than they were: in bits, or by more than a hundredth of the range."""
    if then.keys() != now.keys():
        return sorted(then.keys() ^ now.keys())
    found = []
    for name, old in then.items():
        new = now[name]
        near = 0.01 * max(map(abs, [1.0, *old["means"]]))
        alike = np.allclose(old["means"], new["means"], rtol=0, atol=near)
        same = old["digest"] == new["digest"] if bits else alike
        if not same or old["shape"] != new["shape"] or old["dtype"] != new["dtype"]:
            found.append(name)
    return found


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ar.Recipe]:
    return recipes(tmp_path_factory.mktemp("golden"))


@pytest.fixture(scope="module")
def golden() -> dict[str, Any]:
    text: dict[str, Any] = json.loads(GOLDEN.read_text(encoding="utf-8"))
    return text


@pytest.mark.parametrize("name", [*(path.stem for path in GALLERY), *(f"written {name}" for name in WRITTEN)])
def test_nothing_has_changed(name: str, loaded: dict[str, ar.Recipe], golden: dict[str, Any]) -> None:
    recipe, then = loaded[name], golden["recipes"][name]
    assert recipe.digest == then["digest"]
    far = FAR_BY_OPENCV_4.get(name, set()) if cv2.__version__ < "5" else set()
    assert {*differences(then["samples"], samples(recipe), bits=here() == golden["made with"])} == far


def test_a_planted_change_is_seen(loaded: dict[str, ar.Recipe], golden: dict[str, Any]) -> None:
    then = golden["recipes"]["folder-128"]["samples"]
    for bits in (True, False):
        now = copy.deepcopy(then)
        assert differences(then, now, bits=bits) == []
        one = next(iter(now.values()))
        one["digest"], one["means"][3] = "other", one["means"][3] + 0.02 * max(1.0, *map(abs, one["means"]))
        assert len(differences(then, now, bits=bits)) == 1


def write() -> None:
    """Write the file again."""
    with tempfile.TemporaryDirectory() as folder:
        every = recipes(Path(folder))
    made = {name: {"digest": recipe.digest, "samples": samples(recipe)} for name, recipe in every.items()}
    text = json.dumps({"made with": here(), "recipes": made}, indent=1)
    text = re.sub(r"\[[^\[\]{}]*\]", lambda found: re.sub(r"\s+", " ", found.group()), text)
    GOLDEN.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(write())
