"""Law: each view is what the recipe of it alone makes of the image, at the key of its number."""

import pickle
import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_recipes import build, outcome, recipes, step, steps_for, targets
from support.checks import SEEDS, planted, planted_faults, same, tries

from augrecipes.compiler.run.draws import Draws
from augrecipes.errors import CollateError, DataError
from augrecipes.kinds.image.pipeline import ImagePipeline
from augrecipes.kinds.views import pipeline as of_views
from augrecipes.recipe.model import Arguments, NamedView, Output, Recipe, Step, label
from augrecipes.recipe.parse import parse_text

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # some classes warn on every call
POOL = steps_for(3)
SIZED = Step("Resize", Arguments({"height": 18, "width": 23}), p=1.0)
LEVELS = st.sampled_from(["none", "exact", "fast"])


@st.composite
def with_views(draw: st.DrawFn) -> Recipe:
    """A random recipe of two or three names, one of them made of another."""
    whole = draw(recipes(POOL, max_steps=2))
    lists = st.lists(step(POOL), max_size=3)
    share = st.sampled_from(["", "", "bag"])

    def steps_of(name: str, *last: Step) -> tuple[Step, ...]:
        found = tuple(replace(one, share=draw(share)) for one in draw(lists))
        return label((*found, *last), name)

    views = [
        NamedView("global", 2, None, steps_of("global", SIZED)),
        NamedView("local", draw(st.integers(1, 3)), None, steps_of("local", SIZED)),
        NamedView("teacher", 2, "global", steps_of("teacher", SIZED)),
    ]
    output = Output(layout=draw(st.sampled_from(["chw", "hwc"])))
    return replace(whole, kind="views", views=tuple(views[: draw(st.integers(2, 3))]), output=output)


def alone(recipe: Recipe, optimize: str, seed: int, sample: Any, index: int, epoch: int) -> Any:
    """What recipes of kind image make of the views one by one; the step that fails, where one does."""
    found: dict[str, Any] = {}
    for view in recipe.views:
        pipeline = build(recipe.view(view.name, shares=True), optimize, seed)
        try:
            each = [pipeline.at(index, epoch, k)(**sample) for k in range(view.count)]
        except DataError as error:
            return error.step
        found[view.name] = np.stack([one.pop("image") for one in each])
        if "mask" in each[0]:
            found[f"{view.name}_mask"] = np.stack([one.pop("mask") for one in each])
        found |= {f"{view.name}_{key}": [one[key] for one in each] for key in each[0]}
    return found


def check(recipe: Recipe, optimize: str, seed: int) -> None:
    sample = targets(recipe, seed, 3, "uint8")
    before = {key: np.array(value) for key, value in sample.items()}
    pipeline = build(recipe, optimize, seed)
    for index, epoch in ((0, 2), (7, 0)):
        expected = alone(recipe, optimize, seed, sample, index, epoch)
        same(outcome(pipeline, index, sample, epoch), expected)
    for key, value in before.items():
        np.testing.assert_array_equal(value, sample[key], err_msg=f"{key} was written to")


@tries(60)
@given(with_views(), LEVELS, SEEDS)
def test_each_view_is_made_as_if_it_were_alone(recipe: Recipe, optimize: str, seed: int) -> None:
    check(recipe, optimize, seed)


@tries(30)
@given(with_views(), SEEDS)
def test_exact_has_the_bits_of_none(recipe: Recipe, seed: int) -> None:
    sample = targets(recipe, seed, 3, "uint8")
    for index in range(2):
        same(outcome(build(recipe, "exact", seed), index, sample), outcome(build(recipe, "none", seed), index, sample))


