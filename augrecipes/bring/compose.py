"""A Compose as a draft: its steps, what its boxes and points are, and what leaves it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from augrecipes.bring import last
from augrecipes.bring.calls import Call
from augrecipes.bring.draft import Item, Line, RecipeDraft
from augrecipes.bring.steps import lines
from augrecipes.ops import registry
from augrecipes.ops.constants import to_name
from augrecipes.ops.groups import COMPOSE, SEQUENTIAL
from augrecipes.ops.outputs import TO_TENSOR
from augrecipes.recipe.model import Boxes, Keypoints
from augrecipes.recipe.nodes import Place
from augrecipes.recipe.write import flow

_ONE_PICTURE = (
    "a recipe of kind image has one picture, a mask, boxes and points: for pictures of the same scene write a recipe "
    "of kind pair; masks can be stacked as channels of one"
)
# Arguments of Compose that are told apart below, and those that change no sample.
_READ = ("p", "bbox_params", "keypoint_params", "additional_targets", "seed", "mask_interpolation")
_SILENT = ("is_check_shapes", "strict", "save_applied_params", "return_params", "save_key", "always_apply")
_OUTERMOST = "only the outermost Compose can have it"
# Arguments of BboxParams and KeypointParams that recipes do not have, and the value that means what recipes do.
_FIXED = {
    "check_each_transform": (True, "boxes and points are always checked after each step"),
    "filter_invalid_bboxes": (False, "boxes that are no boxes are an error; take them out of the data"),
    "max_accept_ratio": (None, "boxes of any proportions are kept; take others out of the data"),
    "angle_in_degrees": (True, "angles of points are in degrees"),
}


def fill(draft: RecipeDraft, call: Call) -> None:
    """Put what a Compose does into a draft; a lone transform is a Compose of itself."""
    if call.name != COMPOSE:
        call = Call(COMPOSE, {}, (call,), call.place)
    inside = last.opened(call.children or ())
    ends = [each for each in inside if last.is_last(each)]
    draft.keys["output"] = last.output_of(ends, draft)
    draft.steps = _steps(inside, draft)
    p = call.args.get("p", 1.0)
    if p != 1:
        draft.steps = [Line(SEQUENTIAL, {"p": p}, call.place, draft.steps, ["p of the Compose"])]
        if ends:
            draft.note(f"The Compose acted with p {flow(p)} only; its {ends[0].name} always does now.")
    inputs = {
        name: _params(params, model, name, draft, call.place)
        for key, name, model in (("bbox_params", "boxes", Boxes), ("keypoint_params", "keypoints", Keypoints))
        if (params := call.args.get(key)) is not None
    }
    if inputs:
        draft.keys["inputs"] = inputs
    if call.args.get("additional_targets"):
        draft.refuse("additional_targets", _ONE_PICTURE, call.place)
    for key, value in call.args.items():
        if key not in (*_READ, *_SILENT) and value is not None:
            draft.refuse(key, "no argument of Compose: take it out", call.place)
    for inner in (each for child in call.children or () for each in child.walk() if each.name == COMPOSE):
        for key in ("bbox_params", "keypoint_params", "additional_targets"):
            if inner.args.get(key):
                draft.refuse(key, _OUTERMOST, inner.place)
    _masks(draft, call.args.get("mask_interpolation"))
    seed = call.args.get("seed")
    if seed is not None:
        draft.note(
            f"The seed {seed} is no part of a recipe: compile(seed={seed}). A.Compose(seed={seed}) gave each of its "
            "steps the same numbers, so that two flips with p 0.5 always acted together; here each draws for itself."
        )


def _masks(draft: RecipeDraft, interpolation: Any) -> None:
    """Let every step resample masks as the Compose has it."""
    if interpolation is None:
        return
    key = "mask_interpolation"
    for line in draft.lines():
        takes = (registry.arguments(line.name) or {"properties": {}})["properties"]
        if line.steps is None and key in takes:
            line.args[key] = to_name(key, interpolation)


def _steps(calls: list[Call], draft: RecipeDraft) -> list[Item]:
    """The lines of all calls but the last ones; those behind a normalisation as they are in front of it."""
    found: list[Item] = []
    scaled = False
    for call in calls:
        if last.is_last(call):
            scaled = scaled or call.name != TO_TENSOR
            continue
        made = lines([call])
        found += [last.behind(item, draft.keys["output"]) for item in made] if scaled else made
    return found


def _params(
    params: Mapping[str, Any], model: type[Boxes] | type[Keypoints], name: str, draft: RecipeDraft, place: Place
) -> dict[str, Any]:
    """BboxParams or KeypointParams as `inputs:` has them."""
    known = {field.name for field in fields(model)}
    found: dict[str, Any] = {"labels": None}
    for key, value in params.items():
        if key == "label_fields":
            labels = value or [None]
            found["labels"] = labels[0]
            if len(labels) > 1:
                why = f"has {len(labels)} label fields, and recipes know one ({labels[0]}): join them into one label"
                draft.refuse(key, why, place)
        elif key in known:
            found[key] = value
        elif key in _FIXED:
            usual, why = _FIXED[key]
            if value != usual:
                draft.refuse(key, f"{flow(value)}: {why}", place)
        elif value is not None and key != "__class_fullname__":
            draft.refuse(key, f"no key of `inputs: {{{name}: ...}}`", place)
    return found
