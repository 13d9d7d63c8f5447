"""Views of an image and predictions on them: what is fused, what is read, what is refused, and what a recipe says."""

import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import augrecipes as ar
from augrecipes.compat.guard import albumentations
from augrecipes.errors import DataError, RecipeError
from augrecipes.interop.plain import python_of
from augrecipes.ops import registry

SR = {"kind": "pair", "scales": {"lr": 1, "hr": 4}}
BOXES = {"inputs": {"boxes": {"format": "pascal_voc", "clip": True}}}


def tta(views: str = "none", evaluation: Any = (), tile: Any = None, **more: Any) -> Any:
    said = {"views": views} | ({"tile": tile} if tile else {})
    return ar.tta({"version": 1, "recipe": "views", "steps": [], "eval": [*evaluation], "tta": said, **more})


def noise(height: int = 20, width: int = 30) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (height, width, 3), np.uint8)


# What becomes of predictions that differ.


def test_vectors_are_merged_as_how_says() -> None:
    views = tta("flips").split(image=noise())
    given = [np.float32([1, 0]), np.float32([0.5, 0]), np.float32([0, 1]), np.float32([0.25, 1])]
    assert views.merge(given, "labels").tolist() == [0.4375, 0.5]
    assert views.merge(np.stack(given), "labels", how="max").tolist() == [1, 1]
    assert views.merge(iter(given), "labels", how="median").tolist() == [0.375, 0.5]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_tensors_come_as_a_network_gives_them(dtype: torch.dtype) -> None:
    views = tta("hflip", **BOXES).split(image=noise(40, 60))
    score = torch.tensor([0.5], dtype=dtype, requires_grad=True)
    assert views.merge([score, score], "labels").tolist() == [0.5]
    assert (views.merge([score.expand(2, 40, 60)] * 2, "mask") == 0.5).all()
    seen = [{"boxes": [box], "scores": score, "labels": ["cat"]} for box in ([10, 10, 20, 30], [40, 10, 50, 30])]
    assert views.merge(seen, "boxes")["scores"].tolist() == [0.5]


def test_labels_of_pixels_are_voted_for() -> None:
    views = tta("flips").split(image=noise(1, 1))
    masks = [np.array([[label]], np.uint8) for label in (9, 4, 200, 4)]
    merged = views.merge(masks, "mask")
    assert merged.tolist() == [[4]] and merged.dtype == np.uint8
    assert views.merge([np.array([[label]]) for label in (5, 3, 3, 5)], "mask").tolist() == [[3]]


def test_where_windows_overlap_the_nearer_middle_decides_a_label_and_scores_are_blended() -> None:
    views = tta(tile={"size": 8, "overlap": 0.5}).split(image=noise(8, 12))
    assert len(views) == 2
    assert views.merge([np.full((8, 8), label) for label in (1, 2)], "mask")[0].tolist() == [1] * 6 + [2] * 6
    row = views.merge([np.full((8, 8), score) for score in (0.0, 1.0)], "mask")[0]
    assert (row[:4] == 0).all() and (row[8:] == 1).all() and (np.diff(row[3:9]) > 0).all()
    np.testing.assert_allclose(row + row[::-1], 1, atol=1e-6)  # one is as much worth as the other


def test_boxes_are_fused_by_their_scores() -> None:
    views = tta("hflip", **BOXES).split(image=noise(40, 60))
    one = {"boxes": [[10, 10, 20, 30], [50, 2, 70, 12]], "scores": [0.9, 0.6], "labels": ["cat", "dog"]}
    other = {"boxes": [[40, 10, 50, 34], [40, 10, 50, 34]], "scores": [0.3, 0.5], "labels": ["cat", "dog"]}
    found = views.merge([one, other], "boxes")
    # The cats overlap, (10, 10, 20, 30) of 0.9 and (10, 10, 20, 34) of 0.3; of dogs each view has one for itself.
    np.testing.assert_allclose(found["boxes"], [[10, 10, 20, 31], [50, 2, 60, 12], [10, 10, 20, 34]], atol=1e-5)
    np.testing.assert_allclose(found["scores"], [0.6, 0.3, 0.25], atol=1e-6)
    assert found["labels"].tolist() == ["cat", "dog", "dog"]
    outside = {"boxes": [[61, 2, 65, 9], [50, 2, 65, 9]], "scores": [0.9, 0.4]}
    kept = views.merge([outside, {"boxes": [], "scores": []}], "boxes")
    assert kept["boxes"].tolist() == [[50, 2, 60, 9]] and kept["labels"].tolist() == [0]
    nothing = views.merge([{"boxes": np.zeros((0, 4)), "scores": []}] * 2, "boxes")
    assert nothing["boxes"].shape == (0, 4)


