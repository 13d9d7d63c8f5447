"""Steps written down as other frameworks' configs have them: what an importer must read back."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from augrecipes.recipe.model import Step

Node = dict[str, Any]


def arguments(step: Step) -> Node:
    """All that a class of albumentations is given: what recipes leave out, where its own default is another."""
    found = step.args.plain()
    if step.p is not None:
        found["p"] = step.p
    if step.name in ("OneOf", "Sequential"):
        found.setdefault("p", 1.0)
    if step.name == "RandomOrder":
        found.setdefault("n", len(step.steps))
    return found


def written(step: Step, key: str, package: str = "", inside: str = "") -> Node:
    """A step in a mapping: the class at a key, its arguments at another, or beside it."""
    args = arguments(step)
    if step.steps:
        args["transforms"] = [written(child, key, package, inside) for child in step.steps]
    return {key: package + step.name, **({inside: args} if inside and args else args)}


def _python(value: Any) -> str:
    """As MM frameworks write it: `dict(...)`, tuples and lists."""
    if isinstance(value, dict):
        if all(key.isidentifier() for key in value):
            return f"dict({', '.join(f'{key}={_python(each)}' for key, each in value.items())})"
        return f"{{{', '.join(f'{key!r}: {_python(each)}' for key, each in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_python, value))}]"
    return repr(value)


def _config(*form: str) -> Callable[[Sequence[Step]], str]:
    def dump(steps: Sequence[Step]) -> str:
        return json.dumps({"seed": 1, "data": {"train_transform": [written(step, *form) for step in steps]}}, indent=1)

    return dump


def _mm(steps: Sequence[Step]) -> str:
    listed = _python([written(step, "type") for step in steps])
    load = "[dict(type='LoadImageFromFile'), dict(type='LoadAnnotations', with_bbox=True)]"
    albu = "dict(type='Albu', transforms=albu_transforms, keymap={'img': 'image'})"
    norm = "dict(mean=[123.675, 116.28, 103.53], std=[58.395, 57.12, 57.375], to_rgb=True)"
    return (
        f"_base_ = './missing.py'\nalbu_transforms = {listed}\nimg_norm_cfg = {norm}\nbegin = {load}\n"
        f"train_pipeline = [*begin, {albu}, dict(type='Normalize', **img_norm_cfg), dict(type='Collect')]\n"
        "data = dict(samples_per_gpu=2, train=dict(type='CocoDataset', pipeline=train_pipeline))\n"
    )


# Name of a file in each dialect, and what writes it.
DIALECTS: dict[str, Callable[[Sequence[Step]], str]] = {
    "hydra.yaml": _config("_target_", "albumentations."),
    "lightning.yaml": _config("class_path", "albumentations.", "init_args"),
    "named.json": _config("name", "", "params"),
    "typed.yml": _config("type"),
    "mm.py": _mm,
}
