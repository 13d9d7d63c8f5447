"""What leaves a pipeline: Normalize, ToFloat and ToTensorV2 as `output:`, wherever among the steps they stood."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from augrecipes.interop.draft import Call, Item, LeftOut, Line, RecipeDraft, acting, line, takes_of
from augrecipes.ops.capabilities import capability
from augrecipes.ops.groups import COMPOSE, ONE_OF, SEQUENTIAL
from augrecipes.ops.outputs import OLD_TO_TENSOR, OUTPUTS, TO_FLOAT, TO_TENSOR
from augrecipes.recipe.keys import imagenet
from augrecipes.recipe.nodes import NOWHERE, Place
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


# Samples on their way through transforms of other libraries.


class Unheld(ValueError):  # noqa: N818 - a finding about one transform, not a fault
    """A setting that no recipe holds; the message says why, and what to do."""


def numbers(value: Any, what: str) -> list[float]:
    """A list of numbers, of one where there is one."""
    found = list(value) if isinstance(value, list | tuple) else [value]
    if not found or not all(isinstance(each, int | float) and not isinstance(each, bool) for each in found):
        raise Unheld(f"{what} must be a number, or a list of them, got {value!r}")
    return found


class Args(dict[str, Any]):
    """Arguments of a transform of another library; what is wrong with one is Unheld, one that is missing a KeyError."""

    def numbers(self, key: str, usual: Any = None) -> list[float]:
        """The numbers at a key, where nothing is said the usual ones."""
        return numbers(self[key] if usual is None else self.get(key, usual), key)

    def span(self, key: str, centre: float = 0.0, usual: Any = None) -> list[float]:
        """A range: two numbers as they are, one on both sides of the centre.

        >>> Args(degrees=25).span("degrees"), Args(a=[0, 90]).span("a"), Args(brightness=0.4).span("brightness", 1.0)
        ([-25, 25], [0, 90], [0.6, 1.4])
        """
        found = self.numbers(key, usual)
        if len(found) == 1:
            low, high = centre - found[0], centre + found[0]
            return [round(low, 10), round(high, 10)] if centre else [-found[0], found[0]]
        if len(found) != 2:
            raise Unheld(f"{key} must be a number or two, got {len(found)} of them")
        return found

    def spans(self, *keys: str) -> dict[str, list[float]]:
        """The ranges at these keys, of those that are there."""
        return {key: self.span(key) for key in keys if self.get(key) is not None}

    def size(self, key: str) -> tuple[int, int]:
        """Height and width; one number is both.

        >>> Args(size=224).size("size"), Args(size=(32, 64)).size("size")
        ((224, 224), (32, 64))
        """
        found = self.numbers(key)
        if len(found) > 2:
            raise Unheld(f"{key} must be one number or two, got {len(found)} of them")
        return int(found[0]), int(found[-1])


@dataclass(slots=True)
class SampleState:
    """The sample on its way, and the draft that is written.

    Attributes:
        draft: of the recipe.
        output: `output:` as it stands so far.
        scaled: values are 0..1 by now.
        normalized: mean and deviation were applied by now.
        sides: height and width that no image is below, px; None: nothing is known.
        place: of the transform at hand.
        rest: the transforms behind it.
        boxes: `inputs.boxes`; None: the pipeline has none.
        needs_mask: labels of every pixel are loaded.
    """

    draft: RecipeDraft
    output: dict[str, Any]
    scaled: bool = False
    normalized: bool = False
    sides: tuple[int, int] | None = None
    place: Place = NOWHERE
    rest: Sequence[Call] = ()
    boxes: dict[str, Any] | None = None
    needs_mask: bool = False

    def line(self, name: str, **args: Any) -> Line:
        """A step, without the arguments that its class has anyway."""
        return line(name, args, self.place)

    def finish(self, steps: list[Item]) -> None:
        """Put the steps, and what was learnt on the way, into the draft."""
        self.draft.steps, self.draft.keys["output"] = steps, self.output
        inputs: dict[str, Any] = {} if self.boxes is None else {"boxes": {"format": "pascal_voc", **self.boxes}}
        if self.needs_mask:
            inputs["mask"] = "required"
        if inputs:
            self.draft.keys["inputs"] = inputs


def photometric(change: Callable[[str], Line], place: Place) -> list[Item]:
    """Brightness, then contrast first or last of saturation and hue: the distortion of SSD, by what makes each."""

    def rest() -> list[Item]:
        return [change("saturation"), change("hue")]

    first = Line(SEQUENTIAL, {"p": 0.5}, place, [change("contrast"), *rest()])
    last = Line(SEQUENTIAL, {"p": 0.5}, place, [*rest(), change("contrast")])
    return [change("brightness"), Line(ONE_OF, {}, place, [first, last])]


Maker = Callable[[Args, SampleState], list[Item]]


def lines_by(made: Callable[[Call, SampleState], list[Item]], calls: Sequence[Call], sample: SampleState) -> list[Item]:
    """The calls as the lines that `made` makes; what has no place in a recipe is among them as left out.

    What is made of a group behind the normalisation is counted back by those that the group stands among.
    """
    found: list[Item] = []
    settled = sample.normalized
    for index, call in enumerate(calls):
        sample.place, sample.rest = call.place, calls[index + 1 :]
        behind = sample.normalized and not settled
        try:
            items = made(call, sample)
        except Unheld as error:
            items = [LeftOut(call.name, str(error), call.place)]
        except KeyError as error:
            items = [LeftOut(call.name, f"its argument {error.args[0]!r} is missing", call.place)]
        found += [each for item in items for each in placed_behind(item, sample.output)] if behind else items
    return found
