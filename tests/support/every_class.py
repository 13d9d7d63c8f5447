"""Every class that a recipe may name, with arguments that bring out its effect, and images that differ a little."""

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import yaml

from augrecipes.compiler.run.draws import Draws
from augrecipes.ops.registry import construct, names
from augrecipes.recipe.model import Arguments, Step

Pool = tuple[tuple[str, dict[str, Any]], ...]


def pool(text: str) -> Pool:
    """Parse classes and their arguments from a list in the form of recipes."""
    steps = yaml.safe_load(f"[{text}]")
    return tuple((step, {}) if isinstance(step, str) else next(iter(step.items())) for step in steps)


SIZE = (68, 76)
# Arguments of classes that need some (_NEEDED), and further variants of classes (_BESIDE).
_LAW = {"avg": {"mean": 140, "std": 9}, "std": {"mean": 20, "std": 3}}
TEMPLATE = {"color_space": "LAB", "L": _LAW, "A": _LAW, "B": _LAW}
REFERENCE = str(Path(__file__).parents[2] / "docs" / "steps" / "AugMix.jpg")
_NEEDED: dict[str, dict[str, Any]] = {
    "FDA": {"references": REFERENCE},
    "HistogramMatching": {"references": REFERENCE, "blend_ratio": [1, 1]},
    "RandStainNA": {"template": TEMPLATE},
} | dict(
    pool("""
    Crop: {x_min: 2, y_min: 1, x_max: 50, y_max: 48}, CenterCrop: {height: 40, width: 44},
    RandomCrop: {height: 40, width: 44}, AtLeastOneBBoxRandomCrop: {height: 40, width: 44},
    CropNonEmptyMaskIfExists: {height: 40, width: 44}, Resize: {height: 40, width: 44},
    RandomSizedBBoxSafeCrop: {height: 40, width: 44}, LongestMaxSize: {max_size: 50}, SmallestMaxSize: {max_size: 50},
    CropAndPad: {px: 5}, GridElasticDeform: {num_grid_xy: [4, 4], magnitude: 5}, RandomResizedCrop: {size: [40, 50]},
    RandomSizedCrop: {min_max_height: [30, 50], size: [40, 45]}, RandomCropNearBBox: {max_part_shift: 0.1},
    ConstrainedCoarseDropout: {mask_indices: [1]}
""")
)
_BESIDE = pool("""
    AdditiveNoise: {spatial_mode: per_pixel}, AdditiveNoise: {spatial_mode: shared},
    Affine: {scale: [0.7, 1.4], rotate: [-20, 20]}, Affine: {rotate: [-30, 30], interpolation: cubic},
    AutoContrast: {cutoff: 10}, AutoContrast: {method: pil}, ChannelDropout: {fill: 90},
    ChromaticAberration: {mode: red_blue}, ChromaticAberration: {interpolation: cubic}, CoarseDropout: {fill: random},
    CoarseDropout: {fill: inpaint_telea}, CoarseDropout: {fill: inpaint_ns}, ColorJitter: {hue: 0},
    ColorJitter: {hue: 0, saturation: [0.5, 3]},
    ColorJitter: {hue: 0, brightness: [0.5, 2], contrast: 0, saturation: 0},
    ColorJitter: {hue: 0, brightness: 0, contrast: [0.5, 2], saturation: 0}, ColorJitter: {hue: 0.5},
    Downscale: {interpolation_pair: {downscale: linear, upscale: cubic}},
    ElasticTransform: {interpolation: cubic, alpha: 50, sigma: 5}, Emboss: {alpha: [1, 1], strength: [1, 1]},
    Equalize: {mode: pil}, Equalize: {by_channels: false}, FancyPCA: {alpha: 0.5}, GridDropout: {fill: random},
    GridDropout: {fill: inpaint_telea}, GridDropout: {fill: inpaint_ns}, HEStain: {method: macenko},
    HEStain: {method: vahadane}, HueSaturationValue: {sat_shift_limit: 0, val_shift_limit: 0},
    HueSaturationValue: {hue_shift_limit: 0, val_shift_limit: 0},
    HueSaturationValue: {hue_shift_limit: 0, sat_shift_limit: 0}, Illumination: {mode: corner},
    Illumination: {mode: gaussian}, Illumination: {intensity_range: [0.2, 0.2]},
    ImageCompression: {compression_type: webp}, ImageCompression: {quality_range: [20, 30]},
    ImageCompression: {quality_range: [50, 90], subsampling: ["4:4:4", "4:2:2"]}, KernelBlur: {shapes: {sinc: 1}},
    KernelBlur: {shapes: {generalized_aniso: 1, plateau_iso: 1}, sigma_limit: [0, 2], spread: variance},
    MedianBlur: {blur_limit: [5, 7]}, Morphological: {operation: erosion}, MultiplicativeNoise: {elementwise: true},
    MultiplicativeNoise: {multiplier: [0.5, 2]}, PixelDropout: {drop_value: null, per_channel: true},
    PoissonNoise: {per_channel: false},
    PlanckianJitter: {mode: cied}, PlasmaBrightnessContrast: {contrast_range: [0.5, 0.9]}, Posterize: {num_bits: 1},
    Posterize: {num_bits: [2, 6]}, RGBShift: {r_shift_limit: 50}, RandomBrightnessContrast: {brightness_by_max: false},
    RandomBrightnessContrast: {contrast_limit: 0.5},
    RandomBrightnessContrast: {contrast_limit: [-0.5, 0], brightness_limit: [-1.0, 1.0], brightness_by_max: false},
    RandomBrightnessContrast: {ensure_safe_range: true}, RandomFog: {alpha_coef: 0.3, fog_coef_range: [0.5, 0.9]},
    RandomGamma: {gamma_limit: [30, 300]}, RandomGamma: {gamma_limit: [100, 200]},
    RandomGamma: {gamma_limit: [40, 100]}, RandomShadow: {shadow_intensity_range: [0.9, 0.9]},
    RandomSnow: {method: texture}, RandomSnow: {method: bleach}, RandomSunFlare: {method: physics_based},
    RandomToneCurve: {scale: 0.5}, RandomToneCurve: {per_channel: true},
    Resize: {height: 40, width: 47, interpolation: cubic}, Resize: {height: 90, width: 97, interpolation: lanczos4},
    Resize: {height: 40, width: 47, interpolation: area}, Resize: {height: 40, width: 47, interpolation: nearest},
    Resize: {height: 90, width: 97, interpolation: cubic}, Resize: {height: 90, width: 97, interpolation: linear},
    RingingOvershoot: {cutoff: [0.2, 0.3]}, Rotate: {interpolation: cubic}, Rotate: {interpolation: lanczos4},
    Sharpen: {method: gaussian}, Sharpen: {alpha: [0.2, 0.2], lightness: [0.5, 0.5]},
    StainNormalize: {source: tile}, StainNormalize: {method: reinhard},
    StainNormalize: {source: {stains: [[0.6, 0.7, 0.3], [0.1, 0.9, 0.2]], most: [1.5, 1]}},
    StainNormalize: {method: vahadane, reference: {stains: [[0.6, 0.7, 0.3], [0.1, 0.9, 0.2]], most: [1.5, 1]}},
    ShotNoise: {scale_range: [0.01, 0.02]}, Solarize: {threshold_range: [0.2, 0.8]}, Spatter: {mode: mud},
    Spatter: {mode: rain}, ToGray: {method: average}, ToGray: {method: desaturation}, ToGray: {method: from_lab},
    ToGray: {method: max}, ToGray: {method: pca}, UnsharpMask: {alpha: [1, 1], threshold: 0},
    XYMasking: {num_masks_x: 2, num_masks_y: 2, mask_x_length: 5, mask_y_length: 5},
    XYMasking: {num_masks_x: 2, num_masks_y: 2, mask_x_length: 5, mask_y_length: 5, fill: random},
    XYMasking: {num_masks_x: 2, num_masks_y: 2, mask_x_length: 5, mask_y_length: 5, fill: inpaint_telea},
    XYMasking: {num_masks_x: 2, num_masks_y: 2, mask_x_length: 5, mask_y_length: 5, fill: inpaint_ns}
""")
# Classes that are slow on every call; tests try few samples.
SLOW = frozenset({"Superpixels", "PiecewiseAffine", "HEStain", "GlassBlur"})
STEPS = tuple(
    Step(name, Arguments(args), p=1.0, site=f"{name}#1")
    for name in names()
    if name != "Degrade"
    for args in (_NEEDED.get(name, {}), *(args for other, args in _BESIDE if other == name))
)
EACH = pytest.mark.parametrize("step", STEPS, ids=lambda step: f"{step.name} {step.args.plain() or ''}".strip())


