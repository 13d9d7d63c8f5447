"""Random sets, written in every format, list to the same columns."""

import json
import random
import re
import warnings
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import damage
from support.annotations import OUTLINED, WRITERS, Picture, Set, instances, listed, random_set, recipe, rows
from support.checks import in_a_soak, tries
from test_annotation_rules import test_images_outside_are_read_when_that_is_said as outside

from augrecipes import DataError, ImageFolder
from augrecipes.sources import paths
from augrecipes.sources.annotations import coco, records, targets
from augrecipes.sources.annotations.records import AnnotationSet

FORMATS = ("pascal_voc", "coco", "yolo", "albumentations")
FEW = tries(6)


def expected(image: Picture, classes: tuple[str, ...]) -> list[tuple[int, list[float]]]:
    """The rule in plain words: marked ones are left out, the rest cut to the image, what is empty then left out."""
    found = []
    for thing in image.things:
        x1, x2 = (min(max(v, 0.0), float(image.width)) for v in thing.corners[::2])
        y1, y2 = (min(max(v, 0.0), float(image.height)) for v in thing.corners[1::2])
        if not thing.flagged and x2 - x1 > 1e-4 and y2 - y1 > 1e-4:
            found.append((classes.index(thing.label), [x1, y1, x2, y2]))
    return found


def in_px(rows: np.ndarray, format: str, image: Picture) -> np.ndarray:
    rows = rows.astype(float)
    if format == "yolo":
        rows = np.hstack([rows[:, :2] - rows[:, 2:] / 2, rows[:, :2] + rows[:, 2:] / 2])
    if format in ("yolo", "albumentations"):
        rows = rows * ([image.width, image.height] * 2)
    if format == "coco":
        rows = np.hstack([rows[:, :2], rows[:, :2] + rows[:, 2:]])
    return rows


def check_boxes(path: Path, of: Set, format: str) -> None:
    table = listed(path, recipe(format))
    assert [table.images.name(k).rpartition("images/")[2].rpartition("train/")[2] for k in range(len(table))] == [
        image.name for image in of.pictures
    ]
    assert table.boxes.labels is not None
    for k, image in enumerate(of.pictures):
        wanted = expected(image, of.classes)
        labels = table.boxes.labels_of(k)
        assert labels is not None
        assert [table.box_classes[label] for label in labels] == [of.classes[label] for label, _ in wanted]
        got = in_px(table.boxes.rows(k), format, image)
        np.testing.assert_allclose(got, np.reshape([corners for _, corners in wanted], (-1, 4)), atol=2e-4)


@pytest.mark.parametrize("name", WRITERS)
@FEW
@given(seed=st.integers(0, 10**6), format=st.sampled_from(FORMATS))
def test_random_sets_list_to_what_is_in_them(
    tmp_path_factory: pytest.TempPathFactory, name: str, seed: int, format: str
) -> None:
    """And boxes at and over every edge are taken by albumentations, and come out as they went in."""
    of = random_set(seed)
    path = WRITERS[name](tmp_path_factory.mktemp("set"), of)
    check_boxes(path, of, format)
    ds = ImageFolder(files=path, recipe=recipe(format))
    for k, sample in enumerate(ds):
        np.testing.assert_allclose(sample["boxes"].numpy(), ds.table.boxes.rows(k), atol=1e-3)
        assert sample["kinds"].tolist() == ds.table.boxes.labels_of(k).tolist()


@pytest.mark.parametrize("name", OUTLINED)
@FEW
@given(seed=st.integers(0, 10**6))
def test_polygons_are_drawn_exactly(tmp_path_factory: pytest.TempPathFactory, name: str, seed: int) -> None:
    of = random_set(seed, polygons=True, flagged=False)
    path = WRITERS[name](tmp_path_factory.mktemp("set"), of)
    drawn = listed(path, recipe(mask="required"))
    assert drawn.boxes is None
    for k, image in enumerate(of.pictures):
        mask = drawn.outlines.draw(k, image.height, image.width)
        want = np.zeros_like(mask)
        for thing in image.things:
            want[inside(thing.polygon, image)] = of.classes.index(thing.label) + 1
        assert (mask != want).mean() < 0.01  # shares of YOLO round: a centre may lie on an edge


