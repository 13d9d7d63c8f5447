"""Pairs and bags: what the targets of a pair and the tiles of a bag share, and what is wrong with them."""

from typing import Any

import numpy as np
import pytest

import augrecipes as ar
from augrecipes.ops.matlab_bicubic import imresize
from augrecipes.recipe.parse import parse_text

RNG = np.random.default_rng(0)
LR = RNG.integers(0, 256, (30, 40, 3), np.uint8)
HR = RNG.integers(0, 256, (123, 162, 3), np.uint8)  # 3 rows and 2 columns too many
CROP = "[{RandomCrop: {height: 12, width: 16, at: lr}}, {D4: {p: 1.0}}]"
SPOIL = (
    "[{RandomCrop: {height: 12, width: 16, at: lr}}, {Degrade: {source: hr, target: lr, steps: ["
    "{GaussianBlur: {sigma_limit: [0.2, 1.5], p: 1.0}}, {RandomScale: {scale_limit: [-0.3, 0.3], p: 1.0}}, "
    "{ResizeToTarget: {method: matlab_bicubic}}, {GaussNoise: {p: 1.0}}]}}, {D4: {p: 1.0}}]"
)


def recipe(steps: str = CROP, scales: str = "{lr: 1, hr: 4}", **more: str) -> ar.Recipe:
    rest = "".join(f"{key}: {value}\n" for key, value in {"eval": "[]", **more}.items())
    return parse_text(f"version: 1\nrecipe: test\nkind: pair\nscales: {scales}\nsteps: {steps}\n{rest}")


RAW = {"output": "{dtype: uint8, layout: hwc}"}


