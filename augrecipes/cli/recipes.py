"""Describe recipes and steps: `list`, `step`, `schema`, `explain` and `diff`."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from augrecipes.cli.arguments import data_of, load_recipe, pick, sources, split_words
from augrecipes.cli.parsing import refusal
from augrecipes.cli.terminal import STDOUT, answer, complain, exit_status, progress, put, say_line, show
from augrecipes.paths import write_file

if TYPE_CHECKING:
    from augrecipes.compiler.explain import Explanation
    from augrecipes.recipe.model import Mode, Recipe

_MODES: dict[str, tuple[Mode, ...]] = {"train": ("train",), "eval": ("eval",), "both": ("train", "eval")}


def list_gallery(args: Namespace) -> None:
    """List the recipes of the gallery, which every command takes by name.

    \b
    Examples:
      augrecipes list
      augrecipes list --json
    """
    from augrecipes.recipe import gallery
    from augrecipes.report import Report, TextTable

    rows = gallery.entries()
    cells = [(row["name"], row["kind"], row["about"]) for row in rows]
    answer(args, rows, lambda: show(Report(tables=[TextTable("", (), cells, strong=(0,))])))


def step(args: Namespace) -> None:
    """Say what a step does, how it runs, how it treats masks and boxes, and which arguments it takes.

    \b
    Examples:
      augrecipes step
      augrecipes step StainJitter
      augrecipes step Rotate --json

    Steps are the classes of albumentations and of augrecipes, groups, policies, the steps of `batch:`, and classes that
    --plugin registers. Every step also takes id, which keys its random parameters.
    """
    from augrecipes.ops.refused import REFUSED
    from augrecipes.recipe import suggest
    from augrecipes.recipe.words import step_facts, step_names
    from augrecipes.report import Report, TextTable

    names, name = step_names(), args.name
    if name is None:
        cells = [(each, step_facts(each)["about"]) for each in names]
        answer(args, dict(cells), lambda: show(Report(tables=[TextTable("", (), cells, strong=(0,))])))
        return
    if name not in names:
        known = f"{name} {REFUSED[name]}" if name in REFUSED else ""
        raise refusal(known or f"no step {name!r}{suggest.step(name, None, names).text}", "NAME")
    facts = step_facts(name)
    _, about, *more, (_, rows) = facts.items()
    table = TextTable("Arguments", [*rows[0]], [[*row.values()] for row in rows], strong=(0,))
    answer(args, facts, lambda: show(Report({name: about[1], **dict(more)}, [table])))


def schema(args: Namespace) -> None:
    """Print the JSON Schema of recipes, for editors and validators.

    \b
    Example:
      augrecipes schema --json recipe.schema.json

    A recipe names the schema in its first lines: `# yaml-language-server: $schema=recipe.schema.json`
    """
    from importlib.resources import files

    from augrecipes.ops.catalog import FILE

    # The shipped file, unchanged; a test compares it with the installed classes.
    data = (files("augrecipes") / "schema" / FILE).read_bytes()
    if args.json not in (None, STDOUT):
        write_file(Path(args.json), data)
        say_line(args.json)
    else:
        put(data.removesuffix(b"\n"))


def explain(args: Namespace) -> None:
    """Show a recipe's steps with their effective arguments, its plan, the rules that made it, and what they left.

    \b
    Examples:
      augrecipes explain stained-tissue
      augrecipes explain my.yaml --mode eval --optimize none --json
      augrecipes explain stained-tissue tile.png
      augrecipes explain my.yaml --epoch 10
      augrecipes explain sr-x4 hr=0001.png lr=0001x4.png

    With data, each step is timed on the first image, pair or tile, in ms per sample: as written, and as planned. The
    two take turns and draw the same random parameters. A step that is skipped in a sample counts as 0 there. Postponed
    work counts where it is done: that of a crop in a later step, or in the output conversion.

    Exit status: 0 printed, 1 a lint error of the recipe, 2 a recipe or image that cannot be used.
    """
    data = sources(args, needed=False)
    from augrecipes.compat.guard import without_torch

    if data is None:
        without_torch()  # no pixels are processed here
    recipe = load_recipe(args)
    recipe = recipe if args.epoch is None else recipe.in_epoch(args.epoch)
    from augrecipes.compiler.explain import explain as explain_recipe
    from augrecipes.compiler.explained import report_of

    explained = explain_recipe(recipe, args.mode, args.optimize, "encoded" if data is None else "uint8")
    if data is not None:
        explained = _add_times(explained, recipe, data, **pick(args, "masks seed seconds"))
    report = explained.to_json()
    answer(args, report, lambda: show(report_of(report)))


def _add_times(
    explained: Explanation, recipe: Recipe, data: Any, masks: Path | None, seed: int, seconds: float
) -> Explanation:
    """Add every step's time on the first sample to an explanation."""
    from augrecipes.compiler.timing import measure
    from augrecipes.errors import DataError
    from augrecipes.machine import tune_allocator
    from augrecipes.sources.opening import read_first

    mode, optimize = explained.mode, explained.optimize
    sample = read_first(recipe, recipe.compile(mode, optimize, seed).targets, data, masks)
    tune_allocator()  # as the loader does
    how: dict[str, Any] = {"mode": mode, "optimize": optimize, "seed": seed, "seconds": seconds}
    try:
        with progress("timing") as advance:
            measured = measure(recipe, sample.targets, progress=advance, **how)
    except DataError as error:
        raise (error if error.path else error.with_path(sample.path)) from error.__cause__
    sizes = ", ".join(f"{image.shape[0]}×{image.shape[1]} px" for image in sample.images.values())
    return explained.with_times(measured, f"{Path(sample.path).name}, {sizes}")