def inside(polygon: list[float], image: Picture) -> np.ndarray:
    """Pixels whose centres lie in a polygon: by its angles, the slow way."""
    x, y = np.meshgrid(np.arange(image.width) + 0.5, np.arange(image.height) + 0.5)
    ring = np.reshape(polygon, (-1, 2))
    odd = np.zeros(x.shape, bool)
    for (x1, y1), (x2, y2) in zip(ring, np.roll(ring, -1, axis=0), strict=True):
        crosses = (y1 <= y) != (y2 <= y)
        with np.errstate(divide="ignore", invalid="ignore"):
            odd ^= crosses & (x >= x1 + (y - y1) * (x2 - x1) / (y2 - y1))
    return odd


# Annotations that are broken in any way: a typed error that names the file, or a table; never anything else.


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
WORD = re.compile(rb'[^ \n"<>,:;\[\]{}=]+')


def mutated(data: bytes, chance: random.Random) -> bytes:
    """A few places changed: bytes, or whole words, so that the syntax stays and the meaning goes."""
    made = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 5))):
        words = [*WORD.finditer(made)]
        if words and chance.random() < 0.4:
            start, end = chance.choice(words).span()
            made[start:end] = chance.choice(WORDS)
        elif made:
            chance.choice(damage.DAMAGES)(made, chance.randrange(len(made)), chance)
    return bytes(made)


VALUES = (
    1e300, 10**400, "x" * 5000, [[]], [None], [1, "2"],
    {"counts": "a", "size": [1, 2]}, {"counts": [1, 2], "size": [3, 4]}, {"counts": [6, -2], "size": [2, 2]}, [1, 2, 3],
    {"counts": [3, 1], "size": [2, 2]}, {"size": [0, 0]}, {"counts": [], "size": [10**9, 10**9]}, [[1, 2, 3, 4, 5, 6]],
)  # fmt: skip


def restructured(data: bytes, chance: random.Random) -> bytes:
    """JSON with another value, or none, in a few places, of which all are as likely."""
    made = json.loads(data)
    for _ in range(chance.choice((1, 1, 2))):
        if places := [*damage.places(made)]:
            place = chance.choice(places)
            holder, key = place.holder(made), place.keys[-1]
            if chance.random() < 0.5:
                holder[key] = deepcopy(chance.choice(VALUES))
            else:
                chance.choice(damage.CHANGES)(holder, key, chance)
    return json.dumps(made).encode()


def survives(path: Path, seed: int) -> str:
    """What comes of one mutated file of a set, for one of the recipes."""
    chance = random.Random(seed)
    beside = {".yaml": path.parent / "labels", "": path}.get(path.suffix, path.parent / "none")
    files = [path] if path.is_file() else []
    file = chance.choice(files + sorted(file for file in beside.rglob("*") if file.suffix in (".txt", ".xml", ".json")))
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


@in_a_soak("seeds", range(100), range(1000, 6000))
@pytest.mark.parametrize("name", WRITERS)
def test_mutated_files_are_listed_or_refused(tmp_path: Path, name: str, seeds: range) -> None:
    run(tmp_path, name, seeds)


# Law: run lengths of COCO, as numbers or as compressed text, are read as pycocotools does; no text does harm.


def drawn(folder: Path, **area: Any) -> np.ndarray:
    box = {"bbox": [0, 0, 40, 30], "segmentation": {"size": [30, 40]} | area}
    return ImageFolder(files=instances(folder, box), recipe=recipe(mask="required"))[0]["mask"].numpy()


def test_run_lengths_of_coco(tmp_path: Path) -> None:
    """Uncompressed ones run down the columns."""
    mask = drawn(tmp_path, counts=[3, 30, 1167])
    assert (mask[3:, 0] == 1).all()
    assert (mask[:3, 1] == 1).all()
    assert int(mask.sum()) == 30
    with pytest.raises(DataError, match=r"annotation 1: .* add up to 30×40"):
        drawn(tmp_path, counts=[3, 30])
    assert rows(tmp_path / "i.json") == [[0, 0, 40, 30]]  # whoever wants boxes does not look at masks


