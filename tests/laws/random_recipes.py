"""Random recipes, images and targets for the laws: every class that a recipe may name, nested, on awkward images."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import cv2
import numpy as np
from hypothesis import strategies as st
from support.every_class import Pool, pool

from augrecipes.compiler import compile as compiler
from augrecipes.errors import DataError
from augrecipes.ops import catalog
from augrecipes.ops.records import op_record
from augrecipes.ops.registry import takes
from augrecipes.recipe.model import Arguments, Boxes, Inputs, Keypoints, Normalize, Output, Recipe, Step, label

# Arguments are small and quick; `p` is drawn. Windows pad, so that any order of steps is valid.
MOVES: Pool = pool("""
    HorizontalFlip, VerticalFlip, Transpose, RandomRotate90, D4, SquareSymmetry,
    RandomCrop: {height: 24, width: 20, pad_if_needed: true},
    RandomCrop: {height: 17, width: 31, pad_if_needed: true, border_mode: reflect_101},
    CenterCrop: {height: 19, width: 26, pad_if_needed: true},
    Crop: {x_min: 2, y_min: 3, x_max: 15, y_max: 14, pad_if_needed: true},
    Crop: {x_min: 2, y_min: 1, x_max: 33, y_max: 30}, CenterCrop: {height: 14, width: 16},
    RandomCropFromBorders: {crop_left: 0.2, crop_right: 0.1, crop_top: 0.1, crop_bottom: 0.3}
""")
TABLES: Pool = pool("""
    InvertImg, Solarize, Posterize: {num_bits: [2, 6]}, RandomGamma: {gamma_limit: [60, 160]},
    RandomBrightnessContrast, RandomBrightnessContrast: {brightness_by_max: false},
    RandomToneCurve: {per_channel: true}, RandomToneCurve,
    MultiplicativeNoise: {multiplier: [0.7, 1.3], per_channel: true}, MultiplicativeNoise: {multiplier: [0.7, 1.3]},
    MultiplicativeNoise: {multiplier: [0.7, 1.3], elementwise: true}
""")
OTHERS: Pool = pool("""
    NoOp, Blur, GaussianBlur: {blur_limit: [3, 5]}, GaussNoise, Sharpen,
    Rotate: {limit: 25, border_mode: reflect_101}, Affine: {scale: [0.8, 1.2], rotate: [-20, 20]},
    RandomResizedCrop: {size: [21, 27]}, Resize: {height: 33, width: 22}, SmallestMaxSize: {max_size: 25},
    PadIfNeeded: {min_height: 30, min_width: 30}, CoarseDropout, RandomGridShuffle, ChannelShuffle, PixelDropout,
    SaltAndPepper
""")
COLOURS: Pool = pool("""
    ColorJitter, HueSaturationValue, ToGray, CLAHE, ImageCompression
""")
RGB_ONLY: Pool = pool("""
    PlanckianJitter, ChannelDropout, StainJitter, ISONoise, StainJitter: {basis: he, sigma: 0.2},
    StainJitter: {basis: [[0.6, 0.7, 0.4], [0.1, 0.9, 0.3], [0.3, 0.3, 0.9]], bias: 0.1}
