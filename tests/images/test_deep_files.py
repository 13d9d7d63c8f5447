"""Samples of more than 8 bits are the file's own values, whole and by windows; what cannot be had so is refused."""

import csv
import io
import os
import random
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from support.checks import in_a_soak
from support.damage import damaged, some_window
from support.deep_files import npy, numbers, png, pnm, tiff, turned

import augrecipes as ar
from augrecipes.images import encoded as images
from augrecipes.images import tiff as tiffs
from augrecipes.images.encoded import encoded
from augrecipes.sources.files import decode_mask
from augrecipes.sources.stacks import read_stack

DATA = Path(os.environ.get("AUGRECIPES_DATA", "/nowhere")) / "nasty"
WIDE: dict[str, Any] = {"u2": {"dtype": "uint16"}}  # how numbers are read; others as floats, whatever they mean
FLOATS: dict[str, Any] = {"dtype": "float32", "has_range": True}
SAMPLES = (1, 2, 3, 4, 5, 32)


def check_file(data: bytes, array: NDArray[Any], seed: int = 0, **how: Any) -> None:
    """The law: a file holds the very numbers of the array, whole and by windows, and no kernel decodes it."""
    expected = array.astype(how["dtype"])
    it = encoded(data, name="it", **{"channels": None, **how})
    assert it.dtype == how["dtype"]
    assert it.shape == expected.shape
    whole = it.array()
    assert whole.dtype == it.dtype
    assert whole.flags.c_contiguous and whole.flags.owndata and whole.flags.writeable
    np.testing.assert_array_equal(whole, expected)
    rng = random.Random(seed)
    for window in ((0, 0, *array.shape[:2]), *(some_window(rng, *array.shape[:2]) for _ in range(3))):
        y0, x0, y1, x1 = window
        assert it.coded(*window) is None
        np.testing.assert_array_equal(it.region(*window), expected[y0:y1, x0:x1])
        np.testing.assert_array_equal(it.view(*window), expected[y0:y1, x0:x1])


def readable(dtype: str, channels: int) -> NDArray[Any]:
    """Numbers that float32 has all of."""
    array = numbers(dtype.strip("<>"), channels)
    return (
        array & 0xFFFFFF
        if dtype == "u4"
        else array.astype(np.float32).astype(dtype)
        if "f8" in dtype
        else array.astype(dtype)
    )


LAYOUTS: list[dict[str, Any]] = [
    {}, {"block": (7, 53)}, {"block": (16, 32), "tiles": True}, {"block": (5, 53), "packed": True},
    {"block": (16, 16), "tiles": True, "packed": True}, {"packed": True, "predictor": 2},
    {"block": (16, 32), "tiles": True, "packed": True, "predictor": 2}, {"block": (7, 53), "predictor": 2},
]  # fmt: skip


NUMBERS = ("u2", "f4", "f2", "f8", "i2", "u4", "i1")


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@in_a_soak("step", 5, 1)
def test_tiffs_of_every_number_and_layout(step: int, dtype: str, layout: dict[str, Any]) -> None:
    """Of a number and layout every fifth file, others of the next; all in a soak."""
    first = (NUMBERS.index(dtype) + LAYOUTS.index(layout)) % step
    for channels, planar, order, big in [*product(SAMPLES, (False, True), "<>", (False, True))][first::step]:
        array = readable(dtype, channels)
        data = tiff(array, planar=planar, order=order, big=big, **layout)
        check_file(data, array, channels, **WIDE.get(dtype, FLOATS))


@pytest.mark.parametrize("dtype", ["f2", "f4"])
@pytest.mark.parametrize("layout", [{}, {"block": (16, 32), "tiles": True}, {"block": (6, 53)}], ids=str)
def test_tiffs_whose_predictor_is_of_floats(dtype: str, layout: dict[str, Any]) -> None:
    for channels, planar, order in [*product(SAMPLES, (False, True), "<>")][::5]:
        array = numbers(dtype, channels)
        data = tiff(array, planar=planar, order=order, packed=True, predictor=3, **layout)
        check_file(data, array, channels, dtype="float32")


