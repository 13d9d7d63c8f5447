"""PairedImages: aligned samples, bit for bit, and every defect of a folder in one report."""

import pickle
import re
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as Pillow
from support.folders import make_pairs, pair_recipe, reduced, save, scene

import augrecipes as ar
from augrecipes.kinds.pair.reader import compare, compare_scene
from augrecipes.recipe.parse import parse_text

NAMES = [f"{i:04d}" for i in range(1, 7)]


@pytest.fixture
def data(tmp_path):
    return make_pairs(tmp_path, NAMES)


def roots(folder: Path) -> dict[str, Path]:
    return {"hr": folder / "HR", "lr": folder / "LR"}


def positions(height: int, width: int, scale: int) -> np.ndarray:
    """Pixels that carry the position of their cell, and in the last channel that within it: uint8 H×W×3."""
    y, x = np.mgrid[: height * scale, : width * scale]
    return np.stack([y // scale, x // scale, (y % scale) * scale + x % scale], -1).astype(np.uint8)


@pytest.mark.parametrize("scale", [2, 3, 4])
def test_every_crop_is_the_files_region_bit_for_bit(tmp_path, scale):
    save(tmp_path / "HR" / "a.png", positions(40, 50, scale))
    save(tmp_path / "LR" / "a.png", positions(40, 50, 1))
    ds = ar.PairedImages(roots(tmp_path), pair_recipe(scale), seed=3, save_applied_params=True)
    high, low = (ar.read_image(tmp_path / name / "a.png") for name in ("HR", "LR"))
    seen = set()
    for epoch in range(40):
        sample = ds[epoch, 0]
        hr, lr = sample["hr"].numpy(), sample["lr"].numpy()
        assert (hr.shape, lr.shape) == ((8 * scale, 8 * scale, 3), (8, 8, 3))
        # Every large pixel lies in the cell of the small one that covers it.
        assert (hr[..., :2] == np.kron(lr[..., :2], np.ones((scale, scale, 1), np.uint8))).all()
        for image, region, file in ((hr, sample["window"]["hr"], high), (lr, sample["window"]["lr"], low)):
            y0, x0, y1, x1 = region
            cut = file[y0:y1, x0:x1]
            turns = [np.rot90(view, k) for view in (cut, cut.swapaxes(0, 1)) for k in range(4)]
            assert any(np.array_equal(image, turn) for turn in turns)
        seen.add(sample["window"]["lr"])
    assert len(seen) > 20


def test_eval_passes_whole_images_without_what_is_too_much(tmp_path, caplog):
    image = scene(0, (99, 131))
    save(tmp_path / "HR" / "a.png", image)
    save(tmp_path / "LR" / "ax4.png", reduced(image, 4))
    make_pairs(tmp_path, NAMES)
    ds = ar.PairedImages(roots(tmp_path), pair_recipe(), mode="eval")
    names = [Path(ds.path(i)).stem for i in range(len(ds))]
    sample = ds[names.index("a")]
    assert torch.equal(sample["hr"], torch.from_numpy(image[:96, :128]))
    assert torch.equal(sample["lr"], torch.from_numpy(reduced(image, 4)))
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "1 of 7 hr images is 3 px larger than the scales allow: the top left is used" in caplog.text
    assert "a.png 131×99 → 128×96" in caplog.text
    (cut,) = ds.cropped
    assert (cut.target, cut.count, cut.most, cut.before, cut.after) == ("hr", 1, 3, (99, 131), (96, 128))


def test_samples_name_their_files(data):
    ds = ar.PairedImages(roots(data), pair_recipe())
    assert len(ds) == 6
    assert ds.targets == ("hr", "lr")
    assert ds.path(2) == str(data / "HR" / "0003.png")
    assert ds.paths(2) == {"hr": str(data / "HR" / "0003.png"), "lr": str(data / "LR" / "0003x4.png")}
    assert set(ds[2]) == {"hr", "lr", "index", "path"}
    assert (ds[2]["index"], ds[2]["path"]) == (2, ds.path(2))
    assert ds.paths(-1) == ds.paths(len(ds) - 1)
    for wrong in (len(ds), -len(ds) - 1, 10**6):
        for asked in (ds.path, ds.paths, ds.__getitem__):
            with pytest.raises(IndexError, match="out of range"):
                asked(wrong)


def test_the_list_of_pairs_decides_and_not_where_it_lies(data, tmp_path_factory):
    other = make_pairs(tmp_path_factory.mktemp("elsewhere"), NAMES)
    here, there = (ar.PairedImages(roots(folder), pair_recipe(), seed=1) for folder in (data, other))
    assert here.fingerprint() == there.fingerprint()
    assert torch.equal(here[3]["hr"], there[3]["hr"])
    fewer = make_pairs(tmp_path_factory.mktemp("fewer"), NAMES[:-1])
    assert ar.PairedImages(roots(fewer), pair_recipe(), seed=1).fingerprint() != here.fingerprint()
    assert torch.equal(pickle.loads(pickle.dumps(here))[3]["lr"], here[3]["lr"])


DEGRADE = """
version: 1
recipe: made
kind: pair
scales: {lr: 1, hr: 4}
steps:
  - RandomCrop: {height: 8, width: 8, at: lr}
  - Degrade: {source: hr, target: lr, steps: [ResizeToTarget: {method: area}]}
eval:
  - Degrade: {source: hr, target: lr, steps: [ResizeToTarget: {method: area}]}
"""


def test_targets_that_are_made_have_no_folder(data):
    recipe = parse_text(DEGRADE)
    ds = ar.PairedImages({"hr": data / "HR"}, recipe)
    assert (ds.targets, ds[0]["lr"].shape, ds[0]["hr"].shape) == (("hr",), (3, 8, 8), (3, 32, 32))
    with pytest.raises(ar.DataError, match="lr is made by the recipe's Degrade and is not read"):
        ar.PairedImages(roots(data), recipe)
    save(data / "HR" / "tiny.png", scene(0, (24, 64)))
    with pytest.raises(ar.DataError, match=r"tiny\.png 64×24: RandomCrop#1 needs 32×32 of hr"):
        ar.PairedImages({"hr": data / "HR"}, recipe)


def test_arguments_that_make_no_sense(data):
    with pytest.raises(ar.DataError, match="no folder was given for lr"):
        ar.PairedImages({"hr": data / "HR"}, pair_recipe())
    with pytest.raises(ar.DataError, match="no target is called 'gt'"):
        ar.PairedImages({**roots(data), "gt": data}, pair_recipe())
    with pytest.raises(ar.RecipeError, match=r"ar\.ImageFolder"):
        ar.PairedImages(roots(data), "folder-128")
    with pytest.raises(ar.RecipeError, match=r"ar\.PairedImages"):
        ar.ImageFolder(data / "HR", pair_recipe())
    for arguments in (
        {},
        {"roots": roots(data), "files": "x.csv"},
        {"roots": data / "HR"},
        {"roots": roots(data), "split": "a"},
    ):
        with pytest.raises(TypeError):
            ar.PairedImages(**arguments, recipe=pair_recipe())
    with pytest.raises(ValueError, match="check must be"):
        ar.PairedImages(roots(data), pair_recipe(), check="all")


@pytest.mark.parametrize(("given", "hint"), [(2, "this looks like ×2"), (1, "was it enlarged already")])
def test_the_folder_of_another_scale_is_recognised(tmp_path, given, hint):
    make_pairs(tmp_path, NAMES, scale=given, low="{}" + f"x{given}")
    with pytest.raises(ar.DataError, match=hint) as error:
        ar.PairedImages(roots(tmp_path), pair_recipe(4))
    assert "6 defects in the files of hr and lr; 0 scenes are fine" in str(error.value)


def test_swapped_targets_are_recognised(data):
    with pytest.raises(ar.DataError, match="the two look swapped"):
        ar.PairedImages({"hr": data / "LR", "lr": data / "HR"}, pair_recipe())


def plant(folder: Path) -> list[list[str]]:
    """Twenty-two defects among forty pairs, one after another; returns the names that the report must have of each."""
    names = [f"{i:04d}" for i in range(1, 41)]
    make_pairs(folder, names)
    high, low = folder / "HR", folder / "LR"
    (low / "0001x4.png").unlink()
    (high / "0002.png").unlink()
    save(high / "0003.jpg", scene(3))
    save(low / "0004x4.bmp", reduced(scene(4), 4))
    save(low / "0005.png", reduced(scene(5), 4))
    save(high / "0006.png", scene(6, (100, 128)))
    save(low / "0007x4.png", reduced(scene(7), 2))
    save(low / "0008x4.png", scene(8))
    save(high / "0009.png", reduced(scene(9), 4))
    save(low / "0009x4.png", scene(9))
    save(high / "0010.png", scene(10, channels=1))
    save(low / "0011x4.png", np.dstack([reduced(scene(11), 4), np.full((24, 32), 128, np.uint8)]))
    (high / "0012.png").write_bytes(b"")
    (low / "0013x4.png").write_text("<html>not found</html>")
    whole = (high / "0014.png").read_bytes()
    (high / "0014.png").write_bytes(whole[: len(whole) // 2])
    (low / "0015x4.png").write_bytes(cv2.imencode(".jpg", scene(15))[1].tobytes()[:900])
    save(high / "0016.png", scene(16, (28, 28)))
    save(low / "0016x4.png", reduced(scene(16, (28, 28)), 4))
    save(low / "0017x4.png", np.ascontiguousarray(reduced(scene(17), 4).swapaxes(0, 1)))
    save(low / "0018X4.png", reduced(scene(18), 4))
    tags = Pillow.Exif()
    tags[0x0112] = 6
    Pillow.fromarray(scene(19)).save(high / "0019.png", exif=tags)
    (low / "0020x4.png").rename(low / "0020x3.png")
    (low / "0021x4.png").unlink()
    (low / "0021x4.png").symlink_to(low / "gone.png")
    save(low / "0022x4.png", scene(22, (25, 32)))
    bad = {k: [f"HR/{k:04d}.png", f"LR/{k:04d}x4.png"] for k in range(1, 23)}
    bad[1], bad[2] = ["HR/0001.png"], ["LR/0002x4.png"]
    bad[3].append("HR/0003.jpg")
    bad[4].append("LR/0004x4.bmp")
    bad[5], bad[18] = ["LR/0005.png"], ["LR/0018X4.png"]  # which differ from their sets; the pairs are fine
    bad[20] = ["HR/0020.png", "LR/0020x3.png"]
    return list(bad.values())


def test_every_planted_defect_is_named_in_one_report(tmp_path):
    planted = plant(tmp_path)
    assert len(planted) == 22
    with pytest.raises(ar.DataError) as error:
        ar.PairedImages(roots(tmp_path), pair_recipe())
    lines = str(error.value).splitlines()
    for names in planted:
        paths = [str(tmp_path / name) for name in names]
        assert any(all(path in line for path in paths) for line in lines) or all(
            any(line.strip().startswith(path) for line in lines) for path in paths
        ), names
    for k in range(23, 41):
        assert f"{k:04d}" not in str(error.value)
    counts = dict(re.findall(r"^(\S[^:(\n]*\S)(?: \(width×height\))?: (\d+)$", str(error.value), re.MULTILINE))
    assert counts == {
        "ambiguous names": "2",
        "no partner": "6",
        "files that cannot be read": "5",
        "sizes that do not fit the scales": "7",
        "channels that differ within a pair": "2",
        "images smaller than the crop": "1",
    }


def test_defective_pairs_can_be_left_out(tmp_path, caplog):
    plant(tmp_path)
    ds = ar.PairedImages(roots(tmp_path), pair_recipe(), on_error="skip")
    assert [Path(ds.path(i)).stem for i in range(len(ds))] == [f"{k:04d}" for k in (5, 18, *range(23, 41))]
    assert len(ds.defects) == 23
    assert caplog.text.count("left out: 23 defects") == 1
    ds[0]
    for file in (tmp_path / "LR").iterdir():
        file.unlink()
    save(tmp_path / "LR" / "other.png", scene(0))
    with pytest.raises(ar.DataError, match="no lr"):
        ar.PairedImages(roots(tmp_path), pair_recipe(), on_error="skip")


# Pairs that do not show the same are found and named; true pairs are left alone, however degraded.


LARGE = scene(1, (256, 256))
SMALL = reduced(LARGE, 4)


def degraded(image, blur=0.0, noise=0.0, quality=100, seed=0):
    if blur:
        image = cv2.GaussianBlur(image, (0, 0), blur)
    noisy = image + np.random.default_rng(seed).normal(0, noise, image.shape)
    data = cv2.imencode(".jpg", np.clip(noisy, 0, 255).astype(np.uint8), [cv2.IMWRITE_JPEG_QUALITY, quality])[1]
    return cv2.imdecode(data, cv2.IMREAD_COLOR)


@given(
    seed=st.integers(0, 50),
    scale=st.sampled_from([2, 3, 4]),
    method=st.sampled_from([cv2.INTER_AREA, cv2.INTER_LINEAR, cv2.INTER_CUBIC, cv2.INTER_LANCZOS4]),
    blur=st.sampled_from([0.0, 0.7, 1.5]),
    noise=st.sampled_from([0.0, 5.0, 15.0]),
    quality=st.sampled_from([100, 80, 40]),
)
def test_true_pairs_are_left_alone(seed, scale, method, blur, noise, quality):
    large = scene(seed, (72 * scale, 90 * scale))
    small = cv2.resize(large, (90, 72), interpolation=method)
    assert compare(large, degraded(small, blur, noise, quality, seed)) is None


@pytest.mark.parametrize(
    ("mode", "cure", "more"),
    [
        ("RGBA", "RGB with alpha: save it without alpha", ""),
        ("L", "read both as grey (`{}`)", "inputs: {image: {channels: 1}}"),
    ],
)
def test_alpha_and_grey_in_one_of_a_pair_have_a_cure(data, mode, cure, more):
    image = data / "LR/0001x4.png"
    Pillow.open(image).convert(mode).save(image)
    with pytest.raises(ar.DataError, match=re.escape(cure.format(more))):
        ar.PairedImages(roots(data), pair_recipe())
    if not more:
        Pillow.open(image).convert("RGB").save(image)
    assert len(ar.PairedImages(roots(data), pair_recipe(more=more)))


SHIFTS = {
    (0, 1): "shifted by 1 px to the right",
    (0, -1): "shifted by 1 px to the left",
    (1, 0): "shifted by 1 px down",
    (-2, 0): "shifted by 2 px up",
    (-1, 3): "shifted by 3 px to the right and 1 px up",
}


@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("how", [{}, {"blur": 0.7, "noise": 5, "quality": 80}])
def test_shifts_are_found_to_the_pixel(shift, how):
    assert compare(LARGE, np.roll(degraded(SMALL, **how), shift, (0, 1))) == SHIFTS[shift]


@pytest.mark.parametrize("noise", [0, 3, 15, 30])
def test_images_with_nothing_to_see_are_not_judged(noise):
    y, x = np.mgrid[:256, :256]
    sky = np.stack([120 + y / 8, 150 + y / 9, 220 - x / 50], -1).astype(np.uint8)
    assert compare(sky, degraded(reduced(sky, 4), noise=noise)) == ""


def defects_of(*files: Path, units: dict[str, int]) -> list[tuple[str, str]]:
    paths = dict(zip(units, map(str, files), strict=True))
    return [(defect.kind, defect.message) for defect in compare_scene(paths, units, [])]


def test_what_does_not_show_the_same_is_named(tmp_path):
    make_pairs(tmp_path, ["0", "1", "2"], size=(160, 192))
    high, low, units = tmp_path / "HR", tmp_path / "LR", {"hr": 4, "lr": 1}
    for name, other in (("0", "0"), ("0", "1"), ("1", "2")):
        found = defects_of(high / f"{name}.png", low / f"{other}x4.png", units=units)
        assert [kind for kind, _ in found] == (["content"] if name != other else [])
        assert all("they do not look like one scene" in text for _, text in found)
    save(low / "1x4.png", np.roll(reduced(scene(1, (160, 192)), 4), 1, 1))
    shifted = f"{high / '1.png'} and {low / '1x4.png'}: shifted by 1 px to the right"
    assert defects_of(high / "1.png", low / "1x4.png", units=units) == [("content", shifted)]
    whole = (low / "2x4.png").read_bytes()
    (low / "2x4.png").write_bytes(whole[:200] + bytes(50) + whole[250:])
    ((kind, text),) = defects_of(high / "2.png", low / "2x4.png", units=units)
    assert kind == "unreadable"
    assert text.startswith(f"{low / '2x4.png'}: damaged")
