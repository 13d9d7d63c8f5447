"""Recipes of several pictures, pairs and bags, as small programs around albumentations' own pipelines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from augrecipes.bring.code import Imports, Written, call, compose_of, last, line_of, listed, literal, steps
from augrecipes.compiler.plan.nodes import action_of
from augrecipes.compiler.run.grid import unit
from augrecipes.errors import RecipeError
from augrecipes.ops import groups
from augrecipes.ops.capabilities import capability, claims
from augrecipes.recipe.model import Recipe, Step

_SIZED = '''\
def to_size(pipeline, size):
    """Tell every ResizeToTarget in a pipeline the size, height and width, that it is to reach."""
    for step in pipeline.transforms:
        if hasattr(step, "transforms"):
            to_size(step, size)
        elif isinstance(step, ResizeToTarget):
            step.size = size
'''
_WINDOW = '''\
def cells(pictures):
    """Rows and columns of cells that all pictures cover."""
    rows = min(picture.shape[0] // CELL[name] for name, picture in pictures.items())
    columns = min(picture.shape[1] // CELL[name] for name, picture in pictures.items())
    return rows, columns


def window(pictures, y, x, rows, columns):
    """The same cells of each picture."""
    found = {}
    for name, picture in pictures.items():
        k = CELL[name]
        found[name] = picture[y * k : (y + rows) * k, x * k : (x + columns) * k]
    return found
'''
_CROP = '''\
def crop(pictures, rows, columns, rng=None):
    """A window of rows x columns cells, drawn, or without rng the one in the middle."""
    height, width = cells(pictures)
    y, x = (height - rows) // 2, (width - columns) // 2
    if rng is not None:
        y, x = rng.integers(height - rows + 1), rng.integers(width - columns + 1)
    return window(pictures, y, x, rows, columns)
'''
_TOGETHER = '''\
def together(pipeline, pictures):
    """One draw for all pictures, whatever their sizes."""
    first, *others = pictures
    done = pipeline(image=pictures[first], **{name: pictures[name] for name in others})
    return {name: done["image" if name == first else name] for name in pictures}
'''


@dataclass
class _Script:
    """Parts of a program on their way.

    Attributes:
        imports: what it needs.
        pipelines: assignments, in order.
        functions: of those above, which are called.
    """

    imports: Imports = field(default_factory=Imports)
    pipelines: list[str] = field(default_factory=list)
    functions: set[str] = field(default_factory=set)

    def pipeline(self, made: Written) -> str:
        """A name for an expression, which is assigned to it."""
        name = f"part_{len(self.pipelines) + 1}"
        self.pipelines.append("\n".join(made.lines(before=f"{name} = ")))
        return name


def of_pair(recipe: Recipe) -> tuple[Imports, list[str]]:
    """The program of a pair: what it imports, and its parts. Functions `train` and `evaluate` make a sample."""
    script = _Script()
    scales = dict(recipe.scales)
    lasts = {name: listed(last(recipe.outputs.get(name, recipe.output), script.imports)) for name in scales}
    functions = [
        _function(name, of, recipe, script)
        for name, of in (("train", recipe.steps), ("evaluate", recipe.eval))
        if of is not None
    ]
    cells = "\n".join(
        Written("{", tuple((f'"{k}": ', literal(v)) for k, v in unit(scales).items()), "}").lines(before="CELL = ")
    )
    outputs = tuple((f'"{name}": ', call("A.Compose", {}, each)) for name, each in lasts.items())
    called = [text for text in (_CROP, _TOGETHER, _SIZED) if text.split("(")[0] in script.functions]
    return script.imports, [
        f"# Pixels along the side of a common cell, in which windows are counted.\n{cells}",
        *script.pipelines,
        "\n".join(Written("{", outputs, "}").lines(before="OUTPUT = ")),
        *(f"\n{text.rstrip()}" for text in (_WINDOW, *called, *functions)),
    ]


def _function(name: str, of: Sequence[Step], recipe: Recipe, script: _Script) -> str:
    """What makes a sample of the pictures of one scene."""
    made = {step.args["target"] for step in of if step.name == groups.DEGRADE}
    given = ", ".join(target for target in recipe.scales if target not in made)
    lines = [
        f"def {name}(pictures, rng):",
        f'    """A sample of pictures by target ({given}), each H x W x 3 uint8; rng: of numpy."""',
        "    pictures = window(pictures, 0, 0, *cells(pictures))",
    ]
    for step in of:
        lines.append(f"    # {line_of(step)}")
        lines += [f"    {line}" for line in _move(step, recipe, script, made)]
    lines += [
        "    for name, picture in pictures.items():",
        '        pictures[name] = OUTPUT[name](image=picture)["image"]',
    ]
    return "\n".join([*lines, "    return pictures"])


def _move(step: Step, recipe: Recipe, script: _Script, made: set[str]) -> list[str]:
    """One step of a pair, as lines."""
    names = step.target or tuple(recipe.scales)
    if step.name == groups.DEGRADE:
        source, target = step.args["source"], step.args["target"]
        part = script.pipeline(compose_of(steps(step.steps, script.imports), {}))
        script.functions.add("def to_size")
        script.imports.named(_resize_to_target())
        k = unit(dict(recipe.scales))[target]
        return [
            "rows, columns = cells(pictures)",
            f"to_size({part}, (rows * {k}, columns * {k}))",
            f'pictures["{target}"] = {part}(image=pictures["{source}"])["image"]',
        ]
    if len(names) == 1:
        part = script.pipeline(compose_of(steps([step], script.imports), {}))
        return [f'pictures["{names[0]}"] = {part}(image=pictures["{names[0]}"])["image"]']
    if claims(step.name).cuts_sides and set(names) == set(recipe.scales):
        script.functions.add("def crop")
        units = unit(dict(recipe.scales))
        at = units[step.at or min(units, key=units.__getitem__)]
        drawn = ", rng" if claims(step.name).random else ""
        return [f"pictures = crop(pictures, {step.args['height'] // at}, {step.args['width'] // at}{drawn})"]
    if not all(_is_alike(inner) for inner in step.walk()):
        raise RecipeError(
            f"{recipe.name}: {step.site} acts on several targets, and albumentations has no form of it for several "
            "sizes; the recipe runs as it is under augrecipes"
        )
    script.functions.add("def together")
    others = dict.fromkeys(recipe.scales, "image")
    more = {"additional_targets": literal(others), "is_check_shapes": literal(False)}
    part = script.pipeline(compose_of(steps([step], script.imports), more))
    return [f"pictures = together({part}, pictures)"]


def _is_alike(step: Step) -> bool:
    """Whether one draw of a step means the same on pictures of any size."""
    record = None if step.is_group else capability(step.name)
    return step.is_group or action_of(step) == "dihedral" or (record is not None and record.grids == "same")


def _resize_to_target() -> Any:
    from augrecipes.ops.resize_to_target import ResizeToTarget

    return ResizeToTarget


def of_bag(recipe: Recipe) -> tuple[Imports, list[str]]:
    """The program of a bag: functions `train` and `evaluate` make the tiles of a bag."""
    script = _Script()
    if any(step.share == "bag" for step in recipe.walk()):
        script.imports.modules |= {"import random", "import numpy as np"}
    parts = []
    for name, of in (("train", recipe.steps), ("evaluate", recipe.eval)):
        if of is None:
            continue
        runs = []
        for share, run in groupby(of, key=lambda step: step.share or "tile"):
            group = tuple(run)
            mixed = next((s for step in group for s in step.walk() if (s.share or share) != share), None)
            if mixed is not None:
                raise RecipeError(f"{recipe.name}: {mixed.site} shares its draws otherwise than the group around it")
            runs.append((script.pipeline(compose_of(steps(group, script.imports), {})), share == "bag"))
        output = script.pipeline(compose_of(last(recipe.output, script.imports), {}))
        parts.append(_bag_function(name, [*runs, (output, False)], recipe))
    return script.imports, [*script.pipelines, *parts]


def _bag_function(name: str, runs: list[tuple[str, bool]], recipe: Recipe) -> str:
    bag = recipe.bag
    lines = [f"\ndef {name}(tiles, rng):", '    """The tiles of one bag, each H x W x 3 uint8; rng: of numpy."""']
    if bag is not None and bag.max_tiles is not None:
        most = bag.max_tiles
        lines.append(f"    if len(tiles) > {most}:")
        pick = {
            "random": f"sorted(rng.choice(len(tiles), {most}, replace=False))",
            "first": f"range({most})",
            "stride": f"[k * len(tiles) // {most} for k in range({most})]",
        }[bag.pick]
        lines.append(f"        tiles = [tiles[k] for k in {pick}]")
    if any(shared for _, shared in runs):
        lines.append("    seed = int(rng.integers(2**32))  # of what all tiles share")
    lines += ["    found = []", "    for tile in tiles:"]
    for part, shared in runs:
        if shared:
            lines.append(f"        {part}.set_random_state(np.random.default_rng(seed), random.Random(seed))")
        lines.append(f'        tile = {part}(image=tile)["image"]')
    return "\n".join([*lines, "        found.append(tile)", "    return found"])
