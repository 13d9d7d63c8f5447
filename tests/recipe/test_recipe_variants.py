"""Variants: extends, set, without, and the same changes from the outside."""

from pathlib import Path

import pytest
from support.checks import table
from support.files import parse_file

from augrecipes.errors import Diagnostic, RecipeError
from augrecipes.recipe.model import Recipe, Step
from augrecipes.recipe.parse import load, parse_text

BASE = """\
version: 1
recipe: base
about: the base
steps:
- HorizontalFlip
- OneOf:
    p: 0.3
    steps:
    - GaussianBlur: {p: 1.0}
    - GaussianBlur: {id: strong, sigma_limit: [2, 3]}
- RandomCrop: {height: 64, width: 64}
- HorizontalFlip: {p: 0.25}
eval:
- CenterCrop: {height: 64, width: 64}
output: {dtype: float32}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "base.yaml").write_text(BASE)
    return tmp_path


def variant(folder: Path, text: str, name: str = "variant.yaml") -> tuple[Recipe | None, tuple[Diagnostic, ...]]:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"version: 1\nextends: base.yaml\n{text}")
    return parse_file(path)


def good(folder: Path, text: str) -> Recipe:
    recipe, problems = variant(folder, text)
    assert recipe is not None, problems
    return recipe


def by_class(recipe: Recipe, name: str) -> list[Step]:
    return [step for step in recipe.walk() if step.name == name]


def test_a_variant_without_changes_is_its_parent(folder: Path) -> None:
    assert good(folder, "") == parse_file(folder / "base.yaml")[0]


def test_set_reaches_classes_ordinals_ids_groups_eval_and_keys(folder: Path) -> None:
    recipe = good(
        folder,
        """\
recipe: changed
set:
  RandomCrop.height: 32
  HorizontalFlip#1.p: 0.9
  HorizontalFlip#2.id: second
  GaussianBlur#1.sigma_limit: 1.5
  strong.p: 0.5
  OneOf.p: 0.4
  eval.CenterCrop.width: 48
  output.dtype: float16
  output.normalize: {mean: 0.5, std: 0.5}
  optimize: fast
