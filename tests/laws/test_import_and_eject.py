"""Law: imported from albumentations and ejected again, a pipeline is the same; and so are the samples between."""

import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from random_recipes import steps_for
from support.checks import holds, planted_faults
from support.every_class import REFERENCE, TEMPLATE
from support.recipe_strategies import CLASSES, arguments, recipes

import augrecipes as ar
from augrecipes.cli.terminal import as_json
from augrecipes.compat.albumentations import A
from augrecipes.compiler.compile import build
from augrecipes.compiler.run.draws import Draws
from augrecipes.compiler.run.targets import DTYPES
from augrecipes.interop import plain
from augrecipes.interop.plain import python_of, saved
from augrecipes.ops import registry
from augrecipes.ops.bounds import verdict
from augrecipes.ops.outputs import OUTPUTS
from augrecipes.ops.records import op_record
from augrecipes.recipe.model import Arguments, Step

_P = st.one_of(st.none(), st.integers(0, 1000).map(lambda thousandths: thousandths / 1000))
_BOXES = st.builds(
    A.BboxParams,
    format=st.sampled_from(["coco", "pascal_voc", "yolo", "albumentations"]),
    label_fields=st.sampled_from([None, ["labels"], ["box_labels"]]),
    min_area=st.sampled_from([0.0, 3, 4.5]),
    min_visibility=st.sampled_from([0.0, 0.3]),
    min_width=st.sampled_from([0.0, 2]),
    clip=st.booleans(),
)
_POINTS = st.builds(
    A.KeypointParams,
    format=st.sampled_from(["xy", "yx", "xys"]),
    label_fields=st.sampled_from([None, ["names"]]),
    remove_invisible=st.booleans(),
)
BOXES = {
    "pascal_voc": [[5, 6, 40, 50], [20, 10, 65, 30]],
    "coco": [[5, 6, 35, 44], [20, 10, 45, 20]],
    "yolo": [[0.4, 0.5, 0.5, 0.6], [0.6, 0.3, 0.2, 0.3]],
    "albumentations": [[0.1, 0.1, 0.6, 0.8], [0.3, 0.2, 0.9, 0.5]],
}
POINTS = {"xy": [[3, 4], [50, 40]], "yx": [[4, 3], [40, 50]], "xys": [[3, 4, 1], [50, 40, 2]]}
_LAST = (st.sampled_from([(), ("ToFloat",), ("Normalize",)]), st.sampled_from([(), ("ToTensorV2",)]))


def made_of(step: Step) -> Any:
    """The object of a step that a recipe can hold; None where it cannot."""
    if verdict(step) is not None or isinstance(step.args.get("step_factor"), int | float):
        return None  # of ZoomBlur: a number is a range from 0, which no recipe may write, as it would take for ever
    try:
        made = registry.plain(step)
    except ar.RecipeError:
        return None
    # Of ColorJitter: 0.9999999999999999 is a range that begins at 1e-16, nearer to 0 than a recipe may write.
    ends = [end for value in A.to_dict(made)["transform"].values() if isinstance(value, tuple) for end in value]
    return None if any(isinstance(end, float) and 0 < abs(end) < 1e-6 for end in ends) else made


def same_again(compose: Any) -> ar.Recipe:
    """Import, eject, compare."""
    recipe = ar.from_albumentations(compose)
    assert A.to_dict(recipe.to_albumentations()) == A.to_dict(compose)
    assert ar.load(recipe.to_yaml()) == recipe
    return recipe


@pytest.mark.parametrize("tried", [2, pytest.param(150, marks=pytest.mark.soak)])
@pytest.mark.parametrize("name", CLASSES)
def test_every_class_with_random_arguments(name: str, tried: int) -> None:
    def law(args: dict[str, Any], p: float | None) -> None:
        if reads := op_record(name).reads:  # files, which are there
            args = {**args, reads: TEMPLATE if name == "RandStainNA" else REFERENCE}
        made = made_of(Step(name, Arguments(args), p=p))
        assume(made is not None)
        same_again(A.Compose([made]))

    holds(law, arguments(name), _P, tried=settings(max_examples=tried))


