# pathlib has no names that are bytes.
# ruff: noqa: PTH118, PTH123
"""What is not an image: a DataError that names the file, without hanging and without a word on stderr."""

import os
import pickle
import socket
import struct
import tracemalloc
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image
from support import encoded_images as pictures
from support.checks import lines
from support.encoded_images import all_images, decode_image, encoded

from augrecipes import DataError, read_image, read_mask
from augrecipes.images import jpeg, png
from augrecipes.images.format import ImageHeader, UnreadableError
from augrecipes.images.reading import read_bytes, read_file_header, read_header, read_headers

PNG = pictures.encoded(Image.fromarray(pictures.RGB), "PNG")
JPEG = pictures.encoded(Image.fromarray(pictures.RGB), "JPEG")


@pytest.mark.parametrize("read", [read_image, read_mask])
def test_things_that_are_no_files(read, tmp_path: Path) -> None:
    (tmp_path / "folder.jpg").mkdir()
    (tmp_path / "empty.jpg").touch()
    (tmp_path / "page.jpg").write_text("<!DOCTYPE html><html>not found</html>")
    reasons = {
        "folder.jpg": "folder|regular|permission",
        "empty.jpg": "empty",
        "page.jpg": "known format",
        "gone.jpg": "no such",
    }
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.jpg")
        reasons["pipe.jpg"] = "regular file"
    for name, reason in reasons.items():
        with pytest.raises(DataError, match=reason) as caught:
            read(tmp_path / name)
        assert caught.value.path == str(tmp_path / name)
        assert str(caught.value).startswith(str(tmp_path / name))
        assert pickle.loads(pickle.dumps(caught.value)).path == caught.value.path
    with pytest.raises(DataError):
        read(tmp_path / "gone" / "x.jpg")
    with pytest.raises(DataError, match="opened"):
        read("a\0b.jpg")


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="no such sockets here")
def test_devices_and_sockets_do_not_hang(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("s.jpg")
        with pytest.raises(DataError):
            read_image("s.jpg")
    with pytest.raises(DataError, match="regular"):
        read_image(os.devnull)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="needs a user whom permissions bind")
def test_no_permission(tmp_path: Path) -> None:
    file = tmp_path / "secret.png"
    file.write_bytes(PNG)
    file.chmod(0)
    with pytest.raises(DataError, match="permission"):
        read_image(file)


def test_large_files_are_not_read(tmp_path: Path) -> None:
    file = tmp_path / "huge.jpg"
    with file.open("wb") as out:
        out.truncate(2**31)  # sparse
    with pytest.raises(DataError, match="limit of 1,073,741,824"):
        read_image(file)
    with pytest.raises(DataError, match="known format"):
        read_image(file, max_bytes=2**40)
    file.write_bytes(PNG)
    with pytest.raises(DataError, match="bytes are more"):
        read_image(file, max_bytes=len(PNG) - 1)
    assert read_image(file, max_bytes=len(PNG)).size


