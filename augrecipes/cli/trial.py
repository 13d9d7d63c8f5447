"""`augrecipes trial`: recipes compared by what they teach a small network, on one's own data."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from augrecipes.cli.arguments import data_of, loaded, selected, split_words
from augrecipes.cli.parsing import refusal
from augrecipes.cli.terminal import STDOUT, answer, parts, report_once, say, say_line, show


def trial(args: Namespace) -> None:
    """Train a small network under each recipe, seed by seed, and say which teaches more.

    \b
    Examples:
      augrecipes trial plain.yaml flips.yaml --data photos/
      augrecipes trial a.yaml b.yaml --data train/ --valid valid/ --minutes 30
      augrecipes trial segmentation mine.yaml --data photos/ --masks masks/
      augrecipes trial sr-x4 bsrgan-x4 --data hr=HR --data lr=LR
      augrecipes trial mine.yaml --data photos/ --ablate
      augrecipes trial a.yaml b.yaml --data photos/ --model train.py:make

    All recipes begin with the same weights, and see the same samples in the same order, with the same draws for steps
    that they share; each further seed changes all three. Trainings are kept: the same command gives the same table, and
    one that was stopped goes on.

    Exit status: 0 measured, 1 a lint error, 2 a recipe, data or model that cannot be used.
    """
    names, words = split_words(args.words)
    if not names:
        raise refusal("which recipes? Give files or names of the gallery", "RECIPE")
    if not words and not args.data:
        raise refusal("which data? Give --data FOLDER, or a list; for pairs --data TARGET=PATH for each target")
    if args.ablate == (len(names) > 1):
        what = "leaves the steps of one recipe out" if args.ablate else "compares two recipes or more"
        raise refusal(f"a trial {what}, got {len(names)}" + "; or give --ablate" * (not args.ablate), "RECIPE")
    from augrecipes.bench.report import usable_folder
    from augrecipes.bench.run import by_name
    from augrecipes.bench.sides import Setting
    from augrecipes.trials.page import write_page
    from augrecipes.trials.run import TrialRun
    from augrecipes.trials.tables import plan_lines, report_of

    if args.out is not None:
        usable_folder(args.out)

    def announce(plan: Any, unit: str) -> None:
        for line in plan_lines(plan, unit):
            say(line, err=args.json == STDOUT)

    how = selected(args, "task minutes seeds epochs model device masks valid_masks ablate fresh")
    with report_once(), parts() as advance:
        recipes = by_name([loaded(args, name) for name in names])
        data, valid = data_of([*words, *args.data]), data_of(args.valid) if args.valid else None
        run = TrialRun(recipes, data, valid, advance=advance, announce=announce, **how)
        table = run.trial
        if args.out is not None:
            page = write_page(table, args.out, run.valid, recipes, Setting(data, masks=args.masks), advance)

    def tell() -> None:
        say()
        show(report_of(table))

    answer(args, table.to_json(), tell)
    if args.out is not None:
        say_line(page, err=args.json == STDOUT)
