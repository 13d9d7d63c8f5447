"""Whether a store is what a recipe may begin with: the steps that were baked, the seed, the targets."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from augrecipes.compiler.compile import steps_of
from augrecipes.compiler.prefix import brief, described, digest_of
from augrecipes.data.checks import presence_of, tell_of_absent
from augrecipes.data.tables import packed_schema
from augrecipes.data.tables.packed_table import LAYOUTS, POINTS
from augrecipes.errors import StoreError
from augrecipes.recipe.model import Inputs, Mode, Recipe
from augrecipes.sources.store import Store
from augrecipes.versions import warn_of_differences

_MADE_BY = "augrecipes pack"


def check_store(store: Store, recipe: Recipe) -> None:
    """StoreError unless `store` holds samples of the recipe's kind, as `augrecipes pack` writes them."""
    if store.about.get("packed") not in LAYOUTS:
        other = f"of another layout ({store.about['packed']})" if "packed" in store.about else "not samples"
        raise StoreError(f"its rows are {other}: {_MADE_BY} writes what this version reads", str(store.path))
    if store.kind != recipe.kind:
        raise StoreError(
            f"holds samples of kind {store.kind!r}, recipe {recipe.name!r} is of kind {recipe.kind!r}", str(store.path)
        )
    packed_schema.check(store)
    if recipe.facts.scales and dict(recipe.scales) != store.about["scales"]:
        raise StoreError(
            f"holds targets of scales {store.about['scales']}, the recipe's are {dict(recipe.scales)}", str(store.path)
        )
    _check_inputs(store, recipe)


def check_section(store: Store, recipe: Recipe, mode: Mode, seed: int) -> int:
    """How many steps of the section for `mode` are baked into `store`.

    Raises:
        StoreError: the section does not begin with the baked steps, or draws them with another seed.
    """
    baked = store.about["steps"]
    mine = [described(step) for step in steps_of(recipe, mode)[: len(baked)]]
    if mine != baked:
        raise StoreError(_misfit(store, recipe, mode, mine), str(store.path))
    if store.about["epochs"] and seed != store.about["seed"]:
        raise StoreError(
            f"its {store.about['epochs']} epochs were drawn with seed {store.about['seed']}, not with {seed}: give "
            f"seed={store.about['seed']}, or pack again with --seed {seed}",
            str(store.path),
        )
    if baked:
        warn_of_differences(store.about["versions"], f"{store.path}: its steps were baked with")
    return len(baked)


def check_targets(store: Store, targets: tuple[str, ...], mode: Mode) -> None:
    """StoreError unless `store` has each of `targets`, which the section for `mode` reads."""
    missing = [name for name in targets if name not in store.targets]
    if missing:
        raise StoreError(
            f"has no {' and no '.join(missing)}, which mode {mode!r} of the recipe reads; it holds "
            f"{', '.join(store.targets)}: pack again with --mode {mode}",
            str(store.path),
        )


def _check_inputs(store: Store, recipe: Recipe) -> None:
    about, inputs = store.about, recipe.inputs
    if inputs.channels is not None and inputs.channels != about["decode"]["channels"]:
        raise StoreError(
            f"was decoded to {about['decode']['channels']} channels, the recipe's inputs say {inputs.channels}",
            str(store.path),
        )
    has = {"mask": "mask" in store.targets, **{name: f"{name}/values" in store.columns for name in POINTS}}
    for name, presence in presence_of(inputs).items():
        if presence == "required" and not has[name]:
            raise StoreError(f"the recipe requires {name}, and the store has none", str(store.path))
    tell_of_absent(recipe, {name for name, present in has.items() if present})
    for name in POINTS:
        mine = declared(inputs)[name]
        if mine is not None and has[name] and mine != about["inputs"][name]:
            raise StoreError(
                f"was packed by a recipe whose inputs declare {name} as {about['inputs'][name]}, this one as {mine}",
                str(store.path),
            )


def declared(inputs: Inputs) -> dict[str, dict[str, Any] | None]:
    """What the inputs say of boxes and of keypoints, as plain data; None where they are not taken."""
    found = {"boxes": inputs.boxes, "keypoints": inputs.keypoints}
    return {
        name: None if value is None or value.presence == "absent" else {**asdict(value), "presence": "optional"}
        for name, value in found.items()
    }


def _misfit(store: Store, recipe: Recipe, mode: Mode, mine: list[dict[str, Any]]) -> str:
    baked = store.about["steps"]
    return (
        f"recipe {recipe.name!r} (mode {mode!r}) does not begin with the steps that were baked into the store:\n"
        f"  baked   {digest_of(baked)}  {_line(baked)}\n"
        f"  recipe  {digest_of(mine)}  {_line(mine)}\n"
        f"pack the data again: {_MADE_BY} {recipe.file}"
    )


def _line(steps: list[dict[str, Any]]) -> str:
    return " → ".join(map(brief, steps)) or "no steps"
