"""Probe images on which roundings differ: kernels and fast functions must give a class's own bits on them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import numpy as np

_log = logging.getLogger("augrecipes")
_ANSWERS: dict[tuple[Any, ...], bool] = {}  # of this process


def probe(key: tuple[Any, ...], trials: Callable[[], Iterable[bool]]) -> bool:
    """Run some trials, once a process, and tell whether all succeed; without a trial, or where one fails, they do not.

    Args:
        key: what the answer is remembered by; its first part names what is tried.
        trials: makes the trials.
    """
    if key not in _ANSWERS:
        try:
            results = [*trials()]
            _ANSWERS[key] = bool(results) and all(results)
        except Exception as error:  # another release of albumentations, say, whose `apply` takes something else
            _log.debug("%s runs as it is: %s: %s", key[0], type(error).__name__, error)
            _ANSWERS[key] = False
    return _ANSWERS[key]


@cache
def images() -> tuple[np.ndarray, ...]:
    """uint8 RGB: every corner of the cube, a grid and a scatter of it, greys, and tails."""
    levels = np.array([0, 1, 2, 127, 128, 253, 254, 255], np.uint8)
    edges = np.stack(np.meshgrid(levels, levels, levels, indexing="ij"), axis=-1).reshape(16, 32, 3)
    steps = np.arange(0, 256, 17, dtype=np.uint8)
    grid = np.stack(np.meshgrid(steps, steps, steps, indexing="ij"), axis=-1).reshape(64, 64, 3)
    words = np.arange(3 * 61 * 67, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    scatter = (words >> np.uint64(56)).astype(np.uint8).reshape(61, 67, 3)
    greys = np.repeat(np.arange(256, dtype=np.uint8), 3).reshape(8, 32, 3)
    return edges, grid, scatter, greys, scatter[:5, :7].copy(), scatter[:1, :1].copy(), np.zeros((3, 5, 3), np.uint8)


@cache
def squares() -> tuple[np.ndarray, ...]:
    """An image without colours and, with and without, one of which JPEGs of quality 1 make levels below -400: so far
    from levels, decoders that hold them by a table of 1024 begin anew.
    """
    bits = np.array([0xA442FF4D55E3B68F], ">u8").view(np.uint8)
    block = np.unpackbits(bits).reshape(8, 8, 1) * np.uint8(255)
    ramp = np.arange(23 * 45, dtype=np.uint32).reshape(23, 45, 1)
    return block, np.repeat(block, 3, axis=2), (ramp * ramp * 977 >> 13).astype(np.uint8)


@cache
def many_colours() -> tuple[np.ndarray, ...]:
    """Colours in such numbers that each number of the tables for Lab decides some of them, and a grey image."""
    words = np.arange(1 << 18, dtype=np.uint32) * np.uint32(0x9E3779B1)
    colours = words.view(np.uint8).reshape(512, 512, 4)[..., 1:].copy()
    return colours, colours[:61, :67, :1].copy()
