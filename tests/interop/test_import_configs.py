"""Configs that name the classes they build: the same steps come back, nothing is run, and errors name the line."""

import io
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from foreign import DIALECTS
from hypothesis import given
from hypothesis import strategies as st
from support.checks import DEAR, PLANTED
from support.recipe_strategies import steps

import augrecipes as ar
from augrecipes.interop import albumentations, compose
from augrecipes.interop.importing import draft_of, of_document
from augrecipes.interop.reading import of_text, read
from augrecipes.interop.source import transforms
from augrecipes.ops.constants import to_name
from augrecipes.recipe.model import Step


def draft(text: str, file: str = "config.yaml") -> Any:
    return of_document(of_text(dedent(text), file))


def _with_defaults(step: Step) -> tuple[Any, ...]:
    """A step by its meaning: constants by name, groups with the `p` and the `n` that they have anyway."""
    args = {key: to_name(key, value) for key, value in step.args.plain().items()}
    p = step.p
    if step.steps and step.name in ("OneOf", "Sequential"):
        p = 1.0 if p is None else p
    if step.name == "RandomOrder":
        args.setdefault("n", len(step.steps))
    return step.name, args, p, tuple(_with_defaults(child) for child in step.steps)


def _opened(listed: list[Step]) -> list[tuple[Any, ...]]:
    return [_with_defaults(step) for step in listed]


CONFIGS = Path(__file__).parent / "configs"
_LISTS = st.lists(steps(), min_size=1, max_size=4)
_FEW_CLASSES = st.lists(steps(depth=1, names=("HorizontalFlip", "Rotate")), min_size=1, max_size=4)


@pytest.mark.parametrize("file", DIALECTS)
@DEAR
@given(listed=_LISTS)
def test_random_steps_come_back_from_each_dialect(file: str, listed: list[Step]) -> None:
    found = of_document(of_text(DIALECTS[file](listed), file))
    assert found.left_out() == ()
    assert _opened(list(found.recipe().steps)) == _opened(listed)


def _lose(name: str) -> Any:
    true = transforms.call_of

    def faulty(node: Any, *more: Any) -> Any:
        call = true(node, *more)
        call.args.pop(name, None)
        return call

    return faulty


_FAULTS = ("p", "limit", "order of groups")  # each in two dialects or three, and each dialect with one or two


@pytest.mark.parametrize(
    ("file", "fault"),
    [(file, _FAULTS[(k + more) % 3]) for k, file in enumerate(DIALECTS) for more in range(2 if k < 2 else 1)],
)
def test_the_law_sees_what_an_importer_loses(monkeypatch: pytest.MonkeyPatch, file: str, fault: str) -> None:
    if fault == "order of groups":
        true = albumentations.lines
        for module in (albumentations, compose):
            monkeypatch.setattr(module, "lines", lambda calls: true(list(calls)[::-1]))
    else:
        monkeypatch.setattr("augrecipes.interop.source.transforms.call_of", _lose(fault))

    @PLANTED
    @given(listed=_FEW_CLASSES)
    def law(listed: list[Step]) -> None:
        assert _opened(list(of_document(of_text(DIALECTS[file](listed), file)).recipe().steps)) == _opened(listed)

    with pytest.raises(AssertionError):
        law()


def test_training_and_validation_are_told_by_their_keys() -> None:
    found = draft("""
        train:
          order: [flip, resize]
          resize: {_target_: albumentations.Resize, height: 64, width: 64}
          flip: {_target_: albumentations.HorizontalFlip, p: 0.3}
        valid_test:
          - {_target_: albumentations.Resize, height: 64, width: 64}
          - {_target_: albumentations.Normalize}
          - {_target_: albumentations.pytorch.ToTensorV2}
    """)
    recipe = found.recipe()
    assert [step.name for step in recipe.steps] == ["HorizontalFlip", "Resize"]
    assert recipe.eval is not None
    assert [step.name for step in recipe.eval] == ["Resize"]
    assert any("output" in note for note in found.notes)


def test_several_pipelines_are_listed_and_one_can_be_named() -> None:
    text = """
        weak: [{_target_: albumentations.HorizontalFlip}]
        strong: [{_target_: albumentations.D4}]
    """
    with pytest.raises(ar.RecipeError, match=r"several pipelines.*weak \(line 2\), strong \(line 3\)"):
        draft(text)
    document = of_text(dedent(text), "config.yaml")
    assert [step.name for step in of_document(replace(document, key="strong")).recipe().steps] == ["D4"]
    with pytest.raises(ar.RecipeError, match="no pipeline at 'strange'"):
        of_document(replace(document, key="strange"))


