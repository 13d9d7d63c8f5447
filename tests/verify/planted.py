"""Data, recipes and planted faults for tests of `verify`."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.recipe.model import Arguments, Optimize, Recipe, Step
from augrecipes.recipe.parse import parse_text
from augrecipes.verify.compare import Build
from augrecipes.verify.contract import Promise
from augrecipes.verify.run import builder

EXACT, GEOMETRY = Promise(), Promise(geometry=True)
SIZE = (96, 128)
BOXES, POINTS = [[20, 24, 60, 70, 1], [70, 30, 100, 50, 2]], [[30.0, 40.0], [90.0, 20.0]]

MOVES = """
  - Rotate: {limit: 20, border_mode: constant, p: 1.0}
  - RandomCrop: {height: 64, width: 80}
  - Resize: {height: 48, width: 60}
  - HorizontalFlip
"""
COLOURS = """
  - RandomBrightnessContrast: {p: 1.0}
  - OneOf:
      steps: [{ToGray: {p: 0.3}}, {HueSaturationValue: {p: 0.7}}]
"""

Fault = Callable[[dict[str, Any]], None]


def recipe(steps: str, more: str = "", output: str = "{dtype: uint8, layout: hwc}") -> Recipe:
    """A recipe of these steps."""
    return parse_text(f"version: 1\nrecipe: tiny\n{more}\nsteps:{steps or ' []'}\neval: []\noutput: {output}\n")


def image(height: int, width: int, seed: int, channels: int = 3) -> NDArray[np.uint8]:
    """Smooth noise, uint8 H×W×C."""
    noise = np.random.default_rng(seed).uniform(0, 255, (height, width, channels)).astype(np.float32)
    smooth = np.dstack([cv2.GaussianBlur(noise[..., c], (0, 0), 2) for c in range(channels)])
    return np.clip((smooth - 127) * 3 + 127, 0, 255).astype(np.uint8)


def labels(height: int, width: int, seed: int) -> NDArray[np.uint8]:
    """Labels 0, 20, 40 and 200 in large blobs."""
    field = cv2.GaussianBlur(np.random.default_rng(seed).normal(size=(height, width)).astype(np.float32), (0, 0), 8)
    order = np.digitize(field, np.quantile(field, [0.25, 0.5, 0.75]))
    return np.array([0, 20, 40, 200], np.uint8)[order]


def draw_data(folder: Path, count: int = 3) -> Path:
    """Images, masks, and a CSV file with boxes and keypoints."""
    lines = ["image,mask,boxes,keypoints"]
    for k in range(count):
        for name, pixels in (("images", image(*SIZE, k)), ("masks", labels(*SIZE, k))):
            (folder / name).mkdir(parents=True, exist_ok=True)
            (folder / name / f"{k}.png").write_bytes(cv2.imencode(".png", pixels)[1].tobytes())
        lines.append(f'images/{k}.png,masks/{k}.png,"{json.dumps(BOXES)}","{json.dumps(POINTS)}"')
    (folder / "list.csv").write_text("\n".join(lines) + "\n")
    return folder


class Planted:
    """A pipeline whose results a fault is let loose on."""

    def __init__(self, pipeline: Any, fault: Fault) -> None:
        self.pipeline, self.fault = pipeline, fault

    def __getattr__(self, name: str) -> Any:
        return getattr(self.pipeline, name)

    def again(self, *compiled: Any) -> "Planted":
        """Another one, with the same fault."""
        return Planted(self.pipeline.again(*compiled), self.fault)

    def at(self, index: int, epoch: int = 0, tile: int = 0) -> Callable[..., dict[str, Any]]:
        """The faulty sample."""

        def run(**targets: Any) -> dict[str, Any]:
            done: dict[str, Any] = self.pipeline.at(index, epoch, tile)(**targets)
            self.fault(done)
            return done

        return run


def planted(fault: Fault) -> Build:
    """Pipelines that do what the recipe says, and of which the optimised one has a fault."""
    build = builder("train", 0)

    def make(recipe: Recipe, optimize: Optimize) -> Any:
        plain = build(recipe, "none")
        return plain if optimize == "none" else Planted(plain, fault)

    return make


def rewritten(change: Callable[[tuple[Step, ...]], tuple[Step, ...]], seed: int = 0) -> Build:
    """Pipelines of which the optimised one runs other steps, or other draws."""

    def make(recipe: Recipe, optimize: Optimize) -> Any:
        if optimize == "none":
            return builder("train", 0)(recipe, "none")
        return builder("train", seed)(replace(recipe, steps=change(recipe.steps)), "none")

    return make


def noop(step: Step) -> Step:
    """The step, doing nothing."""
    return replace(step, name="NoOp", args=Arguments())


def last_two_swapped(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """What is cut off is cut off later."""
    return (*steps[:-2], steps[-1], steps[-2])


def shifted(image: NDArray[Any], dx: float) -> NDArray[Any]:
    """The image, some px to the right."""
    height, width = image.shape[:2]
    matrix = np.array([[1, 0, dx], [0, 1, 0]], np.float32)
    moved = cv2.warpAffine(image, matrix, (width, height), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    return moved.reshape(image.shape)
