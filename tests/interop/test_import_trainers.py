"""What trainers are given beside a Compose: RF-DETR's aug_config, timm's and torchvision's MixUp and CutMix, code."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import albumentations as A
import numpy as np
import pytest

import augrecipes as ar
from augrecipes.interop.draft import FOREIGN
from augrecipes.interop.importing import of_document
from augrecipes.interop.reading import of_text
from augrecipes.recipe.parse import parse_text

TABLES = [(Path(__file__).parent / name).read_text("utf-8") for name in ("mixed_batches.txt", "aug_configs.txt")]
PRESETS: dict[str, dict[str, dict[str, Any]]] = FOREIGN["rfdetr"]


def draft(text: str, file: str = "train.py", key: str = "", **given: Any) -> Any:
    return of_document(replace(of_text(text, file), key=key, given=given))


def left(found: Any) -> list[tuple[str, int]]:
    return [(each.name, each.line) for each in found.left_out()]


def names(steps: Any) -> list[Any]:
    return [(step.name, names(step.steps)) if step.steps else step.name for step in steps]


# Code of one's own: the way is named.


@pytest.mark.parametrize(
    "step",
    [
        "A.Lambda(image=lambda x, **k: x)",
        "v2.Lambda(lambda x: x)",
        "T.Lambda(half)",
        "lambda x: x",
        "half",
        "Mine()",
        "Other(3)",
    ],
)
def test_code_of_ones_own_has_two_ways(step: str) -> None:
    around = ("A.Compose([A.D4(), {}])", "v2.Compose([v2.RandomHorizontalFlip(), {}])")[step.startswith(("v2", "T"))]
    found = draft(
        "import albumentations as A\nfrom torchvision.transforms import v2\nimport torchvision.transforms as T\n"
        f"from other import Other\nclass Mine: pass\ndef half(x): return x\ntrain = {around.format(step)}"
    )
    (told,) = found.left_out()
    assert told.line == (6 if step == "half" else 7)  # where it is defined
    assert "`ar.accelerate(transform)`" in told.message
    assert "augrecipes.register(cls)" in told.message


def test_a_recipe_with_a_lambda_is_told_the_same() -> None:
    with pytest.raises(ar.RecipeError, match=r"E303 Lambda: .*ar\.accelerate\(transform\)"):
        ar.load({"version": 1, "recipe": "t", "steps": ["Lambda"], "eval": []})


# Batches.

TIMM = "from timm.data import Mixup, create_transform\ntrain = create_transform(96, is_training=True)\n"
VISION = "from torchvision.transforms import v2\ntrain = v2.Compose([v2.RandomResizedCrop(96)])\n"
ROLL = "partners: roll"
# Behind `#:` a name, `batch:`, and what is named; below it the source.
MIXED = {name: rest for name, *rest in re.findall(r"^#: (.+?): (.+);(.*)\n((?:(?!#: ).*\n)+)", TABLES[0], re.M)}


@pytest.mark.parametrize("name", MIXED)
def test_what_mixes_batches_is_batch_or_is_named(name: str) -> None:
    batch, lost, text = MIXED[name]
    found = draft(text)
    found.complete()
    assert [each.name for each in found.left_out()] == lost.split()
    assert all(each.line > 1 for each in found.left_out())
    assert found.recipe().batch == (batch_of(batch) if batch != "-" else ())
    assert any("take it out of the training loop" in note for note in found.notes) == (batch != "-")


def batch_of(step: str) -> Any:
    return parse_text(f"version: 1\nrecipe: t\nsteps: []\neval: []\nbatch: [{step}]").batch


def test_a_config_that_names_classes_has_it_too() -> None:
    text = (
        "train: {_target_: torchvision.transforms.v2.Compose, transforms: [{_target_: torchvision.transforms.v2.RGB},\n"
        "  {_target_: torchvision.transforms.v2.RandomVerticalFlip}]}\n"
        "mixup: {_target_: timm.data.Mixup, mixup_alpha: 0.2, label_smoothing: 0.1, num_classes: '${n}'}"
    )
    found = draft(text, "train.yaml")
    assert left(found) == [("MixUp.label_smoothing", 3)]
    assert names(found.recipe().steps) == ["VerticalFlip"]
    assert found.recipe().batch == batch_of("MixUp: {alpha: 0.2}")


def test_a_file_with_a_mixup_alone_is_a_recipe_of_batches() -> None:
    found = draft("from timm.data.mixup import Mixup\nmix = Mixup(0.2, label_smoothing=0)")
    assert (found.recipe().steps, names(found.recipe().batch)) == ((), ["MixUp"])


def test_what_cannot_mix_boxes_is_named() -> None:
    found = draft(
        "import albumentations as A\nfrom timm.data import Mixup\n"
        "train = A.Compose([A.D4()], bbox_params=A.BboxParams('coco'))\nmix = Mixup(0.2, label_smoothing=0)"
    )
    assert left(found) == [("MixUp", 4)]
    assert "cannot blend boxes" in found.left_out()[0].message
    assert names(found.recipe().steps) == ["D4"]


def test_smoothing_in_the_loss_comes_to_the_same() -> None:
    """timm smooths each label and mixes; the loss smooths what was mixed."""
    share, smoothing, classes = 0.3, 0.1, 5
    one, other = np.eye(classes)[[1, 4]]
    theirs = [label * (1 - smoothing) + smoothing / classes for label in (one, other)]
    mixed = share * one + (1 - share) * other
    assert np.allclose(share * theirs[0] + (1 - share) * theirs[1], mixed * (1 - smoothing) + smoothing / classes)


# RF-DETR.

HEAD = (
    "from rfdetr import RFDETRBase\nfrom rfdetr.datasets import aug_configs\n"
    "from rfdetr.datasets.aug_configs import AUG_AERIAL\nmodel = RFDETRBase()\n"
)
READ = ["HorizontalFlip", ("OneOf", ["Blur", ("Sequential", ["Rotate", ("SomeOf", ["D4"])])])]
# How people write it: behind `#:` a name and that of the file, below it the text.
FORMS = {name: rest for name, *rest in re.findall(r"^#: (.+?): (.+)\n((?:(?!#: ).*\n)+)", TABLES[1], re.M)}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_aug_config_comes_in_whole(form: str) -> None:
    file, text = FORMS[form]
    found = draft(text, file)
    assert found.left_out() == ()
    recipe = found.recipe()
    assert names(recipe.steps) == READ
    choice = recipe.steps[1]
    assert choice.p == (1.0 if form == "shorthand" else 0.3)
    assert [step.p for step in choice.walk() if step.name in ("Sequential", "SomeOf")] == [
        1.0,
        1.0,
    ]  # as RF-DETR has them
    assert recipe.inputs.boxes.clip
    assert recipe.output.normalize is not None
    assert any("`resolution`" in note for note in found.notes)


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_the_transforms_that_rfdetr_builds(name: str) -> None:
    recipe = draft(f"{HEAD}model.train(dataset_dir='d', aug_config=aug_configs.{name})").recipe()
    wanted = [getattr(A, cls)(**args) for cls, args in PRESETS[name].items()]
    made = recipe.to_albumentations().transforms[: len(wanted)]
    assert [each.to_dict() for each in made] == [each.to_dict() for each in wanted]


def test_a_preset_is_changed_and_extended() -> None:
    found = draft(f"{HEAD}mine = {{**AUG_AERIAL, 'Blur': {{'p': 0.1}}}}\ndel x\nmodel.train(aug_config=mine)")
    assert names(found.recipe().steps) == [*PRESETS["AUG_AERIAL"], "Blur"]
    assert names(draft(f"{HEAD}model.train(aug_config=AUG_AERIAL)").recipe().steps) == [*PRESETS["AUG_AERIAL"]]


def test_presets_of_the_installed_package_are_these() -> None:
    theirs = pytest.importorskip("rfdetr.datasets.aug_configs")
    own = {key: value for key, value in vars(theirs).items() if key.startswith("AUG_")}
    assert json.loads(json.dumps(own)) == PRESETS


UNKNOWN_PYTHON = """model.train(
    aug_config={
        "HorizontalFlip": {"p": 0.5},
        "Flipp": {"p": 0.5},
        "OneOf": [
            {"Blur": {"blurr": 3}},
            {"Sparkle": {}},
        ],
        "CLAHE": 0.5,
        "Rotate": {"limit": cfg.limit},
    }
)
"""
UNKNOWN_YAML = """aug_config:
  HorizontalFlip: {p: 0.5}
  Flipp:
    p: 0.5
  OneOf:
  - Blur:
      blurr: 3
  - Sparkle: {}
  CLAHE: 0.5
  Rotate:
    limit: ${cfg.limit}
