"""The HTML page of each object: one line of facts, and images of its effect. None takes long, none raises."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import singledispatch
from typing import Any

from jinja2 import Environment, PackageLoader

from augrecipes.bench.record import Bench
from augrecipes.bench.report import headline
from augrecipes.bench.tables import report_of as report_of_bench
from augrecipes.compiler.explain import Explanation, explain
from augrecipes.compiler.explained import report_of
from augrecipes.compiler.run.pipeline import Pipeline
from augrecipes.data.dataset import RecipeDataset
from augrecipes.data.loader import Loader
from augrecipes.diff.differences import Difference
from augrecipes.errors import AugrecipesError, counted, harmless
from augrecipes.notebook.show import of_dataset, of_difference, of_recipe
from augrecipes.preview.display import jpeg_uri, within
from augrecipes.preview.sheet import Sheet
from augrecipes.recipe.model import Mode, Recipe
from augrecipes.report import Report, TextTable, quiet
from augrecipes.trials import tables
from augrecipes.trials.record import Trial

_MOST_BYTES = 64 << 20  # of an image that a step makes
_TILES = 8  # of a bag
_CLASSES = 8  # most classes that are named
_LARGEST = 1100  # px of an image in a page

Part = Mapping[str, Any] | TextTable  # see templates/page.html.j2
Page = tuple[object, Sequence[str], Sequence[Part]]  # name, facts and parts


def _text(value: object) -> object:
    """Make text encodable, with unprintable characters written as escapes; the template escapes HTML."""
    return harmless(value, keep="\n").encode("utf-8", "replace").decode() if type(value) is str else value


ENVIRONMENT = Environment(
    loader=PackageLoader("augrecipes.notebook"), autoescape=True, finalize=_text, keep_trailing_newline=False
)


def html_of(value: Any) -> str:
    """Render the page of an object as HTML; its `repr` where that fails."""
    try:
        with quiet():
            return _render(*_page(value))
    except Exception as error:  # a display must never stop a notebook
        try:
            text = repr(value)
        except Exception:
            text = f"<{type(value).__name__}>"
        return _render(text, [f"it cannot be shown: {type(error).__name__}"])


def _render(name: object, facts: Sequence[str], parts: Sequence[Part] = ()) -> str:
    return ENVIRONMENT.get_template("page.html.j2").render(name=str(name), facts=facts, parts=parts)


def _images(show: Callable[[], Sheet]) -> Part:
    """Embed a sheet as a JPEG, without title and lines, which the page has; or say why there is none."""
    try:
        sheet = show()
        image = within(replace(sheet, title="", lines=()).pixels, _LARGEST)
    except AugrecipesError as error:
        return {"text": f"without images: {str(error).splitlines()[0]}", "quiet": True}
    return {"src": jpeg_uri(image), "alt": repr(sheet), "height": image.shape[0], "width": image.shape[1]}


def _tables(report: Report) -> list[Part]:
    """Every table of a report that has rows."""
    return [table for table in report.tables if table.rows]


@singledispatch
def _page(value: Any) -> Page:
    raise TypeError(f"nothing is known of {type(value).__name__}")


@_page.register
def _(sheet: Sheet) -> Page:
    return sheet.title, sheet.lines, [_images(lambda: sheet)]


@_page.register
def _(recipe: Recipe) -> Page:
    facts = [
        recipe.kind,
        counted(len(recipe.steps), "step"),
        "no eval" if recipe.eval is None else f"eval {counted(len(recipe.eval), 'step')}",
        f"optimize {recipe.optimize}",
        f"digest {recipe.digest[:8]}",
    ]
    yaml = {"fold": "YAML", "parts": [{"pre": recipe.to_yaml()}]}
    return recipe.name, facts, [{"text": recipe.about}, _after_each_step(recipe, "train"), yaml]


def _after_each_step(recipe: Recipe, mode: Mode) -> Part:
    return _images(lambda: of_recipe(_cap_bytes(recipe), stages=True, mode=mode))


def _cap_bytes(recipe: Recipe) -> Recipe:
    """Cap a recipe's `max_bytes`, so that no display takes long."""
    return replace(recipe, max_bytes=min(recipe.max_bytes or _MOST_BYTES, _MOST_BYTES))


