"""Conversion of a Compose to a draft: its steps, its boxes and keypoints, and its output."""

from collections.abc import Mapping
from dataclasses import fields, replace
from math import atan, degrees, sqrt
from typing import Any

from augrecipes.interop import outputs
from augrecipes.interop.albumentations import calls_by_name, is_old, lines
from augrecipes.interop.draft import FOREIGN, Call, Item, Line, RecipeDraft, argument_schemas, walk
from augrecipes.lint.record import along
from augrecipes.ops.constants import to_name
from augrecipes.ops.groups import COMPOSE, REPLAY_COMPOSE, SEQUENTIAL
from augrecipes.ops.outputs import OUTPUTS
from augrecipes.ops.records import op_record
from augrecipes.ops.registry import default_p
from augrecipes.recipe import history, nodes
from augrecipes.recipe.model import Boxes, Keypoints
from augrecipes.recipe.write import flow

_ONE_IMAGE = (
    "a recipe of kind image has one image, a mask, boxes and points: for images of the same scene write a recipe "
    "of kind pair; masks can be stacked as channels of one"
)
_PARAMS = {"bbox_params": ("boxes", Boxes), "keypoint_params": ("keypoints", Keypoints)}
_TARGETS = "additional_targets"
# Arguments of Compose that are converted below, and those that do not change samples.
_READ = ("p", *_PARAMS, _TARGETS, "seed", "mask_interpolation")
_SILENT = ("is_check_shapes", "strict", "save_applied_params", "return_params", "save_key", "always_apply")
_OUTERMOST = "only the outermost Compose can have it"
# Arguments of BboxParams and KeypointParams that recipes lack: the value that matches recipes, and why others do not.
_FIXED: dict[str, list[Any]] = FOREIGN["albumentations"]["params"]
# ElasticTransform's affine part, before release 1.4.12.
_OWNER, _ARGUMENT = "ElasticTransform", "alpha_affine"
_SHARED = ("interpolation", "border_mode", "fill", "fill_mask")
_WIDTH_RATIO = 1 / sqrt(2)  # a uniform range of this width has the variance of the difference of two of width 1


def convert(draft: RecipeDraft, call: Call) -> None:
    """Fill a draft from a Compose; a lone transform counts as a Compose of itself."""
    call = _with_names(call)
    if call.name != COMPOSE:
        call = Call(COMPOSE, {}, (call,), call.place)
    sample = outputs.SampleState(draft, {"dtype": "uint8", "layout": "hwc"}, cuts=True)
    sample.finish(outputs.convert_calls(_lines_of_call, call.children or (), sample))
    if not _is_valid("output", draft, call.place):
        draft.keys["output"] = {"dtype": "uint8", "layout": "hwc"}
        del draft.remarks["output"]
    _add_affines(draft)
    p = call.args.get("p", 1.0)
    if not isinstance(p, int | float) or not 0 <= p <= 1:
        draft.refuse("p", f"{flow(p)} is not a probability: the steps always act", call.place)
    elif p != 1 and any(isinstance(item, Line) for item in draft.steps):
        draft.steps = [Line(SEQUENTIAL, {"p": p}, call.place, draft.steps, ["p of the Compose"])]
        if last := draft.remarks.get("output"):
            name = last.removeprefix("was ").partition(",")[0]
            draft.note(f"The Compose acted with p {flow(p)} only; its {name} always does now.")
    draft.keys["inputs"] = sample.inputs | _inputs(call, draft)
    if not draft.keys["inputs"] or not _is_valid("inputs", draft, call.place):
        del draft.keys["inputs"]
    _note_defaults(call, draft)
    names = sorted({line.name for line in draft.lines() if line.steps is None and op_record(line.name).is_corrected})
    if names and "inputs" in draft.keys:
        draft.note(
            "Boxes and keypoints go where the pixels under them go; albumentations 2.0.8 does otherwise in "
            f"{', '.join(names)}: docs/DIFFERENCES.md."
        )
    for key, value in call.args.items():
        if key not in (*_READ, *_SILENT) and value is not None:
            draft.refuse(key, "no argument of Compose: take it out", call.place)
    for each in (each for each in call.walk() if each.name == COMPOSE):
        if _additional_targets(each):
            draft.refuse(_TARGETS, _ONE_IMAGE if each is call else _OUTERMOST, each.place)
        for key in _PARAMS if each is not call else ():
            if each.args.get(key):
                draft.refuse(key, _OUTERMOST, each.place)
    key, value = "mask_interpolation", call.args.get("mask_interpolation")
    for line in draft.lines() if value is not None else ():
        if line.steps is None and key in argument_schemas(line.name):
            line.args[key] = to_name(key, value)
    if (seed := call.args.get("seed")) is not None:
        draft.note(
            f"The seed {seed} is not part of a recipe: compile(seed={seed}). A.Compose(seed={seed}) gave each of its "
            "steps the same numbers, so that two flips with p 0.5 always acted together; here each draws for itself."
        )


def _with_names(call: Call) -> Call:
    """The call with named arguments of groups and outputs; a ReplayCompose, which only records draws, as Compose."""
    if call.name == REPLAY_COMPOSE:
        call = replace(call, name=COMPOSE, args={key: value for key, value in call.args.items() if key != "save_key"})
    if call.children is None and call.name not in OUTPUTS:
        return call
    call = next(calls_by_name(call), call)
    return call if call.children is None else replace(call, children=tuple(map(_with_names, call.children)))


