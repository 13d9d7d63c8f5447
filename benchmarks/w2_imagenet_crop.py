"""W2: JPEGs of 500×375 in memory, random-resized-crop 224, flip, normalise: ours and every peer.

python benchmarks/w2_imagenet_crop.py                    prints
python benchmarks/w2_imagenet_crop.py --write            prints, and writes its section of benchmarks/RESULTS.md
python benchmarks/w2_imagenet_crop.py --photos FOLDER    takes photographs from there instead of drawn ones
"""

from __future__ import annotations

from peers import AHEAD
from photographs import compare_photos
from workloads import ResizedCrops

_GOALS = {
    "augrecipes, `fast`": AHEAD | {"albumentations, on cv2": 1.35},
    "augrecipes, `exact`": {"albumentations, on cv2": 1.35},
    "augrecipes, `fast`, a batch at once": AHEAD | {"albumentations, on simplejpeg": 1.6},
}


def main() -> None:
    compare_photos(
        __file__,
        __doc__,
        title="W2: random resized crops of JPEGs",
        workload=ResizedCrops,
        recipe="imagenet-train",
        size=(375, 500),
        out=224,
        optimize=("fast", "exact"),
        goals=_GOALS,
    )


if __name__ == "__main__":
    main()
