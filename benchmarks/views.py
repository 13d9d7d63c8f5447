"""Views of JPEGs for self-supervised training: DINO's two large and eight small crops, and SimCLR's two.

python benchmarks/views.py            prints
python benchmarks/views.py --write    prints, and writes its section of benchmarks/RESULTS.md

The peers are torchvision's transforms, as DINO's own program has them, and those of lightly, where they are installed.
"""

from __future__ import annotations

import io
import random
import sys
import types
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import cv2
import torch
from harness import Row, in_turns, run
from PIL import Image, ImageFilter
from workloads import photos

import augrecipes as ar
from augrecipes.images.encoded import encoded

_METHOD = """\
From the bytes of a JPEG of 500×375 to normalised tensors, one thread each, in turns; ratios are medians over rounds.
Ours is `ar.load(NAME).compile().at(k)(image=...)`, which crops with linear interpolation; the peers open the bytes with
Pillow, once for all views, and crop with its bicubic interpolation."""
_GOAL = 2.5
Make = Callable[[bytes], object]


class _Blur:
    """DINO's blur: Pillow's, of a radius from 0.1 to 2."""

    def __init__(self, p: float) -> None:
        self._p = p

    def __call__(self, image: Any) -> Any:
        blurred = ImageFilter.GaussianBlur(radius=random.uniform(0.1, 2))
        return image.filter(blurred) if random.random() < self._p else image


def _torchvision() -> dict[str, Make]:
    sys.modules.setdefault("torchvision._meta_registrations", types.ModuleType("none"))  # operators that are not used
    from torchvision import transforms as T

    def view(size: int, scale: tuple[float, float], jitter: Any, *after: Any) -> Any:
        crop = T.RandomResizedCrop(size, scale, interpolation=Image.BICUBIC)
        colours = [T.RandomApply([T.ColorJitter(*jitter)], 0.8), T.RandomGrayscale(0.2)]
        last = [T.ToTensor(), T.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))]
        return T.Compose([crop, T.RandomHorizontalFlip(0.5), *colours, *after, *last])

    mild, strong = (0.4, 0.4, 0.2, 0.1), (0.8, 0.8, 0.8, 0.2)
    dino = [view(224, (0.4, 1), mild, _Blur(1.0)), view(224, (0.4, 1), mild, _Blur(0.1), T.RandomSolarize(128, 0.2))]
    dino += [view(96, (0.05, 0.4), mild, _Blur(0.5))] * 8
    simclr = [view(224, (0.08, 1), strong, T.RandomApply([T.GaussianBlur(23, (0.1, 2.0))], 0.5))] * 2
    return {"dino-multicrop": partial(_each, dino), "simclr": partial(_each, simclr)}


def _each(views: list[Any], data: bytes) -> list[Any]:
    image = _opened(data)
    return [view(image) for view in views]


def _lightly() -> dict[str, Make]:
    import lightly_utils  # noqa: F401 - what its transforms need
    from lightly.transforms.dino_transform import DINOTransform
    from lightly.transforms.simclr_transform import SimCLRTransform

    dino, simclr = DINOTransform(n_local_views=8), SimCLRTransform(input_size=224)
    return {"dino-multicrop": lambda data: dino(_opened(data)), "simclr": lambda data: simclr(_opened(data))}


def _opened(data: bytes) -> Any:
    return Image.open(io.BytesIO(data)).convert("RGB")


def _views(options: Any) -> Iterator[Row | str]:
    torch.set_num_threads(1)
    cv2.setNumThreads(1)
    files = [cv2.imencode(".jpg", photo[..., ::-1])[1].tobytes() for photo in photos(375, 500)[:16]]
    for peer, made in (("torchvision", _torchvision), ("lightly", _lightly)):
        try:
            peers = made()
        except (ImportError, RuntimeError) as error:
            yield f"{peer} is not measured: {error}"
            continue
        for name, theirs in peers.items():
            pipeline = ar.load(name).compile(seed=0)

            def ours(pipeline: Any = pipeline) -> None:
                for k, data in enumerate(files):
                    pipeline.at(k)(image=encoded(data, name=f"{k}.jpg"))

            def other(theirs: Make = theirs) -> None:
                for data in files:
                    theirs(data)

            pair = in_turns(ours, other, 3 if options.quick else 21)
            yield pair.rates(f"{name}, 500×375", peer, len(files), _GOAL)


if __name__ == "__main__":
    run(__file__, __doc__, "Views", _METHOD, {"views": _views})
