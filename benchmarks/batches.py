"""What steps of `batch:` add to a batch of 64 samples of 224² px, normalised, from JPEG files and from memory.

python benchmarks/batches.py            prints
python benchmarks/batches.py --write    prints, and writes its section of benchmarks/RESULTS.md
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from harness import Row, in_turns, met, run, settle
from workloads import photos, write_noise

import augrecipes as ar
from augrecipes.data.collate import BatchMixer

_BATCH, _GOAL = 64, 0.10
_METHOD = f"""\
`imagenet-train` with and without a `batch:` section, whole batches of {_BATCH} of `ar.loader` in one thread, in turns.
Files: JPEGs of 500×375. Memory: arrays of 500×375, some of them resized. A step alone acts on a float32 batch in
memory, compared with MixUp's formula in torch. Goal: at most {_GOAL:.0%} of a batch's time."""
_STEPS = ("MixUp", "CutMix")


def _recipe(*batch: str) -> ar.Recipe:
    return ar.load(
        {"version": 1, "recipe": "mixed", "extends": "imagenet-train", "batch": [*batch], "optimize": "fast"}
    )


def _added(options: Any) -> Iterator[Row]:
    settle()
    count = _BATCH if options.quick else 4 * _BATCH
    root = write_noise(options.folder / "jpegs" / "only", (375, 500), count).parent
    pool = photos(375, 500)
    held = [(pool[k % len(pool)], k % 10) for k in range(count)]
    for name in _STEPS:
        for where in ("JPEG files", "memory"):
            plain, mixed = (
                ar.ImageFolder(root, one, layout="classes") if where == "JPEG files" else ar.Samples(held, one)
                for one in (_recipe(), _recipe(name))
            )
            loaders = [
                ar.loader(ds, _BATCH, num_workers=0, collate_fn=ar.collate(ds, classes=10)) for ds in (mixed, plain)
            ]
            pair = in_turns(lambda: [*loaders[0]], lambda: [*loaders[1]], 3 if options.quick else 15)  # noqa: B023
            extra, whole = pair.extra.median, pair.peer.median
            each = 1e3 * _BATCH / count
            yield Row(
                f"{name}, {where}",
                f"{extra / whole:+.1%} ({each * extra:.1f} ± {each * pair.extra.spread:.1f} ms)",
                f"a batch without {each * whole:.0f} ms",
                met(extra / whole <= _GOAL),
            )


def _alone(options: Any) -> Iterator[Row]:
    settle()
    batch = {
        "image": torch.rand(_BATCH, 3, 224, 224),
        "label": torch.from_numpy(np.arange(_BATCH) % 10),
        "index": torch.arange(_BATCH),
        "epoch": torch.zeros(_BATCH, dtype=torch.int64),
    }
    for name in _STEPS:
        mixer = BatchMixer(_recipe(name), 0, 10)
        pair = in_turns(lambda: mixer(batch), lambda: _as_torchvision(batch["image"]), 5 if options.quick else 31)  # noqa: B023
        yield pair.row(f"{name} alone", "MixUp of the batch as torchvision writes it, out of place,")


def _as_torchvision(images: torch.Tensor, share: float = 0.3) -> torch.Tensor:
    return images.mul(share).add_(images.roll(1, 0).mul_(1 - share))


if __name__ == "__main__":
    run(__file__, __doc__, "Batches that are mixed", _METHOD, {"added": _added, "alone": _alone})
