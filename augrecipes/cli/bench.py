"""Compare recipes on your data: `bench` measures their speed, `trial` what a small network learns under each."""

from argparse import Namespace
from functools import partial
from typing import Any

from augrecipes.cli.arguments import data_of, load_recipe, numbers, pick, split_words
from augrecipes.cli.parsing import refusal
from augrecipes.cli.terminal import STDOUT, answer, parts, progress, report_once, say, say_line, show

_OPTIMIZE = ("none", "exact", "fast")
_MOST_WORKERS, _MOST_SAMPLES = 256, 10**8


def bench(args: Namespace) -> None:
    """Compare recipes on the same samples and draws: how fast they are, stage by stage, and what they do.

    \b
    Examples:
      augrecipes bench stained-tissue tiles/ --optimize none,fast
      augrecipes bench a.yaml b.yaml photos/ --against stock -o report/
      augrecipes bench a.yaml photos/ --baseline bench.json --fail-if-slower 15%
      augrecipes bench a.yaml photos/ --workers 0,1,2,4
      augrecipes bench sr-x4 hr=DIV2K/HR lr=DIV2K/X4 --train-step train.py

    Recipes take turns batch by batch, one thread each. A verdict is given only where the spread allows one. --workers
    times whole epochs of each recipe at the last of its levels, in this process, with threads and with processes, and
    says which to use.

    --train-step runs a file of yours, train.py or train.py:NAME, or a package.module[:NAME]. NAME, by default model, is
    an nn.Module or a function that returns one. It gets batch["image"], the smallest scale of pairs, or each view:

    \b
      model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.Flatten(), nn.LazyLinear(10))
      def loss(output, batch):  # default: mean squared error to the largest scale
          return nn.functional.cross_entropy(output, batch["label"])
      def optimizer(model):     # default: SGD
          return torch.optim.AdamW(model.parameters())

    A number, such as --train-step 30, is how many milliseconds a GPU would work on a batch: bench waits that long.

    Exit status: 0 measured, 1 slower than the baseline allows or a lint error, 2 a recipe, data or baseline that cannot
    be used.
    """
    levels = [] if args.optimize is None else [word.strip() for word in args.optimize.split(",")]
    if unknown := [word for word in levels if word not in _OPTIMIZE]:
        raise refusal(f"{unknown[0]!r} is not one of {', '.join(_OPTIMIZE)}", "--optimize")
    limit = _share(args.fail_if_slower)
    workers = () if args.workers is None else numbers(args.workers, "--workers", 0, _MOST_WORKERS)
    if args.sizes is not None and not workers:
        raise refusal("goes with --workers, which asks for the sweep", "--sizes")
    sizes = None if args.sizes is None else numbers(args.sizes, "--sizes", 1, _MOST_SAMPLES)
    names, words = _recipes_and_data(args)
    data = data_of(words)
    from augrecipes.bench.gate import judge, open_baseline
    from augrecipes.bench.record import write
    from augrecipes.bench.report import usable_folder, write_report
    from augrecipes.bench.run import Options, by_name
    from augrecipes.bench.run import bench as compare
    from augrecipes.bench.sides import Setting
    from augrecipes.bench.tables import report_of, report_of_gate

    if args.device is not None and args.train_step is None:
        raise refusal("goes with --train-step FILE.py: it says where that model is trained", "--device")
    if args.out is not None:
        usable_folder(args.out)
    baseline = None if args.baseline is None else open_baseline(args.baseline)
    recipes = by_name([load_recipe(args, name) for name in names])
    options = Options(
        optimize=list(dict.fromkeys(levels)) or None,
        stock=args.against == "stock" or baseline is not None,
        yardsticks={} if baseline is None else baseline.yardsticks,
        workers=workers,
        sizes=sizes,
        undecided=None if baseline is None else partial(baseline.undecided, limit=limit),
        **pick(args, "samples batch_size seconds train_step device effects ablate"),
    )
    setting = Setting(data, args.mode, args.seed, args.masks)
    with report_once():
        with parts() as advance:
            comparison = compare(recipes, setting, options, advance)
        judgement = None if baseline is None else judge(baseline, comparison, limit)

        def tell() -> None:
            show(report_of(comparison))
            say()
            if judgement is not None:
                show(report_of_gate(judgement))

        answer(args, comparison, tell, lambda path: write(comparison, path))
        if args.out is not None:
            with progress("rendering") as advance_page:
                page = write_report(comparison, args.out, recipes, setting, judgement, advance_page)
            say_line(page, err=args.json == STDOUT)
    if judgement is not None and not judgement.passes:
        raise SystemExit(1)


def _recipes_and_data(args: Namespace) -> tuple[list[str], list[str]]:
    """Split a command's words into recipes and data. UsageError where one of the two is missing."""
    names, words = split_words(args.words)
    if not names:
        raise refusal("which recipes? Give files or names of the gallery", "RECIPE")
    if not words and not args.data:
        raise refusal("which data? Give a folder, a CSV file or a store; for pairs TARGET=PATH for each target")
    return names, [*words, *args.data]


def _share(text: str) -> float:
    """Parse `15%` or `0.15` as 0.15.

    >>> _share("15%"), _share("0.2")
    (0.15, 0.2)
    """
    try:
        share = float(text.strip().removesuffix("%")) / (100 if text.strip().endswith("%") else 1)
    except ValueError:
        share = -1.0
    if not 0 <= share < 100:
        raise refusal(f"{text!r} is not a share; write 15% or 0.15", "--fail-if-slower")
    return share


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

    All recipes start with the same weights and see the same samples in the same order, with the same draws for the
    steps that they share; each further seed changes all three. Results are kept: the same command gives the same table,
    and continues a trial that was stopped.

    Exit status: 0 measured, 1 a lint error, 2 a recipe, data or model that cannot be used.
    """
    names, words = _recipes_and_data(args)
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

    how = pick(args, "task minutes seeds epochs model device masks valid_masks ablate fresh")
    with report_once(), parts() as advance:
        recipes = by_name([load_recipe(args, name) for name in names])
        data, valid = data_of(words), data_of(args.valid) if args.valid else None
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
