"""Files and packed datasets of every kind: what is shown is what a Dataset returns; what does not fit is reported."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from asking import Page, picture

import augrecipes as ar
from augrecipes.errors import DataError, StoreError
from augrecipes.preview.display import picture_of_output
from augrecipes.sources.stored import StoredSource
from augrecipes.studio import data
from augrecipes.studio.studio import opened

PICTURES = """\
version: 1
recipe: images
optimize: {optimize}
steps:
  - SmallestMaxSize: {{max_size: 80}}
  - CenterCrop: {{height: 72, width: 80}}
  - RandomCrop: {{height: 48, width: 64}}
  - Rotate: {{limit: 30, border_mode: reflect_101, p: 1.0}}
  - HorizontalFlip
eval: derived
output: {{dtype: float32, layout: chw, normalize: imagenet}}
"""
PAIRS = """\
version: 1
recipe: pairs
kind: pair
optimize: {optimize}
scales: {{lr: 1, hr: 2}}
steps:
  - RandomCrop: {{height: 24, width: 24, at: lr}}
  - HorizontalFlip
"""
BAGS = """\
version: 1
recipe: bags
kind: bag
optimize: {optimize}
bag: {{max_tiles: 5}}
steps:
  - CenterCrop: {{height: 40, width: 40}}
  - RandomCrop: {{height: 32, width: 32}}
  - StainJitter: {{sigma: 0.05, share: bag, p: 1.0}}