def test_numbers_that_stand_elsewhere_in_the_file_are_taken_from_there() -> None:
    found = draft("""
        img: {size: 96, all: [1, 2, 32]}
        base: ${img.size}
        train:
          - {_target_: albumentations.Resize, height: "${base}", width: "${img.all.2}"}
          - {_target_: albumentations.RandomCrop, height: "${missing}", width: 3}
          - ${elsewhere}
        valid: ${train}
    """)
    assert found.recipe().steps[0].args.plain() == {"height": 96, "width": 32}
    assert [(left.name, left.line) for left in found.left_out()] == [("RandomCrop", 6), ("${elsewhere}", 7)]
    assert "`${missing}` in line 6 names no single value of this file: write the value" in found.left_out()[0].message
    assert found.eval is None


@pytest.mark.parametrize(
    "config",
    [
        *("a: '${b}'\nb: '${a}'", "a: ['${a}', 1]", "a: {b: '${..}'}", "a: '${.b}'", "a: '${a}${a}'"),
        "a: '${x.9}'\nx: [1]",
        f"a: '${{{'.' * 300_000}!}}'",
    ],
)  # fmt: skip
def test_what_names_no_single_value_leaves_its_step_out(config: str) -> None:
    (left,) = draft(f"{config}\ntrain: [{{_target_: albumentations.Blur, blur_limit: '${{a}}'}}]").left_out()
    assert left.name == "Blur"
    assert "names no single value" in left.message
    assert len(left.message) < 400


@pytest.mark.parametrize("form", ["[a]", "[a, a]", "dict(x=a, **dict(y=a))"])
def test_names_of_python_configs_stand_for_no_more_than_can_be_read(form: str) -> None:
    found = draft("a = [1]\n" + f"a = {form}\n" * 2_000 + "train_pipeline = [dict(type='Resize', scale=a)]\n", "c.py")
    assert [left.name for left in found.left_out()] == ["Resize"]
    assert len(found.to_yaml()) < 10_000


def test_hydras_positional_arguments_have_names() -> None:
    found = draft("t: [{_target_: albumentations.RandomCrop, _args_: [32, 48]}]")
    assert found.recipe().steps[0].args.plain() == {"height": 32, "width": 48}
    (left,) = draft("t: [{_target_: albumentations.HorizontalFlip, _args_: [1, 2, 3]}]").left_out()
    assert "3 positional arguments" in left.message


def test_boxes_beside_a_list_are_those_of_the_compose() -> None:
    recipe = draft("""
        data:
          transforms: [{class_path: albumentations.HorizontalFlip}]
          bbox_params: {format: coco, label_fields: [kind], min_area: 9}
    """).recipe()
    assert (recipe.inputs.boxes.format, recipe.inputs.boxes.labels, recipe.inputs.boxes.min_area) == ("coco", "kind", 9)


_VIEWS = (CONFIGS / "views.yaml").read_text(encoding="utf-8")
_BEHIND = (CONFIGS / "behind.yaml").read_text(encoding="utf-8")
_GONE = "t: [{name: Flip, p: 0.3}, {name: OneOf, transforms: [{name: Lambda}]}]"


@pytest.mark.parametrize(
    ("text", "steps", "left"),
    [
        (_VIEWS, ["HorizontalFlip"], ["${data.transform.transforms.0}"]),
        (_BEHIND, ["OneOf", "HorizontalFlip"], []),
        (_GONE, ["OneOf"], ["OneOf"]),
    ],
)
def test_configs_and_what_comes_of_them(text: str, steps: list[str], left: list[str]) -> None:
    found = draft(text)
    assert [step.name for step in found.recipe().steps] == steps
    assert [each.name for each in found.left_out()] == left


@pytest.mark.parametrize(
    "text",
    [
        "aug: [{name: HorizontalFlip, params: {p: 0.25}}]",
        "aug: [{name: HorizontalFlip, p: 0.25}]",
        "aug: [{name: HorizontalFlip, probability: 0.25, parameters: {}}]",
        "aug: [{type: HorizontalFlip, p: 0.25}]",
        "aug: [{CLASS_NAME: albumentations.HorizontalFlip, params: {p: 0.25}}]",
        "aug: {class_path: albumentations.Compose, init_args: {transforms: [{class_path: A.HorizontalFlip, "
        "init_args: {p: 0.25}}]}}",
    ],
)
def test_ways_of_naming_a_class(text: str) -> None:
    (step,) = draft(text).recipe().steps
    assert (step.name, step.p) == ("HorizontalFlip", 0.25)


MM = (CONFIGS / "albu.py.txt").read_text(encoding="utf-8")


