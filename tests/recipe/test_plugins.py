"""`plugins:` of a recipe: what installed packages announce, run where a recipe names it, and never otherwise."""

import json
import os
import pickle
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from programs import Programs

import augrecipes as ar
from augrecipes import versions
from augrecipes.compiler.explain import explain
from augrecipes.compiler.explained import report_of
from augrecipes.diff import diff
from augrecipes.errors import RecipeError
from augrecipes.ops import plugins, registry
from augrecipes.recipe import document
from augrecipes.recipe.parse import parse_text
from augrecipes.studio.studio import Studio, open_studio

MODULE = """
import os
import albumentations as A
import augrecipes as ar

os.environ["{upper}_RAN"] = str(int(os.environ.get("{upper}_RAN", "0")) + 1)


@ar.register
class {cls}(A.ImageOnlyTransform):
    def __init__(self, level: int = 3, p: float = 0.5):
        super().__init__(p=p)
        self.level = level

    def apply(self, img, **params):
        return img * 0 + self.level


def add():
    os.environ["{upper}_RAN"] = "called"


def fail():
    raise OSError("no such server")
"""
HEAD = "version: 1\nrecipe: a\noutput: {dtype: uint8, layout: hwc}\neval: []\n"
IMAGE = np.zeros((5, 4, 3), np.uint8)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Path]]:
    """Install packages: `package("acme", "Acme", points={...})`; what they ran is undone afterwards."""
    classes, ran = dict(registry._registered), set(plugins._loaded)
    recorded, modules = dict(versions._plugins), set(sys.modules)
    monkeypatch.syspath_prepend(str(tmp_path))

    def install(name: str, cls: str, version: str = "1.2", **points: str) -> Path:
        monkeypatch.delenv(f"{name.upper()}_RAN", raising=False)
        (tmp_path / f"{name}.py").write_text(MODULE.format(upper=name.upper(), cls=cls))
        info = tmp_path / f"{name}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        said = "\n".join(f"{key} = {value}" for key, value in (points or {name: name}).items())
        (info / "entry_points.txt").write_text(f"[augrecipes.plugins]\n{said}\n")
        return tmp_path

    yield install
    registry._registered.clear()
    registry._registered.update(classes)
    registry._live_schema.cache_clear()
    plugins._loaded.clear()
    plugins._loaded.update(ran)
    versions._plugins.clear()
    versions._plugins.update(recorded)
    for name in set(sys.modules) - modules:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


def wrong(text: str, **more: Any) -> list[tuple[str, int, int]]:
    with pytest.raises(RecipeError) as raised:
        parse_text(text, **more)
    return [(problem.code, problem.line, problem.col) for problem in raised.value.problems]


def test_it_runs_where_a_recipe_names_it_and_once(package: Callable[..., Path]) -> None:
    package("acme", "Tint")
    assert plugins.announced().keys() == {"acme"}
    ar.load("folder-128")
    assert "ACME_RAN" not in os.environ
    recipe = ar.load(f"{HEAD}plugins: [acme]\nsteps: [Tint: {{p: 1}}]\n")
    assert (recipe.plugins, os.environ["ACME_RAN"]) == (("acme",), "1")
    assert recipe.compile().at(0)(image=IMAGE)["image"].max() == 3
    ar.load(f"{HEAD}plugins: [acme]\nsteps: [Tint]\n")
    assert os.environ["ACME_RAN"] == "1"


def test_a_function_is_called(package: Callable[..., Path]) -> None:
    package("acme", "Tint", tools="acme:add")
    ar.load(f"{HEAD}plugins: [tools]\nsteps: [Tint]\n")
    assert os.environ["ACME_RAN"] == "called"


def test_what_is_wrong_is_said_where_it_stands(package: Callable[..., Path]) -> None:
    package("acme", "Tint", acme="acme", broken="acme:fail", absent="acme:nothing", gone="acme_gone", twice="acme")
    package("other", "Shade", twice="other")
    for name, code, words in (
        ("acmee", "E209", "did you mean 'acme'"),
        ("zzzzzz", "E209", "they announce absent, acme, broken"),
        ("os", "E209", "no installed package"),
        ("acme.py", "E209", "no installed package"),
        ("../acme", "E209", "no installed package"),
        ("acme:add", "E209", "no installed package"),
        ("broken", "E210", "OSError: no such server"),
        ("absent", "E210", "AttributeError"),
        ("gone", "E210", "ModuleNotFoundError"),
        ("twice", "E210", "acme, other announce a plugin of this name; uninstall all but one"),
    ):
        text = f"{HEAD}plugins:\n  - {name}\nsteps: []\n"
        assert wrong(text) == [(code, 6, 5)], name
        with pytest.raises(RecipeError, match=r"<recipe>:6:5: E2(09|10) plugins: ") as raised:
            ar.load(text)
        assert words in str(raised.value)
    assert wrong(f"{HEAD}plugins: acme\nsteps: []\n") == [("E204", 5, 10)]
    assert wrong(f"{HEAD}plugins: [3]\nsteps: []\n") == [("E204", 5, 11)]


def test_classes_of_one_name_are_refused(package: Callable[..., Path]) -> None:
    package("acme", "Tint")
    package("other", "Tint")
    text = f"{HEAD}plugins: [acme, other]\nsteps: [Tint]\n"
    for _ in range(2):
        with pytest.raises(RecipeError, match="cannot register 'Tint': acme has registered a class of this name"):
            ar.load(text)
    assert registry.get_class("Tint").__module__ == "acme"


