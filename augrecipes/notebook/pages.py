"""The page of each object: what it is, in a line, and pictures of what it does. None takes long, none raises."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import singledispatch
from typing import Any

from augrecipes.bench.record import Bench
from augrecipes.compiler.explain import Explanation, explain
from augrecipes.compiler.run.pipeline import Pipeline
from augrecipes.data.dataset import RecipeDataset
from augrecipes.data.loader import Loader
from augrecipes.diff.differences import Difference
from augrecipes.errors import AugrecipesError, counted
from augrecipes.notebook import reports
from augrecipes.notebook.markup import Html, image, joined, page, tag
from augrecipes.notebook.show import of_dataset, of_recipe
from augrecipes.preview.sheet import Sheet
from augrecipes.recipe.model import Mode, Recipe

_MOST_BYTES = 64 << 20  # of a picture that a step makes
_MOST_PIXELS = 24_000_000  # of a file that is read
_TILES = 8  # of a bag
_CLASSES = 8  # that are named


def html_of(value: Any) -> str:
    """The page of an object; where it cannot be made, its `repr`."""
    try:
        with _quiet():
            return str(_page(value))
    except Exception as error:  # what a notebook shows in passing must never stop it
        try:
            text = repr(value)
        except Exception:
            text = f"<{type(value).__name__}>"
        return str(page(text, [f"it cannot be shown: {type(error).__name__}"]))


@contextmanager
def _quiet() -> Iterator[None]:
    """Without warnings of recipes that are compiled to be looked at: who runs them hears them."""
    log = logging.getLogger("augrecipes")
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(before)


def _pictures(show: Callable[[], Sheet]) -> Html:
    """What a sheet shows, whose title and lines the page has itself; or why there are no pictures."""
    try:
        sheet = show()
        return image(replace(sheet, title="", lines=()).pixels, repr(sheet))
    except AugrecipesError as error:
        return tag("p", f"without pictures: {str(error).splitlines()[0]}", kind="quiet")


@singledispatch
def _page(value: Any) -> Html:
    raise TypeError(f"nothing is known of {type(value).__name__}")


@_page.register
def _(sheet: Sheet) -> Html:
    return page(sheet.title, sheet.lines, _pictures(lambda: sheet))


@_page.register
def _(recipe: Recipe) -> Html:
    facts = [
        recipe.kind,
        counted(len(recipe.steps), "step"),
        "no eval" if recipe.eval is None else f"eval {counted(len(recipe.eval), 'step')}",
        f"optimize {recipe.optimize}",
        f"digest {recipe.digest[:8]}",
    ]
    about = [tag("p", recipe.about)] if recipe.about else []
    return page(
        recipe.name, facts, *about, _after_each_step(recipe, "train"), _folded("YAML", tag("pre", recipe.to_yaml()))
    )


def _after_each_step(recipe: Recipe, mode: Mode) -> Html:
    return _pictures(lambda: of_recipe(_bounded(recipe), stages=True, mode=mode))


def _bounded(recipe: Recipe) -> Recipe:
    """The same samples, but for pictures that would take long to make."""
    return replace(recipe, max_bytes=min(recipe.max_bytes or _MOST_BYTES, _MOST_BYTES))


@_page.register
def _(pipeline: Pipeline) -> Html:
    recipe, compiled = pipeline.recipe, pipeline.compiled
    facts = [recipe.kind, pipeline.mode, f"optimize {pipeline.optimize}", f"seed {compiled.seed}"]
    look: dict[str, Any] = {"mode": pipeline.mode, "optimize": pipeline.optimize, "seed": compiled.seed}
    pictures = _pictures(lambda: of_recipe(_bounded(recipe), **look))
    explained = explain(recipe, pipeline.mode, pipeline.optimize)
    return page(recipe.name, facts, pictures, _folded("Steps, rules and plan", reports.tables(explained)))


@_page.register
def _(dataset: RecipeDataset) -> Html:
    return page(type(dataset).__name__, _facts(dataset), _samples(dataset, None, dataset.epoch))


def _facts(dataset: RecipeDataset) -> list[str]:
    classes = dataset.classes or []
    more = f", and {len(classes) - _CLASSES} more" if len(classes) > _CLASSES else ""
    return [
        counted(len(dataset), "sample"),
        f"{counted(len(classes), 'class')}: {', '.join(map(str, classes[:_CLASSES]))}{more}" if classes else "",
        f"recipe {dataset.recipe.name}",
        f"mode {dataset.mode}",
        f"optimize {dataset.pipeline.optimize}",
        f"seed {dataset.seed}",
        f"epoch {dataset.epoch}",
    ]


def _samples(dataset: RecipeDataset, indices: list[int] | None, epoch: int) -> Html:
    facts = dataset.recipe.facts
    few = 2 if facts.scales else 1 if facts.tiles else 6
    draws = 1 if facts.scales else _TILES if facts.tiles else None
    shown = few if indices is None else indices[:few]
    return _pictures(lambda: of_dataset(dataset, shown, draws, epoch=epoch, most_pixels=_MOST_PIXELS))


@_page.register
def _(loader: Loader) -> Html:
    dataset: Any = loader.dataset
    if not isinstance(dataset, RecipeDataset):
        return page("Loader", [*loader.facts, repr(dataset)])
    facts = [*loader.facts, type(dataset).__name__, *_facts(dataset)[:-1]]  # its epoch is the loader's
    batch = loader.next_indices()
    title = tag("p", "Of the next batch" if batch else "Some samples", kind="quiet")
    return page("Loader", facts, title, _samples(dataset, [k % len(dataset) for k in batch] or None, loader.epoch))


@_page.register
def _(explained: Explanation) -> Html:
    facts = [
        explained.mode, f"optimize {explained.optimize}", explained.output, f"native: {explained.native}",
        f"digest {explained.digest[:8]}",
    ]  # fmt: skip
    pictures = [_after_each_step(recipe, explained.mode) for recipe in explained.pictured]
    return page(explained.recipe, facts, *pictures, reports.tables(explained))


@_page.register
def _(found: Difference) -> Html:
    a, b = found.a, found.b
    name = "the same in effect" if found.same else f"{a.recipe} and {b.recipe} differ"
    facts = [f"{one.recipe} {one.digest[:8]}" for one in (a, b)]
    both = [] if found.same else [_bounded(recipe) for recipe in found.pictured]
    pictures = [_pictures(lambda: reports.compared(both[0], both[1], found.modes[0]))] if both else []
    return page(name, facts, *pictures, reports.of_difference(found))


@_page.register
def _(bench: Bench) -> Html:
    facts = [f"{counted(bench.samples, 'sample')} in batches of {bench.batch_size}", bench.mode,
             f"{counted(bench.rounds, 'round')} in turns, one thread", str(bench.machine)]  # fmt: skip
    return page(reports.headline_of(bench), facts, joined(reports.of_bench(bench)))


def _folded(title: str, inside: Html) -> Html:
    return tag("details", tag("summary", title), inside)
