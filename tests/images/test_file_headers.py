"""Headers of files, and whether the files are whole, from a few kilobytes of each."""

from __future__ import annotations

import os

import cv2
import numpy as np
import pytest
from PIL import Image
from support.encoded_pictures import all_pictures, encoded, exif

from augrecipes.images.format import ImageHeader, UnreadableError
from augrecipes.images.reading import read_file_header, read_header, read_headers

NOISE = np.random.default_rng(0).integers(0, 256, (150, 200, 3), np.uint8)  # 90 kB that do not compress


@pytest.mark.parametrize("picture", all_pictures(), ids=lambda picture: picture.name)
def test_whole_files_are_read_as_their_headers_say(tmp_path, picture):
    file = tmp_path / "picture"
    file.write_bytes(picture.data)
    assert read_file_header(str(file)) == read_header(picture.data)


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


def test_what_follows_the_end_does_not_matter(tmp_path):
    for kind in ("png", "jpg"):
        file = tmp_path / kind
        file.write_bytes(cv2.imencode(f".{kind}", NOISE)[1].tobytes() + bytes(70_000))
        assert read_file_header(str(file)).width == 200


def test_the_thumbnail_of_a_cut_jpeg_is_not_its_end(tmp_path):
    small = cv2.imencode(".jpg", NOISE[:40, :40])[1].tobytes()
    whole = cv2.imencode(".jpg", NOISE)[1].tobytes()
    segment = b"\xff\xe1" + (len(small) + 2).to_bytes(2, "big") + small
    file = tmp_path / "picture"
    file.write_bytes(whole[:2] + segment + whole[2:])
    assert read_file_header(str(file)).width == 200
    for length in (20_000, 8_000):
        file.write_bytes((whole[:2] + segment + whole[2:])[:length])
        with pytest.raises(UnreadableError, match="truncated"):
            read_file_header(str(file))


def test_a_header_behind_a_large_profile_is_found(tmp_path):
    file = tmp_path / "picture"
    file.write_bytes(encoded(Image.fromarray(NOISE), "JPEG", icc_profile=bytes(200_000), exif=exif(6)))
    head = read_file_header(str(file))
    assert (head.width, head.height, head.orientation) == (200, 150, 6)


def test_what_is_no_picture_has_a_reason(tmp_path):
    (tmp_path / "empty").touch()
    (tmp_path / "page").write_text("<!DOCTYPE html>")
    (tmp_path / "good").write_bytes(cv2.imencode(".png", NOISE)[1].tobytes())
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "pipe")
    calls: list[tuple[int, int]] = []
    names = ["empty", "page", "good", "link", "pipe", ".", "missing"]
    heads = read_headers([str(tmp_path / name) for name in names], lambda done, total: calls.append((done, total)))
    assert isinstance(heads[2], ImageHeader)
    assert heads[0] == "the file is empty"
    assert "not a picture" in str(heads[1])
    assert heads[3] == heads[6] == "no such file"
    assert heads[4] == "not a regular file"
    assert "folder" in str(heads[5]) or "regular" in str(heads[5])
    assert calls[-1] == (7, 7)


def test_a_million_headers_keep_nothing_of_their_files(tmp_path):
    file = tmp_path / "picture.jpg"
    file.write_bytes(encoded(Image.fromarray(NOISE), "JPEG"))
    (head,) = read_headers([str(file)])
    assert isinstance(head, ImageHeader)
    assert head == read_header(file.read_bytes())
    assert head.layout is None