@cache
def pictures(seed: int, dtype: str) -> tuple[np.ndarray, ...]:
    """Draw noisy, smooth, nearly grey, flat, dark, bright and gaudy images; floats may lie between levels."""
    draw = np.random.default_rng(seed)
    height, width = SIZE
    shape = (height, width, 3)
    ramp = np.add.outer(np.linspace(0, 150, height), np.linspace(0, 105, width))[..., None]
    y, x = np.mgrid[:height, :width, :3][:2] / 20
    channel = np.arange(3)
    made = (
        ramp + draw.normal(0, 30, shape),
        128 + 90 * np.sin(x + y * draw.uniform() + channel) * np.cos(y + 2 * channel) + draw.normal(0, 2, shape),
        ramp + draw.normal(0, 8, (height, width, 1)) + draw.integers(-1, 2, shape),
        np.full(shape, float(draw.integers(40, 200))),
        draw.integers(0, 8, shape).astype(float),
        draw.integers(235, 256, shape).astype(float),
        draw.integers(0, 2, shape) * 255.0,
    )
    if dtype == "uint8":
        return tuple(np.clip(one, 0, 255).astype(np.uint8) for one in made)
    # Include halves between levels, whose rounding depends on the last bit.
    between = [np.floor(one) + draw.choice((0.0, 0.5, 0.25), shape) for one in made]
    return tuple((np.clip(one, 0, 255) / 255).astype(np.float32) for one in between)


