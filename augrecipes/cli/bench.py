"""`augrecipes bench`: recipes side by side, on one's own data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from augrecipes.cli.answers import STDOUT, Json, answer
from augrecipes.cli.folders import Data, apart, data_of
from augrecipes.cli.options import Masks, Mode, Seed, Set, Without, here, numbers, one_of, overrides
from augrecipes.cli.terminal import parts, progress, report_once, say, say_line

if TYPE_CHECKING:
    from augrecipes.bench.gate import Judgement
    from augrecipes.bench.record import Bench
    from augrecipes.bench.sides import Setting

_OPTIMIZE = ("none", "exact", "fast")
_MOST_WORKERS, _MOST_SAMPLES = 256, 10**8


def bench(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="RECIPE... [DATA]",
            help="Recipe files, or names of the gallery; then the data: a folder of images or of bags, or a CSV file; "
            "for pairs TARGET=PATH for each target; or a packed store.",
        ),
    ],
    data: Data = None,
    against: Annotated[
        str | None,
        typer.Option(
            "--against",
            metavar="stock",
            parser=one_of("stock"),
            help="Compare each recipe with albumentations' own Compose.",
        ),
    ] = None,
    optimize: Annotated[
        str | None,
        typer.Option(
            "--optimize",
            metavar="none,exact,fast",
            help="Levels to compare. Otherwise: none, and what each recipe chooses.",
        ),
    ] = None,
    cold: Annotated[bool, typer.Option("--cold", help="Read files from a cold page cache, where that can be had.")] = (
        False
    ),
    samples: Annotated[int, typer.Option("--samples", min=1, help="Samples of a pass, at most.")] = 64,
    seconds: Annotated[
        float, typer.Option("--seconds", min=0.01, max=3600, help="For each side and number of workers, roughly.")
    ] = 10.0,
    workers: Annotated[
        str | None,
        typer.Option(
            "--workers",
            metavar="0,1,2,4",
            help="Sweep: epochs with so many threads, and so many processes, that read; 0: neither.",
        ),
    ] = None,
    sizes: Annotated[
        str | None,
        typer.Option(
            "--sizes",
            metavar="1000,10000",
            help="With --workers: samples of an epoch. Otherwise from the data, as far as time allows.",
        ),
    ] = None,
    batch_size: Annotated[
        int | None, typer.Option("--batch-size", min=1, help="Samples in a batch: 8, of bags 1.")
    ] = None,
    train_step: Annotated[
        str | None,
        typer.Option(
            "--train-step",
            metavar="MS|FILE.py[:NAME]",
            help="How much of a training step is waiting: with so many milliseconds a batch, or a model of yours.",
        ),
    ] = None,
    device: Annotated[
        str | None,
        typer.Option("--device", metavar="cpu|cuda|cuda:N", help="Of the model. Otherwise: a GPU where there is one."),
    ] = None,
    effects: Annotated[
        bool, typer.Option("--effects/--no-effects", help="Also look at what the steps do to the samples.")
    ] = True,
    ablate: Annotated[bool, typer.Option("--ablate", help="Leave each step out in turn.")] = False,
    json_: Json = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", parser=here, metavar="FOLDER", help="Write a report here: a page, plots and bench.json."
        ),
    ] = None,
    baseline: Annotated[
        Path | None,
        typer.Option("--baseline", metavar="FILE", help="A record of --json --against stock, to be held against."),
    ] = None,
    fail_if_slower: Annotated[
        str, typer.Option("--fail-if-slower", metavar="15%", help="With --baseline: how much slower is too slow.")
    ] = "15%",
    mode: Mode = "train",
    seed: Seed = 0,
    masks: Masks = None,
    set_: Set = None,
    without: Without = None,
) -> None:
    """Compare recipes on the same samples and draws: how fast they are, stage by stage, and what they do.

    \b
    Examples:
      augrecipes bench stained-tissue tiles/ --optimize none,fast
      augrecipes bench a.yaml b.yaml photos/ --against stock -o report/
      augrecipes bench a.yaml photos/ --baseline bench.json --fail-if-slower 15%
      augrecipes bench a.yaml photos/ --workers 0,1,2,4
      augrecipes bench sr-x4 hr=DIV2K/HR lr=DIV2K/X4 --train-step train.py

    Recipes take turns batch by batch, one thread each. A verdict is given only where the spread allows one. --workers
    times whole epochs of each recipe at its last setting, in this process, with threads and with processes, and says
    which setting to use.

    --train-step runs a file of yours, train.py or train.py:NAME, or a package.module[:NAME]. NAME (model) is an
    nn.Module, or makes one without arguments; it gets batch["image"], of pairs the smallest scale:

    \b
      model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.Flatten(), nn.LazyLinear(10))
      def loss(output, batch):  # without: a mean square to the largest scale
          return nn.functional.cross_entropy(output, batch["label"])
      def optimizer(model):           # without: SGD
          return torch.optim.AdamW(model.parameters())

    A number, --train-step 30, is waited for: milliseconds that a GPU would work on a batch.

    Exit status: 0 measured, 1 slower than the baseline allows or a lint error, 2 a recipe, data or baseline that cannot
    be used.
    """
    chosen = None if optimize is None else [one_of(*_OPTIMIZE)(word.strip()) for word in optimize.split(",")]
    limit = _share(fail_if_slower)
    counts = () if workers is None else numbers(workers, "--workers", 0, _MOST_WORKERS)
    if sizes is not None and not counts:
        raise typer.BadParameter("sizes are those of a sweep, which --workers asks for", param_hint="--sizes")
    of_epochs = None if sizes is None else numbers(sizes, "--sizes", 1, _MOST_SAMPLES)
    changes = overrides(set_)
    recipes, more = apart(words)
    if not recipes:
        raise typer.BadParameter("which recipes? Give files or names of the gallery", param_hint="RECIPE")
    if not more and not data:
        message = "which data? Give a folder, a CSV file or a store; for pairs TARGET=PATH for each target"
        raise typer.BadParameter(message, param_hint="DATA")
    sources = data_of([*more, *(data or [])])
    from augrecipes.bench.gate import judge, open_baseline
    from augrecipes.bench.record import write
    from augrecipes.bench.report.write import usable_folder
    from augrecipes.bench.run import Options
    from augrecipes.bench.run import bench as compare
    from augrecipes.bench.sides import Setting
    from augrecipes.recipe import load

    if device is not None and train_step is None:
        raise typer.BadParameter("is where the model of --train-step FILE.py is trained", param_hint="--device")
    if out is not None:
        usable_folder(out)
    held = None if baseline is None else open_baseline(baseline)
    loaded = _named([load(recipe, overrides=changes, without=without or ()) for recipe in recipes])
    options = Options(
        optimize=chosen and list(dict.fromkeys(chosen)),
        stock=against == "stock" or held is not None,
        yardsticks={} if held is None else held.yardsticks,
        cold=cold,
        samples=samples,
        batch_size=batch_size,
        seconds=seconds,
        workers=counts,
        sizes=of_epochs,
        train_step=train_step,
        device=device,
        effects=effects,
        ablate=ablate,
        undecided=None if held is None else partial(held.undecided, limit=limit),
    )
    setting = Setting(sources, mode, seed, masks)
    with report_once():
        with parts() as advance:
            found = compare(loaded, setting, options, advance)
        judgement = None if held is None else judge(held, found, limit)
        answer(found.to_json(), json_, lambda: _tell(found, judgement), lambda path: write(found, path))
        if out is not None:
            _report(found, out, loaded, setting, judgement, quiet=json_ == STDOUT)
    if judgement is not None and not judgement.passes:
        raise typer.Exit(1)


def _tell(found: Bench, judgement: Judgement | None) -> None:
    from augrecipes.cli.bench_tables import tell, tell_gate

    for line in tell(found):
        say(line)
    say()
    for line in [] if judgement is None else tell_gate(judgement):
        say(line)


def _report(
    found: Bench, folder: Path, recipes: Mapping[str, Any], setting: Setting, held: Judgement | None, *, quiet: bool
) -> None:
    """Write the report, and say where it is; `quiet`: on standard error."""
    from augrecipes.bench.report.write import write_report

    with progress("rendering") as advance:
        written = write_report(found, folder, recipes, setting, held, advance)
    say_line(written.page, err=quiet)


def _named(recipes: Sequence[Any]) -> Mapping[str, Any]:
    """By name; the second of one name gets a number."""
    found: dict[str, Any] = {}
    for recipe in recipes:
        name, number = recipe.name, 2
        while name in found:
            name, number = f"{recipe.name} ({number})", number + 1
        found[name] = recipe
    return found


def _share(text: str) -> float:
    """`15%` or `0.15` as 0.15.

    >>> _share("15%"), _share("0.2")
    (0.15, 0.2)
    """
    try:
        share = float(text.strip().removesuffix("%")) / (100 if text.strip().endswith("%") else 1)
    except ValueError:
        share = -1.0
    if not 0 <= share < 100:
        raise typer.BadParameter(f"{text!r} is no share such as 15% or 0.15", param_hint="--fail-if-slower")
    return share
