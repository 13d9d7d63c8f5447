"""What each tool makes of a recipe of views: it shows all of them, or says what to do."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.checks import planted_faults, rows, same
from support.folders import class_folders

import augrecipes as ar
from augrecipes.bench.run import Options
from augrecipes.bench.sides import StockPipeline
from augrecipes.compiler import explain as explaining
from augrecipes.compiler.run.clock import Clock, clocked
from augrecipes.interop.plain import python_of
from augrecipes.preview import sample_grid
from augrecipes.recipe.edit import applied, argument_set, read_spans, steps_of
from augrecipes.recipe.parse import parse_text
from augrecipes.verify import render_worst
from augrecipes.verify.compare import Comparison

TEXT = """
version: 1
recipe: two
kind: views
shared:
  - HorizontalFlip
views:
  global:
    count: 2
    steps:
      - RandomResizedCrop: {size: [24, 24], scale: [0.4, 1.0]}
      - RandomGamma: {p: 1.0}
  local: {count: 3, steps: [RandomResizedCrop: {size: [12, 12]}, OneOf: {steps: [Blur, ToGray]}]}
  teacher: {of: global, steps: [InvertImg]}
eval: derived
"""
RECIPE = parse_text(TEXT)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return class_folders(tmp_path_factory.mktemp("files"))


def test_explain_shows_the_steps_and_the_plan_of_every_view() -> None:
    found = ar.explain(RECIPE, optimize="fast")
    sites = [step.site for step in found.steps]
    assert sites[:3] == ["HorizontalFlip#1", "global/RandomResizedCrop#1", "global/RandomGamma#1"]
    assert "local/OneOf#1/Blur#1" in sites
    assert len(sites) == len({*sites}) == 8
    of = {row.step.partition(": ")[2] or row.step: row.step.partition(": ")[0] for row in found.plan}
    assert of["teacher/InvertImg#1"] == "teacher"
    assert "local" in {*of.values()}
    assert "global, teacher" in {*of.values()}
    assert [row.site for row in found.shared] == ["HorizontalFlip#1"]
    assert len(found.derived) == 3
    assert found.digest == RECIPE.digest
    assert "views" not in str(ar.explain(RECIPE, "eval").to_json())


def test_diff_compares_views_by_name() -> None:
    other = ar.load(TEXT, overrides={"local.RandomResizedCrop.size": [16, 12], "views.global.count": 4})
    found = ar.diff(RECIPE, other)
    assert [step.site for step in found.steps] == ["local/RandomResizedCrop#1"]
    assert [change.key for change in found.settings] == ["views.global.count", "views.teacher.count"]
    assert ar.diff(RECIPE, parse_text(RECIPE.to_yaml())).same
    assert not ar.diff(RECIPE, ar.load(TEXT, overrides={"teacher.InvertImg.p": 1.0})).same


def check_verify(root: Path) -> None:
    found = ar.verify(RECIPE, str(root), samples=6)
    assert found.ok
    assert {"global", "local", "teacher"} <= {figure.target for figure in found.figures}
    assert {figure.where.tile for figure in found.figures if figure.where and figure.target == "local"} <= {0, 1, 2}
    assert found.origins == dict.fromkeys(("global", "local", "teacher"), "image")
    with pytest.raises(ar.RecipeError, match=r"view\('global'\)"):
        render_worst(found, str(root))


def test_verify_looks_at_views_of_every_number(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: set[int] = set()
    measure = Comparison.sample

    def noted(self: Comparison, given: Any, place: Any) -> Any:
        if self.recipe.name.endswith("-local"):
            seen.add(given.tile)
        return measure(self, given, place)

    monkeypatch.setattr(Comparison, "sample", noted)
    check_verify(root)
    assert seen == {0, 1, 2}


@pytest.mark.parametrize(("overrides", "site", "value"), rows(__file__, "steps_of_views_have_addresses"))
def test_steps_of_views_have_addresses(overrides: dict[str, Any], site: str, value: float) -> None:
    assert {step.site: step.p for step in ar.load(TEXT, overrides=overrides).walk()}[site] == value


def test_addresses_that_fit_several_views_or_none_say_so() -> None:
    with pytest.raises(ar.RecipeError, match=r"global.RandomResizedCrop#1, local.RandomResizedCrop#1"):
        ar.load(TEXT, overrides={"RandomResizedCrop.p": 1})
    with pytest.raises(ar.RecipeError, match=r"E505 local.InvertImg.p: no such step"):
        ar.load(TEXT, overrides={"local.InvertImg.p": 1})
    left = ar.load(TEXT, without=["local.OneOf", "InvertImg"])
    assert [len(view.steps) for view in left.views] == [2, 1, 0]


def test_edits_find_the_steps_of_views() -> None:
    spans = read_spans(TEXT)
    step = steps_of(spans)["views.global.steps.1"]
    text = applied(TEXT, argument_set(spans, step, "p", 0.5))
    same(parse_text(text).views[0].steps[1].p, 0.5)


REFUSED: dict[str, Callable[[Path], object]] = {
    "eject": lambda _: python_of(RECIPE),
    "a Compose": lambda _: RECIPE.to_albumentations(),
}


@pytest.mark.parametrize("tool", REFUSED)
def test_what_is_of_one_image_says_what_to_do(tool: str, root: Path) -> None:
    with pytest.raises(ar.RecipeError, match=re.escape("ar.load(...).view('global')")):
        REFUSED[tool](root)
    assert RECIPE.view("global").to_albumentations() is not None


def check_stock(_: Any = None) -> None:
    """Stock makes as many views, of the same shapes and dtypes, each by draws of its own behind what they share."""
    given: dict[str, Any] = {"image": np.random.default_rng(0).integers(0, 256, (60, 80, 3), np.uint8)}
    given |= {"mask": given["image"][..., 0], "boxes": np.float32([[9, 9, 50, 50]]), "box_labels": [1]}
    recipe = ar.load(TEXT, overrides={"inputs.mask": "optional", "inputs.boxes": "pascal_voc"})
    stock, ours = StockPipeline(recipe), recipe.compile()
    for index in range(3):
        made, like = stock.at(index)(**given), ours.at(index)(**given)
        assert made.keys() == like.keys()
        for name in ("global", "local", "teacher", "local_mask"):
            assert (made[name].shape, made[name].dtype) == (like[name].shape, like[name].dtype)
        assert len(made["local_boxes"]) == len(made["local_box_labels"]) == 3
        assert not np.array_equal(made["global"][0], made["global"][1])
    still = replace(recipe, views=tuple(replace(view, of=None, steps=()) for view in recipe.views))
    alike = [StockPipeline(still, seed=seed).at(0)(**given) for seed in range(8)]
    assert all(np.array_equal(one["local"][0], one["global"][1]) for one in alike)
    assert len({one["local"].tobytes() for one in alike}) == 2  # flipped, all of them, or not


def test_stock_has_a_compose_for_each_view() -> None:
    check_stock()


def test_bench_times_all_views_and_inspects_each(root: Path) -> None:
    options = Options(stock=True, samples=4, seconds=0.1, ablate=True)
    found = ar.bench({"two": RECIPE}, str(root), options)
    names = [stage.name for stage in found.sides[0].stages]
    assert {"HorizontalFlip#1", "global/RandomGamma#1", "local/OneOf#1/Blur#1", "teacher/InvertImg#1"} <= {*names}
    assert len(names) == len({*names})
    (about,) = found.recipes
    assert about.effects is not None
    assert {effect.target for effect in about.effects.steps} == {*about.effects.means} == {"global", "local", "teacher"}
    assert [one.step for one in about.ablations] == [step.site for step in RECIPE.listed("train")]
    assert [side.name for side in found.sides] == ["two · none", "two · exact", "two · stock"]


def test_what_takes_time_is_charged_to_its_own_step() -> None:
    image = np.random.default_rng(0).integers(0, 256, (400, 400, 3), np.uint8)
    slow = ar.load(TEXT, overrides={"HorizontalFlip.p": 1.0}).compile(optimize="none")
    clock = Clock()
    labels = clocked(slow, clock)
    slow.at(0)(image=image)
    assert (
        {*labels}
        >= {label for label in clock.spent if label[0] != "\0"}
        >= {"HorizontalFlip#1", "global/RandomGamma#1"}
    )


def test_sheets_show_all_views_and_the_stages_of_the_first(root: Path) -> None:
    whole = sample_grid(RECIPE, str(root), rows=2)
    stages = sample_grid(RECIPE, str(root), rows=1, stages=True)
    evaluation = sample_grid(RECIPE, str(root), rows=1, mode="eval")
    assert all(sheet.ndim == 3 for sheet in (whole, stages, evaluation))


def first_alone(recipe: Any, found: Any) -> Any:
    return MERGED(recipe, dict([*found.items()][:1]))


def always_alike(self: Any, compose: Any, targets: Any) -> Any:
    kept = self.__dict__.setdefault("kept", {})
    return dict(kept.setdefault(id(compose), ONE(self, compose, targets)))


MERGED, ONE = explaining._merged_views, StockPipeline._view
test_planted_faults_are_found = planted_faults(
    {
        "explain of the first view alone": (
            lambda _: test_explain_shows_the_steps_and_the_plan_of_every_view(),
            (explaining, "_merged_views", first_alone),
        ),
        "stock's views all alike": (check_stock, (StockPipeline, "_view", always_alike)),
    }
)
