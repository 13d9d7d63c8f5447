"""What is not the same kind of sample is refused before anything is timed."""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np
import pytest
from comparison import FLOATS, Batch, Side, compare, kind_of, same_kind

_COUNT = 32


def pictures(seed: int) -> np.ndarray:
    """Smooth images, the red of them lighter than the blue; N×C×H×W, 0..1."""
    draw = np.random.default_rng(seed)
    coarse = draw.uniform(0, 0.3, (_COUNT, 6, 6, 3)).astype(np.float32)
    large = np.stack([cv2.resize(one, (48, 48), interpolation=cv2.INTER_CUBIC) for one in coarse])
    noisy = large + draw.uniform(0, 0.1, large.shape).astype(np.float32) + np.array((0.5, 0.3, 0.1), np.float32)
    return np.ascontiguousarray(noisy.transpose(0, 3, 1, 2))


def labelled(seed: int, turn: int = 0) -> Batch:
    """Images whose class is in their colours."""
    labels = np.random.default_rng(seed).permutation(_COUNT) % 4
    image = pictures(seed)
    image += (0.1 * labels).astype(np.float32)[:, None, None, None] * np.array((1, -1, 1), np.float32)[:, None, None]
    return {"image": image, "label": (labels + turn) % 4}


def pair(seed: int, shift: int = 0) -> Batch:
    """Large images and their halves, which `shift` takes from the wrong place."""
    large = pictures(seed)
    moved = np.roll(large, shift, axis=3)
    halves = moved.reshape(_COUNT, 3, 24, 2, 24, 2).mean((3, 5))
    return {"lr": halves, "hr": large}


def side(batch: Batch, makes: str = FLOATS, name: str = "peer") -> Side:
    return Side(name, "", lambda: [batch], makes)


def check(peer: Side, like: Batch) -> None:
    same_kind(kind_of(peer, _COUNT), kind_of(side(like, name="ours"), _COUNT))


def test_other_draws_pass() -> None:
    check(side({"image": pictures(1)}), {"image": pictures(0)})
    check(side(labelled(1)), labelled(0))
    check(side(pair(1)), pair(0))


def test_bytes_of_another_layout_pass() -> None:
    as_bytes = np.clip(np.rint(pictures(1) * 255), 0, 255).astype(np.uint8).transpose(0, 2, 3, 1)
    check(side({"image": as_bytes}, "uint8 H×W×C"), {"image": pictures(0)})


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        (lambda p: p.astype(np.float64), "makes float64"),
        (lambda p: p.transpose(0, 2, 3, 1), "not batches of float32 C×H×W"),
        (lambda p: p[0], "not batches of"),
        (lambda p: p * 255, "means"),
        (lambda p: p - 0.5, "means"),
        (lambda p: p[:, ::-1], "means"),
        (lambda p: p * 0.5 + p.mean((0, 2, 3), keepdims=True) * 0.5, "spread"),
        (lambda p: p[:, :, :40, :40], r"\(3, 40, 40\)"),
        (lambda p: np.stack([cv2.blur(one.transpose(1, 2, 0), (5, 5)).transpose(2, 0, 1) for one in p]), "sharpness"),
        (lambda p: np.where(p > 0.8, np.float32(np.nan), p), "finite"),
    ],
    ids=["dtype", "layout", "one", "range", "shifted", "bgr", "flat", "size", "blurred", "nan"],
)
def test_a_wrong_peer_is_refused(fault: Callable[[np.ndarray], np.ndarray], why: str) -> None:
    with pytest.raises(SystemExit, match=why):
        check(side({"image": fault(pictures(1))}), {"image": pictures(0)})


def test_labels_of_other_pictures_are_refused() -> None:
    with pytest.raises(SystemExit, match="class"):
        check(side(labelled(1, turn=1)), labelled(0))
    few = labelled(1)
    with pytest.raises(SystemExit, match="labels"):
        check(side({**few, "label": few["label"] % 3}), labelled(0))


def test_pairs_that_do_not_fit_are_refused() -> None:
    with pytest.raises(SystemExit, match="apart"):
        check(side(pair(1, shift=2)), pair(0))
    with pytest.raises(SystemExit, match="in a batch"):
        check(side({"image": pictures(1)}), pair(0))


def test_a_wrong_peer_is_never_timed() -> None:
    passes = []

    def black() -> list[Batch]:
        passes.append(1)
        return [{"image": np.zeros_like(pictures(1))}]

    ours = side({"image": pictures(0)}, name="ours")
    with pytest.raises(SystemExit, match="peer and ours make different samples"):
        compare("w", [ours], [Side("peer", "", black)], rounds=3, samples=_COUNT)
    assert len(passes) == 1
