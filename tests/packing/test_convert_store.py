"""`augrecipes convert-store`: a store of 0.1 has the same items, columns and words as one of today, or is refused."""

from __future__ import annotations

import hashlib
import json
import random
import re
import shutil
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from stored import all_of
from typer.testing import CliRunner

from augrecipes.cli.app import app
from augrecipes.errors import StoreError
from augrecipes.store import StoreWriter, make_item, open_store
from augrecipes.store.columns import Texts
from augrecipes.store.convert import convert_store
from augrecipes.store.formats import FORMATS
from augrecipes.store.verify import verify_store

TARGETS: dict[str, Any] = {"image": "image", "mask": "mask"}
ABOUT = {"recipe": "a1b2", "classes": ["cat", "d\u00f6g"]}
COLUMNS: dict[str, Any] = {"label": np.array([0, 1, -1, 2]), "source": ["1.jpg", "\u00e9.jpg", "\udcff.jpg", ""]}
FORMS = ("raw", "jpeg", "hdf5", "raw-300", "jpeg-900", "lossless")


def rows() -> list[dict[str, list[NDArray[Any]]]]:
    rng = np.random.default_rng(0)
    image = lambda *shape: rng.integers(0, 256, shape, np.uint8)  # noqa: E731
    return [
        {"image": [image(7, 5, 3)], "mask": [image(7, 5)]},
        {"image": [image(4, 4, 3), image(9, 2, 1)], "mask": []},
        {"image": [], "mask": []},
        {"image": [image(20, 20, 3)], "mask": [image(20, 20).astype("<i4")]},
    ]


