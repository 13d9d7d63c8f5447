"""W6: pictures of 32², 64² and 128² in memory, padded, cropped, flipped, normalised: ours and every peer.

python benchmarks/w6_small_pictures.py            prints
python benchmarks/w6_small_pictures.py --write    prints, and writes its section of benchmarks/RESULTS.md

What trainings on CIFAR and its kin do: an eighth of black on each side, a random window of the first size, a flip.
Little is left to compute, so the table says what a sample costs that hardly costs anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import cv2
from compare import METHOD, compare
from options import parser, run
from peers import AHEAD, sides_of
from sides import Side, at_once, in_batches, ours
from workloads import Small, photos

_METHOD = f"""\
{METHOD} Batches of 32, of uint8 pictures in memory: drawn photographs of the demo, reduced."""
_GOALS = AHEAD | {"albumentations": 1.0, "torchvision": 1.0}


def main() -> None:
    options = parser(__doc__).parse_args()
    rounds = 15 if options.quick else 101
    parts = {f"W6-{size}": partial(_small, size, rounds) for size in (32, 64, 128)}
    run(__file__, "W6: small pictures", _METHOD, parts, options)


def _small(size: int, rounds: int) -> Iterator[str]:
    pool = [cv2.resize(photo, (size, size), interpolation=cv2.INTER_AREA) for photo in photos(256, 256)]
    work = Small(pool, size, size // 8)
    mine = [
        Side("augrecipes", f"`{level}`", in_batches(ours(work.recipe, level, pool), (3, size, size)))
        for level in ("exact", "none")
    ]
    mine.insert(0, Side("augrecipes", "`exact`, a batch at once", at_once(work.recipe, "exact", pool, (3, size, size))))
    title = f"W6: {size}², {work.pad} px of padding"
    yield compare(title, mine, sides_of(work), rounds=rounds, goals={side.name: _GOALS for side in mine[:2]})


if __name__ == "__main__":
    main()
