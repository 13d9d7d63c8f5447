"""Law of every registered format: what is written comes back; and the same writing gives the same bytes."""

import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from support import stores
from support.checks import DEAR

from augrecipes import StoreError, verify_store
from augrecipes.store import StoreWriter, columns, make_item, open_store
from augrecipes.store.disk import map_file
from augrecipes.store.formats import FORMATS

_sizes = st.one_of(
    st.tuples(st.integers(1, 12), st.integers(1, 12)),
    st.tuples(st.just(1), st.integers(1, 5000)),
    st.tuples(st.integers(1, 5000), st.just(1)),
)
_names = st.one_of(
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=9),
    st.binary(max_size=9).map(lambda name: name.replace(b"\0", b"").decode("utf-8", "surrogateescape")),
)


@st.composite
def _arrays(draw: st.DrawFn, role: str, channels: tuple[int, ...]) -> Any:
    size, seed = draw(_sizes), draw(st.integers(0, 9))
    rng = np.random.default_rng(seed)
    if role == "image":
        array = rng.integers(0, 256, (*size, draw(st.sampled_from(channels))), np.uint8)
    else:
        dtype = draw(st.sampled_from(["u1", "<u2", "<i4", ">u2"]))
        low = -(2**31) if dtype == "<i4" else 0
        array = rng.integers(low, np.iinfo(dtype).max, size, endpoint=True).astype(dtype)
    return array[::-1, ::-1] if draw(st.booleans()) else array


def _rows(channels: tuple[int, ...]) -> st.SearchStrategy[Any]:
    def lists(role: str) -> st.SearchStrategy[Any]:
        return st.lists(_arrays(role, channels), max_size=3)

    return st.lists(st.tuples(lists("image"), lists("mask"), _names), max_size=5)


def round_trip(form: str, content: Any) -> None:
    """The law."""
    format = form.partition("-")[0]
    with stores.quick_folder() as folder:
        with StoreWriter(
            folder / "s", **stores.said(form), kind="bag", targets=stores.TARGETS, rows=len(content)
        ) as writer:
            for row, (images, masks, _) in enumerate(content):
                writer.add(row, {"image": images, "mask": masks})
            writer.finish({"source": [name for *_, name in content]})
        store = pickle.loads(pickle.dumps(open_store(folder / "s")))
        assert list(store.columns["source"]) == [name for *_, name in content]
        for row, (images, masks, _) in enumerate(content):
            for target, arrays in (("image", images), ("mask", masks)):
                numbers = store.items(target, row)
                assert len(numbers) == len(arrays)
                for number, array in zip(numbers, arrays, strict=True):
                    found = store.array(target, number)
                    expected = stores.kept(array, format)
                    assert found.dtype == array.dtype.newbyteorder("=")
                    assert store.shape(target, number) == found.shape == array.shape
                    assert np.array_equal(found, expected)
                    assert not (
                        FORMATS[format].for_role(store.targets[target]).decode is None and found.flags.writeable
                    )
        assert verify_store(store.path) == []
        assert [path.name for path in folder.iterdir()] == ["s"]


