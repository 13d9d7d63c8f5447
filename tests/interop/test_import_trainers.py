"""What trainers are given beside a Compose: RF-DETR's aug_config, timm's and torchvision's MixUp and CutMix, code."""

import json
from dataclasses import replace
from typing import Any

import albumentations as A
import numpy as np
import pytest

import augrecipes as ar
from augrecipes.interop.draft import FOREIGN
from augrecipes.interop.importing import of_document
from augrecipes.interop.reading import of_text
from augrecipes.recipe.parse import parse_text

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
MIXED: dict[str, tuple[str, str, list[str]]] = {  # the source, `batch:`, what is named
    "both": (
        f"{TIMM}m = Mixup(mixup_alpha=0.8, cutmix_alpha=1.0, prob=0.9, switch_prob=0.25, label_smoothing=0)",
        "OneOf: {p: 0.9, steps: [MixUp: {alpha: 0.8, p: 0.75}, CutMix: {p: 0.25}]}",
        [],
    ),
    "by place": (f"{TIMM}m = Mixup(0.2, 0.0, None, 0.5, label_smoothing=0.0)", "MixUp: {alpha: 0.2, p: 0.5}", []),
    "cut": (f"{TIMM}m = Mixup(0, 0.5, label_smoothing=0, num_classes=7)", "CutMix: {alpha: 0.5, classes: 7}", []),
    "classes of the data": (f"{TIMM}m = Mixup(.2, num_classes=args.n, label_smoothing=0)", "MixUp: {alpha: 0.2}", []),
    "what recipes have not": (
        f"{TIMM}m = Mixup(0.2, mode='elem', correct_lam=False, cutmix_minmax=[.2, .8])",
        "OneOf: {steps: [MixUp: {alpha: 0.2, p: 0.5}, CutMix: {p: 0.5}]}",
        ["MixUp.mode", "MixUp.cutmix_minmax", "MixUp.correct_lam", "MixUp.label_smoothing"],
    ),
    "in the collate function, too": (
        f"{TIMM}from timm.data import FastCollateMixup\nm = dict(mixup_alpha=.2, label_smoothing=0.)\n"
        "mixed = FastCollateMixup(**m) if cfg.prefetch else Mixup(**m)\nalso = Mixup(**m)",
        "MixUp: {alpha: 0.2}",
        [],
    ),
    "off": (f"{TIMM}m = Mixup(0.0, 0.0, label_smoothing=0)", "", []),
    "torchvision": (
        f"{VISION}cutmix = v2.CutMix(num_classes=N)\n"
        "mixup = v2.MixUp(alpha=0.2, num_classes=9, labels_getter=lambda b: b[1])\n"
        "either = v2.RandomChoice([cutmix, mixup], p=[1, 3])\n"
        "def collate(batch):\n  return either(*default_collate(batch))",
        f"OneOf: {{steps: [CutMix: {{{ROLL}, p: 0.25}}, MixUp: {{alpha: 0.2, {ROLL}, classes: 9, p: 0.75}}]}}",
        [],
    ),
    "now and then": (f"{VISION}m = v2.RandomApply([v2.MixUp()], p=.3)", f"MixUp: {{{ROLL}, p: 0.3}}", []),
    "several": (f"{VISION}a = v2.CutMix()\nb = v2.MixUp()", "", ["CutMix", "MixUp"]),
    "what is not known": (f"{VISION}b = v2.MixUp(alpha=args.alpha)", "", ["MixUp"]),
    "an argument that is none": (f"{VISION}b = v2.MixUp(alpha='much')", "", ["MixUp"]),
    "a choice of others, too": (f"{VISION}b = v2.RandomChoice([v2.MixUp(), v2.RandomErasing()])", "", ["OneOf"]),
    "among steps": (VISION.replace("96)", "96), v2.MixUp()"), "", ["MixUp"]),
    "behind a test": (f"{VISION}if args.mix:\n  b = v2.MixUp()", f"MixUp: {{{ROLL}}}", []),
    "made behind a test": (
        f"{VISION}each = [v2.MixUp()]\nif args.cut:\n  each.append(v2.CutMix())\nb = v2.RandomChoice(each)",
        f"OneOf: {{steps: [MixUp: {{{ROLL}, p: 0.5}}, CutMix: {{{ROLL}, p: 0.5}}]}}",
        ["if"],
    ),
}


@pytest.mark.parametrize("name", MIXED)
def test_what_mixes_batches_is_batch_or_is_named(name: str) -> None:
    text, batch, lost = MIXED[name]
    found = draft(text)
    found.complete()
    assert [each.name for each in found.left_out()] == lost
    assert all(each.line > 1 for each in found.left_out())
    assert found.recipe().batch == (batch_of(batch) if batch else ())
    assert any("take it out of the training loop" in note for note in found.notes) == bool(batch)


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
NESTED: dict[str, dict[str, Any]] = {
    "HorizontalFlip": {"p": 0.5},
    "OneOf": {
        "transforms": [
            {"Blur": {"p": 1.0}},
            {
                "Sequential": {
                    "transforms": [{"Rotate": {"limit": 9}}, {"SomeOf": {"n": 1, "transforms": [{"D4": {}}]}}]
                }
            },
        ],
        "p": 0.3,
    },
}
READ = ["HorizontalFlip", ("OneOf", ["Blur", ("Sequential", ["Rotate", ("SomeOf", ["D4"])])])]
# How people write it: the file, its text, and what its path is.
FORMS: dict[str, tuple[str, str]] = {
    "passed": ("t.py", f"{HEAD}model.train(dataset_dir='d', aug_config={NESTED})"),
    "passed in a function": ("t.py", f"{HEAD}def main(args):\n  model.train(dataset_dir='d', aug_config={NESTED})"),
    "assigned, then passed": ("t.py", f"{HEAD}AUG = {NESTED}\nmodel.train(aug_config=AUG, epochs=3)"),
    "assigned alone": ("t.py", f"aug_config = {NESTED}"),
    "by any name": ("t.py", f"MINE = {NESTED}"),
    "as a keyword of a config": ("t.py", f"{HEAD}c = TrainConfig(dataset_dir='d', aug_config={NESTED})"),
    "in keywords": ("t.py", f"kwargs = dict(epochs=3, aug_config={NESTED})\nmodel.train(**kwargs)"),
    "as a list": ("t.py", f"model.train(aug_config={[{name: args} for name, args in NESTED.items()]})"),
    "JSON": ("t.json", json.dumps({"train": {"aug_config": NESTED}})),
    "the whole of a file": ("t.json", json.dumps(NESTED)),
    "YAML": (
        "t.yaml",
        "aug_config:\n  HorizontalFlip: {p: 0.5}\n  OneOf:\n    p: 0.3\n    transforms:\n    - Blur: {p: 1.0}\n"
        "    - Sequential:\n        transforms:\n        - Rotate: {limit: 9}\n"
        "        - SomeOf: {n: 1, transforms: [D4: {}]}\n",
    ),
    "shorthand": ("t.json", json.dumps({"aug_config": {**NESTED, "OneOf": NESTED["OneOf"]["transforms"]}})),
}  # fmt: skip


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
