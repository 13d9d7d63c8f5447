"""Documents that are nearly recipes: whole ones of every kind, with something put in, taken out or replaced."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import yaml

from augrecipes.recipe import grammar

Path = tuple[str | int, ...]

# Between them they have every key of the language.
WHOLE = [
    yaml.safe_load(text)
    for text in (
        """
version: 1
recipe: every-key
about: Words.
kind: image
optimize: fast
max_bytes: 2000000000
plugins: []
inputs:
  image: {channels: 3, min_size: [64, 64]}
  mask: required
  boxes: {format: coco, labels: null, min_area: 4, min_visibility: 0.1, min_width: 2, min_height: 3, clip: true,
          presence: optional}
  keypoints: {format: yx, labels: names, remove_invisible: false, presence: required}
steps:
  - Rotate: {limit: [-20, 20], border_mode: reflect_101, p: 0.5, id: turn}
  - HorizontalFlip
  - OneOf: {p: 0.3, steps: [{Blur: {blur_limit: 5, p: 1.0}}, {SomeOf: {n: 1, replace: true, steps: [D4]}}]}
  - RandomOrder: {n: 1, steps: [{Sequential: {steps: [ToGray]}}]}
eval: derived
output: {dtype: float16, layout: hwc, normalize: {mean: [0.5, 0.4, 0.3], std: 0.2}, color: bgr, where: device}
""",
        """
version: 1
recipe: pairs
kind: pair
scales: {lr: 1, hr: 4}
allow_resampling: true
inputs: {image: {channels: 3}, hr: {min_size: [400, 400]}}
steps:
  - RandomCrop: {height: 48, width: 48, at: lr}
  - Degrade:
      source: hr
      target: lr
      id: made
      steps: [{GaussianBlur: {p: 1.0}}, {ResizeToTarget: {method: area}}]
  - GaussNoise: {target: [lr, hr], p: 0.5}
eval: []
output: {range: [0, 255], lr: {dtype: uint8}}
""",
        """
version: 1
recipe: 12
kind: bag
inputs: {mask: absent, boxes: absent, keypoints: absent}
bag: {max_tiles: 10, min_tiles: 1, pick: stride}
steps: [{ColorJitter: {brightness: 0.1, share: bag}}]
eval: [{CenterCrop: {height: 64, width: 64}}]
output: {normalize: imagenet, color: rgb}
""",
        "{version: 1, extends: folder-128, set: {RandomCrop.height: 64}, without: [HorizontalFlip], recipe: variant}",
        "{version: 1, recipe: short, inputs: {boxes: coco, keypoints: xy}, steps: [NoOp], output: {normalize: none}}",
    )
]

VALUES: list[Any] = [
    None, True, False, 0, 1, 2, -1, 3, 0.5, 1.0, 1.5, 64, 70, 1000, "", "x", "1", "no", "lr", "My Name", "derived",
    "imagenet",
    "optional", "none", "D4", [], [0], [0, 1], [0, 255], [3, 9], [64, 64], [64, 64, 64], [0.0, 0.2, 0.5], ["lr", "lr"],
    ["D4"], {}, {"p": 0.5}, {"D4": None}, {"mean": 0.5, "std": 0}, {"mean": [], "std": 1}, {"lr": 1}, {"lr": {}},
]  # fmt: skip
_SECTIONS = (grammar.TOP, grammar.INPUTS, grammar.IMAGE, grammar.BOXES, grammar.KEYPOINTS, grammar.OUTPUT, grammar.BAG)
NAMES = sorted(
    {key for section in (*_SECTIONS, *grammar.GROUPS.values(), grammar.DEGRADE) for key in section["properties"]}
    | {"odd", "lr", "hr", "D4", "Crop", "limit", "fill"}
)


def places(value: Any, here: Path = ()) -> Iterator[Path]:
    """Every place of a document, from the outside inwards."""
    yield here
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*here, key))


def values(document: Any) -> Iterator[Any]:
    """Every value of a document, from the outside inwards."""
    return (at(document, path) for path in places(document))


def at(document: Any, path: Path) -> Any:
    """What stands at a place."""
    for key in path:
        document = document[key]
    return document


def edits(value: Any) -> list[Any]:
    """What may stand in place of a value; `...`: nothing."""
    found = [..., *VALUES, [value], str(value), {"odd": value}]
    if isinstance(value, int | float):
        found += [-value, value + 0.5, float(value), value * 1000]
    if isinstance(value, list):
        found += [value[::-1], value[:-1], [*value, *value[:1]]]
    if isinstance(value, dict):
        found += [{key: part for key, part in value.items() if key != gone} for gone in value]
        found += [{**value, name: new} for name in NAMES if name not in value for new in (None, 1, "x", {})]
        found += [{f"{key}s" if key == old else key: part for key, part in value.items()} for old in value]
    return found


def edited(document: Any, path: Path, value: Any) -> Any:
    """The document with something else at one place."""
    if not path:
        return {} if value is ... else value
    fresh = copy.deepcopy(document)
    parent = at(fresh, path[:-1])
    if value is ...:
        del parent[path[-1]]
    else:
        parent[path[-1]] = value
    return fresh
