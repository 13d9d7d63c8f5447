"""W1: tiles of tissue in memory, rotated, cropped, resized, flipped, their colours jittered: ours and every peer.

python benchmarks/w1_tissue_tiles.py            prints
python benchmarks/w1_tissue_tiles.py --write    prints, and writes its section of benchmarks/RESULTS.md

The article trains on bags of 512×512 tiles: rotate by up to 25°, random-resized-crop to 512 (scale 0.5 to 1, ratio 0.8
to 1.2), resize to 224, flip both ways, jitter brightness, contrast, saturation and hue (0.2, 0.1, 0.05, 0.02), and
normalise to float32 C×H×W. W1b is the same from 1024 to 256; W1s varies the stains of tiles of 224 instead.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from compare import METHOD, compare
from options import parser, run
from peers import AHEAD, sides_of
from sides import Side, at_once, in_batches, ours
from workloads import Stains, Tiles, tissue

from augrecipes.recipe.parse import parse_text

# The least ratios beside peers.
_FAST = {"W1": {"albumentations": 10.0, "torchvision, on PIL images": 25.0}, "W1b": {"albumentations": 13.0}}
_WHOLE = {"W1": {"albumentations": 15.0}, "W1b": {"albumentations": 17.0}}
_EXACT = {"W1": {"albumentations": 1.5}}
_STAIN = {"albumentations, HEStain, random preset": 40.0}
_METHOD = f"""\
{METHOD} Batches of 32, of uint8 tiles in memory, more of them than the caches hold; drawn tissue of the demo. Libraries
that cannot reflect at the border fill bare corners with the tiles' mean colour, or with the border (DALI). The jitters
of stains are different transformations: of these only shape, dtype and range are compared."""
_STAINS = "version: 1\nrecipe: stain\nsteps: [StainJitter: {p: 1.0}]\neval: []\noutput: {dtype: uint8, layout: hwc}\n"


def main() -> None:
    options = parser(__doc__).parse_args()
    rounds = 3 if options.quick else 15
    parts = {
        "W1": lambda: _stained("W1", 512, 224, rounds),
        "W1b": lambda: _stained("W1b", 1024, 256, rounds),
        "W1s": lambda: _stains(rounds),
    }
    run(__file__, "W1: tiles of tissue", _METHOD, parts, options)


def _stained(name: str, size: int, out: int, rounds: int) -> Iterator[str]:
    work = Tiles(tissue(size), size, out)
    shape = (3, out, out)
    fast, exact, none = (
        Side("augrecipes", f"`{optimize}`", in_batches(ours(work.recipe, optimize, work.pool), shape))
        for optimize in ("fast", "exact", "none")
    )
    whole = Side("augrecipes", "`fast`, a batch at once", at_once(work.recipe, "fast", work.pool, shape))
    others = itertools.chain([none], sides_of(work))
    title = f"{name}: tissue, {size} → {out}"
    goals = {whole.name: AHEAD | _WHOLE[name], fast.name: AHEAD | _FAST[name], exact.name: _EXACT.get(name, {})}
    yield compare(title, [whole, fast, exact], others, rounds=rounds, goals=goals)


def _stains(rounds: int) -> Iterator[str]:
    work = Stains([np.ascontiguousarray(tile[:224, :224]) for tile in tissue(512)])
    sample = ours(parse_text(_STAINS, root=None), "fast", work.pool)
    side = Side("augrecipes", "`fast`", in_batches(sample, (224, 224, 3), np.uint8), "uint8 H×W×C")
    yield compare("W1s: stains of 224²", [side], sides_of(work), rounds=rounds, goals={side.name: _STAIN}, loose=4)


if __name__ == "__main__":
    main()
