"""Images of 16 bits and of floats: what they cost beside those of 8 bits, and beside albumentations.

python benchmarks/depth.py            prints
python benchmarks/depth.py --write    prints, and writes its section of benchmarks/RESULTS.md
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import albumentations as A
import numpy as np
from harness import Row, in_turns, met, run

import augrecipes as ar

_METHOD = """\
One thread, `exact`, one step that always acts, to normalised float32 C×H×W; pairs of contenders in turns, medians. Ours
is `pipeline.at(k)(image=...)`; albumentations' is `A.Compose` of the step and `A.Normalize`, and a contiguous
transposition. Goals for steps that move pixels: 16 bits take at most 2.2 times as long as 8 bits, and floats are 1.5
times as fast as albumentations. Steps that change values have no goal, because on 8 bits they are lookup tables."""
_MOST, _LEAST = 2.2, 1.5
_SIZES, _CHANNELS = (256, 512, 1024), (1, 3, 5)
_MEAN, _STD = 0.5, 0.25
_TO = {"height": "3/4", "width": "3/4"}  # of the image's side
_MOVES: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "HorizontalFlip": [("HorizontalFlip", {})],
    "VerticalFlip": [("VerticalFlip", {})],
    "D4": [("D4", {})],
    "RandomCrop": [("RandomCrop", _TO)],
    "CenterCrop": [("CenterCrop", _TO)],
    "RandomResizedCrop": [("RandomResizedCrop", {"size": ["3/4", "3/4"]})],
    "Resize": [("Resize", _TO)],
    "SmallestMaxSize, CenterCrop": [("SmallestMaxSize", {"max_size": "3/4"}), ("CenterCrop", _TO)],
    "Affine": [("Affine", {"rotate": [-20, 20], "scale": [0.8, 1.2]})],
    "Rotate": [("Rotate", {"limit": [-30, 30]})],
    "ShiftScaleRotate": [("ShiftScaleRotate", {})],
}
_VALUES = ("RandomBrightnessContrast", "RandomGamma", "GaussNoise", "GaussianBlur", "CoarseDropout")
Make = Callable[[], object]


def _sized(value: Any, side: int) -> Any:
    if isinstance(value, dict):
        return {key: _sized(each, side) for key, each in value.items()}
    if isinstance(value, list):
        return [_sized(each, side) for each in value]
    return side * 3 // 4 if value == "3/4" else value


def _ours(steps: list[tuple[str, dict[str, Any]]], image: np.ndarray, depth: Any) -> Make:
    output = {"normalize": {"mean": _MEAN, "std": _STD}}
    recipe = {"version": 1, "recipe": "depth", "inputs": {"depth": depth}, "eval": [], "output": output}
    pipeline = ar.load({**recipe, "steps": [{name: {**args, "p": 1.0}} for name, args in steps]}).compile()
    counter = itertools.count()
    return lambda: pipeline.at(next(counter))(image=image)


def _theirs(steps: list[tuple[str, dict[str, Any]]], image: np.ndarray) -> Make:
    full, count = {"uint8": 255.0, "uint16": 65535.0, "float32": 1.0}[image.dtype.name], image.shape[2]
    normal = A.Normalize(mean=(_MEAN,) * count, std=(_STD,) * count, max_pixel_value=full, p=1.0)
    compose = A.Compose([*(getattr(A, name)(**args, p=1.0) for name, args in steps), normal], seed=0)
    return lambda: np.ascontiguousarray(compose(image=image)["image"].transpose(2, 0, 1))


def _rows(what: str, steps: list[tuple[str, dict[str, Any]]], goals: bool, quick: bool) -> Iterator[Row]:
    for side, channels in itertools.product(_SIZES[:1] if quick else _SIZES, _CHANNELS):
        sized = [(name, _sized(args, side)) for name, args in steps]
        values: Any = np.random.default_rng(0).integers(0, 256, (side, side, channels))
        flat, deep = values.astype(np.uint8), (values * 257).astype(np.uint16)
        floats, turns, calls = (values / 255).astype(np.float32), 3 if quick else 15, max(1, (1024 // side) ** 2 // 2)
        name, eight = f"{what}, {side}²×{channels}", _ours(sized, flat, 8)
        pair = in_turns(_ours(sized, deep, 16), eight, turns, calls)
        reached = f", goal ≤ {_MOST}: {met(1 / pair.ratio <= _MOST)}" if goals else ""
        verdict = f"{1 / pair.ratio:.2f} times as long{reached}"
        yield Row(name, f"16 bits {pair.ours.in_units('µs')}", f"8 bits {pair.peer.in_units('µs')}", verdict)
        for label, image, depth in (("floats", floats, "float32"), ("16 bits", deep, 16)):
            try:
                peer = _theirs(sized, image)
                peer()
            except Exception as error:  # of a dtype that the class does not take
                yield Row(name, label, f"albumentations: {type(error).__name__}", "not taken")
                continue
            pair = in_turns(_ours(sized, image, depth), peer, turns, calls)
            goal = _LEAST if goals and label == "floats" else None
            row = pair.row(name, "albumentations", goal, "µs")
            yield row._replace(ours=f"{label} {row.ours}")


def _moves(options: Any) -> Iterator[Row]:
    for what, steps in _MOVES.items():
        yield from _rows(what, steps, goals=True, quick=options.quick)


def _values(options: Any) -> Iterator[Row]:
    for what in _VALUES:
        yield from _rows(what, [(what, {})], goals=False, quick=options.quick)


if __name__ == "__main__":
    run(__file__, __doc__, "Depth", _METHOD, {"moves": _moves, "values": _values})
