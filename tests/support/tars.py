"""Tar archives that tests read: of every format that Python writes, and headers that nobody should write."""

import io
import random
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

FORMATS = (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT)
EXTENSIONS = ("jpg", "cls", "json", "mask.png", "txt", "bin", "PNG")


def header(name: bytes, size: int = 0, kind: bytes = b"0", **fields: bytes) -> bytes:
    """One header with a right checksum; `fields` are put in as they are: `size`, `link`, `magic`, `prefix`."""
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
    """A header, and what follows it."""
    return header(name, len(data), kind, **fields) + data + bytes(-len(data) % 512)


END = bytes(1024)


def write(
    path: Path, files: Mapping[str, bytes] | Iterable[tuple[str, bytes]], format: int = tarfile.GNU_FORMAT
) -> Path:
    """An archive of files."""
    with tarfile.open(path, "w", format=format) as archive:
        for name, data in files.items() if isinstance(files, Mapping) else files:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


def random_archive(path: Path, rng: random.Random) -> Path:
    """An archive of samples, with all that tar writes beside them: folders, long names, times in parts."""
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
            rng.shuffle(members)  # files of a sample do not stand side by side
        for name in members:
            info = tarfile.TarInfo(name)
            data = contents(name.rpartition(".")[2].lower(), rng)
            info.size = len(data)
            info.mtime = rng.choice((0, 1.5, 2**33)) if format == tarfile.PAX_FORMAT else 7  # it has a record
            archive.addfile(info, io.BytesIO(data))
    return path


def contents(format: str, rng: random.Random) -> bytes:
    """What a file of a format may hold."""
    if format == "cls":
        return b"%d" % rng.randrange(-5, 2000) + rng.choice((b"", b"\n"))
    if format == "json":
        return b'{"label": %d, "about": "x"}' % rng.randrange(9)
    if format == "txt":
        return "a cät".encode()
    return rng.randbytes(rng.choice((0, 1, 511, 512, 513, rng.randrange(5000))))


def grouped(path: Path) -> dict[str, dict[str, bytes]]:
    """The files of each key by their extensions, as Python's own reader finds them."""
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
