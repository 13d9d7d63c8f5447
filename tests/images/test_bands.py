"""Images of more bands than colours and alpha: read whole, or refused with what was found and what helps."""

import io
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from support.encoded_images import bands, bands_tiff, decode_image

import augrecipes as ar
from augrecipes.images import encoded as images
from augrecipes.images import losses
from augrecipes.images.reading import read_header
from augrecipes.kinds.image.reader import check
from augrecipes.recipe.parse import parse_text
from augrecipes.sources.files import decode_mask, read_image

CURE = r"`inputs: \{{image: \{{channels: {}\}}\}}`"
PLAIN = "{version: 1, recipe: plain, steps: [HorizontalFlip], eval: []}"


@pytest.fixture
def notes_in_log(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> pytest.LogCaptureFixture:
    monkeypatch.setattr(losses, "_notices", set())
    caplog.set_level(logging.WARNING, "augrecipes")
    return caplog


@pytest.mark.parametrize("packing", ["raw", "tiff_lzw", "tiff_deflate", "packbits"])
@pytest.mark.parametrize(("count", "photometric"), [(4, 2), (5, 2), (4, 1), (3, 1), (2, 1), (8, 1), (5, 5)])
def test_tiffs_have_all_their_bands_or_are_refused(count: int, photometric: int, packing: str) -> None:
    image = bands(count)
    data = bands_tiff(image, packing, photometric)
    header = read_header(data)
    assert (header.channels, header.bands, header.bits, header.alpha, header.frames) == (count, count, 8, False, 1)
    np.testing.assert_array_equal(decode_image(data, name="x", channels=count), image)
    np.testing.assert_array_equal(decode_image(data, name="x", channels=None), image)
    part = images.encoded(data, name="x", channels=count).region(7, 3, 40, 66)
    np.testing.assert_array_equal(part, image[7:40, 3:66])
    for channels in {1, 3, 4} - {count}:
        found = rf"x: an image of {count} channels, and {channels} are wanted: .*{CURE.format(count)}"
        with pytest.raises(ar.DataError, match=found):
            decode_image(data, name="x", channels=channels)
    with pytest.raises(ar.DataError, match=f"a mask must be grey or have a palette; this image has {count} bands"):
        decode_mask(data, name="x")
    assert read_header(bands_tiff(image, packing, photometric, pages=2)).frames == 2
    with pytest.raises(ar.DataError, match=r"truncated|damaged"):
        decode_image(data[: len(data) // 2], name="x", channels=count)


def test_tiffs_of_16_bits_keep_their_upper_8() -> None:
    data = bands_tiff(bands(5, np.uint16))
    with pytest.raises(ar.DataError, match="16 bits a sample"):
        decode_image(data, name="x", channels=5, depth="error")
    np.testing.assert_array_equal(decode_image(data, name="x", channels=5, depth="8bit"), bands(5))


@pytest.mark.parametrize("planar", ["contig", "separate"])
@pytest.mark.parametrize("how", [{}, {"tile": (16, 32)}, {"rowsperstrip": 7}], ids=str)
@pytest.mark.parametrize("packing", [{}, {"compression": "zlib"}, {"compression": "zlib", "predictor": 2}], ids=str)
@pytest.mark.parametrize("file", [{}, {"byteorder": ">"}, {"bigtiff": True}], ids=str)
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_tiffs_of_all_layouts(planar: str, how: Any, packing: Any, file: Any, dtype: Any) -> None:
    tifffile = pytest.importorskip("tifffile")
    buffer, image = io.BytesIO(), bands(5, dtype)
    planes = image if planar == "contig" else image.transpose(2, 0, 1)
    tifffile.imwrite(buffer, planes, photometric="minisblack", planarconfig=planar, **how, **packing, **file)
    found = decode_image(buffer.getvalue(), name="x", channels=5, depth="8bit")
    np.testing.assert_array_equal(found, bands(5))


@pytest.mark.parametrize("extra", [1, 2])
def test_declared_alpha_is_left_out_of_three_channels_and_the_log_says_so_once(
    extra: int, notes_in_log: pytest.LogCaptureFixture
) -> None:
    image = bands(4)
    image[:, :, 3] = 255
    for name in ("a.tif", "b.tif"):
        data = bands_tiff(image, extra=extra)
        assert read_header(data).alpha
        np.testing.assert_array_equal(decode_image(data, name=name), image[:, :, :3])
        np.testing.assert_array_equal(decode_image(data, name=name, channels=4), image)
    (line,) = notes_in_log.messages
    assert line.startswith("a.tif: has alpha, which is left out: ")
    assert "`inputs: {image: {channels: 4}}`" in line


def test_arrays_of_any_bands(tmp_path: Path) -> None:
    for count in (2, 4, 8):
        file = tmp_path / f"{count}.npy"
        np.save(file, bands(count))
        np.testing.assert_array_equal(read_image(file, channels=count), bands(count))
        np.testing.assert_array_equal(read_image(file, channels=None), bands(count))
        with pytest.raises(ar.DataError, match=f"npy: an image of {count} channels, .*{CURE.format(count)}"):
            read_image(file)
    with pytest.raises(ar.DataError, match=rf"image of 5 channels, and 3 are wanted: .*{CURE.format(5)}"):
        ar.Samples([bands(5)], parse_text(PLAIN))[0]


def check_data(folder: Path, *, content: bool = False) -> Any:
    advance: Any = lambda *_: None  # noqa: E731
    recipe = parse_text(PLAIN)
    return check(recipe, "train", str(folder), masks=None, split=None, content=content, advance=advance)


def test_check_data_names_bands_and_counts_alpha(tmp_path: Path) -> None:
    (tmp_path / "bands.tif").write_bytes(bands_tiff(bands(4)))
    for name in ("alpha.tif", "more.tif"):
        (tmp_path / name).write_bytes(bands_tiff(bands(4), extra=2))
    (tmp_path / "plain.tif").write_bytes(bands_tiff(bands(3)))
    found = check_data(tmp_path)
    (defect,) = found.defects
    assert defect.message.startswith(f"{tmp_path / 'bands.tif'}: an image of 4 channels, and 3 are wanted: ")
    assert found.fine == 3
    (note,) = found.notes
    assert note.startswith(f"2 images, {tmp_path / 'alpha.tif'} first: has alpha, which is left out")


@pytest.mark.parametrize("content", [False, True])
def test_twelve_bits_in_sixteen_are_told_with_their_range(
    content: bool, tmp_path: Path, notes_in_log: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUGRECIPES_DEPTH", "8bit")
    dim = np.minimum(bands(1, np.uint16)[:, :, 0], 0x0FFF)
    for name, image in (("a.png", dim), ("b.png", dim), ("full.png", bands(1, np.uint16)[:, :, 0])):
        Image.fromarray(image).save(tmp_path / name)
    said = "values from 0 to 4,095 in 16 bits, of which the upper 8 leave 16 levels: scale them to 0 to 65,535"
    found = check_data(tmp_path, content=content)
    assert not found.defects
    (note,) = found.notes
    assert note.startswith(f"2 images, {tmp_path / 'a.png'} first: has {said}")
    assert not notes_in_log.messages  # a check counts, and says it itself
    read_image(tmp_path / "full.png")
    assert not notes_in_log.messages
    assert read_image(tmp_path / "a.png").max() == 15
    read_image(tmp_path / "b.png")
    assert [line.partition(": ")[2].startswith(f"has {said}") for line in notes_in_log.messages] == [True]
    losses._notices.clear()
    ar.Samples([dim], parse_text(PLAIN), channels=1)[0]
    assert notes_in_log.messages[1].startswith(f"an array has {said}")
