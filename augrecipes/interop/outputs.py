"""What leaves a pipeline: Normalize, ToFloat and ToTensorV2 as `output:`, wherever among the steps they stood."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from augrecipes.interop.draft import Call, Item, LeftOut, Line, RecipeDraft, acting, takes_of
from augrecipes.ops.capabilities import capability
from augrecipes.ops.groups import COMPOSE, SEQUENTIAL
from augrecipes.ops.outputs import OLD_TO_TENSOR, OUTPUTS, TO_FLOAT, TO_TENSOR
from augrecipes.recipe.keys import imagenet
from augrecipes.recipe.write import flow

_FULL = 255.0


def opened(calls: Sequence[Call]) -> list[Call]:
    """The calls, those of a Compose or Sequential that always acts and holds an output in place of it."""
    found: list[Call] = []
    for call in calls:
        inside = call.children or ()
        whole = call.name in (COMPOSE, SEQUENTIAL) and call.args.get("p", 1.0 if call.name == COMPOSE else 0.5) == 1
        if whole and any(each.name in OUTPUTS for each in call.walk()):
            found += opened(inside)
        else:
            found.append(call)
    return found


def is_last(call: Call) -> bool:
    """Whether `output:` does its work: it acts on every sample."""
    return (
        call.name in OUTPUTS
        and not call.unread
        and (call.args.get("p", 1.0) == 1 or call.args.get("always_apply") is True)
    )


def output_of(calls: Sequence[Call], draft: RecipeDraft) -> dict[str, Any]:
    """`output:` of the calls for which `is_last` holds."""
    output: dict[str, Any] = {"dtype": "uint8", "layout": "hwc"}
    was: list[str] = []
    for call in calls:
        try:
            found = _one(call)
        except (TypeError, KeyError):
            found = f"{flow(call.args)}: mean and std are numbers, one or one a channel"
        if call.name == TO_TENSOR and call.args.get("transpose_mask"):
            draft.note("transpose_mask turned masks of several channels; here they stay H×W×C.")
        if call.name == OLD_TO_TENSOR and output["dtype"] != "uint8" and not call.args.get("normalize"):
            found = {"layout": "chw"}  # it scaled integers alone
        if isinstance(found, str):
            draft.refuse(call.name, found, call.place)
        elif output["dtype"] != "uint8" and "dtype" in found:
            draft.refuse(call.name, "values are scaled already; leave one of the two out", call.place)
        else:
            output |= found
            was.append(call.name)
    if was:
        draft.remarks["output"] = f"was {', '.join(was)}"
    return output


def _one(call: Call) -> dict[str, Any] | str:
    """What one call does to the output, or why it cannot."""
    args = {key: value for key, value in call.args.items() if value is not None}
    if call.name == TO_TENSOR:
        return {"layout": "chw"}
    if call.name == OLD_TO_TENSOR:
        scaled = {"dtype": "float32", "layout": "chw"}
        how = args.get("normalize")
        return scaled if not how else {**scaled, "normalize": {"mean": how["mean"], "std": how["std"]}}
    if call.name == TO_FLOAT:
        top = args.get("max_value", _FULL)
        if top == _FULL:
            return {"dtype": "float32"}
        if top == 1:
            return {"dtype": "float32", "range": [0, 255]}
        return f"max_value: {flow(top)}: images arrive with 8 bits, whose largest value is 255; convert others first"
    kind = args.get("normalization", "standard")
    if kind != "standard":
        return (
            f"normalization: {kind} takes the statistics of each image, `output:` those of all: give `normalize: "
            "{mean, std}`, or write a class and make it known with augrecipes.register(cls)"
        )
    return {"dtype": "float32", "normalize": _normalize(args)}


def _normalize(args: Mapping[str, Any]) -> Any:
    """Mean and standard deviation of values in 0..1."""
    usual = imagenet("rgb")
    top = args.get("max_pixel_value", _FULL)
    mean, std = args.get("mean", list(usual.mean)), args.get("std", list(usual.std))
    if top != _FULL:
        mean, std = _times(mean, top / _FULL), _times(std, top / _FULL)
    return {"mean": mean, "std": std}


def _times(values: Any, factor: float) -> Any:
    return [value * factor for value in values] if isinstance(values, list) else values * factor


def placed_behind(item: Item, output: dict[str, Any]) -> list[Item]:
    """What stood behind the normalisation as it is in front of it; of a group, what is left of it."""
    found = behind(item, output)
    return acting(found) if isinstance(found, Line) and found.steps is not None else [found]


def behind(item: Item, output: Mapping[str, Any]) -> Item:
    """A step that stood behind the normalisation, as it is in front of it.

    What only moves pixels stays, with the values that it fills in counted in levels; what changes their values saw
    other ones there.
    """
    if isinstance(item, LeftOut):
        return item
    record = capability(item.name)
    if item.steps is None and (record is None or "mask" not in record.targets):
        why = "stood behind the normalisation, and works on 0..255 in a recipe: put it in front"
        return LeftOut(item.name, why, item.place)
    if item.steps is not None:
        item.steps = [behind(inner, output) for inner in item.steps]
        return item
    takes = takes_of(item.name)
    default = takes.get("fill", {}).get("default")
    fill = item.args.get("fill", default)
    border = item.args.get("border_mode", takes.get("border_mode", {}).get("default", "constant"))
    if isinstance(fill, int | float | list) and border == "constant":
        item.args["fill"] = _levels(fill, output)
        item.beside.append(f"fill: {flow(fill)} behind the normalisation")
    return item


def _levels(fill: Any, output: Mapping[str, Any]) -> Any:
    """A value behind the normalisation as a level of 0..255: a whole one, as steps cut off what is behind the point."""
    normalize = output.get("normalize")
    if normalize is None:
        scale = 1.0 if output.get("range") == [0, 255] else _FULL
        return _times(fill, scale)
    each = [value if isinstance(value, list) else [value] for value in (fill, normalize["mean"], normalize["std"])]
    count = max(map(len, each))
    fills, means, stds = (values * count if len(values) == 1 else values for values in each)
    made = [round(_FULL * (f * std + mean)) for f, mean, std in zip(fills, means, stds, strict=False)]
    return made if count > 1 else made[0]
