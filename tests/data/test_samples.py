"""Samples of a source of one's own: those of the files that it holds, whatever form they come in."""

from __future__ import annotations

import pickle
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from given_sources import FORMS, KINDS, Files, given
from kind_laws import LAWS
from kinds import IMAGE, PAIR, Kind, arrays, pixels
from PIL import Image
from test_packed import agree
from torch.utils.data import DataLoader, Subset, TensorDataset

import augrecipes as ar
from augrecipes.data.samples import Samples
from augrecipes.errors import AugrecipesError, DataError
from augrecipes.recipe.parse import parse_text
from augrecipes.sources import given as pictures
from augrecipes.sources import items
from augrecipes.sources.rows import NamedSource

by_kind = pytest.mark.parametrize("kind", KINDS, ids=str)
BOXED = IMAGE.recipe  # takes a mask, boxes and keypoints
PLAIN = "{version: 1, recipe: plain, steps: [HorizontalFlip, RandomGamma: {p: 1.0}], eval: []}"


@by_kind
@pytest.mark.parametrize("law", LAWS)
def test_law(roots: dict[str, Path], kind: Kind, law: str) -> None:
    LAWS[law](lambda **options: given(kind, roots[kind.name], **{"seed": 3, **options}))


def of_the_files(roots: dict[str, Path], kind: Kind, form: str, **options: Any) -> None:
    assert agree(given(kind, roots[kind.name], form, **options), kind.open(roots[kind.name], **options))


@by_kind
@pytest.mark.parametrize("form", FORMS)
def test_samples_are_those_of_the_files(roots: dict[str, Path], kind: Kind, form: str) -> None:
    of_the_files(roots, kind, form, seed=3)
    of_the_files(roots, kind, form, mode="eval")


def annotated() -> tuple[list[dict[str, Any]], np.random.Generator]:
    rng = np.random.default_rng(5)
    rows = [
        {
            "image": rng.integers(0, 256, (32, 28, 3), np.uint8),
            "mask": rng.integers(0, 300, (32, 28)),
            "boxes": [[1, 2, 20.5, 25], [4, 4, 9, 9]][: k % 3],
            "box_labels": [7, 1][: k % 3],
            "keypoints": torch.tensor([[3.0, 4.0], [10.0, 11.0]]),
            "caption": f"no. {k}",
            "score": 0.5 * k,
            "label": np.int64(k),
        }
        for k in range(6)
    ]
    return rows, rng


def test_annotations_follow(tmp_path: Path) -> None:
    rows, _ = annotated()
    ds = Samples(rows, parse_text(BOXED), seed=3)
    pipeline = parse_text(BOXED).compile(seed=3)
    for i, row in enumerate(rows):
        sample = ds[1, i]
        took = {name: row[name] for name in ("image", "box_labels")}
        expected = pipeline.at(i, 1)(
            **took,
            mask=row["mask"].astype(np.uint16),
            boxes=np.array(row["boxes"], np.float32).reshape(-1, 4),
            keypoints=row["keypoints"].numpy(),
        )
        for name in ("image", "mask", "boxes", "keypoints"):
            assert np.array_equal(sample[name].numpy(), expected[name])
        assert sample["box_labels"].tolist() == [*expected["box_labels"]]
        assert (sample["caption"], sample["score"], sample["label"]) == (row["caption"], row["score"], i)
    (batch,) = ar.loader(ds, 6)
    assert batch["score"].dtype.is_floating_point
    assert batch["caption"] == [row["caption"] for row in rows]
    assert [len(boxes) for boxes in batch["boxes"]] == [len(s["boxes"]) for s in (ds[i] for i in range(6))]


