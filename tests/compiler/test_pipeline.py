from __future__ import annotations

import pickle
import threading
from typing import Any

import albumentations as A
import numpy as np
import pytest

import augrecipes as ar
from augrecipes.compiler.kernels.sink import Sink
from augrecipes.errors import DataError, LintError, RecipeError
from augrecipes.kinds.image.pipeline import ImagePipeline
from augrecipes.recipe.model import Normalize, Output, Recipe
from augrecipes.recipe.parse import parse_text

IMAGE = np.random.default_rng(0).integers(0, 256, (60, 80, 3), dtype=np.uint8)
BUSY = """[HorizontalFlip, {RandomCrop: {height: 40, width: 50}},
  {OneOf: {steps: [{Blur: {p: 1.0}}, {GaussNoise: {p: 1.0}}]}},
  {RandomBrightnessContrast: {p: 1.0}}, {Rotate: {limit: 20, p: 1.0}}]"""


def recipe(steps: str = BUSY, **more: str) -> Recipe:
    rest = "".join(f"{key}: {value}\n" for key, value in more.items())
    return parse_text(f"version: 1\nrecipe: test\nsteps: {steps}\n{rest}")


def same(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return a["image"].shape == b["image"].shape and bool((a["image"] == b["image"]).all())


class TestKeys:
    def test_a_sample_is_a_function_of_its_key(self) -> None:
        pipeline = recipe().compile(seed=3)
        first = pipeline.at(5, 1)(image=IMAGE)
        pipeline.at(6, 1)(image=IMAGE)
        pipeline(image=IMAGE)
        assert same(first, pipeline.at(index=5, epoch=1)(image=IMAGE))
        assert same(first, recipe().compile(seed=3).at(5, 1)(image=IMAGE))
        for other in (
            pipeline.at(6, 1),
            pipeline.at(5, 2),
            pipeline.at(5, 1, tile=1),
            recipe().compile(seed=4).at(5, 1),
        ):
            assert not same(first, other(image=IMAGE))

    @pytest.mark.parametrize("key", [{"index": -1}, {"index": 0, "epoch": 2**63}, {"index": 0, "tile": -3}])
    def test_keys_outside_63_bits_are_refused(self, key: dict[str, int]) -> None:
        with pytest.raises(ValueError, match="from 0 to"):
            recipe().compile().at(**key)

    def test_keys_are_integers(self) -> None:
        with pytest.raises(TypeError, match=r"index must be an integer, got 1\.5"):
            recipe().compile().at(1.5)  # type: ignore[arg-type]
        assert same(recipe().compile().at(np.int64(3))(image=IMAGE), recipe().compile().at(3)(image=IMAGE))

    def test_reseeding_is_refused(self) -> None:
        with pytest.raises(TypeError, match="compile"):
            recipe().compile().set_random_seed(3)

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


class TestTravel:
    def test_pickles(self) -> None:
        pipeline = recipe().compile(seed=3)
        copied = pickle.loads(pickle.dumps(pipeline))
        assert same(pipeline.at(5)(image=IMAGE), copied.at(5)(image=IMAGE))
        assert (copied.recipe, copied.mode, copied.seed, copied.optimize) == (pipeline.recipe, "train", 3, "exact")
        assert isinstance(copied, A.Compose)

    def test_many_threads_give_the_digests_of_one(self) -> None:
        pipeline = recipe().compile(seed=3)
        expected = [pipeline.at(i)(image=IMAGE)["image"].tobytes() for i in range(40)]
        got: list[bytes | None] = [None] * 40

        def work(start: int) -> None:
            for i in range(start, 40, 4):
                got[i] = pipeline.at(i)(image=IMAGE)["image"].tobytes()

        threads = [threading.Thread(target=work, args=(start,)) for start in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert got == expected


class TestMemory:
    @pytest.mark.parametrize(
        "steps", ["[]", "[{HorizontalFlip: {p: 1.0}}]", "[{CenterCrop: {height: 60, width: 80}}]", "[NoOp]"]
    )
    @pytest.mark.parametrize("layout", ["hwc", "chw"])
    def test_nothing_returned_shares_memory_with_the_input(self, steps: str, layout: str) -> None:
        image, mask = IMAGE.copy(), np.ones((60, 80), np.int64)
        image.flags.writeable = False
        for optimize in ("none", "exact"):
            pipeline = recipe(steps, output=f"{{dtype: uint8, layout: {layout}}}").compile(optimize=optimize)  # type: ignore[arg-type]
            a, b = pipeline.at(0)(image=image, mask=mask), pipeline.at(0)(image=image, mask=mask)
            assert not np.shares_memory(a["image"], image)
            assert not np.shares_memory(a["mask"], mask)
            assert not np.shares_memory(a["image"], b["image"])
            assert a["image"].flags.writeable
            assert a["image"].flags.c_contiguous


class TestTargets:
    @pytest.mark.parametrize("dtype", [bool, np.uint8, np.uint16, np.int32, np.int64])
    def test_masks_keep_their_labels(self, dtype: type) -> None:
        mask = np.zeros((60, 80), dtype)
        mask[5:20, 7:30] = 1 if dtype is bool else np.iinfo(dtype).max if np.dtype(dtype).itemsize < 4 else 70_000
        out = recipe("[{HorizontalFlip: {p: 1.0}}]").compile().at(0)(image=IMAGE, mask=mask)["mask"]
        assert out.dtype == np.int64
        np.testing.assert_array_equal(out, mask[:, ::-1].astype(np.int64))

    def test_negative_labels_survive(self) -> None:
        mask = np.full((60, 80), -1, np.int64)
        assert set(np.unique(recipe("[Rotate]").compile().at(0)(image=IMAGE, mask=mask)["mask"])) <= {-1, 0}

    def test_grey_comes_out_as_one_channel(self) -> None:
        assert recipe("[Blur]").compile().at(0)(image=IMAGE[..., 0])["image"].shape == (1, 60, 80)

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

    def test_labels_do_not_depend_on_the_sample_before(self) -> None:
        pipeline = recipe("[HorizontalFlip]", inputs="{boxes: coco}").compile()
        for labels in (["a"], [1], ["b"], [2.5]):
            out = pipeline.at(0)(image=IMAGE, boxes=[[1, 2, 3, 4]], box_labels=labels)
            assert out["box_labels"] == labels

    def test_no_boxes_are_fine(self) -> None:
        pipeline = recipe("[{RandomCrop: {height: 20, width: 20}}]", inputs="{boxes: coco}").compile()
        out = pipeline.at(0)(image=IMAGE, boxes=np.zeros((0, 4)), box_labels=[])
        assert out["boxes"].shape == (0, 4)
        assert list(out["box_labels"]) == []
        assert "boxes" not in pipeline.at(0)(image=IMAGE)

    def test_keypoints(self) -> None:
        pipeline = recipe("[{VerticalFlip: {p: 1.0}}]", inputs="{keypoints: xy}").compile()
        out = pipeline.at(0)(image=IMAGE, keypoints=np.array([[3.0, 4.0]]))["keypoints"]
        np.testing.assert_allclose(out, [[3, 55]])
        assert out.dtype == np.float32

    def test_what_a_recipe_does_not_know_passes_through(self) -> None:
        assert recipe().compile().at(0)(image=IMAGE, label=4, path="a.png")["path"] == "a.png"

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
        with pytest.raises(DataError, match=message):
            recipe().compile().at(0)(**targets)

    def test_inputs_are_checked(self) -> None:
        inputs = "{image: {channels: 3, min_size: [64, 64]}, mask: required}"
        pipeline = recipe("[Blur]", inputs=inputs).compile()
        with pytest.raises(DataError, match=r"60×80 px.*64×64"):
            pipeline.at(0)(image=IMAGE, mask=IMAGE[..., 0])
        with pytest.raises(DataError, match="channels"):
            pipeline.at(0)(image=np.zeros((70, 70, 1), np.uint8), mask=np.zeros((70, 70), np.uint8))
        with pytest.raises(DataError, match="require 'mask'"):
            pipeline.at(0)(image=np.zeros((70, 70, 3), np.uint8))

    def test_a_failing_step_is_named(self) -> None:
        pipeline = recipe("[Blur, {OneOf: {steps: [{RandomCrop: {height: 61, width: 80}}]}}]").compile()
        with pytest.raises(DataError, match=r"step OneOf#1/RandomCrop#1: .*larger|step OneOf#1/RandomCrop#1") as caught:
            pipeline.at(0)(image=IMAGE)
        assert caught.value.step == "OneOf#1/RandomCrop#1"


class TestCompile:
    def test_modes(self) -> None:
        with pytest.raises(RecipeError, match="no `eval:`"):
            recipe().compile(mode="eval")
        out = recipe(eval="[]").compile(mode="eval").at(0)(image=IMAGE)["image"]
        np.testing.assert_array_equal(out, (IMAGE.transpose(2, 0, 1).astype(np.float32) * np.float32(1 / 255)))
        with pytest.raises(RecipeError, match="train or eval"):
            recipe().compile(mode="test")  # type: ignore[arg-type]
        with pytest.raises(RecipeError, match="none, exact, fast"):
            recipe().compile(optimize="quick")  # type: ignore[arg-type]

    def test_lint_errors_stop_it(self) -> None:
        with pytest.raises(LintError, match="L101"):
            recipe(eval="[{HorizontalFlip: {p: 0.5}}]").compile()

    def test_albumentations_groups_with_our_defaults(self) -> None:
        pipeline = recipe("[{RandomOrder: {steps: [{Blur: {p: 1.0}}, {Sharpen: {p: 1.0}}]}}]").compile(
            save_applied_params=True
        )
        assert {name for _, name, _ in pipeline.at(0)(image=IMAGE)["applied"]} == {"Blur", "Sharpen"}
        weights = recipe("[{OneOf: {steps: [{SomeOf: {p: 0.01, n: 1, steps: [{InvertImg: {p: 1.0}}]}}]}}]")
        out = weights.compile().at(0)(image=IMAGE)["image"]  # inside OneOf, p is a weight and no gate
        np.testing.assert_allclose(out, 1 - recipe("[]").compile().at(0)(image=IMAGE)["image"], atol=1e-6)


class TestSink:
    @pytest.mark.parametrize("dtype", [np.uint8, np.float32])
    @pytest.mark.parametrize("channels", [1, 3, 5])
    def test_normalises_as_albumentations_does(self, dtype: type, channels: int) -> None:
        image = np.random.default_rng(1).integers(0, 256, (9, 13, channels), dtype=np.uint8)
        if dtype is np.float32:
            image = (image / 255).astype(np.float32)
        mean, std = tuple(np.linspace(0.2, 0.6, channels)), tuple(np.linspace(0.1, 0.3, channels))
        full = 255.0 if dtype is np.uint8 else 1.0
        expected = A.Normalize(mean, std, max_pixel_value=full)(image=image)["image"]
        out = Sink(Output(normalize=Normalize(mean, std)))(image)
        np.testing.assert_allclose(out, expected.reshape(image.shape).transpose(2, 0, 1), atol=1e-5, rtol=1e-6)
        assert (out.dtype, out.shape) == (np.dtype(np.float32), (channels, 9, 13))

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
        with pytest.raises(DataError, match="needs three channels"):
            Sink(Output(color="y"))(np.zeros((2, 2, 5), np.uint8))


def test_none_is_plain_albumentations() -> None:
    """The same steps in a plain Compose, each given the generators of its key, give the same pixels."""
    source = recipe(
        "[{Affine: {rotate: [-20, 20], p: 1.0}}, HorizontalFlip, {GaussNoise: {p: 0.7}},"
        " {RandomBrightnessContrast: {p: 1.0}}]",
        output="{dtype: uint8, layout: hwc}",
    )
    pipeline = source.compile(optimize="none", seed=9)
    plain = A.Compose(
        [A.Affine(rotate=(-20, 20), p=1.0), A.HorizontalFlip(), A.GaussNoise(p=0.7), A.RandomBrightnessContrast(p=1.0)]
    )
    from augrecipes.compiler.run.draws import Draws

    draws = Draws(9)
    for step, site in zip(plain.transforms, [s.site for s in source.steps], strict=True):
        step.random_generator, step.py_random = draws.add(site)
    for index in range(20):
        draws.position(0, index)
        np.testing.assert_array_equal(plain(image=IMAGE)["image"], pipeline.at(index)(image=IMAGE)["image"])


def test_a_class_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    from augrecipes.ops import registry

    monkeypatch.setattr(registry, "_registered", {})

    class Darker(A.ImageOnlyTransform):
        def apply(self, img: np.ndarray, **_: Any) -> np.ndarray:
            return img // 2

    ar.register(Darker)

    class Doubles(A.ImageOnlyTransform):
        def apply(self, img: np.ndarray, **_: Any) -> np.ndarray:
            return img.astype(np.float64)

    ar.register(Doubles)
    with pytest.raises(DataError, match="left an image of float64"):
        recipe("[{Doubles: {p: 1.0}}]").compile().at(0)(image=IMAGE)
    out = recipe("[{Darker: {p: 1.0}}]", output="{dtype: uint8, layout: hwc}").compile().at(0)(image=IMAGE)["image"]
    np.testing.assert_array_equal(out, IMAGE // 2)


@pytest.mark.parametrize("group", ["SomeOf", "RandomOrder"])
def test_a_count_may_be_written_with_a_point(group: str) -> None:
    whole, point = (recipe(f"[{{{group}: {{n: {n}, steps: [Blur, HorizontalFlip]}}}}]") for n in ("2", "2.0"))
    assert whole.digest == point.digest
    assert same(whole.compile().at(0)(image=IMAGE), point.compile().at(0)(image=IMAGE))


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
@pytest.mark.parametrize("given", [False, True], ids=["alone", "into memory"])
def test_the_plan_is_chosen_once_a_sample(monkeypatch: pytest.MonkeyPatch, dtype: str, given: bool) -> None:
    """However a sample comes, and whether its memory is given: no pipeline asks again what another has found out."""
    asked = []
    found = ImagePipeline._arrival_of
    monkeypatch.setattr(ImagePipeline, "_arrival_of", lambda self, targets: asked.append(1) or found(self, targets))
    pipeline = ar.load("folder-128").compile()
    more = {"out": np.empty((3, 128, 128), np.float32)} if given else {}
    for index in range(3):
        pipeline.at(index)(image=np.zeros((200, 300, 3), dtype), **more)
    assert len(asked) == 3
