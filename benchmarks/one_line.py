"""One line around pipelines of other libraries: `ar.accelerate(transform)` compared with the transform as it was.

python benchmarks/one_line.py             prints; what is not installed is left out
python benchmarks/one_line.py --write     prints, and writes the section `one_line` of benchmarks/RESULTS.md
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import version
from typing import Any

import torch
from harness import Row, in_turns, run
from PIL import Image
from workloads import photos

import augrecipes as ar

_MEAN, _STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
_METHOD = """\
Whole calls in a plain loop, one thread, both sides in one process, in turns: a PIL image of 500×375 in, a normalised
tensor of 224×224 out. Medians; a ratio is the median over the turns, and above 1 augrecipes is the faster. Each side
makes its own draws. Evaluations keep the resize and the crop of torchvision, pixel for pixel."""


def _torchvision(module: str) -> dict[str, Any]:
    """Pipelines for classification, by what they are for."""
    library = import_module(f"torchvision.transforms{module}")
    tensor = [library.ToTensor()] if not module else [library.ToImage(), library.ToDtype(torch.float32, scale=True)]
    end, start = (
        [*tensor, library.Normalize(_MEAN, _STD)],
        [library.RandomResizedCrop(224), library.RandomHorizontalFlip()],
    )
    jitter = library.ColorJitter(0.4, 0.4, 0.4, 0.1)
    views = [
        library.RandomApply([jitter], p=0.8),
        library.RandomGrayscale(p=0.2),
        library.RandomApply([library.GaussianBlur(23)], p=0.5),
    ]
    steps = {
        "crop and flip": [*start, *end],
        "with ColorJitter and RandomErasing": [*start, jitter, *end, library.RandomErasing(p=0.25)],
        "with TrivialAugmentWide": [*start, library.TrivialAugmentWide(), *end],
        "of SimCLR": [*start, *views, *end],
        "evaluation": [library.Resize(256), library.CenterCrop(224), *end],
    }
    return {name: library.Compose(each) for name, each in steps.items()}


def _timm() -> dict[str, Any]:
    make = import_module("timm.data").create_transform
    return {
        "training": make(224, is_training=True),
        "training, 3a": make(224, is_training=True, auto_augment="3a"),
        "evaluation": make(224, is_training=False),
    }


def _rows(options: Any, library: str, made: Any, *arguments: str) -> Iterator[Row | str]:
    try:
        pipelines = made(*arguments)
    except (ImportError, RuntimeError) as error:
        yield f"{library}: left out ({error})."
        return
    image = Image.fromarray(photos(375, 500)[0])
    yield f"{library}: {version(library.partition(' ')[0])}"
    for name, plain in pipelines.items():
        for optimize in ("exact", "fast"):
            ours = ar.accelerate(plain, optimize, seed=0)  # type: ignore[arg-type]
            turns = 3 if options.quick else 60
            pair = in_turns(lambda ours=ours: ours(image), lambda plain=plain: plain(image), turns, 5)
            yield pair.row(f"{library}, {name}, {optimize}", "as it was", 0.95)


if __name__ == "__main__":
    logging.getLogger("augrecipes").setLevel(logging.ERROR)
    parts = {
        "torchvision": lambda options: _rows(options, "torchvision", _torchvision, ""),
        "torchvision v2": lambda options: _rows(options, "torchvision v2", _torchvision, ".v2"),
        "timm": lambda options: _rows(options, "timm", _timm),
    }
    run(__file__, __doc__, "One line around what others have", _METHOD, parts)
