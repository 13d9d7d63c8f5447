"""Check recipes on your data: `check-data` lists defects of the files, `verify` compares the plan with the recipe."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from augrecipes.cli.arguments import is_data, load_recipe, overrides, pick, sources
from augrecipes.cli.parsing import UsageError, refusal
from augrecipes.cli.terminal import answer, complain, good, parts, progress, say, say_line, say_lines, show
from augrecipes.errors import DataError, counted

if TYPE_CHECKING:
    from augrecipes.recipe.model import Recipe
    from augrecipes.sources.check import CheckReport
    from augrecipes.verify import Verification

_LISTED = 6  # omitted samples that are named


def check_data(args: Namespace) -> None:
    """Check the files that a recipe would read (headers, sizes, labels, masks, boxes, pairs), and list every defect.

    \b
    Examples:
      augrecipes check-data imagenet-train photos/
      augrecipes check-data segmentation photos/ --masks masks/ --content
      augrecipes check-data detection boxes.csv
      augrecipes check-data detection instances.json
      augrecipes check-data detection data.yaml split=val crowds=keep
      augrecipes check-data stained-tissue-bag slides/
      augrecipes check-data my.yaml my_data.py:train
      augrecipes check-data sr-x4 hr=DIV2K/HR lr=DIV2K/LR_bicubic/X4 --content
      augrecipes check-data sr-x4 hr=Set5/HR lr=Set5/X4 --names lr={}x4
      augrecipes check-data photos/ --recipe my.yaml -o labels.png
      augrecipes check-data detection instances.json --recipe my.yaml

    With --recipe R, the command also measures what R's training steps do to the labels: how much of masks, boxes and
    keypoints the crops leave, whether colours tell the classes apart and still do after the steps, and which classes
    look like another class once mirrored. These figures do not change the exit status.

    \b
    Exit status:
      0  all files are fine
      1  defects, or nothing to read
      2  arguments that cannot be used
    """
    templates = {}
    for text in args.names:
        target, _, template = text.partition("=")
        if not target or not template:
            raise refusal(f"{text!r} is not TARGET=TEMPLATE, such as lr={{}}x4", "--names")
        templates[target] = template
    if args.judged and args.recipe and (is_data(args.recipe) or not (args.words or args.data)):
        args.recipe, args.words = None, [args.recipe, *args.words]
    if not (args.recipe or args.judged):
        raise UsageError("Missing argument RECIPE")
    if args.out and not args.judged:
        raise refusal("goes with --recipe FILE: it shows what that recipe does to labels", "-o")
    reading, args.recipe = args.recipe, args.recipe or args.judged
    data = sources(args)
    from augrecipes.compat.guard import without_torch
    from augrecipes.recipe.parse import load

    without_torch()
    judged = load_recipe(args, args.judged) if args.judged else None
    recipe = load_recipe(args) if judged is None else load(reading) if reading else judged
    _fits(recipe, data, args.masks, templates)
    how = {"masks": args.masks and str(args.masks), "names": templates, **pick(args, "split content")}
    checked = _check(recipe, args.mode, data, how)
    report = {
        "kind": recipe.kind,
        "targets": dict(checked.listed),
        "fine": checked.fine,
        "content": args.content,
        "defects": checked.defects,
        "notes": checked.notes,
        **checked.more,
    }
    safety, written = None, None
    if judged is not None and checked.fine:
        from augrecipes.preview.sheet import checked_path
        from augrecipes.verify import label_safety

        _fits(judged, data, args.masks, templates)
        if args.out:
            checked_path(args.out)
        try:
            with progress("drawing") as advance:
                safety = label_safety(judged, data, progress=advance, **pick(args, "masks split samples"))
            written = safety.sheet().save(args.out) if safety.rows and args.out else None
            report["labels"] = safety.to_json()
        except DataError as error:  # still print the results of the check
            complain(error)
            report["labels"] = {"left_out": [str(error)]}

    def tell() -> None:
        _tell(checked)
        if safety is not None:
            say()
            show(safety.report())
        if written is not None:
            say_line(written)

    answer(args, report, tell, status=int(bool(checked.defects or not checked.fine)))


def _fits(recipe: Recipe, data: Any, masks: Any, names: Any) -> None:
    """Raise UsageError for options and data that do not go with a recipe of this kind."""
    from augrecipes.sources.opening import is_source, words_of

    of_kind = f"recipe {recipe.name!r} is of kind {recipe.kind}"
    if is_source(data):
        if names or masks is not None or recipe.facts.tiles:
            what = "--names" if names else "--masks" if masks is not None else f"a recipe of kind {recipe.kind}"
            raise refusal(f"{what} goes with files, and {words_of(data)} is a source of samples", None)
    elif not recipe.facts.scales and (names or not (isinstance(data, str) or "files" in data or recipe.targets)):
        raise refusal(f"{'--names' if names else 'TARGET=PATH'} is for pairs, and {of_kind}", None)
    elif not recipe.facts.annotated and masks is not None:
        raise refusal(f"masks go with images, and {of_kind}", "--masks")


def _check(recipe: Recipe, mode: Any, data: Any, how: dict[str, Any]) -> CheckReport:
    from augrecipes.compiler.compile import check, steps_of
    from augrecipes.recipe import kinds
    from augrecipes.sources.check import check_samples
    from augrecipes.sources.opening import is_source, open_data

    steps_of(recipe, mode)  # raises where there is no such section
    check(recipe)
    with parts() as advance:
        if is_source(data):
            source = open_data(recipe, recipe.compile(mode, "none").targets, data, mode=mode)
            return check_samples(recipe, mode, source, advance)
        return kinds.part(recipe.kind, "reader").check(recipe, mode, data, **how, advance=advance)


def _tell(checked: CheckReport) -> None:
    widest = max(map(len, checked.listed))
    units = {"bag": "", "tile": "", "boxes": " rows", "keypoints": " rows"}
    for name, count in checked.listed.items():
        what = units.get(name, " samples" if checked.given else " files")
        say(f"{name:<{widest}}  {count:>7,}{what.removesuffix('s') if count == 1 else what}")
    say_lines("note: ", checked.notes, len(checked.notes))
    if checked.defects or not checked.fine:
        say(checked.report(), wrap=False)
    else:
        good(f"{counted(checked.fine, checked.unit)}, all fine")


def verify(args: Namespace) -> None:
    """Run a recipe as written and as planned, with the same random parameters, and measure how far the two differ.

    \b
    Examples:
      augrecipes verify stained-tissue tiles/
      augrecipes verify my.yaml photos/ --samples 500 --epochs 3 -o worst.png
      augrecipes verify sr-x4 hr=DIV2K/HR lr=DIV2K/LR_bicubic/X4

    Where the plan does not merge resampling, images are compared value by value. Where it does, both images must show
    the same things at the same places, to a few hundredths of a pixel.

    Exit status: 0 every contract holds, 1 a broken contract or a lint error, 2 a recipe or data that cannot be used.
    """
    data = sources(args)
    from augrecipes.errors import DataError
    from augrecipes.preview.sheet import checked_path, save_sheet
    from augrecipes.verify import render_worst
    from augrecipes.verify import verify as check
    from augrecipes.verify.tables import report_of, to_json

    if args.out is not None:
        checked_path(args.out)
    recipe = load_recipe(args)
    with progress("comparing") as advance:
        how = pick(args, "mode optimize seed samples epochs masks")
        verification = check(recipe, data, progress=advance, **how)
    written = None
    if args.out is not None:
        try:
            written = save_sheet(render_worst(verification, data, masks=args.masks), args.out)
        except DataError as error:  # still print the figures
            complain(error)
    load = _call("load", repr(args.recipe), overrides=overrides(args.set), without=[*args.without])
    replay = _replay(verification, load, data, args.masks)
    report = to_json(verification) | {"replay": "; ".join(replay)} | ({} if written is None else {"picture": written})

    def tell() -> None:
        show(report_of(verification, args.epochs))
        say()
        say_lines("left out: ", verification.left_out, _LISTED)
        if verification.ok:
            good(f"every contract holds on {verification.samples} samples")
        say("the worst sample again:")
        for line in replay:
            say(line, wrap=False)
        if written is not None:
            say_line(written)

    answer(args, report, tell, status=int(not verification.ok))


def _replay(verification: Verification, load: str, data: Any, masks: Path | None) -> list[str]:
    """Return Python that runs the worst sample again, as lines."""
    from augrecipes.sources.opened import NamedSource

    place = verification.worst[0].place
    usual = {"mode": (verification.mode, "train"), "optimize": (verification.optimize, "fast")}
    how: dict[str, Any] = {name: value for name, (value, otherwise) in usual.items() if value != otherwise}
    where = [load, repr(data), str(place.number), f"epoch={place.epoch}", f"seed={verification.seed}"]
    named = ["from augrecipes.sources.opened import NamedSource"] if isinstance(data, NamedSource) else []
    return [
        *named,
        "from augrecipes import load",
        "from augrecipes.verify import replay",
        f"again = {_call('replay', *where, **how, masks=masks and str(masks))}",
    ]


def _call(name: str, *places: str, **more: Any) -> str:
    """Format a call in Python, without empty keywords.

    >>> _call("load", "'tiny.yaml'", overrides={}, without=["Rotate"])
    "load('tiny.yaml', without=['Rotate'])"
    """
    return f"{name}({', '.join([*places, *(f'{key}={value!r}' for key, value in more.items() if value)])})"
