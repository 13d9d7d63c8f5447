"""Pipelines of torchvision.transforms, version 2 or 1, as recipes with the same meaning.

Transforms that change values are steps, conversions to tensors are `output:` and `inputs:`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from augrecipes.interop import reading, timm
from augrecipes.interop import torchvision_steps as steps
from augrecipes.interop.draft import FOREIGN, Call, Item, LeftOut, Line, RecipeDraft, acting, argument_schemas, name_of
from augrecipes.interop.outputs import Args, Maker, SampleState, Unsupported, convert_calls
from augrecipes.ops.groups import COMPOSE, NO_OP, ONE_OF, RANDOM_ORDER, SEQUENTIAL
from augrecipes.ops.refused import OWN_CODE, REFUSED
from augrecipes.recipe import model, nodes, outputs, suggest

# Of each class the arguments in the order of its constructor, in both versions.
PARAMETERS = {name: tuple(names.split()) for name, names in FOREIGN["torchvision"]["arguments"].items()}
# A list that holds a name which albumentations has not, too, is of torchvision.
DISTINCTIVE = frozenset(PARAMETERS) - {*FOREIGN["torchvision"]["shared_names"]}
# Why, and what comes nearest.
UNSUPPORTED: dict[str, str] = {**FOREIGN["torchvision"]["left_out"], "Lambda": REFUSED["Lambda"]}
_HOME = "torchvision.transforms"
# What mixes the samples of a batch, of torchvision and of timm.
MIXING = frozenset({"MixUp", "CutMix", *timm.MIXING})
_CHOICES = frozenset({"RandomApply", "RandomChoice"})
_GROUPS = frozenset({*_CHOICES, "RandomOrder"})


def to_dtype(args: Args, sample: SampleState) -> list[Item]:
    """Another type of numbers, scaled or not; what torchvision does not print is float32, as always."""
    value = args.get("dtype") or "float32"
    value = steps.of_kind(value, "image") if isinstance(value, Mapping) else value
    name = str(value or "uint8").rpartition(".")[2]
    dtype = {"float": "float32", "half": "float16"}.get(name, name)
    sample.output["layout"] = "chw"
    if dtype == "uint8":
        return []
    if dtype not in ("float32", "float16"):
        raise Unsupported(f"dtype {dtype}: `output:` has float32, float16 and uint8; convert the batch")
    sample.output["dtype"] = dtype
    if args.get("scale"):
        sample.scaled = True
    elif not sample.scaled:
        sample.output["range"] = [0, 255]
    return []


def normalize(args: Args, sample: SampleState) -> list[Item]:
    """Mean and deviation; of 0..255, where nothing scaled the values."""
    if sample.normalized:
        raise Unsupported("values are normalised already; leave one of the two out")
    full = 255 if sample.output.pop("range", None) == [0, 255] else 1
    result = {key: [each / full for each in args.numbers(key)] for key in ("mean", "std")}
    dtype = "float32" if sample.output["dtype"] == "uint8" else sample.output["dtype"]
    sample.output |= {"dtype": dtype, "layout": "chw", "normalize": result}
    sample.normalized = True
    return []


def boxes(args: Args, sample: SampleState) -> list[Item]:
    """Boxes that are cut at the image's edges, and left out when less is left of them than the arguments say."""
    keys = {"min_width": "min_size", "min_height": "min_size", "min_area": "min_area"}
    sample.boxes = {**(sample.boxes or {}), **{key: float(args[name]) for key, name in keys.items() if name in args}}
    return []


def weights(args: Args, sample: SampleState) -> list[Item]:
    """The transforms of torchvision's weights: the shorter side, the middle where asked for, a normalised tensor."""
    crop = args.get("crop_size")
    side = args.get("resize_size", None if crop is None else 256)
    size = None if side is None else Args(resize_size=side).size("resize_size")[:1]
    result = [] if size is None else steps.resize(Args(args, size=size), sample)
    result += [] if crop is None else steps.center_crop(Args(size=crop), sample)
    sample.output |= {"dtype": "float32", "layout": "chw"}
    sample.scaled = True
    usual = outputs.imagenet("rgb")
    return [*result, *normalize(Args(mean=args.get("mean") or usual.mean, std=args.get("std") or usual.std), sample)]


def _step(name: str, usual: Mapping[str, Any]) -> Maker:
    """What makes a step of this class, with the probability that is given, or with the usual one."""
    return lambda args, sample: [sample.line(name, **{**usual, "p": args.get("p", usual["p"])})]