def diff(args: Namespace) -> None:
    """Say how two recipes differ in effect: steps, arguments, order, random parameters, inputs and output.

    \b
    Examples:
      augrecipes diff old.yaml new.yaml
      augrecipes diff stained-tissue --set RandomResizedCrop.size=[128,128]
      augrecipes diff old.yaml new.yaml --data tiles/ -o grid.png

    Layout, comments, the order of keys and written-out defaults do not count. --set and --without change B. With data,
    a picture shows the source, A, B and their difference for the same seed, epoch and index; with --mode both, it shows
    the training steps.

    \b
    Exit status:
      0  the same in effect
      1  they differ
      2  a recipe, data or image that cannot be used
    """
    modes = _MODES[args.mode]
    recipes, words = split_words(args.words)
    if not 1 <= len(recipes) <= 2:
        raise refusal(f"give two recipes, or one with --set or --without; got {len(recipes)}", "A B")
    words += args.data
    data = data_of(words) if words else None
    from augrecipes.compat.guard import without_torch

    if data is None:
        without_torch()  # no pixels are processed here
    from augrecipes.diff import diff as compare
    from augrecipes.recipe.parse import load

    a, b = load(recipes[0]), load_recipe(args, recipes[-1])
    differences = compare(a, b, modes)
    report = differences.to_json()
    if data is not None:
        how = pick(args, "rows optimize seed epoch masks")
        report["picture"] = _draw_picture(a, b, data, args.out, mode=modes[0], **how)

    def tell() -> None:
        show(differences.report())
        if "picture" in report:
            say_line(report["picture"])

    answer(args, report, tell, status=int(not differences.same))


def _draw_picture(a: Recipe, b: Recipe, data: Any, out: Path, **how: Any) -> Path:
    """The image's path; status 2 for a recipe that lints keep from running, as 1 says that recipes differ."""
    from augrecipes.diff.images import compared
    from augrecipes.errors import LintError
    from augrecipes.preview.sheet import checked_path

    checked_path(out)
    try:
        with progress("rendering") as advance:
            return compared(a, b, data, progress=advance, **how).save(out)
    except LintError as error:
        complain(error)
        raise SystemExit(exit_status(error) + 1) from None
