"""What recipes and steps say and do, without running them: `list`, `step`, `schema`, `explain`, and `diff` of two."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from augrecipes.cli.answers import STDOUT, Json, answer
from augrecipes.cli.arguments import (
    Data,
    Masks,
    Mode,
    Optimize,
    Recipe,
    Seed,
    Set,
    Without,
    Words,
    apart,
    data_of,
    sources,
)
from augrecipes.cli.options import choice, destination, loaded, option, overrides, refusal
from augrecipes.cli.terminal import complain, exit_status, progress, put, say_line, show
from augrecipes.paths import write_file

if TYPE_CHECKING:
    from augrecipes.compiler.explain import Explanation
    from augrecipes.recipe.model import Mode as Sections
    from augrecipes.recipe.model import Recipe as Loaded

_MODES: dict[str, tuple[Sections, ...]] = {"train": ("train",), "eval": ("eval",), "both": ("train", "eval")}


def list_gallery(json_: Json = None) -> None:
    """List the gallery: recipes that every command takes by name.

    \b
    Examples:
      augrecipes list
      augrecipes list --json
    """
    from augrecipes.report import Report, TextTable

    rows = _rows()
    cells = [(row["name"], row["kind"], row["about"]) for row in rows]
    answer(rows, json_, lambda: show(Report(tables=[TextTable("", (), cells, strong=(0,))])))


def _rows() -> list[dict[str, str]]:
    from augrecipes.recipe import gallery, parse
    from augrecipes.recipe.nodes import plain
    from augrecipes.recipe.problems import Problems

    rows = []
    for name in gallery.gallery_names():
        path = gallery.path(name)
        # The head of the file only: checking every step would take longer than listing them.
        node, _ = parse.read_nodes(path.read_bytes(), str(path), Problems())
        keys: Any = plain(node)
        kind, about = str(keys.get("kind", "image")), str(keys.get("about", ""))
        rows.append({"name": name, "kind": kind, "about": about, "file": str(path)})
    return rows


def step(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="A step; without it all are listed.")] = None,
    json_: Json = None,
) -> None:
    """Say what a step does, how it runs, what becomes of masks and boxes, and which arguments it takes.

    \b
    Examples:
      augrecipes step
      augrecipes step StainJitter
      augrecipes step Rotate --json

    Steps are albumentations' classes, augrecipes' own, groups, policies, those of `batch:`, and classes that --plugin
    registers. Every step also takes id, which keys its random parameters.
    """
    from augrecipes.ops.refused import REFUSED
    from augrecipes.recipe import suggest
    from augrecipes.recipe.step_facts import step_facts, step_names
    from augrecipes.report import Report, TextTable

    names = step_names()
    if name is None:
        cells = [(one, step_facts(one)["about"]) for one in names]
        answer(dict(cells), json_, lambda: show(Report(tables=[TextTable("", (), cells, strong=(0,))])))
        return
    if name not in names:
        known = f"{name} {REFUSED[name]}" if name in REFUSED else ""
        raise refusal(known or f"no step {name!r}{suggest.step(name, None, names).text}", "NAME")
    found = step_facts(name)
    _, about, *facts, (_, rows) = found.items()
    table = TextTable("Arguments", [*rows[0]], [[*row.values()] for row in rows], strong=(0,))
    answer(found, json_, lambda: show(Report({name: about[1], **dict(facts)}, [table])))


def schema(json_: Json = None) -> None:
    """Print the JSON Schema of recipes, for editors and validators.

    \b
    Example:
      augrecipes schema --json recipe.schema.json

    A recipe names it in its first lines: # yaml-language-server: $schema=recipe.schema.json
    """
    from importlib.resources import files

    from augrecipes.ops.catalog import FILE

    # The shipped bytes themselves: a test holds them equal to what the installed classes say.
    data = (files("augrecipes") / "schema" / FILE).read_bytes()
    if json_ not in (None, STDOUT):
        write_file(Path(str(json_)), data)
        say_line(json_)
    else:
        put(data.removesuffix(b"\n"))


def explain(
    recipe: Recipe,
    words: Words = None,
    mode: Mode = "train",
    optimize: Optimize = None,
    data: Data = None,
    seconds: Annotated[
        float, option("--seconds", None, "How long the plan is timed, and the recipe.", min=0.01, max=600)
    ] = 2.0,
    masks: Masks = None,
    seed: Seed = 0,
    epoch: Annotated[int | None, option("--epoch", None, "With the numbers of this epoch.", min=0)] = None,
    json_: Json = None,
    set_: Set = None,
    without: Without = None,
) -> None:
    """Show a recipe's steps with the arguments that take effect, the plan, the rules that made it, and what stayed.

    \b
    Examples:
      augrecipes explain stained-tissue
      augrecipes explain my.yaml --mode eval --optimize none --json
      augrecipes explain stained-tissue tile.png
      augrecipes explain my.yaml --epoch 10
      augrecipes explain sr-x4 hr=0001.png lr=0001x4.png

    With data, of which the first image, pair or tile is taken, each step's time is shown, in ms a sample: as it is
    written, and as it is planned. Both run with the same random parameters in turns; a step that acts in some samples
    only counts as nothing in the others, and work that is put off counts where it is done: that of a crop in a later
    step, or in the output conversion.

    Exit status: 0 printed, 1 a lint error of the recipe, 2 a recipe or image that cannot be used.
    """
    given = sources(recipe, words, data, needed=False)
    from augrecipes.compat.guard import without_torch

    if given is None:
        without_torch()  # this process looks at recipes and at no pixels
    parsed = loaded(recipe, set_, without)
    parsed = parsed if epoch is None else parsed.in_epoch(epoch)
    from augrecipes.compiler.explain import explain as explain_recipe
    from augrecipes.compiler.explained import report_of

    explained = explain_recipe(parsed, mode, optimize, "encoded" if given is None else "uint8")
    if given is not None:
        explained = _timed(explained, parsed, given, masks, seed, seconds)
    found = explained.to_json()
    answer(found, json_, lambda: show(report_of(found)))


def _timed(
    explained: Explanation, recipe: Loaded, data: Any, masks: Path | None, seed: int, seconds: float
) -> Explanation:
    """The explanation with every step's time on an image."""
    from augrecipes.compiler.timing import measure
    from augrecipes.errors import DataError
    from augrecipes.machine import tune_allocator
    from augrecipes.sources.opening import read_first

    mode, optimize = explained.mode, explained.optimize
    given = read_first(recipe, recipe.compile(mode, optimize, seed).targets, data, masks)
    tune_allocator()  # as the loader does
    how: dict[str, Any] = {"mode": mode, "optimize": optimize, "seed": seed, "seconds": seconds}
    try:
        with progress("timing") as advance:
            measured = measure(recipe, given.targets, progress=advance, **how)
    except DataError as error:
        raise (error if error.path else error.with_path(given.path)) from error.__cause__
    sizes = ", ".join(f"{image.shape[0]}×{image.shape[1]} px" for image in given.images.values())
    return explained.with_times(measured, f"{Path(given.path).name}, {sizes}")


