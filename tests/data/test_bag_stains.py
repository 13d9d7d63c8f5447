"""Stains are estimated once a slide or bag: of the same tiles whoever asks, in whatever order, from files or packed."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from support.checks import planted_faults

import augrecipes as ar
from augrecipes import cache
from augrecipes.demo.tissue import LABORATORIES, render_tile
from augrecipes.ops.stain_estimates import estimate_stains
from augrecipes.ops.stain_normalize import StainNormalize
from augrecipes.sources import stains
from augrecipes.sources.sample import RecipeSource

METHODS = ("macenko", "vahadane", "reinhard")
SIDE, COUNT = 64, 30


def recipe(*steps: Any, **bag: Any) -> ar.Recipe:
    plain = {"RandomCrop": [{"CenterCrop": {"height": 48, "width": 40}}], "D4": [], "HorizontalFlip": []}
    evaluation = [each for step in steps for each in plain.get(next(iter(step)), [step])]
    head = {"version": 1, "recipe": "t", "kind": "bag", "steps": list(steps), "eval": evaluation}
    return ar.load({**head, "output": {"dtype": "uint8", "layout": "hwc"}, **({"bag": bag} if bag else {})})


def normalize(method: str = "macenko", **more: Any) -> dict[str, Any]:
    return {"StainNormalize": {"method": method, **more}}


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUGRECIPES_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "SETTLED_NS", -(10**18))  # what was written just now counts as settled


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two bags of tissue of two laboratories, and one of glass."""
    root = tmp_path_factory.mktemp("stained")
    for k, bag in enumerate(("a", "b")):
        size = (SIDE * 6, SIDE * COUNT // 6)
        image = render_tile("stroma", size, LABORATORIES[k], np.random.default_rng(k)).image
        (root / bag).mkdir()
        for n in range(COUNT):
            y, x = divmod(n, COUNT // 6)
            tile = image[y * SIDE : (y + 1) * SIDE, x * SIDE : (x + 1) * SIDE]
            assert cv2.imwrite(str(root / bag / f"x{x}_y{y}.png"), tile[:, :, ::-1])
    (root / "glass").mkdir()
    for n in range(4):
        assert cv2.imwrite(str(root / "glass" / f"x{n}_y0.png"), np.full((SIDE, SIDE, 3), 245, np.uint8))
    return root


@pytest.fixture
def root(drawn: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(drawn, tmp_path / "bags"))


def estimates(ds: Any) -> Any:
    return [ds.source.stains.of_bag(row) for row in range(len(ds.table))]


def images(ds: Any, rows: Any = (0, 1, 2)) -> list[bytes]:
    return [ds[row]["image"].numpy().tobytes() for row in rows]


def forget() -> None:
    cache.STAINS.clear()


@pytest.mark.parametrize("method", METHODS)
def test_pick_seed_epoch_mode_and_cache_change_nothing(root: Path, method: Any) -> None:
    said = recipe(normalize(method))
    fresh = estimates(ar.TileBags(root, said))
    assert [each[method] is None for each in fresh] == [False, False, True]
    assert fresh[0] != fresh[1]
    assert estimates(ar.TileBags(root, said)) == fresh  # from the cache
    forget()
    for how in ({"max_tiles": 3, "pick": "first"}, {"seed": 7, "max_tiles": 5}, {"mode": "eval"}, {"threads": 2}):
        ds = ar.TileBags(root, said, **how)
        ds.set_epoch(3)
        assert len(ds[0]["image"])
        assert estimates(ds) == fresh
    units = sorted((root / "a").iterdir())[:COUNT]
    sample = [units[(2 * k + 1) * COUNT // 48] for k in range(24)]
    assert fresh[0][method] == estimate_stains([ar.read_image(path) for path in sample], method)


def test_tiles_come_out_as_the_bags_stains_say(root: Path) -> None:
    ds = ar.TileBags(root, recipe(normalize()))
    own = ar.TileBags(root, recipe(normalize(source="tile")))
    assert ds.source.stains is not None and own.source.stains is None
    for row, bag in enumerate(("a", "b")):
        sample, known = ds[row], estimates(ds)[row]
        assert not np.array_equal(sample["image"], own[row]["image"])
        for image, (x, y) in zip(sample["image"].numpy(), sample["coords"].tolist(), strict=True):
            tile = ar.read_image(root / bag / f"x{x}_y{y}.png")
            assert np.array_equal(image, ds.pipeline.at(row)(image=tile, stains=known)["image"])
            assert np.array_equal(image, StainNormalize()(image=tile, stains=known)["image"])
    assert np.array_equal(ds[2]["image"].numpy(), np.full((4, SIDE, SIDE, 3), 245, np.uint8))


def test_workers_threads_modes_and_order_change_no_bit(root: Path, tmp_path: Path) -> None:
    said = recipe({"RandomCrop": {"height": 48, "width": 40}}, normalize(), {"HorizontalFlip": {}}, max_tiles=7)
    whole = images(ar.TileBags(root, said, seed=1))
    for how in ({"threads": 1}, {"threads": 2}, {"optimize": "none"}, {"optimize": "exact"}):
        forget()
        assert images(ar.TileBags(root, said, seed=1, **how)) == whole
    for workers in (0, 2):
        forget()
        batches = [*ar.loader(ar.TileBags(root, said, seed=1, mode="eval"), num_workers=workers)]
        known = images(ar.TileBags(root, said, seed=1, mode="eval"))
        assert [batch["image"].numpy().tobytes() for batch in batches] == known
    rows = [f"{path.parent.name},{path}" for path in sorted(root.glob("*/*"))]
    known = estimates(ar.TileBags(root, said))
    for order in (rows, [rows[k] for k in np.random.default_rng(0).permutation(len(rows))]):
        forget()
        (tmp_path / "tiles.csv").write_text("\n".join(["bag,image", *order]))
        ds = ar.TileBags(None, said, files=tmp_path / "tiles.csv", outside=True)
        assert {ds.bags[row]: each for row, each in enumerate(estimates(ds))} == dict(
            zip("ab", known, strict=False)
        ) | {"glass": known[2]}


@pytest.mark.parametrize("method", METHODS)
def test_packed_sets_have_the_stains_of_their_source(root: Path, tmp_path: Path, method: str) -> None:
    said = recipe({"Resize": {"height": 40, "width": 40}}, normalize(method), {"D4": {"p": 1.0}})
    unpacked = ar.TileBags(root, said, seed=2)
    known, whole = estimates(unpacked), images(unpacked)
    forget()
    plain = recipe({"D4": {"p": 1.0}}, normalize(method))  # nothing is baked
    for workers, each in ((2 if method == METHODS[0] else 0, said), (0, plain)):
        store = tmp_path / f"{workers}-{each.digest}"
        ar.pack(each, root, store, workers=workers)
        forget()
        packed = ar.Packed(store, each, seed=2)
        assert len(packed.store.about["steps"]) == (0 if each is plain else 2)
        assert estimates(packed) == known
        assert images(packed) == (whole if each is said else images(ar.TileBags(root, each, seed=2)))


def test_methods_that_a_store_does_not_keep(root: Path, tmp_path: Path) -> None:
    resize, other = {"Resize": {"height": 40, "width": 40}}, normalize("reinhard")
    ar.pack(recipe(resize), root, tmp_path / "baked")
    with pytest.raises(ar.StoreError, match=r"keeps no stains by reinhard.*pack again"):
        ar.Packed(tmp_path / "baked", recipe(resize, other))
    ar.pack(recipe({"D4": {"p": 1.0}}), root, tmp_path / "tiles")
    flips = recipe({"D4": {"p": 1.0}}, other)
    packed, unpacked = ar.Packed(tmp_path / "tiles", flips), ar.TileBags(root, flips)
    assert estimates(packed) == estimates(unpacked)
    assert images(packed) == images(unpacked)


def test_broken_tiles_are_left_out_of_the_sample(root: Path, tmp_path: Path) -> None:
    said, broken = recipe(normalize()), sorted((root / "a").iterdir())[0]
    whole = estimates(ar.TileBags(root, said))
    broken.write_bytes(b"no image")
    ds = ar.TileBags(root, said, on_error="skip")
    assert estimates(ds)[0] is not None
    assert estimates(ds)[0] != whole[0]
    assert len(ds[0]["image"]) == COUNT - 1
    ar.pack(said, root, tmp_path / "store")
    packed = ar.Packed(tmp_path / "store", said, on_error="skip")
    assert estimates(packed) == estimates(ds)
    assert images(packed) == images(ds)


def test_slides_have_the_stains_of_their_cut_tiles(tmp_path: Path) -> None:
    whole = ar.draw_whole_slides(tmp_path / "whole", slides=2, shrink=4)
    said = recipe(normalize())
    slides = ar.SlideBags(whole, said, tile=64, mpp=1.0)
    known = estimates(slides)
    assert None not in [each["macenko"] for each in known]
    for row, bag in enumerate(slides.bags):
        (tmp_path / "cut" / bag).mkdir(parents=True)
        for k in slides.table.units_of(row):
            x, y = slides.table.coords[k].tolist()
            pixels = slides.given(row, tile=k - slides.table.units_of(row).start).images["image"]
            cv2.imwrite(str(tmp_path / "cut" / bag / f"{bag}.tif[x={x},y={y}].png"), pixels[:, :, ::-1])
    cut = ar.TileBags(tmp_path / "cut", said)
    assert estimates(cut) == known
    ar.pack(said, slides, tmp_path / "store")
    forget()
    assert estimates(ar.Packed(tmp_path / "store", said)) == known
    for bag in (0, 1):
        assert np.array_equal(cut[bag]["image"].sum(), slides[bag]["image"].sum())
        assert np.array_equal(ar.Packed(tmp_path / "store", said)[bag]["image"], slides[bag]["image"])


def test_whatever_reads_a_dataset_gets_them(root: Path) -> None:
    ds = ar.TileBags(root, recipe(normalize(), max_tiles=2, pick="first"))
    for row in (0, 1):
        given = ds.given(row)
        assert given.rest == {"stains": estimates(ds)[row]}
        assert np.array_equal(given.run(ds.pipeline, 0)["image"], ds[row]["image"][0])
    ds.show([0]).save(str(root / "sheet.png"))
    ds.show([0], stages=True).save(str(root / "stages.png"))


def law(fixture: Callable[[str], Any]) -> None:
    root, tmp_path = fixture("root"), fixture("tmp_path")
    forget()
    test_workers_threads_modes_and_order_change_no_bit(root, tmp_path)


def packed_law(fixture: Callable[[str], Any]) -> None:
    test_packed_sets_have_the_stains_of_their_source(fixture("root"), fixture("tmp_path"), "macenko")


def given_law(fixture: Callable[[str], Any]) -> None:
    test_whatever_reads_a_dataset_gets_them(fixture("root"))


def of_the_first(self: RecipeSource, _: int) -> dict[str, Any]:
    return {} if self.stains is None else {"stains": self.stains.of_bag(0)}


def unsorted(names: Any, **_: Any) -> list[Any]:
    return list(names)


test_planted_faults_are_caught = planted_faults(
    {
        "in the order of rows": (law, (stains, "sorted", unsorted, False)),
        "a store without them": (packed_law, (stains.BagStains, "all", lambda self: [dict.fromkeys(self.methods)] * 3)),
        "each bag by the first one's stains": (
            given_law, (RecipeSource, "stains_of", of_the_first)
        ),
    },
    (AssertionError, ar.StoreError),
)  # fmt: skip