@pytest.mark.parametrize("compression", ["zlib", "lzw", "packbits"])
@pytest.mark.parametrize("dtype", ["u2", "f4"])
def test_tiffs_of_another_writer(compression: str, dtype: str) -> None:
    if compression == "zlib":
        tifffile = pytest.importorskip("tifffile")
    for channels in (1, 3):
        array, file = numbers(dtype, channels), io.BytesIO()
        if compression == "zlib":
            planes = array[:, :, 0] if channels == 1 else array
            tifffile.imwrite(file, planes, compression="zlib", photometric="rgb" if channels == 3 else "minisblack")
            data = file.getvalue()
        else:
            code = {"lzw": 5, "packbits": 32773}[compression]
            bgr = array[:, :, ::-1] if channels == 3 else array
            data = cv2.imencode(".tiff", bgr, [cv2.IMWRITE_TIFF_COMPRESSION, code])[1].tobytes()
        check_file(data, array, **WIDE.get(dtype, FLOATS))
        mine = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED).reshape(array.shape)
        np.testing.assert_array_equal(mine[:, :, ::-1] if channels == 3 else mine, array)


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_colours_and_alpha_of_16_bits(channels: int) -> None:
    array, how = numbers("u2", channels), {"dtype": "uint16"}
    files = [png(array), tiff(array, photometric=2 if channels > 1 else 1, extra=2)]
    files += [pnm(array)] if channels < 4 else []
    for data in files:
        check_file(data, array, **how)
        mine = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED).reshape(array.shape)
        np.testing.assert_array_equal(mine[..., [2, 1, 0, 3][:channels]] if channels > 1 else mine, array)
        found = encoded(data, name="x", channels=3, **how).array()  # type: ignore[arg-type]
        np.testing.assert_array_equal(found, np.repeat(array, 3, 2) if channels == 1 else array[:, :, :3])
        grey = encoded(data, name="x", channels=1, **how).array()  # type: ignore[arg-type]
        colours = array if channels == 1 else cv2.cvtColor(np.ascontiguousarray(array[:, :, :3]), cv2.COLOR_RGB2GRAY)
        np.testing.assert_array_equal(grey, colours.reshape(grey.shape))
        if channels < 4:  # nobody knows what is opaque
            with pytest.raises(ar.DataError, match=f"of {channels} channels, and 4 are wanted"):
                encoded(data, name="x", channels=4, **how)
    both = numbers("u2", 2)
    for data in (png(both), tiff(both, extra=2)):
        check_file(data, both[:, :, [0, 0, 0, 1]], **how)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["u2", ">u2", "f4", "f2", "<f8", "i2", "u4", "u1", "i1"])
def test_saved_arrays(order: Any, dtype: str, tmp_path: Path) -> None:
    for channels in SAMPLES:
        array = np.asarray(readable(dtype, channels), order=order)
        how = WIDE.get(dtype.strip("<>"), FLOATS)
        check_file(npy(array), array, channels, **how)
    np.save(tmp_path / "it.npy", array)
    file = ar.open_encoded(tmp_path / "it.npy", channels=None, **how)
    np.testing.assert_array_equal(file.region(3, 4, 20, 30), array[3:20, 4:30].astype(how["dtype"]))


@pytest.mark.parametrize("turn", range(1, 9))
def test_exif_turns_them(turn: int) -> None:
    for channels, how in product((1, 3, 5, 32), (WIDE["u2"], FLOATS)):
        array = numbers("u2", channels)
        files = [tiff(array, turn=turn, block=(16, 16), tiles=True)] + ([png(array, turn)] if channels < 5 else [])
        for data in files:
            check_file(data, turned(array, turn), **how)
            check_file(data, array, exif="ignore", **how)


