"""Option files of neosr and traiNNer-redux, whole: every key is in the recipe, or is named; TOML with its places."""

import copy
import json
import re
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.checks import DEAR, PLANTED, read

import augrecipes as ar
from augrecipes.interop.importing import of_document
from augrecipes.interop.options import OptionFile
from augrecipes.interop.reading import of_text

TABLES = read(__file__)
TEMPLATES: dict[str, dict[str, Any]] = TABLES["templates"]
OTHERS: dict[str, Any] = TABLES["others"]
# Keys without which others have nothing to say, or nothing can be imported.
_NEEDED = {
    "type", "dataroot_gt", "dataroot_lq", "lq_size", "patch_size", "gt_size", "scale", "blur_prob", "mean",
    "blur_prob2", "second_blur_prob", "lq_usm", "std", "augmentation", "aug_prob", "noise_range", "poisson_scale_range",
    "lq_resize_mode", "noise_range2", "poisson_scale_range2", "high_order_degradation", "resize_mode_list",
}  # fmt: skip


def toml(options: dict[str, Any], table: str = "") -> str:
    """Options as TOML; lists over several lines, with comments."""
    plain_keys = {key: value for key, value in options.items() if not isinstance(value, dict) and value is not None}
    lines = [f"[{table}]  # {table}"] if table else []
    for key, value in plain_keys.items():
        items = ",  # ]\n  ".join(map(json.dumps, value)) if isinstance(value, list) else ""
        lines.append(f"{key} = [\n  {items}\n]" if items else f"{key} = {json.dumps(value)}  # = [")
    tables = {key: value for key, value in options.items() if isinstance(value, dict)}
    return "\n".join([*lines, "", *(toml(value, f"{table}.{key}" if table else key) for key, value in tables.items())])


def text_of(options: dict[str, Any], form: str) -> str:
    return toml(options) if form == "toml" else json.dumps(options, indent=1)


def draft(options: dict[str, Any], form: str = "yml") -> Any:
    return of_document(of_text(text_of(options, form), f"opt.{form}"))


def places(options: dict[str, Any]) -> list[tuple[str, ...]]:
    """Paths of all keys of the training data and of the degradation."""
    tables = [("datasets", "train"), *([("degradations",)] if "degradations" in options else [])]
    top = [(key,) for key in options if {key, key.rstrip("23")} & {*OTHERS} or key.endswith(("_prob", "_prob2"))]
    return top + [(*path, key) for path in tables for key in at(options, path)]


def at(options: dict[str, Any], path: tuple[str, ...]) -> Any:
    for key in path:
        options = options[key]
    return options


def other(key: str, value: Any) -> Any:
    """Another value that a key may have."""
    if isinstance(value, bool):
        return not value
    if key in OTHERS or key.rstrip("23") in OTHERS:
        return OTHERS.get(key, OTHERS.get(key.rstrip("23")))
    return round(value / 2 + 0.03, 4) if isinstance(value, float) else "other"


def outcome(options: dict[str, Any]) -> Any:
    try:
        found = draft(options)
        return found.to_yaml(), found.dataset, found.notes
    except ar.RecipeError as error:
        return str(error)


def a_key_counts(options: dict[str, Any], path: tuple[str, ...]) -> None:
    """A key is named as lost or as idle, or another value of it makes another recipe, call or note, or is an error."""
    found = draft(options)
    named = {left.name.split(":")[0] for left in found.left_out()}
    (idle,) = [re.findall(r"\w+", note.split(": ")[1]) for note in found.notes if note.startswith("No recipe says")]
    if path[-1] in {*named, *idle, "meta_info", "io_backend"}:
        return
    before, changed = (found.to_yaml(), found.dataset, found.notes), copy.deepcopy(options)
    at(changed, path[:-1])[path[-1]] = other(path[-1], at(options, path))
    assert outcome(changed) != before, path