@st.composite
def transforms(draw: st.DrawFn, depth: int = 2) -> Any:
    """A transform of a pool of quick ones, or a group of albumentations with its own defaults."""
    if depth and draw(st.integers(0, 3)) == 0:
        inside = draw(st.lists(transforms(depth=depth - 1), min_size=1, max_size=3))
        p = draw(st.sampled_from([0.2, 0.5, 1.0]))
        match draw(st.sampled_from(["OneOf", "SomeOf", "Sequential", "RandomOrder"])):
            case "OneOf":
                return A.OneOf(inside, p=p) if sum(each.p for each in inside) else A.Sequential(inside, p=p)
            case "SomeOf":
                return A.SomeOf(inside, n=draw(st.integers(1, len(inside))), replace=draw(st.booleans()), p=p)
            case "RandomOrder":
                return A.RandomOrder(inside, n=draw(st.integers(1, len(inside))), p=p)
        return A.Sequential(inside, p=p)
    name, args = draw(st.sampled_from(steps_for(3)))
    return registry.plain(Step(name, Arguments(args), p=draw(_P)))


@st.composite
def composes(draw: st.DrawFn) -> Any:
    """A Compose with boxes, points and an output, or without."""
    steps = draw(st.lists(transforms(), max_size=4))
    last = [getattr(A, name)() for names in _LAST for name in draw(names)]
    return A.Compose([*steps, *last], bbox_params=draw(st.none() | _BOXES), keypoint_params=draw(st.none() | _POINTS))


@settings(max_examples=20)
@given(composes())
def test_groups_boxes_points_and_outputs(compose: Any) -> None:
    same_again(compose)


def places(steps: tuple[Step, ...]) -> list[str]:
    """The sites of steps and of what is in them, in order."""
    return [inner.site for step in steps for inner in step.walk()]


def objects(transforms: list[Any]) -> list[Any]:
    """A pipeline's transforms and what is in them, in order."""
    found = []
    for each in transforms:
        found += [each, *objects(each.transforms if isinstance(each, A.BaseCompose) else [])]
    return found


@settings(max_examples=15)
@given(compose=composes(), seed=st.integers(0, 99), index=st.integers(0, 9))
def test_samples_are_the_same_with_the_same_generators(compose: Any, seed: int, index: int) -> None:
    recipe = ar.from_albumentations(compose)
    draws = Draws(seed)
    sites, made = places(recipe.steps), objects([each for each in compose.transforms if not is_last(each)])
    assume(len(sites) == len(made))  # a group that gates twice has one around it in the recipe
    assume(not any(op_record(type(one).__name__).changes_dtype for one in made))  # what they leave of bytes ours refuse
    for one, site in zip(made, sites, strict=True):
        one.random_generator, one.py_random = draws.add(site)
    image = np.random.default_rng(seed).integers(0, 256, (60, 70, 3), np.uint8)
    mask = image[..., 0] // 64
    draws.position(0, index)
    wanted = outcome(lambda: compose(**given_to(compose, image, mask)))
    pipeline = build(recipe, "train", "none", seed)  # whatever lints say of it
    found = outcome(lambda: pipeline.at(index)(**given_to(compose, image, mask, ours=True)))
    assert isinstance(wanted, dict) == isinstance(found, dict), (wanted, found)
    records = [op_record(type(one).__name__) for one in made]
    by_design = {"mask"} if any(record.scales for record in records) else set[str]()  # docs/DIFFERENCES.md says how
    if any(record.effect == "field" for record in records):
        by_design |= {"keypoints", "bboxes", *(key for key in wanted if key in ("names", "labels", "box_labels"))}
    for key, value in wanted.items() if isinstance(wanted, dict) else ():
        if key in by_design:
            continue
        np.testing.assert_allclose(np.asarray(found[key]), np.asarray(value), atol=2e-6, rtol=2e-6, err_msg=key)


