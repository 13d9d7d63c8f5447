"""Conversion of Normalize, ToFloat and ToTensorV2 to `output:`, wherever they stand among the steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from augrecipes.interop.draft import FOREIGN, Call, Item, LeftOut, Line, RecipeDraft, acting, argument_schemas
from augrecipes.ops import groups, records
from augrecipes.ops.outputs import OLD_TO_TENSOR, OUTPUTS, TO_FLOAT, TO_TENSOR
from augrecipes.recipe.history import CLASSES
from augrecipes.recipe.nodes import NOWHERE, Place
from augrecipes.recipe.outputs import imagenet
from augrecipes.recipe.write import flow

_FULL, _MOST = 255.0, 65535.0  # full scale of 8 and of 16 bits
_MOVED: dict[str, list[str]] = FOREIGN["behind_normalization"]  # classes that may move before the normalisation
_SUMS = (None, "weighted_average")  # methods of ToGray whose weights sum to 1
_CUT = (
    "A filter stood behind the normalisation. albumentations 2.0.8 cuts what it leaves there to 0..1, so that most of "
    "the image is black or white; here it runs on levels, and nothing is cut."
)


class Unsupported(ValueError):  # noqa: N818 - a finding about one transform, not a fault
    """A setting that no recipe can hold; the message has the reason and the cure."""


def is_output(call: Call) -> bool:
    """Whether a call becomes part of `output:`: a normalisation or conversion that acts on every sample."""
    always = call.args.get("p", 1.0) == 1 or call.args.get("always_apply") is True
    return call.name in OUTPUTS and not call.unread and always


def restores_uint16(call: Call, sample: SampleState) -> bool:
    """Whether a call converts images that were read with 16 bits back from 0..1, which `output:` does, too."""
    usual = call.args.get("dtype") == "uint16" and call.args.get("max_value") in (None, _MOST)
    return call.name == "FromFloat" and usual and sample.inputs == {"depth": 16} and "normalize" not in sample.output


def move_to_output(call: Call, sample: SampleState) -> None:
    """Add the effect of a call for which `is_output` holds to `output:`; Unsupported if it cannot be expressed."""
    args = {key: value for key, value in call.args.items() if value is not None}
    try:
        result = _output_of(call.name, args, scaled=sample.normalized)
    except (TypeError, KeyError):
        raise Unsupported(f"{flow(call.args)}: mean and std are numbers, one or one a channel") from None
    if sample.normalized and "dtype" in result:
        raise Unsupported("values are scaled already; leave one of the two out")
    if call.name == TO_TENSOR and args.get("transpose_mask"):
        sample.draft.note("transpose_mask turned masks of several channels; here they stay H×W×C.")
    sample.output |= result
    sample.inputs |= depth_of(call.name, args)
    sample.normalized = sample.normalized or "dtype" in result
    was = sample.draft.remarks.get("output")
    sample.draft.remarks["output"] = f"{was}, {call.name}" if was else f"was {call.name}"


def _output_of(name: str, args: Mapping[str, Any], *, scaled: bool) -> dict[str, Any]:
    """The keys of `output:` for one call; Unsupported if it cannot be expressed."""
    how = args.get("normalize")
    if name == TO_TENSOR or (name == OLD_TO_TENSOR and scaled and not how):  # the old one scaled only integers
        return {"layout": "chw"}
    if name == OLD_TO_TENSOR:
        normalize = {"normalize": {"mean": how["mean"], "std": how["std"]}} if how else {}
        return {"dtype": "float32", "layout": "chw", **normalize}
    if name == TO_FLOAT:
        top = args.get("max_value", _FULL)
        if top not in (1, _FULL) and not depth_of(name, args):
            raise Unsupported(
                f"max_value: {flow(top)}: images arrive with 8 bits, whose largest value is 255, or with 16 and up to "
                "65535; convert others first"
            )
        return {"dtype": "float32"} | ({"range": [0, 255]} if top == 1 else {})
    if (kind := args.get("normalization", "standard")) != "standard":
        raise Unsupported(
            f"normalization: {kind} takes the statistics of each image, `output:` those of all: give `normalize: "
            "{mean, std}`, or write a class and register it with augrecipes.register(cls)"
        )
    top, usual = args.get("max_pixel_value", _FULL), imagenet("rgb")
    result = {"mean": args.get("mean", [*usual.mean]), "std": args.get("std", [*usual.std])}
    if top != _FULL and not depth_of(name, args):
        result = {key: _times(value, top / _FULL) for key, value in result.items()}
    return {"dtype": "float32", "normalize": result}


def depth_of(name: str, args: Mapping[str, Any]) -> dict[str, Any]:
    """The `inputs:` for images that a call scales: 16 bits if its largest value has more than 8.

    >>> depth_of("ToFloat", {"max_value": 4095}), depth_of("Normalize", {"max_pixel_value": 255.0})
    ({'depth': 16, 'range': [0, 4095]}, {})
    """
    top = args.get("max_value" if name == TO_FLOAT else "max_pixel_value")
    if name == TO_FLOAT and isinstance(top, int | float) and _FULL < top < _MOST:
        return {"depth": 16, "range": [0, top]}
    return {"depth": 16} if top == _MOST else {}


def _times(values: Any, factor: float) -> Any:
    return [value * factor for value in values] if isinstance(values, list) else values * factor


def _before_normalization(item: Item, call: Call, sample: SampleState) -> Item:
    """Move a step from after the normalisation to before it; a LeftOut if its effect would change.

    y = (x / 255 - mean) / std preserves averages and order within a channel. So steps that only move pixels can be
    moved, with fill values converted to levels, and so can filters that average or select pixels. Steps that mix
    channels can if all channels have the same mean and std. If values were only scaled to 0..1, every class can.
    """
    if isinstance(item, LeftOut):
        return item
    if item.steps is not None:
        item.steps = [_before_normalization(inner, call, sample) for inner in item.steps]
        return item
    name, normalize = item.name, sample.output.get("normalize")
    takes, is_scaled = argument_schemas(name), normalize is None and sample.cuts and "range" not in sample.output
    is_old = any(_counts_levels(each) for each in call.walk() if CLASSES.get(each.name, each.name) == name)
    grey = normalize is not None and all(not isinstance(each, list) or len({*each}) == 1 for each in normalize.values())
    if "mask" not in records.op_record(name).targets:
        mixes = name in _MOVED["mixing of channels"] and grey and item.args.get("method") in _SUMS
        alike = is_scaled and not is_old and name not in _MOVED["unlike in floats"]
        if not (name in _MOVED["filters"] or mixes or alike):
            why = "stood behind the normalisation, and works on 0..255 in a recipe: put it in front"
            return LeftOut(name, why, item.place)
        item.comments.append("stood behind the normalisation")
        if sample.cuts and not is_scaled and name in _MOVED["cut"]:
            sample.draft.note(_CUT)
        return item
    usual = {"border_mode": "constant"} | {key: each["default"] for key, each in takes.items() if "default" in each}
    border = item.args.get("border_mode", usual["border_mode"])
    for key in (key for key in ("fill", "drop_value") if key in takes and border == "constant"):
        fill = item.args.get(key, usual.get(key))
        if isinstance(fill, int | float | list):
            item.args[key] = _levels(fill, sample.output)
            item.comments.append(f"{key}: {flow(fill)} behind the normalisation")
    return item


def _counts_levels(call: Call) -> bool:
    """Whether a call has arguments of an old release, whose classes took levels even for float images."""
    return call.name in CLASSES or any(f"{call.name}.{key}" in _MOVED["levels"] for key in call.args)


def _levels(fill: Any, output: Mapping[str, Any]) -> Any:
    """A normalised value as a level of 0..255, rounded, since steps truncate fractions."""
    normalize = output.get("normalize")
    if normalize is None:
        return _times(fill, 1.0 if output.get("range") == [0, 255] else _FULL)
    each = [value if isinstance(value, list) else [value] for value in (fill, normalize["mean"], normalize["std"])]
    count = max(map(len, each))
    columns = (values * count if len(values) == 1 else values for values in each)
    levels = [round(_FULL * (level * std + mean)) for level, mean, std in zip(*columns, strict=False)]
    return levels if count > 1 else levels[0]


# The state of a sample between transforms of other libraries.


def numbers(value: Any, what: str) -> list[float]:
    """A number or list of numbers as a list."""
    result = list(value) if isinstance(value, list | tuple) else [value]
    if not result or not all(isinstance(each, int | float) and not isinstance(each, bool) for each in result):
        raise Unsupported(f"{what} must be a number, or a list of them, got {value!r}")
    return result


class Args(dict[str, Any]):
    """Arguments of another library's transform: Unsupported for an invalid one, KeyError for a missing one."""

    def numbers(self, key: str, usual: Any = None) -> list[float]:
        """The numbers at a key, by default `usual`."""
        return numbers(self[key] if usual is None else self.get(key, usual), key)

    def span(self, key: str, centre: float = 0.0, usual: Any = None) -> list[float]:
        """A range: two numbers as they are, or one number on both sides of the centre.

        >>> Args(degrees=25).span("degrees"), Args(a=[0, 90]).span("a"), Args(brightness=0.4).span("brightness", 1.0)
        ([-25, 25], [0, 90], [0.6, 1.4])
        """
        result = self.numbers(key, usual)
        if len(result) == 1:
            low, high = centre - result[0], centre + result[0]
            return [round(low, 10), round(high, 10)] if centre else [-result[0], result[0]]
        if len(result) != 2:
            raise Unsupported(f"{key} must be a number or two, got {len(result)} of them")
        return result

    def ends(self, key: str, usual: Any = None) -> list[float]:
        """The first and the last number at a key."""
        result = [float(each) for each in self.numbers(key, usual)]
        return [result[0], result[-1]]

    def spans(self, *keys: str) -> dict[str, list[float]]:
        """The ranges at those of these keys that are present."""
        return {key: self.span(key) for key in keys if self.get(key) is not None}

    def named(self, key: str, known: Mapping[str, str], usual: str) -> str:
        """Our name of the value at a key: a name, an enum member, or a number.

        >>> Args(mode="InterpolationMode.BICUBIC").named("mode", {"bicubic": "cubic"}, "bilinear")
        'cubic'
        """
        name = str(self.get(key, usual)).rpartition(".")[2].lower()
        if name not in known:
            names = ", ".join(each for each in known if not each.isdigit())
            raise Unsupported(f"{key} {self.get(key, usual)!r} is none of {names}")
        return known[name]

    def size(self, key: str) -> tuple[int, int]:
        """Height and width; one number is both.

        >>> Args(size=224).size("size"), Args(size=(32, 64)).size("size")
        ((224, 224), (32, 64))
        """
        result = self.numbers(key)
        if len(result) > 2:
            raise Unsupported(f"{key} must be one number or two, got {len(result)} of them")
        return int(result[0]), int(result[-1])


