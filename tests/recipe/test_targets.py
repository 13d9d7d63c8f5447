"""`targets:` as it is read, written, compared and set; what is wrong with it is in test_recipe_malformed.yaml."""

import pytest

import augrecipes as ar
from augrecipes.recipe.model import Recipe
from augrecipes.recipe.targets import Target, coarsest_cell

HEAD = "version: 1\nrecipe: a\n"
TARGETS = """targets:
  after: {like: image, share: geometry}
  depth: {like: mask, interpolation: linear, fill: 0, dtype: float32}
  low: {like: masks, scale: 0.25, presence: optional}
"""


def loaded(targets: str = TARGETS, **more: object) -> Recipe:
    return ar.load(f"{HEAD}{targets}steps: []\neval: []\n", **more)


def test_it_is_read_and_written_as_it_stands() -> None:
    recipe = loaded()
    assert recipe.targets["depth"] == Target("mask", interpolation="linear", fill=0, dtype="float32")
    assert recipe.to_yaml() == f"{HEAD}{TARGETS}steps: []\neval: []\n"
    assert ar.load(recipe.to_yaml()) == recipe


def test_it_may_stand_in_the_inputs() -> None:
    indented = "".join(f"  {line}\n" for line in TARGETS.splitlines())
    inside = ar.load(f"{HEAD}inputs:\n{indented}steps: []\neval: []")
    assert inside.targets == loaded().targets
    assert inside.digest == loaded().digest


def test_it_counts_in_the_digest_where_it_says_something() -> None:
    assert loaded("").digest == ar.load(f"{HEAD}steps: []\neval: []").digest != loaded().digest
    changed = ar.diff(loaded(), loaded(TARGETS.replace("linear", "nearest")))
    assert [(change.key, change.a, change.b) for change in changed.settings] == [
        ("targets.depth.interpolation", "linear", "nearest")
    ]


def test_variants_set_single_keys() -> None:
    assert loaded(overrides={"targets.after.share": "all"}).targets["after"] == Target("image")
    with pytest.raises(ar.RecipeError, match="did you mean 'share'"):
        loaded(overrides={"targets.after.shares": "all"})


def test_the_coarsest_grid_is_that_of_the_smallest_scale() -> None:
    assert coarsest_cell(loaded().targets) == 4
    assert [Target("image", scale=scale).factor for scale in (3, 1, 0.2)] == [3, 1, pytest.approx(0.2)]