def test_bits_that_are_not_whole_bytes_and_maxima() -> None:
    array = numbers("u2", 1) & 4095
    check_file(pnm(array, 4095), array, dtype="uint16")
    np.testing.assert_array_equal(decode_mask(pnm(array, 4095), name="x"), array[:, :, 0])
    text = f"P2 53 37 4095 {' '.join(map(str, array.ravel()))}".encode()
    check_file(text, array, dtype="uint16")
    upper = encoded(text, name="x", depth="8bit", channels=1).array()
    np.testing.assert_array_equal(upper, (array * (65535 / 4095)).astype(np.uint16) >> 8)
    plain = f"P3 1 1 4095 {' '.join(map(str, array.ravel()[:3]))}".encode()
    with pytest.raises(ar.DataError, match="16 bits a sample, of which Pillow gives 8"):
        encoded(plain, name="x", dtype="uint16").array()


def test_white_is_zero_comes_as_it_is_stored() -> None:
    array = numbers("u2", 1)
    data = tiff(array, photometric=0)
    check_file(data, array, dtype="uint16")
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(data))), array[:, :, 0])
    np.testing.assert_array_equal(encoded(data, name="x", channels=1, depth="8bit").array(), ~array >> 8)


def test_numbers_that_are_not_finite_stay() -> None:
    array = numbers("f4", 2)
    array[3:5, 7], array[0, 0] = np.nan, np.inf
    for data in (tiff(array), npy(array), npy(array.astype(np.float64)), tiff(array.astype(np.float64), packed=True)):
        check_file(data, array, dtype="float32")


EIGHT, DEEP = numbers("u1", 3), numbers("u2", 3)
REFUSED: list[tuple[Any, dict[str, Any], str]] = [
    (DEEP, {"depth": "error"}, r"16 bits a sample, and .* with 8: say `inputs: \{depth: 16\}` in the recipe, or"),
    (DEEP.astype("f4"), {}, r"floats of 32 bits a sample.* read with 8: say `inputs: \{depth: float32\}`"),
    (DEEP.astype("i2"), {}, r"signed numbers of 16 bits.*`inputs: \{depth: float32, range: \[-32768, 32767\]\}`"),
    (DEEP.astype("f4"), {"depth": "8bit"}, r"floats of 32 bits a sample.*`inputs: \{depth: float32\}`"),
    (EIGHT, {"dtype": "uint16"}, r"8 bits a sample.*200 of 255 would be 200 of 65,535: .*`range: \[0, 255\]`"),
    (DEEP.astype("f4"), {"dtype": "uint16"}, "floats of 32 bits a sample.*say `depth: float32`"),
    (DEEP.astype("i2"), {"dtype": "uint16", "has_range": True}, "signed numbers of 16 bits.*depth: float32, range"),
    (DEEP.astype("u4"), {"dtype": "uint16", "has_range": True}, "32 bits a sample.*depth: float32, range"),
    (DEEP, {"dtype": "float32"}, r"16 bits a sample.*say what they mean.*depth: float32, range: \[0, 65535\]"),
    (DEEP.astype("f8") / 3, {"dtype": "float32"}, "values of float64 that float32 cannot hold"),
    (DEEP.astype("u4") + 2**30, {"dtype": "float32", "has_range": True}, "values of uint32 that float32 cannot hold"),
]  # fmt: skip


@pytest.mark.parametrize(("array", "how", "reason"), REFUSED, ids=str)
@pytest.mark.parametrize("write", [npy, tiff, lambda array: tiff(array, photometric=2)])
def test_other_depths_are_refused_with_a_cure(array: NDArray[Any], how: Any, reason: str, write: Any) -> None:
    with pytest.raises(ar.DataError, match=f"^it: .*{reason}") as caught:
        encoded(write(array), name="it", **how).array()
    assert caught.value.path == "it"


def test_values_of_fewer_bits_stay_where_a_range_says_what_they_mean() -> None:
    for write in (npy, tiff, lambda array: cv2.imencode(".png", array[:, :, ::-1])[1].tobytes()):
        for dtype in ("uint16", "float32"):
            check_file(write(EIGHT), EIGHT, dtype=dtype, has_range=True)
    with pytest.raises(ValueError, match="dtype must be 'uint8' or 'uint16' or 'float32'"):
        encoded(npy(EIGHT), name="x", dtype="int16")  # type: ignore[arg-type]


# Pages