def test_text_of_pages_and_records_runs_none(package: Callable[..., Path], tmp_path: Path) -> None:
    package("acme", "Tint")
    text = f"{HEAD}plugins: [acme]\nsteps: [Tint]\n"
    assert wrong(text, plugins=False)[0] == ("E211", 5, 11)
    with pytest.raises(RecipeError, match="E211"):
        ar.load(text, plugins=False)
    with pytest.raises(RecipeError, match="E211"):
        Studio().recipe(text)
    assert "ACME_RAN" not in os.environ
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    open_studio(file).close()
    assert os.environ["ACME_RAN"] == "1"  # who opens the file asks
    assert Studio().recipe(text).plugins == ("acme",)
    assert parse_text(text, plugins=False) == ar.load(file)


def test_a_variant_has_the_plugins_of_both(package: Callable[..., Path], tmp_path: Path) -> None:
    package("acme", "Tint")
    package("other", "Shade")
    (tmp_path / "base.yaml").write_text(f"{HEAD}plugins: [acme]\nsteps: [Tint]\n")
    file = tmp_path / "variant.yaml"
    file.write_text("version: 1\nextends: base.yaml\nset: {Tint.level: 7}\n")
    assert ar.load(file).plugins == ("acme",)
    assert "OTHER_RAN" not in os.environ
    file.write_text("version: 1\nextends: base.yaml\nplugins: [other, acme]\nsteps: [Tint, Shade]\n")
    found = ar.load(file)
    assert found.plugins == ("acme", "other")
    assert ar.load(found.to_yaml()) == found


def test_what_knows_of_it(package: Callable[..., Path]) -> None:
    package("acme", "Tint", acme="acme", again="acme")
    text = f"{HEAD}plugins: [acme]\nsteps: [Tint: {{p: 1}}]\n"
    recipe = ar.load(text)
    assert "plugins: [acme]" in recipe.to_yaml()
    assert ar.load(recipe.to_yaml()) == recipe
    other = ar.load(text.replace("[acme]", "[acme, again]"))
    assert (other.digest, other == recipe) == (recipe.digest, False)
    found = diff(recipe, other)
    assert (found.same, "plugins: acme → acme, again: where classes of steps come from" in found.remarks) == (
        True,
        True,
    )
    explained = explain(other)
    assert explained.to_json()["plugins"] == ["acme", "again"]
    assert "Plugins\n  acme\n  again" in report_of(explained.to_json()).text()
    assert "plugins" not in explain("folder-128").to_json()
    assert versions.environment()["acme"] == "1.2"
    assert versions.differences({"acme": "1.1"}) == ["acme 1.1 (here 1.2)"]


PROGRAM = """
import os, pickle, sys
import numpy as np
made = pickle.load(open(sys.argv[1], "rb"))
assert "ACME_RAN" not in os.environ or made.__class__.__name__ != "Recipe"
pipeline = made.compile() if hasattr(made, "compile") else made
print(pipeline.at(0)(image=np.zeros((5, 4, 3), np.uint8))["image"].max(), os.environ["ACME_RAN"])
"""


@pytest.mark.parametrize("what", ["recipe", "pipeline"])
def test_another_process_runs_it_too(
    package: Callable[..., Path], tmp_path: Path, programs: Programs, what: str
) -> None:
    folder = package("acme", "Tint")
    recipe = ar.load(f"{HEAD}plugins: [acme]\nsteps: [Tint: {{p: 1}}]\n")
    (tmp_path / "made.pickle").write_bytes(pickle.dumps(recipe if what == "recipe" else recipe.compile()))
    start = f"import os, sys; os.environ.pop('ACME_RAN', None); sys.path.insert(0, {str(folder)!r})"
    done = programs(f"{start}\n{PROGRAM}", str(tmp_path / "made.pickle"))
    assert done.stdout.split() == ["3", "1"], done.stderr


def test_a_recipe_from_elsewhere_whose_plugin_is_not_here(package: Callable[..., Path]) -> None:
    recipe = replace(ar.load("folder-128"), plugins=("absent",))
    with pytest.raises(RecipeError, match="no package that is installed here announces a plugin 'absent'"):
        recipe.compile()


def runs_nothing(text: str) -> None:
    """Whatever a text names, reading it with plugins=False runs nothing, and what it says is a list of problems."""
    before = set(plugins._loaded)
    try:
        parse_text(text, plugins=False)
    except RecipeError as error:
        assert all(problem.line for problem in error.problems)
    assert (plugins._loaded, "ACME_RAN" in os.environ) == (before, False)


NAMES = st.lists(st.sampled_from(["acme", "again", "absent", "", "a b", "acme:add", 3, None, ["acme"]]), max_size=4)


@given(NAMES, st.booleans())
def test_law_texts_that_nobody_asked_for_run_nothing(law_package: None, names: list[Any], variant: bool) -> None:
    rest: dict[str, Any] = {"extends": "folder-128"} if variant else {"steps": []}
    runs_nothing(json.dumps({"version": 1, "recipe": "a", "plugins": names, **rest}))


@pytest.fixture
def law_package(package: Callable[..., Path]) -> None:
    package("acme", "Tint", acme="acme", again="acme:add")


def test_a_fault_that_is_planted(law_package: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Were the text's wish enough, the law would notice."""
    real = document._run_plugins

    def runs(context: Any, *more: Any) -> None:
        real(replace(context, resolved=replace(context.resolved, runs_plugins=True)), *more)

    monkeypatch.setattr(document, "_run_plugins", runs)
    with pytest.raises(AssertionError):
        runs_nothing(f"{HEAD}plugins: [acme]\nsteps: []\n")
