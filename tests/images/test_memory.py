"""Want of memory is a MemoryError, whatever was being read: no file is called damaged for it, and no sample skipped."""

import collections
import os
import resource
import subprocess
import sys
import tempfile
from ast import literal_eval
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from PIL import Image
from support.encoded_images import decode_image
from torch.utils.data import DataLoader

from augrecipes import DataError, ImageFolder, loader
from augrecipes.images import pillow, png
from augrecipes.recipe.parse import parse_text

# One heap, and large pieces of memory apart from it: what is freed goes back to the system, which counts it.
LEAN = {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "0"}


def starved(*planted: str) -> dict[str, dict[str, int]]:
    """By format, what decoding came to under several limits."""
    command = [sys.executable, "-m", "images.test_memory", *planted]
    tests, environment = Path(__file__).parents[1], {**os.environ, **LEAN}
    out = subprocess.run(command, cwd=tests, env=environment, capture_output=True, text=True, check=True).stdout
    return {name: literal_eval(found) for name, found in (line.split(": ", 1) for line in out.splitlines())}


@pytest.mark.skipif(sys.platform != "linux", reason="limits memory as Linux does")
def test_every_format_says_that_memory_is_short() -> None:
    found = starved()
    assert len(found) >= 10
    for name, outcomes in found.items():
        assert outcomes.keys() == {"decoded", "MemoryError"}, name


@pytest.mark.soak
@pytest.mark.skipif(sys.platform != "linux", reason="limits memory as Linux does")
def test_a_decoder_that_blames_the_file_is_caught() -> None:
    assert any("damaged" in outcome for outcomes in starved("planted").values() for outcome in outcomes)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for i in range(4):
        assert cv2.imwrite(str(tmp_path / f"{i}.png"), np.full((20, 20, 3), i, np.uint8))
    return tmp_path


@pytest.mark.parametrize("where", ["file", "step"])
@pytest.mark.parametrize("backend", ["batches", "threads", "torch"])
def test_no_sample_is_skipped_for_it(where: str, backend: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ds = ImageFolder(
        folder,
        parse_text("{version: 1, recipe: r, steps: [MedianBlur: {blur_limit: [9, 9], p: 1.0}]}"),
        on_error="skip",
    )
    if where == "file":
        monkeypatch.setattr(png, "_samples", no_memory)
    else:
        monkeypatch.setattr(cv2, "medianBlur", no_memory_in_opencv)
    batches = DataLoader(ds) if backend == "torch" else loader(ds, 2, backend=backend)
    with pytest.raises(MemoryError):
        list(batches)


def test_a_step_that_fails_otherwise_is_still_the_samples(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ds = ImageFolder(folder, parse_text("{version: 1, recipe: r, steps: [MedianBlur: {blur_limit: [9, 9], p: 1.0}]}"))
    monkeypatch.setattr(cv2, "medianBlur", lambda *given, **more: cv2.resize(given[0], (0, 0)))
    with pytest.raises(DataError, match="MedianBlur"):
        ds[0]


def no_memory(*given: Any, **more: Any) -> Any:
    raise MemoryError


def no_memory_in_opencv(*given: Any, **more: Any) -> Any:
    error = cv2.error("Insufficient memory (Failed to allocate 17 bytes)")
    error.code = cv2.Error.StsNoMem
    raise error


# Decodes images of every format with too little memory, and prints what came of it.


SIDE = 1200  # px; an image is larger than what freed memory is lying about
SIZE = SIDE * SIDE * 3
LIMITS = [round(SIZE * part) for part in (0.5, 1.1, 1.6, 3.2, 40)]


def draw(folder: Path) -> None:
    small = np.random.default_rng(0).integers(0, 256, (40, 40, 3), np.uint8)
    image = cv2.resize(small, (SIDE, SIDE), interpolation=cv2.INTER_NEAREST)
    names = ("jpg", "png", "tiff", "bmp", "webp", "ppm", "jp2", "avif")
    for name in names:
        options = {"jp2": [cv2.IMWRITE_JPEG2000_COMPRESSION_X1000, 100], "avif": [cv2.IMWRITE_AVIF_SPEED, 10]}
        (folder / name).write_bytes(cv2.imencode(f".{name}", image, options.get(name, []))[1].tobytes())
    Image.fromarray(image).save(folder / "gif", "gif")
    Image.fromarray(image).save(folder / "tiff lzw", "tiff", compression="tiff_lzw")


def pictures() -> dict[str, bytes]:
    """An image of every format; drawn in a fork, since memory that was freed here would be used again."""
    with tempfile.TemporaryDirectory() as folder:
        if not os.fork():
            draw(Path(folder))
            os._exit(0)
        os.wait()
        return {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}


def outcome(name: str, data: bytes, more: int) -> str:
    """What decoding comes to in a fork that may take so many bytes more."""
    read, write = os.pipe()
    if not os.fork():
        taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (taken + more, taken + more))
        try:
            decode_image(data, name=name)
            said = "decoded"
        except MemoryError:
            said = "MemoryError"
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(write, said.encode()[:300])
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        said = pipe.read().decode()
    os.wait()
    return said or "killed"


def main(planted: bool) -> None:
    cv2.setNumThreads(0)
    for name, data in pictures().items():
        found = collections.Counter(outcome(name, data, more) for more in LIMITS)
        print(f"{name}:", dict(found))
        if planted and any("damaged" in what for what in found):
            break  # it is seen


if __name__ == "__main__":
    if len(sys.argv) > 1:  # planted: nobody asks whether there was memory
        pillow.check_memory = lambda *given: None
    main(len(sys.argv) > 1)