def test_pages_are_frames_or_channels(tmp_path: Path) -> None:
    pages = [numbers("u2", 1, seed=k) for k in range(5)]
    data = tiff(*pages, block=(7, 53), packed=True)
    (tmp_path / "stack.tif").write_bytes(data)
    frames = read_stack(str(tmp_path / "stack.tif"), channels=None, dtype="uint16")
    np.testing.assert_array_equal(frames, np.stack(pages))
    check_file(data, np.dstack(pages), channels=5, frames="channels", dtype="uint16")
    check_file(data, np.dstack(pages), channels=5, frames="channels", dtype="float32", has_range=True)
    unlike = {"channels": 3, "frames": "channels"}
    for how in ({"channels": 5}, {"channels": None, "frames": "error"}, unlike, {"frames": "error"}):
        with pytest.raises(ar.DataError, match=r"several pages|of 1 channels, and 5 are wanted"):
            encoded(data, name="x", dtype="uint16", **how)  # type: ignore[arg-type]
    np.testing.assert_array_equal(encoded(data, name="x", frames="first", dtype="uint16", channels=1).array(), pages[0])
    low = [page.astype(np.uint8) for page in pages[:3]]
    for packed in (False, True):  # of 8 bits Pillow reads them
        small = tiff(*low, packed=packed)
        check_file(small, np.dstack(low), channels=3, frames="channels", dtype="uint8")
        colours = [numbers("u1", 3, seed=k) for k in range(3)]
        (tmp_path / "colours.tif").write_bytes(tiff(*colours, photometric=2, packed=packed))
        np.testing.assert_array_equal(read_stack(str(tmp_path / "colours.tif")), np.stack(colours))
    for odd in (numbers("u2", 1, (37, 52)), numbers("u1", 1), numbers("u2", 2), numbers("i2", 1)):
        with pytest.raises(ar.DataError, match=r"x: page 2 cannot be a channel: it is .* and the first"):
            encoded(tiff(pages[0], odd), name="x", channels=2, frames="channels", dtype="uint16")
    (tmp_path / "odd.tif").write_bytes(tiff(pages[0], numbers("u2", 1, (37, 52))))
    with pytest.raises(ar.DataError, match=r"odd\.tif: frame 1 is"):
        read_stack(str(tmp_path / "odd.tif"), channels=None, dtype="uint16")


