"""Pipelines of torchvision: one recipe however they are written down, with the pixels of the real library."""

import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.checks import DEAR, PLANTED
from support.libraries import torchvision as library

import augrecipes as ar
from augrecipes.interop import torchvision_steps
from augrecipes.interop.importing import of_document
from augrecipes.interop.reading import Document, of_text
from augrecipes.interop.source import transforms as writing

# A transform as a test has it: its class's name, its arguments, and the transforms inside.
Transform = tuple[str, dict[str, Any], list[Any]]

_P = st.floats(0, 1).map(lambda p: round(p, 3))
_SIDE = st.integers(8, 64)
_SIZE = st.one_of(st.tuples(_SIDE, _SIDE).map(list), _SIDE.map(lambda side: [side]))
_BOTH = st.tuples(_SIDE, _SIDE).map(list)
_MODE = st.sampled_from(["nearest", "bilinear", "bicubic"])
_FILL = st.sampled_from([0, 9, 255])
_BORDER = st.sampled_from(["constant", "edge", "reflect", "symmetric"])


def _range(low: float, high: float) -> st.SearchStrategy[list[float]]:
    end = st.floats(low, high).map(lambda value: round(value, 3) + 0.0)
    return st.tuples(end, end).map(sorted)


_SIMPLE: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "CenterCrop": {"size": _BOTH},
    "ColorJitter": {
        "brightness": _range(0.2, 2), "contrast": _range(0.2, 2), "saturation": _range(0.2, 2),
        "hue": _range(-0.5, 0.5),
    },
    "GaussianBlur": {"kernel_size": st.sampled_from([[3, 3], [9, 9]]), "sigma": _range(0.1, 3)},
    "Grayscale": {"num_output_channels": st.just(3)},
    "JPEG": {"quality": st.tuples(st.integers(20, 50), st.integers(50, 90)).map(list)},
    "Pad": {"padding": st.sampled_from([4, [1, 2], [1, 2, 3, 4]]), "fill": _FILL, "padding_mode": _BORDER},
    "RandomAffine": {
        "degrees": _range(-90, 90), "translate": st.just([0.1, 0.2]), "scale": _range(0.5, 1.5), "interpolation": _MODE,
        "shear": st.sampled_from([[-5.0, 5.0], [-5.0, 5.0, -3.0, 3.0]]), "fill": _FILL,
    },
    "RandomAutocontrast": {"p": _P},
    "RandomCrop": {"size": _BOTH, "padding": st.just([2, 2, 2, 2]), "pad_if_needed": st.booleans()},
    "RandomEqualize": {"p": _P},
    "RandomGrayscale": {"p": _P},
    "RandomHorizontalFlip": {"p": _P},
    "RandomInvert": {"p": _P},
    "RandomPosterize": {"p": _P, "bits": st.integers(1, 7)},
    "RandomResizedCrop": {"size": _BOTH, "scale": _range(0.1, 1), "ratio": _range(0.5, 2), "antialias": st.booleans()},
    "RandomRotation": {"degrees": _range(-90, 90), "interpolation": _MODE, "expand": st.booleans(), "fill": _FILL},
    "RandomSolarize": {"p": _P, "threshold": st.integers(0, 255)},
    "RandomVerticalFlip": {"p": _P},
    "Resize": {"size": _SIZE, "interpolation": _MODE, "antialias": st.booleans()},
    "RandomErasing": {"p": _P, "scale": _range(0.02, 0.3), "ratio": _range(0.3, 3)},
    "RandomZoomOut": {"p": _P},
    "ToPureTensor": {},
}  # fmt: skip
_ENDS = [[], [("ToImage", {}, [])], [("ToImage", {}, []), ("Normalize", {"mean": [0.5] * 3, "std": [0.25] * 3}, [])]]


@st.composite
def transforms(draw: st.DrawFn, depth: int = 1) -> Transform:
    if depth and draw(st.integers(0, 4)) == 0:
        children = draw(st.lists(transforms(depth=depth - 1), min_size=1, max_size=3))
        name = draw(st.sampled_from(["RandomChoice", "RandomOrder", "Compose"]))
        weights = {"p": draw(st.lists(st.floats(0.1, 1), min_size=len(children), max_size=len(children)))}
        return name, weights if name == "RandomChoice" else {}, children
    name = draw(st.sampled_from(sorted(_SIMPLE)))
    return name, {key: draw(strategy) for key, strategy in _SIMPLE[name].items()}, []


