"""Pipelines as people write them, from files to batches, with nothing set: `ar.loader(ds)` compared with torch's.

python benchmarks/as_it_comes.py                      the gallery's recipes of one image
python benchmarks/as_it_comes.py --recipes FOLDER     16 of a folder of recipes that other people published
python benchmarks/as_it_comes.py --write ...          prints, and writes its section of benchmarks/RESULTS.md

A folder is as `wild.py` takes it: recipes (`*.yaml`), and maybe a `pipelines.json` that says how large images are.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import cv2
import numpy as np
import torch
from harness import Pair, Row, in_turns, met, run, times
from torch.utils.data import DataLoader, Dataset
from wild import folder_of_recipes, sizes_in
from workloads import photos, write_noise

import augrecipes as ar
from augrecipes.bench.sides import output_objects
from augrecipes.compat.albumentations import A
from augrecipes.compiler.lowering.lower import lower, transforms_of
from augrecipes.errors import AugrecipesError
from augrecipes.recipe.parse import parse_text

_BATCH, _FILES = 32, 192
_METHOD = f"""\
From files to batches of {_BATCH}, shuffled; an epoch is {_FILES} files, its beginning and end included. Ours is
`ar.loader(ar.ImageFolder(root, recipe), {_BATCH}, shuffle=True)`, with nothing else set. The peer is torch's
DataLoader with 2 workers around `cv2.imread` and an `A.Compose` of the same steps, with `A.Normalize` and
`ToTensorV2`, as their users write it; for pairs of PNGs of 2040×1356, the peer is a plain Dataset around cv2, with
crops of 48 and 192 px, rotated and flipped. Both sides take turns; times are wall time, and ratios are medians over
the rounds. If the machine is shared, read only ratios."""


class Plain(Dataset[Any]):
    """What people write without us."""

    def __init__(self, files: list[Path], read: Callable[[Path], Any]) -> None:
        self.files, self.read = files, read

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> Any:
        return self.read(self.files[index])


def _epochs(ours: Iterable[Any], files: list[Path], read: Callable[[Path], Any], quick: bool, **how: Any) -> Pair:
    peer = DataLoader(Plain(files, read), shuffle=True, num_workers=2, **how)

    def epoch(batches: Iterable[Any]) -> None:
        for _ in batches:
            pass

    return in_turns(lambda: epoch(ours), lambda: epoch(peer), 1 if quick else 5)


def _pipelines(options: Any) -> Iterator[Row]:
    recipes = folder_of_recipes(options.recipes) if options.recipes else [*map(ar.load, ar.gallery_names())]
    alone = [
        one for one in recipes if one.kind == "image" and not (one.inputs.boxes or one.inputs.keypoints or one.batch)
    ]
    count, ratios = min(2 if options.quick else options.count, len(alone)), []
    for k in np.linspace(0, len(alone) - 1, count).round().astype(int).tolist():
        recipe = alone[k]
        size = sizes_in(options.recipes).get(recipe.name, (512, 512)) if options.recipes else (512, 512)
        root = options.folder / f"{size[0]}x{size[1]}"
        root = root if root.exists() else write_noise(root, size, _BATCH if options.quick else _FILES)
        transform = A.Compose([*transforms_of(lower(recipe.steps)[0]), *output_objects(recipe.output), A.ToTensorV2()])

        def read(path: Path, transform: Any = transform) -> Any:
            return transform(image=cv2.cvtColor(cv2.imread(str(path)), cv2.COLOR_BGR2RGB))["image"]

        files = sorted(root.iterdir())
        try:
            ours = ar.loader(ar.ImageFolder(root, recipe, optimize=options.optimize, cache=False), _BATCH, shuffle=True)
            pair = _epochs(ours, files, read, options.quick, batch_size=_BATCH)
        except (AugrecipesError, RuntimeError) as error:  # images that come out in different sizes make no batch
            yield Row(recipe.name, "not measured", str(error).splitlines()[0][:50], "")
            continue
        ratios.append(pair.ratio)
        yield pair.rates(recipe.name, "torch", len(files))
    if ratios:
        yield Row(f"geometric mean of {len(ratios)}", "", "torch, 2 workers", times(geometric_mean(ratios), 3.0))
        yield Row("least", "", "goal ×1.1", f"×{min(ratios):.2f}, {met(min(ratios) >= 1.1)}")


def _pairs(options: Any) -> Iterator[Row]:
    root = options.folder
    for target in ("hr", "lr"):
        (root / target).mkdir()
    for k, image in enumerate(photos(1356, 2040)[:4]):
        for target, one in (("hr", image), ("lr", cv2.resize(image, None, fx=1 / 4, fy=1 / 4))):
            cv2.imwrite(str(root / target / f"{k}-00.png"), one[:, :, ::-1])
            for n in range(1, 16):
                (root / target / f"{k}-{n:02}.png").hardlink_to(root / target / f"{k}-00.png")
    recipe = parse_text(
        "{version: 1, recipe: p, kind: pair, scales: {lr: 1, hr: 4}, "
        "steps: [RandomCrop: {height: 48, width: 48}, D4: {p: 1.0}], eval: []}"
    )
    ours = ar.loader(ar.PairedImages({"hr": root / "hr", "lr": root / "lr"}, recipe), 16, shuffle=True)
    files = sorted((root / "hr").iterdir())
    pair = _epochs(ours, files, read_pair, options.quick, batch_size=16, persistent_workers=True)
    yield pair.rates("pairs of PNGs", "a plain Dataset", len(files), 2.5)


def read_pair(high: Path) -> list[torch.Tensor]:
    """Both images of a pair, decoded whole, cropped at one place, rotated and flipped."""
    images = [cv2.imread(str(path))[:, :, ::-1] for path in (high, high.parent.parent / "lr" / high.name)]
    y, x = (random.randrange(n - 48) for n in images[1].shape[:2])
    turns, flip, made = random.randrange(4), random.random() < 0.5, []
    for image, scale in zip(images, (4, 1), strict=True):
        cut = image[y * scale : (y + 48) * scale, x * scale : (x + 48) * scale]
        cut = np.rot90(cut[:, ::-1] if flip else cut, turns)
        made.append(torch.from_numpy(np.ascontiguousarray(cut.transpose(2, 0, 1))).float() / 255)
    return made


if __name__ == "__main__":
    more = {
        "recipes": {"type": Path, "metavar": "FOLDER", "help": "of recipes of other people"},
        "count": {"type": int, "default": 16, "help": "recipes of the folder (%(default)s)"},
        "optimize": {"default": "fast", "choices": ("none", "exact", "fast")},
    }
    logging.getLogger("augrecipes").setLevel(logging.ERROR)  # other people's recipes are not here for their lints
    run(__file__, __doc__, "As it comes", _METHOD, {"pipelines": _pipelines, "pairs": _pairs}, more=more)
