"""Option files of super-resolution: windows and turns of pairs, degradations by chance and range, refusals."""

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from math import isclose
from pathlib import Path
from textwrap import dedent
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.checks import DEAR, PLANTED

import augrecipes as ar
from augrecipes.interop.importing import of_document
from augrecipes.interop.options import Degradation
from augrecipes.interop.reading import of_text
from augrecipes.recipe.model import Recipe, Step
from augrecipes.recipe.nodes import plain

PAIRS = (Path(__file__).parent / "configs" / "pairs.yml").read_text(encoding="utf-8")


def draft(text: str, file: str = "train_net.yml") -> Any:
    return of_document(of_text(dedent(text), file))


def changed(**values: Any) -> str:
    """The option file above with other values of its training data."""
    base = {
        "name": "DIV2K", "type": "PairedImageDataset", "dataroot_gt": "hr", "dataroot_lq": "lr", "gt_size": 128,
        "use_hflip": True, "use_rot": True,
    }  # fmt: skip
    train = {key: value for key, value in (base | values).items() if value is not None}
    return json.dumps({"scale": 4, "model_type": "SRModel", "datasets": {"train": train}}, indent=1)


def test_pairs_with_what_reads_them() -> None:
    found = draft(PAIRS)
    recipe = found.recipe()
    assert (recipe.kind, recipe.scales.plain(), recipe.eval) == ("pair", {"lr": 1, "hr": 4}, ())
    assert [(step.name, step.at) for step in recipe.steps] == [("RandomCrop", "lr"), ("D4", None)]
    assert recipe.steps[0].args.plain() == {"height": 32, "width": 32}
    assert found.dataset == (
        'ar.PairedImages({"lr": "data/LR_sub", "hr": "data/HR_sub"}, "train-net.yaml", names={"lr": "{}x4"})'
    )
    said = " ".join(found.notes)
    assert 'ar.PairedImages({"lr": "data/Set5x4", "hr": "data/Set5"}, "train-net.yaml", mode="eval")' in said
    assert "batch_size=16" in said
    assert "meta_info_file" in said
    assert "LMDB" in said


@pytest.mark.parametrize(
    ("flip", "turn", "names"),
    [
        (True, True, ["D4"]),
        (True, False, ["HorizontalFlip"]),
        (False, True, ["VerticalFlip", "Transpose"]),
        (False, False, []),
    ],
)
def test_turns(flip: bool, turn: bool, names: list[str]) -> None:
    recipe = draft(changed(use_hflip=flip, use_rot=turn)).recipe()
    assert [step.name for step in recipe.steps[1:]] == names
    assert all(step.p == (1.0 if step.name == "D4" else 0.5) for step in recipe.steps[1:])


def test_luma_normalisation_and_windows_of_the_low_resolution() -> None:
    recipe = draft(changed(color="y", lq_size=48, gt_size=None)).recipe()
    assert (recipe.output.color, recipe.steps[0].args["height"]) == ("y", 48)
    normal = draft(changed(mean=[0.5, 0.5, 0.5], std=[0.5, 0.5, 0.5])).recipe().output.normalize
    assert normal.std == (0.5, 0.5, 0.5)


def test_faces_are_single_images() -> None:
    found = draft(changed(type="FFHQDataset", mean=[0.5] * 3, std=[0.5] * 3, dataroot_lq=None))
    assert ([step.name for step in found.recipe().steps], found.recipe().kind) == (["HorizontalFlip"], "image")
    assert found.dataset.startswith("ar.ImageFolder(")