def same(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return a.keys() == b.keys() and all(np.array_equal(a[key], b[key]) for key in a)


class TestCalls:
    def test_shapes_and_outputs_by_target(self) -> None:
        output = "{range: [0, 255], hr: {dtype: uint8, layout: hwc, color: bgr}}"
        out = recipe(CROP.replace(", {D4: {p: 1.0}}", ""), output=output).compile().at(0)(lr=LR, hr=HR)
        assert (out["lr"].shape, out["lr"].dtype) == ((3, 12, 16), np.float32)
        assert (out["hr"].shape, out["hr"].dtype) == ((48, 64, 3), np.uint8)

    def test_whole_images_are_cut_to_the_common_grid(self) -> None:
        out = recipe(**RAW).compile(mode="eval").at(0)(lr=LR, hr=HR)
        assert np.array_equal(out["hr"], HR[:120, :160])
        assert np.array_equal(out["lr"], LR)

    @pytest.mark.parametrize("channels", [1, 3, 5])
    @pytest.mark.parametrize("dtype", ["uint8", "float32"])
    def test_channels_and_dtypes(self, channels: int, dtype: str) -> None:
        shape = (30, 40, channels)
        lr = RNG.integers(0, 256, shape, np.uint8) if dtype == "uint8" else RNG.random(shape, np.float32)
        hr = lr.repeat(4, axis=0).repeat(4, axis=1)
        steps = "[{RandomCrop: {height: 12, width: 16}}, Transpose, {RandomGamma: {p: 1.0}}, {RandomRotate90: {p: 1}}]"
        out = recipe(steps, output="{layout: hwc}").compile().at(1)(lr=lr, hr=hr)
        assert out["lr"].shape[2] == channels
        # The same table on equal values; float arithmetic may round by place.
        assert np.allclose(out["hr"][::4, ::4], out["lr"], atol=1e-6)

    def test_stages_show_every_target(self) -> None:
        stages = recipe(SPOIL).compile().stages(0)(hr=HR)
        inner = [f"Degrade#1/{name}#1" for name in ("GaussianBlur", "RandomScale", "ResizeToTarget", "GaussNoise")]
        assert [label for label, _ in stages] == ["RandomCrop#1", *inner, "D4#1"]
        assert stages[0][1].keys() == {"hr"}
        assert stages[1][1]["lr"].shape == (48, 64, 3)
        assert stages[-1][1]["lr"].shape[:2] in ((12, 16), (16, 12))
        assert stages[-2][1]["hr"].shape == (48, 64, 3)


class TestKeys:
    def test_a_step_that_one_target_has_changes_no_shared_draw(self) -> None:
        plain = recipe(CROP, **RAW).compile().at(7)(lr=LR, hr=HR)
        noisy = recipe(CROP.replace("}}]", "}}, {GaussNoise: {target: lr, p: 1.0}}]"), **RAW).compile()
        assert np.array_equal(plain["hr"], noisy.at(7)(lr=LR, hr=HR)["hr"])


class TestDegrade:
    def test_lr_is_made_of_the_hr_that_comes_out(self) -> None:
        steps = (
            "[{RandomCrop: {height: 12, width: 16}}, {Degrade: {source: hr, target: lr, "
            "steps: [{ResizeToTarget: {method: matlab_bicubic, round_between: true}}]}}]"
        )
        out = recipe(steps, **RAW).compile().at(2)(hr=HR)
        assert np.array_equal(out["lr"], imresize(out["hr"], 12, 16, round_between=True))

    @pytest.mark.usefixtures("own_classes")
    def test_a_last_size_that_is_not_the_targets(self) -> None:
        import albumentations as A

        class LoseARow(A.ImageOnlyTransform):  # type: ignore[misc]
            def apply(self, img: np.ndarray, **_: Any) -> np.ndarray:
                return img[1:]

        ar.register(LoseARow)
        steps = "[{Degrade: {source: hr, target: lr, steps: [ResizeToTarget, {LoseARow: {p: 1.0}}]}}]"
        with pytest.raises(ar.DataError, match=r"leaves 29×40 px, lr is 30×40 px.*ResizeToTarget"):
            recipe(steps).compile().at(0)(hr=HR)


class TestErrors:
    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"hr": HR}, "lr is missing; the recipe's targets are lr=, hr="),
            ({"lr": LR}, "hr is missing"),
            ({"lr": HR, "hr": LR}, "hr is 30×40 px and lr is 123×162 px"),
            ({"lr": LR, "hr": HR[:, :159]}, "at scales 1:4, hr must be 120..123 × 160..163 px"),
            ({"lr": LR, "hr": HR[..., :1]}, "same channels, got 3 and 1"),
            ({"lr": LR, "hr": HR.astype(np.float32) / 255}, "same dtype, got uint8 and float32"),
            ({"lr": LR, "hr": HR.astype(np.int64)}, "hr must be uint8"),
            ({"lr": LR, "hr": "hr.png"}, "hr must be a numpy array, got str"),
            ({"lr": LR, "hr": HR, "mask": LR[..., 0]}, "a pair has no 'mask'"),
            ({"image": LR}, "lr is missing"),
            ({"lr": LR, "hr": HR, "hr2": HR}, "a pair has no 'hr2'; the recipe's targets are lr=, hr="),
            ({"lr": LR, "hr": HR, "depth": [HR]}, "a pair has no 'depth'"),
            ({"lr": LR, "hr": HR.astype(np.float32)}, "hr is float32 and holds values of 0 to 255"),
        ],
    )
    def test_what_does_not_fit(self, given: dict[str, Any], message: str) -> None:
        with pytest.raises(ar.DataError) as caught:
            recipe().compile().at(0)(**given)
        assert message in str(caught.value)

    def test_the_least_size_counts_pixels_of_the_coarsest_target(self) -> None:
        plenty = recipe(inputs="{image: {min_size: [30, 40]}}").compile()
        plenty.at(0)(lr=LR, hr=HR)
        with pytest.raises(ar.DataError, match=r"lr is 30×40 px, the recipe's inputs ask for at least 31×40"):
            recipe(inputs="{image: {min_size: [31, 40]}}").compile().at(0)(lr=LR, hr=HR)
        with pytest.raises(ar.DataError, match=r"hr is 123×162 px, the recipe's inputs ask for at least 124×160"):
            recipe(SPOIL, inputs="{image: {min_size: [31, 40]}}").compile().at(0)(hr=HR)

    def test_a_target_that_degrade_makes_is_no_input(self) -> None:
        with pytest.raises(ar.DataError, match="lr is made by Degrade"):
            recipe(SPOIL).compile().at(0)(hr=HR, lr=LR)

    def test_a_window_that_does_not_fit_names_the_targets(self) -> None:
        with pytest.raises(ar.DataError, match=r"cells of the common grid, of lr 30×40 px, hr 120×160 px") as caught:
            recipe("[{RandomCrop: {height: 48, width: 48}}]").compile().at(0)(lr=LR, hr=HR)
        assert caught.value.step == "RandomCrop#1"

    def test_a_warp_that_cannot_be_shared(self) -> None:  # the lint says so; where it is silenced, the compiler does
        steps = "\n  - Perspective: {p: 1.0}  # augrecipes: ignore[L208]"
        with pytest.raises(ar.RecipeError, match=r"Perspective#1 \(line 6\).*Affine"):
            recipe(steps, allow_resampling="true").compile()

    def test_a_size_that_is_no_whole_cell(self) -> None:
        steps = "[{Resize: {height: 50, width: 64, at: hr}}]"
        with pytest.raises(ar.RecipeError, match="50"):
            recipe(steps, allow_resampling="true").compile()


