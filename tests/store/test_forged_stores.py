"""Nothing in a store's index or columns is trusted: what was edited is refused by name, or does no harm."""

import io
import json
import random
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import damage as forging
from support.folders import listed_images
from support.kinds import KINDS, packed, recipe_of

from augrecipes import AugrecipesError, Packed, StoreError, TileBags, draw_slides, pack
from augrecipes.recipe.parse import parse_text
from augrecipes.sources import stored
from augrecipes.store import columns, index, open_store, reader

POINTS = """
version: 1
recipe: points
inputs: {boxes: {format: pascal_voc, labels: box_labels}, keypoints: {format: xy}, mask: optional}
steps:
  - SmallestMaxSize: {max_size: 30}
  - RandomCrop: {height: 20, width: 18}
"""
STAINS = """
version: 1
recipe: stains
kind: bag
steps:
  - Crop: {x_max: 64, y_max: 64}
  - StainNormalize
"""
NAMES = (*(kind.name for kind in KINDS), "points", "stains")


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory, roots: dict[str, Path]) -> dict[str, tuple[Path, str]]:
    """A store of each kind, and one with boxes, keypoints, weights, groups, masks and an unreadable file."""
    made = {kind.name: (packed(kind, roots[kind.name]), recipe_of(kind)) for kind in KINDS}
    root = tmp_path_factory.mktemp("points")
    rows = listed_images(root)
    (root / "4.png").write_bytes(b"no picture")
    pack(parse_text(POINTS), str(rows), root / "store", workers=0)
    made["points"] = root / "store", POINTS
    root = tmp_path_factory.mktemp("stains")
    slides = draw_slides(root / "slides", bags=2)
    pack(parse_text(STAINS), TileBags(slides, parse_text(STAINS), max_tiles=2), root / "store", workers=0)
    made["stains"] = root / "store", STAINS
    return made


def read_all(place: Path, recipe: str) -> None:
    """Opens a store and reads all that is in it, as a loader would."""
    ds = Packed(place, parse_text(recipe), on_error="raise")
    _ = (ds.labels, ds.weights, ds.groups, ds.classes, ds.class_to_idx, ds.box_classes, ds.bags, ds.fingerprint())
    for i in range(len(ds)):
        if i in ds.unreadable:
            continue
        ds[0, i], ds[1, i], ds.paths(i)
    ds.read_batch(0, np.arange(min(3, len(ds))))


def fields(content: Any) -> Iterator[str]:
    for place in forging.places(content):
        yield str(place.keys[-1])


class Forger:
    """A copy of a store that can be forged again and again."""

    def __init__(self, whole: Path, recipe: str, folder: Path) -> None:
        self.place, self.recipe = folder / whole.name, recipe
        shutil.rmtree(self.place, ignore_errors=True)
        shutil.copytree(whole, self.place)
        for suffix in (".bin", ".h5", ".jpgs"):
            (folder / f"secret{suffix}").write_bytes(bytes(10**5))
        self.content = json.loads((whole / "index.json").read_bytes())
        self.data = (whole / "columns.npz").read_bytes()
        self.names = {*fields(self.content), "nested", "digest", "about"}

    def heal(self) -> None:
        (self.place / "columns.npz").chmod(0o644)
        (self.place / "columns.npz").write_bytes(self.data)

    def held(self, what: str) -> str:
        """The law: what was forged is refused by name, or does no harm. Which of both it was."""
        try:
            read_all(self.place, self.recipe)
        except StoreError as error:
            assert str(error.path).startswith(str(self.place)), what
            assert any(name in str(error) for name in self.names), f"{what}: {error}"
            assert len(str(error)) < 2500, what
            return "refused"
        except AugrecipesError:
            return "refused"
        except Exception as error:
            raise AssertionError(f"{what}: {error!r}") from error
        return "read"


def every_field_holds(forger: Forger, rng: random.Random, tries: int | None) -> dict[str, int]:
    found = {"refused": 0, "read": 0}
    pairs = [(place, change) for place in forging.places(forger.content) for change in forging.CHANGES]
    for place, change in pairs if tries is None else rng.sample(pairs, min(tries, len(pairs))):
        forging.forge_field(forger.place, forger.content, place, change, rng)
        found[forger.held(f"{change.__name__} of {'.'.join(map(str, place.keys))}")] += 1
    return found