@pytest.mark.parametrize("max_value", [None, 255])
def test_what_is_no_image_any_more_is_refused(max_value: int | None) -> None:
    """FromFloat makes wide floats of bytes: albumentations hands them on, and a recipe says so."""
    compose = A.Compose([A.FromFloat(p=1.0, dtype="uint8", max_value=max_value)])
    image = np.full((6, 7, 3), 200, np.uint8)
    assert compose(image=image)["image"].dtype not in DTYPES
    with pytest.raises(ar.DataError, match="the steps left an image of float"):
        build(ar.from_albumentations(compose), "train", "none", 0).at(0)(image=image)


def is_last(made: Any) -> bool:
    """Whether it is what `output:` does."""
    return type(made).__name__ in OUTPUTS


def given_to(compose: Any, image: np.ndarray, mask: np.ndarray, *, ours: bool = False) -> dict[str, Any]:
    """An image with its mask, and with boxes and points where the pipeline takes them."""
    given: dict[str, Any] = {"image": image.copy(), "mask": mask.copy()}
    params = {key: processor.params for key, processor in compose.processors.items()}
    if "bboxes" in params:
        boxes = BOXES[params["bboxes"].format]
        given["boxes" if ours else "bboxes"] = np.array(boxes, np.float32)
        given |= {key: [3, 4] for key in params["bboxes"].label_fields or ()}
    if "keypoints" in params:
        given["keypoints"] = np.array(POINTS[params["keypoints"].format], np.float32)
        given |= {key: [5, 6] for key in params["keypoints"].label_fields or ()}
    return given


def outcome(run: Callable[[], dict[str, Any]]) -> Any:
    """The sample, or the class of what was raised: some classes fail on some images, alone as in a recipe."""
    try:
        done = run()
    except Exception as error:
        return type(error)
    return {"bboxes" if key == "boxes" else key: value for key, value in done.items()}


def again(*transforms: Any, **more: Any) -> Callable[[Any], ar.Recipe]:
    return lambda _: same_again(A.Compose([*transforms], **more))


true = plain.equivalent
test_planted_faults_are_found = planted_faults({
    "p of groups": (
        again(A.OneOf([A.Blur()], p=0.3)),
        (plain, "equivalent", lambda of: tuple(replace(s, p=1.0) for s in true(of))),
    ),
    "n of RandomOrder": (
        again(A.RandomOrder([A.Blur(), A.D4()], n=2)),
        (plain, "equivalent", lambda of: tuple(replace(s, args=Arguments()) for s in true(of))),
    ),
    "weights as gates": (
        again(A.OneOf([A.SomeOf([A.Blur()], p=0.4), A.D4()], p=1.0)), (plain, "_weighted_child", lambda child: child),
    ),
    "arguments": (
        again(A.Rotate(limit=17)),
        (plain, "transform", lambda step: registry.plain(replace(step, args=Arguments()))),
    ),
    "boxes": (
        again(A.Blur(), bbox_params=A.BboxParams("yolo", min_area=3)), (plain, "processors_of", lambda inputs: {}),
    ),
    "output": (again(A.Normalize(mean=(0.1,) * 3)), (plain, "output_objects", lambda output: [A.Normalize()])),
})  # fmt: skip


sys.path.append(str(Path(__file__).parents[1] / "recipe"))

IMAGE = np.random.default_rng(0).integers(0, 256, (640, 600, 3), np.uint8)
GALLERY = [name for name in ar.gallery_names() if ar.load(name).kind == "image"]
CONFIGS = Path(__file__).parents[1] / "interop" / "configs"
WORDS = (CONFIGS / "words.yaml").read_text(encoding="utf-8")