""")
_P = (None, 0.0, 0.3, 0.5, 0.9, 1.0)


# What is slow with its defaults: by the size of a kernel, or of what it searches.
_QUICK: dict[str, dict[str, Any]] = {
    "ElasticTransform": {"alpha": 50, "sigma": 5},
    "Superpixels": {"n_segments": [5, 9], "max_size": 30},
}
# These read keys of their own beside the image, or need arguments that say what to look for.
_NEEDS_MORE = {
    *("RandomCropNearBBox", "ConstrainedCoarseDropout", "MaskDropout", "CropNonEmptyMaskIfExists"),
    *("LongestMaxSize", "SmallestMaxSize", "CropAndPad"),
    "ResizeToTarget",
}


@cache
def with_defaults(channels: int) -> Pool:
    """Every class that a recipe may name with its defaults, but for what is slow, for images of so many channels."""
    pool = []
    for name in sorted(catalog.shipped()):  # a class that a test registers is forgotten after it, a pool is not
        record = op_record(name)
        wanted = record is not None and (record.channels is None or channels in record.channels)
        if wanted and name not in _NEEDS_MORE and not catalog.shipped()[name].get("required"):
            pool.append((name, _QUICK.get(name, {})))
    return tuple(pool)


@cache
def steps_for(channels: int) -> Pool:
    """The (class, arguments) that take images of so many channels; moves and tables more often."""
    extra = {1: COLOURS, 3: COLOURS + RGB_ONLY}.get(channels, (("ChannelDropout", {}),))
    return MOVES * 3 + TABLES * 3 + OTHERS + extra + with_defaults(channels)


@st.composite
def step(draw: st.DrawFn, pool: Pool, depth: int = 2) -> Step:
    if depth and draw(st.integers(0, 5)) == 0:
        children = tuple(draw(st.lists(step(pool, depth - 1), min_size=1, max_size=4)))
        name = draw(st.sampled_from(("OneOf", "SomeOf", "Sequential", "RandomOrder")))
        args: dict[str, Any] = {}
        if name == "OneOf" and all(child.p == 0 for child in children):
            name = "Sequential"
        if name == "SomeOf":
            args = {"n": draw(st.integers(1, len(children))), "replace": draw(st.booleans())}
        return Step(name, Arguments(args), p=draw(st.sampled_from(_P)), steps=children)
    name, args = draw(st.sampled_from(pool))
    return Step(name, Arguments(args), p=draw(st.sampled_from(_P)))


@st.composite
def recipes(draw: st.DrawFn, pool: Pool, *, boxes: bool = True, max_steps: int = 8) -> Recipe:
    chosen = tuple(draw(st.lists(step(pool), min_size=1, max_size=max_steps)))
    inputs = Inputs()
    if boxes and draw(st.booleans()):
        inputs = Inputs(
            boxes=Boxes(
                min_area=draw(st.sampled_from((0.0, 20.0))), min_visibility=draw(st.sampled_from((0.0, 0.3, 1.0)))
            ),
            keypoints=Keypoints(),
        )
    return Recipe("law", steps=label(chosen), inputs=inputs)


MASKS = (
    "bool", "uint8", "int8", "uint16", "int16", "int32", "uint32", "int64", "uint64", "float32", "float64",
)  # fmt: skip
SIZES = ((37, 52),) * 6 + ((1, 1), (1, 9), (9, 1), (2, 2))
_SAMPLING = {
    "interpolation": st.sampled_from(("nearest", "linear", "cubic", "area", "lanczos4")),
    "mask_interpolation": st.sampled_from(("nearest", "linear", "cubic", "area", "lanczos4")),
    "area_for_downscale": st.sampled_from((None, "image", "image_mask")),
}


@st.composite
def outputs(draw: st.DrawFn) -> Output:
    """Any output; some normalise other numbers of channels than there are."""
    count = draw(st.integers(0, 5))
    parts = tuple(0.1 * (k + 1) for k in range(count))
    normalize = Normalize(parts, parts) if parts else None
    dtype, color = (
        draw(st.sampled_from(("float32", "float16", "uint8", "uint16"))),
        draw(st.sampled_from(("rgb", "bgr", "gray"))),
    )
    return Output(
        dtype, draw(st.sampled_from(("chw", "hwc"))), normalize, draw(st.sampled_from(((0.0, 1.0), (-1.0, 1.0)))),
        "rgb" if draw(st.booleans()) else color, draw(st.sampled_from(("host", "host", "device"))),
    )  # fmt: skip


@st.composite
def sampled(draw: st.DrawFn, recipe: Recipe) -> Recipe:
    """The recipe with steps that sample images and masks in any way, and with any output."""

    def one(step: Step) -> Step:
        steps = tuple(map(one, step.steps))
        known = takes(step.name) if "mask_interpolation" in takes(step.name) else ()
        more = {name: draw(how) for name, how in _SAMPLING.items() if name in known and draw(st.booleans())}
        return replace(step, args=Arguments({**step.args.plain(), **more}), steps=steps)

    return replace(recipe, steps=tuple(map(one, recipe.steps)), output=draw(outputs()))


def build(recipe: Recipe, optimize: Any = "none", seed: int = 0, *, mode: Any = "train", applied: bool = False) -> Any:
    """Compile without the lints: random recipes are allowed to be foolish."""
    return compiler.build(recipe, mode, optimize, seed, save_applied_params=applied)


def outcome(pipeline: Any, index: int, sample: Any, epoch: int = 2) -> Any:
    """A sample, or the step that fails: a crop that a border has left nothing of, a wrong number of channels."""
    try:
        return pipeline.at(index, epoch)(**sample)
    except DataError as error:
        return error.step


def attempt(make: Callable[[], Any], *, reason: bool = False) -> Any:
    """What a call gives, or what it complains of, with the reason where that is asked for."""
    try:
        return make()
    except DataError as error:
        return type(error).__name__, error.path, error.step, error.reason if reason else ""


def photo(seed: int, channels: int, dtype: str, size: tuple[int, int] = (37, 52)) -> np.ndarray:
    """Smooth and noisy parts, black and white included; never square."""
    rng = np.random.default_rng(seed)
    ramp = np.add.outer(np.linspace(0, 150, size[0]), np.linspace(0, 105, size[1]))
    image = np.clip(ramp[..., None] + rng.normal(0, 30, (*size, channels)), 0, 255).astype(np.uint8)
    return image if dtype == "uint8" else image.astype(np.float32) / np.float32(255)


def labels(rng: np.random.Generator, dtype: str, size: tuple[int, int]) -> np.ndarray:
    """A mask: signed labels with negative ones, wide ones of more than 16 bits, floats with fractions."""
    made, kind = rng.integers(0, 700, size), np.dtype(dtype)
    wide = 999 if kind.itemsize > 2 and kind.kind in "iu" and rng.integers(2) else 1
    made = made * wide - 300 * (kind.kind in "if")
    return (made / 7 if kind.kind == "f" else made).astype(kind)


def targets(
    recipe: Recipe, seed: int, channels: int, dtype: str, mask: str = "uint16", size: tuple[int, int] = (37, 52)
) -> dict[str, Any]:
    """An image with a mask and, where the recipe declares them, boxes and keypoints."""
    rng = np.random.default_rng(seed + 1)
    image = photo(seed, channels, dtype, size)
    height, width = image.shape[:2]
    made: dict[str, Any] = {"image": image, "mask": labels(rng, mask, (height, width))}
    if recipe.inputs.boxes:
        corner, part = rng.uniform(0, 15, (4, 2)), np.minimum(1, np.array([width, height]) / 37)
        made["boxes"] = np.hstack([corner * part, (corner + rng.uniform(2, 20, (4, 2))) * part]).astype(np.float32)
        made["box_labels"] = [3, 1, 4, 1]
        made["keypoints"] = (rng.uniform(0, 36, (5, 2)) * part).astype(np.float32)
    return made


def assert_same(a: Any, b: Any) -> None:
    """Of two samples every target equal, bit for bit, dtypes and shapes included; or the same failure."""
    if not (isinstance(a, dict) and isinstance(b, dict)):
        assert a == b
        return
    assert a.keys() == b.keys()
    for key, value in a.items():
        if isinstance(value, np.ndarray):
            assert value.dtype == b[key].dtype, key
            np.testing.assert_array_equal(value, b[key], err_msg=key)
        else:
            assert list(value) == list(b[key]), key


# Arrays that pretend to be files.


class Picture:
    """An array that pretends to be a file, and remembers what was read of it.

    Reduced blocks at the end are filled up by repeating the edge, as JPEG encoders do.
    """

    def __init__(self, pixels: np.ndarray, scales: tuple[int, ...] = ()) -> None:
        self.pixels, self._scales = pixels, scales
        self.shape, self.dtype = pixels.shape, pixels.dtype
        self.read: list[tuple[int, ...]] = []

    def scales(self) -> tuple[int, ...]:
        return self._scales

    def coded(self, *window: int) -> None:
        """None: kernels do not decode it."""

    def array(self) -> np.ndarray:
        self.read.append((0, 0, *self.shape[:2], 1))
        return self.pixels.copy()

    def view(self, y0: int, x0: int, y1: int, x1: int, reduce: int = 1) -> np.ndarray:
        self.read.append((y0, x0, y1, x1, reduce))
        assert reduce == 1 or not (y0 % reduce or x0 % reduce)
        part = self.pixels[y0:y1, x0:x1].copy()
        if reduce == 1:
            return part
        below, right = -part.shape[0] % reduce, -part.shape[1] % reduce
        part = cv2.copyMakeBorder(part, 0, below, 0, right, cv2.BORDER_REPLICATE)
        size = part.shape[1] // reduce, part.shape[0] // reduce
        return cv2.resize(part, size, interpolation=cv2.INTER_AREA).reshape(size[1], size[0], -1)
