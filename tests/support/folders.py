"""Small folders of images, pairs and bags; and tar archives, some with malformed headers."""

import io
import json
import random
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.recipe.model import Recipe
from augrecipes.recipe.parse import parse_text

RECIPE = """
version: 1
recipe: test
inputs: {mask: optional, boxes: {format: pascal_voc, labels: box_labels}, keypoints: {format: xy}}
steps:
  - RandomCrop: {height: 24, width: 20}
  - HorizontalFlip
  - VerticalFlip
  - RandomBrightnessContrast
eval:
  - CenterCrop: {height: 24, width: 20}
"""


def draw(path: Path, seed: int, size: tuple[int, int] = (32, 28)) -> Path:
    """Write an image of noise, and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    noise = np.random.default_rng(seed).integers(0, 256, (*size, 3), dtype=np.uint8)
    assert cv2.imwrite(str(path), noise)
    return path


def class_folders(root: Path, classes: Sequence[str] = ("cat", "dog", "emu"), each: int = 4) -> Path:
    """Write a folder of class folders, and return it."""
    for k, name in enumerate(classes):
        for i in range(each):
            draw(root / name / f"{i}.png", seed=100 * k + i)
    return root


BAGS = """
version: 1
recipe: test-bags
kind: bag
bag: {max_tiles: 4}
steps:
  - RandomCrop: {height: 12, width: 10}
  - D4: {p: 1.0, id: turn, share: bag}
  - HorizontalFlip
  - RandomBrightnessContrast: {p: 1.0}
  - Resize: {height: 12, width: 10}
eval:
  - CenterCrop: {height: 12, width: 10}
"""
SIZES = {"slide-a": 5, "slide-b": 3, "slide-c": 7, "slide-d": 4}


def bag_folders(root: Path, sizes: Mapping[str, int] | None = None) -> Path:
    """Write a folder of bags of noisy tiles, named by their positions, and return it."""
    for b, (bag, n) in enumerate((SIZES if sizes is None else sizes).items()):
        (root / bag).mkdir(parents=True, exist_ok=True)
        for k in range(n):
            draw(root / bag / f"tile_x{k}_y{10 * b}.png", seed=100 * b + k, size=(18, 16))
    return root


Image = NDArray[np.uint8]


def pair_recipe(scale: int = 4, crop: int = 8, more: str = "") -> Recipe:
    """Return a recipe of pairs: a crop of `crop` low-resolution pixels, and the eight symmetries."""
    text = f"""
version: 1
recipe: pairs
kind: pair
scales: {{lr: 1, hr: {scale}}}
{more}
steps:
  - RandomCrop: {{height: {crop}, width: {crop}, at: lr}}
  - D4: {{p: 1.0}}
eval: []
output: {{dtype: uint8, layout: hwc}}
"""
    return parse_text(text)


def scene(seed: int, size: tuple[int, int] = (96, 128), channels: int = 3) -> Image:
    """Draw blobs of several sizes, uint8 H×W×C, with detail at every scale."""
    draw = np.random.default_rng(seed)
    image = np.zeros((*size, channels), np.float32)
    for sigma in (1.5, 4, 12):
        noise = draw.normal(size=(*size, channels)).astype(np.float32)
        blurred = cv2.GaussianBlur(noise, (0, 0), sigma).reshape(image.shape)
        image += blurred / blurred.std()
    return np.clip(image * 30 + 120, 0, 255).astype(np.uint8)


def reduced(image: Image, scale: int) -> Image:
    """Average blocks of scale × scale pixels; incomplete blocks at the end are cut off."""
    height, width = image.shape[0] // scale, image.shape[1] // scale
    cut = image[: height * scale, : width * scale]
    small: Image = cv2.resize(cut, (width, height), interpolation=cv2.INTER_AREA)
    return small.reshape(height, width, -1)


def save(path: Path, image: Image) -> Path:
    """Write RGB, RGBA or grey pixels in the format of the file name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    stored = image if image.ndim == 2 or image.shape[2] == 1 else image[..., [2, 1, 0, 3][: image.shape[2]]]
    assert cv2.imwrite(str(path), stored)
    return path


def make_pairs(
    root: Path,
    names: Sequence[str],
    scale: int = 4,
    size: tuple[int, int] = (96, 128),
    low: str = "{}x4",
    kind: str = "png",
) -> Path:
    """Write `root/HR` and `root/LR`, a scene per name, and return `root`."""
    for seed, name in enumerate(names):
        image = scene(seed, size)
        save(root / "HR" / f"{name}.{kind}", image)
        save(root / "LR" / f"{low.format(name)}.png", reduced(image, scale))
    return root


def listed_images(root: Path) -> Path:
    """Write 8 images and a CSV file that lists them with every supported column, and return the file."""
    numbers = np.random.default_rng(0)
    rows = ["image,mask,label,split,group,weight,boxes,keypoints"]
    for i in range(8):
        height, width = 36 + i, 50 - i
        draw(root / f"{i}.png", seed=i, size=(height, width))
        assert cv2.imwrite(str(root / f"{i}-mask.png"), numbers.integers(0, 600, (height, width)).astype(np.uint16))
        corners = (numbers.random((i % 4, 2)) * [width - 12, height - 12]).round(2).tolist()
        boxes = [[x, y, x + 9.5, y + 8.25, f"kind-{k % 2}"] for k, (x, y) in enumerate(corners)]
        cells = ['"' + json.dumps(value).replace('"', '""') + '"' for value in (boxes, corners)]
        split, group = "train" if i < 6 else "val", f"patient-{i % 3}"
        rows.append(f"{i}.png,{i}-mask.png,{'ab'[i % 2]},{split},{group},{i / 2},{cells[0]},{cells[1]}")
    path = root / "list.csv"
    path.write_text("\n".join(rows), encoding="utf-8")
    return path


