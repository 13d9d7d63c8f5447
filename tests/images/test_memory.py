"""Want of memory is a MemoryError, whatever was being read: no file is called damaged for it, and no sample skipped."""

from __future__ import annotations

import os
import subprocess
import sys
from ast import literal_eval
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from torch.utils.data import DataLoader

from augrecipes import ImageFolder, loader
from augrecipes.errors import DataError
from augrecipes.images import png
from augrecipes.recipe.parse import parse_text

# One heap, and large pieces of memory apart from it: what is freed goes back to the system, which counts it.
LEAN = {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "0"}


def starved(*planted: str) -> dict[str, dict[str, int]]:
    """By format, what decoding came to under several limits."""
    command = [sys.executable, "-m", "images.starving", *planted]
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
