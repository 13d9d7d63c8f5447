"""`augrecipes convert-store`: a store of 0.1 has the same items, columns and words as one of today, or is refused."""

from __future__ import annotations

import json
import random
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from support.stores import ABOUT, OLD_COLUMNS, OLD_FORMS, TARGETS, all_of, of_before, old_rows, write_index
from typer.testing import CliRunner

from augrecipes.cli.app import app
from augrecipes.errors import StoreError
from augrecipes.store import StoreWriter, open_store
from augrecipes.store.convert import convert_store
from augrecipes.store.verify import verify_store


@pytest.mark.parametrize("form", OLD_FORMS)
def test_what_is_converted_is_the_store_of_today(form: str, tmp_path: Path) -> None:
    format, old = form.partition("-")[0], of_before(tmp_path / "old", form)
    with pytest.raises(StoreError, match=r"of augrecipes 0\.1: `augrecipes convert-store OLD NEW`"):
        open_store(old)
    done = CliRunner().invoke(app, ["convert-store", str(old), str(tmp_path / "new")])
    assert done.exit_code == 0, done.output
    with StoreWriter(tmp_path / "today", format=format, kind="image", targets=TARGETS, rows=4, about=ABOUT) as writer:
        for number, row in enumerate(old_rows()):
            writer.add(number, row)
        writer.finish(OLD_COLUMNS)
    assert all_of(tmp_path / "new") == all_of(tmp_path / "today")
    assert verify_store(tmp_path / "new") == []
    names = {path.name for path in (tmp_path / "new").iterdir()}
    assert {path.name: path.read_bytes() for path in (tmp_path / "today").iterdir()} == {
        name: (tmp_path / "new" / name).read_bytes() for name in names
    }
    with pytest.raises(StoreError, match="there is nothing to convert"):
        convert_store(tmp_path / "new", tmp_path / "newer")


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
    for number in range(60):
        index = json.loads(said)
        forged(index, rng)
        write_index(old, index)
        try:
            convert_store(old, tmp_path / str(number))
        except StoreError as error:
            assert re.match(rf"{tmp_path}/(old|\.?{number})", str(error.path)), error
        shutil.rmtree(tmp_path / f".{number}.partial", ignore_errors=True)