def test_a_box_about_the_middle_of_an_overlap_is_found_whichever_way_it_is_off() -> None:
    views = tta(tile={"size": 40, "overlap": 0.5}, **BOXES).split(image=noise(40, 60))  # windows at 0 and 20
    for off in (-1.5, 0.0, 1.5):  # the first says it is that much to the right of 30, the second to the left
        box = np.array([20, 10, 40, 20]) + np.array([off, 0, off, 0])
        first, second = ({"boxes": [box - [x, 0, x, 0]], "scores": [0.8]} for x in (0, 20 + 2 * off))
        found = views.merge([first, second], "boxes")
        assert len(found["boxes"]) == 1 and abs(found["boxes"][0, [0, 2]].mean() - 30) < 0.1


def test_boxes_that_are_no_numbers_stay_and_those_of_no_area_are_left_out(caplog: pytest.LogCaptureFixture) -> None:
    for inputs in ("pascal_voc", {"format": "pascal_voc", "clip": True}):
        views = tta("hflip", inputs={"boxes": inputs}).split(image=noise(40, 60))
        corners = [[10, 10, 20, 30], [np.nan] * 4, [10, 10, 20, 30], [5, 5, 5, 9], [9, 9, 7, 5]]  # the last one swapped
        one = {"boxes": corners, "scores": [0.6, 0.9, 0.8, 0.7, 0.5], "labels": None}
        caplog.clear()
        found = views.merge([one, {"boxes": [], "scores": [], "labels": []}], "boxes")
        boxes = [[10, 10, 20, 30], [np.nan] * 4, [7, 5, 9, 9]]
        np.testing.assert_allclose(found["boxes"], boxes, atol=1e-5)
        np.testing.assert_allclose(found["scores"], [0.7, 0.45, 0.25], atol=1e-6)
        assert found["labels"].dtype == np.int64  # no matter what an empty list is
        assert "1 box of no area left out" in caplog.text
    fewer = tta(tile={"size": 40, "overlap": 0.5}, **BOXES).split(image=noise(40, 60))
    lost = fewer.merge([{"boxes": [[np.nan] * 4], "scores": [0.5]}, {"boxes": [], "scores": []}], "boxes")
    assert np.isnan(lost["boxes"]).all() and len(lost["boxes"]) == 1


def test_points_that_one_window_does_not_see_are_those_of_the_others() -> None:
    views = tta(tile={"size": 40, "overlap": 0.5}, inputs={"keypoints": "xy"}).split(image=noise(40, 60))
    first, second = np.full((2, 3, 2), np.nan)
    first[0], second[2] = (5, 6), (30, 8)
    back = views.merge([first, second], "keypoints")
    np.testing.assert_array_equal(back, [[5, 6], [50, 8], [np.nan, np.nan]])


def test_a_mask_of_another_size_is_stretched_aloud(caplog: pytest.LogCaptureFixture) -> None:
    views = tta("d4").split(image=noise())
    for _ in range(2):
        halves = [np.ones((2, 15, 10) if one.transpose else (2, 10, 15)) for one in views.symmetries]
        merged = views.merge(halves, "mask")
        assert merged.shape == (2, 20, 30) and caplog.text.count("stretched by 2 × 2") == 1
    views.merge([np.zeros((21, 30)) if not one.transpose else np.zeros((30, 21)) for one in views.symmetries], "mask")
    assert "0.952 × 1" in caplog.text  # rounded up