def _output(keys: Mapping[str, Any]) -> Maker:
    """What only changes `output:`."""

    def make(args: Args, sample: SampleState) -> list[Item]:
        sample.output |= keys
        sample.scaled = sample.scaled or "dtype" in keys
        return []

    return make


# Of each class what makes steps of its arguments.
MAKERS: dict[str, Maker] = {
    **steps.MAKERS,
    **timm.POLICIES,
    **timm.MAKERS,
    **{cls: _step(*step) for cls, steps in FOREIGN["torchvision"]["steps"].items() for step in steps.items()},
    **{cls: _output(keys) for cls, keys in FOREIGN["torchvision"]["outputs"].items()},
    "ClampBoundingBoxes": boxes,
    "ConvertImageDtype": lambda args, sample: to_dtype(Args({"scale": True, **args}), sample),
    "ImageClassification": weights,
    "Normalize": normalize,
    "SanitizeBoundingBoxes": lambda args, sample: boxes(Args({"min_size": 1.0, "min_area": 1.0, **args}), sample),
    "SemanticSegmentation": weights,
    "ToDtype": to_dtype,
}


def from_torchvision(transform: Any, name: str = "imported") -> model.Recipe:
    """A recipe with the meaning of a torchvision pipeline: the same ranges and chances, draws of its own.

    Args:
        transform: a `Compose` of torchvision.transforms, version 2 or 1, or a single transform.
        name: of the recipe, `[a-z0-9-]`.

    Raises:
        RecipeError: parts of it have no place in a recipe; `problems` names each with the way out.
        TypeError: it is no pipeline of torchvision.
    """
    document = reading.Document(name, value=transform)
    if not is_object(document):
        raise TypeError(f"from_torchvision takes a transform of torchvision, got {transform!r:.200}")
    return draft_of_object(document).whole_recipe()


def is_object(document: reading.Document) -> bool:
    """Whether the document is an object of torchvision."""
    return type(document.value).__module__.startswith(_HOME)


def draft_of_object(document: reading.Document) -> RecipeDraft:
    """What the object does, as a recipe; lines are counted as `repr` prints them, one a transform."""
    draft = RecipeDraft(name_of(document.file), "a pipeline of torchvision", document.place)
    convert(draft, read_transform(document.value, document.file, count(1)))
    return draft


def read_transform(value: Any, file: str, lines: Iterator[int]) -> Call:
    """An object of torchvision or timm, and those inside it, as calls; one a line."""
    place, cls = nodes.Place(file, next(lines), 1), type(value)
    if cls.__module__.startswith("timm") and (call := timm.call_of(value)) is not None:
        return replace(call, args={key: _plain(each) for key, each in call.args.items()}, place=place)
    if not cls.__module__.startswith(_HOME):
        name = getattr(value, "__name__", cls.__name__)
        return Call(name if name.isidentifier() else "Lambda", {}, None, place, cls.__module__)
    result = {key: getattr(value, key) for key in PARAMETERS.get(cls.__name__, ()) if hasattr(value, key)}
    children = result.pop("transforms", None)
    if cls.__name__ == "RandomCrop" and result["padding"] and cls.__module__.startswith(f"{_HOME}.v2"):
        result["padding"] = [result["padding"][side] for side in (0, 2, 1, 3)]  # from left, right, top, bottom
    inside = None if children is None else tuple(read_transform(each, file, lines) for each in children)
    return Call(cls.__name__, {key: _plain(each) for key, each in result.items()}, inside, place, cls.__module__)


def _plain(value: Any) -> Any:
    """A value as a config would have it."""
    if isinstance(value, dict):
        return {getattr(key, "__name__", str(key)): _plain(each) for key, each in value.items()}
    value = value.tolist() if hasattr(value, "tolist") else value  # a tensor or an array
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _number(text: str) -> float:
    """A number of JSON; a whole one as such: some classes of torchvision keep what they are given as floats."""
    return int(number) if (number := float(text)).is_integer() else number


def convert(draft: RecipeDraft, call: Call) -> None:
    """Put what a Compose of torchvision does into a draft; a lone transform is a Compose of itself."""
    sample = SampleState(draft, {"dtype": "uint8", "layout": "hwc"})
    sample.finish(lines(call.children or () if call.name == COMPOSE else (call,), sample))


def mixes(call: Call) -> bool:
    """Whether a call, or what it chooses among, mixes whole batches.

    >>> mixes(Call("MixUp", package="torchvision.transforms.v2")), mixes(Call("MixUp", package="albumentations"))
    (True, False)
    """
    if call.name in _CHOICES:
        return any(map(mixes, call.children or ()))
    return call.name in MIXING and call.package.startswith(("torchvision", "timm"))


