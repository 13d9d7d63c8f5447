"""Every class that can be a step, alone: `none`, `exact` and `fast` compared with albumentations, and with one pass.

python benchmarks/ops.py            prints a row for each class, call, size and output, as they are measured
python benchmarks/ops.py --write    prints, and writes the section `ops` of benchmarks/RESULTS.md, the table of classes
                                    in docs/FIGURES.md, and docs/steps.html, the page with all rows
python benchmarks/ops.py --only arguments    prints a row for each call of arguments.yaml, at 128², 256² and 512²
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from statistics import geometric_mean
from time import thread_time_ns
from typing import Any, NamedTuple

import jinja2
import numpy as np
import yaml
from harness import Row, conditions, met, run, table
from wild import measure

import augrecipes as ar
from augrecipes.compiler.kernels.sink import Sink
from augrecipes.errors import AugrecipesError
from augrecipes.ops import catalog
from augrecipes.ops.groups import DEGRADE, GROUPS
from augrecipes.report import quiet

_PUBLISHED = Path(__file__).with_name("published_steps.yaml")
_ARGUMENTS = Path(__file__).with_name("arguments.yaml")
_FIGURES, _PAGE = (Path(__file__).parents[1] / "docs" / name for name in ("FIGURES.md", "steps.html"))
_TEMPLATE = Path(__file__).with_name("steps.html.j2")
_BEGIN, _END = "<!-- begin ops -->", "<!-- end ops -->"
_TABLE = re.compile(f"{_BEGIN}.*?{_END}", re.DOTALL)
_SIDES = ("none", "exact", "fast")
_GOALS = {"exact": 2.0, "fast": 3.0}  # the geometric means
_SIZES = (224, 512, 1024)
_SIZES_WITH_ARGUMENTS = (128, 256, 512)
_OUTPUTS = {"uint8": "{dtype: uint8, layout: hwc}", "float32": "{}"}
_SLIGHT = 0.010  # ms a call that do not count
_LEAST = 0.95
_SECONDS, _FEWEST, _MOST = 0.2, 2, 10
_PHOTOS = 4  # as many as `measure` takes in turns
_LONGEST = 1000  # ms of the peer: larger images of that class are not measured
_BY_MASKS = frozenset({"CropNonEmptyMaskIfExists", "MaskDropout", "ConstrainedCoarseDropout"})  # the others have none
# Of classes that cannot do without, or do nothing, from the side of the image: what they take.
_REQUIRED: Mapping[str, Callable[[int], dict[str, Any]]] = {
    "CenterCrop": lambda side: {"height": side // 2, "width": side // 2},
    "ConstrainedCoarseDropout": lambda side: {"mask_indices": [1]},
    "Crop": lambda side: {"x_min": 8, "y_min": 8, "x_max": side - 8, "y_max": side - 8},
    "CropAndPad": lambda side: {"px": 8},
    "CropNonEmptyMaskIfExists": lambda side: {"height": side // 2, "width": side // 2},
    "GridElasticDeform": lambda side: {"num_grid_xy": [4, 4], "magnitude": 10},
    "LongestMaxSize": lambda side: {"max_size": side // 2},
    "Pad": lambda side: {"padding": 16},
    "PadIfNeeded": lambda side: {"min_height": side + 32, "min_width": side + 32},
    "RandomCrop": lambda side: {"height": side // 2, "width": side // 2},
    "RandomResizedCrop": lambda side: {"size": [side // 2, side // 2]},
    "RandomSizedCrop": lambda side: {"size": [side // 2, side // 2], "min_max_height": [side // 3, side // 2]},
    "Resize": lambda side: {"height": side // 2, "width": side // 2},
    "SmallestMaxSize": lambda side: {"max_size": side // 2},
}
_METHOD = f"""\
One thread, CPU time of that thread, glibc's allocator tuned alike. Each class acts always (`p: 1`), as published
pipelines call it and with its defaults, on drawn photos of {", ".join(f"{side}²" for side in _SIZES)}. The peer is an
`A.Compose` of the same step with the same random parameters, whose result is copied to a new array, as ours is; the
output is uint8 H×W×C, or float32 C×H×W by `A.ToFloat` and `ToTensorV2`. `one pass` reads an image of that size and
writes it as that output into allocated memory: the limit. Ratios are the peer's time divided by ours; one below
{_LEAST} counts if ours takes {1e3 * _SLIGHT:.0f} µs more."""


class Measured(NamedTuple):
    """One class, called in one way: milliseconds a sample of each side, and of one pass."""

    name: str
    side: int
    output: str
    ms: dict[str, float]
    limit: float

    def ratio(self, side: str) -> float:
        """The peer's time by that of `none`, `exact` or `fast`."""
        return self.ms["owned"] / self.ms[side]

    def __str__(self) -> str:
        ratios = " · ".join(f"{side} ×{self.ratio(side):.2f}" for side in _SIDES)
        times = f"{self.ms['exact']:.3f} · {self.ms['fast']:.3f} ms"
        peer = f"albumentations {self.ms['owned']:.3f} ms, one pass {self.limit:.3f} ms"
        return str(Row(f"{self.name}, {self.side}², {self.output}", times, peer, ratios))

    def counts(self, side: str) -> bool:
        """Whether it is slower than albumentations by more than a call costs."""
        return self.ratio(side) < _LEAST and self.ms[side] - self.ms["owned"] > _SLIGHT