def of_before(path: Path, form: str) -> Path:
    """A store as 0.1 wrote it: of version 1 with a file a target, or of version 2 in shards of so many bytes."""
    format, _, most = form.partition("-")
    path.mkdir()
    columns: dict[str, Any] = dict(COLUMNS)
    targets: dict[str, Any] = {}
    for name, role in TARGETS.items():
        kept, head = FORMATS[format].of(role), 2048 if format == "hdf5" else 0
        files, bases, records, first = [bytearray(b"\1" * head)], [0], [], [0]
        for row in rows():
            for array in row[name]:
                item = make_item(array, format=format, role=role)
                data = item.data.tobytes() if isinstance(item.data, np.ndarray) else item.data
                step = max(kept.alignment, array.itemsize)
                if most and files[-1] and len(files[-1]) + step + len(data) > int(most):  # behind a hole of a page
                    bases.append((-(-(bases[-1] + len(files[-1])) // 4096) + 1) * 4096)
                    files.append(bytearray())
                files[-1] += bytes(-len(files[-1]) % step)
                records.append((bases[-1] + len(files[-1]), len(data), *item.shape, item.sample, item.checksum))
                files[-1] += data
            first.append(len(records))
        table = np.array(records, np.int64).reshape(-1, 7)
        own = {"start": table[:, 0], "size": table[:, 1], "shape": table[:, 2:5].astype("<i4"), "rows": np.array(first)}
        own |= {"sample": table[:, 5].astype("u1"), "checksum": table[:, 6].astype("<u4")}
        columns |= {f"items/{name}/{key}": column for key, column in own.items()}
        names = [f"{name}-{k:05}{kept.suffix}" for k in range(len(files))] if most else [f"{name}{kept.suffix}"]
        for file, content in zip(names, files, strict=True):
            (path / file).write_bytes(content)
        sizes = [{"file": file, "size": len(content)} for file, content in zip(names, files, strict=True)]
        one = {"size": len(files[0]), "head": head, "end": len(files[0]), "frame": zlib.crc32(files[0][:head])}
        targets[name] = {"role": role, **({"shards": sizes} if most else one)}
    blob, entries = bytearray(), {}

    def put(array: NDArray[Any]) -> dict[str, Any]:
        blob.extend(bytes(-len(blob) % 64))
        entry = {"at": len(blob), "dtype": array.dtype.str, "shape": list(array.shape)}
        blob.extend(np.ascontiguousarray(array).tobytes())
        return entry

    for name, column in sorted(columns.items()):
        text = Texts.of(column) if isinstance(column, list) else None
        entries[name] = put(column) if text is None else {"text": put(text.blob), "offsets": put(text.offsets)}
    (path / "columns.arrays").write_bytes(blob)
    said = {"size": len(blob), "checksum": zlib.crc32(blob), "entries": entries}
    index = {"about": ABOUT, "columns": said, "format": format, "kind": "image", "rows": 4, "targets": targets}
    quality = 95 if FORMATS[format].encode else None
    write_index(path, {**index, "quality": quality, "store": "augrecipes", "version": 2 if most else 1})
    return path


def write_index(path: Path, index: dict[str, Any]) -> None:
    """An index with a digest that fits."""
    dump = lambda value: (json.dumps(value, sort_keys=True, indent=1) + "\n").encode("ascii")  # noqa: E731
    body = {key: value for key, value in index.items() if key != "digest"}
    (path / "index.json").write_bytes(dump({**body, "digest": hashlib.sha256(dump(body)).hexdigest()}))


@pytest.mark.parametrize("form", FORMS)
def test_what_is_converted_is_the_store_of_today(form: str, tmp_path: Path) -> None:
    format, old = form.partition("-")[0], of_before(tmp_path / "old", form)
    with pytest.raises(StoreError, match=r"of augrecipes 0\.1: `augrecipes convert-store OLD NEW`"):
        open_store(old)
    done = CliRunner().invoke(app, ["convert-store", str(old), str(tmp_path / "new")])
    assert done.exit_code == 0, done.output
    with StoreWriter(tmp_path / "today", format=format, kind="image", targets=TARGETS, rows=4, about=ABOUT) as writer:
        for number, row in enumerate(rows()):
            writer.add(number, row)
        writer.finish(COLUMNS)
    assert all_of(tmp_path / "new") == all_of(tmp_path / "today")
    assert verify_store(tmp_path / "new") == []
    names = {path.name for path in (tmp_path / "new").iterdir()}
    assert {path.name: path.read_bytes() for path in (tmp_path / "today").iterdir()} == {
        name: (tmp_path / "new" / name).read_bytes() for name in names
    }
    with pytest.raises(StoreError, match="there is nothing to convert"):
        convert_store(tmp_path / "new", tmp_path / "newer")


@pytest.mark.parametrize("form", FORMS)
def test_damaged_ones_are_refused(form: str, tmp_path: Path) -> None:
    """The law: what is converted is what was written, or a typed error names a file of the old store."""
    whole, rng, refused = of_before(tmp_path / "whole", form), random.Random(form), 0
    wanted, old = all_of(convert_store(whole, tmp_path / "wanted").path), tmp_path / "old"
    for file in sorted(path.name for path in whole.iterdir()) * 6:
        shutil.rmtree(old, ignore_errors=True)
        shutil.rmtree(tmp_path / "new", ignore_errors=True)
        shutil.copytree(whole, old)
        data = bytearray((old / file).read_bytes())
        if rng.random() < 0.5:
            del data[rng.randrange(len(data)) :]
        else:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        (old / file).write_bytes(data)
        try:
            convert_store(old, tmp_path / "new")
        except StoreError as error:
            refused += 1
            assert str(error.path).startswith(str(old))
            shutil.rmtree(tmp_path / ".new.partial", ignore_errors=True)
        else:
            assert all_of(tmp_path / "new") == wanted
    assert refused


def forged(index: dict[str, Any], rng: random.Random) -> None:
    """Changes some word or number of an index."""
    holder: Any = index
    while True:
        key = rng.choice(sorted(holder) if isinstance(holder, dict) else range(len(holder)))
        if isinstance(holder[key], dict | list) and holder[key] and rng.random() < 0.9:
            holder = holder[key]
            continue
        holder[key] = rng.choice(["../whole/image.bin", "|O8", "<i8", -1, 0, 5, 2**62, None, [], {}, [2**40], 0.5, "x"])
        return


@pytest.mark.parametrize("form", ["raw", "raw-300"])
def test_forged_ones_do_no_harm(form: str, tmp_path: Path) -> None:
    """Whoever writes an index can write its digest, too: nothing is believed, and nothing outside is read."""
    old, rng = of_before(tmp_path / "old", form), random.Random(form)
    said = (old / "index.json").read_text()
    for number in range(150):
        index = json.loads(said)
        forged(index, rng)
        write_index(old, index)
        try:
            convert_store(old, tmp_path / str(number))
        except StoreError as error:
            assert re.match(rf"{tmp_path}/(old|\.?{number})", str(error.path)), error
        shutil.rmtree(tmp_path / f".{number}.partial", ignore_errors=True)
