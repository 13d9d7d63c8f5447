"""Slides as bags: the samples of a TileBags over tiles that were cut beforehand, from any slide, loaded in any way."""

import functools
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import tifffile
from hypothesis import given
from hypothesis import strategies as st
from support.checks import planted_faults, tries
from support.slides import Slide, tissue, write_slide

import augrecipes as ar
from augrecipes.kinds.bag import slides as slide_bags
from augrecipes.sources.slides import listing
from augrecipes.sources.slides import tissue as tissues
from augrecipes.sources.slides.pyramid import Level, Part, SlideWindow
from augrecipes.sources.slides.tissue import mask_of_regions

GLASS = 243
true_thumbnail: Any = listing.thumbnail


def recipe(*steps: Any, optimize: str = "exact", **more: Any) -> Any:
    bag = {"bag": {"max_tiles": 1000, "min_tiles": 1, "pick": "random"}, **more}
    made = {"version": 1, "recipe": "slides", "kind": "bag", "optimize": optimize, **bag, "steps": list(steps)}
    return ar.load({**made, "eval": [], "output": {"dtype": "uint8", "layout": "hwc"}})


PLAIN = recipe()
TURNS = recipe({"D4": {"p": 1.0}})
CROPS = recipe({"RandomCrop": {"height": 40, "width": 30}}, {"HorizontalFlip": {"p": 0.5}})
SCALES = recipe(
    {"Rotate": {"limit": 25, "border_mode": "reflect_101", "p": 1.0}},
    {"RandomResizedCrop": {"size": [32, 32], "scale": [0.3, 1.0]}},
    optimize="fast",
)


def on_glass(height: int, width: int, seed: int) -> np.ndarray:
    """Tissue in the middle, glass around it."""
    image = tissue(height, width, seed)
    y, x = np.mgrid[:height, :width]
    outside = np.hypot(y / height - 0.5, x / width - 0.5) > 0.36
    image[outside] = GLASS + np.random.default_rng(seed).integers(-2, 3, (outside.sum(), 1))
    return image


@functools.cache
def slides(folder: Path) -> tuple[Slide, ...]:
    kinds = ("aperio", "jp2", "rgb", "strips")
    found = [
        write_slide(folder, kind, image=on_glass(400, 560, k), name=f"{kind}-{k}", factors=(2, 4))
        for k, kind in enumerate(kinds)
    ]
    (folder / "labels.csv").write_text(
        "bag,label\n" + "".join(f"{one.path.stem},{'ab'[k % 2]}\n" for k, one in enumerate(found)) + "other,a\n"
    )
    return tuple(found)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("bags")
    slides(made)
    return made


def table_of(bags: Any) -> Any:
    return bags.table


def cut(slide_bags: Any, folder: Path) -> Any:
    """The tiles of a SlideBags as files, one folder a slide, read by whoever reads slides."""
    for k, name in enumerate(slide_bags.bags):
        (folder / name).mkdir(parents=True)
        table = table_of(slide_bags)
        for number, unit in enumerate(table.units_of(k)):
            x, y = table.coords[unit].tolist()
            pixels = slide_bags.given(k, tile=number).images["image"]
            cv2.imwrite(str(folder / name / f"{number:05d}_x{x}_y{y}.png"), pixels[:, :, ::-1])
    return folder


@pytest.mark.parametrize("steps", [PLAIN, TURNS, CROPS, SCALES], ids=["plain", "turns", "crops", "scales"])
@pytest.mark.parametrize("how", [{"level": 0}, {"mpp": 1.0}, {"mpp": 0.8, "stride": 40}], ids=str)
def test_bags_of_slides_are_those_of_their_cut_tiles(folder: Path, tmp_path: Path, steps: Any, how: Any) -> None:
    bags = ar.SlideBags(folder, steps, tile=48, seed=3, max_tiles=9, **how)
    files = ar.TileBags(cut(bags, tmp_path / "cut"), steps, seed=3, max_tiles=9)
    assert bags.bags == files.bags
    for epoch, k in ((0, 0), (1, 1), (0, 2), (2, 3)):
        a, b = bags[epoch, k], files[epoch, k]
        assert np.array_equal(a["image"], b["image"])
        assert np.array_equal(a["coords"], b["coords"])
        assert (a["bag"], a["path"]) == (b["bag"], str(slides(folder)[sorted_place(folder, k)].path))


def sorted_place(folder: Path, k: int) -> int:
    paths = sorted(one.path for one in slides(folder))
    return [one.path for one in slides(folder)].index(paths[k])