@pytest.mark.parametrize("format", stores.FORMS)
def test_what_is_written_comes_back(format: str) -> None:
    channels = (1, 3) if FORMATS[format.partition("-")[0]].encode else (1, 3, 4, 7)

    @settings(max_examples=DEAR.max_examples // 2, derandomize=True)
    @given(_rows(channels))
    def law(content: Any) -> None:
        round_trip(format, content)

    law()


def test_a_wrong_format_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: rows in another order, and items that overlap what stands before them."""
    wrong = replace(
        FORMATS["raw"],
        encode=lambda array, _: np.ascontiguousarray(array[::-1]).tobytes(),
        decode=lambda data, channels: np.frombuffer(data, np.uint8).reshape(2, -1, channels),
    )
    monkeypatch.setitem(FORMATS, "wrong", wrong)
    monkeypatch.setattr(stores, "kept", lambda array, _: array)
    array = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    with pytest.raises(AssertionError):
        round_trip("wrong", [([array], [], "")])


def test_jpeg_is_near_what_was_given() -> None:
    ramp = np.add.outer(np.arange(64), np.arange(80)).astype(np.uint8)
    image = np.stack([ramp, 255 - ramp, ramp // 2], axis=2)
    for array in (image, ramp[:, :, None]):
        assert np.abs(stores.kept(array, "jpeg").astype(int) - array).max() <= 4


def test_the_same_bytes_in_another_process(tmp_path: Path) -> None:
    for place in ("here", "there"):
        (tmp_path / place).mkdir()
    program = "import sys, pathlib\nfrom support import stores\n"
    program += "for form in sys.argv[2:]: stores.write(pathlib.Path(sys.argv[1]) / form, form)"
    command = [sys.executable, "-c", program, str(tmp_path / "there"), *stores.FORMS]
    subprocess.run(command, check=True, cwd=Path(__file__).parents[1], timeout=60)
    for form in stores.FORMS:
        here = stores.write(tmp_path / "here" / form, form)
        assert stores.digest(tmp_path / "there" / form) == stores.digest(here.path)
        assert list(stores.differences(here)) == []


@pytest.mark.parametrize("format", FORMATS)
def test_items_made_elsewhere_give_the_same_bytes(format: str, tmp_path: Path) -> None:
    plain = stores.write(tmp_path / "plain", format)
    made = [
        {
            target: [
                pickle.loads(pickle.dumps(make_item(a, format=format, role=stores.TARGETS[target])))  # type: ignore[arg-type]
                for a in arrays
            ]
            for target, arrays in row.items()
        }
        for row in stores.rows()
    ]
    assert stores.digest(stores.write(tmp_path / "made", format, made).path) == stores.digest(plain.path)


@pytest.mark.parametrize(
    ("format", "target", "array", "reason"),
    [
        ("raw", "image", np.zeros((2, 2), np.uint8), "uint8, uint16 or float32 H×W×C, not as uint8 2×2"),
        ("raw", "image", np.zeros((2, 2, 3), np.float64), "not as float64 2×2×3"),
        ("raw", "image", np.zeros((0, 2, 3), np.uint8), "no pixels"),
        ("raw", "mask", np.zeros((2, 2), np.int64), "uint8, uint16, int32 or float32 H×W, not as int64"),
        ("jpeg", "image", np.zeros((2, 2, 4), np.uint8), "1 or 3 channels, not 4"),
        ("jpeg", "image", np.zeros((70_000, 1, 1), np.uint8), "70,000×1"),
        ("jpeg", "image", np.zeros((2, 2, 3), np.uint16), "8 bits, not of uint16; pack as raw or lossless"),
    ],
)
def test_what_a_store_does_not_keep(format: str, target: str, array: Any, reason: str, tmp_path: Path) -> None:
    with stores.opened(tmp_path / "s", format, stores.rows()) as writer:
        with pytest.raises(StoreError, match=f"row 0: .*{reason}") as caught:
            writer.add(0, {"image": [np.ones((1, 1, 3), np.uint8)], target: [array]})
        assert caught.value.path == str(tmp_path / "s")
        assert writer.done == 0


# Columns come back as they were given, read-only; what cannot be kept is refused.


_numbers = arrays.arrays(
    st.one_of(
        arrays.integer_dtypes(), arrays.unsigned_integer_dtypes(), arrays.floating_dtypes(), st.just(np.dtype("?"))
    ),
    arrays.array_shapes(min_dims=1, min_side=0, max_side=4),
)


@DEAR
@given(
    st.dictionaries(st.sampled_from(["a", "b/c", "dé"]), _numbers | st.lists(st.text("ab é", max_size=3)), min_size=1)
)
def test_columns_come_back(given_columns: dict[str, Any]) -> None:
    tables = columns.as_tables(given_columns)
    blob = columns.render(tables)
    assert columns.render(dict(reversed(tables.items()))) == blob
    with stores.quick_folder() as folder:
        (folder / "columns").write_bytes(blob)
        found = columns.load(map_file(folder / "columns", len(blob)), "columns")
        with np.load(folder / "columns") as others:
            assert all(name in others or f"{name}.text" in others for name in given_columns)
    assert found.keys() == given_columns.keys()
    for name, column in given_columns.items():
        if isinstance(column, list):
            assert list(found[name]) == column
        else:
            assert found[name].dtype == column.dtype.newbyteorder("=")
            assert np.array_equal(found[name], column, equal_nan=column.dtype.kind == "f")
            assert not found[name].flags.writeable
            assert found[name].flags.aligned


@pytest.mark.parametrize(
    ("name", "column", "reason"),
    [
        ("label", np.array(["a"]), "numbers and booleans"),
        ("label", np.array([None]), "numbers and booleans"),
        ("label", np.array([1j]), "numbers and booleans"),
        ("label", [1, 2], "neither an array nor a list of str"),
        ("label", ["a\0b"], "cannot be kept"),
        ("label", ["\ud800"], "neither an array nor a list of str"),
        ("label", ["\udcc3\udca9"], "cannot be kept"),
        ("items/image/start", np.zeros(1), "cannot be named"),
        ("../label", np.zeros(1), "cannot be named"),
        ("", np.zeros(1), "cannot be named"),
    ],
)
def test_what_is_no_column(name: str, column: Any, reason: str, tmp_path: Path) -> None:
    with StoreWriter(tmp_path / "s", format="raw", kind="image", targets={"image": "image"}, rows=0) as writer:
        with pytest.raises(StoreError, match=reason):
            writer.finish({name: column})
        writer.finish({"label": np.zeros(0)})
    assert open_store(tmp_path / "s").columns["label"].shape == (0,)


@pytest.mark.parametrize("about", [{"a": {1, 2}}, {"a": float("nan")}, {"a": object()}])
def test_what_is_not_json(about: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="must be JSON"):
        stores.opened(tmp_path / "s", "raw", stores.rows(), about=about)
    assert list(tmp_path.iterdir()) == []


# What is particular to one format.


def test_raw_items_begin_at_lines_of_the_cache(tmp_path: Path) -> None:
    store = stores.write(tmp_path / "s", "raw")
    for target in store.targets:
        assert (store.tables[target].start % 64 == 0).all()