# Folders of images that many tests read: smooth waves, so that codecs and warps change them little.


def waves(height: int, width: int, k: int = 0) -> NDArray[np.uint8]:
    """Draw an RGB image of waves; each `k` gives another."""
    y, x = np.mgrid[:height, :width]
    made = np.stack([128 + 100 * np.sin(x / 9 + k), 128 + 100 * np.cos(y / (5 + k)), (x + y) % 256], axis=-1)
    return np.ascontiguousarray(made.astype(np.uint8))


def draw_waves(folder: Path, count: int = 4, size: tuple[int, int] = (80, 100), form: str = "png") -> Path:
    """Write `0.png` and further images into a new folder, and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    for k in range(count):
        assert cv2.imwrite(str(folder / f"{k}.{form}"), waves(*size, k))
    return folder


FORMATS = (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT)
EXTENSIONS = ("jpg", "cls", "json", "mask.png", "txt", "bin", "PNG")


def header(name: bytes, size: int = 0, kind: bytes = b"0", **fields: bytes) -> bytes:
    """Return a tar header with a correct checksum; `fields` are verbatim: `size_field`, `link`, `magic`, `prefix`."""
    block = bytearray(512)
    places = {"name": 0, "mode": 100, "size_field": 124, "link": 157, "magic": 257, "prefix": 345}
    said = {"name": name, "mode": b"0000644\0", "size_field": b"%011o\0" % size, "magic": b"ustar\x0000", **fields}
    for field, value in said.items():
        block[places[field] : places[field] + len(value)] = value
    block[156:157] = kind
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def member(name: bytes, data: bytes = b"", kind: bytes = b"0", **fields: bytes) -> bytes:
    """Return a tar member: its header and its padded data."""
    return header(name, len(data), kind, **fields) + data + bytes(-len(data) % 512)


END = bytes(1024)


def write(
    path: Path, files: Mapping[str, bytes] | Iterable[tuple[str, bytes]], format: int = tarfile.GNU_FORMAT
) -> Path:
    """Write an archive of files, and return its path."""
    with tarfile.open(path, "w", format=format) as archive:
        for name, data in files.items() if isinstance(files, Mapping) else files:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


def random_archive(path: Path, rng: random.Random) -> Path:
    """Write an archive of samples with other records of tar: folders, long names, fractional times."""
    format = rng.choice(FORMATS)
    with tarfile.open(path, "w", format=format) as archive:
        members = []
        for k in range(rng.randrange(1, 9)):
            long, deep = "d" * rng.randrange(1, 90) + "/", "é/ü/" * rng.randrange(1, 9)
            folder = rng.choice(("", "", "./", "train/", long, deep))
            longer = rng.choice((0, 1, rng.randrange(80 if format == tarfile.USTAR_FORMAT else 200)))
            if rng.random() < 0.2:
                info = tarfile.TarInfo(f"folder-{k}")
                info.type = tarfile.DIRTYPE
                archive.addfile(info)
            extensions = rng.sample(EXTENSIONS, rng.randrange(1, len(EXTENSIONS)))
            members += [f"{folder}{'n' * longer}{k}.{extension}" for extension in extensions]
        members += ["README", "._hidden.jpg"]
        if rng.random() < 0.3:
            rng.shuffle(members)  # so that the files of a sample are not adjacent
        for name in members:
            info = tarfile.TarInfo(name)
            data = contents(name.rpartition(".")[2].lower(), rng)
            info.size = len(data)
            info.mtime = rng.choice((0, 1.5, 2**33)) if format == tarfile.PAX_FORMAT else 7  # it has a record
            archive.addfile(info, io.BytesIO(data))
    return path


def contents(format: str, rng: random.Random) -> bytes:
    """Draw the content of a file by its extension."""
    if format == "cls":
        return b"%d" % rng.randrange(-5, 2000) + rng.choice((b"", b"\n"))
    if format == "json":
        return b'{"label": %d, "about": "x"}' % rng.randrange(9)
    if format == "txt":
        return "a cät".encode()
    return rng.randbytes(rng.choice((0, 1, 511, 512, 513, rng.randrange(5000))))


def grouped(path: Path) -> dict[str, dict[str, bytes]]:
    """Read the files of each key by extension with Python's own reader, as the reference."""
    found: dict[str, dict[str, bytes]] = {}
    with tarfile.open(path) as archive:
        for info in archive.getmembers():
            name = info.name.removeprefix("./")
            folder, _, base = name.rpartition("/")
            key, dot, extension = base.partition(".")
            if info.isreg() and key and dot:
                file: Any = archive.extractfile(info)
                found.setdefault(f"{folder}/{key}" if folder else key, {})[extension.lower()] = file.read()
    return found