def fill_batch(draft: RecipeDraft, calls: Sequence[Call]) -> None:
    """Put what mixes batches, wherever a file builds it, into `batch:` of a draft."""
    before = draft.faults()
    different = {repr([(MAKERS.get(each.name), each.args) for each in call.walk()]): call for call in calls}
    draft.batch = lines([*different.values()], SampleState(draft, {}, mixing=True))
    steps = [item for item in draft.batch if isinstance(item, Line)]
    why = next((f"{each.name}: {each.message}" for each in draft.faults() if each not in before), "")
    if len(steps) > 1:
        why = "one of several in this file, of which its code picks: write the one, or a OneOf of them, in `batch:`"
    if why:
        draft.batch = [LeftOut(item.name, why, item.place) if isinstance(item, Line) else item for item in draft.batch]
    elif steps:
        draft.note("`batch:` is run by ar.loader, or ar.collate(ds) in a DataLoader: take it out of the training loop.")


def lines(calls: Sequence[Call], sample: SampleState) -> list[Item]:
    """The calls as lines; what has no place in a recipe is among them as left out."""
    return convert_calls(_made, calls, sample)


def _made(call: Call, sample: SampleState) -> list[Item]:
    call = call.by_name([key for key in PARAMETERS.get(call.name, ()) if key != "transforms"])
    if call.unread:
        raise Unsupported(UNSUPPORTED.get(call.name) or call.unread)
    of_timm = call.package.startswith("timm") and call.name in timm.MAKERS
    if call.package and not call.package.startswith("torchvision") and not of_timm:
        raise Unsupported(_hint(call))
    if call.name == COMPOSE:
        return lines(call.children or (), sample)
    if call.name not in MAKERS and call.name not in _GROUPS:
        raise Unsupported(UNSUPPORTED.get(call.name) or _hint(call))
    if call.name in MIXING and not sample.mixing:
        raise Unsupported(_hint(call))
    args = Args(call.args)
    args |= json.loads(json.dumps({key: each for key, each in args.items() if key != "p"}), parse_float=_number)
    if unknown := [key for key in args if key not in PARAMETERS[call.name]]:
        raise Unsupported(f"torchvision's {call.name} has no argument {unknown[0]!r}")
    return _group(call, args, sample) if call.name in _GROUPS else MAKERS[call.name](args, sample)


def _hint(call: Call) -> str:
    foreign = f" of {call.package}" if call.package and not call.package.startswith("torchvision") else ""
    if foreign or call.name not in PARAMETERS:
        return f"no transform{foreign} that augrecipes knows: {OWN_CODE}"
    return suggest.step(call.name, call.args, ()).text.removeprefix("; ") or "nothing in a recipe has the same meaning"


def _group(call: Call, args: Args, sample: SampleState) -> list[Item]:
    children = call.children or ()
    if not children:
        return []
    sides = sample.sides
    if call.name == "RandomApply":
        inside, p = lines(children, sample), float(args.get("p", 0.5))
        sample.sides = sides
        return [_weighed(inside[0], p)] if len(inside) == 1 else acting(Line(SEQUENTIAL, {"p": p}, call.place, inside))
    each = [_whole(lines([child], sample), child) for child in children]
    sample.sides = None
    if call.name == "RandomOrder":
        return acting(Line(RANDOM_ORDER, {}, call.place, each))
    weights = args.get("p") or [1 / len(children)] * len(children)
    if len(weights) != len(children):
        raise Unsupported(f"{len(weights)} probabilities for {len(children)} transforms")
    shares = [round(weight / sum(weights), 6) for weight in weights]
    return acting(Line(ONE_OF, {}, call.place, [_weighed(*pair) for pair in zip(each, shares, strict=True)]))


def _weighed(item: Item, share: float) -> Item:
    """A transform that is drawn with that weight: in OneOf a step's `p` is its weight, and it acts for sure."""
    if isinstance(item, LeftOut):
        return item
    usual = 1.0 if item.steps is not None else argument_schemas(item.name).get("p", {}).get("default")
    if item.args.get("p", usual) != 1:
        return Line(SEQUENTIAL, {"p": share}, item.place, [item])
    item.args["p"] = share
    return item


def _whole(items: list[Item], call: Call) -> Item:
    """Several lines as one."""
    if len(items) == 1:
        return items[0]
    if items and not any(isinstance(item, Line) for item in items):
        why = "; ".join(f"{item.name}: {item.why}" for item in items if isinstance(item, LeftOut))
        return LeftOut(call.name, why, call.place)
    return Line(SEQUENTIAL, {"p": 1.0}, call.place, items) if items else Line(NO_OP, {"p": 1.0}, call.place)
