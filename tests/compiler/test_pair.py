from __future__ import annotations

import pickle
import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import augrecipes as ar
from augrecipes.compiler.explain import explain
from augrecipes.errors import DataError, RecipeError
from augrecipes.ops import registry
from augrecipes.ops.matlab_bicubic import imresize
from augrecipes.recipe.model import Recipe
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


def recipe(steps: str = CROP, scales: str = "{lr: 1, hr: 4}", **more: str) -> Recipe:
    rest = "".join(f"{key}: {value}\n" for key, value in {"eval": "[]", **more}.items())
    return parse_text(f"version: 1\nrecipe: test\nkind: pair\nscales: {scales}\nsteps: {steps}\n{rest}")


RAW = {"output": "{dtype: uint8, layout: hwc}"}


def same(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return a.keys() == b.keys() and all(np.array_equal(a[key], b[key]) for key in a)


@pytest.fixture
def classes_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test registers is forgotten after it."""
    monkeypatch.setattr(registry, "_registered", {})


class TestCalls:
    def test_shapes_and_outputs_by_target(self) -> None:
        output = "{range: [0, 255], hr: {dtype: uint8, layout: hwc, color: bgr}}"
        out = recipe(CROP.replace(", {D4: {p: 1.0}}", ""), output=output).compile().at(0)(lr=LR, hr=HR)
        assert (out["lr"].shape, out["lr"].dtype) == ((3, 12, 16), np.float32)
        assert (out["hr"].shape, out["hr"].dtype) == ((48, 64, 3), np.uint8)

    def test_each_crop_is_the_files_region_bit_for_bit(self) -> None:
        pipeline = recipe("[{RandomCrop: {height: 12, width: 16}}]", **RAW).compile(save_applied_params=True)
        for index in range(20):
            out = pipeline.at(index)(lr=LR, hr=HR)
            for name, array in (("lr", LR), ("hr", HR)):
                y0, x0, y1, x1 = out["window"][name]
                assert np.array_equal(out[name], array[y0:y1, x0:x1])
            assert tuple(4 * v for v in out["window"]["lr"]) == out["window"]["hr"]

    def test_whole_images_are_cut_to_the_common_grid(self) -> None:
        out = recipe(**RAW).compile(mode="eval").at(0)(lr=LR, hr=HR)
        assert np.array_equal(out["hr"], HR[:120, :160])
        assert np.array_equal(out["lr"], LR)

    def test_what_else_comes_in_comes_out(self) -> None:
        tag = object()
        assert recipe().compile().at(0)(lr=LR, hr=HR, tag=tag)["tag"] is tag

    def test_inputs_are_not_written_to_nor_shared(self) -> None:
        lr, hr = LR.copy(), HR.copy()
        out = recipe("[]", **RAW).compile().at(0)(lr=lr, hr=hr)
        out["lr"][:] = 0
        out["hr"][:] = 0
        assert np.array_equal(lr, LR)
        assert np.array_equal(hr, HR)

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

    def test_grey_without_a_channel_axis(self) -> None:
        out = recipe().compile().at(0)(lr=LR[..., 0], hr=HR[..., 0])
        assert out["lr"].shape[0] == out["hr"].shape[0] == 1

    def test_stages_show_every_target(self) -> None:
        stages = recipe(SPOIL).compile().stages(0)(hr=HR)
        inner = [f"Degrade#1/{name}#1" for name in ("GaussianBlur", "RandomScale", "ResizeToTarget", "GaussNoise")]
        assert [label for label, _ in stages] == ["RandomCrop#1", *inner, "D4#1"]
        assert stages[0][1].keys() == {"hr"}
        assert stages[1][1]["lr"].shape == (48, 64, 3)
        assert stages[-1][1]["lr"].shape[:2] in ((12, 16), (16, 12))
        assert stages[-2][1]["hr"].shape == (48, 64, 3)


class TestKeys:
    def test_a_sample_is_a_function_of_its_key(self) -> None:
        for steps, given in ((CROP, {"lr": LR, "hr": HR}), (SPOIL, {"hr": HR})):
            pipeline = recipe(steps).compile(seed=3)
            first = pipeline.at(5, 1)(**given)
            pipeline.at(6, 1)(**given)
            pipeline(**given)
            assert same(first, pipeline.at(5, 1)(**given))
            assert same(first, pickle.loads(pickle.dumps(pipeline)).at(5, 1)(**given))
            for other in (pipeline.at(6, 1), pipeline.at(5, 2), recipe(steps).compile(seed=4).at(5, 1)):
                assert not same(first, other(**given))
            for level in ("none", "exact", "fast"):
                plain = replace(recipe(steps), without_rules=("own_noise",))
                assert same(first, plain.compile(seed=3, optimize=level).at(5, 1)(**given))

    def test_threads(self) -> None:
        pipeline = recipe(SPOIL).compile()
        wanted = [pipeline.at(k)(hr=HR) for k in range(12)]
        found: dict[int, dict[str, Any]] = {}

        def work(start: int) -> None:
            for k in range(start, 12, 3):
                found[k] = pipeline.at(k)(hr=HR)

        threads = [threading.Thread(target=work, args=(start,)) for start in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert all(same(wanted[k], found[k]) for k in range(12))

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

    def test_targets_are_what_goes_in(self) -> None:
        pipeline = recipe(SPOIL).compile()
        assert (pipeline.targets, pipeline.outputs) == (("hr",), ("lr", "hr"))
        assert recipe(SPOIL).compile(mode="eval").targets == ("lr", "hr")

    @pytest.mark.usefixtures("classes_of_its_own")
    def test_a_last_size_that_is_not_the_targets(self) -> None:
        import albumentations as A

        class LoseARow(A.ImageOnlyTransform):  # type: ignore[misc]
            def apply(self, img: np.ndarray, **_: Any) -> np.ndarray:
                return img[1:]

        ar.register(LoseARow)
        steps = "[{Degrade: {source: hr, target: lr, steps: [ResizeToTarget, {LoseARow: {p: 1.0}}]}}]"
        with pytest.raises(DataError, match=r"leaves 29×40 px, lr is 30×40 px.*ResizeToTarget"):
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
        with pytest.raises(DataError) as caught:
            recipe().compile().at(0)(**given)
        assert message in str(caught.value)

    def test_the_least_size_counts_pixels_of_the_coarsest_target(self) -> None:
        plenty = recipe(inputs="{image: {min_size: [30, 40]}}").compile()
        plenty.at(0)(lr=LR, hr=HR)
        with pytest.raises(DataError, match=r"lr is 30×40 px, the recipe's inputs ask for at least 31×40"):
            recipe(inputs="{image: {min_size: [31, 40]}}").compile().at(0)(lr=LR, hr=HR)
        with pytest.raises(DataError, match=r"hr is 123×162 px, the recipe's inputs ask for at least 124×160"):
            recipe(SPOIL, inputs="{image: {min_size: [31, 40]}}").compile().at(0)(hr=HR)

    def test_a_target_that_degrade_makes_is_no_input(self) -> None:
        with pytest.raises(DataError, match="lr is made by Degrade"):
            recipe(SPOIL).compile().at(0)(hr=HR, lr=LR)

    def test_the_failing_step_is_named(self) -> None:
        steps = "[{OneOf: {steps: [{RandomCrop: {height: 400, width: 400}}, {CenterCrop: {height: 400, width: 400}}]}}]"
        with pytest.raises(DataError) as caught:
            recipe(steps).compile().at(0)(lr=LR, hr=HR)
        assert caught.value.step is not None
        assert caught.value.step.startswith("OneOf#1/")

    def test_a_window_that_does_not_fit_names_the_targets(self) -> None:
        with pytest.raises(DataError, match=r"cells of the common grid, of lr 30×40 px, hr 120×160 px") as caught:
            recipe("[{RandomCrop: {height: 48, width: 48}}]").compile().at(0)(lr=LR, hr=HR)
        assert caught.value.step == "RandomCrop#1"

    def test_a_warp_that_cannot_be_shared(self) -> None:  # the lint says so; where it is silenced, the compiler does
        steps = "\n  - Perspective: {p: 1.0}  # augrecipes: ignore[L208]"
        with pytest.raises(RecipeError, match=r"Perspective#1 \(line 6\).*Affine"):
            recipe(steps, allow_resampling="true").compile()

    def test_a_size_that_is_no_whole_cell(self) -> None:
        steps = "[{Resize: {height: 50, width: 64, at: hr}}]"
        with pytest.raises(RecipeError, match="50"):
            recipe(steps, allow_resampling="true").compile()


def test_explain_says_who_shares_what() -> None:
    shared = {row.site: row.how for row in explain(recipe(SPOIL)).shared}
    assert shared == {
        "RandomCrop#1": "one window for lr, hr, whole cells of 1 : 4 px; its numbers count pixels of lr",
        "Degrade#1": "makes lr out of hr",
        "D4#1": "one draw for lr, hr",
    }


@pytest.mark.parametrize(("at", "side"), [(", at: lr", 20), (", at: hr", 5), ("", 20)])
def test_explain_says_whose_pixels_a_crop_counts(at: str, side: int) -> None:
    """And it is so: the window has that many pixels of the target that is named."""
    made = recipe(f"[{{RandomCrop: {{height: 20, width: 20{at}}}}}]", **RAW)
    (row,) = explain(made).shared
    named = row.how.partition("count pixels of ")[2]
    assert named.startswith("hr" if "hr" in at else "lr")
    assert ("no `at`" in named) is not bool(at)
    out = made.compile().at(0)(lr=LR, hr=HR)
    assert out["lr"].shape[:2] == (side, side)
    assert out["hr"].shape[:2] == (4 * side, 4 * side)


@pytest.mark.usefixtures("classes_of_its_own")
def test_a_custom_class_is_shared_as_it_is() -> None:
    import albumentations as A

    class HalveIt(A.ImageOnlyTransform):  # type: ignore[misc]
        def apply(self, img: np.ndarray, **_: Any) -> np.ndarray:
            return img // 2

    ar.register(HalveIt)
    out = recipe("[{HalveIt: {p: 1.0}}]", **RAW).compile().at(0)(lr=LR, hr=HR)
    assert np.array_equal(out["hr"], HR[:120, :160] // 2)


@pytest.mark.usefixtures("classes_of_its_own")
def test_the_order_of_targets_of_one_scale_decides_nothing() -> None:
    """A step that reads the picture to draw reads the same one, however `scales:` is written."""
    import albumentations as A

    @ar.register
    class AddMean(A.ImageOnlyTransform):  # type: ignore[misc]
        def get_params_dependent_on_data(self, params: Any, data: Any) -> dict[str, Any]:
            return {"mean": int(data["image"].mean()) // 2}

        def apply(self, img: np.ndarray, mean: int = 0, **params: Any) -> np.ndarray:
            return img // 2 + np.uint8(mean)

    dark, light = np.full((12, 16, 3), 9, np.uint8), np.full((12, 16, 3), 200, np.uint8)
    one, other = (recipe("[{AddMean: {p: 1.0}}]", scales, **RAW) for scales in ("{a: 1, b: 1}", "{b: 1, a: 1}"))
    assert one.digest == other.digest
    assert same(one.compile().at(0)(a=dark, b=light), other.compile().at(0)(a=dark, b=light))