@st.composite
def subsets(draw: st.DrawFn) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Options with some keys of a template, and some that nobody knows; and the path of a key."""
    options = copy.deepcopy(TEMPLATES[draw(st.sampled_from(sorted(TEMPLATES)))])
    optional = [path for path in places(options) if path[-1] not in _NEEDED]
    for path in draw(st.lists(st.sampled_from(optional), unique=True)) if optional else ():
        del at(options, path[:-1])[path[-1]]
    for key in draw(st.lists(st.sampled_from(["crop_pad_size", "blur_probb", "x"]), unique=True)):
        options["datasets"]["train"][key] = 1
    return options, draw(st.sampled_from(places(options)))


@DEAR
@given(subsets())
def test_every_key_is_in_the_recipe_or_named(example: tuple[dict[str, Any], tuple[str, ...]]) -> None:
    a_key_counts(*example)


@pytest.mark.parametrize("fault", ["unread", "chance", "range"])
def test_the_law_sees_a_key_that_is_lost(monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    true = getattr(OptionFile, fault)
    wrong = {
        "unread": lambda self, source: true(self, source)[1:],
        "chance": lambda self, key, otherwise=0.0: otherwise if self.node(key) else true(self, key, otherwise),
        "range": lambda self, key, otherwise=None: [true(self, key, otherwise), true(self, key.rstrip("2"), otherwise)][
            1
        ],
    }[fault]
    monkeypatch.setattr(OptionFile, fault, wrong)

    @PLANTED
    @given(subsets())
    def law(example: tuple[dict[str, Any], tuple[str, ...]]) -> None:
        a_key_counts(*example)

    with pytest.raises((AssertionError, ValueError)):
        law()


@pytest.mark.parametrize("name", TEMPLATES)
def test_templates_are_recipes_that_run(tmp_path: Path, name: str) -> None:
    found = draft(TEMPLATES[name])
    recipe = found.recipe()
    assert ar.lint(recipe) == ()
    scale = recipe.scales["hr"]
    noise = np.random.default_rng(0).integers(0, 256, (160, 200, 3), dtype=np.uint8)
    for folder, size in (("hr", (200, 160)), ("lr", (200 // scale, 160 // scale))):
        (tmp_path / folder).mkdir()
        cv2.imwrite(str(tmp_path / folder / "a.png"), cv2.resize(noise, size))
    low = {"lr": tmp_path / "lr"} if "dataroot_lq" in TEMPLATES[name]["datasets"]["train"] else {}
    pairs = ar.PairedImages({"hr": tmp_path / "hr", **low}, recipe)
    for epoch in range(4):
        pairs.set_epoch(epoch)
        side = pairs[0]["lr"].shape[-1]
        assert pairs[0]["hr"].shape[-2:] == (scale * side, scale * side)


@pytest.mark.parametrize("name", ["neosr_otf", "neosr_paired"])
def test_toml_is_what_yaml_is(name: str) -> None:
    options = TEMPLATES[name]
    found, same = draft(options, "toml"), draft(options)
    assert found.to_yaml().splitlines()[1:] == same.to_yaml().splitlines()[1:]
    lines = text_of(options, "toml").splitlines()
    assert all(lines[left.line - 1].startswith(left.name.split(":")[0]) for left in found.left_out())


@given(st.sampled_from(["neosr_otf", "neosr_paired"]), st.data())
def test_errors_in_toml_name_the_line_of_the_key(name: str, data: st.DataObject) -> None:
    options = copy.deepcopy(TEMPLATES[name])
    checked = [path for path in places(options) if path[-1] in {"patch_size", "jpeg_range2", "aug_prob", "dataroot_gt"}]
    path = data.draw(st.sampled_from(checked))
    at(options, path[:-1])[path[-1]] = {"a": 1} if path[-1] == "dataroot_gt" else "wrong"
    text = toml({key: value for key, value in options.items() if key != "network_g"})
    with pytest.raises(ar.RecipeError) as caught:
        of_document(of_text(text, "opt.toml")).to_yaml()
    (problem,) = caught.value.problems
    assert problem.name == path[-1]
    assert path[-1] in text.splitlines()[problem.line - 1]


def order(steps: Any) -> list[Any]:
    return [
        (step.name, order(step.steps)) if step.name in ("RandomOrder", "Sequential") else step.name for step in steps
    ]


def test_steps_stand_in_the_published_order() -> None:
    recipe = draft(TEMPLATES["real_esrgan"]).recipe()
    degrade = next(step for step in recipe.steps if step.name == "Degrade")
    last = ("RandomOrder", ["ImageCompression", ("Sequential", ["OneOf", "KernelBlur"])])
    first = ["KernelBlur", "OneOf", "OneOf", "ImageCompression"]
    assert order(degrade.steps) == ["UnsharpMask", *first, "KernelBlur", "OneOf", "OneOf", last]
    groups = [step.id for step in degrade.steps if step.name == "OneOf"]
    assert groups == ["resize1", "noise1", "resize2", "noise2"]


def test_of_two_tables_that_of_degradations_counts_as_in_neosr() -> None:
    options = copy.deepcopy(TEMPLATES["neosr_otf"])
    options["datasets"]["train"]["jpeg_range"] = [50, 60]
    found = draft(options)
    assert "quality_range: [40, 95], id: jpeg1" in found.to_yaml()
    assert "jpeg_range" in [left.name for left in found.left_out()]
