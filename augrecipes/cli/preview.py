"""`augrecipes preview`: what a recipe does to some images, as an image."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from augrecipes.cli.answers import Json, answer
from augrecipes.cli.folders import Data, Words, sources
from augrecipes.cli.options import Masks, Mode, Optimize, Recipe, Seed, Set, Without, here, loaded, option
from augrecipes.cli.terminal import progress, say_line


def preview(
    recipe: Recipe,
    words: Words = None,
    data: Data = None,
    out: Annotated[Path, option("--out -o", "FILE", "The PNG or JPEG to write.", parser=here)] = Path("preview.png"),
    stages: Annotated[bool, option("--stages", None, "One sample, after every step, instead of many samples.")] = False,
    rows: Annotated[int, option("--rows", None, "Images, scenes or bags.", min=1, max=64)] = 4,
    columns: Annotated[
        int | None, option("--columns", None, "Samples of each image (6), or tiles of each bag (12).", min=1, max=32)
    ] = None,
    mode: Mode = "train",
    optimize: Optimize = None,
    seed: Seed = 0,
    epoch: Annotated[int, option("--epoch", None, "Epoch of the first sample.", min=0)] = 0,
    masks: Masks = None,
    json_: Json = None,
    set_: Set = None,
    without: Without = None,
) -> None:
    """Draw what a recipe does to some images, pairs or bags: sources on the left, samples on the right.

    \b
    Examples:
      augrecipes preview stained-tissue tiles/ -o grid.png
      augrecipes preview my.yaml photo.jpg -o steps.png --stages
      augrecipes preview sr-x4 hr=DIV2K/HR lr=DIV2K/LR_bicubic/X4 -o pairs.png
      augrecipes preview stained-tissue-bag slides/ -o bags.png

    Exit status: 0 written, 1 a lint error of the recipe, 2 a recipe or data that cannot be used.
    """
    given = sources(recipe, words, data)
    from augrecipes.preview import preview as render

    parsed = loaded(recipe, set_, without)
    with progress("rendering") as advance:
        written = render(
            parsed, given, out, rows=rows, columns=columns, seed=seed, epoch=epoch, stages=stages,
            mode=mode, optimize=optimize, masks=masks, progress=advance,
        )  # fmt: skip
    report = {"recipe": parsed.name, "digest": parsed.digest, "mode": mode, "seed": seed, "picture": written}
    answer(report, json_, lambda: say_line(written))