DINO = parse_text("""
version: 1
recipe: small
kind: views
shared: [HorizontalFlip, ColorJitter: {p: 1.0, brightness: {by_epoch: [0.1, 0.4]}}]
views:
  global: {count: 2, steps: [RandomResizedCrop: {size: [24, 24], scale: [0.4, 1.0]}, Rotate: {limit: 40, p: 1.0}]}
  local:
    count: 3
    steps:
      - RandomResizedCrop: {size: [12, 16], scale: [0.1, 0.4]}
      - HorizontalFlip: {share: bag}
      - GaussianBlur: {p: {by_epoch: [0, 1]}}
  teacher: {of: global, steps: [InvertImg: {p: 1.0}]}
inputs: {mask: optional, boxes: pascal_voc, keypoints: xy}
eval: [CenterCrop: {height: 24, width: 24}]
output: {dtype: uint8, layout: hwc}
""")
IMAGE = np.random.default_rng(3).integers(0, 256, (48, 60, 3), np.uint8)


def test_the_teacher_sees_the_very_images_of_the_student() -> None:
    for optimize in ("none", "exact", "fast"):
        made = build(DINO, optimize, 5).at(3, 1)(image=IMAGE)
        np.testing.assert_array_equal(made["teacher"], 255 - made["global"])
        assert made["global"].shape == (2, 24, 24, 3)
        assert made["local"].shape == (3, 12, 16, 3)