@pytest.mark.parametrize(
    ("values", "key", "said"),
    [
        ({"type": "REDSRecurrentDataset"}, "type", "is of video"),
        ({"type": "pairedvideodataset"}, "type", "is of video"),
        ({"type": "MyDataset"}, "type", "is not a data set that can be imported"),
        ({"type": None}, "type", "is not a data set"),
        ({"gt_size": 130}, "gt_size", "write a multiple of 4"),
        ({"gt_size": "big"}, "gt_size", "must be a whole number, got text 'big'"),
        ({"gt_size": None}, "gt_size", "must be a whole number, got nothing"),
        ({"gt_size": -4}, "gt_size", "must be at least 1, got -4"),
        ({"dataroot_gt": None}, "dataroot_gt", "must be text"),
        ({"dataroot_lq": None}, "dataroot_lq", "must be text"),
        ({"mean": "imagenet"}, "mean", "must be a list of numbers"),
    ],
)
def test_errors_name_key_and_line(values: dict[str, Any], key: str, said: str) -> None:
    text = changed(**values)
    with pytest.raises(ar.RecipeError) as caught:
        draft(text).to_yaml()
    (problem,) = caught.value.problems
    assert (problem.name, problem.file) == (key, "train_net.yml")
    assert said in problem.message
    lines = [number for number, line in enumerate(text.splitlines(), 1) if f'"{key}":' in line]
    assert problem.line == (lines[0] if lines else 5)


def test_a_scale_is_needed() -> None:
    with pytest.raises(ar.RecipeError, match="scale: must be a whole number, got nothing"):
        draft(changed().replace('"scale": 4,', ""))


def test_gt_size_counts_before_lq_size() -> None:
    found = draft(changed(lq_size=48))
    assert (found.recipe().steps[0].args["height"], found.left_out()) == (32, ())
    assert "lq_size" in found.notes[-1]


def test_each_other_data_set_is_named() -> None:
    text = changed().replace('"datasets": {', '"datasets": {"train2": {}, "degradations": {}, "val_1": {}, "test": {},')
    assert [left.name for left in draft(text).left_out()] == ["datasets: train2", "datasets: degradations"]


def test_a_degradation_that_is_misspelt_is_lost() -> None:
    degraded = {"type": "RealESRGANDataset", "dataroot_lq": None, "gt_size": 64}
    text = changed(**degraded).replace('"scale"', '"gausian_noise_prob": 1, "l1_gt_usm": true, "scale"')
    assert [left.name for left in draft(text).left_out()] == ["gausian_noise_prob"]
    assert "l1_gt_usm" in draft(text).notes[-1]


def test_factors_may_all_be_below_1_and_modes_there_twice() -> None:
    ways = {"resize_mode_list2": ["bilinear", "bilinear", "area"], "resize_mode_prob2": [1, 2, 1]}
    top = {**ways, "resize_range2": [0.5, 0.9], "resize_prob2": [0.6, 0.4, 0]}
    text = changed(type="RealESRGANDataset", dataroot_lq=None, gt_size=64).replace(
        "{", "{" + json.dumps(top)[1:-1] + ",", 1
    )
    (degrade,) = [step for step in draft(text).recipe().steps if step.name == "Degrade"]
    (group,) = [step for step in degrade.steps if step.id == "resize2"]
    found = [(step.args.plain()["method"], step.args.plain()["scale"], step.p) for step in group.steps]
    assert found == [
        ("area", [0.9, 1.0], 0.45), ("area", [0.9, 1.0], 0.15), ("area", [0.5, 1.0], 0.3), ("area", [0.5, 1.0], 0.1),
    ]  # fmt: skip


def test_usual_weights_of_a_mixture_of_augmentations() -> None:
    text = changed().replace('"scale": 4', '"train": {"use_moa": true}, "scale": 1')
    (group,) = draft(text).recipe().batch
    assert {step.name: step.p for step in group.steps} == {"MixUp": 0.084, "CutMix": 0.084, "CutBlur": 0.348}
    assert not any("of no sample: " in note and "train" in note for note in draft(text).notes)


def test_tags_of_plain_values() -> None:
    text = "{n: !!str 4, f: !!float 2e-4, m: !!map {q: !!seq [!!str yes, 'yes', yes]}, i: !!int 3}"
    top: Any = of_text(text, "a.yml").top
    assert plain(top) == {"n": "4", "f": 2e-4, "m": {"q": ["yes", "yes", True]}, "i": 3}


