"""The Datasets of the source articles, as they stand there, under torch's DataLoader."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import h5py
import numpy as np
import torch
from comparison import Side
from PIL import Image
from torch.utils.data import Dataset, Subset
from workloads import Folder, Pairs

from peers import Library, epochs

_FULL = 255.0
_PATCHES = 64  # cut out of each pair
_MANY = 40  # batches of patches in a pass


def small_images(folder: Folder) -> Iterator[Side]:
    """W3, and W3f with flips: the files, and the same images in one HDF5 file."""
    files = FolderDataset(folder.root, folder.side)
    write_hdf5(folder.scratch / "small.h5", files)
    for form, read in (("HDF5", Hdf5Dataset(folder.scratch / "small.h5")), ("image folder", files)):
        passes = epochs(Flipped(read) if folder.flip else read, folder.batch, folder.workers)
        yield Side("", f"{form}, {folder.workers} workers", passes)


def large_pairs(pairs: Pairs) -> Iterator[Side]:
    """W4: both PNGs decoded whole, in process; and patches that were cut beforehand."""
    pngs = PngPairs(pairs.hr, pairs.lr, pairs.patch, pairs.scale)
    write_npy(pairs.scratch / "npy", pngs, _PATCHES * len(pngs))
    names = ("lr", "hr")
    yield Side("", "PNGs decoded whole", epochs(_repeated(pngs, pairs.batch), pairs.batch, 0, names))
    many = _repeated(NpyPairs(pairs.scratch / "npy"), _MANY * pairs.batch)
    yield Side("", "patches in .npy", epochs(many, pairs.batch, 0, names))


def _repeated(ds: Any, length: int) -> Dataset[Any]:
    """A dataset again and again, so that an epoch of few files has many samples."""
    return Subset(ds, [k % len(ds) for k in range(length)])


class FolderDataset(Dataset[Any]):
    """An image folder: open, resize, to float, channels first."""

    def __init__(self, folder: Path, side: int) -> None:
        self.files, self.side = sorted(folder.rglob("*.jpg")), side
        self.classes = sorted({file.parent.name for file in self.files})

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, i: int) -> tuple[torch.Tensor, int]:
        with Image.open(self.files[i]) as image:
            pixels = np.asarray(image.convert("RGB").resize((self.side, self.side), Image.Resampling.BILINEAR))
        tensor = torch.from_numpy(pixels.transpose(2, 0, 1).astype(np.float32) / _FULL)
        return tensor, self.classes.index(self.files[i].parent.name)


class Hdf5Dataset(Dataset[Any]):
    """The same images in one HDF5 file, float32 already; opened in the worker that reads it."""

    def __init__(self, path: Path) -> None:
        self.path, self.file = path, None
        with h5py.File(path) as file:
            self.count = len(file["images"])

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, i: int) -> tuple[torch.Tensor, int]:
        if self.file is None:
            self.file = h5py.File(self.path)
        return torch.from_numpy(self.file["images"][i]), int(self.file["labels"][i])


class Flipped(Dataset[Any]):
    """Labelled images, half of them mirrored."""

    def __init__(self, read: Dataset[Any]) -> None:
        self.read = read

    def __len__(self) -> int:
        return len(self.read)  # type: ignore[arg-type]

    def __getitem__(self, i: int) -> tuple[torch.Tensor, int]:
        image, label = self.read[i]
        return image.flip(-1) if random.random() < 0.5 else image, label


class PngPairs(Dataset[Any]):
    """Super-resolution pairs: both images decoded whole, then one aligned patch cut out of them."""

    def __init__(self, hr: Path, lr: Path, patch: int, scale: int) -> None:
        self.hr, self.lr = sorted(hr.glob("*.png")), sorted(lr.glob("*.png"))
        self.patch, self.scale = patch, scale

    def __len__(self) -> int:
        return len(self.hr)

    def __getitem__(self, i: int) -> tuple[torch.Tensor, torch.Tensor]:
        hr = cv2.cvtColor(cv2.imread(str(self.hr[i])), cv2.COLOR_BGR2RGB)
        lr = cv2.cvtColor(cv2.imread(str(self.lr[i])), cv2.COLOR_BGR2RGB)
        y, x = (random.randint(0, n - self.patch) for n in lr.shape[:2])
        return self.cut(lr, y, x, 1), self.cut(hr, y, x, self.scale)

    def cut(self, image: np.ndarray, y: int, x: int, scale: int) -> torch.Tensor:
        """A patch as float32 C×H×W, 0..1."""
        side, y, x = self.patch * scale, y * scale, x * scale
        return torch.from_numpy(image[y : y + side, x : x + side].transpose(2, 0, 1).astype(np.float32) / _FULL)


class NpyPairs(Dataset[Any]):
    """The patches cut beforehand, float32, one file each."""

    def __init__(self, folder: Path) -> None:
        self.lr, self.hr = sorted((folder / "lr").glob("*.npy")), sorted((folder / "hr").glob("*.npy"))

    def __len__(self) -> int:
        return len(self.hr)

    def __getitem__(self, i: int) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.from_numpy(np.load(self.lr[i])), torch.from_numpy(np.load(self.hr[i]))


def write_hdf5(path: Path, folder: FolderDataset) -> None:
    """The folder's samples in one file, as the article packs them: contiguous, float32."""
    with h5py.File(path, "w") as file:
        first, _ = folder[0]
        images = file.create_dataset("images", (len(folder), *first.shape), np.float32)
        labels = file.create_dataset("labels", (len(folder),), np.int64)
        for i in range(len(folder)):
            image, labels[i] = folder[i]
            images[i] = image.numpy()


def write_npy(folder: Path, pairs: PngPairs, count: int) -> None:
    """Patches of pairs, one file each."""
    for name in ("lr", "hr"):
        (folder / name).mkdir(parents=True)
    images = [
        (cv2.imread(str(lr))[..., ::-1], cv2.imread(str(hr))[..., ::-1])
        for lr, hr in zip(pairs.lr, pairs.hr, strict=True)
    ]
    rng = random.Random(0)
    for k in range(count):
        lr, hr = images[k % len(images)]
        y, x = (rng.randint(0, n - pairs.patch) for n in lr.shape[:2])
        np.save(folder / "lr" / f"{k:05}.npy", pairs.cut(lr, y, x, 1).numpy())
        np.save(folder / "hr" / f"{k:05}.npy", pairs.cut(hr, y, x, pairs.scale).numpy())


LIBRARIES = [Library("article", "", lambda: None, {Folder: small_images, Pairs: large_pairs})]