def check_sharing(_: Any = None) -> None:
    """Shared steps act alike in all views, steps of views in each by itself."""
    shared = parse_text("""
    {version: 1, recipe: a, kind: views, shared: [HorizontalFlip, RandomCrop: {height: 9, width: 9}], eval: [],
     views: {a: {count: 3, steps: []}, b: {count: 2, steps: [VerticalFlip, InvertImg: {share: bag, p: 0.5}]}}}
    """)
    pipeline, corners = build(shared, "exact", 1), set()
    plain = build(replace(shared, kind="image", views=()), "none", 1)
    for index in range(12):
        made = pipeline.at(index)(image=IMAGE)
        for view in made["a"]:
            np.testing.assert_array_equal(view, plain.at(index)(image=IMAGE)["image"])
        flipped = [view[:, ::-1] for view in made["a"][:2]]
        kinds = [
            next(k for k, one in enumerate((of, 1 - of, up, 1 - up)) if np.allclose(view, one, atol=1e-6))
            for view, of, up in zip(made["b"], made["a"], flipped, strict=False)
        ]
        assert len({kind % 2 for kind in kinds}) == 1  # inverted both, or none
        corners.add(tuple(kind // 2 for kind in kinds))
    assert len(corners) == 4  # flipped each by itself


def test_who_shares_what() -> None:
    check_sharing()


def test_views_do_not_depend_on_what_other_views_there_are() -> None:
    fewer = replace(DINO, views=DINO.views[1:2])
    for optimize in ("none", "exact", "fast"):
        whole, part = (build(recipe, optimize, 5).at(3, 1)(image=IMAGE) for recipe in (DINO, fewer))
        assert part.keys() == {"local"}
        np.testing.assert_array_equal(whole["local"], part["local"])


def check_epochs(_: Any = None) -> None:
    pipeline = build(DINO, "exact", 5)
    for epoch in (0, 1, 0, 8):
        now = build(DINO.in_epoch(epoch), "exact", 5)
        same(pipeline.at(2, epoch)(image=IMAGE), now.at(2, epoch)(image=IMAGE))
    sharp, soft = (pipeline.at(2, epoch)(image=np.float32(IMAGE) / 255)["local"] for epoch in (0, 1))
    assert (
        np.abs(np.diff(sharp.astype(float), axis=1)).mean() > 1.2 * np.abs(np.diff(soft.astype(float), axis=1)).mean()
    )


def test_schedules_of_views_follow_the_epoch() -> None:
    check_epochs()


def test_copies_and_threads_make_the_same() -> None:
    pipeline = build(DINO, "fast", 5)
    expected, found = pipeline.at(4, 1)(image=IMAGE), []
    same(pickle.loads(pickle.dumps(pipeline)).at(4, 1)(image=IMAGE), expected)
    thread = threading.Thread(target=lambda: found.append(pipeline.at(4, 1)(image=IMAGE)))
    thread.start()
    thread.join()
    same(found[0], expected)


def test_what_lies_on_the_image_follows_into_each_view() -> None:
    sample: dict[str, Any] = {"image": IMAGE, "mask": IMAGE[..., 0], "name": "tile"}
    sample |= {"boxes": np.float32([[3, 4, 40, 40]]), "box_labels": [7], "keypoints": np.float32([[20, 20], [5, 40]])}
    made = build(DINO, "exact", 5).at(3, 1)(**sample)
    expected = alone(DINO, "exact", 5, {key: sample[key] for key in sample if key != "name"}, 3, 1)
    assert made.pop("name") == "tile"
    assert made["local_mask"].shape == (3, 12, 16)
    assert len(made["local_boxes"]) == len(made["local_keypoints"]) == 3
    same(made, expected)


def test_arrays_that_are_given_are_written_to() -> None:
    expected = build(DINO, "exact", 5).at(3, 1)(image=IMAGE)
    out = {"global": np.zeros((2, 24, 24, 3), np.uint8), "local": lambda shape, dtype: np.full(shape, 9, dtype)}
    made = build(DINO, "exact", 5).at(3, 1)(image=IMAGE, out=out)
    assert made["global"] is out["global"]
    same(made, expected)
    with pytest.raises(DataError, match="out must be a dict of arrays by view: global, local, teacher"):
        build(DINO).at(0)(image=IMAGE, out=np.zeros((2, 24, 24, 3), np.uint8))
    with pytest.raises(DataError, match="global"):
        build(DINO).at(0)(image=IMAGE, out={"global": np.zeros((2, 20, 24, 3), np.uint8)})


def test_parameters_are_told_by_view_and_further_images_go_along() -> None:
    pipeline = build(DINO, "fast", 5, applied=True)
    pipeline.add_targets({"other": "image"})
    made = pipeline.at(3, 1)(image=IMAGE, other=IMAGE)
    assert {name: len(views) for name, views in made["applied"].items()} == {"global": 2, "local": 3, "teacher": 2}
    assert "global/Rotate#1" in [site for site, _, _ in made["applied"]["teacher"][1]]
    plain = build(DINO, "none", 5).at(3, 1)(image=IMAGE)
    np.testing.assert_array_equal(made["local"], plain["local"])
    np.testing.assert_array_equal(np.stack(made["local_other"]), plain["local"])


def test_views_of_different_sizes_are_an_error_that_says_what_to_do() -> None:
    recipe = parse_text("""
    {version: 1, recipe: a, kind: views, eval: [], views: {all: {count: 9, steps: [Transpose: {p: 0.5}]}}}
    """)
    with pytest.raises(
        CollateError, match=r"views all of one image come out as .* end their steps in a crop or resize"
    ):
        build(recipe).at(0)(image=IMAGE)


def test_evaluation_has_one_image_and_batches_are_its_alone() -> None:
    evaluation = build(DINO, "exact", 5, mode="eval")
    assert evaluation.at(0)(image=IMAGE)["image"].shape == (24, 24, 3)
    assert evaluation.batch([IMAGE, IMAGE]).shape == (2, 24, 24, 3)
    with pytest.raises(TypeError, match="several images: call pipeline"):
        build(DINO, "exact", 5).batch([IMAGE])


def test_it_is_written_as_it_was_and_its_digest_knows() -> None:
    again = parse_text(DINO.to_yaml())
    assert again == DINO
    others = [replace(DINO, correspondence=True), replace(DINO, views=DINO.views[:2])]
    others += [replace(DINO, views=(replace(DINO.views[0], count=3), *DINO.views[1:]))]
    assert len({recipe.digest for recipe in (DINO, again, *others)}) == 4


def test_a_view_is_a_recipe_of_one_image() -> None:
    made = build(DINO, "exact", 5).at(3, 1)(image=IMAGE)
    for view in DINO.views:
        alone = DINO.view(view.name)
        again = parse_text(alone.to_yaml())  # whose steps have labels, and draws, of their own
        assert [(step.name, step.args, step.p) for step in again.walk()] == [
            (step.name, step.args, step.p) for step in alone.walk()
        ]
        np.testing.assert_array_equal(build(alone, "exact", 5).at(3, 1)(image=IMAGE)["image"], made[view.name][0])


PARTED = parse_text("""
version: 1
recipe: parted
kind: views
shared: [HorizontalFlip, Rotate: {limit: [20, 30], fill_mask: 9, p: 1.0}, ColorJitter, GaussianBlur: {p: 1.0}]
views:
  global: {count: 2, steps: [RandomResizedCrop: {size: [24, 24], scale: [0.4, 1.0]}, HueSaturationValue: {p: 1.0}]}
  local: {count: 3, steps: [RandomResizedCrop: {size: [12, 16], scale: [0.1, 0.4]}, GaussNoise]}
  teacher: {of: global, steps: [RandomGamma: {p: 1.0}]}
  last: {of: teacher, steps: []}
inputs: {mask: optional, boxes: pascal_voc, keypoints: xy}
eval: []
""")


def check_parted(_: Any = None) -> None:
    """What views share is the same in all of them, with what lies on it, and what is drawn is told."""
    on_it: dict[str, Any] = {
        "boxes": np.float32([[3, 4, 40, 40]]),
        "box_labels": [7],
        "keypoints": np.float32([[9, 20]]),
    }
    for image in (IMAGE, np.float32(IMAGE) / np.float32(255)):
        for optimize in ("none", "exact", "fast"):
            for dtype in (np.uint8, np.int64, bool):
                sample = {"image": image, "mask": IMAGE[..., 0].astype(dtype), **on_it}
                made = build(PARTED, optimize, 5, applied=True).at(3, 1)(**sample)
                told = made.pop("applied")
                same(made, alone(PARTED, optimize, 5, sample, 3, 1))
                whole = build(PARTED.view("last", shares=True), optimize, 5, applied=True).at(3, 1, 1)(**sample)
                np.testing.assert_equal(told["last"][1], whole["applied"])


def test_what_views_begin_with_is_the_same_for_all() -> None:
    check_parted()


def first_key(self: Any, epoch: int, index: int, tile: int = 0) -> None:
    MOVED(self, epoch, index, 0)


def each_for_itself(self: Any, site: str, *, shared: bool = False, turn: int = 0) -> Any:
    return ADDED(self, site, turn=turn)


def backwards(self: Any, k: int, shape: Any, dtype: Any) -> Any:
    return ROW(self, self._count - 1 - k, shape, dtype)


def unlike(name: str, views: Any, given: Any) -> Any:
    made = STACKED(name, views, given)
    return {key: [value[0]] * len(value) if isinstance(value, list) else value for key, value in made.items()}


MOVED, ADDED, ROW, STACKED = Draws.position, Draws.add, of_views._Block.row, of_views._stack_targets
LAW = planted(check, with_views(), LEVELS, SEEDS)


def on_it(_: Any) -> None:
    test_what_lies_on_the_image_follows_into_each_view()


test_planted_faults_are_found = planted_faults(
    {
        "all views draw alike": (check_sharing, (Draws, "position", first_key)),
        "what is shared is drawn for each": (check_sharing, (Draws, "add", each_for_itself)),
        "views in another order": (LAW, (of_views._Block, "row", backwards)),
        "the boxes of the first view on all": (on_it, (of_views, "_stack_targets", unlike)),
        "what lies on the first view on all that share steps": (check_parted, (of_views, "_stack_targets", unlike)),
        "the numbers of the end in all epochs": (check_epochs, (ImagePipeline, "in_epoch", lambda self, _: self)),
    }
)
