"""Draws the pictures of docs/SCENES.md from scenes that are made here: `python benchmarks/scene_images.py`."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from images import DOCS, write_cells

import augrecipes as ar

_SIZE = 192
_BYTES = {"dtype": "uint8", "layout": "hwc"}


def main() -> None:
    render_depth()
    render_channels()
    render_scene()
    render_frames()


def recipe(name: str, steps: list[Any], output: Any = None, **keys: Any) -> Any:
    """A recipe of training steps, compiled, whose images leave as bytes."""
    head = {"version": 1, "recipe": name, "output": {**_BYTES, **(output or {})}}
    return ar.load({**head, "steps": steps, "eval": [], **keys}).compile(seed=4)


def cells(seed: int = 1, count: int = 26) -> np.ndarray:
    """Fluorescent cells as a camera of 16 bits has them: a dim image, most of whose levels are never used."""
    random = np.random.default_rng(seed)
    light = np.zeros((_SIZE, _SIZE), np.float32)
    for _ in range(count):
        spot = np.zeros_like(light)
        centre = tuple(random.integers(8, _SIZE - 8, 2).tolist())
        axes = tuple(random.integers(5, 13, 2).tolist())
        cv2.ellipse(spot, centre, axes, float(random.integers(0, 180)), 0, 360, float(random.uniform(0.3, 1)), -1)
        light = np.maximum(light, cv2.GaussianBlur(spot, (0, 0), 2))
    counts = random.poisson(900 + 2600 * light) + random.normal(0, 25, light.shape)
    return counts.clip(0, 65535).astype(np.uint16)[..., None]


def stretched(image: np.ndarray, low: float, high: float) -> np.ndarray:
    """Grey levels as colours for a page: `low` is black, `high` is white."""
    return np.repeat(np.uint8(255 * ((image.astype(float) - low) / (high - low)).clip(0, 1)), 3, axis=2)


def render_depth() -> None:
    """What is left of an image of 16 bits by its upper eight, and what a recipe of 16 bits makes of all of them."""
    image = cells()
    low, high = np.percentile(image, (1, 99.8))
    steps = [
        {"D4": {"p": 1}},
        {"Affine": {"rotate": [-25, 25], "border_mode": "reflect_101", "p": 1}},
        {"RandomGamma": {"gamma_limit": [70, 140], "p": 1}},
        {"GaussNoise": {"std_range": [0.01, 0.02], "p": 1}},
    ]
    inputs = {"depth": 16, "range": [round(low), round(high)]}
    pipeline = recipe("cells", steps, {"dtype": "float32"}, inputs=inputs)
    draws = [(f"epoch {k}", stretched(pipeline.at(0, k)(image=image)["image"], 0, 1)) for k in range(4)]
    eight = (image >> 8).astype(np.uint8)
    source = [
        ("all 16 bits, stretched", stretched(image, low, high)),
        ("the upper 8 bits, stretched", stretched(eight, *np.percentile(eight, (1, 99.8)))),
    ]
    write_cells(DOCS / "depth.jpg", "Cells of 16 bits", [source, draws])


def fields(seed: int = 5) -> np.ndarray:
    """Fields as a satellite sees them: blue, green, red and near infrared, in which what grows is bright."""
    random = np.random.default_rng(seed)
    bands = np.zeros((_SIZE, _SIZE, 4), np.float32)
    bands[:] = (70, 80, 74, 90)
    soil, crop = np.array([78, 96, 124, 105]), np.array([44, 84, 46, 215])
    corners = [(x, y) for y in range(-20, _SIZE, 46) for x in range(-30 + y % 37, _SIZE, 58)]
    for x, y in corners:
        share = random.choice([0.05, 0.4, 0.75, 1.0])
        box = cv2.boxPoints(((x + 26, y + 20), (54, 42), float(random.uniform(-6, 6)))).astype(np.int32)
        cv2.fillPoly(bands, [box], (share * crop + (1 - share) * soil).tolist())
    cv2.polylines(bands, [np.array([[0, 150], [60, 120], [120, 132], [_SIZE, 90]])], False, (66, 74, 40, 16), 9)
    noise = cv2.GaussianBlur(random.normal(0, 26, bands.shape).astype(np.float32), (0, 0), 3)
    return np.uint8((cv2.GaussianBlur(bands, (0, 0), 0.8) + noise + random.normal(0, 3, bands.shape)).clip(0, 255))


def render_channels() -> None:
    """Four bands as colours, and in false ones, and a recipe whose colour steps leave the fourth band alone."""
    image = fields()
    steps = [{"D4": {"p": 1}}, {"RandomResizedCrop": {"size": [_SIZE, _SIZE], "scale": [0.5, 0.9]}},
             {"ColorJitter": {"channels": ["red", "green", "blue"], "brightness": 0.25, "contrast": 0.2,
                              "saturation": 0.5, "hue": 0.08, "p": 1}}]  # fmt: skip
    names = {"names": ["blue", "green", "red", "nir"], "take": ["red", "green", "blue", "nir"]}
    made = recipe("fields", steps, inputs={"channels": names}).at(0)(image=image)["image"]
    whole = image[..., [2, 1, 0, 3]]

    def row(words: str, bands: np.ndarray) -> list[tuple[str, np.ndarray]]:
        near = np.repeat(bands[..., 3:], 3, axis=2)
        return [(f"red, green, blue{words}", bands[..., :3]), ("nir, red, green", bands[..., [3, 0, 1]]), ("nir", near)]

    write_cells(DOCS / "channels.jpg", "Fields in four bands", [row("", whole), row(", drawn", made)])


def town(seed: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A piece of land on two dates, the mask of what was built between them, and heights in metres."""
    random = np.random.default_rng(seed)
    noise = cv2.GaussianBlur(random.normal(0, 1, (_SIZE, _SIZE)).astype(np.float32), (0, 0), 14)
    noise = (noise - noise.min()) / np.ptp(noise)
    land = np.stack([90 + 60 * noise, 120 + 50 * noise, 70 + 30 * noise], axis=2)
    cv2.line(land, (0, 130), (_SIZE, 60), (150, 146, 140), 9)
    height, mask, dates = 12 * noise, np.zeros((_SIZE, _SIZE), np.uint8), []
    for date in range(2):
        for _ in range(7):
            x, y, wide, tall = (*random.integers(6, _SIZE - 40, 2), *random.integers(14, 34, 2))
            colour = random.uniform(120, 235) * np.array([1, 0.86, 0.78])
            land[y : y + tall, x : x + wide] = colour
            height[y : y + tall, x : x + wide] = random.uniform(14, 30)
            if date:
                mask[y : y + tall, x : x + wide] = 1
        light = 1 if not date else np.array([1.08, 0.98, 0.82])  # another season
        dates.append(np.uint8((land * light + random.normal(0, 4, land.shape)).clip(0, 255)))
    return dates[0], dates[1], mask, height.astype(np.float32)