def test_explain_says_who_shares_what() -> None:
    shared = {row.site: row.how for row in ar.explain(recipe(SPOIL)).shared}
    assert shared == {
        "RandomCrop#1": "one window for lr, hr, whole cells of 1 : 4 px; its sizes are in pixels of lr",
        "Degrade#1": "makes lr from hr",
        "D4#1": "one draw for lr, hr",
    }


# Bags.


TILES = np.random.default_rng(0).integers(0, 256, (17, 40, 52, 3), np.uint8)
STEPS = """[{Rotate: {limit: 25, p: 1.0}}, {RandomResizedCrop: {size: [24, 24]}}, HorizontalFlip, VerticalFlip,
  {OneOf: {p: 0.7, steps: [{GaussNoise: {p: 1.0}}, {Blur: {p: 1.0}}]}},
  {StainJitter: {sigma: 0.1, share: bag, p: 1.0}}]"""


def recipe_bag(steps: str = STEPS, **more: str) -> ar.Recipe:
    rest = "".join(f"{key}: {value}\n" for key, value in {"eval": "[]", **more}.items())
    return parse_text(f"version: 1\nrecipe: test\nkind: bag\nsteps: {steps}\n{rest}")


def test_shared_draws_are_one_for_a_bag_and_differ_between_bags() -> None:
    pipeline = recipe_bag("[{StainJitter: {share: bag, p: 1.0}}, {RandomGamma: {p: 1.0}}]").compile(
        save_applied_params=True
    )
    shared, own = [], []
    for index in range(2):
        applied = pipeline.at(index)(images=TILES)["applied"]
        assert len(applied) == len(TILES)
        draws = [{site: str(params) for site, _, params in tile} for tile in applied]
        assert len({tile["StainJitter#1"] for tile in draws}) == 1
        shared.append(draws[0]["StainJitter#1"])
        own += [tile["RandomGamma#1"] for tile in draws]
    assert shared[0] != shared[1]
    assert len(set(own)) > 20


def test_a_group_shares_its_choice_and_its_childrens_draws() -> None:
    steps = "[{OneOf: {share: bag, steps: [{RandomGamma: {p: 1.0}}, {Rotate: {p: 1.0}}, {HorizontalFlip: {p: 1.0}}]}}]"
    pipeline = recipe_bag(steps).compile(save_applied_params=True)
    chosen = set()
    for index in range(12):
        applied = pipeline.at(index)(images=TILES)["applied"]
        assert len({str([(site, sorted(p.items(), key=str)) for site, _, p in tile]) for tile in applied}) == 1
        chosen.add(applied[0][0][0])
    assert len(chosen) == 3


def test_of_broken_tiles_alone_there_is_no_bag() -> None:
    def read(k: int) -> np.ndarray:
        raise ar.DataError("is broken", path=f"{k}.png")

    with pytest.raises(ar.DataError, match="none of its 2 tiles"):
        recipe_bag().compile().bag(0, 0, [3, 3], read, skip=True)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"images": []}, "at least one tile"),
        ({"images": TILES[0]}, "N×H×W×C"),
        ({"images": TILES, "image": TILES[0]}, "not both"),
        ({}, "image must be a numpy array"),
    ],
)
def test_what_is_no_bag(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ar.DataError, match=message):
        recipe_bag().compile().at(0)(**given)


def test_explain_says_which_draws_are_shared() -> None:
    shared = {row.site: row.how for row in ar.explain(recipe_bag()).shared}
    assert shared["StainJitter#1"] == "one draw for the whole bag"
    assert shared["Rotate#1"] == "a draw for every tile"
