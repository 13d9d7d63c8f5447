"""`output:`: what leaves the last step, for all targets or by target.

`normalize` speaks of the channels that leave. Lists are in the output's order: with `color: bgr` the first number is
blue's. `imagenet` names the statistics of red, green and blue, whatever their order, so with `color: bgr` they are
reversed; with `y` and `gray`, one channel, they mean nothing and are an error.
"""

from __future__ import annotations

from augrecipes.recipe import spelling
from augrecipes.recipe.context import Context
from augrecipes.recipe.grammar import OUTPUT
from augrecipes.recipe.model import Normalize, Output
from augrecipes.recipe.nodes import MappingNode, Node, Scalar, describe

# Of photographs in 0..1: mean and standard deviation of ImageNet's training images, RGB.
_IMAGENET = Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))

KEYS = tuple(OUTPUT["properties"])


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
    if not isinstance(node, MappingNode):
        context.problems.add(
            "E401", node.place, f"must be a mapping of {', '.join(KEYS)}; got {describe(node)}", "output"
        )
        return Output(), {}
    named: dict[str, MappingNode] = {}
    own = MappingNode({}, node.place)
    for key, place, value in node.pairs():
        if key in KEYS:
            own.entries[key], own.at[key] = value, place
        elif context.facts.scales and isinstance(value, MappingNode):
            if key in context.scales:
                named[key] = value
            else:
                hint = spelling.near(key, context.scales)
                context.problems.add("E314", place, f"unknown target {key!r}", "output", hint)
        else:
            message = f"unknown key {key!r}; it takes {', '.join(KEYS)}"
            context.problems.add("E401", place, message, "output", spelling.near(key, KEYS))
    by_target = {key: _one(context, _inherited(own, value), f"output.{key}") for key, value in named.items()}
    return _one(context, own, "output"), by_target


def _inherited(own: MappingNode, of_target: MappingNode) -> MappingNode:
    """What a target says, and beside it what is said for all; of what contradicts, what the target says."""
    merged = MappingNode(dict(of_target.entries), of_target.place, dict(of_target.at))
    scaled = {"normalize", "range"}
    dtype = of_target.entries.get("dtype")
    unscaled = isinstance(dtype, Scalar) and dtype.value == "uint8"
    for key, value in own.entries.items():
        if key in scaled and (unscaled or not scaled.isdisjoint(of_target.entries)):
            continue
        if key not in of_target.entries:
            merged.entries[key], merged.at[key] = value, own.at[key]
    return merged


def _one(context: Context, node: MappingNode, name: str) -> Output:
    normalize = node.entries.get("normalize")
    others = {key: value for key, value in node.entries.items() if key != "normalize"}
    values = context.fields(MappingNode(others, node.place, node.at), OUTPUT, "E401", name)
    if "range" in values:
        values["range"] = tuple(map(float, values["range"]))
    if normalize is not None:
        values["normalize"] = _normalize(context, normalize, values.get("color", "rgb"), f"{name}.normalize")
    output = Output(**values)
    _check_together(context, node, output, name)
    return output


def _check_together(context: Context, node: MappingNode, output: Output, name: str) -> None:
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


def _normalize(context: Context, node: Node, color: str, label: str) -> Normalize | None:
    said = context.word_or_fields(node, OUTPUT["properties"]["normalize"], "E401", label)
    if said == "imagenet":
        return imagenet(color)
    if not isinstance(said, dict) or len(said) < 2:
        return None
    lists = (value if isinstance(value, list) else [value] for value in (said["mean"], said["std"]))
    mean, std = (tuple(map(float, value)) for value in lists)
    if len(mean) != len(std) and 1 not in (len(mean), len(std)):
        message = f"mean has {len(mean)} numbers and std has {len(std)}"
        context.problems.add("E401", node.entries["std"].place, message, label)  # type: ignore[union-attr]
    return Normalize(mean, std)
