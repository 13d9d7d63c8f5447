"""The key `output:` of recipes, checked by the grammar.

`normalize` applies to the output's channels. Lists are in the output's order: with `color: bgr` the first number is
blue's. `imagenet` stands for the statistics of red, green and blue, so with `color: bgr` they are reversed; with `y`,
`gray` and `ycbcr` they are an error. Where channels have names, the statistics follow these.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from augrecipes.recipe import bands, grammar, inputs, keys, model, nodes, problems

WHOLE = ("uint8", "uint16")  # integer dtypes of outputs
# Mean and standard deviation of ImageNet's training images in 0..1, RGB.
_IMAGENET = model.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))


def imagenet(color: str, names: Sequence[str] = ()) -> model.Normalize:
    """The statistics of `normalize: imagenet` in the order of the output's channels; `names`: names of the channels.

    >>> imagenet("bgr").mean, imagenet("rgb", ("g", "b", "r")).mean
    ((0.406, 0.456, 0.485), (0.456, 0.406, 0.485))
    """
    order = bands.colour_order(names)[:: -1 if color == "bgr" else 1]
    mean, std = (tuple(values[k] for k in order) for values in (_IMAGENET.mean, _IMAGENET.std))
    return model.Normalize(mean, std)


def build_output(context: keys.Context, node: nodes.Node | None) -> tuple[model.Output, dict[str, model.Output]]:
    """Build the output of all targets, and that of each named target (kind pair)."""
    named: dict[str, nodes.MappingNode] = {}
    for key, place, value in node.pairs() if isinstance(node, nodes.MappingNode) and context.facts.scales else ():
        if key not in grammar.OUTPUT["properties"] and isinstance(value, nodes.MappingNode):
            named[key] = value
            if key not in context.scales:
                context.problems.add(
                    "E314", place, f"unknown target {key!r}", "output", problems.near(key, context.scales)
                )
    schema = {**grammar.OUTPUT, "properties": {**grammar.OUTPUT["properties"], **dict.fromkeys(named, grammar.OUTPUT)}}
    values = context.fields(node, schema, "E401", "output")
    if not values or not isinstance(node, nodes.MappingNode):
        return model.Output(), {}
    own = {key: value for key, value in values.items() if key not in named}
    scaled, by_target = {"normalize", "range"}, {}
    for target, inner in named.items():
        # A target inherits what is declared for all, except what contradicts its own keys.
        of_target = values[target]
        where = nodes.MappingNode({**node.entries, **inner.entries}, inner.place, {**node.at, **inner.at})
        unscaled = of_target.get("dtype") in WHOLE or not scaled.isdisjoint(of_target)
        shared = {key: value for key, value in own.items() if not (unscaled and key in scaled)}
        by_target[target] = _output(context, {**shared, **of_target}, where, f"output.{target}")
    return _output(context, own, node, "output"), by_target


def _output(context: keys.Context, values: dict[str, Any], node: nodes.MappingNode, name: str) -> model.Output:
    fields = dict(values)
    if "range" in fields:
        fields["range"] = tuple(map(float, fields["range"]))
    normalize, color, names = fields.get("normalize"), fields.get("color", "rgb"), context.inputs.channel_names
    try:
        fields["normalize"] = imagenet(color, names) if normalize == "imagenet" else None
        if isinstance(normalize, dict):
            mean, std = (bands.by_channel(key, normalize[key], names, color) for key in ("mean", "std"))
            fields["normalize"] = model.Normalize(mean, std)
            if len(mean) != len(std) and 1 not in (len(mean), len(std)):
                raise bands.ChannelError("std", f"mean has {len(mean)} numbers, std has {len(std)}; give equal counts")
    except bands.ChannelError as error:
        where: Any = node.entries["normalize"]
        place = where.entries[error.key].place if isinstance(normalize, dict) else where.place
        context.problems.add("E401", place, str(error), f"{name}.normalize", error.hint)
        fields["normalize"] = None
    output = model.Output(**fields)
    for key, message in _contradictions(output, values):
        context.problems.add("E401", node.at[key], message, f"{name}.{key}")
    return output


def _contradictions(output: model.Output, values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the keys that contradict others, and how."""
    normalize, whole = output.normalize, output.dtype in WHOLE
    if output.dtype == "uint16" and output.where == "device":
        yield "where", "uint16 leaves the host as it is; leave `where` out"
    if normalize is None:
        full = inputs.RANGES[output.dtype] if whole else 0
        if whole and "range" in values and output.range != (0.0, full):
            yield "range", f"{output.dtype} has the range [0, {full:.0f}]; use dtype: float32 for another"
        return
    if "range" in values:
        yield "range", "normalize decides the range; leave one of them out"
    if whole:
        where = "; where: device alone already makes the loader deliver uint8" if output.where == "device" else ""
        yield "normalize", f"{output.dtype} cannot hold normalised values; use dtype: float32{where}"
    count = max(len(normalize.mean), len(normalize.std))
    written = values["normalize"]
    by_color = written == "imagenet" or any(isinstance(numbers, dict) for numbers in written.values())
    if output.color in ("y", "gray") and count > 1:
        message = f"color: {output.color} has one channel, normalize has {count}"
        yield "normalize", f"{message}; give one mean and one std"
    elif output.color == "ycbcr" and (by_color or count not in (1, 3)):
        yield "normalize", "color: ycbcr leaves Y, Cb and Cr; give three numbers in that order, or one"
