"""Annotations that are broken in any way: a typed error that names the file, or a table; never anything else."""

from __future__ import annotations

import json
import random
import warnings
from pathlib import Path
from typing import Any

import pytest
from sets import OUTLINED, WRITERS, random_set
from test_one_table import listed, recipe

from augrecipes.errors import DataError

WORDS = (
    b"null", b"-1", b"1e999", b"NaN", b'"', b"[", b"{", b"}", b"]", b",", b"\xff", b"\0", b"9" * 5000, b"<!DOCTYPE a>",
    b"<", b"&x;",
    b"[[[[", b"true", b"\n", b"\r", b"../", b"0", b"-", b"1e30", b"\xef\xbb\xbf", b"1e-320", b"<a>", b"nan", b"inf",
    b"1" * 400,
)  # fmt: skip
RECIPES = (
    recipe("pascal_voc", keypoints="format: xy, labels: ring", mask="required"),
    recipe("yolo", keypoints="format: yx, remove_invisible: false"),
    recipe("coco"),
)
_SEPARATORS = b' \n"<>,:;[]{}='


def mutated(data: bytes, chance: random.Random) -> bytes:
    """A few places changed: bytes, words, or a part that is lost, doubled or moved."""
    made = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 5))):
        at = chance.randrange(len(made) + 1)
        end = min(len(made), at + chance.choice((1, 3, 10, 200)))
        match chance.randrange(7):
            case 0:
                made[at:end] = b""
            case 1:
                made[at:at] = made[at:end]
            case 2:
                made[at:end] = bytes(chance.randrange(256) for _ in range(end - at))
            case 3:
                made[at:at] = chance.choice(WORDS)
            case 4:
                made = made[:at]
            case _:
                # A whole word, so that the syntax stays and the meaning goes.
                while end < len(made) and made[end] not in _SEPARATORS:
                    end += 1
                while at > 0 and made[at - 1] not in _SEPARATORS:
                    at -= 1
                made[at : max(at, end)] = chance.choice(WORDS)
    return bytes(made)


VALUES = (
    None, True, -1, 0, 1.5, 1e300, -1e300, 10**400, "", "x", "\0", "\ud800", "x" * 5000, "../a", [], {}, [[]],
    [None], [1, "2"],
    {"counts": "a", "size": [1, 2]}, {"counts": [1, 2], "size": [3, 4]}, {"counts": [6, -2], "size": [2, 2]}, [1, 2, 3],
    {"counts": [3, 1], "size": [2, 2]}, {"size": [0, 0]}, {"counts": [], "size": [10**9, 10**9]}, [[1, 2, 3, 4, 5, 6]],
    float("nan"), 2**31, 2**63, 2**64,
)  # fmt: skip


def restructured(data: bytes, chance: random.Random) -> bytes:
    """JSON with another value, or none, in a few places, of which all are as likely."""
    made = json.loads(data)
    for _ in range(chance.choice((1, 1, 2))):
        places: list[tuple[Any, Any]] = []
        todo = [made]
        while todo:
            node = todo.pop()
            keys = list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
            places += [(node, key) for key in keys]
            todo += [node[key] for key in keys]
        if places:
            node, key = chance.choice(places)
            if chance.random() < 0.2:
                del node[key]
            else:
                node[key] = chance.choice(VALUES)
    return json.dumps(made).encode()


def survives(path: Path, seed: int) -> str:
    """What comes of one mutated file of a set, for one of the recipes."""
    chance = random.Random(seed)
    files = (
        [path]
        if path.is_file()
        else sorted(file for file in path.rglob("*") if file.suffix in (".txt", ".xml", ".json"))
    )
    if path.suffix == ".yaml":
        files += sorted((path.parent / "labels").rglob("*.txt"))
    file = chance.choice(files)
    before = file.read_bytes()
    json_too = file.suffix == ".json" and chance.random() < 0.6
    file.write_bytes((restructured if json_too else mutated)(before, chance))
    made = chance.choice(RECIPES)
    options: dict[str, Any] = {"check": chance.random() < 0.7, "crowds": chance.choice(("drop", "keep"))}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            table = listed(path, made, **options)
            for k in range(len(table)):
                if table.outlines is not None:
                    table.outlines.draw(k, 40, 50)
        return "listed"
    except DataError as error:
        named = str(error)
        assert str(path.parent) in named, named
        assert "Traceback" not in named
        return "refused"
    finally:
        file.write_bytes(before)


def run(folder: Path, name: str, seeds: range) -> None:
    found = {"listed": 0, "refused": 0}
    for seed in seeds:
        if seed % 50 == seeds[0] % 50:
            of = random_set(seed, polygons=name in OUTLINED and seed % 100 < 50)
            path = WRITERS[name](folder / f"{name}{seed}", of)
        found[survives(path, seed)] += 1
    assert min(found.values()) > len(seeds) / 100, found  # little is left of XML with any fault


@pytest.mark.parametrize("name", WRITERS)
def test_mutated_files_are_listed_or_refused(tmp_path: Path, name: str) -> None:
    run(tmp_path, name, range(100))


@pytest.mark.soak
@pytest.mark.parametrize("name", WRITERS)
def test_many_mutated_files_are_listed_or_refused(tmp_path: Path, name: str) -> None:
    run(tmp_path, name, range(1000, 6000))
