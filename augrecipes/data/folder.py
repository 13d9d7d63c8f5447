"""Image files and a recipe as a torch Dataset."""

from __future__ import annotations

import copy
import logging
from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt
from torch.utils.data import Dataset

from augrecipes.data.checks import as_index, as_recipe, as_table, check_indices, check_targets, given_weights
from augrecipes.data.epoch import Clock, check_epoch, current
from augrecipes.data.order import Indices, number_repeats
from augrecipes.data.sample import as_torch, read_targets
from augrecipes.data.skips import SkipError, candidates, nothing_left
from augrecipes.errors import DataError
from augrecipes.recipe.model import Mode, Optimize, Recipe
from augrecipes.sources.listing import Layout
from augrecipes.sources.paths import PathLike

_log = logging.getLogger("augrecipes")
MAX_PIXELS = 178_956_970


class ImageFolder(Dataset[dict[str, Any]]):
    """Samples from image files, decoded and run through a recipe.

    A sample is a pure function of (recipe, seed, epoch, index). It is a dict:

    - `image`: tensor as the recipe's `output` says, float32 C×H×W in 0..1 unless it says otherwise;
    - `mask`: int64 H×W, palette and 16-bit labels kept;
    - `boxes`: float32 (n, 4) in the recipe's format; their labels under the recipe's name, int64 (n,);
    - `keypoints`: float32 (n, 2 or more);
    - `label`: int, where there are classes;
    - `index`: int, which with the epoch replays the sample; `path`: text;
    - `applied`: the draws that were made, with `save_applied_params`.

    `ds[5]` is sample 5 of the epoch that `set_epoch` set, `ds[epoch, 5]` of a given one, where indices of `len(ds)`
    and more stand for repeats: the same file with draws of its own.

    Args:
        root: a folder of class folders or of images, or a list of such folders.
        recipe: a Recipe, the name of a gallery recipe, or the path of a recipe file.
        files: instead of `root`: a CSV file, see `augrecipes.data.csvfile`.
        masks: with `root`: folder or folders of masks, matched by relative name or, where unique, by file name.
        mode: `train` runs the recipe's steps, `eval` its eval section.
        seed: of the draws.
        optimize: `none`, `exact`, `fast`, or None for what the recipe says.
        on_error: `raise` a DataError for a file that cannot be read or transformed, or `skip` it: another sample,
            decided by (seed, epoch, index), is handed out in its place, exactly as it is at its own index.
        split: with `files`: take the rows of this split.
        weights: one number a sample, kept as `ds.weights`; instead of the CSV file's column.
        samples_per_epoch: length of the dataset, when it is not the number of files: files are repeated with draws
            of their own, or only the first ones are used.
        exif: `apply` turns images and masks as their EXIF orientation says.
        channels: 1, 3 or 4; None takes what the recipe's inputs say, or 3.
        max_pixels: larger images are refused before they are decoded.
        layout: of `root`: `classes` (each folder in it is a class), `flat` (no classes, pictures of all folders), or
            `auto`: what it looks like, and `flat`, with a warning in the log, where it looks like both.
        cache: keep the folder listing in a file, because listing takes seconds for many files.
        save_applied_params: add `applied` to every sample.

    Attributes:
        classes: class names, or None.
        class_to_idx: their labels, or None.
        pipeline: the compiled recipe.

    Raises:
        DataError: nothing to read, a CSV file that is not as it should be, masks that are missing or do not fit.
        RecipeError: the recipe is not valid, or has no section for `mode`.

    >>> import tempfile, pathlib, cv2, numpy as np
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for name in ("cat", "dog"):
    ...     (folder / name).mkdir()
    ...     _ = cv2.imwrite(str(folder / name / "1.png"), np.zeros((200, 300, 3), np.uint8))
    >>> ds = ImageFolder(folder, "folder-128", seed=1)
    >>> len(ds), ds.classes, ds[1]["image"].shape, ds[1]["label"]
    (2, ['cat', 'dog'], torch.Size([3, 128, 128]), 1)
    """

    def __init__(
        self,
        root: PathLike | Sequence[PathLike] | None = None,
        recipe: Recipe | PathLike | None = None,
        *,
        files: PathLike | None = None,
        masks: PathLike | Sequence[PathLike] | None = None,
        mode: Mode = "train",
        seed: int = 0,
        optimize: Optimize | None = None,
        on_error: Literal["raise", "skip"] = "raise",
        split: str | None = None,
        weights: Any = None,
        samples_per_epoch: int | None = None,
        exif: Literal["apply", "ignore"] = "apply",
        channels: int | None = None,
        max_pixels: int = MAX_PIXELS,
        layout: Layout = "auto",
        cache: bool = True,
        save_applied_params: bool = False,
    ) -> None:
        if on_error not in ("raise", "skip"):
            raise ValueError(f"on_error must be 'raise' or 'skip', got {on_error!r}")
        self.recipe = as_recipe(recipe)
        self.mode, self.seed, self.on_error = mode, int(seed), on_error
        self._compile: dict[str, Any] = {"optimize": optimize, "save_applied_params": save_applied_params}
        # Compiled first: a recipe that cannot run is told before a folder is listed.
        self.pipeline = self.recipe.compile(mode, seed=self.seed, **self._compile)
        check = on_error == "raise"
        self._table = as_table(self.recipe, root, files, masks, split, check=check, cache=cache, layout=layout)
        self._decode: dict[str, Any] = {"exif": exif, "max_pixels": max_pixels}
        self._channels = channels or self.recipe.inputs.channels or 3
        check_targets(self.recipe, self._table)
        self.clock = Clock()
        self._weights = given_weights(weights, self._table)
        n = len(self._table)
        self._order: Indices | None = None
        if samples_per_epoch is not None:
            if samples_per_epoch < 1:
                raise ValueError(f"samples_per_epoch must be at least 1, got {samples_per_epoch}")
            self._order = np.arange(samples_per_epoch, dtype=np.int64)
        self._span = n * (1 + (len(self) - 1) // n)

    # -- what it holds ------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._table) if self._order is None else len(self._order)

    def __repr__(self) -> str:
        classes = f", {len(self.classes)} classes" if self.classes else ""
        how = f"recipe {self.recipe.name!r}, mode {self.mode!r}, seed {self.seed}"
        return f"ImageFolder({len(self)} samples{classes}, {how})"

    @property
    def classes(self) -> list[str] | None:
        """Class names, sorted; None without. Integer labels of a CSV file are no positions in it: see class_to_idx."""
        return None if self._table.classes is None else list(self._table.classes)

    @property
    def class_to_idx(self) -> dict[str, int] | None:
        """The label of each class name, or None."""
        return None if self._table.class_to_idx is None else dict(self._table.class_to_idx)

    @property
    def box_classes(self) -> list[str] | None:
        """Names of the box labels 0, 1, ..., where a CSV file gives them as text."""
        boxes = self._table.boxes
        return None if boxes is None or boxes.classes is None else list(boxes.classes)

    @property
    def labels(self) -> npt.NDArray[np.int64] | None:
        """The label of every sample, int64 (n,), or None without classes."""
        return cast("npt.NDArray[np.int64] | None", self._column(self._table.labels))

    @property
    def weights(self) -> npt.NDArray[np.float64] | None:
        """The weight of every sample, float64 (n,), for `loader(ds, weights=ds.weights)`; or None."""
        return cast("npt.NDArray[np.float64] | None", self._column(self._weights))

    @property
    def groups(self) -> npt.NDArray[np.str_] | None:
        """The group of every sample, text (n,), or None."""
        return cast("npt.NDArray[np.str_] | None", self._column(self._table.groups))

    def path(self, index: int) -> str:
        """The image file of a sample."""
        return self._table.images[self._virtual(index) % len(self._table)]

    def _column(self, values: Any) -> Any:
        if values is None:
            return None
        return values.copy() if self._order is None else values[self._order % len(self._table)]

    def fingerprint(self) -> dict[str, Any]:
        """What must be the same for a saved loader state to make sense."""
        order = None if self._order is None else sha256(self._order.tobytes()).hexdigest()[:16]
        return {
            "recipe": self.recipe.digest[:16],
            "mode": self.mode,
            "dataset_seed": self.seed,
            "files": self._table.digest(),
            "subset": order,
        }

    # -- epochs -------------------------------------------------------------------------------------------------------

    @property
    def epoch(self) -> int:
        """The epoch that `ds[i]` reads."""
        return self.clock.epoch

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch, for this dataset, its subsets, and copies in workers; a loader's next pass runs it."""
        self.clock.set(check_epoch(epoch))

    # -- parts --------------------------------------------------------------------------------------------------------

    def subset(self, indices: Any, *, mode: Mode | None = None) -> ImageFolder:
        """Some of the samples, as a dataset.

        A sample keeps the index, and so the draws, that it has here. An index that is listed again stands for a repeat
        with draws of its own. The subset shares this dataset's epoch.

        Args:
            indices: integers, or one boolean for every sample.
            mode: run the recipe's other section: `ds.subset(held_out, mode="eval")`.

        Raises:
            IndexError: an index is out of range.
            TypeError: not integers or booleans.
        """
        positions = check_indices(indices, len(self))
        taken = positions if self._order is None else self._order[positions]
        made = copy.copy(self)
        made._order = number_repeats(taken, self._span)
        made._span = self._span * (1 + int(made._order.max(initial=0)) // self._span)
        if mode is not None and mode != self.mode:
            made.mode = mode
            made.pipeline = self.recipe.compile(mode, seed=self.seed, **self._compile)
        return made

    # -- samples ------------------------------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> dict[str, Any]:
        """Sample `i` of the set epoch, or `(epoch, i)`."""
        now = current()
        if isinstance(key, tuple):
            if len(key) != 2:
                raise TypeError(f"ds[epoch, index] takes two integers, got {len(key)}")
            epoch, index = check_epoch(key[0]), as_index(key[1])
            repeat, position = divmod(index, len(self)) if index >= 0 else (0, self._position(index))
        else:
            epoch, repeat = (now.epoch, now.repeat) if now else (self.clock.epoch, 0)
            position = self._position(as_index(key))
        virtual = self._virtual(position, repeat)
        try:
            return self._read(epoch, virtual)
        except DataError as error:
            if self.on_error == "raise":
                raise
            if now and now.defer:
                # The loader replaces it: it knows of which samples, if this dataset is only a part of what it reads.
                raise SkipError(error, self.seed, virtual) from error
            return self._instead(error, epoch, position, repeat)

    def _instead(self, error: DataError, epoch: int, position: int, repeat: int) -> dict[str, Any]:
        tried = 0
        for other in candidates(self.seed, epoch, self._virtual(position, repeat), len(self)):
            if other == position:
                continue
            try:
                sample = self._read(epoch, self._virtual(other, repeat))
            except DataError:
                tried += 1
                continue
            _log.warning("%s; %s is read in its place", error, sample["path"])
            return sample
        raise nothing_left(error, tried) from error

    def _read(self, epoch: int, virtual: int) -> dict[str, Any]:
        row = virtual % len(self._table)
        path = self._table.images[row]
        try:
            targets = read_targets(self._table, row, self._channels, self.recipe.inputs, **self._decode)
            out = self.pipeline.at(index=virtual, epoch=epoch)(**targets)
        except DataError as error:
            raise (error if error.path else error.with_path(path)) from error.__cause__
        sample = as_torch(out, self.ragged_keys)
        if self._table.labels is not None:
            sample["label"] = int(self._table.labels[row])
        sample["index"], sample["path"] = virtual, path
        return sample

    def _position(self, index: int) -> int:
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} is out of range for {len(self)} samples")
        return index % len(self)

    def _virtual(self, position: int, repeat: int = 0) -> int:
        """The integer that keys the draws: the row of the table, plus multiples of the table's length for repeats."""
        return (position if self._order is None else int(self._order[position])) + repeat * self._span

    # -- what the loader asks -----------------------------------------------------------------------------------------

    @property
    def image_layout(self) -> str:
        """`chw` or `hwc`, for padding."""
        return self.recipe.output.layout

    @property
    def ragged_keys(self) -> frozenset[str]:
        """Keys of a sample that have a row for each box or point."""
        inputs = self.recipe.inputs
        names = [target.labels for target in (inputs.boxes, inputs.keypoints) if target and target.labels]
        return frozenset({"boxes", "keypoints", *names})
