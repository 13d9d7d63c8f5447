# pathlib has no names that are bytes.
# ruff: noqa: PTH118, PTH123
"""What is not a picture: a DataError that names the file, without hanging and without a word on stderr."""

from __future__ import annotations

import os
import pickle
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from support import encoded_pictures as pictures
from support.decoding import decode_image

from augrecipes.errors import DataError
from augrecipes.sources.files import read_image, read_mask

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


@pytest.mark.parametrize(
    "marker",
    [b"\xff\xe2\x00\x10ICC_PROFILE\0\x00\x00", b"\xff\xe1\x00\x08Exif\0\0", b"junk!", b"\xff\xfe\x00\x04hi"],
    ids=["bad-icc", "empty-exif", "junk", "comment"],
)
def test_harmless_faults_of_a_jpeg_header(marker: bytes) -> None:
    np.testing.assert_array_equal(
        decode_image(JPEG[:2] + b"\xff\xfe\x00\x02" + marker + JPEG[2:], name="x"), decode_image(JPEG, name="x")
    )


def test_jpeg_ends() -> None:
    whole = decode_image(JPEG, name="x")
    np.testing.assert_array_equal(decode_image(JPEG + b"trailing" * 99, name="x"), whole)
    np.testing.assert_array_equal(decode_image(JPEG[:-2] + b"\0\0" + JPEG[-2:], name="x"), whole)
    with pytest.raises(DataError, match="truncated"):
        decode_image(JPEG[:-2], name="x")
    # Junk in the header must not hide that the picture is cut.
    with pytest.raises(DataError, match="truncated"):
        decode_image(JPEG[:2] + b"\xff\xe2\x00\x10ICC_PROFILE\0\x00\x00" + JPEG[2:-40], name="x")


def test_bombs_are_refused_before_memory_is_asked_for() -> None:
    at = JPEG.index(b"\xff\xc0") + 5
    wide = JPEG[:at] + b"\x34\x00\x34\x00" + JPEG[at + 4 :]
    with pytest.raises(DataError, match="cannot hold"):
        decode_image(wide, name="x")
    with pytest.raises(DataError, match="limit"):
        decode_image(JPEG[:at] + b"\xff\xff\xff\xff" + JPEG[at + 4 :], name="x")


def test_threads_do_not_disturb_each_other() -> None:
    files = [picture for picture in pictures.all_pictures() if picture.exact] * 8
    with ThreadPoolExecutor(4) as pool:
        images = list(pool.map(lambda picture: decode_image(picture.data, name=picture.name), files))
    for picture, image in zip(files, images, strict=True):
        np.testing.assert_array_equal(image, picture.rgb)


def test_too_many_scans() -> None:
    data = pictures.encoded(Image.fromarray(pictures.RGB), "JPEG", progressive=True)
    assert decode_image(data, name="x").size
    scan = data[data.index(b"\xff\xda") : data.index(b"\xff", data.index(b"\xff\xda") + 20)]
    with pytest.raises(DataError, match="100 scans"):
        decode_image(data[:-2] + scan * 100 + data[-2:], name="x")
