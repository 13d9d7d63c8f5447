"""Packed stores as sources: checks that a recipe may read a store, the remaining recipe, and the stored samples."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from augrecipes.compiler.compile import steps_of
from augrecipes.compiler.prefix import described, digest_of, suffix_recipe
from augrecipes.errors import DataError, StoreError
from augrecipes.recipe import kinds, words
from augrecipes.recipe.kinds import facts
from augrecipes.recipe.model import Inputs, Mode, Recipe, canonical
from augrecipes.sources.arguments import warn_of_absent
from augrecipes.sources.packed_columns import LAYOUT, POINTS, packed_targets, table_of, target_mismatches, unreadable_in
from augrecipes.sources.sample import RecipeSource, Sample
from augrecipes.store import Store, index, open_store
from augrecipes.store.columns import Texts, are_offsets
from augrecipes.versions import warn_of_differences

__all__ = ["Store", "StoredSource", "open_store", "remaining_recipe"]

_MADE_BY = "augrecipes pack"


def remaining_recipe(recipe: Recipe, store: Store, mode: Mode, seed: int) -> tuple[Recipe, tuple[str, ...]]:
    """The recipe without the steps that are baked into the store, and the labels of the baked ones.

    Raises:
        StoreError: the recipe does not begin with the baked steps.
    """
    check_store(store, recipe)
    baked, steps = check_section(store, recipe, mode, seed), recipe.section(mode) or ()
    return suffix_recipe(recipe, mode, baked, store.about["channels"]), tuple(step.site for step in steps[:baked])


class StoredSource(RecipeSource):
    """The source of a store's images, scenes or tiles, as the baked steps left them.

    Args:
        store: the store.
        recipe: the remaining recipe.
        targets: the targets to read, for pairs; None: all.

    Attributes:
        store: the store.
        folder: the store's folder.
        epochs: the number of baked epochs; 1 if no baked step draws.
        unreadable: the inputs without pixels, by stored row.
    """

    def __init__(self, store: Store, recipe: Recipe, targets: Sequence[str] | None = None) -> None:
        about, (*named,) = store.about, store.targets
        table = table_of(store, kinds.part(recipe.kind, "reader").TABLE.stored)
        super().__init__(table, recipe.inputs, about["decode"], tuple(about.get("left_out", ())))
        self.store, self.folder, self.unreadable = store, str(store.path), unreadable_in(store)
        self.epochs = max(1, int(about["epochs"]))
        further = about.get("further", {})
        self._targets = tuple(targets or (name for name in named if name != "mask" and name not in further))
        # Memory views: a batch asks for hundreds of names, for which a `Texts` is several times slower.
        texts: Any = {name: store.columns[f"source/{name}"] for name in named}
        self._sources = {name: (text.blob.data, text.offsets.data) for name, text in texts.items()}
        stains, kept = self.for_recipe(recipe).stains, about.get("stains", {})
        if stains and about["steps"] and (lacking := [method for method in stains.methods if method not in kept]):
            what = f"keeps no stains by {' and '.join(lacking)}, and its baked steps may have changed them"
            raise _store_error(store, f"{what}: pack again with this recipe")

    def path(self, k: int) -> str:
        """The file that unit k was packed from; for a pair the file of its largest target."""
        return self.source(k, next(iter(self.store.targets)))

    def paths(self, units: Sequence[int], target: str | None = None) -> list[str]:
        """The files that a target of some units was packed from; None: the largest target."""
        blob, offsets = self._sources[target or next(iter(self.store.targets))]
        return [str(blob[offsets[k] : offsets[k + 1]], "utf-8", "surrogateescape") for k in units]

    def source(self, k: int, target: str) -> str:
        """The file that a target of unit k was packed from."""
        return self.paths((k,), target)[0]

    def shape(self, k: int, epoch: int = 0) -> tuple[int, ...]:
        """Height and width of unit k as stored (for a pair of its largest target), known without decoding."""
        return self.store.shape(self._targets[0], self.item(self._targets[0], self.rows(k, epoch)))

    def rows(self, units: Any, epoch: Any) -> Any:
        """The stored rows of units in an epoch; both may be integers or arrays."""
        return units * self.epochs + epoch % self.epochs

    def item(self, target: str, row: int) -> int:
        """The item of a stored row; DataError, naming the file, where it could not be read."""
        items = self.store.items(target, row)
        if not items:
            unreadable = self.unreadable[row]
            raise DataError(unreadable.reason, unreadable.path)
        return items[0]

    def present_images(self, k: int, epoch: int = 0, /) -> Sequence[str]:
        """Names of the images that unit k has."""
        row, optional = self.rows(k, epoch), self.store.about.get("optional", ())
        return [name for name in self._targets if name not in optional or self.store.items(name, row)]

    def taken(self, names: Sequence[str] | None = None) -> tuple[str, ...]:
        """The stored targets among `names` that the recipe takes; a mask last."""
        masked = "mask" in self.store.targets and self.inputs.mask != "absent"
        return (*(names or self._targets), *(("mask",) if masked else ()))

    def points(self, row: int) -> dict[str, Any]:
        """The boxes and keypoints of a stored row, with their labels, that the recipe's inputs take."""
        return self.table.points(row, self.inputs)

    def stored(self, row: int, names: Sequence[str] | None = None, *, undecoded: bool = False) -> dict[str, Any]:
        """The pipeline's inputs of a stored row: views of the store, or encoded images."""
        targets: dict[str, Any] = {}
        for name in self.taken(names or self.present_images(row // self.epochs, row)):
            take = self.store.encoded if undecoded and name != "mask" else self.store.array
            targets[name] = take(name, self.item(name, row))
        further = packed_targets(self.store, row, self.inputs, next(iter(targets.values())).shape)
        return targets | dict(further) | self.points(row)

    def parts(
        self, k: int, epoch: Any = 0, *, undecoded: bool = False, names: Sequence[str] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """As in `RecipeSource`, from the baked epoch that `epoch` maps to."""
        return self.stored(self.rows(k, epoch), names, undecoded=undecoded) | self.stains_of(k), {}

    def sample(self, k: int, epoch: int = 0, *, undecoded: bool = False, names: Sequence[str] | None = None) -> Sample:
        """As in `RecipeSource`, with copies of the store's arrays."""
        sample = super().sample(k, epoch, undecoded=undecoded, names=names or self._targets)
        images = {
            name: np.array(image) if isinstance(image, np.ndarray) else image for name, image in sample.images.items()
        }
        views = {"mask", *self.inputs.targets}
        rest = {name: np.array(value) if name in views else value for name, value in sample.rest.items()}
        return replace(sample, images=images, rest=rest)


def check_store(store: Store, recipe: Recipe) -> None:
    """StoreError unless `store` holds samples of the recipe's kind, as `augrecipes pack` writes them."""
    if store.about.get("packed") != LAYOUT:
        other = f"of another layout ({store.about['packed']})" if "packed" in store.about else "not samples"
        raise _store_error(store, f"its rows are {other}: {_MADE_BY} writes what this version reads")
    if store.kind != recipe.kind:
        raise _store_error(
            store, f"holds samples of kind {store.kind!r}, recipe {recipe.name!r} is of kind {recipe.kind!r}"
        )
    _check_about(store)
    scales = store.about["scales"]
    if recipe.facts.scales and dict(recipe.scales) != scales:
        raise _store_error(store, f"holds targets of scales {scales}, the recipe's are {dict(recipe.scales)}")
    chosen, mine = store.about.get("foreground") or [{}], recipe.bag.foreground() if recipe.bag else {}
    if not any(mine.items() <= rule.items() for rule in chosen):
        why = f"its tiles were chosen by {chosen[0] or 'no rule'}, and the recipe's `bag:` says {mine}"
        raise _store_error(store, f"{why}: pack the data again")
    _check_inputs(store, recipe)


def _store_error(store: Store, why: str) -> StoreError:
    return StoreError(why, str(store.path))


def check_section(store: Store, recipe: Recipe, mode: Mode, seed: int) -> int:
    """The number of steps of the section for `mode` that are baked into `store`.

    Raises:
        StoreError: the section does not begin with the baked steps, or draws them with another seed.
    """
    baked, epochs, known = (store.about[name] for name in ("steps", "epochs", "seed"))
    mine = [described(step) for step in steps_of(recipe, mode)[: len(baked)]]
    if mine != baked:
        lines = (
            f"  {name}  {digest_of(steps)}  {' → '.join(map(words.brief, steps)) or 'no steps'}\n"
            for name, steps in (("baked ", baked), ("recipe", mine))
        )
        what = f"recipe {recipe.name!r} (mode {mode!r}) does not begin with the steps that were baked into the store:\n"
        raise _store_error(store, f"{what}{''.join(lines)}pack the data again: {_MADE_BY} {recipe.file}")
    if epochs and seed != known:
        what = f"its {epochs} epochs were drawn with seed {known}, not with {seed}"
        raise _store_error(store, f"{what}: give seed={known}, or pack again with --seed {seed}")
    if baked:
        warn_of_differences(store.about["versions"], f"{store.path}: its steps were baked with")
    return len(baked)


def check_targets(store: Store, targets: tuple[str, ...], mode: Mode) -> None:
    """StoreError unless `store` has all `targets` that the section for `mode` reads."""
    if missing := [name for name in targets if name not in store.targets]:
        what = f"has no {' and no '.join(missing)}, which mode {mode!r} of the recipe reads"
        raise _store_error(store, f"{what}; it holds {', '.join(store.targets)}: pack again with --mode {mode}")


def _check_about(store: Store) -> None:
    """StoreError, naming file and field or column, unless the metadata and columns of a store are consistent."""
    index_file, columns = str(store.path / index.NAME), str(store.path / index.COLUMNS)
    index.check(store.about, "about", index_file, "about.")
    times, units = max(1, store.about["epochs"]), store.about["units"]
    if units * times != store.rows:
        raise index.damaged_field(index_file, "about.units", f"{units} × {times} are not {store.rows} rows")
    if wrong := [name for name, fits in _column_shapes(store).items() if not fits(store.columns.get(name))]:
        raise index.damaged_field(columns, wrong[0])
    unreadable, channels = sorted(entry["row"] for entry in store.about["unreadable"]), store.about["channels"]
    if unreadable and unreadable[-1] >= store.rows:
        raise index.damaged_field(index_file, "about.unreadable", f"row {unreadable[-1]} of {store.rows}")
    for name, items in store.tables.items():
        counts, shapes = items.rows[1:] - items.rows[:-1], items.shapes
        absent = (counts == 0).nonzero()[0].tolist()
        absent = [row for row in absent if row in unreadable] if name in store.about.get("optional", ()) else absent
        if counts.max(initial=0) > 1 or absent != unreadable:
            what = "rows without pixels are not those that are unreadable"
            raise index.damaged_field(columns, f"items/{name}/rows", what)
        if channels is None or store.targets[name] != "image" or name in store.about.get("further", {}):
            continue
        if (shapes[:, 2] != channels).any():
            raise index.damaged_field(index_file, "about.channels", f"images of {name} have other channels")


def _column_shapes(store: Store) -> dict[str, Callable[[Any], bool]]:
    """For each column that a store of this kind may have, a check of its array (None: the store lacks it)."""
    columns, units, kind = store.columns, store.about["units"], facts(store.kind)
    bags = columns.get("bag/name")
    samples = units if not kind.tiles else len(bags) if isinstance(bags, Texts) else 0
    shapes = {"weight": _array("f8", samples, optional=True), "group": _array("text", samples, optional=True)}
    multi_label = _array("f4", samples, -1)
    shapes["label"] = lambda column: _array("i8", samples, optional=True)(column) or multi_label(column)
    shapes |= {f"source/{name}": _array("text", units) for name in store.targets}
    if kind.tiles:
        shapes |= {"bag/name": _array("text", samples), "bag/path": _array("text", samples)}
        shapes |= {"bag/coords": _array("i8", units, 2), "bag/offsets": _offsets(samples, units)}
    for name in POINTS if kind.annotated else ():
        if any(column.startswith(f"{name}/") for column in columns):
            values: Any = columns.get(f"{name}/values")
            count = values.shape[0] if isinstance(values, np.ndarray) and values.ndim else 0
            shapes |= {f"{name}/values": _array("f", count, -1), f"{name}/labels": _array("i8", count)}
            shapes |= {f"{name}/numbers": _array("i8", count, -1, optional=True)}
            shapes |= {f"{name}/offsets": _offsets(store.rows, count)}
    return shapes


def _array(dtype: str, *shape: int, optional: bool = False) -> Callable[[Any], bool]:
    """A check that a column has a dtype (or kind of dtype) and a shape, in which -1 is any length."""

    def fits(column: Any) -> bool:
        if not isinstance(column, np.ndarray | Texts):
            return optional and column is None
        lengths, own = ((len(column),), "text") if isinstance(column, Texts) else (column.shape, column.dtype.str[1:])
        same = [wanted in (-1, length) for length, wanted in zip(lengths, shape, strict=False)]
        return own.startswith(dtype) and len(lengths) == len(shape) and all(same)

    return fits


def _offsets(count: int, end: int) -> Callable[[Any], bool]:
    """A check that a column has `count + 1` offsets that rise from 0 to `end`."""
    return lambda column: _array("i8", count + 1)(column) and are_offsets(column, end)


def _check_inputs(store: Store, recipe: Recipe) -> None:
    about, inputs, mine = store.about, recipe.inputs, declared(recipe.inputs)
    decoded = about["decode"]["channels"]
    if decoded is not None and inputs.stored_channels not in (None, decoded):
        raise _store_error(
            store, f"was decoded to {decoded} channels, the recipe's inputs say {inputs.stored_channels}"
        )
    has = {"mask": "mask" in store.targets, **{name: f"{name}/values" in store.columns for name in POINTS}}
    for name, presence in inputs.presence.items():
        if presence == "required" and not has[name]:
            raise _store_error(store, f"the recipe requires {name}, and the store has none")
    for why in target_mismatches(store, inputs):
        raise _store_error(store, why)
    warn_of_absent(recipe, {name for name, present in has.items() if present})
    if about["decode"].get("icc") != inputs.icc:
        raise _store_error(
            store, f"was packed with `icc: {about['decode'].get('icc')}`, the recipe's inputs say {inputs.icc}"
        )
    depth = (about["inputs"].get("image") or {}).get("dtype")
    if depth != inputs.deep_dtype:
        what = f"images of {depth or 'uint8'}, the recipe's inputs say {inputs.deep_dtype or 'uint8'}"
        raise _store_error(store, f"holds {what}: declare the depth that it has, or pack again")
    # Without baked steps, masks and image values are those of the files, whatever the recipe declares.
    for name in (*POINTS, *(("mask", "image") if about["steps"] else ())):
        theirs = about["inputs"].get(name)
        if has.get(name, True) and mine[name] != theirs and (mine[name] is not None or name in ("mask", "image")):
            said = f"{name} as {theirs}, this one as {mine[name]}"
            raise _store_error(store, f"was packed by a recipe whose inputs declare {said}")


def declared(inputs: Inputs) -> dict[str, dict[str, Any] | None]:
    """The declarations of boxes, keypoints, mask labels and image values in `inputs`, as plain data; None: none."""
    taken: dict[str, Any] = {name: getattr(inputs, name) if name in inputs.taken else None for name in POINTS}
    points = {name: own and canonical(replace(own, presence="optional")) for name, own in taken.items()}
    labels = inputs.mask_labels if "mask" in inputs.taken else None
    image = inputs.deep_dtype and {"dtype": inputs.deep_dtype, "range": [*inputs.full_range]}
    return {**points, "mask": labels and canonical(labels), "image": image}
