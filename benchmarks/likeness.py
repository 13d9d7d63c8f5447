"""Do two sides make the same kind of sample? Looked at before anything is timed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from sides import Side

_FULL = 255.0
_PICTURES = ("image", "lr", "hr")


@dataclass(frozen=True)
class Look:
    """What the pictures under one name are like, in the units of the batch.

    Attributes:
        shape: of one, C×H×W.
        mean: of each channel.
        spread: the standard deviation.
        edge: the mean step from pixel to pixel, down and across: sharpness.
    """

    shape: tuple[int, ...]
    mean: np.ndarray
    spread: float
    edge: float

    def __str__(self) -> str:
        means = " ".join(f"{mean:.3f}" for mean in self.mean)
        return f"{self.shape}, means {means}, spread {self.spread:.3f}, sharpness {self.edge:.4f}"


@dataclass(frozen=True)
class Kind:
    """What a side's samples are like.

    Attributes:
        name: of the side.
        looks: by name of what is in a batch.
        classes: mean colour by label, where there are labels.
        apart: of pairs, mean distance of the small picture from the large one reduced to its size.
    """

    name: str
    looks: dict[str, Look]
    classes: dict[int, np.ndarray]
    apart: float


def kind_of(side: Side, count: int) -> Kind:
    """Look at `count` samples of a side, or more.

    Raises:
        SystemExit: they are not what the side says that it makes, or not finite.
    """
    parts: dict[str, list[np.ndarray]] = {}
    found = 0
    while found < count:
        for batch in side.batches():
            if found < count:
                for name in (*_PICTURES, "label"):
                    if name in batch:
                        values = np.asarray(batch[name]).copy()  # a copy: the side may use the memory again
                        parts.setdefault(name, []).append(values if name == "label" else _floats(values, side))
                found += len(values)
    whole = {name: np.concatenate(values) for name, values in parts.items()}
    labels = whole.pop("label", None)
    classes = {}
    if labels is not None:
        first = next(iter(whole.values()))
        classes = {int(label): first[labels == label].mean((0, 2, 3)) for label in np.unique(labels)}
    apart = _apart(whole["lr"], whole["hr"]) if "lr" in whole else 0.0
    return Kind(str(side), {name: _look(values) for name, values in whole.items()}, classes, apart)


def same_kind(kind: Kind, like: Kind, loose: float = 1.0) -> None:
    """Compare what a side makes with what another does.

    Args:
        kind: what is looked at.
        like: what it should be like.
        loose: how much more than usual they may differ.

    Raises:
        SystemExit: they make different samples.
    """
    if kind.looks.keys() != like.looks.keys():
        _refuse(kind, like, f"{sorted(kind.looks)} and {sorted(like.looks)} in a batch")
    for name, look in kind.looks.items():
        other = like.looks[name]
        if look.shape != other.shape:
            _refuse(kind, like, f"{name} {look.shape} and {other.shape}")
        close = (
            np.abs(look.mean - other.mean).max() < 0.25 * loose * other.spread
            and abs(look.spread / other.spread - 1) < 0.2 * loose
            and abs(look.edge / other.edge - 1) < 0.4 * loose
        )
        if not close:
            _refuse(kind, like, f"{name} {look} and {other}")
    if kind.classes.keys() != like.classes.keys():
        _refuse(kind, like, f"labels {sorted(kind.classes)} and {sorted(like.classes)}")
    for label, colour in kind.classes.items():
        spread = next(iter(like.looks.values())).spread
        if np.abs(colour - like.classes[label]).max() > 0.25 * loose * spread:
            _refuse(kind, like, f"class {label} of mean colour {colour} and {like.classes[label]}")
    if kind.apart > like.apart * 1.5 + 0.5 / _FULL:
        _refuse(kind, like, f"pairs {kind.apart * _FULL:.2f} and {like.apart * _FULL:.2f} levels apart")


def _refuse(kind: Kind, like: Kind, what: str) -> None:
    raise SystemExit(f"{kind.name} and {like.name} make different samples: {what}")


def _floats(pictures: np.ndarray, side: Side) -> np.ndarray:
    """As float32 N×C×H×W; uint8 as 0..1."""
    dtype, layout = side.makes.split()[:2]
    channels = {"C×H×W": 1, "H×W×C": -1}[layout]
    if pictures.ndim != 4 or str(pictures.dtype) != dtype or pictures.shape[channels] != 3:
        raise SystemExit(f"{side}: makes {pictures.dtype} {pictures.shape}, not batches of {side.makes}")
    if channels == -1:
        pictures = pictures.transpose(0, 3, 1, 2)
    floats = pictures.astype(np.float32) / (_FULL if dtype == "uint8" else 1.0)
    if not np.isfinite(floats).all():
        raise SystemExit(f"{side}: not all that it makes is finite")
    return floats


def _look(pictures: np.ndarray) -> Look:
    edges = [float(np.abs(np.diff(pictures, axis=axis)).mean()) for axis in (2, 3)]
    return Look(pictures.shape[1:], pictures.mean((0, 2, 3)), float(pictures.std()), sum(edges))


def _apart(small: np.ndarray, large: np.ndarray) -> float:
    def reduced(picture: np.ndarray, like: np.ndarray) -> Any:
        size = like.shape[:0:-1]
        return cv2.resize(picture.transpose(1, 2, 0), size, interpolation=cv2.INTER_AREA).transpose(2, 0, 1)

    return float(np.mean([np.abs(reduced(b, a) - a).mean() for a, b in zip(small, large, strict=True)]))