"""


def written(folder: Path, kind: str) -> Any:
    """Files of a kind, and what names them."""
    if kind == "pair":
        for name, k in (("hr", 2), ("lr", 1)):
            (folder / name).mkdir(parents=True)
            for number in range(3):
                assert cv2.imwrite(str(folder / name / f"{number}.png"), picture(number, 60 * k, 80 * k))
        return {name: str(folder / name) for name in ("hr", "lr")}
    for number in range(6):
        to = folder / ("ab"[number % 2] if kind == "bag" else "") / f"{number}.{'png' if number % 3 else 'jpg'}"
        to.parent.mkdir(parents=True, exist_ok=True)
        assert cv2.imwrite(str(to), picture(number))
    return str(folder)


KINDS = {"image": PICTURES, "pair": PAIRS, "bag": BAGS}


@pytest.fixture
def packed(tmp_path: Path, open_page: Callable[..., Page]) -> Iterator[Callable[..., tuple[Page, Path]]]:
    """Packs files of a kind, and opens a page over the store."""

    def make(kind: str, text: str, **how: Any) -> tuple[Page, Path]:
        ar.pack(ar.load(text), written(tmp_path / "files", kind), tmp_path / "store", workers=0, **how)
        return open_page(None, str(tmp_path / "store")), tmp_path / "store"

    yield make


def differing(page: Page, data: Any, text: str, seed: int = 3) -> list[str]:
    """Images of the page that are not those of a Dataset over the data; lines of Python that give others."""
    recipe = ar.load(text)
    of_files = {"image": ar.ImageFolder, "pair": ar.PairedImages, "bag": ar.TileBags}[recipe.kind]
    make: Any = ar.Packed if page.studio.data.store else of_files
    ds = make(data, recipe, seed=seed)
    count, found = len(ds), []
    lines = page.lines("/api/draws", text=text, indices=list(range(count)), epochs=[0, 1, 5], seed=seed, tiles=3)
    for line in lines[:-1]:
        index, epoch = line["index"], line["epoch"]
        whole = ds[epoch, index]
        made = eval(line["python"].replace("'recipe.yaml'", "text"), {"ar": ar, "text": text})
        for number, shown in enumerate(line["pictures"]):
            name, output = shown["target"], recipe.outputs.get(shown["target"], recipe.output)
            if recipe.kind == "pair":
                x0, y0, x1, y1 = shown["window"]
                assert (x1 - x0, y1 - y0) == np.asarray(whole[name]).shape[1:]
            if recipe.kind == "bag":
                out = ds.pipeline.at(index, epoch, shown["tile"])(
                    **ds.given(index, epoch=epoch, tile=shown["tile"]).targets
                )
                among = [picture_of_output(np.asarray(tile), output) for tile in whole["image"]]
                wanted = picture_of_output(out["image"], output)
                if not any(np.array_equal(wanted, one) for one in among):
                    found.append(f"{index} {epoch}: no tile of the bag")
            else:
                wanted = picture_of_output(np.asarray(whole[name]), output)
            if not np.array_equal(page.pixels(shown["url"]), wanted):
                found.append(f"{index} {epoch} {name}: another image")
            if number == 0 and not np.array_equal(picture_of_output(np.asarray(made[name]), output), wanted):
                found.append(f"{index} {epoch} {name}: {line['python']}")
    assert len(lines) == 3 * count + 1
    return found


@pytest.mark.parametrize("optimize", ["none", "fast"])
@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("form", ["files", "raw", "jpeg"])
def test_what_is_shown_is_what_a_dataset_returns(
    packed: Any, open_page: Callable[..., Page], tmp_path: Path, kind: str, optimize: str, form: str
) -> None:
    text = KINDS[kind].format(optimize=optimize)
    if form == "files":
        data = written(tmp_path / "files", kind)
        page = open_page(None, data)
    else:
        page, data = packed(kind, text, format=form)
    assert differing(page, data, text) == []


def test_every_view_of_a_store(packed: Any) -> None:
    for_pictures = PICTURES.format(optimize="fast")
    page, store = packed("image", for_pictures)
    source = page.post("/api/source", text=for_pictures)
    assert (source["problem"], source["count"], source["seed"]) == (None, 6, None)
    lines = page.lines("/api/stages", text=for_pictures, index=1, epoch=2, size=0)
    assert [line.get("baked", False) for line in lines] == [False, True, True, False, False, False, False, False]
    assert [line.get("path") for line in lines[1:6]] == [f"steps.{k}" for k in range(5)]
    assert page.pixels(lines[0]["url"]).shape == (72, 80, 3)
    ds = ar.Packed(store, ar.load(for_pictures), optimize="none")
    wanted = picture_of_output(np.asarray(ds[2, 1]["image"]), ds.recipe.output)
    assert np.array_equal(page.pixels(lines[6]["url"]), wanted)
    found = page.post("/api/compare", a={"text": for_pictures}, b={"text": for_pictures.replace("30", "10")}, index=1)
    assert found["largest"] > 0
    assert any("limit: 30 → 10" in line for line in found["words"])
    cost = page.post("/api/cost", text=for_pictures, index=1)
    assert [step["path"] for step in cost["steps"]] == [f"steps.{k}" for k in range(5)]
    assert [step["before_us"] > 0 for step in cost["steps"]] == [False, False, True, True, True]
    apart = page.post("/api/extremes", text=for_pictures, path="steps.3", index=1)
    assert apart["least"]["apart"] < apart["most"]["apart"]
    for body in ({"off": ["steps.0"]}, {"force": {"steps.1": 0}}):
        reply = page.ask("POST", "/api/stages", {"text": for_pictures, **body})
        assert (reply.status, reply.json["error"]["code"]) == (422, "baked")
    assert page.ask("POST", "/api/extremes", {"text": for_pictures, "path": "steps.0"}).status == 422
    assert page.lines("/api/draws", text=for_pictures, off=["steps.3"])[0]["pictures"]


HOW = (
    "",
    "optimize: none",
    "optimize: fast",
    "without_rules: [drop_noops]",
    "max_bytes: 900000000",
    "about: other",
    "",
)


def stale(page: Page, text: str) -> list[str]:
    """Edits that change no digest, and that are not heard by a page over a store."""
    found = []
    for line in HOW:
        recipe = page.studio.bench.recipe(f"{text}{line}\n")
        left, baked = page.studio.data.left(recipe, "train", 0)
        if len(baked) != 2 or replace(left, steps=recipe.steps, inputs=recipe.inputs) != recipe:
            found.append(line)
    return found


def test_what_a_digest_leaves_out_is_heard_over_a_store(packed: Any) -> None:
    text = PICTURES.format(optimize="exact")
    page, _ = packed("image", text)
    assert stale(page, text.replace("optimize: exact\n", "")) == []
    sides = {side: {"text": text.replace("exact", said)} for side, said in (("a", "exact"), ("b", "fast"))}
    found = page.post("/api/compare", **sides, index=1)
    assert [found[side]["optimize"] for side in "ab"] == ["exact", "fast"]


def test_planted_what_is_kept_by_its_digest_is_noticed(packed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: dict[str, Any] = {}
    real = data.behind
    monkeypatch.setattr(data, "behind", lambda recipe, *more: kept.setdefault(recipe.digest, real(recipe, *more)))
    text = PICTURES.format(optimize="exact")
    page, _ = packed("image", text)
    assert stale(page, text.replace("optimize: exact\n", "")) == list(HOW[1:-1])


def test_a_recipe_with_another_beginning_is_told_both(packed: Any) -> None:
    text = PICTURES.format(optimize="exact")
    page, _ = packed("image", text)
    other = text.replace("max_size: 80", "max_size: 90")
    assert "SmallestMaxSize(max_size: 80)" in page.post("/api/source", text=other)["problem"]
    for path in ("draws", "stages", "cost"):
        reply = page.ask("POST", f"/api/{path}", {"text": other})
        assert reply.status == 422
        assert "does not begin with the steps that were baked into the store" in reply.json["error"]["message"]
        assert "SmallestMaxSize(max_size: 90)" in reply.json["error"]["message"]
    pair = page.ask("POST", "/api/draws", {"text": PAIRS.format(optimize="exact")})
    assert "of kind 'image'" in pair.json["error"]["message"]


def test_epochs_that_were_baked_are_shown_in_turn(packed: Any) -> None:
    text = PICTURES.format(optimize="exact")
    page, store = packed("image", text, epochs=2, through="Rotate", seed=3)
    assert page.post("/api/source", text=text)["seed"] == 3
    assert differing(page, store, text) == []
    assert (
        "with seed 3, not with 4" in page.ask("POST", "/api/draws", {"text": text, "seed": 4}).json["error"]["message"]
    )


def test_planted_the_first_epoch_alone_is_noticed(packed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    text = PICTURES.format(optimize="exact")
    page, store = packed("image", text, epochs=2, through="Rotate", seed=3)
    read = StoredSource.read
    monkeypatch.setattr(StoredSource, "read", lambda self, k, epoch=0, **how: read(self, k, 0, **how))
    assert any(re.match(r"\d [15] image: another image", one) for one in differing(page, store, text))


def test_masks_of_a_store_lie_on_its_pictures(tmp_path: Path, open_page: Callable[..., Page]) -> None:
    files, masks = tmp_path / "files", tmp_path / "masks"
    masks.mkdir()
    written(files, "image")
    mask = np.zeros((120, 160), np.uint8)
    mask[20:60, 30:90] = 2
    for file in files.iterdir():
        assert cv2.imwrite(str(masks / f"{file.stem}.png"), mask)
    text = PICTURES.format(optimize="exact").replace("steps:", "inputs: {mask: required}\nsteps:", 1)
    ar.pack(ar.load(text), str(files), tmp_path / "store", workers=0, masks=str(masks))
    page = open_page(None, str(tmp_path / "store"))
    line = page.lines("/api/draws", text=text, indices=[1])[0]
    overlay = page.pixels(line["pictures"][0]["overlay"]["mask"])
    ds = ar.Packed(tmp_path / "store", ar.load(text))
    assert np.array_equal(overlay[..., 3] > 0, np.asarray(ds[0, 1]["mask"]) > 0)
    with pytest.raises(DataError, match="leave --masks out"):
        opened(None, str(tmp_path / "store"), masks=str(masks))


def test_a_damaged_store_is_told_when_the_studio_starts(packed: Any) -> None:
    _, store = packed("image", PICTURES.format(optimize="exact"))
    (store / "image-00000.bin").write_bytes(b"short")
    with pytest.raises(StoreError):
        opened(None, str(store))
