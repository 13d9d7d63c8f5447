"""Signatures of every release since 1.0.0: what any of them saved, with the defaults of its time, is imported."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from support.every_class import _NEEDED

from augrecipes.interop.draft import RecipeDraft
from augrecipes.interop.objects import draft_of_saved
from augrecipes.interop.reading import of_text
from augrecipes.ops import registry
from augrecipes.recipe import history

# Class, first and last release with these arguments, and their defaults. Those of classes that recipes refuse are not
# among them; `<required>` stands for what has no default.
RELEASES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "albumentations_releases.json").read_text())
NEEDED = {
    **_NEEDED,
    "RandomResizedCrop": {"height": 8, "width": 9, "size": [8, 9]},
    "RandomSizedCrop": {"min_max_height": [8, 9], "height": 8, "width": 9, "size": [8, 9]},
    "IAACropAndPad": {"px": 3},
}
# Of several arguments without a default of their own, one must be given.
ALSO = {name: NEEDED[name] for name in ("CropAndPad", "LongestMaxSize", "SmallestMaxSize", "IAACropAndPad")}
OUTPUTS = ("Normalize", "ToFloat", "ToTensorV2")


def imported(entry: dict[str, Any], *, always: bool = False) -> RecipeDraft:
    """The draft of one class as `A.save` of its time wrote it."""
    name, args = entry["class"], dict(entry["arguments"])
    args |= {key: NEEDED[name][key] for key, value in args.items() if value == "<required>"}
    args |= {key: value for key, value in ALSO.get(name, {}).items() if key in args}
    if entry["last"] < "2":
        args["always_apply"] = always
    p = 1.0 if name in OUTPUTS else 0.5
    step = {"__class_fullname__": name, **args, "p": p}
    whole = {"__class_fullname__": "Compose", "p": 1.0, "transforms": [step], "bbox_params": None}
    return draft_of_saved(of_text(json.dumps({"__version__": entry["first"], "transform": whole}), "saved.json"))


@pytest.mark.parametrize("entry", RELEASES, ids=lambda entry: f"{entry['class']} {entry['first']}-{entry['last']}")
def test_every_class_of_every_release(entry: dict[str, Any]) -> None:
    for always in (False, True):
        draft = imported(entry, always=always)
        affine = entry["arguments"].get("alpha_affine")  # of images whose size nothing tells
        assert [left.name for left in draft.left_out()] == ["ElasticTransform.alpha_affine"] * bool(affine)
        recipe = draft.recipe()
        if entry["class"] in OUTPUTS:
            assert recipe.steps == ()
            continue
        (step,) = recipe.steps
        assert step.name == history.CLASSES.get(entry["class"], "OneOf" if entry["class"] == "Flip" else entry["class"])
        wanted = 1.0 if always and entry["last"] < "2" else 0.5
        assert registry.default_p(step.name) == wanted if step.p is None else step.p == wanted
        # Whatever has another name today, and says something, is told at the line.
        text = draft.to_yaml()
        takes = (registry.arguments(step.name) or {"properties": {}})["properties"]
        for name, value in entry["arguments"].items():
            if value not in (None, "<required>") and name not in takes:
                assert f"{name}: " in "".join(re.split("# was|# left out", text)[1:]), text


@pytest.mark.parametrize("table", ["RENAMED", "JOINED", "CONVERTED"])
def test_a_planted_fault_is_found(monkeypatch: pytest.MonkeyPatch, table: str) -> None:
    """Were a table empty, some release would not be imported."""
    monkeypatch.setattr(history, table, {})
    failed = 0
    for entry in RELEASES:
        draft = imported(entry)
        failed += bool(draft.left_out()) and "alpha_affine" not in entry["arguments"]
    assert failed