def test_keys_say_what_parts_are_called() -> None:
    rows, _ = annotated()
    expected = Samples(rows, parse_text(BOXED))
    deep = [
        {"photo": r["image"], "seg": r["mask"], "objects": {"bbox": r["boxes"], "kind": r["box_labels"]}, "n": 1}
        for r in rows
    ]
    keys = {"image": "photo", "mask": "seg", "boxes": "objects.bbox", "box_labels": "objects.kind"}
    named = Samples(deep, parse_text(BOXED), keys=keys)
    places = Samples([(r["mask"], r["image"]) for r in rows], parse_text(BOXED), keys=("mask", "image"))
    numbers = Samples([(0, r["mask"], r["image"]) for r in rows], parse_text(BOXED), keys={"image": 2, "mask": 1})
    tuples = Samples([(r["image"], r["mask"]) for r in rows], parse_text(BOXED))
    for i in range(6):
        for found in (named, places, numbers, tuples):
            keep = arrays(found[i]).keys() - {"index"}
            assert {"image", "mask"} <= keep
            assert all(torch.equal(found[i][k], expected[i][k]) for k in keep)
    assert "n" not in named[0]


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_pictures_of_all_channels(channels: int) -> None:
    """Grey, with alpha, of Pillow's modes: as Pillow converts them, and as files of them are read."""
    rng = np.random.default_rng(0)
    recipe = parse_text("{version: 1, recipe: raw, steps: [], eval: [], output: {dtype: uint8, layout: hwc}}")
    for mode in ("L", "RGB", "RGBA", "P", "1", "LA", "CMYK", "YCbCr"):
        image = Image.fromarray(rng.integers(0, 256, (8, 9, 3), np.uint8)).convert(mode)
        wanted = np.asarray(image.convert({1: "L", 3: "RGB", 4: "RGBA"}[channels])).reshape(8, 9, channels)
        assert np.array_equal(Samples([image], recipe, channels=channels)[0]["image"].numpy(), wanted)
    for stored in (1, 3, 4):
        array = rng.integers(0, 256, (8, 9, stored), np.uint8)
        forms = [array, array / 255, (array / 255).astype(np.float16), torch.from_numpy(array).permute(2, 0, 1)]
        forms += [array[:, :, 0]] if stored == 1 else []
        for form in forms:
            found = Samples([form], recipe, channels=channels)[0]["image"].numpy()
            assert found.shape == (8, 9, channels)
            if stored == channels:
                assert np.abs(found.astype(int) - array).max() <= (1 if getattr(form, "dtype", 0) == np.float16 else 0)


def test_labels_are_known_before_samples_are_read(roots: dict[str, Path]) -> None:
    files = Files(IMAGE, roots["image"], "array")
    ds = Samples(files, parse_text(PLAIN))
    assert ds.labels.tolist() == files.targets.tolist()
    assert ds.classes == files.classes
    part = Samples(Subset(files, [5, 1]), parse_text(PLAIN))
    assert part.labels.tolist() == [int(files.targets[5]), int(files.targets[1])]
    told = Samples([np.zeros((9, 9, 3), np.uint8)] * 3, parse_text(PLAIN), labels=[2, 0, 2])
    assert [told[i]["label"] for i in range(3)] == told.labels.tolist() == [2, 0, 2]
    assert len([*ar.loader(told, 2, weights="balanced")]) == 2
    own = Samples([(np.zeros((9, 9, 3), np.uint8), 5)] * 3, parse_text(PLAIN), labels=[2, 0, 2])
    assert own[0]["label"] == 5  # what the item says
    with pytest.raises(DataError, match="one integer for each of the 3"):
        Samples([np.zeros((9, 9, 3), np.uint8)] * 3, parse_text(PLAIN), labels=[1])