"""


@pytest.mark.parametrize(
    ("text", "file", "lines"), [(UNKNOWN_PYTHON, "t.py", (4, 6, 7, 9, 10)), (UNKNOWN_YAML, "t.yaml", (3, 6, 8, 9, 10))]
)
def test_unknown_keys_are_named_with_their_line(text: str, file: str, lines: tuple[int, ...]) -> None:
    found = draft(text, file)
    lost = ["Flipp", "Blur.blurr", "Sparkle", "CLAHE.params", "Rotate"]
    assert left(found) == [*zip(lost, lines, strict=True)]
    assert names(found.recipe().steps) == ["HorizontalFlip", ("OneOf", ["Blur"]), "CLAHE"]


def test_several_are_named_and_a_compose_is_meant_before_a_mapping_of_its_form() -> None:
    two = f"{HEAD}model.train(aug_config=AUG_AERIAL)\nother.fit(aug_config={{'D4': {{}}}})"
    with pytest.raises(ar.RecipeError, match=r"several pipelines.*--key (tune|go)\.aug_config"):
        draft(two.replace("model.train", "model.tune").replace("other.fit", "other.go"))
    assert names(draft(two, key="fit.aug_config").recipe().steps) == ["D4"]
    table = "import albumentations as A\nKNOWN = {'D4': {}, 'Blur': {'p': 0.1}}\ntrain = A.Compose([A.Transpose()])"
    assert names(draft(table).recipe().steps) == ["Transpose"]


@pytest.mark.parametrize(
    "text", ["aug_config: {}", "aug_config: null", "aug_config: []", "augs: {D4: 3}", "steps: [D4: {}]"]
)
def test_what_is_no_aug_config_is_none(text: str) -> None:
    with pytest.raises(ar.RecipeError, match="nothing here that can be imported"):
        draft(text, "t.yaml")


@pytest.mark.parametrize("line", ["model.train(augmentations={})", "augs = {}\nmodel.train(augmentations=augs)"])
def test_a_list_with_groups_is_one_pipeline(line: str) -> None:
    steps = "[A.Blur(), A.OneOf([A.CLAHE(), A.ToGray()]), A.HorizontalFlip()]"
    found = draft(f"import albumentations as A\n{line.format(steps)}")
    assert [each.name for each in found.recipe().steps] == ["Blur", "OneOf", "HorizontalFlip"]


def test_lists_that_are_passed_are_found() -> None:
    found = draft("import albumentations as A\nmodel.train(data='d.yaml', augmentations=[A.Blur(p=0.1), A.D4()])")
    assert names(found.recipe().steps) == ["Blur", "D4"]
