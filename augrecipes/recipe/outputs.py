"""`output:`: what leaves the last step, for all targets or by target.

`normalize` speaks of the channels that leave. Lists are in the output's order: with `color: bgr` the first number is
blue's. `imagenet` names the statistics of red, green and blue, whatever their order, so with `color: bgr` they are
reversed; with `y` and `gray`, one channel, they mean nothing and are an error.
"""

from __future__ import annotations

from typing import Any

from augrecipes.recipe import spelling
from augrecipes.recipe.context import Context
from augrecipes.recipe.model import Normalize, Output
from augrecipes.recipe.nodes import Items, Node, Scalar, Table, describe, plain

# Of photographs in 0..1: mean and standard deviation of ImageNet's training images, RGB.
_IMAGENET = Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))

_CHOICES: dict[str, tuple[str, ...]] = {
    "dtype": ("float32", "float16", "uint8"),
    "layout": ("chw", "hwc"),
    "color": ("rgb", "bgr", "y", "gray"),
    "where": ("host", "device"),
}
KEYS = ("dtype", "layout", "normalize", "range", "color", "where")
_RANGES = ((0, 1), (0, 255), (-1, 1))


def imagenet(color: str) -> Normalize:
    """What `normalize: imagenet` stands for, in the order in which channels leave.

    >>> imagenet("bgr").mean
    (0.406, 0.456, 0.485)
    """
    return Normalize(_IMAGENET.mean[::-1], _IMAGENET.std[::-1]) if color == "bgr" else _IMAGENET


def build_output(context: Context, node: Node | None) -> tuple[Output, dict[str, Output]]:
    """The output of all targets, and of each target that is named (kind pair)."""
    if node is None:
        return Output(), {}
    if not isinstance(node, Table):
        context.problems.add(
            "E401", node.place, f"must be a mapping of {', '.join(KEYS)}; got {describe(node)}", "output"
        )
        return Output(), {}
    named: dict[str, Table] = {}
    own = Table({}, node.place)
    for key, place, value in node.pairs():
        if key in KEYS:
            own.entries[key], own.at[key] = value, place
        elif context.kind == "pair" and isinstance(value, Table):
            if key in context.scales:
                named[key] = value
            else:
                hint = spelling.hint(key, context.scales)
                context.problems.add("E314", place, f"unknown target {key!r}{hint}", "output")
        else:
            hint = spelling.hint(key, KEYS)
            context.problems.add("E401", place, f"unknown key {key!r}{hint}; it takes {', '.join(KEYS)}", "output")
    by_target = {key: _one(context, _inherited(own, value), f"output.{key}") for key, value in named.items()}
    return _one(context, own, "output"), by_target


def _inherited(own: Table, of_target: Table) -> Table:
    """What a target says, and beside it what is said for all; of what contradicts, what the target says."""
    merged = Table(dict(of_target.entries), of_target.place, dict(of_target.at))
    scaled = {"normalize", "range"}
    dtype = of_target.entries.get("dtype")
    unscaled = isinstance(dtype, Scalar) and dtype.value == "uint8"
    for key, value in own.entries.items():
        if key in scaled and (unscaled or not scaled.isdisjoint(of_target.entries)):
            continue
        if key not in of_target.entries:
            merged.entries[key], merged.at[key] = value, own.at[key]
    return merged


def _one(context: Context, node: Table, name: str) -> Output:
    values: dict[str, Any] = {}
    context.keys(node, KEYS, "E401", name)
    for key, _, value in node.pairs():
        label = f"{name}.{key}"
        if key in _CHOICES:
            if context.value(value, {"enum": list(_CHOICES[key])}, "E401", label):
                values[key] = plain(value)
        elif key == "normalize":
            values[key] = _normalize(context, value, label)
        elif key == "range" and (found := _range(context, value, label)):
            values[key] = found
    if values.get("normalize") == _IMAGENET and isinstance(node.entries["normalize"], Scalar):
        values["normalize"] = imagenet(values.get("color", "rgb"))
    output = Output(**values)
    _check_together(context, node, output, name)
    return output