@_page.register
def _(pipeline: Pipeline) -> Page:
    recipe, mode, optimize, seed = pipeline.recipe, pipeline.mode, pipeline.optimize, pipeline.compiled.seed
    images = _images(lambda: of_recipe(_cap_bytes(recipe), mode=mode, optimize=optimize, seed=seed))
    fold = {"fold": "Steps, rules and plan", "parts": _tables(report_of(explain(recipe, mode, optimize).to_json()))}
    return recipe.name, [recipe.kind, mode, f"optimize {optimize}", f"seed {seed}"], [images, fold]


@_page.register
def _(dataset: RecipeDataset) -> Page:
    return type(dataset).__name__, _facts(dataset), [_samples(dataset, dataset.epoch)]


def _facts(dataset: RecipeDataset) -> list[str]:
    classes = [*map(str, dataset.classes or [])]
    more = [f"and {len(classes) - _CLASSES} more"] if len(classes) > _CLASSES else []
    return [
        counted(len(dataset), "sample"),
        f"{counted(len(classes), 'class')}: {', '.join([*classes[:_CLASSES], *more])}" if classes else "",
        f"recipe {dataset.recipe.name}",
        f"mode {dataset.mode}",
        f"optimize {dataset.pipeline.optimize}",
        f"seed {dataset.seed}",
        f"epoch {dataset.epoch}",
    ]


def _samples(dataset: RecipeDataset, epoch: int) -> Part:
    facts = dataset.recipe.facts
    few = 2 if facts.scales else 1 if facts.tiles else 6
    draws = 1 if facts.scales else _TILES if facts.tiles else None
    return _images(lambda: of_dataset(dataset, few, draws, epoch=epoch))


@_page.register
def _(loader: Loader) -> Page:
    dataset: Any = loader.dataset
    if not isinstance(dataset, RecipeDataset):
        return "Loader", [*loader.facts, repr(dataset)], []
    facts = [*loader.facts, type(dataset).__name__, *_facts(dataset)[:-1]]  # its epoch is the loader's
    return "Loader", facts, [{"text": "Some samples", "quiet": True}, _samples(dataset, loader.epoch)]


@_page.register
def _(explained: Explanation) -> Page:
    facts = [explained.mode, f"optimize {explained.optimize}", explained.output, f"native: {explained.native}"]
    facts.append(f"digest {explained.digest[:8]}")
    images = [_after_each_step(recipe, explained.mode) for recipe in explained.pictured]
    return explained.recipe, facts, [*images, *_tables(report_of(explained.to_json()))]


@_page.register
def _(found: Difference) -> Page:
    a, b = found.a, found.b
    name = "the same in effect" if found.same else f"{a.recipe} and {b.recipe} differ"
    facts = [f"{one.recipe} {one.digest[:8]}" for one in (a, b)]
    both = [] if found.same else [_cap_bytes(recipe) for recipe in found.pictured]
    images = [_images(lambda: of_difference(both[0], both[1], found.modes[0]))] if both else []
    return name, facts, [*images, *_tables(found.report())]


@_page.register
def _(bench: Bench) -> Page:
    size = f"{counted(bench.samples, 'sample')} in batches of {bench.batch_size}"
    facts = [size, bench.mode, f"{counted(bench.rounds, 'round')} in turns, one thread", str(bench.machine)]
    said = {"list": [verdict.text for verdict in bench.verdicts]}
    return headline(bench.to_json()), facts, [{"text": bench.busy}, said, *_tables(report_of_bench(bench))]


@_page.register
def _(trial: Trial) -> Page:
    facts = [trial.data, trial.network, tables.training_text(trial)]
    said = {"list": [*tables.verdict_lines(trial), *trial.notes]}
    return tables.headline(trial), facts, [said, *_tables(tables.report_of(trial))]