@st.composite
def pipelines(draw: st.DrawFn) -> Transform:
    listed = draw(st.lists(transforms(), min_size=1, max_size=5))
    return "Compose", {}, [*listed, *draw(st.sampled_from(_ENDS))]


def written(transform: Transform, form: Callable[..., Any]) -> Any:
    """By a form that takes a class's name and its arguments, those of groups with what is in them."""
    name, args, children = transform
    inside = {"transforms": [written(child, form) for child in children]} if children or name == "Compose" else {}
    return form(name, {**inside, **args})


def _call(name: str, args: dict[str, Any]) -> str:
    texts = {key: f"[{', '.join(value)}]" if key == "transforms" else repr(value) for key, value in args.items()}
    return f"T.{name}({', '.join(f'{key}={text}' for key, text in texts.items())})"


def built(transform: Transform, v2: Any) -> Any:
    mode = import_module("torchvision.transforms").InterpolationMode

    def make(name: str, args: dict[str, Any]) -> Any:
        return getattr(v2, name)(**{key: mode(each) if key == "interpolation" else each for key, each in args.items()})

    return written(transform, make)


_HOME = "torchvision.transforms.v2"
_WRITTEN: dict[str, Callable[[str, dict[str, Any]], Any]] = {
    "source.py": _call,
    "hydra.yaml": lambda name, args: {"_target_": f"{_HOME}.{name}", **args},
    "lightning.yaml": lambda name, args: {"class_path": f"{_HOME}.{name}", "init_args": args},
}


def _body(draft: Any) -> str:
    """The recipe without what names its source."""
    text = "\n".join(line for line in draft.to_yaml().splitlines() if not line.startswith(("# Made of", "recipe:")))
    return text + "".join(f"{left.name}: {left.message}\n" for left in draft.left_out())


def _forms(pipeline: Transform) -> dict[str, str]:
    found = {}
    for file, form in _WRITTEN.items():
        made = written(pipeline, form)
        text = (
            f"from {_HOME.rpartition('.')[0]} import v2 as T\ntrain = {made}\n"
            if file == "source.py"
            else (json.dumps({"data": {"transform": made}}))
        )
        found[file] = _body(of_document(of_text(text, file)))
    return found


@DEAR
@given(pipelines())
def test_a_pipeline_is_one_recipe_however_it_is_written(pipeline: Transform) -> None:
    forms = _forms(pipeline)
    assert len(set(forms.values())) == 1, forms


@DEAR
@given(pipelines())
def test_the_object_is_the_same_recipe_too(pipeline: Transform) -> None:
    v2 = library()
    made = built(pipeline, v2)
    of_object = _body(of_document(Document("object", value=made)))
    assert _numbers(of_object) == _numbers(_forms(pipeline)["hydra.yaml"])


def _numbers(text: str) -> str:
    """The text with whole numbers as such: torchvision keeps some as floats."""
    return text.replace(".0,", ",").replace(".0]", "]").replace(".0}", "}")


CALLS = [line for line in (Path(__file__).parent / "torchvision_calls.txt").read_text().splitlines() if line[0] != "#"]
_IMPORTS = """import torch
from PIL import Image
from torchvision import tv_tensors
from torchvision.transforms import InterpolationMode, v2
import torchvision.transforms{} as T
"""


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("call", CALLS)
def test_a_constructor_is_the_same_recipe_by_object_and_by_source(call: str) -> None:
    library()
    for version in (".v2",) if call.startswith("v2.") else ("", ".v2"):
        names: dict[str, Any] = {}
        exec(_IMPORTS.format(version), names)
        made = eval(f"T.Compose([{call}])", names)
        text = f"{_IMPORTS.format(version)}t = T.Compose([{call}])\n"
        drafts = [of_document(document) for document in (Document("object", value=made), of_text(text, "source.py"))]
        of_object, of_source = (f"{_body(draft)}{draft.notes}" for draft in drafts)
        assert of_object == of_source


def test_the_law_sees_a_reader_that_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    true = writing._call_of_created

    def faulty(*args: Any) -> Any:
        call = true(*args)
        call.args.pop("fill", None)
        return call

    monkeypatch.setattr(writing, "_call_of_created", faulty)

    @PLANTED
    @given(pipelines())
    def law(pipeline: Transform) -> None:
        assert len(set(_forms(pipeline).values())) == 1

    with pytest.raises(AssertionError):
        law()


# Pixels. How far a step of a recipe is from torchvision's, at most and on average over the image, in levels.

PIXELS = json.loads((Path(__file__).parent / "torchvision_pixels.json").read_text(encoding="utf-8"))


