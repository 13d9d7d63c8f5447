"""Every format × mode: the right pixels, the promised array, EXIF applied once."""

import io
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from PIL import Image, features
from support import encoded_images as pictures
from support.encoded_images import Picture, decode_image, odd_jpeg

import augrecipes as ar
from augrecipes.images import encoded, jpeg
from augrecipes.images.reading import FORMATS, read_header, sniff
from augrecipes.kinds.bag.reader import check as check_bags
from augrecipes.kinds.image.reader import check as check_images
from augrecipes.native.kernels import codec
from augrecipes.recipe.parse import parse_text
from augrecipes.sources.files import decode_mask, read_image, read_mask

PICTURES = pictures.all_images()
TABLE = pytest.mark.parametrize("image", PICTURES, ids=lambda p: p.name)


def same(found: np.ndarray, expected: np.ndarray, *, exact: bool) -> None:
    assert found.shape == expected.shape
    if exact:
        np.testing.assert_array_equal(found, expected)
    else:
        assert np.abs(found.astype(int) - expected).mean() < 10


@TABLE
def test_pixels_are_as_stored_in_any_number_of_channels(image: Picture) -> None:
    rgb = np.ascontiguousarray(image.rgb)
    alpha = image.stored[:, :, 3] if image.stored.shape[2] == 4 else np.full(rgb.shape[:2], 255, np.uint8)
    grey = cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY)[:, :, None]
    for channels, expected in {3: rgb, None: image.stored, 4: np.dstack([rgb, alpha]), 1: grey}.items():
        found = decode_image(image.data, name=image.name, channels=channels)
        same(found, expected, exact=image.exact)
        assert channels != 4 or np.array_equal(found[:, :, 3], alpha)
        assert found.dtype == np.uint8
        assert found.flags.c_contiguous
        assert found.flags.writeable
        assert found.flags.owndata


@TABLE
def test_masks_are_ids_or_refused(image: Picture) -> None:
    lossy = image.name.endswith(".jpg")
    if image.mask is None and (image.stored.shape[2] > 1 or lossy):
        with pytest.raises(ar.DataError, match="Save masks as PNG" if lossy else "mask"):
            decode_mask(image.data, name=image.name)
        return
    mask = decode_mask(image.data, name=image.name)
    expected = image.stored[:, :, 0] if image.mask is None else image.mask
    same(mask, expected, exact=image.exact)
    assert mask.dtype == expected.dtype
    assert mask.flags.owndata
    assert mask.flags.writeable


@TABLE
def test_header_says_the_size(image: Picture) -> None:
    header = read_header(image.data)
    assert (header.height, header.width) == image.stored.shape[:2]
    assert header.alpha == (image.stored.shape[2] == 4)
    assert (header.color == "grey") == (image.stored.shape[2] == 1 or image.name == "grey-alpha.png")


@TABLE
def test_the_limit_is_checked_first(image: Picture) -> None:
    pixels = pictures.HEIGHT * pictures.WIDTH
    assert decode_image(image.data, name="x", max_pixels=pixels).size
    for decode in (decode_image, decode_mask):
        with pytest.raises(ar.DataError, match=r"limit of 285"):
            decode(image.data, name="x", max_pixels=pixels - 1)


TURNED = ["JPEG", "PNG", "WEBP", "TIFF"]


@pytest.mark.parametrize("orientation", range(10))
@pytest.mark.parametrize("kind", TURNED)
def test_orientation_is_applied_once(kind: str, orientation: int) -> None:
    options = {"lossless": True} if kind == "WEBP" else {"quality": 100, "subsampling": 0} if kind == "JPEG" else {}
    data = pictures.encoded(Image.fromarray(pictures.RGB), kind, exif=pictures.exif(orientation), **options)
    stored = decode_image(data, name="x", exif="ignore")
    same(stored, pictures.RGB, exact=kind != "JPEG")
    expected = {
        2: stored[:, ::-1],
        3: stored[::-1, ::-1],
        4: stored[::-1],
        5: stored.transpose(1, 0, 2),
        6: np.rot90(stored, -1),
        7: np.rot90(stored, 2).transpose(1, 0, 2),
        8: np.rot90(stored),
    }.get(orientation, stored)
    np.testing.assert_array_equal(decode_image(data, name="x"), expected)
    assert read_header(data).orientation == (orientation if 1 <= orientation <= 8 else 1)