@dataclass(slots=True)
class SampleState:
    """The state of a sample between two transforms, and the draft.

    Attributes:
        draft: the draft of the recipe.
        output: `output:` so far.
        scaled: whether values are 0..1 here.
        normalized: whether mean and std were applied, or values are otherwise no longer levels.
        sides: lower bounds of height and width, px; None: unknown.
        place: the place of the current transform.
        rest: the transforms after it.
        boxes: `inputs.boxes`; None if the pipeline has none.
        needs_mask: whether labels of pixels are loaded.
        mixing: whether the sample is a whole batch.
        cuts: whether filters after a normalisation clip values to 0..1, as albumentations' do.
        inputs: the depth of images in `inputs:`.
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
    mixing: bool = False
    cuts: bool = False
    inputs: dict[str, Any] = field(default_factory=dict)

    def line(self, name: str, **args: Any) -> Line:
        """A step at the current place, without arguments that equal its class's defaults."""
        usual = {key: each["default"] for key, each in argument_schemas(name).items() if "default" in each}
        return Line(name, {key: args[key] for key in args if usual.get(key, ...) != args[key]}, self.place)

    def finish(self, steps: list[Item]) -> None:
        """Put the steps, output and inputs into the draft."""
        self.draft.steps, self.draft.keys["output"] = steps, self.output
        inputs: dict[str, Any] = {} if self.boxes is None else {"boxes": {"format": "pascal_voc", **self.boxes}}
        if self.needs_mask:
            inputs["mask"] = "required"
        if inputs:
            self.draft.keys["inputs"] = inputs


