"""`augrecipes import` and `augrecipes eject`: recipes from other frameworks' pipelines, and back to albumentations."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from augrecipes.cli.answers import Json, answer
from augrecipes.cli.arguments import Mode, Recipe, Set, Without
from augrecipes.cli.options import destination, loaded, option, overrides
from augrecipes.cli.terminal import line_of, paint, say, say_line
from augrecipes.errors import counted
from augrecipes.paths import write_file

if TYPE_CHECKING:
    from augrecipes.errors import Diagnostic
    from augrecipes.interop.draft import RecipeDraft
    from augrecipes.recipe.model import Recipe as Loaded

_SIZE = (375, 500)  # of the image that is generated, height and width
_SECONDS = 1.0


def import_(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="Python source, a notebook or a config (JSON, YAML): read, never run; `-` for standard "
            "input; or FILE.py:NAME or MODULE:NAME, which is run.",
        ),
    ],
    out: Annotated[Path | None, destination("FILE", "Where to write the recipe.")] = None,
    key: Annotated[str, option("--key", "PATH", "Which pipeline: keys or names of the source, joined by dots.")] = "",
    set_: Annotated[
        list[str] | None,
        option("--set", "NAME=VALUE", "What Python source does not tell: --set cfg.size=512. Repeatable."),
    ] = None,
    base_root: Annotated[
        Path | None, option("--base-root", "FOLDER", "Where files of `_base_` may lie; else the config's own folder.")
    ] = None,
    time: Annotated[bool, option("--time/--no-time", None, "Measure what `fast` gains on a generated image.")] = True,
    json_: Json = None,
) -> None:
    """Make a recipe of another framework's pipeline, and say what changed, and what is better.

    \b
    Examples:
      augrecipes import aug.json -o recipe.yaml
      augrecipes import train.py --key get_transforms.train -o recipe.yaml
      augrecipes import notebook.ipynb --set CFG.size=512
      augrecipes import train.py:transform -o recipe.yaml
      curl https://.../train.py | augrecipes import - -o recipe.yaml

    Python source with pipelines of albumentations or torchvision, files that A.save wrote, and configs of MMDetection,
    MMSegmentation, Hydra, LightningCLI and BasicSR are read. What source computes from what is not in it
    stands in the recipe as a comment to fill in; --set says it. FILE.py:NAME and MODULE:NAME run that file or module,
    because you name it so: it may hold an A.Compose, transforms of torchvision, or a function without arguments that
    makes them.

    \b
    Exit status:
      0  all of it is in the recipe
      1  parts are not supported; they stand in the recipe as comments
      2  nothing that can be imported
    """
    from augrecipes.interop.importing import draft_of
    from augrecipes.recipe.parse import parse_text

    draft = draft_of(source, key, overrides(set_), base_root)
    draft.complete()
    text, left = draft.to_yaml(), draft.left_out()
    recipe = parse_text(text, file="<recipe>" if out is None else str(out))
    if out is not None:
        write_file(out, text.encode("utf-8"))
    from augrecipes.lint import lint

    lints = lint(recipe, advice=False)
    gained = _gained(recipe) if time else {}
    found = {
        "recipe": text,
        "changed": draft.changes(),
        "notes": draft.notes,
        "left_out": left,
        "dataset": draft.dataset,
        "lints": lints,
        "times_as_fast": gained,
    }
    answer(found, json_, lambda: _tell(draft, text, lints, gained, out), status=int(bool(left)))


def _tell(draft: RecipeDraft, text: str, lints: Sequence[Diagnostic], gained: dict[str, Any], out: Path | None) -> None:
    """The recipe, or where it is, and what should be known of it: on standard error, where the recipe is printed."""
    err = out is None
    stream = sys.stderr if err else sys.stdout
    if out is None:
        say(text.removesuffix("\n"), wrap=False)
    else:
        steps = counted(sum(1 for _ in draft.lines()), "step")
        say(f"{paint(str(out), 'strong', stream)}: {steps}, made of {draft.origin}")
    lines = [f"changed  {what}" for what in draft.changes()]
    lines += [f"note     {note}" for note in draft.notes]
    lines += [f"data     {draft.dataset}"] if draft.dataset else []
    if "error" in gained:
        lines.append(f"speed    not measured: {gained['error']}")
    elif gained:
        many = paint(" · ".join(f"{setting} {ratio:.1f}" for setting, ratio in gained.items()), "good", stream)
        what = f"a generated image of {_SIZE[0]}×{_SIZE[1]} px, one thread"
        lines.append(f"speed    {many} times as fast as every step by itself ({what})")
    for line in lines:
        say(line, err=err)
    for problem in (*lints, *draft.left_out()):
        say(line_of(problem, stream), err=err, wrap=False)


def _gained(recipe: Loaded) -> dict[str, Any]:
    """How many times as fast each setting is; why nothing was measured under `error`; empty where it means nothing."""
    if recipe.facts.scales or recipe.facts.tiles or not recipe.steps:
        return {}
    import numpy as np

    from augrecipes.demo.photos import CLASSES, render_photo
    from augrecipes.display import quiet
    from augrecipes.interop.gain import gain

    try:
        with quiet():  # the lints are printed by themselves
            return dict(gain(recipe, render_photo(CLASSES[0], _SIZE, np.random.default_rng(0)), _SECONDS))
    except Exception as error:  # whatever a step makes of an image that it was not meant for
        return {"error": str(error).splitlines()[0] if str(error) else type(error).__name__}


def eject(
    recipe: Recipe,
    python: Annotated[bool, option("--python", None, "Python code, which is what is written without --json.")] = False,
    out: Annotated[Path | None, destination("FILE", "Where to write the code; else it is printed.")] = None,
    mode: Mode = "train",
    json_: Json = None,
    set_: Set = None,
    without: Without = None,
) -> None:
    """Write a recipe as plain albumentations: code that runs without a recipe, or what A.load reads.

    \b
    Examples:
      augrecipes eject stained-tissue -o transforms.py
      augrecipes eject my.yaml --json aug.json

    Code has both sections, JSON the one of --mode. Steps that only augrecipes has are imported from it. Albumentations
    then samples in its own way: random parameters are no longer keyed by epoch and index. Pairs, and bags whose tiles
    share random parameters, are refused: no Compose can run them.

    Exit status: 0 written, 2 a recipe that cannot be used, or that no code of albumentations can run.
    """
    if python and json_ is not None:
        raise typer.BadParameter("give --python or --json, not both")
    if json_ is not None and out is not None:
        raise typer.BadParameter("give the file of --json right after it, such as --json aug.json")
    from augrecipes.interop import plain as ejecting

    parsed = loaded(recipe, set_, without)
    if json_ is not None:
        answer(ejecting.saved(parsed, mode), json_, lambda: None)
    elif out is None:
        say(ejecting.python_of(parsed).removesuffix("\n"), wrap=False)
    else:
        write_file(out, ejecting.python_of(parsed).encode("utf-8"))
        say_line(out)