def test_torch_and_numpy_sources(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    stack = rng.integers(0, 256, (5, 16, 14, 3), np.uint8)
    expected = Samples(list(stack), parse_text(PLAIN), name="x")
    chw = torch.from_numpy(stack).permute(0, 3, 1, 2).contiguous()
    np.save(tmp_path / "all.npy", stack)
    for source in (
        stack,
        chw,
        TensorDataset(chw, torch.arange(5)),
        tmp_path / "all.npy",
        partial(np.load, tmp_path / "all.npy", mmap_mode="r"),
    ):
        found = Samples(source, parse_text(PLAIN))
        assert all(torch.equal(found[2, i]["image"], expected[2, i]["image"]) for i in range(5))
    assert np.array_equal(np.load(tmp_path / "all.npy"), stack)


def test_hdf5_is_opened_in_each_process(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    stack = np.random.default_rng(0).integers(0, 256, (8, 16, 14, 3), np.uint8)
    with h5py.File(tmp_path / "data.h5", "w") as file:
        file["images"] = stack
    ds = Samples(partial(_opened, tmp_path / "data.h5"), parse_text(PLAIN))
    expected = [pixels(ds[0, i]) for i in range(8)]
    assert [pixels(s) for s in map(pickle.loads(pickle.dumps(ds)).__getitem__, range(8))] == expected
    for method in ("fork", "spawn"):
        ds.set_epoch(0)
        made = DataLoader(ds, 3, num_workers=2, multiprocessing_context=method, collate_fn=_as_they_are)
        assert [pixels(s) for batch in made for s in batch] == expected


def _opened(path: Path) -> Any:
    import h5py

    return h5py.File(path)["images"]


def _as_they_are(samples: Any) -> Any:
    return samples


# -- what else reads it -----------------------------------------------------------------------------------------------


@by_kind
@pytest.mark.parametrize("form", ["array", "bytes"])
def test_stores_of_it_give_its_samples(roots: dict[str, Path], kind: Kind, form: str, tmp_path: Path) -> None:
    ds = given(kind, roots[kind.name], form, seed=3)
    ar.pack(kind.recipe, ds, tmp_path / "store", workers=0)
    assert agree(ar.Packed(tmp_path / "store", parse_text(kind.recipe), seed=3), ds)


def test_labels_that_come_with_samples_are_packed(tmp_path: Path) -> None:
    rows = [(np.full((9, 9, 3), k, np.uint8), 10 - k) for k in range(6)]
    rows[4] = (np.zeros(3), 9)  # cannot be read
    ar.pack(PLAIN + "\n", rows, tmp_path / "store", workers=0)
    packed = ar.Packed(tmp_path / "store", parse_text(PLAIN))
    assert [packed[i]["label"] for i in (0, 1, 2, 3, 5)] == [10, 9, 8, 7, 5]
    with pytest.raises(DataError, match=r"list\[4\]"):
        packed[4]


def test_previews_and_checks_of_it(roots: dict[str, Path], tmp_path: Path) -> None:
    for kind in KINDS:
        ds = given(kind, roots[kind.name], "Pillow")
        sheet = ar.sample_grid(parse_text(kind.recipe), ds, rows=2)
        assert np.array_equal(sheet, ar.sample_grid(parse_text(kind.recipe), ds, rows=2))
        assert sheet.std() > 5
        assert ar.verify(parse_text(kind.recipe), ds, samples=2).ok


MODULE = """
import numpy as np
import augrecipes as ar

stack = np.random.default_rng(0).integers(0, 256, (6, 150, 140, 3), np.uint8)

def rows():
    return [{"photo": picture, "kind": k} for k, picture in enumerate(stack)]

train = ar.Samples(rows(), "folder-128", keys={"image": "photo", "label": "kind"})
damaged = [*stack, np.zeros(3), stack[0][:40]]
"""


def test_commands_take_it_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    from augrecipes.cli import main

    (tmp_path / "own.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as ended:
            main([*words])
        return int(ended.value.code or 0), capsys.readouterr().out

    assert run("check-data", "folder-128", "own.py:train")[0] == 0
    code, text = run("check-data", "folder-128", "own.py:damaged")
    assert (code, "own.py:damaged[6]" in text) == (1, True)
    assert run("pack", "folder-128", "own.py:train", "-o", "store", "--workers", "1")[0] == 0
    packed, ds = ar.Packed("store", "folder-128"), Samples(NamedSource("own.py:train"), "folder-128")
    assert agree(packed, ds)
    assert [ds[i]["label"] for i in range(6)] == list(range(6))
    assert run("preview", "folder-128", "own.py:train", "-o", "grid.png")[0] == 0
    assert run("bench", "folder-128", "own.py:train", "--samples", "4", "--no-effects", "--against", "stock")[0] == 0
    with pytest.raises(AugrecipesError, match="there is no absent in it, but"):
        Samples(NamedSource("own.py:absent"), "folder-128")


class TestPlantedFaults:
    def test_channels_in_another_order(self, roots: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
        true = pictures._laid_out
        monkeypatch.setattr(pictures, "_laid_out", lambda *args: true(*args)[:, :, ::-1])
        with pytest.raises(AssertionError):
            of_the_files(roots, IMAGE, "array")

    def test_memory_that_is_the_users(self, roots: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
        rows = [np.full((9, 9, 3), k, np.uint8) for k in range(3)]
        raw = parse_text("{version: 1, recipe: raw, steps: [], eval: [], output: {dtype: uint8, layout: hwc}}")
        for fault in (False, True):
            if fault:
                monkeypatch.setattr(pictures, "_sealed", lambda array: array)
            ds = Samples(rows, raw)
            ds[1]["image"][:] = 99
            assert (ds[1]["image"].max() == 1) is not fault

    def test_labels_of_others(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(items.SourceTable, "label_of", lambda self, unit: 0)
        with pytest.raises(AssertionError):
            test_labels_that_come_with_samples_are_packed(tmp_path)

    def test_a_form_that_differs(self, roots: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
        true = pictures.encoded
        monkeypatch.setattr(pictures, "encoded", lambda data, **how: true(data, **{**how, "channels": 1}))
        with pytest.raises((AssertionError, DataError)):
            of_the_files(roots, PAIR, "bytes")
