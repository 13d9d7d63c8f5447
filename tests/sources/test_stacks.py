"""Stacks of frames as samples: which files and folders are one, in which order, and what becomes of them in batches."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from support.checks import planted_faults, status

import augrecipes as ar
from augrecipes.sources import listing, stacks

RECIPE = """
version: 1
recipe: clips
stack: frames
inputs: {mask: optional}
steps: [{RandomCrop: {height: 24, width: 32}}, {HorizontalFlip: {p: 0.5}}, {GaussNoise: {p: 1.0}}]
eval: [{CenterCrop: {height: 24, width: 32}}]
"""
DRAW = np.random.default_rng(5)
Clips = dict[str, np.ndarray]


def frames(count: int, channels: int = 3, height: int = 40) -> np.ndarray:
    return DRAW.integers(0, 256, (count, height, 48, channels), np.uint8)


def save_folder(folder: Path, stack: np.ndarray) -> None:
    folder.mkdir(parents=True)
    for k, frame in enumerate(stack, 1):
        Image.fromarray(frame if frame.shape[2] > 1 else frame[..., 0]).save(folder / f"{k}.png")


def save_pages(file: Path, stack: np.ndarray, **how: Any) -> None:
    first, *rest = (Image.fromarray(frame) for frame in stack)
    first.save(file, save_all=True, append_images=rest, **how)


@pytest.fixture
def clips(tmp_path: Path) -> Clips:
    """Two classes of two clips of 12 frames, in folders below `clips`."""
    made = {f"{name}/clip{k}": frames(12) for name in ("cat", "dog") for k in (1, 2)}
    for name, stack in made.items():
        save_folder(tmp_path / "clips" / name, stack)
    return made


def stored(ds: ar.ImageFolder, index: int) -> np.ndarray:
    return ds.given(index).images["images"]


def folders_law(root: Path, clips: Clips) -> None:
    """Each folder of frames is a sample, its frames in the order of their numbers."""
    ds = ar.ImageFolder(root / "clips", RECIPE, seed=3)
    assert (len(ds), ds.classes) == (4, ["cat", "dog"])
    for k, (name, stack) in enumerate(clips.items()):
        np.testing.assert_array_equal(stored(ds, k), stack)
        sample = ds[k]
        assert (sample["label"], sample["index"], Path(sample["path"])) == (k // 2, k, root / "clips" / name)
        assert sample["images"].shape == (12, 3, 24, 32)
        np.testing.assert_array_equal(sample["images"], ds.pipeline.at(k)(images=stack)["images"])


def test_folders_of_frames_in_class_folders(tmp_path: Path, clips: Clips) -> None:
    folders_law(tmp_path, clips)


def test_folders_of_frames_side_by_side_and_one_alone(tmp_path: Path, clips: Clips) -> None:
    flat = ar.ImageFolder(tmp_path / "clips" / "cat", RECIPE)
    assert (len(flat), flat.classes, Path(flat.path(1)).name) == (2, None, "clip2")
    alone = ar.ImageFolder(tmp_path / "clips" / "dog" / "clip1", RECIPE)
    assert (len(alone), alone[0]["images"].shape) == (1, (12, 3, 24, 32))
    np.testing.assert_array_equal(stored(alone, 0), clips["dog/clip1"])


def test_files_of_several_images(tmp_path: Path) -> None:
    grey, colours, pages = frames(6, 1), frames(4), frames(5)
    np.save(tmp_path / "a.npy", grey[..., 0])
    np.save(tmp_path / "b.npy", colours)
    save_pages(tmp_path / "c.tif", pages)
    ds = ar.ImageFolder(tmp_path, RECIPE)
    for k, stack in enumerate((np.repeat(grey, 3, axis=3), colours, pages)):
        np.testing.assert_array_equal(stored(ds, k), stack)
    one = ar.ImageFolder(tmp_path, RECIPE.replace("{mask: optional}", "{mask: optional, image: {channels: 1}}"))
    np.testing.assert_array_equal(stored(one, 0), grey)


@pytest.mark.parametrize(("depth", "dtype"), [("16", "uint16"), ("float32", "float32")])
def test_deep_stacks_keep_their_values(tmp_path: Path, depth: str, dtype: str) -> None:
    deep = (DRAW.random((5, 30, 40)) * (60000 if depth == "16" else 1)).astype(dtype)
    np.save(tmp_path / "clip.npy", deep)
    inputs = f"inputs: {{depth: {depth}, stack: frames}}"
    recipe = f"version: 1\nrecipe: deep\n{inputs}\nsteps: [HorizontalFlip: {{p: 1}}]\neval: []"
    ds = ar.ImageFolder(tmp_path, recipe)
    expected = deep[:, None, :, ::-1].astype(np.float32) / (65535 if depth == "16" else 1)
    np.testing.assert_allclose(ds[0]["images"].numpy(), expected, atol=1e-6)


def test_threads_and_processes_read_the_same(tmp_path: Path, clips: Clips) -> None:
    ds = ar.ImageFolder(tmp_path / "clips", RECIPE, seed=3)
    batches = [[*ar.loader(ds, 2, num_workers=0)], [*ar.loader(ds, 2, num_workers=2)]]
    plain = torch.utils.data.DataLoader(ds, 1, num_workers=1)
    for a, b in zip(*batches, strict=True):
        assert a["images"].shape == (2, 12, 3, 24, 32)
        torch.testing.assert_close(a["images"], b["images"], rtol=0, atol=0)
    assert next(iter(plain))["images"].shape == (1, 12, 3, 24, 32)
    first = next(iter(ar.loader(ds, 2, num_workers=0)))
    np.testing.assert_array_equal(first["images"][0], ds[0, int(first["index"][0])]["images"])


def test_clips_of_different_lengths(tmp_path: Path) -> None:
    for k, count in enumerate((6, 4)):
        np.save(tmp_path / f"{k}.npy", frames(count))
    ds = ar.ImageFolder(tmp_path, RECIPE, mode="eval")
    with pytest.raises(ar.CollateError, match=r'6×3×24×32.*4×3×24×32.*stacks differ.*collate="pad".*collate="list"'):
        next(iter(ar.loader(ds, 2, num_workers=0)))
    padded = next(iter(ar.loader(ds, 2, num_workers=0, collate="pad")))
    assert (padded["images"].shape, padded["padding"].shape) == ((2, 6, 3, 24, 32), (2, 6, 24, 32))
    assert padded["padding"][:, :, 0, 0].sum(1).tolist() == [0, 2]
    assert padded["images"][1, 4:].abs().sum() == 0
    listed = next(iter(ar.loader(ds, 2, num_workers=0, collate="list")))
    assert [len(stack) for stack in listed["images"]] == [6, 4]


def test_masks_of_frames(tmp_path: Path, clips: Clips) -> None:
    masks = {name: frames(12, 1) % 3 for name in clips}
    for name, stack in masks.items():
        save_folder(tmp_path / "masks" / name, stack)
    ds = ar.ImageFolder(tmp_path / "clips", RECIPE, masks=tmp_path / "masks", mode="eval")
    assert (ds[2]["masks"].shape, ds[2]["masks"].dtype) == ((12, 24, 32), torch.int64)
    np.testing.assert_array_equal(ds[2]["masks"], masks["dog/clip1"][:, 8:32, 8:40, 0])
    assert next(iter(ar.loader(ds, 2, num_workers=0)))["masks"].shape == (2, 12, 24, 32)


def test_a_csv_file_and_a_source(tmp_path: Path, clips: Clips) -> None:
    save_pages(tmp_path / "c.tif", frames(5))
    Image.fromarray(frames(1, 1)[0, ..., 0]).save(tmp_path / "m.png")
    (tmp_path / "x.csv").write_text("image,label,mask\nclips/cat/clip1,3,m.png\nc.tif,4,m.png\n")
    ds = ar.ImageFolder(files=tmp_path / "x.csv", recipe=RECIPE)
    for k, count in enumerate((12, 5)):
        assert (ds[k]["images"].shape[0], ds[k]["label"], ds[k]["mask"].shape) == (count, 3 + k, (24, 32))
    stack, masks = frames(4), frames(4, 1)[..., 0]
    rows = [{"images": stack, "masks": masks, "label": 2}, {"images": [*stack], "masks": [*masks], "label": 1}]
    samples = ar.Samples(rows, RECIPE, mode="eval")
    for k in (0, 1):
        np.testing.assert_array_equal(samples[k]["masks"], masks[:, 8:32, 8:40])
    torch.testing.assert_close(samples[0]["images"], samples[1]["images"], rtol=0, atol=0)
    tensors = ar.Samples([torch.from_numpy(stack).permute(0, 3, 1, 2)], RECIPE, mode="eval")
    torch.testing.assert_close(tensors[0]["images"], samples[0]["images"], rtol=0, atol=0)


def refused(what: str, root: Path, recipe: Any = RECIPE) -> None:
    with pytest.raises(ar.AugrecipesError, match=what):
        ar.ImageFolder(root, recipe, frames="error")[0]


def test_what_is_no_stack(tmp_path: Path) -> None:
    save_folder(tmp_path / "a" / "odd", frames(3))
    Image.fromarray(frames(1, height=41)[0]).save(tmp_path / "a" / "odd" / "9.png")
    refused(r"9\.png: frame 3 is 41×48×3, and the first is 40×48×3", tmp_path / "a")
    save_folder(tmp_path / "b" / "mixed", frames(2))
    save_pages(tmp_path / "b" / "mixed" / "7.tif", frames(2))
    refused(r"7\.tif: several pages", tmp_path / "b")
    (tmp_path / "c").mkdir()
    save_pages(tmp_path / "c" / "p.tif", frames(2))
    refused(r"p\.tif: several pages.*`stack: frames`", tmp_path / "c", RECIPE.replace("stack: frames\n", ""))
    np.save(tmp_path / "c" / "p.npy", frames(3))
    cut = (tmp_path / "c" / "p.npy").read_bytes()[:-9]
    (tmp_path / "c" / "p.npy").write_bytes(cut)
    refused(r"p\.npy: truncated", tmp_path / "c")
    with pytest.raises(ar.DataError, match="has no images; there is 'image'"):
        ar.Samples([{"image": frames(1)[0]}], RECIPE)[0]


def test_commands(tmp_path: Path, clips: Clips, capsys: pytest.CaptureFixture[str]) -> None:
    file, data = tmp_path / "clips.yaml", str(tmp_path / "clips")
    file.write_text(RECIPE)
    assert status("check-data", str(file), data) == 0
    assert "4 stacks, all fine" in capsys.readouterr().out
    for more in ([], ["--stages"]):
        assert status("preview", str(file), data, "-o", str(tmp_path / "out.png"), *more) == 0
        with Image.open(tmp_path / "out.png") as sheet:
            assert sheet.width > 400
    assert status("explain", str(file)) == 0
    assert "every step runs as written" in capsys.readouterr().out
    (tmp_path / "clips" / "cat" / "clip1" / "3.png").write_bytes(b"none")
    assert status("check-data", str(file), data) == 1
    assert "3.png" in capsys.readouterr().out
    out, again = str(tmp_path / "store"), ["--set", "RandomCrop.height=20"]
    assert status("diff", str(file), *again, "--data", data, "-o", str(tmp_path / "diff.png")) == 2
    assert "takes stacks of frames" in capsys.readouterr().err
    for words in (
        ["pack", str(file), data, "--out", out],
        ["verify", str(file), data],
        ["bench", str(file), "--data", data],
    ):
        assert status(*words) == 2
        assert "takes stacks of frames" in capsys.readouterr().err


def test_the_device_finishes_stacks(tmp_path: Path, clips: Clips) -> None:
    recipe = ar.load(RECIPE + "output: {where: device, normalize: imagenet}")
    batch = next(iter(ar.loader(ar.ImageFolder(tmp_path / "clips", recipe), 2, num_workers=0)))
    assert batch["images"].dtype == torch.uint8
    host = ar.ImageFolder(tmp_path / "clips", RECIPE + "output: {normalize: imagenet}")
    torch.testing.assert_close(recipe.device_stage()(batch)["images"][0], host[0, int(batch["index"][0])]["images"])


test_planted_faults_are_caught = planted_faults(
    {
        "frames in the order of bytes": (
            lambda fixture: folders_law(fixture("tmp_path"), fixture("clips")),
            (stacks, "in_order", sorted),
        ),
        "a folder of frames is a class": (
            lambda fixture: folders_law(fixture("tmp_path"), fixture("clips")),
            (listing, "_with_stacks", lambda root, scans: scans),
        ),
    },
    (AssertionError, ar.DataError),
)
