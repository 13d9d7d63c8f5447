"""Headers are found in bounded work, whatever a file is filled with; and the error says what was found."""

from __future__ import annotations

import struct
import sys
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import cv2
import numpy as np
import pytest

from augrecipes.images import jpeg, png
from augrecipes.images.format import UnreadableError
from augrecipes.images.reading import read_bytes, read_header

_IHDR = b"\0\0\0\x0dIHDR" + struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)
_PNG = png.SIGNATURE + _IHDR + struct.pack(">I", zlib.crc32(_IHDR[4:]))

FILLED: dict[str, tuple[Callable[[int], bytes], str]] = {
    "jpeg fill": (lambda n: b"\xff\xd8\xff" + b"\xff" * n, "in front of byte 50,002 of .*: ff ff"),
    "jpeg stuffing": (lambda n: b"\xff\xd8\xff" + b"\xff\0" * (n // 2), "in front of byte 50,002 of .*: (00|d0) ff"),
    "jpeg restarts": (lambda n: b"\xff\xd8\xff" + b"\xff\xd0" * (n // 2), "in front of byte 50,002 of .*: (00|d0) ff"),
    "jpeg comments": (lambda n: b"\xff\xd8" + b"\xff\xfe\0\2" * (n // 4), "segments in its first"),
    "jpeg nothing": (lambda n: b"\xff\xd8\xff\xe0\0\2" + bytes(n), "in front of byte 50,006 of .*: 00 00"),
    "png nothing": (lambda n: _PNG + bytes(n), "at byte 33, where the name of a PNG chunk should be"),
    "png chunks": (lambda n: _PNG + b"\0\0\0\0teXt\0\0\0\0" * (n // 12), "chunks in its first"),
}
LIMIT = 500


def limit(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (jpeg, png):
        monkeypatch.setattr(module, "MOST_PARTS", most)
    monkeypatch.setattr(jpeg, "_MOST_JUNK", 100 * most)


def steps(data: bytes) -> int:
    """Lines of Python that reading a header takes."""
    count = 0

    def traced(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        ours = "augrecipes/images" in Path(frame.f_code.co_filename).as_posix()  # not what is collected meanwhile
        count += ours and event == "line"
        return traced

    before = sys.gettrace()
    sys.settrace(traced)
    try:
        read_header(data)
    except UnreadableError:
        pass
    finally:
        sys.settrace(before)
    return count


def peak(data: bytes) -> int:
    """Bytes that reading a header takes."""
    tracemalloc.start()
    try:
        read_header(data)
    except UnreadableError:
        pass
    finally:
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    return most


@pytest.mark.parametrize("name", FILLED)
def test_twice_the_file_is_no_more_work(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    limit(LIMIT, monkeypatch)
    made = FILLED[name][0]
    assert steps(made(2**14)) <= 1.05 * steps(made(2**13)) < 50 * LIMIT


@pytest.mark.parametrize("name", FILLED)
def test_it_takes_little_memory_and_says_what_it_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    limit(LIMIT, monkeypatch)
    made, told = FILLED[name]
    large = made(2**22)
    assert peak(large) < 12 << 20
    with pytest.raises(UnreadableError, match=told):
        read_header(large)


def test_fill_in_front_of_a_picture_is_skipped() -> None:
    whole = cv2.imencode(".jpg", np.zeros((9, 7, 3), np.uint8))[1].tobytes()
    assert read_header(whole[:2] + b"\xff" * 10**6 + whole[2:]).width == 7


def test_a_picture_that_is_none_is_not_read_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (tmp_path / "sparse.png").open("wb") as file:
        file.write(_PNG)
        file.truncate(2**30)
    tracemalloc.start()
    try:
        with pytest.raises(UnreadableError, match="name of a PNG chunk"):
            read_bytes(tmp_path / "sparse.png")
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["jpeg comments", "png chunks"])
def test_a_scan_without_an_end_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    limit(10**9, monkeypatch)
    with pytest.raises(AssertionError):
        made = FILLED[name][0]
        assert steps(made(2**14)) <= 1.05 * steps(made(2**13))
