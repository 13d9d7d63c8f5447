"""Stain normalisation beside torchstain, torch-staintools and stainx: levels with the same stains, and time a tile.

python benchmarks/stain.py            prints
python benchmarks/stain.py --write    prints, and writes the section `stain` of benchmarks/RESULTS.md

Peers are measured where they are installed: pip install torchstain torch-staintools stainx torchvision
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

import numpy as np
import torch
from harness import Row, in_turns, met, run
from workloads import tissue

from augrecipes.recipe.parse import parse_text

_SIZES = 256, 512
_METHOD = """\
Tiles of the demo's tissue, uint8 RGB in memory, one thread, in turns; medians, and a ratio is the median over the
turns. All sides get the same reference. Ours gets the stains that the peer estimated for the tile, as numbers;
`light` is the peer's, and no pixel counts as glass. The difference is the greatest over all levels of all tiles,
rounded if the peer returns floats, followed by the share of levels that differ by more than one. Ours is a recipe of
`StainNormalize` alone, in `exact`, called tile by tile. torchstain and stainx estimate the stains of every tile
again, as they have no other way. torch-staintools has them in its cache and solves by `qr`, its fastest way. It
treats level 0 as 1, to which `light: 256` comes closest, and amounts below 0 as 0: pixels with such amounts are left
out."""


class Peer(NamedTuple):
    """Another library: its name, the goal, and from a reference and a tile to its normalisation and its own numbers."""

    name: str
    package: str
    goal: float | None
    fit: Callable[[np.ndarray, np.ndarray], tuple[Callable[[], np.ndarray], dict[str, Any]]]


def _planes(image: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(image.transpose(2, 0, 1).copy())


def _stains(stains: Any, most: Any) -> dict[str, Any]:
    return {"stains": np.asarray(stains, float).tolist(), "most": np.asarray(most, float).ravel().tolist()}


def _torchstain_macenko(backend: str) -> Callable[..., Any]:
    def fit(reference: np.ndarray, tile: np.ndarray) -> Any:
        normalizer = import_module("torchstain").normalizers.MacenkoNormalizer(backend=backend)
        known = import_module("torchstain").normalizers.MacenkoNormalizer(backend="numpy")
        as_it_takes = _planes if backend == "torch" else np.asarray
        normalizer.fit(as_it_takes(reference)), known.fit(reference)
        target = _stains(known.HERef.T, known.maxCRef)
        known.fit(tile)
        given = as_it_takes(tile)
        work: Callable[[], Any] = lambda: normalizer.normalize(given, stains=False)[0]  # noqa: E731
        return work, {"source": _stains(known.HERef.T, known.maxCRef), "reference": target}

    return fit


def _torchstain_reinhard(backend: str) -> Callable[..., Any]:
    def fit(reference: np.ndarray, tile: np.ndarray) -> Any:
        normalizer = import_module("torchstain").normalizers.ReinhardNormalizer(backend=backend)
        as_it_takes = _planes if backend == "torch" else np.asarray
        numbers = []
        for image in (tile, reference):
            normalizer.fit(as_it_takes(image))
            mean, std = (
                np.asarray(part, float).ravel().tolist() for part in (normalizer.target_means, normalizer.target_stds)
            )
            numbers.append({"mean": mean, "std": std})
        given = as_it_takes(tile)
        return lambda: normalizer.normalize(given), {
            "method": "reinhard", "source": numbers[0], "reference": numbers[1],
        }  # fmt: skip

    return fit


def _staintools(reference: np.ndarray, tile: np.ndarray) -> Any:
    builder = import_module("torch_staintools.normalizer.factory").NormalizerBuilder
    normalizer = builder.build("macenko", concentration_solver="qr", use_cache=True)
    given = _planes(tile)[None].float() / 255
    normalizer.fit(_planes(reference)[None].float() / 255)
    target = _stains(normalizer.stain_matrix_target[0], normalizer.maxC_target)
    known = builder.build("macenko", concentration_solver="qr")
    known.fit(given)
    source = _stains(known.stain_matrix_target[0], known.maxC_target)
    return lambda: normalizer(given, cache_keys=["tile"]) * 255, {"source": source, "reference": target, "light": 256}


def _stainx(reference: np.ndarray, tile: np.ndarray) -> Any:
    normalizer = import_module("stainx").Macenko(device="cpu")
    normalizer.fit(_planes(reference)[None])
    given = _planes(tile)[None]
    target = _stains(normalizer._stain_matrix.T, normalizer._target_max_conc)
    known = import_module("stainx").Macenko(device="cpu")
    known.fit(given)
    source = _stains(known._stain_matrix.T, known._target_max_conc)
    return lambda: normalizer.transform(given), {"source": source, "reference": target}


PEERS = (
    Peer("torchstain, Macenko, numpy", "torchstain", 20, _torchstain_macenko("numpy")),
    Peer("torchstain, Macenko, torch", "torchstain", 20, _torchstain_macenko("torch")),
    Peer("torch-staintools, Macenko, cached", "torch-staintools", 3, _staintools),
    Peer("stainx, Macenko", "stainx", None, _stainx),
    Peer("torchstain, Reinhard, numpy", "torchstain", None, _torchstain_reinhard("numpy")),
    Peer("torchstain, Reinhard, torch", "torchstain", None, _torchstain_reinhard("torch")),
)


def ours(step: dict[str, Any]) -> Callable[[np.ndarray], np.ndarray]:
    """A recipe of StainNormalize alone."""
    recipe = {
        "version": 1, "recipe": "stain", "steps": [{"StainNormalize": {"white_threshold": None, **step}}],
        "eval": "derived", "output": {"dtype": "uint8", "layout": "hwc", "normalize": "none"},
    }  # fmt: skip
    pipeline = parse_text(json.dumps(recipe)).compile(optimize="exact").at(0)
    return lambda tile: pipeline(image=tile)["image"]


def differences(made: np.ndarray, peer: Any, tile: np.ndarray, step: dict[str, Any]) -> np.ndarray:
    """By how much each level differs, where the peer takes amounts as they come."""
    levels = np.rint(np.asarray(peer, np.float64).squeeze())
    apart = np.abs(made - (levels.transpose(1, 2, 0) if levels.shape[-1] != 3 else levels))
    if "light" in step:
        density = np.log(255 / np.maximum(tile, 1.0))
        apart = apart[(density @ np.linalg.pinv(np.array(step["source"]["stains"])) >= 0).all(axis=2)]
    return apart.ravel()


def _rows(options: Any) -> Iterator[Row | str]:
    for peer in PEERS:
        try:
            name = f"{peer.name} ({version(peer.package)})"
        except PackageNotFoundError:
            yield f"{peer.name}: not installed (pip install {peer.package})."
            continue
        for size in _SIZES:
            reference, *tiles = tissue(size)[:4]
            fits = [peer.fit(reference, tile) for tile in tiles]
            pairs = zip(tiles, fits, strict=True)
            apart = np.concatenate([differences(ours(step)(tile), work(), tile, step) for tile, (work, step) in pairs])
            worst, more = int(apart.max()), f" ({(apart > 1).mean():.1e} by more than 1)" if apart.max() > 1 else ""
            yield Row(f"{size}², greatest difference of levels", f"{worst}{more}", name, f"goal ≤ 1: {met(worst <= 1)}")
            (work, step), tile = fits[0], tiles[0]
            normalize = ours(step)
            pair = in_turns(lambda: normalize(tile), work, 5 if options.quick else 40, 3)  # noqa: B023
            yield pair.row(f"{size}², a tile", name, peer.goal)


if __name__ == "__main__":
    run(__file__, __doc__, "Stain normalisation", _METHOD, {"tiles": _rows})
