"""What the report shows beside text: bars of where time goes, scales of ratios, and images of what recipes make."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from importlib.resources import files
from math import log
from typing import Any

from augrecipes.bench.sides import Setting, compiled
from augrecipes.bench.verdicts import readers
from augrecipes.diff.images import ComparedSample, RecipeRun, run_sample
from augrecipes.preview.cells import Cell, CellGroup, SheetRow
from augrecipes.preview.display import rgb_of_input, rgb_of_output, size_text
from augrecipes.preview.rows import annotated, images_of, left_out, short_path, show_rows
from augrecipes.preview.sheet import Sheet
from augrecipes.progress import Progress
from augrecipes.recipe.model import Recipe
from augrecipes.sources.opening import words_of

Report = Mapping[str, Any]  # a comparison, or a part of it, as `Bench.to_json()` has it

_STYLE = (files("augrecipes.bench") / "templates" / "style.css").read_text(encoding="utf-8")
# Colours by day, by name, as the style sheet has them.
LIGHT: dict[str, str] = dict(re.findall(r"--([\w-]+): (#\w{6})", _STYLE.partition("@media")[0]))
_STEPS = 6  # shades of blue
# By part of a training step its colour.
_TRAINING = {
    "loading": "decode", "to device": "read", "device stage": "sink", "forward": "step-1", "backward": "step-0",
    "optimiser": "step-4", "training step": "step-2",
}  # fmt: skip
_ORDER = ["read", "decode", "step", "sink", "collate", "overhead", *_TRAINING]
_LEAST, _LARGEST = log(1.25), log(1e4)  # a scale of ratios shows so much to either side
_TICKS = (1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0, 1000.0)
_SAMPLES = 6


def stage_bars(report: Report) -> list[Report]:
    """Of each side its stages; of stock, whose stages are not measured, the whole."""
    shades: dict[str, int] = {}
    return [_bar(one, one["stages"], shades) for one in sides_in_order(report)]


def training_bars(report: Report) -> list[Report]:
    """Of each way to train the parts of one step."""
    who = [f"{readers(one['backend'], one['workers'])}, {one['device']}" for one in report["training"]]
    return [_bar(one, one["parts"], {}, note) for one, note in zip(report["training"], who, strict=True)]


def _bar(one: Report, parts: Sequence[Report], shades: dict[str, int], note: str = "") -> Report:
    """A stacked bar: its parts from left to right (none: it is shown as a whole), and the milliseconds of all of it."""
    made = [_part(part, shades) for part in parts]
    length = sum(part["ms"] for part in made) or one.get("ms", 0.0)
    mad = one["mad"] if "mad" in one else max(part["mad"] for part in made)
    return {"name": one["recipe"], "level": one["level"], "note": note, "parts": made, "length": length, "mad": mad}


def _part(one: Report, shades: dict[str, int]) -> Report:
    """A stage of a sample, or a part of a training step, with its colour's name and its place among others."""
    name = str(one["name"])
    kind = str(one.get("kind", name))
    colour = _TRAINING.get(kind, kind)
    if kind == "step":
        site = name.rpartition("(")[2].rstrip(")").split(" + ")[0]  # a joined step has the shade of its first
        colour = f"step-{shades.setdefault(site, len(shades)) % _STEPS}"
    name = "output conversion" if kind == "sink" else name
    return {**one, "name": name, "colour": colour, "place": _ORDER.index(kind)}


def rows_of(bars: Sequence[Report]) -> list[tuple[Report, list[Report | None]]]:
    """Every part that some bar has, in their order: one of it, and that of each bar with parts."""
    tables = [{part["name"]: part for part in bar["parts"]} for bar in bars if bar["parts"]]
    first = {name: part for table in reversed(tables) for name, part in table.items()}
    names = sorted(dict.fromkeys(name for table in tables for name in table), key=lambda name: first[name]["place"])
    return [(first[name], [table.get(name) for table in tables]) for name in names]


def sides_in_order(report: Report) -> list[Report]:
    """The sides, stock next to its recipe."""
    names = [recipe["name"] for recipe in report["recipes"]]
    return sorted(report["sides"], key=lambda side: names.index(side["recipe"]))


class Scale:
    """Ratios on one logarithmic scale around 1, in percent of its width: what leaves the middle is a difference."""

    def __init__(self, ratios: Iterable[Report]) -> None:
        ends = [abs(log(one[end])) for one in ratios for end in ("low", "high")]
        self._reach = min(max(_LEAST, *ends, 0.0) * 1.08, _LARGEST)

    def place(self, ratio: float) -> float:
        """Percent of the width; what lies beyond is at the end."""
        return min(max(50 + 50 * log(ratio) / self._reach, 0.0), 100.0)

    def ticks(self) -> list[tuple[float, str]]:
        """Place and text: 1, and the largest round ratio to either side."""
        most = max(tick for tick in _TICKS if log(tick) <= self._reach)
        return [(self.place(1 / most), f"÷ {most:g}"), (50.0, "1"), (self.place(most), f"× {most:g}")]


def samples_sheet(
    recipes: Mapping[str, Recipe], setting: Setting, levels: Mapping[str, Any], progress: Progress | None = None
) -> Sheet:
    """What every recipe makes of the same samples, spread evenly over the data: a row a sample, its source in front.

    Args:
        recipes: of one kind, by the name that they are shown under.
        setting: data, section, seed.
        levels: of the optimiser, by the recipe's name.
        progress: called with (samples done, samples).

    Raises:
        DataError: no sample can be shown; recipes do not read the same files.
        LintError, RecipeError, StoreError: as `sides_of`.
    """
    runs = []
    for name, recipe in recipes.items():
        left, _ = setting.remaining_recipe(recipe)
        pipeline = compiled(left, setting, levels[name])
        runs.append(RecipeRun(name, left, pipeline, setting.reader(left, pipeline)))
    count, show = min(len(run.reader) for run in runs), partial(run_sample, runs, epoch=0)
    shown, skipped = show_rows(count, _SAMPLES, show, data=words_of(setting.data), path=str, progress=progress)
    return Sheet([_row(one, runs) for one in shown], footers=left_out(skipped))


def _row(sample: ComparedSample, runs: Sequence[RecipeRun]) -> SheetRow:
    """A sample as each recipe hands it out, with mask, boxes and keypoints over images."""
    groups, given = [], sample.given
    for run, out in zip(runs, sample.outputs, strict=True):
        facts = run.recipe.facts
        for target, view, image, on_it in images_of(out, run.pipeline.outputs):
            plain = rgb_of_output(image, run.recipe.outputs.get(target, run.recipe.output))
            named = [view] if facts.scales or facts.views else []
            words = [run.name, run.pipeline.optimize, *named, size_text(plain)]
            groups.append(CellGroup([annotated(plain, on_it, run.recipe)], " · ".join(words)))
    source = CellGroup([Cell(rgb_of_input(next(iter(given.images.values()))))], "source", quiet=True)
    place = f"tile {given.tile}" if runs[0].recipe.facts.tiles else f"index {given.index}"
    return SheetRow(groups, source, short_path(given.path), [place])