@pytest.mark.parametrize("name", ["naïve café 写真 (1).jpg", "-rf.jpg", "new\nline.jpg", "x" * 200])
def test_any_name(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_bytes(PNG)
    for way in (file, str(file), os.fsencode(file)):
        np.testing.assert_array_equal(read_image(way), pictures.RGB)


@pytest.mark.skipif(os.name == "nt", reason="names are Unicode there")
def test_names_that_are_not_utf8(tmp_path: Path) -> None:
    path = os.path.join(os.fsencode(tmp_path), b"caf\xe9 \xff.png")
    try:
        with open(path, "wb") as file:
            file.write(PNG)
    except OSError:
        pytest.skip("this file system takes UTF-8 only")
    np.testing.assert_array_equal(read_image(path), pictures.RGB)
    np.testing.assert_array_equal(read_image(os.fsdecode(path)), pictures.RGB)
    with open(path, "wb") as file:
        file.write(PNG[:50])
    with pytest.raises(DataError) as caught:
        read_image(path)
    assert os.fsencode(caught.value.path or "") == path
    assert "caf\\udce9" in str(caught.value).encode().decode(), "which no stream refuses"


def test_jpeg_ends() -> None:
    whole = decode_image(JPEG, name="x")
    np.testing.assert_array_equal(decode_image(JPEG + b"trailing" * 99, name="x"), whole)
    np.testing.assert_array_equal(decode_image(JPEG[:-2] + b"\0\0" + JPEG[-2:], name="x"), whole)
    with pytest.raises(DataError, match="truncated"):
        decode_image(JPEG[:-2], name="x")
    # Junk in the header must not hide that the image is cut.
    with pytest.raises(DataError, match="truncated"):
        decode_image(JPEG[:2] + b"\xff\xe2\x00\x10ICC_PROFILE\0\x00\x00" + JPEG[2:-40], name="x")


def test_bombs_are_refused_before_memory_is_asked_for() -> None:
    at = JPEG.index(b"\xff\xc0") + 5
    wide = JPEG[:at] + b"\x34\x00\x34\x00" + JPEG[at + 4 :]
    with pytest.raises(DataError, match="cannot hold"):
        decode_image(wide, name="x")
    with pytest.raises(DataError, match="limit"):
        decode_image(JPEG[:at] + b"\xff\xff\xff\xff" + JPEG[at + 4 :], name="x")


def scans_of_nothing(frame: int, side: int, count: int) -> bytes:
    """A JPEG of arithmetic codes, which may say nothing, and so take no bytes."""

    def segment(marker: int, content: bytes) -> bytes:
        return bytes((0xFF, marker)) + struct.pack(">H", len(content) + 2) + content

    start = b"\xff\xd8" + segment(0xDB, bytes((0, *[1] * 64)))
    start += segment(frame, struct.pack(">BHHB", 8, side, side, 1) + b"\1\x11\0")
    first, more = ((0, 0, 0), (1, 63, 0)) if frame == 0xCA else ((0, 63, 0), (0, 63, 0))
    return start + b"".join(segment(0xDA, bytes((1, 1, 0, *(more if k else first)))) for k in range(count)) + jpeg.END


@pytest.mark.parametrize("frame", [0xC9, 0xCA])
@pytest.mark.parametrize("more", [0, 90_000])
def test_scans_of_nothing_are_refused_before_they_are_decoded(
    frame: int, more: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert decode_image(scans_of_nothing(frame, 256, 1), name="x").shape == (256, 256, 3)
    assert frame == 0xC9 or decode_image(scans_of_nothing(frame, 256, 12), name="x").shape == (256, 256, 3)
    monkeypatch.setattr(jpeg, "simplejpeg", None)
    for side, count in ((13_000, 98), (13_000, 1 if not more else 99), (8, 101)):
        with pytest.raises(DataError, match=r"cannot hold|more than 100 scans"):
            decode_image(scans_of_nothing(frame, side, count) + bytes(more), name="x")


# Headers of files, and whether the files are whole, from a few kilobytes of each.


NOISE = np.random.default_rng(0).integers(0, 256, (150, 200, 3), np.uint8)  # 90 kB that do not compress


@pytest.mark.parametrize("image", all_images(), ids=lambda image: image.name)
def test_whole_files_are_read_as_their_headers_say(tmp_path, image):
    file = tmp_path / "picture"
    file.write_bytes(image.data)
    assert read_file_header(str(file)) == read_header(image.data)


@pytest.mark.parametrize("kind", ["png", "jpg", "bmp", "ppm", "webp", "jp2", "tif"])
@pytest.mark.parametrize("part", [0.3, 0.9, 0.995])
@pytest.mark.parametrize("size", [(64, 80), (150, 200)])
def test_files_that_end_too_early_are_told(tmp_path, kind, part, size):
    data = cv2.imencode(f".{kind}", NOISE[: size[0], : size[1]])[1].tobytes()
    file = tmp_path / "picture"
    file.write_bytes(data)
    assert (read_file_header(str(file)).height, read_file_header(str(file)).width) == size
    file.write_bytes(data[: int(len(data) * part)])
    with pytest.raises(UnreadableError, match=r"truncated|damaged"):
        read_file_header(str(file))


@pytest.mark.parametrize("size", [(64, 80), (150, 200)])
def test_a_tiff_with_its_directory_in_front_is_told_by_its_strips(tmp_path, size):
    data = encoded(Image.fromarray(NOISE[: size[0], : size[1]]), "TIFF")
    file = tmp_path / "picture"
    file.write_bytes(data)
    assert read_file_header(str(file)).width == size[1]
    for part in (0.5, 0.97):
        file.write_bytes(data[: int(len(data) * part)])
        assert read_header(file.read_bytes()).width == size[1], "its header is whole"
        with pytest.raises(UnreadableError, match="truncated: its TIFF data does not end"):
            read_file_header(str(file))


def test_what_is_no_image_has_a_reason(tmp_path):
    (tmp_path / "empty").touch()
    (tmp_path / "page").write_text("<!DOCTYPE html>")
    (tmp_path / "good").write_bytes(cv2.imencode(".png", NOISE)[1].tobytes())
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")
    calls: list[tuple[int, int]] = []
    names = ["empty", "page", "good", "link", "pipe", ".", "missing", "loop"]
    heads = read_headers([str(tmp_path / name) for name in names], lambda done, total: calls.append((done, total)))
    assert isinstance(heads[2], ImageHeader)
    assert heads[0] == "the file is empty"
    assert "not an image" in str(heads[1])
    assert heads[3] == heads[6] == "no such file"
    assert heads[4] == "not a regular file"
    assert "folder" in str(heads[5]) or "regular" in str(heads[5])
    assert heads[7] == "a link to itself"
    assert calls[-1] == (8, 8)


# Headers are found in bounded work, whatever a file is filled with; and the error says what was found.


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

    def read() -> None:
        with suppress(UnreadableError):
            read_header(data)

    return lines(read)


def peak(data: bytes) -> int:
    """Bytes that reading a header takes."""
    tracemalloc.start()
    with suppress(UnreadableError):
        read_header(data)
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


def test_fill_in_front_of_an_image_is_skipped() -> None:
    whole = cv2.imencode(".jpg", np.zeros((9, 7, 3), np.uint8))[1].tobytes()
    assert read_header(whole[:2] + b"\xff" * 10**6 + whole[2:]).width == 7


def test_an_image_that_is_none_is_not_read_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
