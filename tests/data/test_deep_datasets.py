"""Images of 16 bits and floats in datasets of every kind: files, stores, loaders, evaluation and the device agree."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import torch
from support.checks import planted_faults
from support.kind_laws import LAWS
from support.kinds import (
    BAG,
    IMAGE,
    KINDS,
    PAIR,
    VIEWS,
    Kind,
    agree,
    arrays,
    by_kind,
    by_turns,
    data_of,
    pixels,
    recipe_of,
)

import augrecipes as ar
from augrecipes.compiler.prefix import suffix_recipe
from augrecipes.data import packed
from augrecipes.images.encoded import Encoded
from augrecipes.kinds.bag.slides import SlideFiles
from augrecipes.kinds.pair import shared
from augrecipes.mixtures.batch import blend
from augrecipes.packing.run import pack
from augrecipes.recipe.parse import parse_text
from augrecipes.sources.slides.listing import Windows
from augrecipes.store import formats
from augrecipes.store.verify import verify_store

# By name: what `inputs:` say, and what makes an image of one of 8 bits and three channels.
FORMS: dict[str, tuple[str, Callable[[np.ndarray], np.ndarray]]] = {
    "uint16": ("depth: 16", lambda image: image.astype(np.uint16) * 257),
    "uint16, 12 bits, 5 channels": (
        "depth: 16, channels: 5, range: [100, 4195]", lambda image: image[..., [0, 1, 2, 1, 0]] * np.uint16(16) + 100,
    ),
    "float32, 1 channel": ("depth: float32, channels: 1", lambda image: image[..., :1] / np.float32(255)),
    "float32 of a range": (
        "depth: float32, range: [-1000, 3000]", lambda image: image / np.float32(255) * 4000 - np.float32(1000),
    ),
}  # fmt: skip
by_form = pytest.mark.parametrize("form", FORMS)


def with_inputs(recipe: str, form: str) -> str:
    """The recipe of images of a form, without masks, boxes and keypoints."""
    lines = [line for line in recipe.splitlines() if not line.startswith("inputs:")]
    return "\n".join([*lines, f"inputs: {{{FORMS[form][0]}}}"])


@pytest.fixture(scope="session")
def deep_roots(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Kind, str], Path]:
    """The folder of twelve samples of a kind and a form: PNGs of 16 bits, or arrays."""
    known: dict[tuple[str, str], Path] = {}

    def make(kind: Kind, form: str) -> Path:
        if (kind.name, form) not in known:
            root = tmp_path_factory.mktemp(kind.name) / "files"
            root.mkdir()
            kind.fill(root)
            for path in [*root.rglob("*.png")]:
                image = FORMS[form][1](cv2.imread(str(path))[..., ::-1])
                if form == "uint16":
                    assert cv2.imwrite(str(path), image[..., ::-1])
                else:
                    np.save(path.with_suffix(".npy"), image)
                    path.unlink()
            known[kind.name, form] = root
        return known[kind.name, form]

    return make


@by_kind
@by_form
def test_values_are_those_of_8_bits(
    roots: dict[str, Path], deep_roots: Callable[[Kind, str], Path], kind: Kind, form: str
) -> None:
    """Levels of 8 bits in more: what comes out differs by how it is rounded on the way."""
    deep = kind.open(deep_roots(kind, form), with_inputs(kind.recipe, form), seed=3)
    plain = kind.open(roots[kind.name], with_inputs(kind.recipe, form).replace(FORMS[form][0], ""), seed=3)
    axis = -3
    for k in range(0, len(deep), 3):
        ours, theirs = arrays(deep[k]), arrays(plain[k])
        for name in deep.pipeline.outputs:
            few = min(ours[name].shape[axis], 3)
            assert ours[name].dtype == np.float32
            assert np.abs(ours[name].take(range(few), axis) - theirs[name].take(range(few), axis)).max() < 1.6 / 255


@by_kind
@by_form
def test_modes_give_the_same(deep_roots: Callable[[Kind, str], Path], kind: Kind, form: str) -> None:
    plain, *others = (
        kind.open(deep_roots(kind, form), with_inputs(kind.recipe, form), seed=3, optimize=mode)
        for mode in ("none", "exact", "fast")
    )
    assert all(agree(plain, other, epochs=(1,)) for other in others)


LAWS_OF_BATCHES = (
    "backends_do_not_matter", "passes_can_be_resumed_at_any_batch", "pickles_read_alike", "records_replay_samples",
    "samples_own_their_memory", "threads_do_not_matter",
)  # fmt: skip


@by_turns(LAWS_OF_BATCHES, KINDS)
def test_law(deep_roots: Callable[[Kind, str], Path], kind: Kind, law: str) -> None:
    root, recipe = deep_roots(kind, "uint16"), with_inputs(kind.recipe, "uint16")
    LAWS[law](lambda **options: kind.open(root, recipe, **{"seed": 3, **options}))


def test_torch_collates_16_bits(deep_roots: Callable[[Kind, str], Path]) -> None:
    recipe = with_inputs(IMAGE.recipe, "uint16") + "\noutput: {dtype: uint16}"
    ds = IMAGE.open(deep_roots(IMAGE, "uint16"), recipe, seed=3)
    for workers in (0, 2):
        batches = [
            *torch.utils.data.DataLoader(
                ds, 5, num_workers=workers, multiprocessing_context="fork" * bool(workers) or None
            )
        ]
        assert [(batch["image"].dtype, len(batch["image"])) for batch in batches] == [
            (torch.uint16, n) for n in (5, 5, 2)
        ]


# -- stores ----------------------------------------------------------------------------------------------------------


@by_kind
@by_form
def test_stores_hold_what_files_do(
    deep_roots: Callable[[Kind, str], Path], tmp_path: Path, kind: Kind, form: str
) -> None:
    format = ("lossless", "raw")[(KINDS.index(kind) + [*FORMS].index(form)) % 2]  # each of every kind and form
    root, out, recipe = deep_roots(kind, form), tmp_path / "store", parse_text(with_inputs(recipe_of(kind), form))
    pack(recipe, data_of(kind, root), out, format=format)
    modes: tuple[Any, ...] = ("train", "eval")
    for mode in modes:
        files, store = (
            kind.dataset(kind.where(root), recipe, seed=3, mode=mode),
            ar.Packed(out, recipe, seed=3, mode=mode),
        )
        assert agree(files, store, epochs=(0,))
    batch = next(iter(ar.loader(ar.Packed(out, recipe, seed=3), 4, num_workers=2, collate="list", shuffle=False)))
    first = kind.dataset(kind.where(root), recipe, seed=3)[0]
    assert all(np.array_equal(batch[name][0], value) for name, value in first.items() if hasattr(value, "ndim"))
    assert not verify_store(out)


DEGRADE = """
version: 1
recipe: degrade
kind: pair
scales: {lr: 1, hr: 2}
steps:
  - RandomCrop: {height: 12, width: 10, at: lr}
  - Degrade:
      source: hr
      target: lr
      steps:
        - GaussianBlur: {p: 1.0}
        - ResizeToTarget
        - GaussNoise: {p: 1.0}
