"""Small detection sets, and writers for every annotation format that augrecipes reads."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from augrecipes.errors import DataError
from augrecipes.recipe.model import Recipe
from augrecipes.recipe.parse import parse_text
from augrecipes.sources.annotations.records import AnnotationOptions
from augrecipes.sources.annotations.table import table_of_annotations
from augrecipes.sources.columns import Columns
from augrecipes.sources.defects import Findings

CLASSES = ("ape", "bee", "cat & dog", "élan")
Corners = tuple[float, float, float, float]


@dataclass(frozen=True)
class Thing:
    """An object: class, box corners in px, polygon (default: the box), and whether it is flagged crowd or difficult."""

    label: str
    corners: Corners
    outline: tuple[float, ...] = ()
    flagged: bool = False

    @property
    def polygon(self) -> list[float]:
        x1, y1, x2, y2 = self.corners
        return list(self.outline) or [x1, y1, x2, y1, x2, y2, x1, y2]


@dataclass(frozen=True)
class Picture:
    """An image: its name, size in px, and objects."""

    name: str
    width: int
    height: int
    things: tuple[Thing, ...] = ()


@dataclass(frozen=True)
class Set:
    """A detection set: images in the order of their names, and the classes."""

    pictures: tuple[Picture, ...]
    classes: tuple[str, ...] = CLASSES
    polygons: bool = False


def draw(folder: Path, images: Sequence[Picture]) -> None:
    """Write the images, each in a grey of its own."""
    for k, image in enumerate(images):
        path = folder / image.name
        path.parent.mkdir(parents=True, exist_ok=True)
        assert cv2.imwrite(str(path), np.full((image.height, image.width, 3), 7 * k % 256, np.uint8))


def coco(folder: Path, given: Set) -> Path:
    """Write instances.json, with gaps in its ids and annotations before images, and a folder of images."""
    draw(folder / "images", given.pictures)
    ids = {name: 7 * k + 3 for k, name in enumerate(given.classes)}
    annotations = [
        {
            "id": 1000 + 3 * j + 100 * k,
            "image_id": 11 * k + 5,
            "category_id": ids[thing.label],
            "bbox": [*thing.corners[:2], thing.corners[2] - thing.corners[0], thing.corners[3] - thing.corners[1]],
            "iscrowd": int(thing.flagged),
            **({"segmentation": [thing.polygon]} if given.polygons else {}),
        }
        for k, image in enumerate(given.pictures)
        for j, thing in enumerate(image.things)
    ]
    said = {
        "info": {"year": 2017, "list": [{}]},
        "annotations": annotations,
        "images": [
            {"id": 11 * k + 5, "file_name": p.name, "width": p.width, "height": p.height}
            for k, p in enumerate(given.pictures)
        ],
        "categories": [{"id": number, "name": name} for name, number in reversed(ids.items())],
    }
    path = folder / "instances.json"
    path.write_text(json.dumps(said), encoding="utf-8")
    return path


def yolo(folder: Path, given: Set) -> Path:
    """Write data.yaml, images/train and labels/train, without flagged objects, since the format has no flags."""
    draw(folder / "images" / "train", given.pictures)
    for picture in given.pictures:
        lines = []
        for thing in picture.things:
            if thing.flagged:
                continue
            x1, y1, x2, y2 = thing.corners
            values = [(x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1]
            shares = thing.polygon if given.polygons else values
            sizes = (picture.width, picture.height)
            text = " ".join(repr(value / sizes[k % 2]) for k, value in enumerate(shares))
            lines.append(f"{given.classes.index(thing.label)} {text}\n")
        path = folder / "labels" / "train" / f"{picture.name.rpartition('.')[0]}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        if lines or len(picture.name) % 2:  # some images without objects have an empty file, others none
            path.write_text("".join(lines), encoding="utf-8")
    names = "".join(f"  {k}: {json.dumps(name)}\n" for k, name in enumerate(given.classes))
    path = folder / "data.yaml"
    path.write_text(f"path: .\ntrain: images/train\nval: images/train\nnames:\n{names}", encoding="utf-8")
    return path


def voc(folder: Path, given: Set) -> Path:
    """Write Annotations/*.xml and JPEGImages."""
    draw(folder / "JPEGImages", given.pictures)
    for picture in given.pictures:
        things = "".join(
            f"<object><name>{_text(thing.label)}</name><pose>Left</pose><truncated>0</truncated>"
            f"<difficult>{int(thing.flagged)}</difficult><bndbox>"
            + "".join(f"<{s}>{v!r}</{s}>" for s, v in zip(("xmin", "ymin", "xmax", "ymax"), thing.corners, strict=True))
            + "</bndbox></object>\n"
            for thing in picture.things
        )
        path = folder / "Annotations" / f"{picture.name.rpartition('.')[0]}.xml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            f"<annotation>\n<folder>x</folder><filename>{_text(picture.name.rpartition('/')[2])}</filename>\n"
            f"<size><width>{picture.width}</width><height>{picture.height}</height><depth>3</depth></size>\n"
            f"{things}</annotation>\n",
            encoding="utf-8",
        )
    return folder / "Annotations"


def labelme(folder: Path, given: Set) -> Path:
    """Write a JSON file beside each image, and labels.txt."""
    draw(folder / "set", given.pictures)
    for picture in given.pictures:
        shapes = [
            {
                "label": thing.label,
                "points": np.reshape(thing.polygon, (-1, 2)).tolist() if given.polygons else _two(thing.corners),
                "group_id": None,
                "shape_type": "polygon" if given.polygons else "rectangle",
                "flags": {"difficult": True} if thing.flagged else {},
            }
            for thing in picture.things
        ]
        said = {
            "version": "5.4.1", "flags": {}, "shapes": shapes, "imagePath": picture.name.rpartition("/")[2],
            "imageData": None, "imageHeight": picture.height, "imageWidth": picture.width,
        }  # fmt: skip
        path = folder / "set" / f"{picture.name.rpartition('.')[0]}.json"
        path.write_text(json.dumps(said), encoding="utf-8")
    names = "".join(f"{name}\n" for name in given.classes)
    (folder / "set" / "labels.txt").write_text(f"__ignore__\n_background_\n{names}", encoding="utf-8")
    return folder / "set"


WRITERS: dict[str, Callable[[Path, Set], Path]] = {"coco": coco, "yolo": yolo, "voc": voc, "labelme": labelme}
OUTLINED = ("coco", "yolo", "labelme")  # formats with polygons


def _text(name: str) -> str:
    return name.replace("&", "&amp;").replace("<", "&lt;")


def _two(corners: Corners) -> list[list[float]]:
    return [list(corners[:2]), list(corners[2:])]


def random_set(seed: int, *, polygons: bool = False, wild: bool = True, flagged: bool = True) -> Set:
    """Draw a random set; `wild` boxes may reach outside the image, lie outside, or be empty."""
    rng = np.random.default_rng(seed)
    images = []
    for k in range(int(rng.integers(2, 6))):
        width, height = (int(v) for v in rng.integers(8, 70, 2))
        folder = "b/" if rng.random() < 0.3 else "a" if rng.random() < 0.1 else ""
        name = f"{folder}{k:02}{'é' if rng.random() < 0.2 else ''}{'x' * int(rng.integers(2))}.png"
        things = tuple(_thing(rng, width, height, polygons, wild, flagged) for _ in range(int(rng.integers(0, 5))))
        images.append(Picture(name, width, height, things))
    if all(thing.flagged for image in images for thing in image.things):  # some formats omit flagged objects
        width, height = images[0].width, images[0].height
        things = (_thing(rng, width, height, polygons, wild=False, flagged=False),)
        images[0] = Picture(images[0].name, width, height, things)
    images.sort(key=lambda image: image.name.encode())
    return Set(tuple(images), polygons=polygons)


def _thing(rng: np.random.Generator, width: int, height: int, polygons: bool, wild: bool, flagged: bool) -> Thing:
    label = CLASSES[int(rng.integers(len(CLASSES)))]
    marked = flagged and bool(rng.random() < 0.15)
    spread = 0.5 if wild else 0.0
    x, y = (rng.uniform(-spread, 1 + spread, 2) * size for size in (width, height))
    if rng.random() < 0.5:
        x, y = np.round(x), np.round(y)
    if polygons:
        n = int(rng.integers(3, 8))
        xs = rng.uniform(0, width, n) if not wild else rng.uniform(-0.2, 1.2, n) * width
        ys = rng.uniform(0, height, n) if not wild else rng.uniform(-0.2, 1.2, n) * height
        outline = tuple(float(round(v, 2)) for pair in zip(xs, ys, strict=True) for v in pair)
        box = (min(outline[::2]), min(outline[1::2]), max(outline[::2]), max(outline[1::2]))
        return Thing(label, box, outline, marked)
    corners = (float(min(x)), float(min(y)), float(max(x)), float(max(y)))
    if not wild and (corners[2] - corners[0] < 1 or corners[3] - corners[1] < 1):
        corners = (0.0, 0.0, float(width), float(height))
    return Thing(label, corners, (), marked)


def recipe(boxes: str = "", *, keypoints: str = "", mask: str = "absent", steps: str = "[NoOp]") -> Recipe:
    lines = [f"mask: {mask}"]
    lines += [f"boxes: {{format: {boxes}, labels: kinds}}"] if boxes else []
    lines += [f"keypoints: {{{keypoints}}}"] if keypoints else []
    text = f"version: 1\nrecipe: test\ninputs: {{{', '.join(lines)}}}\nsteps: {steps}\neval: derived\n"
    return parse_text(text)


def listed(path: Path, made: Recipe | None = None, **options: Any) -> Columns:
    """Read annotations into columns as a dataset does, without its log."""
    found = Findings()
    table = table_of_annotations(path, AnnotationOptions((made or recipe("pascal_voc")).inputs, **options), found)
    found.refuse()
    return table


Files = dict[str, Any]  # file contents by name: text, JSON or bytes; None stands for an image of 40×30
SQUARE = [[2, 2], [9, 2], [9, 9], [2, 9]]
SIDES = ("xmin", "ymin", "xmax", "ymax")
A, B = Picture("a.png", 40, 30), Picture("b.png", 40, 30)


def write(path: Path, text: str | dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8")
    return path


def of_coco(*entries: Any, image: Any = None, **more: Any) -> Files:
    """Return the files of a COCO set with one image and these annotations."""
    said = [{"id": k, "image_id": 9, "category_id": 1, **entry} for k, entry in enumerate(entries, 1)]
    image = {"id": 9, "file_name": "a.png", "width": 40, "height": 30} | (image or {})
    content = {"images": [image], "categories": [{"id": 1, "name": "person"}], "annotations": said}
    return {"a.png": None, "i.json": content | more}


def of_labelme(*shapes: Any, **more: Any) -> Files:
    """Return the files of a labelme set with one image and these shapes, by default squares."""
    made = [{"label": "a", "shape_type": "polygon", "points": SQUARE, **shape} for shape in shapes]
    return {"a.png": None, "i.json": {"shapes": made, "imagePath": "a.png", "imageWidth": 40, "imageHeight": 30} | more}


def of_yolo(*lines: str, about: str = "names: [a]", images: str = "images") -> Files:
    """Return the files of a YOLO set with one image and these lines of labels."""
    return {"images/a.png": None, "labels/a.txt": "\n".join(lines), "data.yaml": f"train: {images}\n{about}\n"}


def xml(name: str, objects: str = "", *, image: str = "a.png") -> str:
    """Return the XML of Pascal VOC with a box, or with other objects."""
    sides = "".join(f"<{side}>{value}</{side}>" for side, value in zip(SIDES, (1, 1, 9, 9), strict=True))
    objects = objects or f"<object><name>{name}</name><bndbox>{sides}</bndbox></object>"
    return f"<annotation><filename>{image}</filename>{objects}</annotation>"


def laid(folder: Path, files: Files, path: str) -> Path:
    """Write a set into a folder, and return the path that a user passes."""
    for name, content in files.items():
        if content is None:
            draw(folder, [Picture(name, 40, 30)])
        elif isinstance(content, bytes):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        else:
            write(folder / name, content)
    return folder / path


def instances(folder: Path, *annotations: dict[str, Any], **more: Any) -> Path:
    """Write a COCO set with one image and these annotations, and return its JSON file."""
    return laid(folder, of_coco(*annotations, **more), "i.json")


def refused(path: Path, *words: str, **options: Any) -> None:
    with pytest.raises(DataError) as caught:
        listed(path, options.pop("recipe", recipe("pascal_voc")), **options)
    for word in words:
        assert word in str(caught.value)


def rows(path: Path, **options: Any) -> list[list[float]]:
    table = listed(path, options.pop("recipe", recipe("pascal_voc")), **options)
    return [row for k in range(len(table)) for row in table.boxes.rows(k).tolist()]


def notes(path: Path, made: Recipe, **options: Any) -> str:
    """Return the notes on annotations that a dataset logs."""
    found = Findings()
    table_of_annotations(path, AnnotationOptions(made.inputs, **options), found)
    found.refuse()
    return "\n".join(found.notes)
