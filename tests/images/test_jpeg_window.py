"""Windows by the machine's libjpeg-turbo: the pixels and the verdicts of simplejpeg, of files whole and damaged."""

import ctypes
import io
import random
import re
import struct
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import simplejpeg
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image
from support.checks import DEAR
from support.encoded_images import FRACTIONS, JPEGS, LAYOUTS, SAMPLINGS, Corners, Jpeg, Layout, corners_in, odd_jpeg

from augrecipes.errors import DataError
from augrecipes.images import jpeg
from augrecipes.images.encoded import Encoded, encoded
from augrecipes.native import build
from augrecipes.native.kernels import Window, codec, opened

pytestmark = pytest.mark.skipif(codec() is None, reason="built without libjpeg-turbo")
KNOWN: list[Layout] = [
    ((1, 1),),
    ((2, 2),),
    ((1, 1), (1, 1), (1, 1)),
    ((2, 1), (1, 1), (1, 1)),
    ((2, 2), (1, 1), (1, 1)),
    ((1, 2), (1, 1), (1, 1)),
    ((4, 1), (1, 1), (1, 1)),
    ((1, 4), (1, 1), (1, 1)),
    ((1, 1), (1, 1), (1, 1), (1, 1)),
]


@contextmanager
def decoding_by(library: Any) -> Iterator[None]:
    """Windows are decoded by this library inside, or with None by simplejpeg."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jpeg, "codec", lambda: library)
        yield


@dataclass(frozen=True)
class Counted:
    """A codec that counts what it is asked for, and what it answers."""

    found: Counter[str]
    changed: tuple[tuple[str, int], ...] = ()
    reader: Any = None  # another one than the machine's

    @property
    def reads_codes(self) -> bool:
        return bool((self.reader or codec()).reads_codes)

    def decode(self, data: bytes, window: Window) -> NDArray[np.uint8]:
        library = self.reader or codec()
        self.found["asked"] += 1
        for name, value in self.changed:
            setattr(window, name, value)
        out = library.decode(data, window)
        self.found["answered"] += 1
        return out

    def __hash__(self) -> int:
        return id(self)


def part_of(image: Encoded, corners: Corners, reduce: int = 1) -> NDArray[np.uint8] | str:
    """A part, or why there is none."""
    try:
        return image.region(*corners, reduce)
    except DataError as error:
        return str(error)


LEFT_OVER = re.compile(r"Corrupt JPEG data: \d+ extraneous bytes before marker 0xd9")


def down_to(image: Encoded, row: int, reduce: int) -> NDArray[np.uint8] | None:
    """The image down to a row, by simplejpeg that is told of no more; None where it has anything to say of it."""
    changed, s = bytearray(image.data), image.header.layout
    struct.pack_into(">H", changed, s.at + 5, row)
    kind = {1: "GRAY", 3: "RGB", 4: "RGBA"}[image.shape[2]]
    out = np.empty((-(-row // reduce), -(-s.width // reduce), image.shape[2]), np.uint8)
    try:
        simplejpeg.decode_jpeg(changed, kind, False, False, *(out.shape[:2] if reduce > 1 else (0, 0)), buffer=out)
    except ValueError as error:
        return out if LEFT_OVER.fullmatch(str(error)) else None
    return out


def check_alike(image: Encoded, corners: Corners, reduce: int = 1, library: Any = None) -> None:
    """With the library and without it: the same pixels, or the same refusal, unless the damage lies elsewhere.

    Then the pixels are those of a decoder that is told of no row below.
    """
    with decoding_by(library or codec()):
        ours = part_of(image, corners, reduce)
    with decoding_by(None):
        theirs = part_of(image, corners, reduce)
    s = image.header.layout
    if isinstance(theirs, str) and not isinstance(ours, str):
        y0, x0, y1, x1 = corners
        whole = down_to(image, min(y1 + reduce, s.height), reduce) if image.turn == 1 else None
        if whole is not None:
            np.testing.assert_array_equal(ours, whole[y0 // reduce : -(-y1 // reduce), x0 // reduce : -(-x1 // reduce)])
        else:  # damage above the window is passed over where restart markers stand
            assert b"\xff\xdd\0\4" in image.data or image.turn != 1
    elif isinstance(ours, str) or isinstance(theirs, str):
        assert type(ours) is type(theirs)
        assert ours == theirs
    else:
        np.testing.assert_array_equal(ours, theirs)


@given(JPEGS, st.sampled_from((1, 3, 4, None)), FRACTIONS)
def test_windows_are_those_of_simplejpeg(jpeg: Jpeg, channels: int | None, fractions: tuple[float, ...]) -> None:
    image = encoded(jpeg.data, name="it", channels=channels)
    for reduce in (1, *image.scales()):
        check_alike(image, corners_in(image, fractions, reduce), reduce)


@pytest.mark.parametrize("sampling", sorted(SAMPLINGS))
def test_every_place_of_a_window(sampling: str) -> None:
    found = Counter[str]()
    for restart in (0, 4, 8):
        data = Jpeg(52, 61, sampling=sampling, restart=restart, seed=restart).data
        image = encoded(data, name="it")
        whole = image.array()
        with decoding_by(Counted(found)):
            for y0 in range(0, 52, 5):
                for x0 in range(61):
                    y1, x1 = min(y0 + 1 + x0 % 9, 52), min(x0 + 1 + y0 % 11, 61)
                    np.testing.assert_array_equal(image.region(y0, x0, y1, x1), whole[y0:y1, x0:x1])
    assert found["answered"] == found["asked"]


@DEAR
@given(st.sampled_from(KNOWN), st.integers(1, 50), st.integers(1, 70), st.sampled_from((0, 1, 3)), FRACTIONS)
def test_windows_of_every_layout(
    layout: Layout, height: int, width: int, restart: int, fractions: tuple[float, ...]
) -> None:
    image = encoded(odd_jpeg((height, width), layout, restart=restart), name="it")
    for reduce in (1, *image.scales()):
        check_alike(image, corners_in(image, fractions, reduce), reduce)


@DEAR
@given(
    st.sampled_from(KNOWN[2:5]), st.integers(4, 16), st.integers(9, 16), st.sampled_from((0, 3)),
    st.sampled_from((1, 12)), FRACTIONS,
)  # fmt: skip
def test_codes_of_every_length(
    layout: Layout, of_dc: int, of_ac: int, restart: int, step: int, fractions: tuple[float, ...]
) -> None:
    lengths, found = (of_dc, of_ac), Counter[str]()
    image = encoded(odd_jpeg((50, 61), layout, restart=restart, step=step, lengths=lengths), name="it")
    for reduce in (1, *image.scales()):
        check_alike(image, corners_in(image, fractions, reduce), reduce, Counted(found))
    assert found["answered"] == found["asked"]


def _large(noise: int, blocks: int, restart: int = 0) -> bytes:
    rng = np.random.default_rng(noise)
    coarse = np.kron(
        rng.integers(0, 200, (blocks, blocks, 3), np.uint8), np.ones((400 // blocks, 400 // blocks, 1), np.uint8)
    )
    options = [cv2.IMWRITE_JPEG_QUALITY, 95, cv2.IMWRITE_JPEG_RST_INTERVAL, restart]
    return cv2.imencode(".jpg", coarse + rng.integers(0, noise + 1, coarse.shape, np.uint8), options)[1].tobytes()


# More blocks than two cursors read at a time, and more bytes than lie in the stream; flat ones, in which the second may
# read on in step with the first and never meet it.
LARGE = {"noise": _large(50, 10), "flat": _large(0, 1), "corners": _large(0, 20), "restarts": _large(20, 4, 130)}


@pytest.mark.parametrize("name", LARGE)
def test_what_two_cursors_read_is_the_image(name: str) -> None:
    image, found = encoded(LARGE[name], name="it"), Counter[str]()
    whole = image.array()
    with decoding_by(Counted(found)):
        for y0, x0, y1, x1 in (
            (0, 0, 400, 400),
            (0, 0, 20, 400),
            (370, 5, 400, 50),
            (130, 210, 260, 330),
            (1, 1, 399, 3),
        ):
            np.testing.assert_array_equal(image.region(y0, x0, y1, x1), whole[y0:y1, x0:x1])
    assert found["answered"] == found["asked"] >= 5


@pytest.mark.parametrize("margins", [("_LEFT", 0), ("_RIGHT", 0)])
@pytest.mark.parametrize("sampling", ["4:2:0", "4:2:2"])
def test_without_the_margin_of_columns_the_law_fails(
    sampling: str, margins: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    image = encoded(Jpeg(52, 61, sampling=sampling).data, name="it")
    check_alike(image, (3, 16, 40, 34))
    monkeypatch.setattr(jpeg, *margins)
    with pytest.raises(AssertionError):
        check_alike(image, (3, 16, 40, 34))


def test_a_library_of_other_pixels_is_not_used() -> None:
    class Other(Counted):
        def decode(self, data: bytes, window: Window) -> NDArray[np.uint8]:
            return super().decode(data, window) ^ np.uint8(1)

    image, found = encoded(Jpeg(52, 61).data, name="it"), Counter[str]()
    check_alike(image, (3, 16, 40, 34), library=Other(found))
    assert found["answered"] == 1  # the image that it was tried out on


# -- damage -----------------------------------------------------------------------------------------------------------


FAULTS = {
    "DC values go on over a restart marker": (
        "    memset(c->dc, 0, sizeof c->dc);\n}\n\nstatic int64_t",
        "}\nstatic int64_t",
    ),
    "a block's end that lies behind the last coefficient counts": ("2 * DCTSIZE2 + 1 }", "2 * DCTSIZE2 }"),
    "bits of a coefficient that lie behind are not skipped": ("used = all, on", "used += length, on"),
    "more is read than is at hand": ("AT_HAND = 57", "AT_HAND = 114"),
    "long codes are one longer": ("look.bits : LOOK + 1", "look.bits : LOOK + 2"),
    "cursors meet where they only come by": ("met = at_a == at_b", "met = at_a + 999 >= at_b"),
    "the second cursor's first MCU is missing": ("b.first + j * in_mcu", "b.first + (j + 1) * in_mcu"),
    "coefficients of the chunk before are there still": ("if (c->store && x->clean < end) {", "if (0) {"),
    "what is not there is zeros": ("while (count && begin_of(c, x, count) > c->size * 8)", "while (0)"),
}


@pytest.mark.parametrize(
    "fault", [pytest.param(one, marks=pytest.mark.soak if k else ()) for k, one in enumerate(FAULTS)]
)
def test_a_fault_in_reading_codes_is_caught(
    fault: str, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = _spoilt(*FAULTS[fault], tmp_path_factory.mktemp("codec"), monkeypatch)
    monkeypatch.setattr(jpeg, "agrees", lambda *_: True)
    with pytest.raises(AssertionError):
        _check_some(library)


def _check_some(library: Any) -> None:
    layout, found = KNOWN[4], Counter[str]()
    for step, restart, lengths in ((1, 0, (5, 9)), (1, 3, (12, 16)), (12, 2, (5, 10))):
        image = encoded(odd_jpeg((90, 121), layout, restart=restart, step=step, lengths=lengths), name="it")
        for y0, x0 in ((0, 0), (20, 40), (50, 80), (33, 16)):
            check_alike(image, (y0, x0, y0 + 30, x0 + 30), library=Counted(found, reader=library))
    image = encoded(LARGE["noise"], name="it")
    check_alike(image, (100, 40, 380, 300), library=Counted(found, reader=library))
    assert found["answered"] == found["asked"]  # one that gives up on sound files gives their pixels, too
    data = Jpeg(60, 70).data
    for at in range(data.find(b"\xff\xda") + 20, len(data) - 2, 97):
        check_alike(encoded(data[:at] + b"\xff\xd9", name="it"), (20, 10, 50, 70), library=library)


def test_what_ends_early_is_noticed() -> None:
    _check_some(codec())


def _spoilt(
    was: str, becomes: str, folder: Path, monkeypatch: pytest.MonkeyPatch, extra: tuple[str, ...] = ("-g",)
) -> Any:
    """The library, built with another text in place of one."""
    texts = {file.name: file.read_text(encoding="utf-8") for file in build.CODEC.iterdir()}
    assert sum(was in text for text in texts.values()) == 1
    for name, text in texts.items():
        (folder / name).write_text(text.replace(was, becomes, 1))
    monkeypatch.setattr(build, "CODEC", folder)
    try:
        made = build.build_codec(folder / "kernels.so", extra)
    except build.NoCompilerError:
        made = None
    if made is None:
        pytest.skip("nothing here builds it")
    return opened(ctypes.CDLL(str(made)))


# What libjpeg's headers do not tell of is tried out: when the codec is built, and when it is opened.
ANOTHER_LAYOUT = ("    boolean (*decode_mcu)(", "    void (*before)(j_decompress_ptr);\n    boolean (*decode_mcu)(")


@pytest.mark.parametrize("extra", [(), ("-g",)], ids=["tried out when built", "tried out when opened"])
def test_where_libjpeg_lies_otherwise_it_reads_codes_itself(
    extra: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = _spoilt(*ANOTHER_LAYOUT, tmp_path, monkeypatch, extra)
    assert bool(library.handle.ar_jpeg_reads_codes()) == bool(extra)
    assert not library.reads_codes
    assert codec().reads_codes
    found = Counter[str]()
    for y0, x0 in ((0, 0), (20, 40), (50, 80), (33, 16)):
        image = encoded(Jpeg(90, 121).data, name="it")
        check_alike(image, (y0, x0, y0 + 30, x0 + 30), library=Counted(found, reader=library))
    assert found["answered"] >= 4


def test_what_does_not_lie_in_the_file_is_refused() -> None:
    """Numbers that no caller would give are not followed out of memory."""
    data, rng, library = Jpeg(60, 50, restart=2).data, random.Random(6), codec()
    good = {"size": len(data), "strict": 1, "codes": 1, "reduce": 1, "channels": 3, "y1": 60, "x1": 50}
    assert library.decode(data, Window(**good)).shape == (60, 50, 3)
    wrong = 0
    for _ in range(2000):
        names = rng.sample(("strict", "codes", "reduce", "channels", "x0", "y0"), 2)
        try:
            library.decode(data, Window(**good | {name: rng.choice((-1, 0, 1, 2, 7, 16, 49)) for name in names}))
        except (ValueError, KeyError):
            wrong += 1
    assert wrong > 1000


# -- processes and threads --------------------------------------------------------------------------------------------


# -- layouts of chroma ----------------------------------------------------------------------------


@pytest.mark.parametrize("layout", [*KNOWN[:-1], *LAYOUTS], ids=str)
def test_what_pillow_reads_is_read_alike(layout: Layout) -> None:
    for height, width, restart in ((37, 61, 0), (8, 9, 2), (1, 1, 0), (50, 26, 1)):
        data = odd_jpeg((height, width), layout, restart=restart, seed=height)
        image = encoded(data, name="it")
        theirs = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
        np.testing.assert_array_equal(image.array(), theirs)
        np.testing.assert_array_equal(image.region(0, 0, height, width // 2 + 1), theirs[:, : width // 2 + 1])
