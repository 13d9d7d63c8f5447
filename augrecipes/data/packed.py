"""Packed: a torch Dataset over a packed store and a recipe; whole batches run straight from mapped memory."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any, Unpack, cast

import numpy as np
import numpy.typing as npt

from augrecipes.compiler.compile import build, check
from augrecipes.compiler.executor.inputs import MappedImages
from augrecipes.compiler.prefix import suffix_recipe
from augrecipes.compiler.run.batch import AllocateTarget, SampleColumns
from augrecipes.compiler.run.pipeline import Pipeline
from augrecipes.data.batching import Batch, native_batch, ragged_keys
from augrecipes.data.checks import RunSettings, as_recipe
from augrecipes.data.dataset import RecipeDataset
from augrecipes.data.order import Indices
from augrecipes.errors import StoreError
from augrecipes.recipe import grammar, kinds, model
from augrecipes.sources.packed_columns import Unreadable
from augrecipes.sources.paths import PathLike
from augrecipes.sources.stored import StoredSource, check_section, check_store, check_targets
from augrecipes.store import Store, Verify, open_store, reopen_store

RowNumbers = npt.NDArray[np.int64]
# Attributes that are read from the store, and are not pickled.
_FROM_STORE = frozenset({"store", "table", "source"})


class Packed(RecipeDataset, takes=RunSettings):
    """The samples of a store that `augrecipes pack` wrote, run through the remaining steps of a recipe.

    The store has the samples of the files that were packed, in the same order. A sample is the dict that ImageFolder,
    PairedImages or TileBags makes of those files: bit for bit with `optimize` `none` or `exact` and a store of format
    `raw`, or of JPEGs that format `jpeg` copies. (`fast` merges resampling steps only after the baked ones.) If steps
    that draw were baked for K epochs, this holds for epochs 0 to K - 1; a later epoch e begins with the images of epoch
    e mod K, and the remaining steps draw anew. Repeats of a sample begin with images of later epochs.

    Inputs that could not be read when the store was packed raise DataErrors, as their files would.

    Args:
        store: the folder, or its address: `s3://bucket/store`, or any other that fsspec knows. Remote files are fetched
            whole, in the order in which a loader needs them, into a cache on this machine.
        recipe: a Recipe of the store's kind, the name of a gallery recipe, or the path of a recipe file. It must begin
            with the steps that are baked into the store.
        mode: `train` runs the recipe's steps, `eval` its eval section.
        seed: of the random draws; if steps that draw are baked, it must be their seed.
        optimize: `none`, `exact`, `fast`, or None: as the recipe says.
        on_error: `raise` a DataError for a sample without pixels, or `skip` it, as in ImageFolder.
        weights: one number per sample, kept as `ds.weights`, instead of those of the packed data.
        samples_per_epoch: length of the dataset, by default the number of packed samples.
        classes: names of classes in the order of their numbers, see ImageFolder.
        max_tiles, min_tiles, pick, threads: for bags, see TileBags.
        save_applied_params: add `applied` to every sample: the draws of the steps that are not baked.
        verify: compare the stored bytes of an image or mask with their checksum on its `first` read in each process, or
            `always`, and raise a StoreError if they differ; None: never (`augrecipes verify-store` checks everything).
        cache_size: for a remote store: the disk space for all fetched files, in bytes or as `"50G"`; None: as
            AUGRECIPES_CACHE_SIZE says, or half of the free space.

    Attributes:
        store: the open store.
        unreadable: the inputs without pixels, by stored row: path and reason.

    Raises:
        StoreError: not a store, or a damaged or newer one; or the recipe does not begin with the baked steps: the
            message has both lists of steps, with their digests.
        RecipeError: the recipe is not valid, or has no section for `mode`.

    >>> import tempfile, pathlib, cv2, numpy as np
    >>> from augrecipes.packing.run import pack
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for name in ("cat", "dog"):
    ...     (folder / "pets" / name).mkdir(parents=True)
    ...     _ = cv2.imwrite(str(folder / "pets" / name / "1.png"), np.zeros((200, 300, 3), np.uint8))
    >>> _ = pack("folder-128", str(folder / "pets"), folder / "store", workers=0)
    >>> ds = Packed(folder / "store", "folder-128", seed=1)
    >>> len(ds), ds.classes, ds[1]["image"].shape, ds[1]["label"], ds.store.shape("image", 0)
    (2, ['cat', 'dog'], torch.Size([3, 128, 128]), 1, (128, 192, 3))
    """

    source: StoredSource

    def __init__(
        self,
        store: PathLike,
        recipe: model.Recipe | PathLike,
        *,
        max_tiles: int | None = None,
        min_tiles: int | None = None,
        pick: grammar.Pick | None = None,
        threads: int | None = None,
        verify: Verify | None = "first",
        cache_size: str | int | None = None,
        **how: Unpack[RunSettings],
    ) -> None:
        self.store: Store = open_store(cast("Any", store), verify, cache_size=cache_size)
        parsed = as_recipe(recipe)
        check_store(self.store, parsed)
        self.kind = parsed.kind

        def source() -> StoredSource:
            bag_arguments = (max_tiles, min_tiles, pick, threads)
            if not parsed.facts.tiles and any(value is not None for value in bag_arguments):
                raise ValueError("max_tiles, min_tiles, pick and threads are for stores of bags")
            if parsed.facts.tiles:
                self.rule = kinds.part(parsed.kind, "dataset").picking_rule(parsed, max_tiles, min_tiles, pick)
            return self._read_store()

        super().__init__(source, parsed, options={"threads": threads}, **how)

    def _read_store(self) -> StoredSource:
        """Set the source and the table from the store; again in a process that unpickles the dataset."""
        self.source = StoredSource(self.store, self.recipe)
        table = self.source.table
        self.table = table if self._classes is None else table.with_classes(self._classes)
        return self.source

    def __copy__(self) -> "Packed":
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def __getstate__(self) -> dict[str, Any]:
        state = {key: value for key, value in self.__dict__.items() if key not in _FROM_STORE}
        return {**state, "_opened": (self.store.path, self.store.digest, self.store.checks, self.store.cache_size)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        try:
            self.store = reopen_store(*self._opened)
            self._read_store()
        except StoreError as error:
            # Raised on the first read: a worker that fails while it starts cannot report why.
            self._open_error = error

    def __getattr__(self, name: str) -> Any:
        error = self.__dict__.get("_open_error") if name in _FROM_STORE else None
        raise error or AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _compiled(self, mode: model.Mode) -> Pipeline:
        baked = check_section(self.store, self.recipe, mode, self.seed)
        check(self.recipe)
        rest = suffix_recipe(self.recipe, mode, baked, self.store.about["channels"])
        pipeline = build(rest, mode, seed=self.seed, resumes=True, **self._compile)
        check_targets(self.store, tuple(name for name in pipeline.targets if name not in pipeline.optional), mode)
        return pipeline

    @property
    def unreadable(self) -> dict[int, Unreadable]:
        """The inputs without pixels, by stored row: path and reason."""
        return self.source.unreadable

    # -- columns and paths --------------------------------------------------------------------------------------------

    @property
    def box_classes(self) -> list[str] | None:
        """Names of the box labels 0, 1, ..., if the packed data had them as text; else None."""
        names = self.store.about["box_classes"]
        return None if names is None else list(names)

    @property
    def bags(self) -> list[str]:
        """The name of every sample's bag; empty for other kinds."""
        table, rows = cast("Any", self.table), self.sample_keys.rows_of_samples().tolist()
        return [table.bags.name(row) for row in rows] if self.recipe.facts.tiles else []

    def paths(self, index: int) -> dict[str, str]:
        """The file that each target of a sample was packed from; for a bag those of its first tile."""
        unit = self.table.units_of(self.sample_keys.row(index)).start
        return {name: self.source.source(unit, name) for name in self.store.targets}

    def _identity(self) -> dict[str, Any]:
        return {"store": self.store.digest, **(asdict(self.rule) if self.recipe.facts.tiles else {})}

    def row_path(self, row: int) -> str:
        """See `RecipeDataset.row_path`."""
        return str(self.store.columns["bag/path"][row]) if self.recipe.facts.tiles else self.source.path(row)

    def row_paths(self, rows: Indices) -> list[str]:
        """See `RecipeDataset.row_paths`."""
        return super().row_paths(rows) if self.recipe.facts.tiles else self.source.paths(rows.tolist())

    @property
    def fetches(self) -> bool:
        """Whether the store is remote, so that its files are fetched."""
        return self.store.fetched is not None

    def files_for(self, epoch: int, indices: Indices) -> list[tuple[str, int, Callable[[], object]]]:
        """The files that samples are read from: name, size in bytes, and a function that opens each.

        Args:
            epoch: the epoch of the draws.
            indices: not negative; `len(ds)` and more are repeats.
        """
        virtual = self.sample_keys.several(indices)
        units = virtual % len(self.table)
        if self.recipe.facts.tiles:
            bags = [self.table.units_of(int(row)) for row in units]
            units = np.concatenate([np.empty(0, np.int64), *(np.arange(bag.start, bag.stop) for bag in bags)])
            virtual = np.repeat(virtual, [len(bag) for bag in bags])
        stored = self.source.rows(units, epoch + virtual // len(self.table))
        return [file for name in self._taken() for file in self.store.tables[name].files_of_rows(stored)]

    # -- samples ------------------------------------------------------------------------------------------------------

    def _runs_natively(self) -> bool:
        return True  # `make_batch` decides per batch

    def make_batch(self, rows: Indices, epoch: int, virtual: Indices, allocate: AllocateTarget) -> Batch | None:
        """See `RecipeDataset.make_batch`: from mapped memory, or from files that kernels decode."""
        pipeline, facts, source = self.pipeline, self.recipe.facts, self.source
        if not isinstance(pipeline, Pipeline) or pipeline.compiled.save_applied_params or facts.tiles:
            return None
        stored = source.rows(rows, epoch + virtual // len(self.table))
        if facts.scales:
            whole = self.recipe.inputs.min_size is None and not self.store.encodes  # else rows are read one by one
            whole = whole and not cast("Any", pipeline).choices((0, 0, 0), self.store.targets)
            images = mapped_targets(self.store, pipeline.targets, stored, decodes=True) if whole else None
            return None if images is None else cast("Any", pipeline).run_batch(epoch, virtual, images, allocate)
        targets, files = self._taken(), pipeline.reads and self.store.format == "jpeg"
        if pipeline.why_one_by_one({*targets}, files=files) is not None:
            return None
        samples: Any = lambda k: source.stored(int(stored[k]), undecoded=pipeline.reads)  # noqa: E731
        if (mapped := mapped_targets(self.store, targets, stored, decodes=False)) is not None:
            others = [*map(source.points, stored.tolist())] if source.points(0) else None
            samples = SampleColumns(mapped["image"], mapped.get("mask"), others)
        return native_batch(pipeline, samples, epoch, virtual, allocate, ragged_keys(self.recipe))

    def _taken(self) -> tuple[str, ...]:
        """The targets that the pipeline takes."""
        further = [name for name in self.store.about.get("further", {}) if name in self.recipe.targets]
        return (*self.source.taken(self.pipeline.targets if self.recipe.facts.scales else None), *further)


def mapped_targets(
    store: Store, targets: Sequence[str], stored: RowNumbers, *, decodes: bool
) -> dict[str, MappedImages] | None:
    """Targets of stored rows in mapped memory; None if one is unreadable, or encoded (unless `decodes`)."""
    images = {}
    for name in targets:
        items, table = stored, store.tables[name]
        if not table.one_a_row:
            items = table.rows[stored]
            if not (table.rows[stored + 1] > items).all():
                return None
        if (mapped := table.mapped(items)) is not None:
            array = partial(_array, store, name, items)
            images[name] = MappedImages(mapped.places, mapped.shapes, array, mapped.owner)
            continue
        arrays = [store.array(name, item) for item in items.tolist()] if decodes else []
        if not arrays or any(array.dtype != np.uint8 for array in arrays):
            return None
        images[name] = MappedImages.of(arrays)
    return images


def _array(store: Store, target: str, items: RowNumbers, k: int) -> np.ndarray:
    return store.array(target, int(items[k]))
