"""Files and packed datasets of every kind: what is shown is what a Dataset returns; damage is reported."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from studio_pages import BAG, PAIR, Page, image_of, write_images, write_masks
from support.encoded_images import encoded as encoded_picture
from support.encoded_images import exif

import augrecipes as ar
from augrecipes.errors import DataError, StoreError
from augrecipes.images.encoded import Encoded, encoded
from augrecipes.preview.display import rgb_of_output
from augrecipes.sources.stored import StoredSource
from augrecipes.studio.studio import open_studio
from augrecipes.studio.view import png_of

IMAGES = """\
version: 1
recipe: images
steps:
  - SmallestMaxSize: {max_size: 80}
  - CenterCrop: {height: 72, width: 80}
  - RandomCrop: {height: 48, width: 64}
  - Rotate: {limit: 30, border_mode: reflect_101, p: 1.0}
  - HorizontalFlip
eval: derived
output: {dtype: float32, layout: chw, normalize: imagenet}
"""
FAST = f"{IMAGES}optimize: fast\n"
MASKED = IMAGES.replace("steps:", "inputs: {mask: required}\nsteps:", 1)
TEXTS = {"image": IMAGES, "masked": MASKED, "pair": PAIR, "bag": BAG}


@pytest.fixture
def packed(tmp_path: Path, open_page: Callable[..., Page]) -> Iterator[Callable[..., tuple[Page, Path]]]:
    """Packs files of a kind, and opens a page over the store."""

    def make(kind: str, text: str, **how: Any) -> tuple[Page, Path]:
        files = write_images(tmp_path / "files", kind)
        if kind == "masked":
            how["masks"] = write_masks(tmp_path / "masks", tmp_path / "files")
        ar.pack(ar.load(text), files, tmp_path / "store", workers=0, **how)
        return open_page(None, str(tmp_path / "store")), tmp_path / "store"

    yield make


def differing(page: Page, data: Any, text: str, seed: int = 3, **how: Any) -> list[str]:
    """Images of the page that are not those of a Dataset over the data; lines of Python that give others."""
    recipe = ar.load(text)
    of_files = {"image": ar.ImageFolder, "pair": ar.PairedImages, "bag": ar.TileBags}[recipe.kind]
    make: Any = ar.Packed if page.studio.data.store else of_files
    ds = make(data, recipe, seed=seed, **how)
    count, found = len(ds), []
    lines = page.lines("/api/draws", text=text, indices=list(range(count)), epochs=[0, 1, 5], seed=seed, tiles=3)
    for line in lines[:-1]:
        index, epoch = line["index"], line["epoch"]
        whole = ds[epoch, index]
        scope = {"ar": ar, "text": text, **(ds.given(index).rest if how else {})}
        made = eval(line["python"].replace("'recipe.yaml'", "text"), scope)
        for number, shown in enumerate(line["pictures"]):
            name, pixels = shown["target"], page.pixels(shown["url"])
            output = recipe.outputs.get(name, recipe.output)
            tiles = whole[name] if recipe.kind == "bag" else [whole[name]]
            if not any(np.array_equal(pixels, rgb_of_output(np.asarray(one), output)) for one in tiles):
                found.append(f"{index} {epoch} {name}: another image")
            if number == 0 and not np.array_equal(pixels, rgb_of_output(np.asarray(made[name]), output)):
                found.append(f"{index} {epoch} {name}: {line['python']}")
            if recipe.inputs.mask == "required":
                assert np.array_equal(page.pixels(shown["overlay"]["mask"])[..., 3] > 0, np.asarray(whole["mask"]) > 0)
            if recipe.kind == "pair":
                x0, y0, x1, y1 = shown["window"]
                assert (x1 - x0, y1 - y0) == np.asarray(whole[name]).shape[1:]
    assert len(lines) == 3 * count + 1
    return found


@pytest.mark.parametrize(
    ("form", "optimize"), [("files", "none"), ("files", "fast"), ("raw", "fast"), ("jpeg", "fast")]
)
@pytest.mark.parametrize("kind", list(TEXTS))
def test_what_is_shown_is_what_a_dataset_returns(
    packed: Any, open_page: Callable[..., Page], tmp_path: Path, kind: str, optimize: str, form: str
) -> None:
    text, how = f"{TEXTS[kind]}optimize: {optimize}\n", dict[str, Any]()
    if form == "files":
        data = write_images(tmp_path / "files", kind)
        if kind == "masked":
            how["masks"] = write_masks(tmp_path / "masks", tmp_path / "files")
        page = open_page(None, data, **how)
    else:
        page, data = packed(kind, text, format=form)
    assert differing(page, data, text, **how) == []


def test_tiles_come_with_the_stains_of_their_bag(open_page: Callable[..., Page], tmp_path: Path) -> None:
    data = str(ar.draw_slides(tmp_path / "slides", bags=2, shrink=4))
    page = open_page(None, data)
    for stained in (BAG, BAG.replace("{sigma", "{basis: macenko, sigma")):  # what was listed first has no stains
        assert differing(page, data, stained) == []
    recipes = [ar.load(text) for text in (BAG, BAG.replace("{max_tiles: 5}", "{tissue: 0.25, min_tissue: 0.7}"))]
    tiles = [page.studio.data.source(recipe, recipe.compile()).table.units for recipe in recipes]
    assert tiles[0] > tiles[1] > 0


def test_every_view_of_a_store(packed: Any) -> None:
    page, store = packed("image", FAST)
    source = page.post("/api/source", text=FAST)
    assert (source["problem"], source["count"], source["seed"]) == (None, 6, None)
    lines = page.lines("/api/stages", text=FAST, index=1, epoch=2, size=0)
    assert [line.get("baked", False) for line in lines] == [False, True, True, False, False, False, False, False]
    assert [line.get("path") for line in lines[1:6]] == [f"steps.{k}" for k in range(5)]
    assert page.pixels(lines[0]["url"]).shape == (72, 80, 3)
    ds = ar.Packed(store, ar.load(FAST), optimize="none")
    wanted = rgb_of_output(np.asarray(ds[2, 1]["image"]), ds.recipe.output)
    assert np.array_equal(page.pixels(lines[6]["url"]), wanted)
    found = page.post("/api/compare", a={"text": FAST}, b={"text": FAST.replace("30", "10")}, index=1)
    assert found["largest"] > 0
    assert any("limit: 30 → 10" in line for line in found["words"])
    cost = page.post("/api/cost", text=FAST, index=1)
    assert [step["site"] for step in cost["steps"]] == [step.site for step in ar.load(FAST).steps]
    assert [step["ms"] > 0 for step in cost["steps"]] == [False, False, True, True, True]
    apart = page.post("/api/extremes", text=FAST, path="steps.3", index=1)
    assert apart["least"]["apart"] < apart["most"]["apart"]
    for body in ({"off": ["steps.0"]}, {"force": {"steps.1": 0}}):
        reply = page.ask("POST", "/api/stages", {"text": FAST, **body})
        assert (reply.status, reply.json["error"]["code"]) == (422, "baked")
    assert page.ask("POST", "/api/extremes", {"text": FAST, "path": "steps.0"}).status == 422
    assert page.lines("/api/draws", text=FAST, off=["steps.3"])[0]["pictures"]


def test_a_recipe_with_another_beginning_shows_both(packed: Any) -> None:
    page, _ = packed("image", IMAGES)
    other = IMAGES.replace("max_size: 80", "max_size: 90")
    assert "SmallestMaxSize(max_size: 80)" in page.post("/api/source", text=other)["problem"]
    for path in ("draws", "stages", "cost"):
        reply = page.ask("POST", f"/api/{path}", {"text": other})
        assert reply.status == 422
        assert "does not begin with the steps that were baked into the store" in reply.json["error"]["message"]
        assert "SmallestMaxSize(max_size: 90)" in reply.json["error"]["message"]
    pair = page.ask("POST", "/api/draws", {"text": PAIR})
    assert "of kind 'image'" in pair.json["error"]["message"]


def test_epochs_that_were_baked_are_shown_in_turn(packed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    page, store = packed("image", IMAGES, epochs=2, seed=3)
    assert page.post("/api/source", text=IMAGES)["seed"] == 3
    assert differing(page, store, IMAGES) == []
    reply = page.ask("POST", "/api/draws", {"text": IMAGES, "seed": 4})
    assert "with seed 3, not with 4" in reply.json["error"]["message"]
    sample = StoredSource.sample
    monkeypatch.setattr(StoredSource, "sample", lambda self, k, epoch=0, **how: sample(self, k, 0, **how))  # planted
    page.studio.data._samples.__init__(1)  # so that all are read again
    assert any(re.match(r"\d [15] image: another image", one) for one in differing(page, store, IMAGES))


def test_a_store_that_is_damaged_or_given_masks_is_reported_when_the_studio_starts(packed: Any) -> None:
    _, store = packed("image", IMAGES)
    with pytest.raises(DataError, match="leave --masks out"):
        open_studio(None, str(store), masks="masks")
    (store / "image-00000.bin").write_bytes(b"short")
    with pytest.raises(StoreError):
        open_studio(None, str(store))


def file_of(kind: str, height: int, width: int, turn: int = 1) -> Encoded:
    """An image in its format, turned by its EXIF data."""
    return encoded(encoded_picture(Image.fromarray(image_of(height, height, width)), kind, exif=exif(turn)), name="one")


@st.composite
def parts(draw: st.DrawFn) -> tuple[Encoded, int, tuple[int, int, int, int]]:
    """A file, a scale that it has, and a part of it."""
    form = draw(st.sampled_from(["JPEG", "PNG"]))
    height, width = draw(st.integers(9, 90)), draw(st.integers(9, 90))
    file = file_of(form, height, width, draw(st.integers(1, 8)) if form == "JPEG" else 1)
    reduce = draw(st.sampled_from([1, 1, *file.scales()]))

    def span(most: int) -> tuple[int, int]:
        start = draw(st.integers(0, (most - 1) // reduce)) * reduce
        return start, draw(st.integers(start + 1, most))

    (y0, y1), (x0, x1) = map(span, file.shape[:2])
    return file, reduce, (y0, x0, y1, x1)


@settings(max_examples=40)
@given(st.integers(1, 70), st.integers(1, 70), st.sampled_from([3, 4]), st.integers(0, 99))
def test_no_pixel_is_lost_in_a_png(height: int, width: int, channels: int, seed: int) -> None:
    given_ = np.random.default_rng(seed).integers(0, 256, (height, width, channels), np.uint8)
    back = cv2.imdecode(np.frombuffer(png_of(given_), np.uint8), cv2.IMREAD_UNCHANGED)
    assert np.array_equal(back[..., [2, 1, 0, 3][:channels]], given_)


class ThreeMembers:
    """A source of somebody's own."""

    def __init__(self) -> None:
        self.columns = {"label": [0, 1, 0]}

    def __len__(self) -> int:
        return 3

    def read(self, index: int) -> dict[str, Any]:
        return {"image": image_of(index)}


def test_a_source_of_ones_own_is_shown_as_its_dataset_returns_it(open_page: Callable[..., Page]) -> None:
    page, recipe = open_page(None, ThreeMembers()), ar.load(IMAGES)
    ds = ar.Samples(ThreeMembers(), recipe, seed=3)
    *lines, _ = page.lines("/api/draws", text=IMAGES, indices=[0, 1, 2], epochs=[0, 1], seed=3, tiles=3)
    assert len(lines) == 6
    for line in lines:
        (shown,), wanted = line["pictures"], ds[line["epoch"], line["index"]]["image"]
        assert np.array_equal(page.pixels(shown["url"]), rgb_of_output(np.asarray(wanted), recipe.output))