eval:
  - Degrade: {source: hr, target: lr, steps: [ResizeToTarget]}
"""
OF_DEGRADE = replace(PAIR, recipe=DEGRADE, where=lambda root: {"hr": root / "hr"})


@by_form
@pytest.mark.parametrize("mode", ["train", "eval"])
def test_stores_of_what_degrade_makes(
    deep_roots: Callable[[Kind, str], Path], tmp_path: Path, form: str, mode: Any
) -> None:
    root, recipe = deep_roots(PAIR, form), parse_text(with_inputs(DEGRADE, form))
    pack(recipe, {"hr": str(root / "hr")}, tmp_path / "store", mode=mode)
    files = ar.PairedImages({"hr": root / "hr"}, recipe, mode=mode, seed=3)
    for optimize in ("none", "exact", "fast"):
        store = ar.Packed(tmp_path / "store", recipe, mode=mode, seed=3, optimize=optimize)
        assert [pixels(files[k]) for k in range(len(files))] == [pixels(store[k]) for k in range(len(files))]


def test_jpeg_keeps_8_bits(deep_roots: Callable[[Kind, str], Path], tmp_path: Path) -> None:
    recipe = parse_text(with_inputs(IMAGE.recipe, "uint16"))
    with pytest.raises(ar.StoreError, match="JPEG keeps images of 8 bits, not of uint16; pack as raw or lossless"):
        pack(recipe, str(deep_roots(IMAGE, "uint16")), tmp_path / "store", format="jpeg")


def test_stores_of_another_depth_or_range(deep_roots: Callable[[Kind, str], Path], tmp_path: Path) -> None:
    form = "uint16, 12 bits, 5 channels"
    baked, plain = with_inputs(recipe_of(IMAGE), form), with_inputs(IMAGE.recipe, form)
    holds = "holds images of uint16, the recipe's inputs say"
    other = (
        (baked.replace(FORMS[form][0], "channels: 5"), f"{holds} uint8"),
        (baked.replace("16", "float32"), f"{holds} float32"),
        (baked.replace("100, 4195", "0, 4095"), "whose inputs declare image as"),
    )
    for name, recipe in (("baked", baked), ("plain", plain)):
        pack(parse_text(recipe), str(deep_roots(IMAGE, form)), tmp_path / name)
    for recipe, says in other:
        with pytest.raises(ar.StoreError, match=says):
            ar.Packed(tmp_path / "baked", parse_text(recipe))
    # Whole images have the values of their files, whatever they are taken for.
    wider = parse_text(plain.replace("100, 4195", "0, 8190"))
    narrow = ar.Packed(tmp_path / "plain", parse_text(plain.replace("100, 4195", "0, 4095")), mode="eval")[0]["image"]
    assert np.allclose(ar.Packed(tmp_path / "plain", wider, mode="eval")[0]["image"] * 2, narrow, atol=1e-6)


# -- pixels of no data -----------------------------------------------------------------------------------------------

NODATA = {
    "uint16": ("depth: 16, nodata: 0", lambda image: image.astype(np.uint16) * 257),
    "uint8": ("nodata: 0", lambda image: image),
    "float32": ("depth: float32, range: [0, 500], nodata: -1", lambda image: image.astype(np.float32) * 2),
}
_MOVED = "steps:\n  - Rotate: {limit: 40, p: 1.0}\n  - GaussianBlur: {p: 1.0}\n"


@pytest.mark.parametrize("kind", [IMAGE, BAG, VIEWS], ids=str)
@pytest.mark.parametrize("form", NODATA)
def test_pixels_of_no_data(kind: Kind, form: str, tmp_path: Path) -> None:
    """Stores keep whole images, whose missing pixels are looked for when they are read; every mode finds the same."""
    inputs, deepen = NODATA[form]
    root = tmp_path / "files"
    root.mkdir()
    kind.fill(root)
    for path in [*root.rglob("*.png")]:
        image = deepen(np.maximum(cv2.imread(str(path)), 1))
        image[:12, :9] = -1 if form == "float32" else 0
        np.save(path.with_suffix(".npy"), image)
        path.unlink()
    lines = [line for line in recipe_of(kind).splitlines() if not line.startswith("inputs:")]
    text = "\n".join([*lines, f"inputs: {{{inputs}}}", "output: {normalize: {mean: [0.5], std: [0.25]}}"])
    text = (
        text.replace("shared:\n", _MOVED.replace("steps", "shared"))
        if kind is VIEWS
        else text.replace("steps:\n", _MOVED)
    )
    plain, *planned = (kind.open(root, text, seed=3, optimize=mode) for mode in ("none", "exact", "fast"))
    found = [plain[0, k] for k in range(len(plain))]

    def alike(others: Any) -> bool:
        return [pixels(others[0, k]) for k in range(len(others))] == [pixels(sample) for sample in found]

    assert all(map(alike, planned))
    outputs = [arrays(sample)[plain.pipeline.outputs[0]] for sample in found]
    missing = np.mean([(output == 0).all(axis=-3).mean() for output in outputs])
    assert 0.05 < missing < 0.7
    for format in ("raw", "lossless"):
        pack(parse_text(text), data_of(kind, root), tmp_path / format, format=format)
        assert alike(store := ar.Packed(tmp_path / format, parse_text(text), seed=3))
        assert not store.store.about["steps"]
    with pytest.raises(ar.RecipeError, match="`nodata` is looked for in the values of the files: nothing can be baked"):
        pack(parse_text(text), data_of(kind, root), tmp_path / "epochs", epochs=2)


# -- what cannot be --------------------------------------------------------------------------------------------------

_PAIR = "version: 1\nrecipe: t\nkind: pair\nscales: {lr: 1, hr: 2}\neval: []\n"
_IMAGE = "version: 1\nrecipe: t\nsteps: []\neval: []\n"


def test_steps_of_256_levels_inside_degrade() -> None:
    step = "Degrade: {source: hr, target: lr, steps: [ResizeToTarget, ImageCompression]}"
    with pytest.raises(ar.LintError, match=r"L305 .*ImageCompression works on 256 levels"):
        parse_text(f"{_PAIR}steps: [{step}]\ninputs: {{depth: 16}}").compile()


def test_pairs_are_of_one_depth() -> None:
    pipeline = parse_text(f"{_PAIR}steps: []\ninputs: {{depth: 16}}").compile()
    hr = np.zeros((8, 8, 3), np.uint16)
    with pytest.raises(ar.DataError, match="lr is uint8, the recipe's inputs say uint16"):
        pipeline.at(0)(hr=hr, lr=np.zeros((4, 4, 3), np.uint8))


def test_slides_have_8_bits(tmp_path: Path) -> None:
    recipe = parse_text("version: 1\nrecipe: t\nkind: bag\nsteps: []\ninputs: {depth: 16}")
    windows = Windows(64, None, None, None, "otsu", 0.5, 0.8, None, None, 1 << 20)
    for open_slides in (partial(ar.SlideBags, tmp_path), partial(ar.TileBags, SlideFiles(tmp_path, windows))):
        with pytest.raises(ar.DataError, match="slides have 8 bits, the recipe's inputs say uint16"):
            open_slides(recipe)


# -- batches and the device ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [IMAGE, PAIR], ids=str)
@by_form
def test_the_device_does_the_rest(deep_roots: Callable[[Kind, str], Path], kind: Kind, form: str) -> None:
    device, host = (
        f"{with_inputs(kind.recipe, form)}\noutput: {{range: [-1, 1], where: {w}}}" for w in ("device", "host")
    )
    loads, reference = (kind.open(deep_roots(kind, form), text, seed=3) for text in (device, host))
    stage = parse_text(device).device_stage()
    for batch, wanted in zip(
        *(ar.loader(ds, 4, num_workers=0, shuffle=False) for ds in (loads, reference)), strict=True
    ):
        done = stage(batch)
        for name in loads.pipeline.outputs:
            assert str(batch[name].dtype) == f"torch.{parse_text(device).inputs.dtype}"
            assert (done[name] - wanted[name]).abs().max() <= 1e-6


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_mixed_whole_numbers_are_rounded(dtype: Any) -> None:
    top = int(np.iinfo(dtype).max)
    row, other = (np.random.default_rng(k).integers(0, top + 1, 999, dtype) for k in (1, 2))
    wanted = 0.3 * row + 0.7 * other.astype(float)
    blend(row, other, 0.3)
    assert np.abs(row - wanted).max() <= 0.5 + 0.01


@pytest.mark.parametrize("mixture", ["MixUp", "CutMix", "Mosaic"])
@pytest.mark.parametrize("output", ["dtype: float32", "dtype: uint16", "where: device"])
def test_batches_are_mixed(deep_roots: Callable[[Kind, str], Path], mixture: str, output: str) -> None:
    recipe = f"{with_inputs(IMAGE.recipe, 'uint16')}\noutput: {{{output}}}\nbatch: [{mixture}]"
    ds = IMAGE.open(deep_roots(IMAGE, "uint16"), recipe)
    for batch, same in zip(*(ar.loader(ds, 4, num_workers=n, shuffle=False) for n in (0, 2)), strict=True):
        assert torch.equal(batch["image"], same["image"])
        assert batch["image"].dtype == (torch.float32 if output == "dtype: float32" else torch.uint16)


# -- test-time augmentation ------------------------------------------------------------------------------------------


@by_form
def test_views_of_evaluation_come_back(form: str) -> None:
    image = FORMS[form][1](np.random.default_rng(1).integers(0, 256, (40, 52, 3), np.uint8))
    recipe = parse_text(f"{_IMAGE}inputs: {{{FORMS[form][0]}}}\ntta: {{views: d4, tile: {{size: 24, overlap: 0.25}}}}")
    views = ar.tta(recipe)
    back = views.merge([sample["image"] for sample in views.split(image=image)], kind="image")
    assert np.allclose(back, recipe.compile("eval").at(0)(image=image)["image"], atol=1e-6)


# -- pairs -----------------------------------------------------------------------------------------------------------


@by_form
def test_shared_values_are_alike(form: str) -> None:
    """What changes the values of all targets does to each pixel what it does to that value in the others."""
    steps = "steps: [RandomGamma: {p: 1.0, gamma_limit: [40, 180]}, RandomBrightnessContrast: {p: 1.0}]"
    pipeline = parse_text(f"{_PAIR}{steps}\ninputs: {{{FORMS[form][0]}}}").compile()
    hr = FORMS[form][1](np.random.default_rng(1).integers(0, 256, (24, 20, 3), np.uint8))
    out = pipeline.at(3)(hr=hr, lr=hr[::2, ::2].copy())
    assert np.array_equal(out["hr"][:, ::2, ::2], out["lr"])
    as_read = parse_text(f"{_PAIR}steps: []\ninputs: {{{FORMS[form][0]}}}").compile().at(3)(hr=hr, lr=hr[::2, ::2])
    assert not np.array_equal(out["hr"], as_read["hr"])
    assert 0.3 < out["hr"].mean() < 0.7


@by_form
def test_windows_are_aligned(form: str) -> None:
    steps = "steps: [RandomCrop: {height: 8, width: 6, at: lr}, D4: {p: 1.0}]"
    pipeline = parse_text(f"{_PAIR}{steps}\ninputs: {{{FORMS[form][0]}}}").compile()
    hr = FORMS[form][1](np.random.default_rng(1).integers(0, 256, (48, 40, 3), np.uint8))
    lr = hr[::2, ::2].copy()
    turned = set()
    for k in range(40):
        out = pipeline.at(k)(hr=hr, lr=lr)
        places = [(slice(a, None, 2), slice(b, None, 2)) for a in (0, 1) for b in (0, 1)]
        same = [place for place in places if np.array_equal(out["hr"][(slice(None), *place)], out["lr"])]
        assert len(same) == 1
        turned.add(str(same[0]))
    assert len(turned) == 4


def test_files_are_decoded_as_far_as_the_first_window(
    deep_roots: Callable[[Kind, str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a pair of 16 bits no more is decoded than the crop that comes first."""
    areas: list[tuple[int, int]] = []
    decode = Encoded.view

    def view(self: Any, y0: int, x0: int, y1: int, x1: int, reduce: int = 1) -> Any:
        areas.append((y1 - y0, x1 - x0))
        return decode(self, y0, x0, y1, x1, reduce)

    monkeypatch.setattr(Encoded, "view", view)
    ds = PAIR.open(deep_roots(PAIR, "uint16"), with_inputs(PAIR.recipe, "uint16"), seed=3, optimize="exact")
    assert ds[0]["hr"].shape == (3, 24, 20)
    assert sorted(areas) == [(12, 10), (24, 20)]


# -- planted faults --------------------------------------------------------------------------------------------------


_OF_12_BITS = "uint16, 12 bits, 5 channels"
_suffix, _encode = suffix_recipe, formats.encode_item


def _store(get: Callable[[str], Any]) -> None:
    test_stores_hold_what_files_do(get("deep_roots"), get("tmp_path"), IMAGE, _OF_12_BITS)


def _shared(_: Any) -> None:
    test_shared_values_are_alike(_OF_12_BITS)


def _without_range(*args: Any) -> Any:
    recipe = _suffix(*args)
    return replace(recipe, inputs=replace(recipe.inputs, range=None))


test_planted_faults_are_caught = planted_faults({
    "the rest of a recipe forgets the range": (_store, (packed, "suffix_recipe", _without_range)),
    "stores round": (
        _store, (formats, "encode_item", lambda array, *how: _encode(array & array.dtype.type(0xFFF0), *how)),
    ),
    "targets are not taken to 0..1": (_shared, (shared, "to_unit", lambda image, _: image.astype(np.float32))),
    "targets do not come back": (_shared, (shared, "from_unit", lambda changed, *_: changed)),
})  # fmt: skip