def heat(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """Numbers as colours."""
    levels = np.uint8(255 * ((values - low) / (high - low)).clip(0, 1))
    return cv2.cvtColor(cv2.applyColorMap(levels, cv2.COLORMAP_VIRIDIS), cv2.COLOR_BGR2RGB)


def render_scene() -> None:
    """Two dates, what has changed, and heights: one geometry for all, colours for each date."""
    before, after, mask, height = town()
    steps = [
        {"RandomResizedCrop": {"size": [_SIZE, _SIZE], "scale": [0.4, 0.8]}},
        {"D4": {"p": 1}},
        {"Rotate": {"limit": 20, "border_mode": "reflect_101", "p": 1}},
        {"ColorJitter": {"brightness": 0.25, "contrast": 0.25, "saturation": 0.4, "hue": 0.05, "p": 1}},
    ]
    targets = {"after": {"like": "image", "share": "geometry"}, "height": {"like": "mask", "interpolation": "linear"}}
    pipeline = recipe("town", steps, targets=targets)

    def row(words: str, sample: dict[str, Any]) -> list[tuple[str, np.ndarray]]:
        changed = np.uint8(sample["mask"])[..., None] * np.array([232, 84, 60], np.uint8)
        return [
            (f"image{words}", sample["image"]),
            ("after", sample["after"]),
            ("mask", np.maximum(changed, 24)),
            ("height", heat(sample["height"], 0, 30)),
        ]

    source = {"image": before, "after": after, "mask": mask, "height": height}
    rows = [row("", source), *(row(f", epoch {k}", pipeline.at(0, k)(**source)) for k in range(2))]
    write_cells(DOCS / "scene.jpg", "Two dates of one place", rows)


def render_frames() -> None:
    """Frames of a clip, and what one draw makes of all of them."""
    clip = []
    for t in range(5):
        frame = np.full((_SIZE, _SIZE, 3), (228, 226, 220), np.uint8)
        cv2.rectangle(frame, (0, 150), (_SIZE, _SIZE), (120, 132, 110), -1)
        cv2.circle(frame, (28 + 34 * t, 122 - round(70 * np.sin(np.pi * t / 4))), 17, (214, 92, 60), -1, cv2.LINE_AA)
        clip.append(frame)
    steps = [
        {"RandomResizedCrop": {"size": [_SIZE, _SIZE], "scale": [0.6, 0.8]}},
        {"HorizontalFlip": {"p": 1}},
        {"Rotate": {"limit": [12, 18], "border_mode": "reflect_101", "p": 1}},
        {"ColorJitter": {"brightness": 0.1, "contrast": 0.1, "saturation": 0.5, "hue": 0.1, "p": 1}},
    ]
    made = recipe("clip", steps).at(0)(images=np.stack(clip))["images"]
    rows = [[(f"frame {t}", frame) for t, frame in enumerate(frames)] for frames in (clip, made)]
    write_cells(DOCS / "frames.jpg", "A clip, and one draw for all of its frames", rows)


if __name__ == "__main__":
    main()
