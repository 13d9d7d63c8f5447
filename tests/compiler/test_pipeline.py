"""Pipelines: their keys and targets, what is wrong with samples, and floats that are not 0..1."""

from typing import Any

import albumentations as A
import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import augrecipes as ar
from augrecipes.compiler.compile import build
from augrecipes.compiler.kernels.sink import Sink
from augrecipes.compiler.run import targets
from augrecipes.compiler.run.targets import check_range
from augrecipes.kinds.image.pipeline import ImagePipeline
from augrecipes.recipe.model import Normalize, Output, Recipe
from augrecipes.recipe.parse import parse_text

IMAGE = np.random.default_rng(0).integers(0, 256, (60, 80, 3), dtype=np.uint8)
BUSY = """[HorizontalFlip, {RandomCrop: {height: 40, width: 50}},
  {OneOf: {steps: [{Blur: {p: 1.0}}, {GaussNoise: {p: 1.0}}]}},
  {RandomBrightnessContrast: {p: 1.0}}, {Rotate: {limit: 20, p: 1.0}}]"""


NORMALIZED = Output(normalize=Normalize((0.1, 0.2, 0.3), (0.1, 0.2, 0.3)))


def recipe(steps: str = BUSY, **more: str) -> Recipe:
    rest = "".join(f"{key}: {value}\n" for key, value in more.items())
    return parse_text(f"version: 1\nrecipe: test\nsteps: {steps}\n{rest}")