def _is_valid(key: str, draft: RecipeDraft, place: nodes.Place) -> bool:
    """Whether a top-level key of the draft is valid; if not, its problems are refused."""
    problems = RecipeDraft("t", "", place, {key: draft.keys[key]}).problems()
    for problem in problems:
        draft.refuse(problem.name, problem.message, place)
    return not problems


def _additional_targets(call: Call) -> Any:
    """The additional targets of a Compose, without those that have their standard meaning."""
    targets = call.args.get(_TARGETS)
    return {key: value for key, value in targets.items() if key != value} if isinstance(targets, Mapping) else targets


def _inputs(call: Call, draft: RecipeDraft) -> dict[str, Any]:
    """The `inputs:` of a recipe from the bbox_params and keypoint_params of a Compose."""
    result: dict[str, Any] = {}
    for key, (name, model) in _PARAMS.items():
        params = call.args.get(key)
        if isinstance(params, Call):
            params = next(calls_by_name(params), params).args
        if isinstance(params, Mapping):
            result[name] = _params(params, model, name, draft, call.place)
        elif params is not None:
            draft.refuse(key, f"{params}: no {key}", call.place)
    return result


def _note_defaults(call: Call, draft: RecipeDraft) -> None:
    """Note the defaults that have changed if a part of the pipeline was written for an earlier release."""
    calls = [next(calls_by_name(each), each) for each in call.walk()]
    if not any(map(is_old, call.walk())):
        return
    more = {each.name: history.old_defaults(each.name, each.args, each.args) for each in calls if not is_old(each)}
    if others := sorted(f"{name}: {flow(values)}" for name, values in more.items() if values):
        draft.note(
            "A part of this was written for a release before 2.0, where steps that do not say which did otherwise than "
            f"today's: {', '.join(others)}. Here they do as today's: write what you want."
        )


def _lines_of_call(call: Call, sample: outputs.SampleState) -> list[Item]:
    """The lines of a call; a call that becomes the `output:` has none, even inside groups that always act."""
    if outputs.is_output(call):
        outputs.move_to_output(call, sample)
        return []
    if outputs.restores_uint16(call, sample):
        sample.output["dtype"] = "uint16"
        return []
    usual = {COMPOSE: 1.0, SEQUENTIAL: 0.5}.get(call.name)
    if usual and call.args.get("p", usual) == 1 and any(each.name in OUTPUTS for each in call.walk()):
        return outputs.convert_calls(_lines_of_call, call.children or (), sample)
    return lines([call])


def _params(
    params: Mapping[str, Any], model: type[Boxes] | type[Keypoints], name: str, draft: RecipeDraft, place: nodes.Place
) -> dict[str, Any]:
    """The value for `inputs:` from BboxParams or KeypointParams."""
    known = {field.name for field in fields(model)}
    result: dict[str, Any] = {"labels": None}
    for key, value in params.items():
        if key == "label_fields":
            labels = [value] if isinstance(value, str) else value or [None]
            result["labels"] = labels[0]
            if len(labels) > 1:
                why = f"has {len(labels)} label fields, and recipes know one ({labels[0]}): join them into one label"
                draft.refuse(key, why, place)
        elif key in known:
            result[key] = value
        elif key in _FIXED:
            usual, why = _FIXED[key]
            if value != usual:
                draft.refuse(key, f"{flow(value)}: {why}", place)
        elif value is not None and key != "__class_fullname__":
            draft.refuse(key, f"no key of `inputs: {{{name}: ...}}`", place)
    return result


def affine_of(pixels: float, height: float, width: float) -> dict[str, Any]:
    """Arguments of Affine that match ElasticTransform's former affine part.

    That mapped three points, a third of the shorter side from the centre, each displaced by up to `pixels`.

    >>> affine_of(20, 300, 300)["scale"]["x"], affine_of(20, 300, 300)["translate_px"]["x"]
    ([0.859, 1.141], [-14, 14])
    """
    part = _WIDTH_RATIO * pixels / (min(height, width) // 3)
    turn, shift = round(degrees(atan(part)), 2), round(_WIDTH_RATIO * pixels)
    scale = [round(1 - part, 3), round(1 + part, 3)]
    both: dict[str, Any] = {"scale": scale, "shear": [-turn, turn], "translate_px": [-shift, shift]}
    return {key: {"x": value, "y": list(value)} for key, value in both.items()}


def _add_affines(draft: RecipeDraft) -> None:
    """Insert an Affine before each ElasticTransform that had an affine part, if the image size is known there."""
    if not any(_ARGUMENT in line.unsupported for line in draft.lines()):
        return
    recipe = draft.recipe()
    tops = [item for item in draft.steps if isinstance(item, Line)]
    for top, (_, size, behind) in zip(tops, along(recipe, recipe.steps), strict=True):
        for line in [*walk([top])] if size.exact and size == behind else ():
            pixels, _ = line.unsupported.get(_ARGUMENT, (None, ""))
            if not isinstance(pixels, int | float):
                continue
            del line.unsupported[_ARGUMENT]
            shared = {key: line.args[key] for key in _SHARED if key in line.args}
            affine = Line("Affine", {**affine_of(pixels, *size.low), **shared, "p": 1.0}, line.place)
            elastic = replace(line, args={**line.args, "p": 1.0})
            line.name, line.steps = SEQUENTIAL, [affine, elastic]
            line.args = {"p": line.args.get("p", default_p(_OWNER))}
            line.comments, line.unsupported = [f"{_ARGUMENT}: {flow(pixels)} as an Affine that moves pixels as far"], {}