def diff(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="A [B] [DATA]",
            help="Recipe files, or names of the gallery; without B it is A. Then the data of --data.",
        ),
    ],
    mode: Annotated[str, choice("--mode", "train|eval|both", "Which sections.")] = "both",
    data: Data = None,
    out: Annotated[Path, destination("FILE", "The PNG or JPEG to write.")] = Path("diff.png"),
    rows: Annotated[int, option("--rows", None, "Samples in the image.", min=1, max=64)] = 4,
    optimize: Optimize = None,
    seed: Seed = 0,
    epoch: Annotated[int, option("--epoch", None, "Epoch of the samples in the image.", min=0)] = 0,
    masks: Masks = None,
    json_: Json = None,
    set_: Set = None,
    without: Without = None,
) -> None:
    """Say what differs in effect between two recipes: steps, arguments, order, random parameters, inputs and output.

    \b
    Examples:
      augrecipes diff old.yaml new.yaml
      augrecipes diff stained-tissue --set RandomResizedCrop.size=[128,128]
      augrecipes diff old.yaml new.yaml --data tiles/ -o grid.png

    Layout, comments, the order of keys and defaults that are written out are no difference. --set and --without change
    B. With data an image shows source, A, B and their difference, with the same seed, epoch and index; of `both`
    sections the training steps.

    \b
    Exit status:
      0  the same in effect
      1  they differ
      2  not a valid recipe, or trouble with the data or the image
    """
    modes = _MODES[mode]
    changes = overrides(set_)
    recipes, more = apart(words)
    if not 1 <= len(recipes) <= 2:
        raise refusal(f"two recipes are compared, or one with its changes; these are {len(recipes)}", "A B")
    more += data or []
    given = data_of(more) if more else None
    from augrecipes.compat.guard import without_torch

    if given is None:
        without_torch()  # this process looks at recipes and at no pixels
    from augrecipes.diff import diff as compare

    a, b = _both(recipes[0], recipes[-1], changes, without or [])
    found = compare(a, b, modes)
    report = found.to_json()
    if given is not None:
        how = {"rows": rows, "optimize": optimize, "seed": seed, "epoch": epoch, "masks": masks}
        report["picture"] = _drawn(a, b, given, out, mode=modes[0], **how)

    def tell() -> None:
        show(found.report())
        if "picture" in report:
            say_line(report["picture"])

    answer(report, json_, tell, status=int(not found.same))


def _both(a: str, b: str, changes: Mapping[str, Any], without: list[str]) -> list[Loaded]:
    """The two recipes; the problems of both at once, each reported once."""
    from augrecipes.errors import RecipeError
    from augrecipes.recipe.parse import load

    found: list[Loaded] = []
    errors: list[RecipeError] = []
    sides: tuple[tuple[str, dict[str, Any]], ...] = ((a, {}), (b, {"overrides": changes, "without": without}))
    for name, how in sides:
        try:
            found.append(load(name, **how))
        except RecipeError as error:
            errors.append(error)
    if len(errors) > 1:
        raise RecipeError(problems=[*dict.fromkeys(problem for error in errors for problem in error.problems)])
    if errors:
        raise errors[0]
    return found


def _drawn(a: Loaded, b: Loaded, data: Any, out: Path, **how: Any) -> Path:
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
        raise typer.Exit(exit_status(error) + 1) from None