def test_an_encoded_mask_is_cut_into_windows(tmp_path: Any) -> None:
    import cv2

    mask, tile = noise(50, 60)[..., 0], {"size": 32, "overlap": 0.25}
    assert cv2.imwrite(str(tmp_path / "mask.png"), mask)
    encoded = ar.open_encoded(tmp_path / "mask.png", channels=1)
    cut, wanted = (tta(tile=tile).split(image=noise(50, 60), mask=each) for each in (encoded, mask))
    for one, same in zip(cut, wanted, strict=True):
        np.testing.assert_array_equal(one["mask"], same["mask"])


# What is read, and when.


class Slide:
    """Rows and columns to slice, and no more at a time than a window."""

    def __init__(self, array: np.ndarray) -> None:
        self.array, self.shape, self.read = array, array.shape, []

    def __getitem__(self, where: Any) -> np.ndarray:
        self.read.append(tuple((axis.start, axis.stop) for axis in where))
        return self.array[where]


def test_windows_are_read_one_by_one_when_their_views_are_asked_for() -> None:
    slide = Slide(noise(100, 130))
    views = tta("d4", tile={"size": 48, "overlap": 0.25}).split(image=slide)
    assert len(views) == 3 * 4 * 8 and slide.read == []
    seen: list[int] = []

    def network() -> Any:
        for sample in views:
            seen.append(len(slide.read))
            yield sample["image"]

    back = views.merge(network(), "image")
    assert seen == [1 + k // 8 for k in range(len(views))]  # as many windows as have been needed, each once
    assert all(b - a == d - c == 48 for (a, b), (c, d) in slide.read)
    np.testing.assert_array_equal(back, tta().split(image=slide.array)[0]["image"])


def test_memory_maps_and_encoded_images_are_images(tmp_path: Any) -> None:
    import cv2

    image, tile = noise(50, 60), {"size": 32, "overlap": 0.25}
    mapped = np.memmap(tmp_path / "slide", np.uint8, "w+", shape=image.shape)
    mapped[:] = image
    assert cv2.imwrite(str(tmp_path / "slide.png"), image[..., ::-1])
    encoded = ar.open_encoded(tmp_path / "slide.png")
    wanted = [one["image"] for one in tta(tile=tile).split(image=image)]
    for other in (mapped, encoded):
        for one, same in zip(tta(tile=tile).split(image=other), wanted, strict=True):
            np.testing.assert_array_equal(one["image"], same)
    np.testing.assert_array_equal(tta().split(image=encoded)[0]["image"], tta().split(image=image)[0]["image"])


def test_a_view_is_a_sample_of_evaluation_whatever_was_asked_for_before() -> None:
    t = tta("d4", [{"Resize": {"height": 12, "width": 16}}], {"size": 16, "overlap": 0.5})
    views, image = t.split(image=noise(), label=3, index=7), noise()
    every = [view["image"] for view in views]
    for k in (9, 2, 17, 2, -1):
        np.testing.assert_array_equal(views[k]["image"], every[k])
    assert views[0]["label"] == 3 and [view["image"].shape for view in views[:2]] == [(3, 12, 16), (3, 16, 12)]
    first = t.recipe.compile("eval").at(7)(image=np.ascontiguousarray(image[:16, :16]))["image"]
    np.testing.assert_array_equal(every[0], first)
    views[0]["image"][:] = -1  # a view is its own
    np.testing.assert_array_equal(views[0]["image"], first)
    same = pickle.loads(pickle.dumps(t)).split(image=image)
    np.testing.assert_array_equal(same[9]["image"], every[9])


def test_a_target_of_a_pair_is_what_the_pipeline_of_pairs_makes_of_it() -> None:
    steps = [{"CenterCrop": {"height": 40, "width": 32, "at": "hr"}}, {"Transpose": {"p": 1}}]
    steps += [
        {"ToGray": {"target": "hr", "p": 1}},
        {"Sequential": {"steps": [{"InvertImg": {"target": "lr", "p": 1}}]}},
    ]
    t = tta("none", steps, **SR, output={"lr": {"layout": "hwc"}})
    lr = noise(21, 30)
    pair = t.recipe.compile("eval").at(0)(lr=lr, hr=noise(84, 120))
    np.testing.assert_array_equal(t.split(lr=lr)[0]["lr"], pair["lr"])


# What is refused.

REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "too few": (lambda: tta("d4").split(image=noise()).merge([[1.0]] * 7, "labels"), "each of 8 views, got 7"),
    "too many": (lambda: tta("d4").split(image=noise()).merge([[1.0]] * 9, "labels"), "got more"),
    "no such kind": (lambda: tta().split(image=noise()).merge([[1.0]], "label"), "kind is 'labels' or"),
    "no such merge": (lambda: tta().split(image=noise()).merge([[1.0]], "labels", "sum"), "how is 'mean' or"),
    "the greatest label": (lambda: tta().split(image=noise()).merge([np.ones((20, 30), int)], "mask", "max"), "'mean'"),
    "boxes that nobody declared": (lambda: tta().split(image=noise()).merge([{}], "boxes"), "declare no boxes"),
    "keypoints that nobody declared": (lambda: tta().split(image=noise()).merge([[]], "keypoints"), "no keypoints"),
    "scores above 1": (
        lambda: tta(**BOXES).split(image=noise()).merge([{"boxes": [[0, 0, 1, 1]], "scores": [3]}], "boxes"), "in 0..1"
    ),
    "boxes without scores": (
        lambda: tta(**BOXES).split(image=noise()).merge([{"boxes": [[0, 0, 1, 1]]}], "boxes"), "has a score"
    ),
    "fewer labels than boxes": (
        lambda: tta(**BOXES)
        .split(image=noise())
        .merge([{"boxes": [[0, 0, 1, 1]], "scores": [1], "labels": []}], "boxes"),
        "if any has one, a label",
    ),
    "views that differ": (
        lambda: tta("hflip").split(image=noise()).merge([np.zeros(2), np.zeros(3)], "labels"), "have one shape"
    ),
    "half as fine": (lambda: tta().split(image=noise()).merge([np.zeros((3, 10, 15))], "image"), "a whole number of"),
    "no scale of the pair": (
        lambda: tta(**SR).split(lr=noise()).merge([np.zeros((3, 40, 60))], "image"), "1 or 4 times as fine"
    ),
    "pixels in no view": (
        lambda: tta(evaluation=[{"CenterCrop": {"height": 8, "width": 8}}])
        .split(image=noise()).merge([np.zeros((8, 8))], "mask"),
        "536 of 600 px of the source are in no view",
    ),
    "two targets": (lambda: tta(**SR).split(lr=noise(), hr=noise(80, 120)), "one array, lr or hr; got 2"),
    "the finer target": (lambda: tta(**SR).split(hr=noise(80, 120)), "on the common grid, lr, not of hr"),
    "a target that is made": (
        lambda: tta(
            evaluation=[{"Degrade": {"source": "hr", "target": "lr", "steps": ["ResizeToTarget"]}}], **SR
        ).split(lr=noise()),
        "Degrade#1 makes lr",
    ),
    "an array that no view shows": (lambda: tta().split(image=noise(), depth=noise()), "'depth' is an array"),
    "angles of keypoints": (
        lambda: tta(inputs={"keypoints": "xya"}).split(image=noise(), keypoints=[[1, 2, 30]])[0], "cannot come back"
    ),
    "nothing to merge on": (lambda: tta().merge([[1.0]], "labels"), "there is none yet"),
}  # fmt: skip


