"""Every name that albumentations has dropped since 0.3 has a cure, and what a cure says to write is a valid recipe."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from augrecipes.errors import Diagnostic
from augrecipes.ops import registry
from augrecipes.ops.groups import GROUPS
from augrecipes.recipe import document, history
from augrecipes.recipe.parse import parse_file, parse_text
from augrecipes.recipe.write import flow

# Arguments of 0.3 to 2.0.7 that 2.0.8 has no more, and classes that are gone, with the defaults of their time.
OLD: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent / "albumentations_arguments.json").read_text())
PAIRS = [(cls, name) for cls, names in OLD.items() if cls not in history.CLASSES and cls != "Flip" for name in names]
# What a class cannot be without.
NEEDED: dict[str, Any] = {"height": 8, "width": 8, "size": [8, 8], "min_max_height": [8, 9]}
ALSO: dict[str, dict[str, Any]] = {
    "CropAndPad": {"px": 3},
    "LongestMaxSize": {"max_size": 8},
    "SmallestMaxSize": {"max_size": 8},
}
HEAD = "version: 1\nrecipe: t\n"
SNIPPET = re.compile(r"`([^`]+)`")


def problems_of(text: str) -> list[Diagnostic]:
    try:
        parse_text(text)
    except Exception as error:
        return list(getattr(error, "problems", ()))
    return []


def with_needed(cls: str, given: dict[str, Any]) -> str:
    """A recipe of one step that lacks nothing."""
    schema = registry.arguments(cls) or {}
    needed = {name: NEEDED[name] for name in schema.get("required", ()) if name in NEEDED}
    return f"{HEAD}steps:\n- {cls}: {flow({**needed, **ALSO.get(cls, {}), **given})}\n"


def faults_of(cls: str, cure: str) -> list[str]:
    """What is wrong with a recipe that does what a cure says: a name, or every `snippet` of its words."""
    if " " not in cure:
        takes = (registry.arguments(cls) or {"properties": {}})["properties"] if cls else ()
        known = {*registry.names(), *GROUPS, *document.KEYS, *takes, "p", "id", "steps"}
        return [] if cure in known else [f"{cure} is no name"]
    return [f"{snippet}: {p}" for snippet in SNIPPET.findall(cure) for p in problems_of(_recipe_with(cls, snippet))]


def _recipe_with(cls: str, snippet: str) -> str:
    name = re.match(r"\w+", snippet)[0]  # type: ignore[index]
    if name in document.KEYS:
        return f"{HEAD}{snippet}\n" + ("" if name == "steps" else "steps: []\n")
    if name in registry.names() or name in GROUPS:
        return f"{HEAD}steps:\n- {snippet}\n"
    given = json_of(snippet)
    return with_needed(cls, given)


def json_of(snippet: str) -> dict[str, Any]:
    from augrecipes.recipe.parse import parse_value

    return dict(parse_value("{" + snippet + "}"))


@pytest.mark.parametrize(("cls", "name"), PAIRS, ids=lambda part: part)
def test_every_old_argument_has_a_cure_that_is_accepted(cls: str, name: str) -> None:
    default = OLD[cls][name]
    values = [default, None, [0, 0, 0], 0.3, 4, "constant", [1, 3], {"a": 1}]
    for k, value in enumerate(values):
        (found,) = [p for p in problems_of(with_needed(cls, {name: value})) if p.code == "E304"]
        _, _, cure = found.message.partition("; ")
        assert re.match("write `|it is gone|it took|did you mean", cure), found.message
        if k == 0 or value is None:  # what people had
            assert not cure.startswith("did you mean"), found.message
        assert faults_of(cls, re.sub(r"did you mean (.*)\?", r"\1", cure)) == [], found.message


@pytest.mark.parametrize("value", ["true", "false"])
@pytest.mark.parametrize("cls", ["Rotate", "OneOf", "RandomCrop", "HorizontalFlip", "Cutout"])
def test_always_apply_is_gone_and_both_values_are_told(cls: str, value: str) -> None:
    body = "always_apply: " + value + (", steps: [Blur]" if cls == "OneOf" else "")
    found = problems_of(f"{HEAD}steps:\n- {cls}: {{{body}}}\n")
    if cls == "Cutout":
        (step,) = found
        assert ("p: 1.0" in step.message) == (value == "true")
        return
    (gone,) = [p for p in found if "always_apply" in p.message]
    assert "it is gone: for true write `p: 1.0`, for false leave it out" in gone.message
    assert faults_of("Rotate", history.ALWAYS_APPLY) == []


@pytest.mark.parametrize("cls", [*history.CLASSES, "Flip"])
def test_every_class_that_is_gone_has_a_cure_that_is_accepted(cls: str) -> None:
    for given in ({}, OLD[cls], {**OLD[cls], "always_apply": True}, {"limit": "x"}, {"nonsense": 1}):
        (found,) = [p for p in problems_of(f"{HEAD}steps:\n- {cls}: {flow(given)}\n") if p.code == "E302"]
        _, _, cure = found.message.partition("; ")
        bare = re.sub(r"did you mean (.*)\?", r"\1", cure)
        assert faults_of("", bare) == [], found.message
        assert "register" not in cure


def every_synonym() -> list[tuple[str, str]]:
    """(class, cure) of every table."""
    return [
        *(("", cure) for cure in history.STEPS.values()),
        *(("", cure) for cure in history.KEYS.values()),
        *((cls, cure) for (cls, _), cure in history.ARGUMENTS_OF.items()),
        *((cls, cure) for (cls, _), cure in history.GONE.items()),
        *(("", new) for new in history.CLASSES.values()),
    ]


@pytest.mark.parametrize(("cls", "cure"), every_synonym())
def test_what_a_synonym_says_to_write_is_accepted(cls: str, cure: str) -> None:
    assert faults_of(cls, cure) == []


def test_no_synonym_stands_for_a_name_that_is_valid() -> None:
    assert not {*history.STEPS, *history.CLASSES} & {*registry.names(), *GROUPS}
    assert not set(history.KEYS) & set(document.KEYS)
    for cls, name in (*history.ARGUMENTS_OF, *history.GONE, *history.CONVERTED):
        assert name not in (registry.arguments(cls) or {"properties": ()})["properties"], (cls, name)


def test_old_names_lead_to_arguments_that_some_class_takes() -> None:
    taken = {name for cls in registry.names() for name in (registry.arguments(cls) or {})["properties"]}
    assert set(history.RENAMED.values()) <= taken
    assert set(history.ARGUMENTS.values()) <= {*taken, "id", "steps"}
    for cls, new in (*history.JOINED, *((cls, new) for (cls, _), (new, _) in history.CONVERTED.items())):
        assert new in (registry.arguments(history.CLASSES.get(cls, cls)) or {})["properties"], (cls, new)


@pytest.mark.parametrize(
    ("cls", "cure"),
    [
        ("Rotate", "it is gone: for true write `p: 2.0`"),
        ("Rotate", "write `border: 4`"),
        ("", "RandomRotation"),
        ("", "write `CenterCrop: {pad_if_needed: true}`"),
        ("", "it is no step: write `output: {dtype: float64}`"),
        ("Rotate", "fills"),
    ],
)
def test_a_planted_fault_is_found(cls: str, cure: str) -> None:
    assert faults_of(cls, cure) != []


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ("Rotate: {value: null}", "leave it out"),
        ("Rotate: {value: [1, 2, 3]}", "write `fill: [1, 2, 3]`"),
        ("Perspective: {pad_mode: 4}", "write `border_mode: reflect_101`"),
        ("PiecewiseAffine: {mode: edge}", "write `border_mode: replicate`"),
        ("CropAndPad: {px: 1, pad_mode: reflect}", "write `border_mode: reflect`"),
        ("ImageCompression: {quality_lower: 60}", "write `quality_range: [60, 100]`"),
        ("CoarseDropout: {max_holes: 8, min_holes: 2}", "write `num_holes_range: [2, 8]`"),
        ("GaussNoise: {var_limit: [10.0, 50.0]}", "write `std_range: [0.0124, 0.0277]`"),
        ("Resize: {size: 224}", "write `SmallestMaxSize: {max_size: 224}`"),
        ("Resize: {size: [224, 100]}", "write `height: 224, width: 100`"),
        ("CenterCrop: {size: 224}", "write `height: 224, width: 224`"),
        ("RandomResizedCrop: {size: 224}", "write `size: [224, 224]`"),
        ("Downscale: {scale_range: 0.5}", "write `scale_range: [0.5, 0.5]`"),
        (
            "Cutout: {max_h_size: 16}",
            "`CoarseDropout: {num_holes_range: [8, 8], hole_height_range: [16, 16], hole_width_range: [8, 8]}`",
        ),
        ("CoarseDropout: {max_height: 16}", "write `hole_height_range: [16, 16], hole_width_range: [8, 8]`"),
        ("CoarseDropout: {max_height: 16, max_width: 9}", "write `hole_height_range: [16, 16]`"),
        ("GridDropout: {unit_size_min: 4, unit_size_max: 9}", "write `unit_size_range: [4, 10]`"),
        ("OneOf: {transforms: [Blur]}", "did you mean steps?"),
        ("MyOwnTransform", "augrecipes.register(cls)"),
    ],
)
def test_cures_carry_the_values_that_were_written(step: str, words: str) -> None:
    assert words in "\n".join(p.message for p in problems_of(f"{HEAD}steps:\n- {step}\n"))


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ("- Blur: {always_apply: false}\n- OneOf: {steps: [Blur]}\n- OneOf: {steps: [Blur]}", 5),
        ("- OneOf: {transforms: [Blur]}", 4),
        ("- JpegCompression\n- RandomOrder: {steps: [Blur]}", 5),
        ("- Blur: {always_apply: false}\n- OneOf: {p: 1, steps: [Blur]}\n- SomeOf: {steps: [Blur]}", 0),
        ("- Blur: {blur: 3}\n- OneOf: {steps: [Blur]}", 0),  # no sign of older albumentations
    ],
)
def test_other_defaults_of_groups_are_said_once(steps: str, said: int) -> None:
    found = problems_of(f"{HEAD}steps:\n{steps}\n")
    notes = [p for p in found if p.code == "L504"]
    assert [(p.line, p.severity) for p in notes] == ([(said, "warning")] if said else [])
    assert any(p.severity == "error" for p in found)


@pytest.mark.parametrize("data_format", ["json", "yaml"])
def test_a_saved_pipeline_is_recognised(data_format: str, tmp_path: Path) -> None:
    import albumentations as A

    path = tmp_path / f"saved.{data_format}"
    made = A.Compose([A.OneOf([A.Blur()]), A.Resize(64, 32, interpolation=2), A.HorizontalFlip()])
    A.save(made, path, data_format=data_format)
    recipe, (found,) = parse_file(path)
    assert recipe is None
    assert found.code == "E117"
    assert f"albumentations {A.__version__} saved this pipeline of 3 transforms" in found.message
    assert f"`augrecipes import {path} -o recipe.yaml`" in found.message
    for text in ('{"transform": 3}', '{"__version__": "1.0"}', '{"transform": {"__class_fullname__": 3}}'):
        assert problems_of(text) != []