def test_only_the_window_that_a_recipe_cuts_is_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its bits are those of the whole tile: `test_bags_of_slides_are_those_of_their_cut_tiles`."""
    read: list[Part] = []
    bags = ar.SlideBags(folder / "aperio-0.svs", CROPS, tile=128, level=0)
    real = SlideWindow.view

    def view(self: SlideWindow, y0: int, x0: int, y1: int, x1: int, reduce: int = 1) -> Any:
        read.append(Part(x0, y0, x1 - x0, y1 - y0))
        return real(self, y0, x0, y1, x1, reduce)

    monkeypatch.setattr(SlideWindow, "view", view)
    monkeypatch.setattr(SlideWindow, "array", lambda self: pytest.fail("the whole tile is read"))
    count = len(bags[0]["image"])
    assert [(part.width, part.height) for part in read] == [(30, 40)] * count


# -- which windows ----------------------------------------------------------------------------------------------------


def share_of_tissue(slide: Slide, x: int, y: int, side: int) -> float:
    """By the pixels that were drawn, not by a thumbnail."""
    tile = slide.levels[0][y : y + side, x : x + side].astype(int)
    return float((tile.max(2) - tile.min(2) > 12).mean())


@pytest.mark.parametrize("k", range(4))
@pytest.mark.parametrize("how", ["otsu", 0.08])
def test_tiles_show_tissue(folder: Path, k: int, how: Any) -> None:
    slide = slides(folder)[k]
    bags = ar.SlideBags(slide.path, PLAIN, tile=40, level=0, tissue=how, min_tissue=0.5)
    every = ar.SlideBags(slide.path, PLAIN, tile=40, level=0, tissue=None, max_white=1.0)
    taken = {tuple(place) for place in table_of(bags).coords.tolist()}
    assert len(table_of(every).coords) == (400 // 40) * (560 // 40)
    shares = {tuple(place): share_of_tissue(slide, place[0], place[1], 40) for place in table_of(every).coords.tolist()}
    clear = {place: share > 0.5 for place, share in shares.items() if abs(share - 0.5) > 0.2}
    assert sum(clear.values()) > 20
    assert [place for place, wanted in clear.items() if (place in taken) != wanted] == []


def ring(x: int, y: int, width: int, height: int) -> list[list[int]]:
    return [[x, y], [x + width, y], [x + width, y + height], [x, y + height], [x, y]]


HOLE, ONE, OTHER = ring(160, 120, 80, 80), ring(400, 80, 80, 80), ring(400, 240, 80, 80)
FEATURES = [
    {"type": "Feature", "geometry": {"type": "Polygon", "coordinates": [ring(80, 80, 240, 160), HOLE]},
     "properties": {"classification": {"name": "Tumor", "color": [200, 0, 0]}}},
    {"type": "Feature", "geometry": {"type": "MultiPolygon", "coordinates": [[ONE], [OTHER]]},
     "properties": {"name": "Stroma"}},
    {"type": "Feature", "geometry": {"type": "Point", "coordinates": [3, 4]}, "properties": {}},
]  # fmt: skip


def covered(name: str | None) -> set[tuple[int, int]]:
    """The tiles of 40 px that the regions of a name cover, by hand."""
    tumour = {(x, y) for x in range(80, 320, 40) for y in range(80, 240, 40)} - {
        (x, y) for x in (160, 200) for y in (120, 160)
    }
    stroma = {(x, y) for x in (400, 440) for y in (80, 120, 240, 280)}
    return {"Tumor": tumour, "Stroma": stroma}.get(name or "", tumour | stroma)


@pytest.mark.parametrize(
    "wrap", [lambda f: {"type": "FeatureCollection", "features": f}, lambda f: f], ids=["collection", "list"]
)
@pytest.mark.parametrize("name", [None, "Tumor", "Stroma"])
def test_regions_of_geojson_choose_tiles(folder: Path, tmp_path: Path, wrap: Any, name: str | None) -> None:
    (tmp_path / "aperio-0.geojson").write_text(json.dumps(wrap(FEATURES)))
    regions = None if name is None else [name]
    for said in (tmp_path / "aperio-0.geojson", str(tmp_path / "{stem}.geojson"), tmp_path):
        bags = ar.SlideBags(
            folder / "aperio-0.svs", PLAIN, tile=40, level=0, tissue=said, regions=regions, min_tissue=0.9, max_white=1
        )
        assert {tuple(place) for place in table_of(bags).coords.tolist()} == covered(name)


@tries(25)
@given(
    corners=st.lists(st.tuples(st.floats(-50, 450), st.floats(-50, 350)), min_size=3, max_size=9),
    size=st.sampled_from([(300, 400), (75, 100), (30, 40)]),
)
def test_regions_cover_what_lies_in_them(tmp_path_factory: pytest.TempPathFactory, corners: Any, size: Any) -> None:
    """Every pixel whose middle lies clearly in a polygon, by the even-odd rule, and none that lies clearly outside."""
    path = tmp_path_factory.mktemp("regions") / "a.json"
    path.write_text(json.dumps({"type": "Polygon", "coordinates": [corners]}))
    mask = mask_of_regions(str(path), Level(400, 300, 1.0), size)
    scale = 400 / size[1]
    points = np.array(corners, np.float32)
    for row in range(0, size[0], max(size[0] // 12, 1)):
        for column in range(0, size[1], max(size[1] // 12, 1)):
            x, y = (column + 0.5) * scale, (row + 0.5) * scale
            ends = np.roll(points, -1, axis=0)
            steps = ends - points
            share = np.clip(((np.array([x, y]) - points) * steps).sum(1) / np.maximum((steps**2).sum(1), 1e-9), 0, 1)
            if np.hypot(*(points + share[:, None] * steps - (x, y)).T).min() < 1.5 * scale:
                continue
            above = (points[:, 1] > y) != (ends[:, 1] > y)
            crossing = points[:, 0] + (y - points[:, 1]) / np.where(above, steps[:, 1], 1) * steps[:, 0]
            assert mask[row, column] == bool((above & (crossing > x)).sum() % 2)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not GeoJSON"),
        ("[" * 100_000, "is not GeoJSON"),
        ("[3]", "features with a `geometry`"),
        ('{"type": "FeatureCollection"}', "features with a `geometry`"),
        ("[]", "holds no regions; there are none at all"),
        ('{"type": "Polygon", "coordinates": [[1]]}', "feature 0: a Polygon needs rings"),
        ('{"type": "Polygon", "coordinates": [[[1, NaN], [2, 3], [3, 3]]]}', "feature 0: a Polygon needs rings"),
        ('{"type": "MultiPolygon", "coordinates": null}', "feature 0: a MultiPolygon needs rings"),
        ('{"type": "Polygon", "coordinates": [[[1], [2], [3], [4]]]}', "feature 0: a Polygon needs rings"),
        ('{"type": "Polygon", "coordinates": [[{"x": 1}, {"x": 2}]]}', "feature 0: a Polygon needs rings"),
        ('{"type": "Polygon", "coordinates": [[]]}', "feature 0: a Polygon needs rings"),
        ('{"type": ["Polygon"], "coordinates": []}', "holds no regions"),
        (json.dumps(FEATURES), "holds no regions of 'Necrosis'; there are '', 'Stroma', 'Tumor'"),
    ],
)
def test_what_is_wrong_with_regions_is_told(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "a.geojson"
    path.write_text(content)
    names = ["Necrosis"] if "Necrosis" in message else None
    with pytest.raises(ar.DataError, match=message) as caught:
        mask_of_regions(str(path), Level(100, 100, 1.0), (10, 10), names)
    assert caught.value.path == str(path)


def test_a_mask_file_chooses_tiles(folder: Path, tmp_path: Path) -> None:
    mask = np.zeros((100, 140), np.uint8)
    mask[20:50, 30:70] = 2  # y 80 to 200, x 120 to 280
    cv2.imwrite(str(tmp_path / "aperio-0.png"), mask)
    for said in (tmp_path, str(tmp_path / "{stem}.png")):
        bags = ar.SlideBags(folder / "aperio-0.svs", PLAIN, tile=40, level=0, tissue=said, min_tissue=0.9, max_white=1)
        wanted = {(x, y) for x in range(120, 280, 40) for y in range(80, 200, 40)}
        assert {tuple(place) for place in table_of(bags).coords.tolist()} == wanted
    cv2.imwrite(str(tmp_path / "aperio-0.png"), mask[:60])
    with pytest.raises(ar.DataError, match="is 140×60 px, and its slide 560×400: a mask covers all of the slide"):
        ar.SlideBags(folder / "aperio-0.svs", PLAIN, tissue=tmp_path)
    with pytest.raises(ar.DataError, match="has no mask and no regions in"):
        ar.SlideBags(folder / "rgb-2.tif", PLAIN, tissue=tmp_path)
    with pytest.raises(ar.DataError, match="no such file"):
        ar.SlideBags(folder / "rgb-2.tif", PLAIN, tissue="{stem}.geojson")


# -- planted faults ---------------------------------------------------------------------------------------------------


def of_choosing(fixture: Callable[[str], Any]) -> None:
    fixture("monkeypatch").setenv("AUGRECIPES_CACHE", str(fixture("tmp_path")))
    test_tiles_show_tissue(fixture("folder"), 0, "otsu")


def of_reading(fixture: Callable[[str], Any]) -> None:
    test_bags_of_slides_are_those_of_their_cut_tiles(fixture("folder"), fixture("tmp_path"), CROPS, {"level": 0})


def shifted(self: SlideWindow, y0: int, x0: int, y1: int, x1: int, reduce: int = 1) -> Any:
    return view(self, y0, x0 - 1 if x0 else 0, y1, x1 - 1 if x0 else x1)


view: Any = SlideWindow.view
test_planted_faults_are_caught = planted_faults(
    {
        "threshold": (
            of_choosing, (tissues, "tissue_by_saturation", lambda picture, threshold: np.zeros(picture.shape[:2], bool))
        ),
        "white": (of_choosing, (tissues, "white_mask", lambda picture: np.ones(picture.shape[:2], bool))),
        "shares": (
            of_choosing, (tissues.Grid, "shares", lambda grid, mask, places, slide: np.full(len(places), 0.5))
        ),
        "place": (
            of_choosing, (listing, "thumbnail", lambda slide, at: true_thumbnail(slide, at)[::-1, ::-1].copy()[20:])
        ),
        "windows are shifted": (of_reading, (SlideWindow, "view", shifted)),
        "windows are upside down": (
            of_reading, (SlideWindow, "view", lambda self, *place, reduce=1: view(self, *place[:4])[::-1].copy())
        ),
    },
    (AssertionError, ar.DataError),
)  # fmt: skip


# -- what is broken, and what makes no sense --------------------------------------------------------------------------


def test_broken_slides_are_listed_or_passed_over(folder: Path, tmp_path: Path) -> None:
    for name in ("aperio-0.svs", "jp2-1.svs"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    (tmp_path / "cut.svs").write_bytes((folder / "aperio-0.svs").read_bytes()[:900])
    with pytest.raises(
        ar.DataError, match=r'1 of 3 slides cannot be listed \(on_error="skip" passes.*\n.*cut\.svs: truncated'
    ):
        ar.SlideBags(tmp_path, TURNS, tile=64, level=0)
    bags = ar.SlideBags(tmp_path, TURNS, tile=64, level=0, on_error="skip")
    assert bags.tiles.tolist()[1] == 0
    assert bags[1]["bag"] != "cut"
    loader = ar.loader(bags, batch_size=1, shuffle=False)
    assert len(list(loader)) == len(bags)
    assert "fewer than min_tiles=1: truncated" in loader.skipped[0].reason
    with pytest.raises(ar.DataError, match=r"^.*cut\.svs: truncated"):
        ar.SlideBags(tmp_path / "cut.svs", TURNS)


@pytest.mark.parametrize(
    "wrong",
    [
        {"tile": 0}, {"stride": 0}, {"mpp": 0.5, "level": 0}, {"mpp": -1}, {"level": -1}, {"tissue": 0},
        {"tissue": 1.5}, {"tissue": True}, {"min_tissue": 2}, {"max_white": -1}, {"slide_mpp": 0}, {"regions": ["a"]},
        {"regions": "a"},
    ],
    ids=str,
)  # fmt: skip
def test_nonsense_is_refused(folder: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(reversed(wrong))):
        ar.SlideBags(folder / "aperio-0.svs", TURNS, **wrong)


def test_a_broken_tile_is_lost_alone(folder: Path, tmp_path: Path) -> None:
    from augrecipes.sources.slides.jpeg_tiles import index_of

    path = tmp_path / "a.svs"
    with tifffile.TiffFile(folder / "aperio-0.svs") as file:
        index = index_of(file)
    raw = bytearray((folder / "aperio-0.svs").read_bytes())
    first = index[0][0]
    number = 3 * first.across + 4  # in the middle, where there is tissue
    raw[first.offsets[number] : first.offsets[number] + first.counts[number]] = bytes(first.counts[number])
    path.write_bytes(raw)
    bags = ar.SlideBags(path, TURNS, tile=64, level=0, tissue=None, max_white=1)
    with pytest.raises(ar.DataError, match=r"a\.svs: the tile at x=256, y=192 of level 0"):
        _ = bags[0]
    lenient = ar.SlideBags(path, TURNS, tile=64, level=0, tissue=None, max_white=1, on_error="skip")
    assert len(lenient[0]["image"]) == len(table_of(bags).coords) - 1
    assert [256, 192] not in lenient[0]["coords"].tolist()
    with pytest.raises(ar.DataError, match="was changed since"):
        path.write_bytes(raw + b"\0")
        slide_bags.OPENED.clear()
        _ = bags[0]


@pytest.fixture(autouse=True)
def _no_handles_of_others() -> Iterator[None]:
    yield
    assert len(slide_bags.OPENED) <= 32, os.getpid()
