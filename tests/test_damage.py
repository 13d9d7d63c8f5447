"""Damage, one law for all formats: what was written, or a typed error that names the file. Never anything else."""

import io
import random
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support import encoded_images as pictures
from support import stores
from support.damage import check, damaged, each_damaged, read_or_none, some_window, survives
from support.encoded_images import Jpeg

from augrecipes import DataError, StoreError, merge_parts, pack, verify_store
from augrecipes.images import lossless
from augrecipes.images.format import UnreadableError
from augrecipes.recipe.parse import parse_text
from augrecipes.store import staging
from augrecipes.store.items import Items

# -- files with checksums ---------------------------------------------------------------------------------------------

Law = Callable[[Path, int], int]


def lossless_law(folder: Path, times: int) -> int:
    """Images without loss, as stores keep them."""
    array = (np.add.outer(np.arange(20) * 3, np.arange(11) * 2)[..., None] + np.arange(3)).astype(np.uint8)
    file = folder / "pictures" / "one"
    file.parent.mkdir()
    file.write_bytes(lossless.encode(array))

    def read() -> Any:
        try:
            found = lossless.LosslessImage(file.read_bytes()).array()
        except (UnreadableError, DataError, FileNotFoundError) as error:
            raise DataError(str(error), str(file)) from error
        return found.shape, found.tobytes()

    whole = array.shape, array.tobytes()
    return survives(file.parent, read, whole, each_damaged(file.parent, random.Random(0), 300 * times))


def store_law(form: str) -> Law:
    """A store whose bytes are verified."""

    def law(folder: Path, times: int) -> int:
        place = Path(stores.write(folder / "store", form).path)

        def read() -> Any:
            for fault in verify_store(place):
                raise StoreError(fault.reason, fault.path)
            return stores.all_of(place)

        return survives(place, read, stores.all_of(place), each_damaged(place, random.Random(form), 6 * times))

    return law


def parts_law(folder: Path, times: int) -> int:
    """Parts of a packing, which are merged."""
    for k in range(7):
        file = folder / "files" / f"{k}.png"
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(pictures.all_images()[0].data)
    recipe = parse_text("{version: 1, recipe: r, steps: [Resize: {height: 12, width: 10}]}")
    pack(recipe, str(file.parent), folder / "one", workers=0)
    for part in ("1/2", "2/2"):
        pack(recipe, str(file.parent), folder / "parts", part=part, workers=0, shard_size=500)

    def read() -> Any:
        merge_parts(folder / "parts")
        return stores.all_of(folder / "parts")

    wanted = stores.all_of(folder / "one")
    return survives(folder / "parts", read, wanted, each_damaged(folder / "parts", random.Random(0), 2 * times))


def staged_law(form: str) -> Law:
    """What an interrupted writer staged: it is not believed, and so nothing is refused."""

    def law(folder: Path, times: int) -> int:
        wanted = stores.digest(stores.write(folder / "wanted", form).path)
        path, content = folder / "store", stores.rows()
        with stores.opened(path, form, content) as begun:
            for row in range(4):
                begun.add(row, content[row], note=f"row {row}")

        def read() -> str:
            shutil.rmtree(path, ignore_errors=True)
            with stores.opened(path, form, content) as begun:
                assert begun.notes == [f"row {row}" for row in range(begun.done)]
            store = stores.write(path, form)
            assert list(stores.differences(store)) == []
            return stores.digest(path)

        staged = folder / ".store.partial"
        refused = survives(
            staged, read, wanted, each_damaged(staged, random.Random(1), 6 * times, ("lock", "plan.json"))
        )
        assert not refused
        return 1

    return law


CHECKED: dict[str, Law] = {
    "lossless": lossless_law,
    "parts": parts_law,
    **{f"store {form}": store_law(form) for form in stores.FORMS},
    **{f"staged {form}": staged_law(form) for form in stores.IN_SHARDS},
}


@pytest.mark.parametrize("times", [1, pytest.param(20, marks=pytest.mark.soak)])
@pytest.mark.parametrize("name", CHECKED)
def test_damaged_files_give_what_was_written_or_are_told(name: str, times: int) -> None:
    with stores.quick_folder() as folder:
        assert CHECKED[name](folder, times)


@pytest.mark.parametrize(
    ("name", "what", "instead"),
    [
        ("lossless", (lossless.zlib, "crc32"), lambda *_: 0),
        ("parts", (Items, "_confirm"), lambda self, item: None),
        ("staged raw-300", (staging, "file_record"), lambda path: ANY),
    ],
)
def test_bytes_that_are_believed_unseen_are_caught(
    name: str, what: tuple[Any, str], instead: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(*what, instead)
    with stores.quick_folder() as folder, pytest.raises((AssertionError, StoreError)):
        CHECKED[name](folder, 3)


# -- images ---------------------------------------------------------------------------------------------------------


def saved(array: NDArray[np.uint8]) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


FILES = {
    **{picture.name: picture.data for picture in pictures.all_images()},
    "plain.jpg": Jpeg(60, 45).data,
    "restarts.jpg": Jpeg(60, 45, restart=2, turn=6).data,
    "odd restarts.jpg": Jpeg(60, 45, restart=5, sampling="4:4:4").data,
    "grey restarts.jpg": Jpeg(60, 45, components=1, restart=3).data,
    "rgb.npy": saved(pictures.RGB),
    "grey.npy": saved(np.asfortranarray(pictures.GREY)),
}
NAMES = st.sampled_from(sorted(FILES))


OFTEN = settings(max_examples=max(100, settings.default.max_examples))


@OFTEN
@given(NAMES, st.randoms(use_true_random=False))
def test_damaged_images_are_read_or_refused(name: str, rng: random.Random) -> None:
    check(damaged(FILES[name], rng), rng)


@given(NAMES, st.binary(max_size=80), st.randoms(use_true_random=False))
def test_noise_after_a_true_beginning_is_survived(name: str, noise: bytes, rng: random.Random) -> None:
    for keep in (0, 2, 4, 12, 26, 40):
        check(FILES[name][:keep] + noise, rng)


@pytest.mark.parametrize("name", FILES)
def test_a_cut_file_never_gives_other_pixels(name: str) -> None:
    data, rng = FILES[name], random.Random(1)
    whole, size = read_or_none(data), len(data)
    for keep in {*range(0, size, 1 + size // 50), *range(size - 20, size)}:
        window = y0, x0, y1, x1 = some_window(rng, *whole.shape[:2])
        image, part = read_or_none(data[:keep]), read_or_none(data[:keep], window)
        for found, expected in ((image, whole), (part, whole[y0:y1, x0:x1])):
            if found is not None:  # what is missing is padding, a checksum or a note
                np.testing.assert_array_equal(found, expected)
                assert size - keep < 16


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith(".jpg")])
def test_an_end_marker_too_early_is_refused(name: str) -> None:
    data = FILES[name]
    start = data.rfind(b"\xff\xda") + 30
    for at in range(start, start + (len(data) - start) // 5, 37):
        assert read_or_none(data[:at] + b"\xff\xd9" + data[at:]) is None


def test_nothing_is_said_on_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    rng, found = random.Random(7), Counter[str]()
    for name, data in FILES.items():
        assert check(data, rng) == "read"
        for _ in range(25 if not name.endswith(".tif") else 0):  # of damage in those libtiff itself tells
            found[check(damaged(data, rng), rng)] += 1
    said = capfd.readouterr()
    assert (said.out, said.err) == ("", "")
    assert 50 < found["read"] < found.total() * 0.8  # some damage is harmless, most is not
    assert found["refused"] > found["part"]
