"""When normalising or jittering stains helps: the tables and the picture of docs/STAINS.md.

Drawn tissue of four laboratories that differ in their stains and their light alone, and a classifier that sees nothing
but colours: python benchmarks/stains.py --write, without which the picture stays; [--tissue FOLDER of real tiles];
--trial: networks
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from images import DOCS, write_cells

import augrecipes as ar
from augrecipes.demo.tissue import CLASSES, LABORATORIES, render_tile
from augrecipes.sources.files import read_image
from augrecipes.trials.tables import estimate_text, plan_lines, verdict_lines

Tiles = list[np.ndarray]

_SIDE, _TRAINED, _TESTED, _DRAWS, _SEEDS = 96, 30, 20, 8, 3
_REAL = ("torchstain_source.png", "torchstain_target.png", "henorm_example1_1024.png", "stardist_histo.jpg")
_GLASS = 217
_NORMALIZERS: dict[str, list[Any]] = {
    f"StainNormalize, {method}": [{"StainNormalize": {"method": method}}]
    for method in ("macenko", "vahadane", "reinhard")
}
_LIGHT, _STRONG = ({"StainJitter": {"sigma": s, "bias": s, "p": 1.0}} for s in (0.05, 0.2))
_HSV = {"HueSaturationValue": {"hue_shift_limit": 10, "sat_shift_limit": 25, "val_shift_limit": 10, "p": 1.0}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tissue", type=Path, help="real tiles, for the first table")
    parser.add_argument("--trial", action="store_true", help="the table of trained networks alone; 10 minutes")
    parser.add_argument("--write", action="store_true", help="draw docs/stains.jpg, too")
    options = parser.parse_args()
    if options.trial:
        _trained()
        return
    labs = {lab.name: [_tiles(number, kind, 0, 12) for kind in CLASSES] for number, lab in enumerate(LABORATORIES)}
    _distances("drawn", {name: list(itertools.chain(*kinds)) for name, kinds in labs.items()})
    if options.tissue:
        _distances("real", {name: [read_image(options.tissue / name)[:512, :512]] for name in _REAL})
    _accuracies()
    if options.write:
        every = [tile for kinds in labs.values() for tiles in kinds for tile in tiles]
        _draw([labs["east"][2][1], labs["south"][2][2]], every)


@cache
def _tiles(lab: int, kind: str, seed: int, count: int) -> Tiles:
    """Tiles of one kind as the first laboratory scans them, in the stains and the light of another."""
    other = LABORATORIES[lab]
    stained = LABORATORIES[0]._replace(haematoxylin=other.haematoxylin, eosin=other.eosin, white=other.white)
    rng = np.random.default_rng((seed, lab, CLASSES.index(kind)))
    return [render_tile(kind, (_SIDE, _SIDE), stained, rng).image for _ in range(count)]


def _through(steps: list[Any], tiles: Tiles, epoch: int = 0) -> Tiles:
    """The tiles of a laboratory as one bag through some steps."""
    recipe = ar.load({"version": 1, "recipe": "s", "kind": "bag", "steps": steps, "eval": [],
                      "output": {"dtype": "uint8", "layout": "hwc"}})  # fmt: skip
    return list(recipe.compile(seed=1).at(0, epoch)(images=tiles)["image"])


def _distances(what: str, labs: dict[str, Tiles]) -> None:
    """How far apart in CIE Lab the mean colours of tissue are, by pairs of laboratories, and what becomes of glass."""
    print(f"| {what} tissue | mean ΔE | greatest |\n|---|---|---|")
    for name, steps in {"as it comes": [], **_NORMALIZERS}.items():
        means = [_mean_colour(labs[lab], _through(steps, labs[lab])) for lab in labs]
        apart = [float(np.linalg.norm(a - b)) for a, b in itertools.combinations(means, 2)]
        print(f"| {name} | {np.mean(apart):.1f} | {max(apart):.1f} |")


def _mean_colour(tiles: Tiles, made: Tiles) -> np.ndarray:
    tissue = [image[(tile < _GLASS).any(axis=-1)] for tile, image in zip(tiles, made, strict=True)]
    pixels = np.concatenate(tissue)[None].astype(np.float32) / np.float32(255)
    return cv2.cvtColor(pixels, cv2.COLOR_RGB2LAB)[0].mean(axis=0)


def _accuracies() -> None:
    """Trained on the first laboratory, tested there and on the others."""
    template = ar.stain_template([tile for kind in CLASSES for tile in _tiles(0, kind, 50, 20)])
    every = [tile for lab in range(4) for kind in CLASSES for tile in _tiles(lab, kind, 50, 20)]
    jitters: dict[str, list[Any]] = {
        "nothing": [], "StainJitter 0.05": [_LIGHT], "StainJitter 0.2": [_STRONG], "HueSaturationValue": [_HSV],
        "RandStainNA, template of A": [{"RandStainNA": {"template": template, "p": 1.0}}],
        "RandStainNA, template of all": [{"RandStainNA": {"template": ar.stain_template(every), "p": 1.0}}],
    }  # fmt: skip
    ways = {name: ([], steps) for name, steps in jitters.items()}
    ways |= {name: (steps, []) for name, steps in _NORMALIZERS.items()}
    ways["StainNormalize, macenko, then StainJitter 0.05"] = (_NORMALIZERS["StainNormalize, macenko"], [_LIGHT])
    print("| trained on laboratory A with | A | B, C, D | the worst |\n|---|---|---|---|")
    for name, (normalized, jittered) in ways.items():
        rows = np.array([_accuracy(seed, normalized, jittered) for seed in range(_SEEDS)]) * 100
        means, worst = rows.mean(axis=0), rows[:, 1:].mean(axis=0).min()
        print(f"| {name} | {means[0]:.0f} % | {means[1:].mean():.0f} % | {worst:.0f} % |")


def _trained() -> None:
    """A trial: a small network learns from the first laboratory, and is scored on the three others."""
    train, valid = (
        [(tile, label) for lab in labs for label, kind in enumerate(CLASSES) for tile in _tiles(lab, kind, seed, count)]
        for labs, seed, count in (((0,), 100, 2 * _TRAINED), ((1, 2, 3), 200, _TESTED))
    )
    ways: dict[str, list[Any]] = {"nothing": [], "StainJitter 0.2": [_STRONG], **_NORMALIZERS}
    recipes = {
        name: {"version": 1, "recipe": "stains", "steps": steps, "eval": "derived"} for name, steps in ways.items()
    }
    trial = ar.trial(recipes, train, valid, minutes=10, seeds=10)
    print("| a network trained on laboratory A with | B, C, D |\n|---|---|")
    for result in trial.recipes:
        print(f"| {result.name} | {estimate_text(result.score, '')} % |")
    print(*plan_lines(trial.plan), *verdict_lines(trial), *trial.notes, sep="\n")


def _accuracy(seed: int, normalized: list[Any], jittered: list[Any]) -> list[float]:
    """The share of tiles whose kind is told, of each laboratory; jitter in training alone."""

    def seen(lab: int, number: int, count: int) -> tuple[Tiles, np.ndarray]:
        tiles = [tile for kind in CLASSES for tile in _tiles(lab, kind, number, count)]
        return _through(normalized, tiles), np.repeat(np.arange(len(CLASSES)), count)

    tiles, kinds = seen(0, 100 + seed, _TRAINED)
    epochs = [_through(jittered, tiles, epoch) for epoch in range(_DRAWS if jittered else 1)]
    weights = _fitted(_histograms([tile for epoch in epochs for tile in epoch]), np.tile(kinds, len(epochs)))
    tested = [seen(lab, 200 + seed, _TESTED) for lab in range(len(LABORATORIES))]
    return [float(((_histograms(tiles) @ weights).argmax(axis=1) == kinds).mean()) for tiles, kinds in tested]


def _histograms(tiles: Sequence[np.ndarray]) -> np.ndarray:
    """Of each tile the shares of 6 × 6 × 6 colours, and 1."""
    rows = [
        cv2.calcHist([tile], [0, 1, 2], None, [6, 6, 6], [0, 256] * 3).ravel() / tile[..., 0].size for tile in tiles
    ]
    return np.column_stack([np.sqrt(rows), np.ones(len(tiles))])


def _fitted(features: np.ndarray, kinds: np.ndarray) -> np.ndarray:
    """Weights of a ridge regression on the kinds."""
    wanted = np.eye(len(CLASSES))[kinds]
    return np.linalg.solve(features.T @ features + 0.01 * len(features) / 100 * np.eye(features.shape[1]),
                           features.T @ wanted)  # fmt: skip


def _draw(tiles: Tiles, every: Tiles) -> None:
    """Of some tiles a row each: as it is, normalised, jittered, and drawn from the template of all."""
    template = {"RandStainNA": {"template": ar.stain_template(every), "p": 1.0}}
    rows = []
    for tile in tiles:
        cells = [("tile", tile), ("normalised", _through(_NORMALIZERS["StainNormalize, macenko"], [tile])[0])]
        cells += [(f"jitter {k + 1}", _through([_STRONG], [tile], k)[0]) for k in range(2)]
        rows.append([*cells, *((f"template {k + 1}", _through([template], [tile], k)[0]) for k in range(2))])
    write_cells(DOCS / "stains.jpg", "Tissue of two laboratories", rows)


if __name__ == "__main__":
    main()