def test_a_pipeline_of_an_mm_framework() -> None:
    found = draft(MM, "configs/albu.py")
    recipe = found.recipe()
    assert found.left_out() == ()
    assert [step.name for step in recipe.steps] == ["LongestMaxSize", "Rotate", "OneOf", "OneOf", "PadIfNeeded"]
    assert recipe.steps[3].p == 0.5
    assert [child.p for child in recipe.steps[3].steps] == [0.25, 0.25]
    assert recipe.steps[4].args.plain() == {
        "min_height": 512, "min_width": 512, "position": "top_left", "fill": 114, "fill_mask": 255,
    }  # fmt: skip
    assert recipe.output.color == "bgr"
    assert recipe.output.normalize.mean == (0.5, 0.5, 0.5)
    assert recipe.inputs.boxes.min_visibility == 0.3
    assert recipe.eval is not None
    assert any("BGR" in note for note in found.notes)


@pytest.mark.parametrize(
    ("written", "step", "said"),
    [
        ("dict(type='Resize', scale=[(i, i) for i in sizes], keep_ratio=True)", "Resize", "does not tell `[(i, i) for"),
        ("dict(type='Resize', scale=open('/etc/passwd'))", "Resize", "does not tell `open('/etc/passwd')`"),
        ("dict(type='Albu', transforms=_base_.albu)", "Albu", "does not tell `_base_.albu`"),
        ("dict(type='Mosaic', img_scale=f(3))", "Mosaic", "needs other samples"),
        ("dict(type='RandomCrop', crop_size=(4, 4), crop_type='relative_range')", "RandomCrop", "RandomSizedCrop"),
    ],
)
def test_what_computes_is_named_with_its_line_and_nothing_runs(written: str, step: str, said: str) -> None:
    text = f"raise SystemExit('run')\ntrain_pipeline = [\n  dict(type='LoadImageFromFile'),\n  {written},\n]\n"
    (left,) = draft(text, "config.py").left_out()
    assert (left.name, left.line, left.file) == (step, 4, "config.py")
    assert said in left.message


def test_bases_are_read_where_they_are(tmp_path: Path) -> None:
    (tmp_path / "base.py").write_text(
        "size = 64\nload = [dict(type='LoadImageFromFile')]\nmodel = dict(data_preprocessor=dict(mean=[0, 0, 0], "
        "std=[255, 255, 255]))\n"
    )
    (tmp_path / "top.py").write_text(
        "_base_ = ['base.py']\nmodel = dict(neck=1)\n"
        "train_pipeline = [*_base_.load, dict(type='RandomCrop', crop_size=(_base_.size, {{_base_.size}}))]\n"
    )
    recipe = of_document(read(str(tmp_path / "top.py"))).recipe()
    assert recipe.steps[0].args.plain()["width"] == 64
    assert (recipe.output.range, recipe.output.normalize) == ((0.0, 1.0), None)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("train_pipeline = [\n  dict(type='LoadImageFromFile'\n", 2),
        ("a = " + "+".join(["1"] * 20_000), 1),
        ("a = [1]\n" + "".join(f"a = [a, a, a]  # {i}\n" for i in range(40)), 12),
    ],
)
def test_python_that_cannot_be_read_is_a_typed_error(text: str, line: int) -> None:
    with pytest.raises(ar.RecipeError):
        draft(text, "config.py")


def test_a_config_without_transforms_is_refused() -> None:
    with pytest.raises(ar.RecipeError, match="nothing here that can be imported"):
        draft("callbacks: [{class_path: lightning.pytorch.callbacks.RichProgressBar}]\nmodel: {name: resnet}")


class _Stream:
    def __init__(self, text: str | bytes) -> None:
        self.buffer = io.BytesIO(text.encode() if isinstance(text, str) else text)


@pytest.mark.parametrize(
    ("text", "step"),
    [
        ("train_pipeline = [dict(type='RandomFlip', prob=0.5), dict(type='Resize', scale=(100, 100))]", "Resize"),
        ("transform:\n  - {_target_: albumentations.VerticalFlip, p: 0.2}\n", "VerticalFlip"),
    ],
)
def test_standard_input_is_read_as_a_file_is(text: str, step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", _Stream(text))
    assert step in [each.name for each in draft_of("-").recipe().steps]


@pytest.mark.parametrize("text", ["", "nothing", "{a: 1", b"\xff\xfe\x00", "x" * 1_000_002, "a: *b"])
def test_other_streams_are_errors(text: str | bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", _Stream(text))
    with pytest.raises(ar.RecipeError, match=r"^stdin"):
        draft_of("-")