def same(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return a["image"].shape == b["image"].shape and bool((a["image"] == b["image"]).all())


class TestKeys:
    @pytest.mark.parametrize("key", [{"index": -1}, {"index": 0, "epoch": 2**63}, {"index": 0, "tile": -3}])
    def test_keys_outside_63_bits_are_refused(self, key: dict[str, int]) -> None:
        with pytest.raises(ValueError, match="from 0 to"):
            recipe().compile().at(**key)

    def test_keys_are_integers(self) -> None:
        with pytest.raises(TypeError, match=r"index must be an integer, got 1\.5"):
            recipe().compile().at(1.5)  # type: ignore[arg-type]
        assert same(recipe().compile().at(np.int64(3))(image=IMAGE), recipe().compile().at(3)(image=IMAGE))

    def test_adding_an_unlike_step_changes_no_draw_of_the_others(self) -> None:
        def applied(steps: str) -> dict[str, Any]:
            out = recipe(steps).compile(seed=1, save_applied_params=True).at(4)(image=IMAGE)
            return {site: params for site, _, params in out["applied"]}

        few = applied("[{Affine: {rotate: [-9, 9], p: 1.0}}, {OneOf: {steps: [{GaussNoise: {p: 1.0}}]}}]")
        many = applied(
            "[NoOp, CLAHE, {Affine: {rotate: [-9, 9], p: 1.0}}, {SomeOf: {n: 1, steps: [Blur, Sharpen]}},"
            " {OneOf: {steps: [{GaussNoise: {p: 1.0}}]}}]"
        )
        assert few.keys() <= many.keys()
        np.testing.assert_equal(few["Affine#1"]["matrix"], many["Affine#1"]["matrix"])

    def test_bare_calls_do_not_repeat_and_are_reproducible_here(self) -> None:
        a, b = recipe().compile(seed=1), recipe().compile(seed=1)
        first = [a(image=IMAGE) for _ in range(20)]
        assert all(same(x, b(image=IMAGE)) for x in first)
        assert len({x["image"].tobytes() for x in first}) == 20


class TestTargets:
    @pytest.mark.parametrize("dtype", [bool, np.uint8, np.uint16, np.int32, np.int64])
    def test_masks_keep_their_labels(self, dtype: type) -> None:
        mask = np.zeros((60, 80), dtype)
        mask[5:20, 7:30] = 1 if dtype is bool else np.iinfo(dtype).max if np.dtype(dtype).itemsize < 4 else 70_000
        out = recipe("[{HorizontalFlip: {p: 1.0}}]").compile().at(0)(image=IMAGE, mask=mask)["mask"]
        assert out.dtype == np.int64
        np.testing.assert_array_equal(out, mask[:, ::-1].astype(np.int64))

    @pytest.mark.parametrize("optimize", ["none", "exact", "fast"])
    def test_masks_of_floats_keep_their_values(self, optimize: Any) -> None:
        mask = np.random.default_rng(0).uniform(-1e4, 1e4, (60, 80))
        steps = "[{Rotate: {limit: [20, 20], p: 1.0}}, {Resize: {height: 31, width: 37}}, {HorizontalFlip: {p: 1.0}}]"
        for dtype in (np.float32, np.float64):
            out = recipe(steps).compile(optimize=optimize).at(0)(image=IMAGE, mask=mask.astype(dtype))["mask"]
            assert out.dtype == dtype
            assert np.isin(out[out != 0], mask.astype(dtype)).all()
        with pytest.raises(ar.DataError, match="must hold integers, booleans or floats of 32 or 64 bits, got float16"):
            recipe().compile(optimize=optimize).at(0)(image=IMAGE, mask=mask.astype(np.float16))
        with pytest.raises(ar.DataError, match=r"the labels of mask reach 16777217.* number them from 0"):
            recipe().compile(optimize=optimize).at(0)(image=IMAGE, mask=np.full((60, 80), (1 << 24) + 1))

    @pytest.mark.parametrize("optimize", ["none", "exact", "fast"])
    @pytest.mark.parametrize("made", [3, 4])
    def test_as_many_channels_are_normalised_as_leave(self, made: int, optimize: Any) -> None:
        for coming in (1, 3, 4):
            changes = {(1, 3): "{ToRGB: {p: 1.0}}, "}.get((coming, made), "")
            if coming == 3:
                changes = f"{{ToGray: {{num_output_channels: {made}, p: 1.0}}}}, "
            parts = [0.1 * (k + 1) for k in range(made)]
            text = f"{{layout: hwc, normalize: {{mean: {parts}, std: {parts}}}}}"
            pipeline = recipe(f"[{changes}{{HorizontalFlip: {{p: 1.0}}}}]", output=text).compile(optimize=optimize)
            image = np.full((6, 7, coming), 200, np.uint8)
            if coming != made and not changes:
                with pytest.raises(ar.DataError, match=f"normalize mean has {made} values, the output has {coming}"):
                    pipeline.at(0)(image=image)
                with pytest.raises(ar.DataError, match=f"normalize mean has {made} values, the output has {coming}"):
                    pipeline.batch([image] * 3)
                continue
            expected = (200 / 255 - np.array(parts)) / parts
            for done in (pipeline.at(0)(image=image)["image"], *pipeline.batch([image] * 3)):
                np.testing.assert_allclose(done, np.broadcast_to(expected, (6, 7, made)), atol=1e-5)

    @pytest.mark.parametrize("behind", ["RandomSnow", "CLAHE", "ColorJitter"])
    @pytest.mark.parametrize("optimize", ["none", "exact", "fast"])
    def test_a_step_is_blamed_before_the_output_is(self, behind: str, optimize: Any) -> None:
        steps = f"[{{ToGray: {{num_output_channels: 2, p: 1.0}}}}, {{{behind}: {{p: 1.0}}}}]"
        made = Recipe("made", steps=parse_text(f"version: 1\nrecipe: a\nsteps: {steps}\n").steps, output=NORMALIZED)
        pipeline = build(made, "train", optimize, 0)
        for call in (lambda: pipeline.at(0)(image=IMAGE), lambda: pipeline.batch([IMAGE] * 2)):
            with pytest.raises(ar.DataError) as caught:
                call()
            assert caught.value.step == f"{behind}#1"

    @pytest.mark.parametrize("name", ["boxes", "bboxes"])
    @pytest.mark.parametrize(
        "labels",
        [[7, 8], ["cell", "gap"], ["1", "2"], [True, False], ["a", 3], (900100581904, 1), np.array([2**24 + 1, 8])],
    )
    def test_boxes_come_out_under_their_own_name(self, name: str, labels: Any) -> None:
        pipeline = recipe(
            "[{HorizontalFlip: {p: 1.0}}]", inputs="{boxes: {format: pascal_voc, labels: box_labels}}"
        ).compile()
        out = pipeline.at(0)(**{"image": IMAGE, name: [[10, 20, 30, 40], [0, 0, 80, 60]], "box_labels": labels})
        assert out[name].dtype == np.float32
        np.testing.assert_allclose(out[name], [[50, 20, 70, 40], [0, 0, 80, 60]])
        assert list(out["box_labels"]) == list(labels)
        assert [type(v) for v in out["box_labels"]] == [type(v) for v in labels]
        assert out.keys() == {"image", name, "box_labels"}

    @pytest.mark.parametrize(
        ("targets", "message"),
        [
            ({}, "image must be a numpy array"),
            ({"image": [[1]]}, "image must be a numpy array, got list"),
            ({"image": IMAGE.astype(np.int32)}, "uint8 .* or float32"),
            ({"image": IMAGE[:0]}, "at least one pixel"),
            ({"image": IMAGE, "mask": np.zeros((3, 3), np.uint8)}, "does not lie on the image"),
            ({"image": IMAGE, "boxes": [[0, 0, 1, 1]]}, "do not declare any"),
        ],
    )
    def test_wrong_targets_are_data_errors(self, targets: dict[str, Any], message: str) -> None:
        with pytest.raises(ar.DataError, match=message):
            recipe().compile().at(0)(**targets)

    def test_inputs_are_checked(self) -> None:
        inputs = "{image: {channels: 3, min_size: [64, 64]}, mask: required}"
        pipeline = recipe("[Blur]", inputs=inputs).compile()
        with pytest.raises(ar.DataError, match=r"60×80 px.*64×64"):
            pipeline.at(0)(image=IMAGE, mask=IMAGE[..., 0])
        with pytest.raises(ar.DataError, match="channels"):
            pipeline.at(0)(image=np.zeros((70, 70, 1), np.uint8), mask=np.zeros((70, 70), np.uint8))
        with pytest.raises(ar.DataError, match="require 'mask'"):
            pipeline.at(0)(image=np.zeros((70, 70, 3), np.uint8))

    def test_a_failing_step_is_named(self) -> None:
        pipeline = recipe("[Blur, {OneOf: {steps: [{RandomCrop: {height: 61, width: 80}}]}}]").compile()
        with pytest.raises(ar.DataError, match="step OneOf#1/RandomCrop#1") as caught:
            pipeline.at(0)(image=IMAGE)
        assert caught.value.step == "OneOf#1/RandomCrop#1"


class TestCompile:
    def test_modes(self) -> None:
        with pytest.raises(ar.RecipeError, match="no `eval:`"):
            recipe().compile(mode="eval")
        out = recipe(eval="[]").compile(mode="eval").at(0)(image=IMAGE)["image"]
        np.testing.assert_array_equal(out, (IMAGE.transpose(2, 0, 1).astype(np.float32) * np.float32(1 / 255)))
        with pytest.raises(ar.RecipeError, match="train or eval"):
            recipe().compile(mode="test")  # type: ignore[arg-type]
        with pytest.raises(ar.RecipeError, match="none, exact, fast"):
            recipe().compile(optimize="quick")  # type: ignore[arg-type]

    def test_lint_errors_stop_it(self) -> None:
        with pytest.raises(ar.LintError, match="L101"):
            recipe(eval="[{HorizontalFlip: {p: 0.5}}]").compile()


class TestSink:
    def test_ranges_dtypes_layouts(self) -> None:
        ends = np.array([[[0, 255, 128]]], np.uint8)
        assert Sink(Output(range=(-1, 1), layout="hwc"))(ends).ravel()[:2].tolist() == [-1, 1]
        assert Sink(Output(range=(0, 255)))(ends).ravel().tolist() == [0, 255, 128]
        assert Sink(Output(dtype="float16"))(ends).dtype == np.float16
        assert Sink(Output(dtype="uint8"))(ends.astype(np.float32) / 255).ravel().tolist() == [0, 255, 128]
        assert Sink(Output(color="bgr", dtype="uint8"))(ends).ravel().tolist() == [128, 255, 0]
        assert Sink(Output(where="device", normalize=Normalize((0.5,), (0.5,))))(ends).dtype == np.uint8

    def test_luma(self) -> None:
        white = np.full((2, 2, 3), 255, np.uint8)
        np.testing.assert_allclose(Sink(Output(color="y"))(white), 235 / 255, rtol=1e-6)
        np.testing.assert_allclose(Sink(Output(color="y"))(white[..., :1]), 235 / 255, rtol=1e-6)
        np.testing.assert_allclose(Sink(Output(color="gray"))(white), 1, rtol=1e-6)
        assert Sink(Output(color="y", dtype="uint8"))(white).max() == 235
        with pytest.raises(ar.DataError, match="needs three channels"):
            Sink(Output(color="y"))(np.zeros((2, 2, 5), np.uint8))


@pytest.mark.usefixtures("own_classes")
def test_a_class_of_the_program() -> None:
    class Darker(A.ImageOnlyTransform):
        def apply(self, img: np.ndarray, **_: Any) -> np.ndarray:
            return img // 2

    ar.register(Darker)

    class Doubles(A.ImageOnlyTransform):
        def apply(self, img: np.ndarray, **_: Any) -> np.ndarray:
            return img.astype(np.float64)

    ar.register(Doubles)
    with pytest.raises(ar.DataError, match="returned float64, no uint8"):
        recipe("[{Doubles: {p: 1.0}}]").compile().at(0)(image=IMAGE)
    out = recipe("[{Darker: {p: 1.0}}]", output="{dtype: uint8, layout: hwc}").compile().at(0)(image=IMAGE)["image"]
    np.testing.assert_array_equal(out, IMAGE // 2)


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
@pytest.mark.parametrize("given", [False, True], ids=["alone", "into memory"])
def test_the_plan_is_chosen_at_most_once_a_sample(monkeypatch: pytest.MonkeyPatch, dtype: str, given: bool) -> None:
    """However a sample comes, and whether its memory is given: no pipeline asks again what another has found out."""
    asked = []
    found = ImagePipeline._arrival_of
    monkeypatch.setattr(ImagePipeline, "_arrival_of", lambda self, targets: asked.append(1) or found(self, targets))
    pipeline = ar.load("folder-128").compile()
    more = {"out": np.empty((3, 128, 128), np.float32)} if given else {}
    for index in range(3):
        pipeline.at(index)(image=np.zeros((200, 300, 3), dtype), **more)
    assert len(asked) == 3


# Floats are 0..1: images of 0..255, or normalised ones, are told of instead of being trained on.


SIZES = st.tuples(st.integers(1, 70), st.integers(1, 70), st.integers(1, 5))
GREY = np.full((60, 80, 3), 200, np.float32)


def told(image: np.ndarray) -> str:
    try:
        check_range(image, "it")
    except ar.DataError as error:
        return str(error)
    return ""


def photo(seed: int, size: tuple[int, int, int]) -> np.ndarray:
    """Noise over a gradient, 0..1: dark at one side, as photographs are."""
    rng = np.random.default_rng(seed)
    return np.clip(np.linspace(0, 1, size[1])[None, :, None] + rng.normal(0, 0.1, size), 0, 1).astype(np.float32)


@given(SIZES, st.integers(0, 2**32), st.sampled_from((255, 65535, 10, 100)))
def test_every_other_full_scale_is_told(size: tuple[int, int, int], seed: int, full: int) -> None:
    image = photo(seed, size)
    assert told(image) == ""
    image[0, 0] += 1  # whatever the size, one pixel alone decides nothing
    assert told(image) == ""
    bright = np.maximum(photo(seed, size), np.float32(0.3)) * np.float32(full)
    assert "divide by 255, or pass it as uint8" in told(bright)
    assert "divide by 255" in told(bright[::-1, ::-1].transpose(1, 0, 2))


@pytest.mark.parametrize("full", [255, 65535])
def test_photographs_are_told_however_dark(full: int) -> None:
    """Sixteen rows or more find what is bright on a hundredth of an image."""
    for seed in range(30):
        image = np.zeros((257, 301, 3), np.float32)
        y, x = np.random.default_rng(seed).integers(0, 225, 2)
        image[y : y + 30, x : x + 30, seed % 3] = 0.2 * full
        assert told(image)


@given(SIZES, st.integers(0, 2**32))
def test_normalised_images_are_told(size: tuple[int, int, int], seed: int) -> None:
    dark = (photo(seed, size) * np.float32(0.3) - np.float32(0.45)) / np.float32(0.225)
    assert told(dark - np.float32(0.4)).endswith("leave normalisation to the recipe's output")


@given(st.integers(0, 2**32), st.integers(3, 60), st.integers(3, 60), st.booleans())
def test_resampled_images_are_not(seed: int, height: int, width: int, hard: bool) -> None:
    """The worst that a Lanczos kernel makes of 0..1: images of black and white pixels, at every size."""
    image = np.random.default_rng(seed).integers(0, 2, (31, 37, 3)).astype(np.float32)
    if hard:  # the very pattern that its lobes add up on
        kernel = cv2.resize(np.eye(8, dtype=np.float32), (16, 8), interpolation=cv2.INTER_LANCZOS4)
        image[:8, :16] = (kernel > 0)[..., None]
    assert told(cv2.resize(image, (width, height), interpolation=cv2.INTER_LANCZOS4)) == ""


def test_the_bounds_are_what_the_kernel_can_do() -> None:
    """Of an impulse Lanczos makes weights whose absolute sum says how far out of 0..1 it can go."""
    impulse = np.zeros((33, 33), np.float32)
    impulse[16, 16] = 1
    reach = 0.0
    for phase in np.linspace(0, 1, 11):
        shift = np.array([[1, 0, phase], [0, 1, phase]], np.float32)
        reach = max(reach, float(np.abs(cv2.warpAffine(impulse, shift, (33, 33), flags=cv2.INTER_LANCZOS4)).sum()))
    assert targets._LEAST < (1 - reach) / 2 < -0.9
    assert 1.9 < (1 + reach) / 2 < targets._MOST


def test_what_is_not_a_number_is_not_a_range() -> None:
    image = photo(1, (40, 50, 3))
    image[3:9, 4:30] = np.nan  # no data there, say
    assert told(image) == ""
    assert told(np.full((4, 4, 1), np.nan, np.float32)) == ""
    assert told(np.full((4, 4, 1), np.inf, np.float32))


@pytest.mark.parametrize(
    ("recipe", "given"),
    [
        ("imagenet-train", {"image": GREY}),
        ("imagenet-train", {"image": GREY[..., :1]}),
        ("imagenet-train", {"images": GREY[None]}),
        ("imagenet-train", {"volume": GREY[None]}),
        ("sr-x4", {"hr": np.full((400, 400, 3), 200, np.float32), "lr": np.full((100, 100, 3), 0.5, np.float32)}),
        ("real-esrgan-x4", {"hr": np.full((400, 400, 3), 200, np.float32)}),
        ("stained-tissue-bag", {"images": [GREY, GREY]}),
        ("stained-tissue-bag", {"image": GREY}),
    ],
)
@pytest.mark.parametrize("optimize", ["none", "fast"])
def test_wherever_floats_come_in(recipe: str, given: dict[str, Any], optimize: Any) -> None:
    with pytest.raises(
        ar.DataError, match=r"is float32 and holds values of 200 to 200; float32 means 0..1: divide by 255"
    ):
        ar.load(recipe).compile(optimize=optimize).at(0)(**given)


def test_a_mask_of_floats_may_hold_anything() -> None:
    out = ar.load("segmentation").compile().at(0)(image=GREY / 255, mask=GREY[..., 0])
    assert 200 in out["mask"]


def test_planted_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look at too few pixels, and a bound that is too wide, do not get past the tests above."""
    for name, value in (("_ROWS", 1), ("_MOST", 60.0)):
        with monkeypatch.context() as patch:
            patch.setattr(targets, name, value)
            with pytest.raises(AssertionError):
                test_photographs_are_told_however_dark(255)


# Where a step fails on an image the error says what helps.


CURES: dict[str, tuple[dict[str, Any], tuple[int, ...], str]] = {
    "small": ({"GridDistortion": {"p": 1}}, (2, 2, 3), "2×2 px with 3 channels is too small .*PadIfNeeded"),
    "short": ({"Downscale": {"p": 1}}, (1, 5, 3), "too small for this step: enlarge"),
    "long": ({"ElasticTransform": {"p": 1}}, (20, 33000, 1), "32,766 px"),
    "deep": ({"HorizontalFlip": {"p": 1}}, (30, 30, 130), "128 channels.*add_targets"),
}


if cv2.__version__ < "5":  # which takes up to 512 channels
    del CURES["deep"]


@pytest.mark.parametrize("name", CURES)
def test_what_helps_is_said(name: str) -> None:
    step, shape, said = CURES[name]
    pipeline = ar.load({"version": 1, "recipe": "t", "optimize": "none", "steps": [step], "eval": []}).compile(seed=0)
    with pytest.raises(ar.DataError, match=said):
        pipeline.at(0)(image=np.zeros(shape, np.uint8))


@pytest.mark.usefixtures("own_classes")
@pytest.mark.parametrize("base", [A.ImageOnlyTransform, A.DualTransform])
@pytest.mark.parametrize("behind", [[], ["ColorJitter"], [{"RandomCrop": {"height": 9, "width": 9}}]])
def test_an_own_step_that_returns_other_floats_is_named(base: Any, behind: list[Any]) -> None:
    own = type("Halved", (base,), {"apply": lambda self, img, **params: img * 0.5})
    ar.register(own)
    for optimize in ("none", "exact", "fast"):
        steps = [{"OneOf": {"steps": [{"Halved": {"p": 1}}]}}, *behind]
        made = {"version": 1, "recipe": "t", "optimize": optimize, "steps": steps, "eval": []}
        pipeline = ar.load(made).compile(seed=0)
        with pytest.raises(
            ar.DataError, match=r"step OneOf#1/Halved#1: .*float64.*uint8 .*float32 .*astype\(img.dtype"
        ):
            pipeline.at(0)(image=np.zeros((30, 30, 3), np.uint8))
        done = pipeline.at(0)(image=np.zeros((30, 30, 3), np.float32))  # of which the half is float32
        assert done["image"].dtype == np.float32


def test_images_of_unlike_channels_are_told_apart() -> None:
    made = {"version": 1, "recipe": "t", "steps": [{"GaussNoise": {"p": 1}}], "eval": []}
    pipeline = ar.load(made).compile(seed=0)
    pipeline.add_targets({"other": "image"})
    colour, grey = np.zeros((30, 30, 3), np.uint8), np.zeros((30, 30, 1), np.uint8)
    with pytest.raises(ar.DataError, match="goes along with one of 3 channels"):
        pipeline.at(0)(image=colour, other=grey)


def test_what_a_class_says_of_channels_is_left_alone() -> None:
    made = {"version": 1, "recipe": "t", "optimize": "none", "steps": [{"ISONoise": {"p": 1}}], "eval": []}
    with pytest.raises(ar.DataError) as caught:
        ar.load(made).compile(seed=0).at(0)(image=np.zeros((1, 1, 1), np.uint8))
    assert "too small" not in str(caught.value)


def test_pixels_that_are_no_numbers_are_refused() -> None:
    image = np.full((20, 30, 3), 0.5, np.float32)
    image[3, 4] = np.nan
    made = {"version": 1, "recipe": "t", "steps": [{"HorizontalFlip": {"p": 1}}], "eval": []}
    with pytest.raises(ar.DataError, match=r"no numbers \(NaN\).*nan_to_num"):
        ar.load(made).compile(seed=0).at(0)(image=image)