def test_cmyk_jpeg_is_as_pillow_and_opencv_see_it() -> None:
    cmyk = Image.fromarray(pictures.RGB).convert("CMYK")
    data = pictures.encoded(cmyk, "JPEG", quality=100, subsampling=0)
    found = decode_image(data, name="x").astype(int)
    theirs = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)[:, :, ::-1]
    assert np.abs(found - theirs).max() <= 1
    assert np.abs(found - np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))).max() <= 1
    assert read_header(data).color == "cmyk"
    assert decode_image(data, name="x", channels=4).shape == (*found.shape[:2], 4)
    assert decode_image(data, name="x", channels=1).shape == (*found.shape[:2], 1)


# Blocks of C, M, Y and K in a unit: what Pillow and Adobe write, and what nobody has a name for.
INKS = ("11 11 11 11", "22 11 11 11", "21 11 11 11", "22 11 11 22", "12 11 11 11", "41 11 11 11", "31 11 11 31")


@pytest.mark.parametrize("adobe", [None, 0, 2], ids=["no marker", "CMYK", "YCCK"])
@pytest.mark.parametrize("blocks", INKS)
@pytest.mark.skipif(codec() is None, reason="built without libjpeg-turbo")
def test_cmyk_jpegs_of_all_samplings_are_as_pillow_reads_them(blocks: str, adobe: int | None) -> None:
    data = odd_jpeg((37, 61), tuple((int(both[0]), int(both[1])) for both in blocks.split()), seed=5)
    if adobe is not None:
        data = data[:2] + b"\xff\xee\0\x0eAdobe\0d\0\0\0\0" + bytes([adobe]) + data[2:]
    image = encoded.encoded(data, name="x")
    np.testing.assert_array_equal(image.array(), np.asarray(Image.open(io.BytesIO(data)).convert("RGB")))
    np.testing.assert_array_equal(image.region(5, 9, 30, 60), image.array()[5:30, 9:60])
    for k in image.scales():
        assert image.region(0, 0, 37, 61, k).shape == (-(-37 // k), -(-61 // k), 3)
    for damaged in (data[: len(data) * 2 // 3], data[: len(data) * 2 // 3] + b"\xff\xd9"):
        with pytest.raises(ar.DataError, match=r"x: .*(truncated|damaged)"):
            decode_image(damaged, name="x")


def test_without_libjpeg_unusual_samplings_are_an_error_that_says_what_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jpeg, "codec", lambda: None)
    with pytest.raises(ar.DataError, match=r"x: .*unusual chroma subsampling: .* save it again as 4:4:4"):
        decode_image(odd_jpeg((37, 61), ((2, 2), (1, 1), (1, 1), (1, 1))), name="x")


@pytest.mark.skipif(not features.check("avif"), reason="this Pillow writes no AVIF")
@pytest.mark.parametrize("orientation", range(1, 9))
def test_avif(orientation: int) -> None:
    data = pictures.encoded(
        Image.fromarray(pictures.RGB), "AVIF", quality=100, subsampling="4:4:4", exif=pictures.exif(orientation)
    )
    header = read_header(data)
    assert (header.format, header.width, header.height) == ("avif", pictures.WIDTH, pictures.HEIGHT)
    assert header.orientation == orientation
    try:
        stored = decode_image(data, name="x", exif="ignore")
    except ar.DataError:
        pytest.skip("this OpenCV reads no AVIF")
    same(stored, pictures.RGB, exact=False)
    assert decode_image(data, name="x").shape == (stored.shape if orientation < 5 else (*stored.shape[1::-1], 3))


def test_int32_tiff_masks_and_refused_kinds() -> None:
    ids = pictures.DEEP.astype(np.int32) * 1000 - 5
    data = pictures.encoded(Image.fromarray(ids), "TIFF")
    found = decode_mask(data, name="x")
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, ids)
    with pytest.raises(ar.DataError, match=r"signed numbers of 32 bits.*depth: float32, range"):
        decode_image(data, name="x")
    real = pictures.encoded(Image.fromarray(pictures.GREY.astype(np.float32)), "TIFF")
    with pytest.raises(ar.DataError, match="float"):
        decode_image(real, name="x")
    with pytest.raises(ar.DataError, match="float32"):
        decode_mask(real, name="x")


def test_no_file_begins_like_two_formats() -> None:
    for image in PICTURES:
        assert [format for format in FORMATS.values() if format.begins(image.data)] == [sniff(image.data)]


# Bits and frames that one image of 8 bits has no place for: an error, or what was asked for. Never silence.


RNG = np.random.default_rng(0)
DEEP = RNG.integers(0, 65536, (32, 40), np.uint16)
COLOR = RNG.integers(0, 256, (32, 40, 3), np.uint8)
FRAMES = [Image.fromarray(RNG.integers(0, 256, (32, 40, 3), np.uint8)) for _ in range(3)]


def by_opencv(name: str, image: Any) -> bytes:
    done, data = cv2.imencode(name, image)
    assert done
    return bytes(data)


def by_pillow(format: str, frames: list[Any], **options: Any) -> bytes:
    file = io.BytesIO()
    frames[0].save(file, format, save_all=True, append_images=frames[1:], **options)
    return file.getvalue()


def with_a_preview(kind: int) -> bytes:
    """A TIFF whose second page is marked as `kind`: 1 a reduced copy, 4 a mask, of the first."""
    data = bytearray(by_pillow("TIFF", FRAMES[:2], tiffinfo={254: 0}))
    first = int.from_bytes(data[4:8], "little")
    entries = int.from_bytes(data[first : first + 2], "little")
    second = int.from_bytes(data[first + 2 + 12 * entries :][:4], "little")
    for at in range(second + 2, second + 2 + 12 * int.from_bytes(data[second : second + 2], "little"), 12):
        if int.from_bytes(data[at : at + 2], "little") == 254:
            data[at + 8 : at + 12] = kind.to_bytes(4, "little")
            return bytes(data)
    raise AssertionError("no such tag")


def pnm(most: int) -> bytes:
    return b"P5 40 32 %d\n" % most + (DEEP.astype(int) % (most + 1)).astype(">u2").tobytes()


DEPTHS: dict[str, bytes] = {
    "grey.png": by_opencv(".png", DEEP),
    "color.png": by_opencv(".png", np.dstack([DEEP] * 3)),
    "alpha.png": by_opencv(".png", np.dstack([DEEP] * 4)),
    "grey.tif": by_opencv(".tif", DEEP),
    "color.tif": by_opencv(".tif", np.dstack([DEEP] * 3)),
    "deep.pgm": pnm(65535),
    "ten.pgm": pnm(1023),
    "deep.jp2": by_opencv(".jp2", DEEP),
}
SEVERAL: dict[str, bytes] = {
    "pages.tif": by_pillow("TIFF", FRAMES),
    "big.tif": by_pillow("TIFF", FRAMES, big_tiff=True),
    "moving.gif": by_pillow("GIF", FRAMES),
    "moving.webp": by_pillow("WEBP", FRAMES, lossless=True),
    "moving.png": by_pillow("PNG", FRAMES),
    "two.ppm": (b"P6 40 32 255\n" + COLOR.tobytes()) * 2,
}
if features.check("avif"):
    SEVERAL["moving.avif"] = by_pillow("AVIF", FRAMES)
WHOLE: dict[str, bytes] = {
    "one.tif": by_pillow("TIFF", FRAMES[:1]),
    "reduced.tif": with_a_preview(1),
    "mask.tif": with_a_preview(4),
    "one.gif": by_pillow("GIF", FRAMES[:1]),
    "one.webp": by_pillow("WEBP", FRAMES[:1], lossless=True),
    "one.png": by_pillow("PNG", FRAMES[:1]),
    "one.ppm": b"P6 40 32 255\n" + COLOR.tobytes() + b"\n\n",
}
LOSSY = {**DEPTHS, **SEVERAL}


@pytest.fixture
def nothing_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AUGRECIPES_DEPTH")
    monkeypatch.delenv("AUGRECIPES_FRAMES")


# Everything that reads a folder of the user: (folder of class folders) → anything.
IMAGES = parse_text("{version: 1, recipe: i, steps: [Resize: {height: 16, width: 16}], eval: []}")
WINDOWS = parse_text("{version: 1, recipe: w, steps: [RandomCrop: {height: 16, width: 16}], eval: []}")
BAGS = parse_text("{version: 1, recipe: b, kind: bag, steps: [Resize: {height: 16, width: 16}], eval: []}")
PAIRS = parse_text("{version: 1, recipe: p, kind: pair, scales: {lr: 1, hr: 1}, steps: [D4: {p: 1.0}], eval: []}")


def audit(check: Any, recipe: Any, root: Path, **more: Any) -> None:
    found = check(recipe, "train", str(root), split=None, content=False, advance=lambda *_: None, **more)
    for defect in found.defects:
        raise ar.DataError(defect.message)


def copy_of(file: Path) -> Path:
    """A folder with the same file."""
    return Path(shutil.copytree(file.parent, file.parents[2] / "copy", dirs_exist_ok=True))


READERS: dict[str, Callable[..., Any]] = {
    "read_image": lambda root, file, **o: read_image(file, **o),
    "open_encoded": lambda root, file, **o: ar.open_encoded(file, **o).array(),
    "ImageFolder": lambda root, file, **o: ar.ImageFolder(root, IMAGES, **o)[0],
    "a window": lambda root, file, **o: ar.ImageFolder(root, WINDOWS, **o)[0],
    "TileBags": lambda root, file, **o: ar.TileBags(root, BAGS, **o)[0],
    "PairedImages": lambda root, file, **o: ar.PairedImages({"hr": file.parent, "lr": copy_of(file)}, PAIRS, **o)[0],
    "a loader": lambda root, file, **o: list(ar.loader(ar.ImageFolder(root, IMAGES, **o), num_workers=1)),
}
LOSSES = {"AUGRECIPES_DEPTH", "AUGRECIPES_FRAMES"}
BY_ENVIRONMENT: dict[str, Callable[[Path, Path], Any]] = {
    # What is allowed is part of a store's plan: each try has a store of its own.
    "pack": lambda root, file: ar.pack(
        IMAGES, str(root), root.parent / f"store {sorted(os.environ.keys() & LOSSES)}", workers=0, on_error="raise"
    ),
    "check-data": lambda root, file: audit(check_images, IMAGES, root, masks=None),
    "check-data of bags": lambda root, file: audit(check_bags, BAGS, root),
}


def one_file(tmp_path: Path, name: str, data: bytes) -> tuple[Path, Path]:
    file = tmp_path / "data" / "a" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    return tmp_path / "data", file


def law(tmp_path: Path, name: str, reader: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lossy file is an error that names it and what to do; with that done, it is read."""
    root, file = one_file(tmp_path, name, LOSSY[name])
    choice = {"depth": "8bit"} if name in DEPTHS else {"frames": "first"}
    ((key, value),) = choice.items()
    read = {**READERS, **BY_ENVIRONMENT}[reader]
    with pytest.raises(ar.DataError) as caught:
        read(root, file)
    for word in (name, f'{key}="{value}"', f"AUGRECIPES_{key.upper()}={value}"):
        assert word in str(caught.value)
    if reader in READERS:
        read(root, file, **choice)
    with monkeypatch.context() as patch:
        patch.setenv(f"AUGRECIPES_{key.upper()}", value)
        read(root, file)


@pytest.mark.usefixtures("nothing_is_allowed")
@pytest.mark.parametrize("name", LOSSY)
def test_every_lossy_file(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    law(tmp_path, name, "read_image", monkeypatch)
    law(tmp_path, name, "open_encoded", monkeypatch)


@pytest.mark.usefixtures("nothing_is_allowed")
@pytest.mark.parametrize("reader", [*READERS, *BY_ENVIRONMENT])
@pytest.mark.parametrize("name", ["grey.png", "pages.tif", "moving.png"])
def test_every_reader(tmp_path: Path, name: str, reader: str, monkeypatch: pytest.MonkeyPatch) -> None:
    law(tmp_path, name, reader, monkeypatch)


@pytest.mark.usefixtures("nothing_is_allowed")
@pytest.mark.parametrize("name", WHOLE)
def test_files_of_one_image_are_read(tmp_path: Path, name: str) -> None:
    _, file = one_file(tmp_path, name, WHOLE[name])
    read_image(file)
    ar.open_encoded(file)


@pytest.mark.usefixtures("nothing_is_allowed")
@pytest.mark.parametrize("name", [name for name in DEPTHS if name != "deep.jp2"])
def test_the_upper_bits_are_kept(tmp_path: Path, name: str) -> None:
    _, file = one_file(tmp_path, name, DEPTHS[name])
    expected = np.rint(DEEP.astype(int) % 1024 / 1023 * 65535).astype(int) >> 8 if name == "ten.pgm" else DEEP >> 8
    np.testing.assert_array_equal(read_image(file, channels=3, depth="8bit")[:, :, 0], expected)


@pytest.mark.usefixtures("nothing_is_allowed")
@pytest.mark.parametrize("name", [name for name in SEVERAL if not name.endswith(("gif", "avif", "ppm"))])
def test_the_first_frame_is_read(tmp_path: Path, name: str) -> None:
    _, file = one_file(tmp_path, name, SEVERAL[name])
    np.testing.assert_array_equal(read_image(file, frames="first"), np.asarray(FRAMES[0]))


@pytest.mark.usefixtures("nothing_is_allowed")
def test_masks_keep_their_bits_but_not_their_pages(tmp_path: Path) -> None:
    _, file = one_file(tmp_path, "ids.png", DEPTHS["grey.png"])
    np.testing.assert_array_equal(read_mask(file), DEEP)
    _, file = one_file(tmp_path, "ids.tif", by_pillow("TIFF", [Image.fromarray(DEEP)] * 2))
    with pytest.raises(ar.DataError, match=r"ids.tif: several pages.*frames=\"first\""):
        read_mask(file)
    np.testing.assert_array_equal(read_mask(file, frames="first"), DEEP)


@pytest.mark.usefixtures("nothing_is_allowed")
@pytest.mark.parametrize("wrong", [{"depth": "16bit"}, {"frames": "all"}])
def test_nonsense_is_told_at_once(tmp_path: Path, wrong: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    root, _ = one_file(tmp_path, "fine.png", WHOLE["one.png"])
    ((key, value),) = wrong.items()
    with pytest.raises(ValueError, match=f"{key} must be"):
        ar.ImageFolder(root, IMAGES, **wrong)
    monkeypatch.setenv(f"AUGRECIPES_{key.upper()}", value)
    with pytest.raises(ValueError, match=f"AUGRECIPES_{key.upper()} must be"):
        ar.TileBags(root, BAGS)


@pytest.mark.usefixtures("nothing_is_allowed")
def test_a_ring_of_pages_ends() -> None:
    data = bytearray(SEVERAL["pages.tif"])
    first = int.from_bytes(data[4:8], "little")
    link = first + 2 + 12 * int.from_bytes(data[first : first + 2], "little")
    data[link : link + 4] = first.to_bytes(4, "little")
    assert read_header(bytes(data)).frames == 1


@pytest.mark.usefixtures("nothing_is_allowed")
@pytest.mark.parametrize("name", ["grey.png", "moving.gif"])
def test_a_planted_fault_is_caught(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoded, "find_loss", lambda *args, **more: "")
    with pytest.raises(pytest.fail.Exception):
        law(tmp_path, name, "read_image", monkeypatch)
    with pytest.raises(pytest.fail.Exception):
        law(tmp_path, name, "a window", monkeypatch)