def neighbour(image: np.ndarray, seed: int) -> np.ndarray:
    """Change an image by a level, or float32 by some last bits: at random, everywhere, or in 5% of the values."""
    draw = np.random.default_rng(seed + 77)
    unit, most = (1.0, 255) if image.dtype == np.uint8 else ((3e-7, 2e-5)[seed // 3 % 2], 1.0)
    moved = (
        draw.integers(-1, 2, image.shape),
        np.full(image.shape, draw.choice((-1, 1))),
        draw.choice((-1, 1)) * (draw.random(image.shape) < 0.05),
    )[seed % 3]
    return np.clip(image.astype(np.float64) + unit * moved, 0, most).astype(image.dtype)


def mask_of(seed: int) -> np.ndarray:
    """Draw a mask with a few patches."""
    draw = np.random.default_rng(seed)
    mask = np.zeros(SIZE, np.uint8)
    for _ in range(2 + seed % 3):
        y, x = draw.integers(2, 40, 2)
        mask[y : y + 12, x : x + 9] = 1
    return mask


@contextmanager
def states() -> Iterator[list[bytes]]:
    """Collect, at the exit of the block, the states of all generators that steps create inside."""
    made: list[np.random.Generator] = []
    found: list[bytes] = []
    true = np.random.default_rng

    def recorded(seed: Any = None) -> np.random.Generator:
        one = true(seed)
        # A transform is constructed with an unseeded generator, which its key replaces. Probes of kernels use seed 0.
        if seed is not None and not (isinstance(seed, int) and seed == 0):
            made.append(one)
        return one

    np.random.default_rng = recorded
    try:
        yield found
    finally:
        np.random.default_rng = true
        found += [pickle.dumps(one.bit_generator.state) for one in made]


class Ran(NamedTuple):
    """The result of a step: its image, the states of its generators, and its parameters."""

    image: np.ndarray
    drawn: list[bytes]
    params: bytes


def run(step: Step, index: int, image: np.ndarray, mask: np.ndarray) -> Ran:
    """Run a step under a fixed key."""
    made = construct(step)
    if step.name == "ResizeToTarget":
        made.size = (30, 32)  # as the pipeline of a pair does
    draws = Draws(0)
    made.random_generator, made.py_random = draws.add(step.name)
    draws.position(0, index)
    with states() as drawn:
        given = {"image": image.copy(), "mask": mask.copy(), "bboxes": np.array([[0.2, 0.2, 0.6, 0.7]])}
        out = made(**given, cropping_bbox=[10, 10, 60, 60])["image"]
    drawn += [pickle.dumps(one) for one in (made.random_generator.bit_generator.state, made.py_random.random())]
    return Ran(out, drawn, pickle.dumps(sorted(made.params.items())))