def run(code: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    exec(compile(code, "<ejected>", "exec"), found)
    return found


def outputs(output: str) -> ar.Recipe:
    return ar.load(f"version: 1\nrecipe: t\nsteps: []\noutput: {output}")


@pytest.mark.parametrize("text", [*GALLERY, WORDS])
def test_code_imports_what_it_names_in_order(text: str, tmp_path: Path) -> None:
    ruff = pytest.importorskip("ruff").__name__
    file = tmp_path / "ejected.py"
    file.write_text(python_of(ar.load(text)), encoding="utf-8")
    words = [sys.executable, "-m", ruff, "check", "--select", "E4,E7,E9,F,I", "--isolated", str(file)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("text", [*GALLERY, WORDS])
def test_code_makes_the_compose(text: str) -> None:
    recipe = ar.load(text)
    code = python_of(recipe)
    made = run(code)
    assert A.to_dict(made["train"]) == A.to_dict(recipe.to_albumentations())
    if recipe.eval is not None:
        assert A.to_dict(made["evaluation"]) == A.to_dict(recipe.to_albumentations("eval"))
    for step in recipe.steps:
        assert f"# line {step.position.line}: {step.name}" in code or step.position.origin


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(recipes())
def test_any_recipe_ejects_to_code_that_makes_the_same_compose(recipe: ar.Recipe) -> None:
    made = run(python_of(recipe))
    assert A.to_dict(made["train"]) == A.to_dict(recipe.to_albumentations())


# albumentations writes down arguments of PadIfNeeded's parent, and warns of them when it reads them.
@pytest.mark.filterwarnings("ignore:Argument.*padding")
@pytest.mark.parametrize("name", GALLERY)
def test_what_is_saved_is_loaded_by_albumentations(name: str, tmp_path: Path) -> None:
    recipe = ar.load(name)
    file = tmp_path / "aug.json"
    file.write_text(as_json(saved(recipe)))
    assert A.to_dict(A.load(file)) == A.to_dict(recipe.to_albumentations())


@pytest.mark.parametrize("output", (CONFIGS / "outputs.txt").read_text(encoding="utf-8").splitlines())
def test_the_output_is_the_recipes(output: str) -> None:
    recipe = outputs(output)
    wanted = recipe.compile(optimize="none").at(0)(image=IMAGE)["image"]
    for made in (recipe.to_albumentations(), run(python_of(recipe))["train"]):
        found = np.asarray(made(image=IMAGE)["image"])
        assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
        np.testing.assert_allclose(found.astype(float), np.asarray(wanted, float), atol=2e-6, rtol=2e-6)


def test_where_device_leaves_uint8() -> None:
    made = outputs("{where: device, normalize: imagenet, layout: hwc}").to_albumentations()
    np.testing.assert_array_equal(made(image=IMAGE)["image"], IMAGE)


def test_weights_are_no_gates() -> None:
    """A SomeOf in OneOf acts whenever it is picked, as in the recipe; a bare A.SomeOf would look at its p again."""
    text = "version: 1\nrecipe: t\nsteps: [{OneOf: {steps: [{SomeOf: {p: 0.01, steps: [{InvertImg: {p: 1}}]}}]}}]"
    made = ar.load(text).to_albumentations()
    made.set_random_state(np.random.default_rng(0), random.Random(0))
    black = np.zeros((2, 2, 3), np.uint8)
    assert all(made(image=black)["image"].max() == 1 for _ in range(20))


@pytest.mark.parametrize("name", ["sr-x4", "stained-tissue-bag"])
def test_one_compose_cannot_be_several_images(name: str) -> None:
    for leave in (ar.Recipe.to_albumentations, python_of):
        with pytest.raises(ar.RecipeError, match=rf"{name}: one Compose .*: run the recipe as it is"):
            leave(ar.load(name))


def test_a_section_that_is_not_there() -> None:
    with pytest.raises(ar.RecipeError, match="eval: derived"):
        outputs("{}").to_albumentations("eval")