def _check_together(context: Context, node: Table, output: Output, name: str) -> None:
    """Keys that contradict one another."""
    normalize = output.normalize
    if normalize is not None and "range" in node.entries:
        message = "normalize decides the range; leave one of them out"
        context.problems.add("E401", node.at["range"], message, f"{name}.range")
    if output.dtype == "uint8":
        if normalize is not None:
            where = "; where: device alone lets uint8 leave the loader" if output.where == "device" else ""
            message = f"uint8 cannot hold normalised values; use dtype: float32{where}"
            context.problems.add("E401", node.at["normalize"], message, f"{name}.normalize")
        elif "range" in node.entries and output.range != (0.0, 255.0):
            message = "uint8 has the range [0, 255]; use dtype: float32 for another"
            context.problems.add("E401", node.at["range"], message, f"{name}.range")
    if normalize is not None and output.color in ("y", "gray") and max(map(len, (normalize.mean, normalize.std))) > 1:
        count = max(len(normalize.mean), len(normalize.std))
        message = f"color: {output.color} has one channel, normalize has {count}; give one mean and one std"
        context.problems.add("E401", node.at["normalize"], message, f"{name}.normalize")


def _normalize(context: Context, node: Node, label: str) -> Normalize | None:
    if isinstance(node, Scalar) and node.value in ("imagenet", "none"):
        return _IMAGENET if node.value == "imagenet" else None
    if not isinstance(node, Table):
        message = f"must be imagenet, none or {{mean: ..., std: ...}}, got {describe(node)}"
        if isinstance(node, Scalar) and isinstance(node.value, str):
            message += spelling.hint(node.value, ("imagenet", "none"))
        context.problems.add("E401", node.place, message, label)
        return None
    context.keys(node, ("mean", "std"), "E401", label)
    values: dict[str, tuple[float, ...]] = {}
    for key in ("mean", "std"):
        part = node.entries.get(key)
        if part is None:
            context.problems.add("E401", node.place, f"key {key!r} is missing", label)
        elif found := _numbers(context, part, f"{label}.{key}"):
            values[key] = found
    if len(values) < 2:
        return None
    mean, std = values["mean"], values["std"]
    if len(mean) != len(std) and 1 not in (len(mean), len(std)):
        message = f"mean has {len(mean)} numbers and std has {len(std)}"
        context.problems.add("E401", node.entries["std"].place, message, label)
    if any(number <= 0 for number in std):
        context.problems.add("E401", node.entries["std"].place, "std must be greater than 0", f"{label}.std")
        return None
    if any(abs(number) > 10 for number in mean) or any(number > 10 for number in std):
        message = "mean and std are of values in 0..1; divide those of 0..255 by 255"
        context.problems.add("E401", node.entries["mean"].place, message, label)
    return Normalize(mean, std)


def _numbers(context: Context, node: Node, label: str) -> tuple[float, ...]:
    number = {"type": "number"}
    schema = {"anyOf": [number, {"type": "array", "items": number}]}
    if not context.value(node, schema, "E401", label):
        return ()
    if isinstance(node, Items) and not node.items:
        context.problems.add("E401", node.place, "needs one number, or one a channel", label)
        return ()
    value = plain(node)
    return tuple(float(item) for item in value) if isinstance(value, list) else (float(value),)


def _range(context: Context, node: Node, label: str) -> tuple[float, float] | None:
    schema = {"type": "array", "prefixItems": [{"type": "number"}] * 2, "minItems": 2, "maxItems": 2}
    if not context.value(node, schema, "E401", label):
        return None
    low, high = plain(node)
    if (low, high) not in _RANGES:
        context.problems.add("E401", node.place, f"must be [0, 1], [0, 255] or [-1, 1], got [{low}, {high}]", label)
        return None
    return float(low), float(high)