def compressed(counts: list[int]) -> str:
    """COCO's text of run lengths, as its own C code writes it."""
    text = ""
    for k, count in enumerate(counts):
        value, more = count - (counts[k - 2] if k > 2 else 0), True
        while more:
            bits, value = value & 31, value >> 5
            more = value != -1 if bits & 16 else value != 0
            text += chr((bits | 32 if more else bits) + 48)
    return text


@pytest.mark.parametrize("seed", range(5))
def test_compressed_run_lengths_of_coco(tmp_path: Path, seed: int) -> None:
    truth = np.random.default_rng(seed).random((30, 40)) < 0.1 * (seed + 1)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], truth.T.ravel(), [0]])))
    counts = np.diff(np.concatenate([[0], edges, [1200]])).tolist()
    text = compressed(counts if edges[-1] < 1200 else counts[:-1])
    assert (drawn(tmp_path, counts=text) == truth).all()
    for wrong in ("", text[:-1], "~" * 9, "o" * 400, text + "1", "é", text.replace(text[3], "\n")):
        with pytest.raises(DataError, match="annotation 1: `counts` of run"):
            drawn(tmp_path, counts=wrong)
    with pytest.raises(DataError, match="run-length mask is of 40×30 px, the image has 30×40"):
        drawn(tmp_path, size=[40, 30], counts=text)


@given(counts=st.lists(st.integers(0, 1 << 28) | st.integers(0, 40), max_size=40))
def test_what_is_written_is_read(counts: list[int]) -> None:
    assert coco.counts_of(compressed(counts)) == counts


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_pycocotools_reads_the_same(tmp_path: Path) -> None:
    coder = pytest.importorskip("pycocotools.mask")
    chance = np.random.default_rng(0)
    for _ in range(60):
        truth = chance.random((30, 40)) < chance.random()
        text = coder.encode(np.asfortranarray(truth.astype(np.uint8)))["counts"].decode()
        counts = coco.counts_of(text)
        assert counts is not None
        assert compressed(counts) == text
        flat = np.repeat(np.arange(len(counts)) % 2 == 1, counts)
        assert (truth == flat.reshape(40, 30).T).all()


# KindsAndMessages that are planted: the law that is there for each of them finds it.


_in_format, _add = targets._in_format, AnnotationSet.add


def sets(folder: Path) -> None:
    for seed in range(6):
        of = random_set(seed)
        check_boxes(WRITERS["labelme" if seed % 2 else "voc"](folder / str(seed), of), of, "coco")


def mutants(folder: Path) -> None:
    run(folder, "coco", range(400))


def names(folder: Path) -> None:
    outside(folder, "coco")


PLANTED: dict[str, tuple[Callable[[Path], None], Any, str, Any]] = {
    "boxes are not cut": (sets, np, "clip", lambda values, low, high: values),
    "empty boxes stay": (sets, targets, "_KEPT", (0, 1, 2, 3)),
    "marked objects stay": (sets, AnnotationSet, "add", lambda self, *values, **_: _add(self, *values)),
    "corners for sizes": (
        sets, targets, "_in_format", lambda corners, format: _in_format(corners, format.replace("coco", "pascal_voc"))
    ),
    "classes as they are met": (sets, AnnotationSet, "rename", lambda *_: None),
    "any name": (mutants, records, "is_name", lambda name: True),
    "any polygon": (mutants, records, "numbers_of", lambda values, what, count=None: values),
    "links are not followed": (names, paths, "S_ISLNK", lambda _: False),
    "every folder is the data's": (names, paths, "_prefix", lambda _: b""),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    law, where, what, instead = PLANTED[name]
    monkeypatch.setattr(where, what, instead)
    with pytest.raises(BaseException) as caught:
        law(tmp_path)
    assert not isinstance(caught.value, DataError)