def test_a_file_for_testing_is_refused() -> None:
    with pytest.raises(ar.RecipeError, match="an option file for testing"):
        draft("scale: 4\ndatasets: {test: {type: PairedImageDataset}}")


# Degradations: what an option file says, drawn at random, and how often each of it is to happen.

_SHARE = st.floats(0, 1).map(lambda share: round(share, 2))
_WEIGHTS = st.lists(st.integers(0, 5), min_size=3, max_size=3).filter(any)


@st.composite
def degradations(draw: st.DrawFn) -> dict[str, Any]:
    found: dict[str, Any] = {"scale": 4, "model_type": "RealESRNetModel", "gt_usm": draw(st.booleans())}
    levels, scales = st.sampled_from([[1, 30], [0, 0]]), st.sampled_from([[0.05, 3], [0, 0]])
    for number in ("", "2"):
        found |= {
            f"resize_prob{number}": draw(_WEIGHTS), f"resize_range{number}": [0.3, 1.4],
            f"gaussian_noise_prob{number}": draw(_SHARE), f"noise_range{number}": draw(levels),
            f"gray_noise_prob{number}": draw(_SHARE), f"jpeg_range{number}": [30, 95],
            f"poisson_scale_range{number}": draw(scales),
        }  # fmt: skip
    found["second_blur_prob"] = draw(_SHARE)
    names = ["iso", "aniso", "generalized_iso", "generalized_aniso", "plateau_iso", "plateau_aniso"]
    blurs = {
        f"{key}{number}": value
        for number in ("", "2")
        for key, value in {
            "kernel_list": names, "kernel_prob": draw(st.lists(st.integers(0, 4), min_size=6, max_size=6).filter(any)),
            "sinc_prob": draw(_SHARE), "blur_sigma": [0.2, 3], "betag_range": [0.5, 4], "betap_range": [1, 2],
        }.items()
    }  # fmt: skip
    train = {"type": "RealESRGANDataset", "dataroot_gt": "hr", "gt_size": 256, "final_sinc_prob": draw(_SHARE), **blurs}
    found["datasets"] = {"train": {**train, "use_hflip": True, "use_rot": False}}
    return found


def _leaves(steps: Sequence[Step], chance: float = 1.0, group: Step | None = None) -> Iterator[tuple[str, float]]:
    """Every step that is no group, with its id or that of its group, and how often it acts."""
    picked = group is not None and group.name == "OneOf"
    total = sum(1.0 if step.p is None else step.p for step in steps) if picked else 1.0
    for step in steps:
        share = chance * (1.0 if step.p is None else step.p) / total
        if step.steps:
            yield from _leaves(step.steps, share, step)
            continue
        args = step.args.plain()
        name = f"{step.name}{'' if args.get('per_channel', True) else ' grey'}"
        shapes = args.get("shapes", {name: 1.0})
        for shape, weight in shapes.items():
            yield f"{shape} {step.id or (group.id if group else '') or ''}", share * weight / sum(shapes.values())


def _expected(options: dict[str, Any]) -> dict[str, float]:
    """How often what happens, by the option file."""
    train = options["datasets"]["train"]
    found: dict[str, float] = {"ImageCompression": 2.0, "sinc final": train["final_sinc_prob"]}
    for number, blurred in (("", 1.0), ("2", options["second_blur_prob"])):
        sinc, kernels = train[f"sinc_prob{number}"], train[f"kernel_prob{number}"]
        for name, weight in zip(train[f"kernel_list{number}"], kernels, strict=True):
            found[f"{name}{number}"] = blurred * (1 - sinc) * weight / sum(kernels)
        found[f"sinc{number}"] = blurred * sinc
        up, down, _ = (weight / sum(options[f"resize_prob{number}"]) for weight in options[f"resize_prob{number}"])
        found[f"RandomScale{number}"] = 0.0 if number else up + down
        found["ResizeToTarget2"] = 1.0  # to the final size, or that times a factor
        gauss, grey = options[f"gaussian_noise_prob{number}"], options[f"gray_noise_prob{number}"]
        for name, key, share in (("GaussNoise", "noise", gauss), ("PoissonNoise", "poisson_scale", 1 - gauss)):
            acting = share if options[f"{key}_range{number}"][1] else 0.0
            found |= {f"{name}{number}": acting * (1 - grey), f"{name} grey{number}": acting * grey}
    return found