@pytest.mark.parametrize("layout", [{"block": (16, 16), "tiles": True}, {"block": (4, 53)}], ids=str)
def test_windows_unpack_no_more_than_their_strips_or_tiles(
    layout: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    unpacked, blocks = tiffs._unpack, list[int]()

    def counted(data: bytes, of: Any, places: Any, *rest: int) -> Any:
        blocks.append(len(places))
        return unpacked(data, of, places, *rest)

    monkeypatch.setattr(tiffs, "_unpack", counted)
    for planar in (False, True):
        it = encoded(tiff(DEEP, packed=True, planar=planar, **layout), name="x", channels=3, dtype="uint16")
        for window, count in (((17, 20, 18, 21), 1), ((14, 14, 18, 18), 4 if "tiles" in layout else 2)):
            blocks.clear()
            y0, x0, y1, x1 = window
            np.testing.assert_array_equal(it.region(*window), DEEP[y0:y1, x0:x1])
            assert blocks == [count] * (3 if planar else 1)


# Damage


FILES = {
    "grey.png": (png(numbers("u2", 1)), "uint16"),
    "rgba.png": (png(numbers("u2", 4)), "uint16"),
    "strips.tif": (tiff(numbers("u2", 3), block=(7, 53), photometric=2), "uint16"),
    "packed.tif": (tiff(numbers("u2", 5), block=(16, 16), tiles=True, packed=True, predictor=2), "uint16"),
    "planes.tif": (tiff(numbers("f4", 3), planar=True, packed=True, predictor=3, order=">"), "float32"),
    "big.tif": (tiff(numbers("f4", 1), big=True), "float32"),
    "pages.tif": (tiff(*numbers("u2", 3).transpose(2, 0, 1)[..., None]), "uint16"),
    "grey.npy": (npy(numbers("u2", 1)), "uint16"),
    "floats.npy": (npy(numbers("f4", 2)), "float32"),
    "deep.ppm": (pnm(numbers("u2", 3)), "uint16"),
}


def read(data: bytes, dtype: str, window: Any = None) -> NDArray[Any] | None:
    """What is read; None where it is refused, by name."""
    try:
        it = encoded(data, name="it", max_pixels=100_000, channels=None, frames="first", dtype=dtype)
        if window is None:
            return it.array()
        return it.region(*window) if window[2] <= it.shape[0] and window[3] <= it.shape[1] else None
    except ar.DataError as error:
        assert error.path == "it"
        return None


@pytest.mark.parametrize("name", FILES)
def test_cut_files_never_give_other_numbers(name: str) -> None:
    (data, dtype), rng = FILES[name], random.Random(1)
    whole, size = read(data, dtype), len(data)
    assert whole is not None
    for keep in {*range(0, size, 1 + size // 100), *range(size - 30, size)}:
        window = y0, x0, y1, x1 = some_window(rng, *whole.shape[:2])
        for found, expected in ((read(data[:keep], dtype), whole), (read(data[:keep], dtype, window), whole)):
            part = expected if found is None or found.shape == whole.shape else expected[y0:y1, x0:x1]
            if found is not None and name != "pages.tif":  # of which the first may be whole
                np.testing.assert_array_equal(found, part)
                assert size - keep < 16


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", FILES)
def test_damaged_files_are_read_or_refused(name: str) -> None:
    data, dtype = FILES[name]
    for seed in range(60):
        rng = random.Random(seed)
        bad = damaged(data, rng)
        for how in (dtype, "uint8"):
            found = read(bad, how)
            assert found is None or (found.dtype == how and found.ndim == 3)
            if found is not None:
                window = y0, x0, y1, x1 = some_window(rng, *found.shape[:2])
                np.testing.assert_array_equal(read(bad, how, window), found[y0:y1, x0:x1])


# KindsAndMessages


def test_the_law_sees_the_upper_byte_in_place_of_the_value(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = images.as_pixels
    monkeypatch.setattr(images, "as_pixels", lambda *how: whole(*how) >> 8)
    for data, array in ((png(DEEP), DEEP), (tiff(DEEP), DEEP), (npy(DEEP), DEEP), (pnm(DEEP), DEEP)):
        with pytest.raises(AssertionError, match="not equal"):
            check_file(data, array, dtype="uint16")


# The nasty files


@pytest.mark.skipif(not DATA.is_dir(), reason="AUGRECIPES_DATA names no folder of nasty files")
def test_nasty_files_have_the_values_of_other_readers() -> None:
    found = {}
    for row in csv.DictReader((DATA / "expectations.csv").read_text(encoding="utf-8").splitlines()):
        deep = any(word in row["cv2_unchanged_shape"] for word in ("uint16", "int16", "float32"))
        if not deep and row["mode"][:1] not in ("I", "F"):
            continue
        data = (DATA / row["file"]).read_bytes()
        dtype = "uint16" if "uint16" in row["cv2_unchanged_shape"] else "float32"
        try:
            ours = encoded(data, name=row["file"], channels=None, exif="ignore", dtype=dtype, has_range=True).array()
        except ar.DataError as error:
            found[row["file"]] = str(error).partition(": ")[2]
            continue
        theirs = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
        theirs = theirs[:, :, [2, 1, 0, 3][: theirs.shape[2]]] if theirs.ndim == 3 else theirs[:, :, None]
        np.testing.assert_array_equal(ours, theirs, err_msg=row["file"])
        if row["mode"].startswith("I"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                np.testing.assert_array_equal(ours[:, :, 0], np.asarray(Image.open(io.BytesIO(data))))
        found[row["file"]] = "read"
    assert list(found.values()).count("read") >= 12
    (refused,) = (name for name, outcome in found.items() if outcome != "read")
    assert refused == "pillow/9bit.j2k"
    assert found[refused] == "a JPEG 2000 of 9 bits a sample, which Pillow scales to 16: save it as TIFF or PNG"
