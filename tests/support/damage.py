"""What becomes of files: one table of damages, and what must come of every damaged file, whatever its format."""

import random
import shutil
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.errors import AugrecipesError, DataError
from augrecipes.images.encoded import encoded
from augrecipes.packing.bake import kept
from augrecipes.sources.files import decode_mask

EXTREME = (b"\xff\xff\xff\xff", b"\0\0\0\0", b"\x7f\xff\xff\xff", b"\0\0\1\0", b"\xff\xff\xff\x7f")


def _replaced(data: bytearray, at: int, size: int, by: bytes) -> None:
    data[at : at + size] = by


# What happens to bytes at a place; of an image the first few.
DAMAGES: list[Callable[[bytearray, int, random.Random], None]] = [
    lambda data, at, rng: _replaced(data, at, 1, bytes([rng.randrange(256)])),
    lambda data, at, rng: _replaced(data, at, 1, bytes([data[at] ^ 1 << rng.randrange(8)])),
    lambda data, at, rng: _replaced(data, at, rng.randint(1, 9), b""),
    lambda data, at, rng: _replaced(data, at, 0, rng.randbytes(rng.randint(1, 9))),
    lambda data, at, rng: _replaced(data, at, 4, rng.choice(EXTREME)),
    lambda data, at, rng: _replaced(data, at, 0, bytes(data[: rng.randint(1, 60)])),
    lambda data, at, rng: _replaced(data, at, len(data) if rng.random() < 0.4 else 0, b""),
    lambda data, at, rng: _replaced(data, at, len(data), b""),
    lambda data, at, rng: _replaced(data, at, len(data), bytes(len(data) - at)),
    lambda data, at, rng: data.extend(rng.randbytes(rng.randrange(1, 200))),
]


def damaged(data: bytes, rng: random.Random) -> bytes:
    """An image after some damages, most of them in its header; of PNGs mostly with checksums that fit again."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8))):
        at = rng.randrange(len(out) if rng.random() < 0.4 else min(len(out), 120))
        rng.choice(DAMAGES[:7])(out, at, rng)
        if not out:
            break
    return with_good_checksums(bytes(out)) if rng.random() < 0.7 else bytes(out)


def with_good_checksums(data: bytes) -> bytes:
    """A PNG whose chunks' checksums fit, so that damage reaches what lies behind them."""
    out, at = bytearray(data), 8
    while data[:4] == b"\x89PNG" and at + 12 <= len(out):
        end = at + 8 + struct.unpack_from(">I", out, at)[0]
        if end + 4 > len(out):
            break
        struct.pack_into(">I", out, end, zlib.crc32(out[at + 4 : end]))
        at = end + 4
    return bytes(out)


# -- files with checksums ---------------------------------------------------------------------------------------------


def each_damaged(folder: Path, rng: random.Random, times: int, but: tuple[str, ...] = ()) -> Iterator[str]:
    """Damages one file of a folder after another, or removes it, while all others are whole; its name."""
    kept_whole = folder.with_name("kept whole")
    shutil.copytree(folder, kept_whole)
    files = [path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_file() and path.name not in but]
    for name in [name for name in files if (folder / name).stat().st_size] * times:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(kept_whole, folder)
        path = folder / name
        path.chmod(0o644)
        if rng.random() < 0.1:
            path.unlink()
        else:
            data = bytearray(path.read_bytes())
            rng.choice(DAMAGES)(data, rng.randrange(len(data)), rng)
            path.write_bytes(data)
        yield str(name)


def survives(folder: Path, read: Callable[[], Any], wanted: Any, damages: Iterator[str]) -> int:
    """The law: of damaged files comes what whole ones give, or a typed error that names one of them; how many erred."""
    refused = 0
    for name in damages:
        try:
            assert read() == wanted, name
        except AugrecipesError as error:
            refused += 1
            assert str(getattr(error, "path", None)).startswith(str(folder)), (name, error)
    return refused


# -- images ---------------------------------------------------------------------------------------------------------


def read_or_none(
    data: bytes, window: tuple[int, int, int, int] | None = None, **how: int | None
) -> NDArray[np.uint8] | None:
    """What is read of a file; None where it is refused, by name."""
    try:
        it = encoded(data, name="it", max_pixels=1_000_000, **how)  # type: ignore[arg-type]
        if window is None:
            return it.array()
        # A header that is cut may say another size.
        return it.region(*window) if window[2] <= it.shape[0] and window[3] <= it.shape[1] else None
    except DataError as error:
        assert error.path == "it"
        assert str(error).startswith("it: ")
        return None


def some_window(rng: random.Random, height: int, width: int) -> tuple[int, int, int, int]:
    y, x = rng.randrange(height), rng.randrange(width)
    return y, x, rng.randint(y + 1, height), rng.randint(x + 1, width)


def check(data: bytes, rng: random.Random) -> str:
    """What becomes of an image, in a word; anything but an array as promised, or a DataError, fails."""
    try:
        it = encoded(data, name="it", max_pixels=1_000_000)
    except DataError as error:
        assert error.path == "it"
        return "no header"
    assert it.header.frames in (1, 2)
    for channels in (None, 1, 4):
        image = read_or_none(data, channels=channels)
        assert image is None or (image.dtype == np.uint8 and channels in (None, image.shape[2]))
    try:
        mask = decode_mask(data, name="it", max_pixels=1_000_000)
        assert mask.ndim == 2
        assert mask.dtype in (np.uint8, np.uint16, np.int32)
    except DataError as error:
        assert error.path == "it"
    kept(data, it.header, it.turn)
    window = y0, x0, y1, x1 = some_window(rng, *it.shape[:2])
    whole, part = read_or_none(data), read_or_none(data, window)
    if whole is None:
        return "refused" if part is None else "part"
    assert whole.shape == it.shape
    assert whole.dtype == np.uint8
    np.testing.assert_array_equal(part, whole[y0:y1, x0:x1])
    return "read"