def every_column_holds(forger: Forger, rng: random.Random, tries: int) -> None:
    for _ in range(tries):
        name = forging.forge_column(forger.place, forger.content, forger.data, rng)
        forger.held(f"column {name}")
    forger.heal()


@pytest.fixture
def mapped(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Every file that is mapped."""
    seen: list[Path] = []

    def watched(path: Path, size: int) -> Any:
        seen.append(path)
        return map_file(path, size)

    map_file = reader.map_file
    monkeypatch.setattr(reader, "map_file", watched)
    return seen


@pytest.mark.parametrize("name", NAMES)
def test_a_forged_store_is_refused_by_name(
    stores: dict[str, tuple[Path, str]], name: str, tmp_path: Path, mapped: list[Path]
) -> None:
    forger = Forger(*stores[name], tmp_path)
    assert forger.held("nothing") == "read"
    found = every_field_holds(forger, random.Random(name), 16)
    assert min(found.values()) > 0, found
    every_column_holds(forger, random.Random(name), 6)
    assert {path.resolve().parent for path in mapped} == {forger.place}


@pytest.mark.soak
@pytest.mark.parametrize("name", NAMES)
def test_every_field_and_change(
    stores: dict[str, tuple[Path, str]], name: str, tmp_path: Path, mapped: list[Path]
) -> None:
    forger = Forger(*stores[name], tmp_path)
    for seed in range(3):
        every_field_holds(forger, random.Random(seed), None)
        every_column_holds(forger, random.Random(seed), 2000)
    assert {path.resolve().parent for path in mapped} == {forger.place}


@pytest.mark.parametrize("part", ["index", "about"])
def test_a_reader_that_trusts_is_caught(
    stores: dict[str, tuple[Path, str]], part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if part == "index":
        monkeypatch.setattr(index, "check", lambda *given: None)
    else:
        monkeypatch.setattr(stored, "_check_about", lambda store: None)
    with pytest.raises(AssertionError):
        every_field_holds(Forger(*stores["points"], tmp_path), random.Random(0), 200)


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "a/b", ".."])
def test_a_target_outside_of_the_store(stores: dict[str, tuple[Path, str]], name: str, tmp_path: Path) -> None:
    """The very bytes that the index speaks of lie outside: they are not mapped."""
    forger = Forger(*stores["image"], tmp_path)
    shutil.copy(forger.place / "image-00000.bin", tmp_path / "secret-00000.bin")
    table = columns.load(forger.data, "")
    renamed = columns.render({key.replace("items/image/", f"items/{name}/"): column for key, column in table.items()})
    shards = [{**shard, "files": {name: shard["files"]["image"]}} for shard in forger.content["shards"]]
    forging.write_columns(forger.place, {**forger.content, "targets": {name: "image"}, "shards": shards}, renamed)
    with pytest.raises(StoreError, match=r"targets|shards"):
        open_store(forger.place)


@pytest.mark.parametrize("text", ["{'descr': " + "-" * 3000 + "1}", "(" * 3000, "{}", "x", "1" * 5000])
def test_a_head_of_an_array_that_is_none(stores: dict[str, tuple[Path, str]], text: str, tmp_path: Path) -> None:
    forger, made = Forger(*stores["image"], tmp_path), io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("label.npy", b"\x93NUMPY\1\0" + len(text).to_bytes(2, "little") + text.encode() + bytes(80))
    forging.write_columns(forger.place, forger.content, made.getvalue())
    with pytest.raises(StoreError, match="no columns of a store"):
        open_store(forger.place)


@pytest.mark.parametrize("part", ["..", "../secret", "/etc", "part-1-of-2/..", "part-1-of-2\n", "part-1-of-2/"])
def test_a_part_outside_of_the_store(stores: dict[str, tuple[Path, str]], part: str, tmp_path: Path) -> None:
    forger = Forger(*stores["image"], tmp_path)
    shards = [{**shard, "part": part} for shard in forger.content["shards"]]
    forging.write_index(forger.place, {**forger.content, "shards": shards})
    with pytest.raises(StoreError, match="shards"):
        open_store(forger.place)
