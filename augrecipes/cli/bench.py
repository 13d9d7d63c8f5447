"""`augrecipes bench`: recipes side by side, on one's own data."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from augrecipes.cli.answers import STDOUT, Json, answer
from augrecipes.cli.arguments import Data, Masks, Mode, Seed, Set, Without, apart, data_of
from augrecipes.cli.options import choice, destination, loaded, numbers, one_of, option, refusal
from augrecipes.cli.terminal import parts, progress, report_once, say, say_line, show

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
        str | None, choice("--against", "stock", "Compare each recipe with albumentations' own Compose.")
    ] = None,
    optimize: Annotated[
        str | None,
        option("--optimize", "none,exact,fast", "Levels to compare. Otherwise: none, and what each recipe chooses."),
    ] = None,
    samples: Annotated[int, option("--samples", None, "Samples of a pass, at most.", min=1)] = 64,
    seconds: Annotated[
        float, option("--seconds", None, "For each side and number of workers, roughly.", min=0.01, max=3600)
    ] = 10.0,
    workers: Annotated[
        str | None,
        option("--workers", "0,1,2,4", "Sweep: epochs read by so many threads, and by so many processes; 0: neither."),
    ] = None,
    sizes: Annotated[
        str | None,
        option("--sizes", "1000,10000", "With --workers: samples of an epoch; else from the data, as time allows."),
    ] = None,
    batch_size: Annotated[int | None, option("--batch-size", None, "Samples in a batch: 8, of bags 1.", min=1)] = None,
    train_step: Annotated[
        str | None,
        option(
            "--train-step",
            "MS|FILE.py[:NAME]",
            "The share of a training step that is waiting: of so many ms, or of your model.",
        ),
    ] = None,
    device: Annotated[
        str | None, option("--device", "cpu|cuda|cuda:N", "Of the model. Otherwise: a GPU where there is one.")
    ] = None,
    effects: Annotated[
        bool, option("--effects/--no-effects", None, "Also look at what the steps do to the samples.")
    ] = True,
    ablate: Annotated[bool, option("--ablate", None, "Leave each step out in turn.")] = False,
    json_: Json = None,
    out: Annotated[Path | None, destination("FOLDER", "Write a report here: a page, and bench.json.")] = None,
    baseline: Annotated[
        Path | None, option("--baseline", "FILE", "A record of --json --against stock, to be held against.")
    ] = None,
    fail_if_slower: Annotated[
        str, option("--fail-if-slower", "15%", "With --baseline: how much slower is too slow.")
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
    nn.Module, or makes one without arguments; it gets batch["image"], of pairs the smallest scale, of views each:

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
        raise refusal("sizes are those of a sweep, which --workers asks for", "--sizes")
    of_epochs = None if sizes is None else numbers(sizes, "--sizes", 1, _MOST_SAMPLES)
    recipes, more = apart(words)
    if not recipes:
        raise refusal("which recipes? Give files or names of the gallery", "RECIPE")
    if not more and not data:
        raise refusal("which data? Give a folder, a CSV file or a store; for pairs TARGET=PATH for each target")
    sources = data_of([*more, *(data or [])])
    from augrecipes.bench.gate import judge, open_baseline
    from augrecipes.bench.record import write
    from augrecipes.bench.report import usable_folder, write_report
    from augrecipes.bench.run import Options
    from augrecipes.bench.run import bench as compare
    from augrecipes.bench.sides import Setting
    from augrecipes.bench.tables import report_of, report_of_gate

    if device is not None and train_step is None:
        raise refusal("is where the model of --train-step FILE.py is trained", "--device")
    if out is not None:
        usable_folder(out)
    held = None if baseline is None else open_baseline(baseline)
    compared: dict[str, Any] = {}
    for recipe in (loaded(recipe, set_, without) for recipe in recipes):
        same = sum(recipe.name == other.name for other in compared.values())
        compared[f"{recipe.name} ({same + 1})" if same else recipe.name] = recipe
    options = Options(
        optimize=chosen and list(dict.fromkeys(chosen)),
        stock=against == "stock" or held is not None,
        yardsticks={} if held is None else held.yardsticks,
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
            found = compare(compared, setting, options, advance)
        judgement = None if held is None else judge(held, found, limit)

        def tell() -> None:
            show(report_of(found))
            say()
            if judgement is not None:
                show(report_of_gate(judgement))

        answer(found, json_, tell, lambda path: write(found, path))
        if out is not None:
            with progress("rendering") as rendered:
                page = write_report(found, out, compared, setting, judgement, rendered)
            say_line(page, err=json_ == STDOUT)
    if judgement is not None and not judgement.passes:
        raise typer.Exit(1)


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
        raise refusal(f"{text!r} is no share such as 15% or 0.15", "--fail-if-slower")
    return share
