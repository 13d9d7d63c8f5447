"""`augrecipes import` and `eject`: convert other frameworks' pipelines to recipes, and recipes to albumentations."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from augrecipes.cli.arguments import load_recipe, overrides
from augrecipes.cli.parsing import refusal
from augrecipes.cli.terminal import answer, line_of, paint, say, say_line
from augrecipes.errors import counted
from augrecipes.paths import write_file

if TYPE_CHECKING:
    from augrecipes.errors import Diagnostic
    from augrecipes.interop.draft import RecipeDraft
    from augrecipes.recipe.model import Optimize, Recipe

_SIZE = (375, 500)  # height and width of the generated image
_LEVELS: tuple[Optimize, ...] = ("exact", "fast")


def import_(args: Namespace) -> None:
    """Make a recipe from another framework's pipeline, and say what changed and how much faster it is.

    \b
    Examples:
      augrecipes import aug.json -o recipe.yaml
      augrecipes import train.py --key get_transforms.train -o recipe.yaml
      augrecipes import train.py --set CFG.size=512 -o recipe.yaml
      augrecipes import train.py:transform -o recipe.yaml
      augrecipes import train_span_otf.toml -o recipe.yaml
      curl https://.../train.py | augrecipes import - -o recipe.yaml

    SOURCE may be Python source with pipelines of albumentations or torchvision, a file that A.save wrote, a config of
    MMDetection, MMSegmentation, Hydra or LightningCLI, or an option file of BasicSR, traiNNer-redux or neosr. Where the
    source does not hold a value, the recipe gets a comment for you to fill in, or you give the value with --set.
    FILE.py:NAME and MODULE:NAME run that file or module. NAME may be an A.Compose, transforms of torchvision, or a
    function without arguments that returns them.

    \b
    Exit status:
      0  all of it is in the recipe
      1  parts are not supported; the recipe lists them in comments
      2  nothing can be imported
    """
    from augrecipes.interop.importing import draft_of
    from augrecipes.recipe.parse import parse_text

    draft = draft_of(args.source, args.key, overrides(args.set), args.base_root)
    draft.complete()
    text, left_out = draft.to_yaml(), draft.left_out()
    recipe = parse_text(text, file="<recipe>" if args.out is None else str(args.out))
    if args.out is not None:
        write_file(args.out, text.encode("utf-8"))
    from augrecipes.lint import lint

    lints = lint(recipe, advice=False)
    speeds = gains(recipe) if args.time else {}
    report = {
        "recipe": text,
        "changed": draft.changes(),
        "notes": draft.notes,
        "left_out": left_out,
        "dataset": draft.dataset,
        "lints": lints,
        "times_as_fast": speeds,
    }
    answer(args, report, lambda: _tell(draft, text, lints, speeds, args.out), status=int(bool(left_out)))


def _tell(draft: RecipeDraft, text: str, lints: Sequence[Diagnostic], gains: dict[str, Any], out: Path | None) -> None:
    """Print the recipe or its path, and notes on it: on standard error where the recipe itself is printed."""
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
    if "error" in gains:
        lines.append(f"speed    not measured: {gains['error']}")
    elif gains:
        many = paint(" · ".join(f"{setting} {ratio:.1f}" for setting, ratio in gains.items()), "good", stream)
        what = f"a generated image of {_SIZE[0]}×{_SIZE[1]} px, one thread"
        lines.append(f"speed    {many} times as fast as every step by itself ({what})")
    for line in lines:
        say(line, err=err)
    for problem in (*lints, *draft.left_out()):
        say(line_of(problem, stream), err=err, wrap=False)


def gains(recipe: Recipe, seconds: float = 1.0) -> dict[str, Any]:
    """Measure the speedup of each level; a failure's reason under `error`; empty for recipes without one image."""
    if recipe.facts.scales or recipe.facts.tiles or not recipe.steps:
        return {}
    import numpy as np

    from augrecipes.compiler.timing import measure
    from augrecipes.demo.photos import CLASSES, render_photo
    from augrecipes.notebook.show import targets_on
    from augrecipes.report import quiet

    try:
        with quiet():  # the lints are printed separately
            targets = targets_on(recipe, render_photo(CLASSES[0], _SIZE, np.random.default_rng(0)))
            return {level: measure(recipe, targets, optimize=level, seconds=seconds / 4).ratio for level in _LEVELS}
    except Exception as error:  # steps may fail in any way on an image that they were not meant for
        return {"error": str(error).splitlines()[0] if str(error) else type(error).__name__}


def eject(args: Namespace) -> None:
    """Write a recipe as plain albumentations: code that runs without a recipe, or what A.load reads.

    \b
    Examples:
      augrecipes eject stained-tissue -o transforms.py
      augrecipes eject my.yaml --json aug.json

    Python code holds both sections, JSON the section of --mode. Both import the steps that only augrecipes has.
    Albumentations then draws in its own way: random parameters no longer depend on epoch and index. Pairs, and bags
    whose tiles share random parameters, are refused: no Compose can run them.

    Exit status: 0 written, 2 a recipe that cannot be used, or that albumentations cannot run.
    """
    if args.python and args.json is not None:
        raise refusal("give --python or --json, not both", None)
    if args.json is not None and args.out is not None:
        raise refusal("give the file of --json right after it, such as --json aug.json", None)
    from augrecipes.interop import plain

    recipe = load_recipe(args)
    if args.json is not None:
        answer(args, plain.saved(recipe, args.mode), lambda: None)
    elif args.out is None:
        say(plain.python_of(recipe).removesuffix("\n"), wrap=False)
    else:
        write_file(args.out, plain.python_of(recipe).encode("utf-8"))
        say_line(args.out)