def photometric(change: Callable[[str], Line], place: Place) -> list[Item]:
    """SSD's photometric distortion: brightness, then saturation and hue with contrast before or after them."""
    orders = ("contrast", "saturation", "hue"), ("saturation", "hue", "contrast")
    ways: list[Item] = [Line(groups.SEQUENTIAL, {"p": 0.5}, place, [change(key) for key in order]) for order in orders]
    return [change("brightness"), Line(groups.ONE_OF, {}, place, ways)]


Maker = Callable[[Args, SampleState], list[Item]]


def convert_calls(
    items_of: Callable[[Call, SampleState], list[Item]], calls: Sequence[Call], sample: SampleState
) -> list[Item]:
    """Convert calls to lines by `items_of`; a LeftOut stands for a call that a recipe cannot hold.

    Steps after a normalisation among these calls are moved before it; for steps of an inner group after it, the outer
    call does so.
    """
    result: list[Item] = []
    settled = sample.normalized
    for index, call in enumerate(calls):
        sample.place, sample.rest = call.place, calls[index + 1 :]
        behind = sample.normalized and not settled
        try:
            items = items_of(call, sample)
        except Unsupported as error:
            items = [LeftOut(call.name, str(error), call.place)]
        except KeyError as error:
            items = [LeftOut(call.name, f"its argument {error.args[0]!r} is missing", call.place)]
        result += (
            [each for item in items for each in acting(_before_normalization(item, call, sample))] if behind else items
        )
    return result
