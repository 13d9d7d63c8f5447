"""The tables of benchmarks/, what other libraries are asked for, and who is refused before anything is timed."""

import re
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import peers
import pytest
import workloads
from comparison import FLOATS, Batch, Each, Missing, Side, compare, in_batches, kind_of, ours, same_kind
from peers import Library
from workloads import as_file, write_classes, write_pairs

import augrecipes as ar

LIBRARIES = peers.libraries()
NAMES = [library.name for library in LIBRARIES]
_TIME = r"\d+\.\d+ ± \d+\.\d+"


def cells(table: str) -> list[list[str]]:
    lines = [line for line in table.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def side(library: str, form: str = "", version: str = "") -> Side:
    values = np.random.default_rng(0).random((8, 3, 16, 16), np.float32)
    return Side(library, form, lambda: [{"image": values}] * 2, version=version)


def test_a_table_has_every_side_its_ratios_and_goals() -> None:
    mine = [side("augrecipes", "`fast`"), side("augrecipes", "`exact`")]
    others = [side("a", "on tensors", "1.2"), Missing("b", "not installed (pip install b)"), side("c")]
    goals = {"augrecipes, `fast`": {"a, on tensors": 0.0, "c": 1e9, "b": 2.0}}
    told = compare("W0: nothing", mine, others, rounds=3, goals=goals, samples=8)
    head, _, fast, exact, a, c = cells(told)
    assert head == ["W0: nothing", "ms a sample", "samples/s", "`fast` is", "`exact` is"]
    assert [row[0] for row in (fast, exact, a, c)] == [
        "augrecipes, `fast`",
        "augrecipes, `exact`",
        "a 1.2, on tensors",
        "c",
    ]
    assert all(re.fullmatch(_TIME, row[1]) and re.fullmatch(r"[\d,]+", row[2]) for row in (fast, exact, a, c))
    assert (fast[3], exact[4]) == ("", "")
    assert re.fullmatch(r"×[\d.,]+, goal ×0: met", a[3])
    assert re.fullmatch(r"×[\d.,]+, goal ×1e\+09: missed", c[3])
    assert re.fullmatch(r"×[\d.,]+", a[4])
    assert told.endswith("\n\nNot measured:\n\n- b: not installed (pip install b)")


def test_libraries_know_the_workloads() -> None:
    kinds = {value for value in vars(workloads).values() if isinstance(value, type)}
    for library in LIBRARIES:
        assert {*library.workloads, *library.without} <= kinds
        assert not library.workloads.keys() & library.without.keys()


def test_what_is_not_installed_or_broken_is_told_as_such() -> None:
    def load() -> None:
        raise RuntimeError("operator does not exist")

    there = Library("numpy", "numpy", lambda: np, {str: lambda _: [side("")]}, {int: "cannot"})
    absent = replace(there, name="Nowhere", package="nowhere", load=lambda: import_module("nowhere_at_all"))
    assert list(absent.offers("w")) == [Missing("Nowhere", "not installed (pip install nowhere)")]
    assert list(there.offers(1)) == [Missing("numpy", "cannot")]
    assert list(there.offers(1.0)) == []
    (made,) = there.offers("w")
    assert str(made) == f"numpy {np.__version__}"
    (broken,) = replace(there, load=load).offers("w")
    assert str(broken) == "numpy: installed, but cannot be imported: operator does not exist"


def images(count: int, height: int, width: int, noise: int = 12) -> list[np.ndarray]:
    """Smooth, a little noisy, of other means in each channel."""
    draw = np.random.default_rng(0)
    coarse = draw.integers((60, 40, 20), (240, 200, 160), (count, 9, 9, 3), np.uint8)
    smooth = (cv2.resize(one, (width, height), interpolation=cv2.INTER_CUBIC) for one in coarse)
    return [cv2.add(one, draw.integers(0, noise, one.shape, np.uint8)) for one in smooth]


def tiles(_: Path) -> tuple[Any, Side]:
    work = workloads.Tiles(images(32, 128, 128), 128, 64)
    return work, _ours(work.recipe, work.pool, 64)


def small(_: Path) -> tuple[Any, Side]:
    work = workloads.Small(images(32, 64, 64), 64, 8)
    return work, _ours(work.recipe, work.pool, 64)


def resized_crops(scratch: Path) -> tuple[Any, Side]:
    return photographs(workloads.ResizedCrops, "imagenet-train", 224, scratch)


def windows(scratch: Path) -> tuple[Any, Side]:
    return photographs(workloads.Windows, "jpeg-crop-256", 256, scratch)


def photographs(kind: type[workloads.Photos], name: str, out: int, scratch: Path) -> tuple[Any, Side]:
    pool = [cv2.imencode(".jpg", image[:, :, ::-1])[1].tobytes() for image in images(32, 280, 300)]
    work = kind(pool, ar.load(name), out, scratch)
    return work, _ours(work.recipe, Each(pool, as_file), out)


def _ours(recipe: ar.Recipe, pool: Any, out: int) -> Side:
    return Side("augrecipes", "`exact`", in_batches(ours(recipe, "exact", pool), (3, out, out)))


def folder(scratch: Path) -> tuple[Any, Side]:
    write_classes(scratch / "jpegs", 60)
    text = "{version: 1, recipe: s, steps: [Resize: {height: 64, width: 64}], eval: [], output: {range: [0, 1]}}"
    (scratch / "s.yaml").write_text(text, encoding="utf-8")
    loader = ar.loader(ar.ImageFolder(scratch / "jpegs", scratch / "s.yaml", cache=False), 20)
    work = workloads.Folder(scratch / "jpegs", 64, 20, scratch, workers=0)
    return work, Side("augrecipes", "", lambda: iter(loader))


def flipped(scratch: Path) -> tuple[Any, Side]:
    work, mine = folder(scratch)
    return replace(work, flip=True), mine


def pairs(scratch: Path) -> tuple[Any, Side]:
    work = workloads.Pairs(scratch / "hr", scratch / "lr", 48, 2, 8, scratch)
    write_pairs(work, 4, size=(256, 320))
    step = "RandomCrop: {height: 48, width: 48, at: lr}"
    text = f"{{version: 1, recipe: p, kind: pair, scales: {{lr: 1, hr: 2}}, steps: [{step}], eval: []}}"
    (scratch / "p.yaml").write_text(text, encoding="utf-8")
    ds = ar.PairedImages({"hr": work.hr, "lr": work.lr}, scratch / "p.yaml", samples_per_epoch=32)
    loader = ar.loader(ds, 8)
    return work, Side("augrecipes", "", lambda: iter(loader))


@pytest.mark.filterwarnings("default")  # other libraries may warn
@pytest.mark.parametrize("library", LIBRARIES, ids=NAMES)
@pytest.mark.parametrize("make", [tiles, small, resized_crops, windows, folder, flipped, pairs])
def test_a_peer_that_is_installed_makes_the_same_kind_of_sample(library: Any, make: Any, tmp_path: Path) -> None:
    work, mine = make(tmp_path)
    offered = list(library.offers(work))
    if not any(isinstance(side, Side) for side in offered):
        pytest.skip("; ".join(map(str, offered)) or "offers nothing for it")
    told = compare(make.__name__, [mine], offered, rounds=1, samples=60 if make in (folder, flipped) else 32)
    assert len(cells(told)) == 3 + len(offered)


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", ["article", "albumentations", "torchtransform", "variopinta", "augrs"])
def test_flips_are_drawn_for_each_sample(name: str, tmp_path: Path) -> None:
    """A row of images that are dark on the left: some come light on the left."""
    (tmp_path / "jpegs" / "a").mkdir(parents=True)
    ramp = np.tile(np.linspace(0, 255, 64).astype(np.uint8)[None, :, None], (64, 1, 3))
    for k in range(40):
        cv2.imwrite(str(tmp_path / "jpegs" / "a" / f"{k}.jpg"), ramp)
    for flip, mirrored in ((False, {False}), (True, {False, True})):
        scratch = tmp_path / str(flip)
        scratch.mkdir()
        work = workloads.Folder(tmp_path / "jpegs", 64, 8, scratch, workers=0, flip=flip)
        for side in LIBRARIES[NAMES.index(name)].offers(work):
            if isinstance(side, Missing):
                pytest.skip(side.why)
            images = np.concatenate([np.asarray(batch["image"]) for batch in side.batches()])
            assert {bool(one[0, 0, 0] > one[0, 0, -1]) for one in images} == mirrored, side


_COUNT = 32


def smooth(seed: int) -> np.ndarray:
    """Smooth images, the red of them lighter than the blue; N×C×H×W, 0..1."""
    draw = np.random.default_rng(seed)
    coarse = draw.uniform(0, 0.3, (_COUNT, 6, 6, 3)).astype(np.float32)
    large = np.stack([cv2.resize(one, (48, 48), interpolation=cv2.INTER_CUBIC) for one in coarse])
    noisy = large + draw.uniform(0, 0.1, large.shape).astype(np.float32) + np.array((0.5, 0.3, 0.1), np.float32)
    return np.ascontiguousarray(noisy.transpose(0, 3, 1, 2))


def labelled(seed: int, turn: int = 0) -> Batch:
    """Images whose class is in their colours."""
    labels = np.random.default_rng(seed).permutation(_COUNT) % 4
    image = smooth(seed)
    image += (0.1 * labels).astype(np.float32)[:, None, None, None] * np.array((1, -1, 1), np.float32)[:, None, None]
    return {"image": image, "label": (labels + turn) % 4}


def pair(seed: int, shift: int = 0) -> Batch:
    """Large images and their halves, which `shift` takes from the wrong place."""
    large = smooth(seed)
    moved = np.roll(large, shift, axis=3)
    halves = moved.reshape(_COUNT, 3, 24, 2, 24, 2).mean((3, 5))
    return {"lr": halves, "hr": large}


def side_of(batch: Batch, makes: str = FLOATS, name: str = "peer") -> Side:
    return Side(name, "", lambda: [batch], makes)


def check(peer: Side, like: Batch) -> None:
    same_kind(kind_of(peer, _COUNT), kind_of(side_of(like, name="ours"), _COUNT))


def test_other_draws_pass() -> None:
    check(side_of({"image": smooth(1)}), {"image": smooth(0)})
    check(side_of(labelled(1)), labelled(0))
    check(side_of(pair(1)), pair(0))


def test_bytes_of_another_layout_pass() -> None:
    as_bytes = np.clip(np.rint(smooth(1) * 255), 0, 255).astype(np.uint8).transpose(0, 2, 3, 1)
    check(side_of({"image": as_bytes}, "uint8 H×W×C"), {"image": smooth(0)})


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        (lambda p: p.astype(np.float64), "makes float64"),
        (lambda p: p.transpose(0, 2, 3, 1), "not batches of float32 C×H×W"),
        (lambda p: p[0], "not batches of"),
        (lambda p: p * 255, "means"),
        (lambda p: p - 0.5, "means"),
        (lambda p: p[:, ::-1], "means"),
        (lambda p: p * 0.5 + p.mean((0, 2, 3), keepdims=True) * 0.5, "spread"),
        (lambda p: p[:, :, :40, :40], r"\(3, 40, 40\)"),
        (lambda p: np.stack([cv2.blur(one.transpose(1, 2, 0), (5, 5)).transpose(2, 0, 1) for one in p]), "sharpness"),
        (lambda p: np.where(p > 0.8, np.float32(np.nan), p), "finite"),
    ],
    ids=["dtype", "layout", "one", "range", "shifted", "bgr", "flat", "size", "blurred", "nan"],
)
def test_a_wrong_peer_is_refused(fault: Callable[[np.ndarray], np.ndarray], why: str) -> None:
    with pytest.raises(SystemExit, match=why):
        check(side_of({"image": fault(smooth(1))}), {"image": smooth(0)})


def test_labels_of_other_images_are_refused() -> None:
    with pytest.raises(SystemExit, match="class"):
        check(side_of(labelled(1, turn=1)), labelled(0))
    few = labelled(1)
    with pytest.raises(SystemExit, match="labels"):
        check(side_of({**few, "label": few["label"] % 3}), labelled(0))


def test_pairs_that_do_not_fit_are_refused() -> None:
    with pytest.raises(SystemExit, match="apart"):
        check(side_of(pair(1, shift=2)), pair(0))
    with pytest.raises(SystemExit, match="in a batch"):
        check(side_of({"image": smooth(1)}), pair(0))


def test_a_wrong_peer_is_never_timed() -> None:
    passes = []

    def black() -> list[Batch]:
        passes.append(1)
        return [{"image": np.zeros_like(smooth(1))}]

    ours = side_of({"image": smooth(0)}, name="ours")
    with pytest.raises(SystemExit, match="peer and ours make different samples"):
        compare("w", [ours], [Side("peer", "", black)], rounds=3, samples=_COUNT)
    assert len(passes) == 1
