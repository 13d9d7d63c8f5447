"""Detection sets of 10,000 images and a million boxes: how long listing takes, and how much memory.

python benchmarks/annotations.py            prints
python benchmarks/annotations.py --write    prints, and writes the section `annotations` of benchmarks/RESULTS.md
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from math import cos, pi, sin
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import cv2
import numpy as np
from harness import Row, child, memory, met, run

from augrecipes.recipe.parse import parse_text
from augrecipes.sources.annotations.records import AnnotationOptions
from augrecipes.sources.annotations.table import table_of_annotations
from augrecipes.sources.defects import Findings

_SIZE, _EACH, _CLASSES = (640, 480), 100, 80
_SECONDS, _MB = 30, 200
_METHOD = f"""\
10,000 images of {_SIZE[0]}×{_SIZE[1]} px (empty PNGs) with {_EACH} boxes each, or polygons of 12 corners; files in the
page cache. Each set is listed once, in a process of its own, for a recipe that takes boxes in px (`pascal_voc`) where
the row says nothing else. Goals are for CPU time. Memory is the highest that is resident while listing, less what was
resident before."""
_BOXES = "boxes: {format: pascal_voc, labels: kinds}, mask: absent"


def _listing(title: str, write: Callable[[Path, int], Path], inputs: str, options: Any) -> Iterator[Row]:
    count = 500 if options.quick else 10_000
    (options.folder / "images").mkdir()
    data = cv2.imencode(".png", np.zeros((_SIZE[1], _SIZE[0], 3), np.uint8))[1].tobytes()
    for k in range(count):
        (options.folder / "images" / f"{k:06}.png").write_bytes(data)
    found, seconds, busy, mb = child(__file__, "list", write(options.folder, count), inputs)
    if found != count * _EACH:
        raise SystemExit(f"{title}: {found:,.0f} boxes of {count * _EACH:,}")
    ours = f"{busy:.1f} s of CPU ({seconds:.1f} s), {mb:.0f} MB"
    yield Row(title, ours, f"goal < {_SECONDS} s, {_MB} MB", met(busy < _SECONDS and mb < _MB))


def _listed(path: str, inputs: str) -> tuple[float, ...]:
    """Boxes or polygons, seconds, CPU seconds, and MB at the most."""
    recipe = parse_text(f"version: 1\nrecipe: list\ninputs: {{{inputs}}}\nsteps: [NoOp]\n")
    before = memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the highest so far begins anew
    start, busy = perf_counter(), process_time()
    table = table_of_annotations(path, AnnotationOptions(recipe.inputs), Findings())
    found = table.outlines if table.boxes is None else table.boxes
    return len(found.values), perf_counter() - start, process_time() - busy, memory("VmHWM") - before


def _things(k: int) -> list[tuple[int, list[float], list[float]]]:
    """Class, box and twelve corners of the objects of an image, px."""
    rng = np.random.default_rng(k)
    low = rng.uniform(0, 0.7, (_EACH, 2)) * _SIZE
    boxes = np.round(np.hstack([low, low + rng.uniform(0.02, 0.3, (_EACH, 2)) * _SIZE]), 2).tolist()
    circle = np.array([(cos(at * pi / 6), sin(at * pi / 6)) for at in range(12)]) / 2
    found = []
    for label, box in zip(rng.integers(0, _CLASSES, _EACH).tolist(), boxes, strict=True):
        low, high = np.reshape(box, (2, 2))
        found.append((label, box, np.round((low + high) / 2 + circle * (high - low), 2).reshape(-1).tolist()))
    return found


def _coco(root: Path, count: int) -> Path:
    images = [{"id": k, "file_name": f"{k:06}.png", "width": _SIZE[0], "height": _SIZE[1]} for k in range(count)]
    entries = [
        {"id": k * _EACH + n, "image_id": k, "category_id": label, "iscrowd": 0, "area": 1.0, "segmentation": [corners],
         "bbox": [x, y, round(r - x, 2), round(b - y, 2)]}
        for k in range(count) for n, (label, (x, y, r, b), corners) in enumerate(_things(k))
    ]  # fmt: skip
    categories = [{"id": k, "name": f"class {k:02}"} for k in range(_CLASSES)]
    path = root / "instances.json"
    path.write_text(json.dumps({"images": images, "categories": categories, "annotations": entries}))
    return path


def _texts(folder: str, suffix: str, text: Callable[[int], str]) -> Callable[[Path, int], Path]:
    """Writes a file for each image."""

    def write(root: Path, count: int) -> Path:
        (root / folder).mkdir()
        for k in range(count):
            (root / folder / f"{k:06}{suffix}").write_text(text(k))
        return root / folder

    return write


def _yolo(k: int) -> str:
    lines = []
    for label, (x, y, r, b), _ in _things(k):
        values = ((x + r) / 2, (y + b) / 2, r - x, b - y)
        lines.append(f"{label} " + " ".join(f"{v / _SIZE[i % 2]:.6f}" for i, v in enumerate(values)) + "\n")
    return "".join(lines)


def _voc(k: int) -> str:
    things = "".join(
        f"<object><name>class {label:02}</name><bndbox>"
        + "".join(f"<{side}>{v}</{side}>" for side, v in zip(("xmin", "ymin", "xmax", "ymax"), box, strict=True))
        + "</bndbox></object>\n"
        for label, box, _ in _things(k)
    )
    size = f"<size><width>{_SIZE[0]}</width><height>{_SIZE[1]}</height><depth>3</depth></size>"
    return f"<annotation><folder>images</folder><filename>{k:06}.png</filename>{size}\n{things}</annotation>\n"


def _labelme(k: int) -> str:
    shapes = [
        {"label": f"class {label:02}", "points": np.reshape(corners, (-1, 2)).tolist(), "group_id": None,
         "shape_type": "polygon", "flags": {}}
        for label, _, corners in _things(k)
    ]  # fmt: skip
    sizes = {"imageHeight": _SIZE[1], "imageWidth": _SIZE[0]}
    return json.dumps({"shapes": shapes, "imagePath": f"../images/{k:06}.png", "imageData": None, **sizes}, indent=1)


_SETS: dict[str, tuple[Callable[[Path, int], Path], str]] = {
    "COCO with polygons": (_coco, _BOXES),
    "COCO with polygons, for masks": (_coco, "mask: required"),
    "YOLO, boxes in px": (_texts("labels", ".txt", _yolo), _BOXES),
    "Pascal VOC": (_texts("Annotations", ".xml", _voc), _BOXES),
    "labelme with polygons": (_texts("labelme", ".json", _labelme), _BOXES),
}

if __name__ == "__main__":
    parts = {
        title: lambda options, title=title, one=one: _listing(title, *one, options) for title, one in _SETS.items()
    }
    run(__file__, __doc__, "Annotations", _METHOD, parts, children={"list": _listed})
