"""Conversion of pipelines of torchvision.transforms, version 2 or 1, to recipes with the same meaning.

Transforms that change values become steps, conversions to tensors become `output:` and `inputs:`.
"""

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

# The parameters of each class's constructor, in order, in both versions.
PARAMETERS = {name: tuple(names.split()) for name, names in FOREIGN["torchvision"]["arguments"].items()}
# Names that albumentations lacks: a list with one of them is torchvision's.
DISTINCTIVE = frozenset(PARAMETERS) - {*FOREIGN["torchvision"]["shared_names"]}
# Classes without a counterpart: the reason, and the nearest equivalent.
UNSUPPORTED: dict[str, str] = {**FOREIGN["torchvision"]["left_out"], "Lambda": REFUSED["Lambda"]}
_HOME = "torchvision.transforms"
# Classes of torchvision and timm that mix the samples of a batch.
MIXING = frozenset({"MixUp", "CutMix", *timm.MIXING})
_CHOICES = frozenset({"RandomApply", "RandomChoice"})
_GROUPS = frozenset({*_CHOICES, "RandomOrder"})


def to_dtype(args: Args, sample: SampleState) -> list[Item]:
    """ToDtype; without a dtype float32, torchvision's default."""
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
    """Normalize; mean and std count in 0..255 if values were not scaled."""
    if sample.normalized:
        raise Unsupported("values are normalised already; leave one of the two out")
    full = 255 if sample.output.pop("range", None) == [0, 255] else 1
    result = {key: [each / full for each in args.numbers(key)] for key in ("mean", "std")}
    dtype = "float32" if sample.output["dtype"] == "uint8" else sample.output["dtype"]
    sample.output |= {"dtype": dtype, "layout": "chw", "normalize": result}
    sample.normalized = True
    return []


def boxes(args: Args, sample: SampleState) -> list[Item]:
    """ClampBoundingBoxes and SanitizeBoundingBoxes: clips boxes, and drops those that become too small."""
    keys = {"min_width": "min_size", "min_height": "min_size", "min_area": "min_area"}
    sample.boxes = {**(sample.boxes or {}), **{key: float(args[name]) for key, name in keys.items() if name in args}}
    return []


def weights(args: Args, sample: SampleState) -> list[Item]:
    """The transforms of torchvision's weights: resize of the shorter side, an optional centre crop, normalisation."""
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
    """A converter to a step of this class, with the probability `p` of the arguments or the default."""
    return lambda args, sample: [sample.line(name, **{**usual, "p": args.get("p", usual["p"])})]


def _output(keys: Mapping[str, Any]) -> Maker:
    """A converter that only changes `output:`."""

    def make(args: Args, sample: SampleState) -> list[Item]:
        sample.output |= keys
        sample.scaled = sample.scaled or "dtype" in keys
        return []

    return make


# The converter of each class's arguments to steps.
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
    """Convert a torchvision pipeline to a Recipe of the same meaning: equal ranges and probabilities, own draws.

    Args:
        transform: a `Compose` of torchvision.transforms, version 2 or 1, or a single transform.
        name: the recipe's name, `[a-z0-9-]`.

    Returns:
        A Recipe of kind image.

    Raises:
        RecipeError: a recipe cannot hold some parts; `problems` names each with the cure.
        TypeError: `transform` is not a torchvision pipeline.
    """
    document = reading.Document(name, value=transform)
    if not is_object(document):
        raise TypeError(f"from_torchvision takes a transform of torchvision, got {transform!r:.200}")
    return draft_of_object(document).whole_recipe()


def is_object(document: reading.Document) -> bool:
    """Whether the document is an object of torchvision."""
    return type(document.value).__module__.startswith(_HOME)


def draft_of_object(document: reading.Document) -> RecipeDraft:
    """The draft of a recipe from an object; lines count as `repr` prints them, one per transform."""
    draft = RecipeDraft(name_of(document.file), "a pipeline of torchvision", document.place)
    convert(draft, read_transform(document.value, document.file, count(1)))
    return draft


