"""W5: JPEGs of 800×533 in memory, random window of 256, flip, normalise: ours and every peer.

python benchmarks/w5_random_window.py                    prints
python benchmarks/w5_random_window.py --write            prints, and writes its section of benchmarks/RESULTS.md
python benchmarks/w5_random_window.py --photos FOLDER    takes photographs from there instead of drawn ones
"""

from __future__ import annotations

from peers import AHEAD
from photographs import compare_photos
from workloads import Windows

_GOALS = {
    "augrecipes, `exact`": AHEAD | {"albumentations, on simplejpeg": 1.35},
    "augrecipes, `exact`, a batch at once": AHEAD | {"albumentations, on simplejpeg": 2.0},
}


def main() -> None:
    compare_photos(
        __file__,
        __doc__,
        title="W5: random windows of JPEGs",
        workload=Windows,
        recipe="jpeg-crop-256",
        size=(533, 800),
        out=256,
        optimize=("exact",),
        goals=_GOALS,
    )


if __name__ == "__main__":
    main()
