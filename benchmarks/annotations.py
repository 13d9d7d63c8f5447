"""Ten detection sets of 10,000 pictures and a million boxes: how long listing takes, and how much memory.

python benchmarks/annotations.py            prints
python benchmarks/annotations.py --write    prints, and writes the section `annotations` of benchmarks/RESULTS.md
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from math import cos, pi, sin
from pathlib import Path
from time import perf_counter, process_time
from typing import TextIO

import cv2
import numpy as np
from options import Part, parser, run
from results import Row, met

from augrecipes.recipe.parse import parse_text
from augrecipes.sources.annotations.records import AnnotationOptions
from augrecipes.sources.annotations.table import table_of_annotations
from augrecipes.sources.defects import Findings

_SIZE = 640, 480  # width, height
_COUNT, _EACH, _CLASSES = 10_000, 100, 80
_SECONDS, _MB = 30, 200
_METHOD = f"""\
{_COUNT:,} pictures of {_SIZE[0]}×{_SIZE[1]} px (empty PNGs) with {_EACH} boxes each, or polygons of 12 corners; files
in the page cache. Each set is listed once, in a process of its own, for a recipe that takes boxes in px (`pascal_voc`)
where the row says nothing else. Goals are for CPU time, as the machine had other work to do. Memory is the highest that
is resident while listing, less what was resident before; the table, which is what is left of it, has 24 bytes a box."""
_BOXES = "boxes: {format: pascal_voc, labels: kinds}, mask: absent"
_SHARES = "boxes: {format: yolo, labels: kinds}, mask: absent"
_MASK = "mask: required"


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--list", nargs=2, metavar=("FILE", "INPUTS"), help=argparse.SUPPRESS)
    options = options.parse_args()
    if options.list:
        print(*_listed(*options.list))
        return
    count = 500 if options.quick else _COUNT
    with tempfile.TemporaryDirectory() as name:
        parts: dict[str, Part] = {
            title: lambda title=title, write=write, inputs=inputs: _rows(Path(name), title, write, inputs, count)
            for title, write, inputs in _SETS
        }
        run(__file__, "Annotations", _METHOD, parts, options)


def _rows(root: Path, title: str, write: Callable[[Path, int], Path], inputs: str, count: int) -> Iterator[Row]:
    _pictures(root / "images", count)
    path = write(root, count)
    size = sum(file.stat().st_size for file in ([path] if path.is_file() else path.rglob("*")) if file.is_file())
    command = [sys.executable, __file__, "--list", str(path), inputs]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    boxes, seconds, busy, mb, kept = map(float, done.stdout.split())
    expected = count * _EACH
    if boxes != expected:
        raise SystemExit(f"{title}: {boxes:,.0f} boxes of {expected:,}")
    ours = f"{busy:.1f} s of CPU ({seconds:.1f} s), {mb:.0f} MB"
    goal = met(busy < _SECONDS and mb < _MB)
    beside = f"goal < {_SECONDS} s, {_MB} MB; files of {size / 1e6:.0f} MB, a table of {kept:.0f} MB"
    yield Row(title, ours, beside, goal)


def _listed(path: str, inputs: str) -> tuple[float, ...]:
    """Boxes, seconds, CPU seconds, and MB at the most and kept."""
    recipe = parse_text(f"version: 1\nrecipe: list\ninputs: {{{inputs}}}\nsteps: [NoOp]\n")
    before = _memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the highest so far begins anew
    start, busy = perf_counter(), process_time()
    table = table_of_annotations(path, AnnotationOptions(recipe.inputs), Findings())
    seconds, busy = perf_counter() - start, process_time() - busy
    most = _memory("VmHWM") - before
    found, kept = 0, 0
    if table.boxes is not None:
        found, kept = len(table.boxes.values), table.boxes.values.nbytes + table.boxes.offsets.nbytes
        kept += 0 if table.boxes.labels is None else table.boxes.labels.nbytes
    if table.outlines is not None:
        found = len(table.outlines.values)
        kept = sum(memoryview(part).nbytes for part in table.outlines.parts())
    return found, seconds, busy, most / 1e6, kept / 1e6


def _memory(name: str) -> int:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name))
    return int(line.split()[1]) * 1024


def _pictures(folder: Path, count: int) -> None:
    if folder.exists():
        return
    folder.mkdir()
    data = cv2.imencode(".png", np.zeros((_SIZE[1], _SIZE[0], 3), np.uint8))[1].tobytes()
    for k in range(count):
        (folder / f"{k:06}.png").write_bytes(data)


def _things(k: int) -> list[tuple[int, list[float]]]:
    """Class and corners of the objects of a picture, px."""
    rng = np.random.default_rng(k)
    low = rng.uniform(0, 0.7, (_EACH, 2)) * _SIZE
    high = low + rng.uniform(0.02, 0.3, (_EACH, 2)) * _SIZE
    corners = np.round(np.hstack([low, high]), 2)
    return list(zip(rng.integers(0, _CLASSES, _EACH).tolist(), corners.tolist(), strict=True))


_CIRCLE = [(cos(at * pi / 6) / 2, sin(at * pi / 6) / 2) for at in range(12)]


def _polygon(corners: list[float]) -> list[float]:
    """Twelve corners in a box."""
    x1, y1, x2, y2 = corners
    x, y, width, height = (x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1
    return [round(v, 2) for c, s in _CIRCLE for v in (x + c * width, y + s * height)]


def _coco(root: Path, count: int, *, polygons: bool = False) -> Path:
    path = root / ("polygons.json" if polygons else "instances.json")
    if path.exists():
        return path
    with path.open("w") as file:
        images = [{"id": k, "file_name": f"{k:06}.png", "width": _SIZE[0], "height": _SIZE[1]} for k in range(count)]
        categories = [{"id": k, "name": f"class {k:02}"} for k in range(_CLASSES)]
        file.write(f'{{"images": {json.dumps(images)}, "categories": {json.dumps(categories)}, "annotations": [')
        _coco_annotations(file, count, polygons)
        file.write("]}")
    return path


def _coco_annotations(file: TextIO, count: int, polygons: bool) -> None:
    number = 0
    for k in range(count):
        for label, corners in _things(k):
            x, y, right, bottom = corners
            entry = {"id": number, "image_id": k, "category_id": label, "iscrowd": 0, "area": 1.0}
            entry["bbox"] = [x, y, round(right - x, 2), round(bottom - y, 2)]
            if polygons:
                entry["segmentation"] = [_polygon(corners)]
            file.write((", " if number else "") + json.dumps(entry))
            number += 1


def _yolo(root: Path, count: int, *, polygons: bool = False) -> Path:
    if polygons:
        (root / "segments").mkdir()
        (root / "segments" / "images").symlink_to(root / "images")
        root = root / "segments"
    if (root / "labels").exists():
        return root / "labels"
    (root / "labels").mkdir()
    for k in range(count):
        lines = []
        for label, (x, y, right, bottom) in _things(k):
            values = [(x + right) / 2, (y + bottom) / 2, right - x, bottom - y]
            values = _polygon([x, y, right, bottom]) if polygons else values
            lines.append(f"{label} " + " ".join(f"{v / _SIZE[i % 2]:.6f}" for i, v in enumerate(values)) + "\n")
        (root / "labels" / f"{k:06}.txt").write_text("".join(lines))
    return root / "labels"


def _voc(root: Path, count: int) -> Path:
    (root / "Annotations").mkdir()
    for k in range(count):
        things = "".join(
            f"\t<object>\n\t\t<name>class {label:02}</name>\n\t\t<pose>Unspecified</pose>\n"
            "\t\t<truncated>0</truncated>\n\t\t<difficult>0</difficult>\n\t\t<bndbox>\n"
            + "".join(f"\t\t\t<{s}>{v}</{s}>\n" for s, v in zip(("xmin", "ymin", "xmax", "ymax"), corners, strict=True))
            + "\t\t</bndbox>\n\t</object>\n"
            for label, corners in _things(k)
        )
        (root / "Annotations" / f"{k:06}.xml").write_text(
            f"<annotation>\n\t<folder>images</folder>\n\t<filename>{k:06}.png</filename>\n\t<size><width>{_SIZE[0]}</width>"
            f"<height>{_SIZE[1]}</height><depth>3</depth></size>\n{things}</annotation>\n"
        )
    return root / "Annotations"


def _labelme(root: Path, count: int) -> Path:
    (root / "labelme").mkdir()
    for k in range(count):
        shapes = [
            {"label": f"class {label:02}", "points": np.reshape(_polygon(corners), (-1, 2)).tolist(), "group_id": None,
             "shape_type": "polygon", "flags": {}}
            for label, corners in _things(k)
        ]  # fmt: skip
        said = {"version": "5.4.1", "flags": {}, "shapes": shapes, "imagePath": f"../images/{k:06}.png",
                "imageData": None, "imageHeight": _SIZE[1], "imageWidth": _SIZE[0]}  # fmt: skip
        (root / "labelme" / f"{k:06}.json").write_text(json.dumps(said, indent=1))
    return root / "labelme"


_SETS: list[tuple[str, Callable[[Path, int], Path], str]] = [
    ("COCO", _coco, _BOXES),
    ("COCO with polygons", lambda root, count: _coco(root, count, polygons=True), _BOXES),
    ("COCO with polygons, for masks", lambda root, count: _coco(root, count, polygons=True), _MASK),
    ("YOLO, boxes in px", _yolo, _BOXES),
    ("YOLO, boxes in shares", _yolo, _SHARES),
    ("YOLO with polygons", lambda root, count: _yolo(root, count, polygons=True), _BOXES),
    ("Pascal VOC", _voc, _BOXES),
    ("labelme with polygons", _labelme, _BOXES),
]


if __name__ == "__main__":
    main()
