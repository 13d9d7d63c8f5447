"""What each tool makes of a recipe of views: it shows all of them, or says what to do."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.checks import planted_faults, same
from support.folders import class_folders

import augrecipes as ar
from augrecipes.compiler import explain as explaining
from augrecipes.compiler.timing import measure
from augrecipes.interop.plain import python_of
from augrecipes.preview import sample_grid
from augrecipes.recipe.edit import applied, argument_set, read_spans, steps_of
from augrecipes.recipe.parse import parse_text
from augrecipes.studio.studio import Studio
from augrecipes.verify import render_worst
from augrecipes.verify import views as of_views

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
    assert {row.step.partition(":")[0] for row in found.plan} == {"global", "local", "teacher"}
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
    read = of_views.Numbered.read

    def noted(self: Any, number: int) -> Any:
        sample = read(self, number)
        seen.add(sample.tile)
        return sample

    monkeypatch.setattr(of_views.Numbered, "read", noted)
    check_verify(root)
    assert seen == {0, 1, 2}


@pytest.mark.parametrize(
    ("overrides", "site", "value"),
    [
        ({"HorizontalFlip.p": 0.1}, "HorizontalFlip#1", 0.1),
        ({"local.ToGray.p": 0.3}, "local/OneOf#1/ToGray#1", 0.3),
        ({"InvertImg.p": 0.7}, "teacher/InvertImg#1", 0.7),
        ({"global.RandomGamma#1.p": 0.2}, "global/RandomGamma#1", 0.2),
    ],
)
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
    "bench": lambda root: ar.bench({"two": RECIPE}, str(root)),
    "eject": lambda _: python_of(RECIPE),
    "a Compose": lambda _: RECIPE.to_albumentations(),
    "timing": lambda _: measure(RECIPE, {}),
    "the studio": lambda _: Studio().recipe(TEXT),
}


@pytest.mark.parametrize("tool", REFUSED)
def test_what_is_of_one_image_says_what_to_do(tool: str, root: Path) -> None:
    with pytest.raises(ar.RecipeError, match=re.escape("ar.load(...).view('global')")):
        REFUSED[tool](root)
    assert RECIPE.view("global").to_albumentations() is not None


def test_sheets_show_all_views_and_the_stages_of_the_first(root: Path) -> None:
    whole = sample_grid(RECIPE, str(root), rows=2)
    stages = sample_grid(RECIPE, str(root), rows=1, stages=True)
    evaluation = sample_grid(RECIPE, str(root), rows=1, mode="eval")
    assert all(sheet.ndim == 3 for sheet in (whole, stages, evaluation))


def first_alone(recipe: Any, found: Any) -> Any:
    return MERGED(recipe, dict([*found.items()][:1]))


MERGED = explaining._of_views
test_planted_faults_are_found = planted_faults(
    {
        "explain of the first view alone": (
            lambda _: test_explain_shows_the_steps_and_the_plan_of_every_view(),
            (explaining, "_of_views", first_alone),
        ),
    }
)
