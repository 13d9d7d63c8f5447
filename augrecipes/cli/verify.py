"""`augrecipes verify`: whether the optimiser's plan is the recipe."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from augrecipes.cli.answers import Json, answer
from augrecipes.cli.arguments import Data, Level, Masks, Mode, Recipe, Seed, Set, Without, Words, sources
from augrecipes.cli.options import choice, destination, loaded, option, overrides
from augrecipes.cli.terminal import complain, good, listed, progress, say, say_line, show

if TYPE_CHECKING:
    from augrecipes.verify import Verification

_LISTED = 6  # samples left out that are named


def verify(
    recipe: Recipe,
    words: Words = None,
    data: Data = None,
    optimize: Annotated[
        Level, choice("--optimize", "exact|fast", "The plan, compared with none.", "none|exact|fast")
    ] = "fast",
    samples: Annotated[int, option("--samples", None, "Samples of an epoch, spread over the data.", min=1)] = 64,
    epochs: Annotated[int, option("--epochs", None, "How often, with new random parameters.", min=1)] = 1,
    seed: Seed = 0,
    mode: Mode = "train",
    masks: Masks = None,
    out: Annotated[Path | None, destination("FILE", "Draw the worst three samples as PNG or JPEG.")] = None,
    json_: Json = None,
    set_: Set = None,
    without: Without = None,
) -> None:
    """Run a recipe as written and as the optimiser plans it, with the same random parameters; measure how they differ.

    \b
    Examples:
      augrecipes verify stained-tissue tiles/
      augrecipes verify my.yaml photos/ --samples 500 --epochs 3 -o worst.png
      augrecipes verify sr-x4 hr=DIV2K/HR lr=DIV2K/LR_bicubic/X4

    Where the plan merges no resampling, images are compared value by value. Where it does, both must show the same
    things at the same places, to some hundredths of a pixel.

    Exit status: 0 every contract holds, 1 a contract is broken or a lint error, 2 a recipe or data that cannot be used.
    """
    changes = overrides(set_)
    given = sources(recipe, words, data)
    from augrecipes.errors import DataError
    from augrecipes.preview.sheet import checked_path, save_sheet
    from augrecipes.verify import render_worst
    from augrecipes.verify import verify as check
    from augrecipes.verify.tables import report_of, to_json

    if out is not None:
        checked_path(out)
    parsed = loaded(recipe, set_, without)
    with progress("comparing") as advance:
        found = check(
            parsed, given, mode=mode, optimize=optimize, seed=seed, samples=samples, epochs=epochs, masks=masks,
            progress=advance,
        )  # fmt: skip
    written = None
    if out is not None:
        try:
            written = save_sheet(render_worst(found, given, masks=masks), out)
        except DataError as error:  # the figures are worth more than their image
            complain(error)
    load = _call("load", repr(recipe), overrides=changes, without=without)
    replay = _replay(found, load, given, masks)
    report = to_json(found) | {"replay": "; ".join(replay)} | ({} if written is None else {"picture": written})

    def tell() -> None:
        show(report_of(found, epochs))
        say()
        listed("left out: ", found.left_out, _LISTED)
        if found.ok:
            good(f"every contract holds on {found.samples} samples")
        say("the worst sample again:")
        for line in replay:
            say(line, wrap=False)
        if written is not None:
            say_line(written)

    answer(report, json_, tell, status=int(not found.ok))


def _replay(found: Verification, load: str, data: Any, masks: Path | None) -> list[str]:
    """The Python that runs the worst sample again."""
    from augrecipes.sources.opened import NamedSource

    place = found.worst[0].place
    usual = {"mode": (found.mode, "train"), "optimize": (found.optimize, "fast")}
    more: dict[str, Any] = {name: value for name, (value, otherwise) in usual.items() if value != otherwise}
    where = [load, repr(data), str(place.number), f"epoch={place.epoch}", f"seed={found.seed}"]
    named = ["from augrecipes.sources.opened import NamedSource"] if isinstance(data, NamedSource) else []
    return [
        *named,
        "from augrecipes import load",
        "from augrecipes.verify import replay",
        f"again = {_call('replay', *where, **more, masks=masks and str(masks))}",
    ]


def _call(name: str, *given: str, **more: Any) -> str:
    """A call in Python, without keywords that are empty.

    >>> _call("load", "'tiny.yaml'", overrides={}, without=["Rotate"])
    "load('tiny.yaml', without=['Rotate'])"
    """
    return f"{name}({', '.join([*given, *(f'{key}={value!r}' for key, value in more.items() if value)])})"