def merged(prediction: Any, kind: str, **more: Any) -> Callable[[], Any]:
    more = more or {"inputs": {"boxes": "pascal_voc", "keypoints": "xy"}}
    return lambda: tta(**more).split(image=noise()).merge([prediction], kind)


TILED = {"tile": {"size": 16, "overlap": 0.5}, "inputs": {"boxes": "pascal_voc", "keypoints": "xy"}}
REFUSED |= {
    "boxes without the key": (merged({"scores": [0.5]}, "boxes"), "mappings of `boxes`, `scores`"),
    "boxes alone": (merged([[0, 0, 1, 1]], "boxes"), "mappings of `boxes`, `scores`"),
    "boxes of three": (merged({"boxes": [[0, 0, 1]], "scores": [0.5]}, "boxes"), "(n, 4), got shape (1, 3)"),
    "one box": (merged({"boxes": [0, 0, 1, 1], "scores": [0.5]}, "boxes"), "(n, 4), got shape (4,)"),
    "boxes of unlike lengths": (merged({"boxes": [[0, 0, 1, 1], [0]], "scores": [0.5] * 2}, "boxes"), "of numbers"),
    "scores in two axes": (merged({"boxes": [[0, 0, 1, 1]], "scores": [[0.5]]}, "boxes"), "has a score"),
    "one score": (merged({"boxes": [[0, 0, 1, 1]], "scores": 0.5}, "boxes"), "has a score"),
    "no scores": (merged({"boxes": [[0, 0, 1, 1]], "scores": None}, "boxes"), "scores must be an array of numbers"),
    "labels in two axes": (merged({"boxes": [[0, 0, 1, 1]], "scores": [0.5], "labels": [[1]]}, "boxes"), "a label"),
    **{
        f"boxes to {far}": (
            merged({"boxes": [[0, 0, 1, 1], [0, 0, far, far]], "scores": [0.5] * 2}, "boxes"), "boxes[1] is"
        )
        for far in (np.inf, -np.inf, 1e200)
    },
    "points nowhere": (merged([[1, 2], [np.inf, 2]], "keypoints"), "keypoints[1] is"),
    "points of one number": (merged([[1], [2]], "keypoints"), "(n, 2), got shape (2, 1)"),
    "one point": (merged([1, 2], "keypoints"), "(n, 2), got shape (2,)"),
    "no points": (merged(None, "keypoints"), "keypoints must be an array of numbers, got None"),
    "a grid of no pixels": (merged(np.zeros((3, 0, 0)), "mask"), "got shape (3, 0, 0)"),
    "a grid of no channels": (merged(np.zeros((0, 20, 30)), "image"), "got shape (0, 20, 30)"),
    "a grid of no labels": (merged(np.zeros((0, 5), int), "mask"), "got shape (0, 5)"),
    "a mask of words": (merged([["a"]], "mask"), "an array of numbers"),
    "a vector of nothing": (merged(None, "labels"), "an array of numbers"),
    "a mask that is no picture of the view": (merged(np.zeros((2, 7, 99)), "mask"), "stretched by 2.86 × 0.303"),
    "channels at the end": (merged(np.zeros((20, 30, 2)), "mask"), "stretched by 0.667 × 15"),
    "a fill that the dtype does not hold": (
        lambda: tta().split(image=noise()).merge([np.zeros((20, 30), np.uint8)], "mask", fill=-100), "no fill=-100"
    ),
    "windows of unlike dtypes": (
        lambda: tta(tile={"size": 16, "overlap": 0.5}).split(image=noise(16, 24))
        .merge([np.zeros((16, 16), dtype) for dtype in (np.uint8, np.int64)], "mask"),
        "of one dtype, got 1 of uint8 and 1 of int64",
    ),
    **{
        f"an image that is {name}, {'in windows' if more else 'whole'}": (
            lambda image=image, more=more: tta(**more).split(image=image), f"image is H×W or H×W×C.* got {says}"
        )
        for name, (image, says) in {
            "a list": ([[1]], "list"), "a line": (np.zeros(5, np.uint8), "ndarray (5,)"), "a path": ("a.png", "str"),
            "empty": (np.zeros((0, 5, 3), np.uint8), "ndarray (0, 5, 3)"), "a number": (3, "int"),
        }.items()
        for more in ({}, TILED)
    },
    "a mask that is a list": (lambda: tta(**TILED).split(image=noise(), mask=[[1]]), "mask is H×W"),
    "a mask of another size": (lambda: tta(**TILED).split(image=noise(), mask=np.zeros((5, 5))), "mask is H×W"),
    "boxes of three in windows": (
        lambda: tta(**TILED).split(image=noise(), boxes=[[0, 0, 1]], box_labels=[1])[0], "(n, 4), got shape (1, 3)"
    ),
    "a box that is no number": (
        lambda: tta(**TILED).split(image=noise(), boxes=[[0, 0, np.nan, 1]], box_labels=[1])[0], "box"
    ),
    "points of one number in windows": (
        lambda: tta(**TILED).split(image=noise(), keypoints=[[1]])[0], "(n, 2), got shape (1, 1)"
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_is_said(what: str) -> None:
    wrong, message = REFUSED[what]
    with pytest.raises(DataError, match=re.escape(message).replace(r"\.\*", ".*")):
        wrong()


def test_what_is_cut_off_is_what_fill_says() -> None:
    views = tta(evaluation=[{"CenterCrop": {"height": 8, "width": 8}}]).split(image=noise())
    merged = views.merge([np.ones((2, 8, 8))], "mask", fill=-3)
    assert merged.shape == (2, 20, 30) and (merged[:, 6:14, 11:19] == 1).all() and merged.sum() == 128 - 3 * 1072


def test_a_recipe_without_views_and_one_of_bags_have_none() -> None:
    with pytest.raises(RecipeError, match="add a line such as `tta: "):
        ar.tta("folder-128")
    with pytest.raises(RecipeError, match="E207"):
        ar.load("stained-tissue-bag", overrides={"tta": {"views": "d4"}})


@pytest.mark.usefixtures("own_classes")
def test_a_class_of_your_own_may_change_pixels_and_not_move_them() -> None:
    module: Any = albumentations()

    class Brighter(module.ImageOnlyTransform):
        def apply(self, img: np.ndarray, **params: Any) -> np.ndarray:
            return img // 2 + 100

    class Sideways(module.DualTransform):
        def apply(self, img: np.ndarray, **params: Any) -> np.ndarray:
            return np.roll(img, 1, 1)

    registry.register(Brighter)
    registry.register(Sideways)
    views = tta("hflip", [{"Brighter": {"p": 1}}]).split(image=noise())
    np.testing.assert_array_equal(views[1]["image"], views[0]["image"][..., ::-1])
    with pytest.raises(RecipeError, match="nothing is known of where it puts pixels"):
        tta("hflip", [{"Sideways": {"p": 1}}])


# What a recipe says.


def test_the_recipe_keeps_its_views_and_recipes_without_any_their_digest() -> None:
    plain = ar.load("folder-128")
    views = ar.load("folder-128", overrides={"tta": {"views": "d4", "tile": {"size": 96}}})
    assert plain.digest == "0e3f8ea280e5aac611604db6c14eeccd215a0a6436b0dd6e43d4d8634c53834b" != views.digest
    assert ar.load(views.to_yaml()) == views and "tile: {size: 96, overlap: 0.25}" in views.to_yaml()
    assert ar.load(views.to_yaml(), overrides={"tta": {"views": "d4"}}).tta.tile is None
    assert [change.key for change in ar.diff(plain, views).settings] == ["tta"]
    said = ar.explain(views, "eval").to_json()
    assert said["tta"] == "{views: d4, tile: {size: 96, overlap: 0.25}}" and "tta" not in ar.explain(plain).to_json()
    image = noise(200, 300)
    for mode in ("train", "eval"):
        one, other = (of.compile(mode, seed=3).at(5, 2)(image=image)["image"] for of in (plain, views))
        np.testing.assert_array_equal(one, other)


def test_code_of_albumentations_says_what_it_leaves_out() -> None:
    said = "augrecipes.tta makes and merges them"
    assert said in python_of(tta("d4").recipe) and said not in python_of(ar.load("folder-128"))


def test_derived_evaluation_has_views() -> None:
    t = ar.tta(ar.load("folder-128", overrides={"eval": "derived", "tta": {"views": "hflip"}}))
    views = t.split(image=noise(200, 300))
    assert [view["image"].shape for view in views] == [(3, 128, 128)] * 2