""",
    )
    assert recipe.name == "changed"
    assert by_class(recipe, "RandomCrop")[0].args == {"height": 32, "width": 64}
    assert [(step.p, step.id) for step in by_class(recipe, "HorizontalFlip")] == [(0.9, None), (0.25, "second")]
    assert [step.args for step in by_class(recipe, "GaussianBlur")] == [{"sigma_limit": 1.5}, {"sigma_limit": (2, 3)}]
    assert by_class(recipe, "OneOf")[0].p == 0.4
    assert by_class(recipe, "CenterCrop")[0].args["width"] == 48
    assert recipe.output.dtype == "float16"
    assert recipe.output.normalize is not None
    assert recipe.optimize == "fast"


def test_without_counts_as_the_parent_does(folder: Path) -> None:
    recipe = good(folder, "without: [HorizontalFlip#1, strong, eval.CenterCrop]\nset: {HorizontalFlip#2.p: 0.75}\n")
    assert [step.name for step in recipe.steps] == ["OneOf", "RandomCrop", "HorizontalFlip"]
    assert recipe.steps[-1].p == 0.75
    assert len(recipe.steps[0].steps) == 1
    assert recipe.eval == ()


def test_own_keys_replace_the_parents(folder: Path) -> None:
    recipe = good(folder, "about: new\nsteps: [VerticalFlip]\n")
    assert [step.name for step in recipe.steps] == ["VerticalFlip"]
    assert recipe.about == "new"
    assert recipe.eval is not None


def test_variants_of_variants_and_of_the_gallery(folder: Path) -> None:
    variant(folder, "set: {RandomCrop.height: 16}\n", "one.yaml")
    (folder / "two.yaml").write_text("version: 1\nextends: one\nset: {RandomCrop.width: 8}\n")
    recipe, _ = parse_file(folder / "two.yaml")
    assert recipe is not None
    assert by_class(recipe, "RandomCrop")[0].args == {"height": 16, "width": 8}
    text = "version: 1\nrecipe: mine\nextends: folder-128\nset: {RandomCrop.height: 64}"
    assert by_class(parse_text(text), "RandomCrop")[0].args["height"] == 64


def test_what_is_wrong_inside_of_a_mapping_that_overrides_is_told() -> None:
    with pytest.raises(RecipeError, match=r"output\.normalize: color: y has one channel, normalize has 3"):
        load("sr-x4", overrides={"output": {"color": "y", "normalize": "imagenet"}})


def test_overrides_do_what_set_does(folder: Path) -> None:
    path = folder / "base.yaml"
    changed = load(path, overrides={"RandomCrop.height": 32, "strong.sigma_limit": (1, 2)}, without=["eval.CenterCrop"])
    assert by_class(changed, "RandomCrop")[0].args["height"] == 32
    assert by_class(changed, "GaussianBlur")[1].args["sigma_limit"] == (1, 2)
    assert changed.eval == ()
    with pytest.raises(RecipeError, match="E505 Rotte"):
        load(path, overrides={"Rotte.limit": 3})
    with pytest.raises(RecipeError, match="E507"):
        load(path, overrides={"RandomCrop.height": object()})
    with pytest.raises(RecipeError, match=r"E306 RandomCrop\.height"):
        load(path, overrides={"RandomCrop.height": "many"})


@table(__file__, "wrong", "text", "code", "line", "col", "words")
def test_wrong_changes_point_into_the_variant(
    folder: Path, *, text: str, code: str, line: int, col: int, words: str
) -> None:
    _, problems = variant(folder, text)
    assert any((p.code, p.line, p.col) == (code, line, col) and words in p.message for p in problems), problems


def test_a_problem_of_the_parent_names_the_parents_file(folder: Path) -> None:
    (folder / "base.yaml").write_text(BASE.replace("RandomCrop", "RandomCorp"))
    _, problems = variant(folder, "")
    assert [(Path(p.file).name, p.line, p.code) for p in problems] == [("base.yaml", 11, "E302")]


def test_steps_of_the_parent_stand_at_extends(folder: Path) -> None:
    recipe = good(folder, "set: {RandomCrop.height: 32}\n")
    crop = by_class(recipe, "RandomCrop")[0]
    assert (crop.position.line, crop.position.col) == (2, 1)
    assert (Path(crop.position.origin[0]).name, *crop.position.origin[1:]) == ("base.yaml", 11, 3)
    assert (crop.places["height"].line, crop.places["height"].col) == (3, 7)


def test_circles_are_named(folder: Path) -> None:
    (folder / "a.yaml").write_text("version: 1\nextends: b.yaml\n")
    (folder / "b.yaml").write_text("version: 1\nextends: ./a.yaml\n")
    (folder / "self.yaml").write_text("version: 1\nextends: self.yaml\n")
    _, problems = parse_file(folder / "a.yaml")
    assert [(Path(p.file).name, p.line, p.code) for p in problems] == [("a.yaml", 2, "E501"), ("b.yaml", 2, "E503")]
    assert "a.yaml → " in problems[1].message
    assert str(folder / "b.yaml") in problems[0].message
    assert [p.code for p in parse_file(folder / "self.yaml")[1]] == ["E503"]


def test_chains_are_bounded(folder: Path) -> None:
    for index in range(20):
        (folder / f"v{index}.yaml").write_text(f"version: 1\nextends: v{index + 1}.yaml\n")
    (folder / "v20.yaml").write_text(BASE)
    assert [p.code for p in parse_file(folder / "v0.yaml")[1]] == ["E501", "E504"]
    assert parse_file(folder / "v8.yaml")[0] is not None


@pytest.mark.parametrize("path", ["../outside.yaml", "sub/../../outside.yaml", "link.yaml", "linked/outside.yaml"])
def test_paths_stay_inside_the_folder(tmp_path: Path, path: str) -> None:
    inside = tmp_path / "inside"
    (inside / "sub").mkdir(parents=True)
    (tmp_path / "outside.yaml").write_text(BASE)
    (inside / "link.yaml").symlink_to(tmp_path / "outside.yaml")
    (inside / "linked").symlink_to(tmp_path)
    (inside / "variant.yaml").write_text(f"version: 1\nextends: {path}\n")
    assert [p.code for p in parse_file(inside / "variant.yaml")[1]] == ["E502"]


def test_absolute_paths_stay_inside_too(folder: Path) -> None:
    (folder / "v.yaml").write_text(f"version: 1\nextends: {folder}/base.yaml\n")
    assert parse_file(folder / "v.yaml")[0] is not None
    (folder / "v.yaml").write_text("version: 1\nextends: /etc/passwd\n")
    assert [p.code for p in parse_file(folder / "v.yaml")[1]] == ["E502"]


@pytest.mark.parametrize("value", ["missing.yaml", "folder128", "3", "''", "[a]", '"a\\0b"', "a/" * 3000])
def test_what_cannot_be_extended_does_not_hide_other_problems(folder: Path, value: str) -> None:
    (folder / "v.yaml").write_text(f"version: 1\nextends: {value}\noutptu: 3\nset: {{A.b: 1}}\n")
    codes = [p.code for p in parse_file(folder / "v.yaml")[1]]
    assert codes == ["E501", "E202"]


def test_changes_need_something_to_change() -> None:
    with pytest.raises(RecipeError, match="add `extends: NAME`"):
        parse_text("version: 1\nrecipe: a\nsteps: [Blur]\nset: {Blur.p: 1}")