def read_transform(value: Any, file: str, lines: Iterator[int]) -> Call:
    """The call of an object of torchvision or timm, with its children, one per line."""
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
    """A value as plain data."""
    if isinstance(value, dict):
        return {getattr(key, "__name__", str(key)): _plain(each) for key, each in value.items()}
    value = value.tolist() if hasattr(value, "tolist") else value  # a tensor or an array
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _number(text: str) -> float:
    """A number of JSON, as an int if it is whole: some of torchvision's classes convert their arguments to floats."""
    return int(number) if (number := float(text)).is_integer() else number


def convert(draft: RecipeDraft, call: Call) -> None:
    """Fill a draft from torchvision's Compose; a lone transform counts as a Compose of itself."""
    sample = SampleState(draft, {"dtype": "uint8", "layout": "hwc"})
    sample.finish(lines(call.children or () if call.name == COMPOSE else (call,), sample))


def mixes(call: Call) -> bool:
    """Whether a call, or one of the calls that it chooses from, mixes whole batches.

    >>> mixes(Call("MixUp", package="torchvision.transforms.v2")), mixes(Call("MixUp", package="albumentations"))
    (True, False)
    """
    if call.name in _CHOICES:
        return any(map(mixes, call.children or ()))
    return call.name in MIXING and call.package.startswith(("torchvision", "timm"))


def fill_batch(draft: RecipeDraft, calls: Sequence[Call]) -> None:
    """Fill `batch:` of a draft from the calls that mix batches, wherever they stand in a file."""
    before = draft.problems()
    different = {repr([(MAKERS.get(each.name), each.args) for each in call.walk()]): call for call in calls}
    draft.batch = lines([*different.values()], SampleState(draft, {}, mixing=True))
    steps = [item for item in draft.batch if isinstance(item, Line)]
    why = next((f"{each.name}: {each.message}" for each in draft.problems() if each not in before), "")
    if len(steps) > 1:
        why = "one of several in this file, of which its code picks: write the one, or a OneOf of them, in `batch:`"
    if why:
        draft.batch = [LeftOut(item.name, why, item.place) if isinstance(item, Line) else item for item in draft.batch]
    elif steps:
        draft.note("`batch:` is run by ar.loader, or ar.collate(ds) in a DataLoader: take it out of the training loop.")


def lines(calls: Sequence[Call], sample: SampleState) -> list[Item]:
    """The calls as lines; a LeftOut stands for a call that a recipe cannot hold."""
    return convert_calls(_lines_of_call, calls, sample)


def _lines_of_call(call: Call, sample: SampleState) -> list[Item]:
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
        return (
            [_with_weight(inside[0], p)] if len(inside) == 1 else acting(Line(SEQUENTIAL, {"p": p}, call.place, inside))
        )
    each = [_as_one_line(lines([child], sample), child) for child in children]
    sample.sides = None
    if call.name == "RandomOrder":
        return acting(Line(RANDOM_ORDER, {}, call.place, each))
    weights = args.get("p") or [1 / len(children)] * len(children)
    if len(weights) != len(children):
        raise Unsupported(f"{len(weights)} probabilities for {len(children)} transforms")
    shares = [round(weight / sum(weights), 6) for weight in weights]
    return acting(Line(ONE_OF, {}, call.place, [_with_weight(*pair) for pair in zip(each, shares, strict=True)]))


def _with_weight(item: Item, share: float) -> Item:
    """A transform with a weight: as a child of OneOf, whose `p` is its weight only."""
    if isinstance(item, LeftOut):
        return item
    usual = 1.0 if item.steps is not None else argument_schemas(item.name).get("p", {}).get("default")
    if item.args.get("p", usual) != 1:
        return Line(SEQUENTIAL, {"p": share}, item.place, [item])
    item.args["p"] = share
    return item


def _as_one_line(items: list[Item], call: Call) -> Item:
    """Several lines as one, in a group if necessary."""
    if len(items) == 1:
        return items[0]
    if items and not any(isinstance(item, Line) for item in items):
        why = "; ".join(f"{item.name}: {item.why}" for item in items if isinstance(item, LeftOut))
        return LeftOut(call.name, why, call.place)
    return Line(SEQUENTIAL, {"p": 1.0}, call.place, items) if items else Line(NO_OP, {"p": 1.0}, call.place)