def _classes(options: Any) -> Iterator[Row]:
    found = [*_all(options)]
    for side, goal in _GOALS.items():
        mean = geometric_mean(one.ratio(side) for one in found)
        yield Row(f"geometric mean of {len(found)} rows, `{side}`", f"×{mean:.2f}", f"goal ×{goal}", met(mean >= goal))
        slow = [f"{one.name} {one.side}² {one.output}" for one in found if one.counts(side)]
        yield Row(f"slower than albumentations, `{side}`", f"{len(slow)} rows", "goal 0", ", ".join(slow))
    if options.write and not (options.quick or options.classes):
        marked = _TABLE.sub(lambda _: f"{_BEGIN}\n{_by_class(found)}\n{_END}", _FIGURES.read_text(encoding="utf-8"))
        _FIGURES.write_text(marked, encoding="utf-8")
        page = jinja2.Template(_TEMPLATE.read_text(encoding="utf-8"), autoescape=True)
        text = page.render(rows=sorted(found, key=_least), conditions=conditions(), method=_METHOD, sides=_SIDES)
        _PAGE.write_text(text + "\n", encoding="utf-8")


def _by_class(found: Sequence[Measured]) -> str:
    """A table of classes, worst first: means over the rows of each, and which row is the slowest."""
    classes: dict[str, list[Measured]] = {}
    for one in sorted(found, key=_least):
        classes.setdefault(one.name.partition(",")[0], []).append(one)
    rows = [
        (name, *(f"{geometric_mean(one.ratio(side) for one in every):.2f}" for side in _SIDES),
         f"{_least(every[0]):.2f}", f"{every[0].name.partition(', ')[2]} {every[0].side}² {every[0].output}".strip(),
         f"{geometric_mean(one.ms['fast'] / one.limit for one in every):.1f}")
        for name, every in classes.items()
    ]  # fmt: skip
    return table(("class", *(f"`{side}`" for side in _SIDES), "least", "of", "`fast` / one pass"), rows)


def _least(one: Measured) -> float:
    return min(one.ratio("exact"), one.ratio("fast"))


def _all(options: Any) -> Iterator[Measured]:
    published: dict[str, dict[str, Any]] = yaml.safe_load(_PUBLISHED.read_text(encoding="utf-8"))
    names = sorted({*catalog.shipped()} - {*GROUPS, DEGRADE})
    for name in names:
        if options.classes and name not in options.classes:
            continue
        for side in (512,) if options.quick else _SIZES:
            required = _REQUIRED.get(name, lambda _: {})(side)
            calls = {name: required} | ({f"{name}, as published": published[name]} if name in published else {})
            found = [_measured(label, name, arguments, side, output)
                     for label, arguments in calls.items() for output in _OUTPUTS]  # fmt: skip
            for one in found:
                if one is not None:
                    print(one, flush=True)
                    yield one
            if any(one is not None and one.ms["plain"] > _LONGEST for one in found):
                break


def _arguments(options: Any) -> Iterator[Row]:
    """What people write beside the defaults: each call of arguments.yaml, and which are slower than albumentations."""
    calls: dict[str, list[Any]] = yaml.safe_load(_ARGUMENTS.read_text(encoding="utf-8"))
    slow, count = [], 0
    for name, call in ((name, call) for name, some in calls.items() for call in some):
        if options.classes and name not in options.classes:
            continue
        for arguments, side in product(_each(call), (512,) if options.quick else _SIZES_WITH_ARGUMENTS):
            label, required = f"{name} {json.dumps(arguments)}", _REQUIRED.get(name, lambda _: {})(side)
            row = _measured(label, name, {**required, **arguments}, side, "uint8")
            if row is not None:
                print(row, flush=True)
                count += 1
                slow += [f"{label} {side}²"] if row.ratio("exact") < _LEAST else []
    yield Row(f"slower than ×{_LEAST} of albumentations, `exact`", f"{len(slow)} of {count}", "", "; ".join(slow))


def _each(call: Any) -> Iterator[Any]:
    """A call with every combination of what stands under `each`."""
    if not isinstance(call, dict):
        yield call
    elif [*call] == ["each"]:
        yield from call["each"]
    else:
        for values in product(*map(_each, call.values())):
            yield dict(zip(call, values, strict=True))


def _measured(label: str, name: str, arguments: dict[str, Any], side: int, output: str) -> Measured | None:
    """None where a recipe of this step alone runs on no image alone."""
    step = json.dumps({**arguments, "p": 1.0})
    text = f"version: 1\nrecipe: one\nsteps:\n  - {name}: {step}\noutput: {_OUTPUTS[output]}\n"
    try:
        recipe = ar.load(text)
        start = thread_time_ns()
        how = {"masks": name in _BY_MASKS}
        ms = measure(recipe, (side, side), _FEWEST, **how)
        count = int(_FEWEST * _SECONDS / max((thread_time_ns() - start) / 1e9, 1e-3))
        if count > _FEWEST:
            ms = measure(recipe, (side, side), min(count, _MOST), **how)
    except (AugrecipesError, ValueError, SystemExit) as why:
        print(f"{label}: not measured: {str(why).splitlines()[0]}", flush=True)
        return None
    return Measured(label, side, output, ms, _one_pass(recipe, side))


def _one_pass(recipe: ar.Recipe, side: int) -> float:
    """Milliseconds of reading an image and writing it as the output, into memory that is there."""
    photos, sink = np.random.default_rng(0).integers(0, 256, (_PHOTOS, side, side, 3), np.uint8), Sink(recipe.output)
    out = np.empty(sink.shape(side, side, 3), sink.dtype)
    best = 1 << 62
    for k in range(4 * _PHOTOS):
        start = thread_time_ns()
        sink(photos[k % _PHOTOS], lambda *_: out)
        best = min(best, thread_time_ns() - start)
    return best / 1e6


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    more = {"classes": {"nargs": "*", "metavar": "CLASS", "help": "only these"}}
    with quiet():
        run(__file__, __doc__, "Every class alone", _METHOD, {"classes": _classes, "arguments": _arguments}, more=more)