def _image() -> np.ndarray:
    noise = np.random.default_rng(0).uniform(0, 255, (100, 140, 3)).astype(np.float32)
    smooth = cv2.GaussianBlur(noise, (0, 0), 2)
    return np.ascontiguousarray(cv2.normalize(smooth, None, 10, 240, cv2.NORM_MINMAX), dtype=np.uint8)


def _apart(transform: Transform) -> tuple[int, float]:
    v2, torch = library(), import_module("torch")
    image = _image()
    pipeline = built(("Compose", {}, [transform]), v2)
    try:
        expected = pipeline(torch.from_numpy(image).permute(2, 0, 1)).permute(1, 2, 0).numpy()
    except RuntimeError as error:  # what it compiled does not fit the installed torch
        pytest.skip(str(error))
    recipe = of_document(Document("object", value=pipeline)).recipe()
    found = recipe.compile(optimize="none").at(index=0, epoch=0)(image=image)["image"]
    assert found.shape == expected.shape
    levels = np.abs(found.astype(int) - expected.astype(int))
    return int(levels.max()), float(levels.mean())


@pytest.mark.filterwarnings("ignore:The image decoding and encoding:DeprecationWarning")
@pytest.mark.parametrize("name", PIXELS)
def test_pixels_are_near_those_of_torchvision(name: str) -> None:
    transform, most, mean = PIXELS[name]
    found = _apart(transform)
    assert found[0] <= most, found
    assert found[1] <= mean, found


@pytest.mark.parametrize(
    ("fault", "name"),
    [
        ("INTERPOLATIONS", "Resize, nearest"),
        ("_BORDERS", "Pad, reflected"),
        ("fills", "Pad"),
    ],
)
def test_pixels_tell_a_wrong_value(monkeypatch: pytest.MonkeyPatch, fault: str, name: str) -> None:
    wrong = {"INTERPOLATIONS": "linear", "_BORDERS": "replicate"}
    right = getattr(torchvision_steps, fault)
    planted = dict.fromkeys(right, wrong[fault]) if fault in wrong else lambda value: {}
    monkeypatch.setattr(torchvision_steps, fault, planted)
    with pytest.raises(AssertionError):
        test_pixels_are_near_those_of_torchvision(name)


@pytest.mark.parametrize("target", [(60, 40), (40, 60), (33, 90)])
@pytest.mark.parametrize("scale", [0.37, 1.0, 1.7])
def test_scale_jitter_has_the_size_of_torchvision(target: tuple[int, int], scale: float) -> None:
    v2, torch = library(), import_module("torch")
    for height, width in ((50, 80), (80, 50), (31, 31)):
        made = v2.ScaleJitter(target, (scale, scale))
        expected = made(torch.zeros(3, height, width, dtype=torch.uint8)).shape[1:]
        step = ar.from_torchvision(made).compile(optimize="none").at(0)
        found = step(image=np.zeros((height, width, 3), np.uint8))["image"].shape
        assert max(abs(found[0] - expected[0]), abs(found[1] - expected[1])) <= 1


# What stands where, and what is refused.


def draft(steps: str) -> Any:
    return of_document(of_text(f"from torchvision.transforms.v2 import *; train = Compose([\n{steps}\n])", "aug.py"))


def test_conversions_become_the_output() -> None:
    recipe = draft("""
        RandomResizedCrop(size=(224, 224), scale=(0.08, 1.0), ratio=(0.75, 1.3333)), ToImage(), ToDtype(scale=True),
        Normalize(mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225], inplace=False)
    """).recipe()
    assert recipe.output == ar.load("imagenet-train").output
    assert [step.name for step in recipe.steps] == ["RandomResizedCrop"]


@pytest.mark.parametrize(
    ("last", "fill"),
    [
        ("", 0.8), ("ToTensor(),", 0.8 * 255),
        ("ToTensor(),\n Normalize(mean=[0.5, 0.5, 0.5], std=[0.25, 0.25, 0.25]),", 255 * (0.8 * 0.25 + 0.5)),
    ],
)  # fmt: skip
def test_a_fill_counts_as_the_image_does_where_it_stands(last: str, fill: float) -> None:
    (step,) = draft(f" {last}\n RandomErasing(p=0.5, value=0.8)").recipe().steps
    assert np.allclose(step.args["fill"], fill, atol=0.5 if last else 0)


def test_a_fill_in_a_group_is_counted_back_once() -> None:
    recipe = draft("""
        ToTensor(), Normalize(mean=[0.5, 0.5, 0.5], std=[0.25, 0.25, 0.25]),
        RandomApply([RandomErasing(p=1.0, value=0.8)], p=0.3), RandomVerticalFlip()
    """).recipe()
    (step,) = (each for each in recipe.walk() if each.name == "Erasing")
    assert (step.args["fill"], recipe.steps[0].p) == ((178, 178, 178), 0.3)


