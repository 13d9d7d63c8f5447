"""Whether a store is what a recipe may begin with: what it says of itself, its baked steps, seed and targets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from augrecipes.compiler.compile import steps_of
from augrecipes.compiler.prefix import brief, described, digest_of
from augrecipes.errors import StoreError
from augrecipes.kinds import facts
from augrecipes.recipe.model import Inputs, Mode, Recipe
from augrecipes.sources.arguments import presence_of, tell_of_absent
from augrecipes.sources.packed_columns import LAYOUTS, POINTS
from augrecipes.store import Store, index
from augrecipes.store.columns import Texts, are_offsets
from augrecipes.store.index import SIZE
from augrecipes.versions import warn_of_differences

_MADE_BY = "augrecipes pack"
_STEP: dict[str, Any] = {"step": str}
_STEP["steps?"] = [_STEP]
_ABOUT: dict[str, Any] = {
    "steps": [_STEP],
    "scales": dict,
    "epochs": SIZE,
    "seed": (None, int),
    "units": SIZE,
    "decode": {"channels": (1, 3, 4), "exif": ("apply", "ignore")},
    "inputs": dict.fromkeys(POINTS, (None, dict)),
    "channels": (None, range(1, 2**63)),
    "classes": (None, [str]),
    "class_to_idx": (None, {str: int}),
    "box_classes": (None, [str]),
    "versions": {str: str},
    "left_out?": [str],
    "unreadable": [{"row": SIZE, "path": str, "reason": str}],
}


def check_store(store: Store, recipe: Recipe) -> None:
    """StoreError unless `store` holds samples of the recipe's kind, as `augrecipes pack` writes them."""
    if store.about.get("packed") not in LAYOUTS:
        other = f"of another layout ({store.about['packed']})" if "packed" in store.about else "not samples"
        raise StoreError(f"its rows are {other}: {_MADE_BY} writes what this version reads", str(store.path))
    if store.kind != recipe.kind:
        raise StoreError(
            f"holds samples of kind {store.kind!r}, recipe {recipe.name!r} is of kind {recipe.kind!r}", str(store.path)
        )
    _check_about(store)
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


def _check_about(store: Store) -> None:
    """Raises StoreError, naming the file and the field or column, unless what a store says of itself agrees."""
    said_in, columns = str(store.path / index.NAME), str(store.path / index.COLUMNS)
    index.check(store.about, _ABOUT, said_in, "about")
    times, units = max(1, store.about["epochs"]), store.about["units"]
    if units * times != store.rows:
        raise index.wrong(said_in, "about.units", f"{units} × {times} are not {store.rows} rows")
    for name, shape, kind, needed in _wanted(store):
        fault = _fault(store.columns.get(name), shape, kind, needed)
        if fault:
            raise index.wrong(columns, name, fault)
    ends = {"bag/offsets": units} if facts(store.kind).tiles else {}
    ends |= {f"{name}/offsets": len(store.columns.get(f"{name}/values", ())) for name in POINTS}
    for name, end in ends.items():
        if name in store.columns and not are_offsets(store.columns[name], end):
            raise index.wrong(columns, name, f"does not lead from 0 to {end} without a step back")
    lost, channels = sorted(one["row"] for one in store.about["unreadable"]), store.about["channels"]
    if lost and lost[-1] >= store.rows:
        raise index.wrong(said_in, "about.unreadable", f"row {lost[-1]} of {store.rows}")
    for name, items in store.tables.items():
        counts, shapes = items.rows[1:] - items.rows[:-1], items.shapes
        if counts.max(initial=0) > 1 or (counts == 0).nonzero()[0].tolist() != lost:
            raise index.wrong(columns, f"items/{name}/rows", "rows without pixels are not those that are unreadable")
        if store.targets[name] == "image" and channels is not None and (shapes[:, 2] != channels).any():
            raise index.wrong(said_in, "about.channels", f"images of {name} have other channels")


def _wanted(store: Store) -> Iterator[tuple[str, tuple[int, ...], str, bool]]:
    """The columns that a store of its kind may have: shape (-1: any), dtype or the kind of it, whether it must have."""
    units, bags, of_kind = store.about["units"], store.columns.get("bag/name"), facts(store.kind)
    samples = units if not of_kind.tiles else len(bags) if isinstance(bags, Texts) else 0
    yield from (("label", (samples,), "i8", False), ("weight", (samples,), "f8", False))
    yield "group", (samples,), "text", False
    for name in store.targets:
        yield f"source/{name}", (units if store.about["packed"] == LAYOUTS[1] else store.rows,), "text", True
    if of_kind.tiles:
        yield from (("bag/name", (samples,), "text", True), ("bag/path", (samples,), "text", True))
        yield from (("bag/offsets", (samples + 1,), "i8", True), ("bag/coords", (units, 2), "i8", True))
    for name in POINTS if of_kind.annotated else ():
        there = any(column.startswith(f"{name}/") for column in store.columns)
        yield from ((f"{name}/values", (-1, -1), "f", there), (f"{name}/labels", (-1,), "i8", there))
        yield f"{name}/offsets", (store.rows + 1,), "i8", there


def _fault(column: Any, shape: tuple[int, ...], kind: str, needed: bool) -> str:
    """What is wrong with a column, or nothing."""
    if column is None:
        return "is missing" if needed else ""
    text = isinstance(column, Texts)
    found, is_kind = (len(column),) if text else column.shape, "text" if text else column.dtype.str[1:]
    same = len(found) == len(shape) and all(b in (-1, a) for a, b in zip(found, shape, strict=True))
    if same and is_kind.startswith(kind):
        return ""
    wanted = "×".join("n" if n < 0 else str(n) for n in shape)
    return f"should be {kind} of shape {wanted}, not {is_kind} of {'×'.join(map(str, found))}"


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