def _found(recipe: Recipe) -> dict[str, float]:
    """The same, by the recipe."""
    found: dict[str, float] = defaultdict(float)
    for label, share in _leaves(next(step for step in recipe.steps if step.name == "Degrade").steps):
        name, _, step = label.rpartition(" ")
        number = " final" if "final" in step else "2" * ("2" in step and name != "ImageCompression")
        found[f"{name}{number}"] += share
    return found


def _agrees(options: dict[str, Any]) -> None:
    recipe = of_document(of_text(json.dumps(options), "opt.yml")).recipe()
    found, expected = _found(recipe), _expected(options)
    wrong = {
        key: (found.get(key, 0.0), value)
        for key, value in expected.items()
        if not isclose(found.get(key, 0.0), value, abs_tol=2e-3)
    }
    assert wrong == {}
    assert any(step.name == "UnsharpMask" and step.target == ("hr",) for step in recipe.steps) is options["gt_usm"]


@DEAR
@given(degradations())
def test_everything_happens_as_often_as_the_options_say(options: dict[str, Any]) -> None:
    _agrees(options)


@pytest.mark.parametrize("fault", ["ways", "blurred", "noisy", "last"])
def test_the_law_sees_a_degradation_that_differs(monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    true = getattr(Degradation, fault)
    wrong = {
        "ways": lambda self, number: true(self, number)[::-1],
        "blurred": lambda self, number, p: true(self, number, 1.0),
        "noisy": lambda self, number: true(self, ""),
        "last": lambda self: true(self)[:1] * 2,
    }[fault]
    monkeypatch.setattr(Degradation, fault, wrong)

    @PLANTED
    @given(degradations())
    def law(options: dict[str, Any]) -> None:
        _agrees(options)

    with pytest.raises((AssertionError, ar.RecipeError)):
        law()


REDUX = (Path(__file__).parent / "configs" / "redux.yml").read_text(encoding="utf-8")


@pytest.mark.parametrize("form", ["redux", "plain", "basicsr"])
def test_samples_of_a_degradation_have_the_size_of_their_grid(tmp_path: Path, form: str) -> None:
    text = dedent(REDUX)
    if form == "plain":
        text = changed(type="SingleGtDataset", lq_resize_mode="lanczos", dataroot_lq=None, gt_size=64)
    if form == "basicsr":
        options = {"type": "RealESRGANDataset", "final_sinc_prob": 0.8, "dataroot_lq": None, "gt_size": 64}
        text = changed(**options).replace("SRModel", "RealESRGANModel")
    noise = np.random.default_rng(0).integers(0, 256, (120, 140, 3), dtype=np.uint8)
    cv2.imwrite(str(tmp_path / "a.png"), noise)
    recipe = draft(text, "opt.yml").recipe()
    assert ar.lint(recipe) == ()
    for mode, side in (("train", 16), ("eval", None)):
        sample = ar.PairedImages({"hr": tmp_path}, recipe, mode=mode)[0]
        assert sample["hr"].shape[1] == 4 * sample["lr"].shape[1]
        assert side is None or sample["lr"].shape == (3, side, side)


def test_what_has_no_step_is_named() -> None:
    found = draft(REDUX.replace("jpeg_prob: 0.0", "thicklines_prob: 0.5"))
    assert [(left.name, left.line) for left in found.left_out()] == [("thicklines_prob", 10)]