def test_what_is_otherwise_than_in_torchvision_is_told() -> None:
    erasing = "RandomErasing(value='random', ratio=(0.5, 1))"
    found = draft(f"{erasing}, RandomRotation(9, expand=True), ScaleJitter((60, 40))")
    steps = found.recipe().steps
    assert (steps[0].args["ratio"], steps[2].args["max_size_hw"]) == ((1.0, 2.0), (40, 60))
    assert [note.partition(":")[0] for note in found.notes] == [
        "RandomErasing and re_prob", "RandomRotation with expand"
    ]  # fmt: skip


def test_groups_keep_their_chances() -> None:
    recipe = draft("""
        RandomApply([ColorJitter(brightness=(0.6, 1.4))], p=0.3),
        RandomChoice([RandomHorizontalFlip(p=0.5), RandomVerticalFlip(p=1.0)], p=[0.2, 0.6]),
        ToTensor()
    """).recipe()
    jitter, choice = recipe.steps
    assert (jitter.name, jitter.p, jitter.args["contrast"]) == ("ColorJitter", 0.3, (1.0, 1.0))
    assert [(child.name, child.p) for child in choice.steps] == [("Sequential", 0.25), ("VerticalFlip", 0.75)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("RandomIoUCrop()", "RandomSizedBBoxSafeCrop"),
        ("RandomPerspective(p=0.5, distortion_scale=0.5)", "Perspective"),
        ("Lambda(f, 'object')", "augrecipes.register"),
        ("RandomRotation(degrees=[-5, 5], center=[3, 4])", "about their middle"),
        ("Resize(size=[256], max_size=300)", "limits the longer side"),
        ("GaussianBlur(kernel_size=(3, 5), sigma=[0.1, 2.0])", "square"),
        ("Resize(size=[2, 3, 4])", "one number or two, got 3"),
        ("Resize(sise=[2, 3])", "no argument 'sise'"),
        ("Resize(size='big')", "must be a number"),
        ("Pad(padding=4, padding_mode='wrap')", "is none of constant"),
        ("RandomResize(min_size=1, max_size=9000)", "too many to list"),
        ("CenterCrop()", "argument 'size' is missing"),
    ],
)
def test_what_has_no_place_is_named_with_its_line(text: str, said: str) -> None:
    (left,) = draft(f"  RandomHorizontalFlip(p=0.5),\n  {text}").left_out()
    assert left.line == 3
    assert said in left.message


def test_names_of_torchvision_without_a_package() -> None:
    found = of_document(of_text("t: [{type: RandomHorizontalFlip, p: 0.2}, {type: Resize, size: 32}]", "c.yaml"))
    assert [step.name for step in found.recipe().steps] == ["HorizontalFlip", "SmallestMaxSize"]


def test_what_is_no_pipeline_is_a_type_error() -> None:
    for value in ([1], "Compose(CenterCrop(size=(8, 9)))"):
        with pytest.raises(TypeError, match="from_torchvision takes"):
            ar.from_torchvision(value)


def _stand_in(name: str, **attributes: Any) -> Any:
    """What looks like an object of torchvision, where that is not at hand."""
    return type(name, (), {"__module__": "torchvision.transforms.v2", **attributes})()


def test_an_object_is_a_recipe_or_an_error() -> None:
    flip = _stand_in("RandomHorizontalFlip", p=0.3)
    recipe = ar.from_torchvision(_stand_in("Compose", transforms=[_stand_in("CenterCrop", size=(8, 9)), flip]), "mine")
    assert (recipe.name, recipe.steps[0].args["width"], recipe.steps[1].p) == ("mine", 9, 0.3)
    padded = _stand_in("RandomCrop", size=9, padding=[1, 3, 2, 4])  # left, right, top, bottom
    steps = ar.from_torchvision(_stand_in("Compose", transforms=[padded, _stand_in("RandomErasing", value=None)])).steps
    assert [steps[0].args["padding"], steps[2].args["fill"]] == [(1, 2, 3, 4), "random"]
    with pytest.raises(ar.RecipeError, match="Perspective"):
        ar.from_torchvision(_stand_in("RandomPerspective", distortion_scale=0.5))
    with pytest.raises(ar.RecipeError, match=r"augrecipes\.register"):
        ar.from_torchvision(_stand_in("Compose", transforms=[flip, lambda image: image]))
