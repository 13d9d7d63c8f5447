"""What leaves a recipe, in one line for people."""

from __future__ import annotations

from augrecipes.recipe.model import Output, Recipe


def output_line(recipe: Recipe) -> str:
    """The recipe's output in one line; that of each target, where they differ."""
    if not recipe.outputs:
        return _output(recipe.output)
    every = [(name, recipe.outputs.get(name, recipe.output)) for name in recipe.scales]
    return "; ".join(f"{name} {_output(output)}" for name, output in every)


def _output(out: Output) -> str:
    if out.dtype == "uint8" or out.where == "device":
        scale = "0..255"
    elif out.normalize:
        scale = f"(x − {_numbers(out.normalize.mean)}) / {_numbers(out.normalize.std)}"
    else:
        scale = f"{out.range[0]:g}..{out.range[1]:g}"
    dtype = "uint8" if out.where == "device" else out.dtype
    return f"{dtype} {out.layout} {out.color}, {scale}" + (", the rest on the device" if out.where == "device" else "")


def _numbers(values: tuple[float, ...]) -> str:
    text = ", ".join(f"{v:g}" for v in values)
    return text if len(values) == 1 else f"({text})"
