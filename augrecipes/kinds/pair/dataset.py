"""Pairs and pyramids of images: one scene seen on several grids, as a torch Dataset."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Unpack

from augrecipes.data.checks import Settings
from augrecipes.data.dataset import RecipeDataset
from augrecipes.kinds.pair import checks, pairing, reader
from augrecipes.recipe.model import Kind, Recipe
from augrecipes.sources.columns import Columns
from augrecipes.sources.defects import Defect, report
from augrecipes.sources.paths import PathLike, Roots

_log = logging.getLogger("augrecipes")


class PairedImages(RecipeDataset):
    """Samples of scenes that were taken, or made, at several scales: low and high resolution, or a pyramid.

    A sample is a pure function of (recipe, seed, epoch, index). It is a dict:

    - one tensor a target of the recipe's `scales`, as its `output` says, float32 C×H×W in 0..1 unless it says
      otherwise. All show exactly the same region of the scene; targets that a Degrade makes have no files;
    - `label`: int, where a CSV file has labels;
    - `index`: int; `path`: text, the file of the target of the largest scale (`ds.paths(i)` has all);
    - `applied` and `window`, with `save_applied_params`.

    Files are paired by name: equal names, but for what the field adds to those of a target (`0001.png` and
    `0001x4.png`, `img_001_HR_x3` and `img_001_LRBI_x3`, `img_011_SRF_4_HR` and `_LR`, `HR_baby` and `LR_baby`), or for
    what `names=` says; whatever their extensions. Everything that is wrong with names, sizes and channels is reported
    at once, before the first sample.
    Images that are larger than the scales allow by less than a pixel of the smallest target are cut at the bottom and
    at the right, and the log says so. So it does of files that `names=` leaves out.

    Args:
        roots: of each target a folder, or a list of folders: data sets side by side, whose i-th folders belong
            together. A single folder beside a list goes with all of it.
        recipe: a Recipe of kind pair, the name of a gallery recipe, or the path of a recipe file.
        files: instead of `roots`: a CSV file with one column a target, and `label`, `split`, `group` and `weight` as
            in `augrecipes.sources.csv_list`.
        names: templates of names, such as `{"lr": "{}x4"}`, where `{}` is the scene: the name of the files of targets
            without a template. Folders may be part of it: `"X4/{}x4"`.
        on_error: `raise` one DataError for all defects, and for a file that cannot be read or transformed later; or
            `skip`: defective scenes are left out and listed in `defects` and in the log, and a sample that cannot be
            had later is replaced by another one.
        check: `headers` reads the header of every file; `names` only looks at names.
        split: with `files`: take the rows of this split.
        weights: one number a sample, kept as `ds.weights`; instead of the CSV file's column.
        samples_per_epoch: length of the dataset, when it is not the number of scenes: scenes are repeated with draws
            of their own, or only the first ones are used.
        mode, seed, optimize, exif, max_pixels, depth, frames, cache: as `ImageFolder` has them.
        channels: 1, 3 or 4; None takes what the recipe's inputs say, or 3. Grey is repeated.
        columns: what a CSV file calls its columns, by the names that they have here: `{"lr": "lr_path"}`.
        outside: read files, too, that a CSV file lists outside of its folder.
        save_applied_params: add `applied` and `window` to every sample.

    Attributes:
        targets: names of the files of a scene, the largest scale first.
        defects: what was left out with `on_error="skip"`.
        cropped: what is cut off images that are larger than the scales allow, one entry a target.
        pipeline: the compiled recipe.

    Raises:
        DataError: missing partners, ambiguous names, files that cannot be read, sizes that do not fit the scales,
            channels that differ, images smaller than the crop: all in one text, with every file named.
        RecipeError: the recipe is not valid, of another kind, or has no section for `mode`.

    >>> import tempfile, pathlib, cv2, numpy as np
    >>> from augrecipes.recipe.parse import parse_text
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> hr = np.random.default_rng(0).integers(0, 256, (64, 96, 3), np.uint8)
    >>> for name, image in {"HR/bird.png": hr, "X4/birdx4.png": cv2.resize(hr, (24, 16))}.items():
    ...     (folder / name).parent.mkdir()
    ...     _ = cv2.imwrite(str(folder / name), image)
    >>> text = "{version: 1, recipe: tiny, kind: pair, scales: {lr: 1, hr: 4}, eval: [], steps: [%s]}"
    >>> recipe = parse_text(text % "RandomCrop: {height: 8, width: 8}")
    >>> ds = PairedImages({"hr": folder / "HR", "lr": folder / "X4"}, recipe, seed=1)
    >>> sample = ds[0]
    >>> sample["lr"].shape, sample["hr"].shape, pathlib.Path(ds.paths(0)["lr"]).name
    (torch.Size([3, 8, 8]), torch.Size([3, 32, 32]), 'birdx4.png')
    """

    kind: Kind = "pair"
    table: Columns
    targets: tuple[str, ...]
    defects: tuple[Defect, ...]
    cropped: tuple[pairing.Cropped, ...]

    def __init__(
        self,
        roots: Mapping[str, Roots] | None = None,
        recipe: Recipe | PathLike | None = None,
        *,
        files: PathLike | None = None,
        names: Mapping[str, str] | None = None,
        check: checks.Check = "headers",
        split: str | None = None,
        cache: bool = True,
        columns: Mapping[str, str] | None = None,
        outside: bool = False,
        **how: Unpack[Settings],
    ) -> None:
        def table() -> Columns:
            if check not in ("headers", "names"):
                raise ValueError(f"check must be 'headers' or 'names', got {check!r}")
            pairs = reader.scenes_of(
                self.recipe, self.mode, self.pipeline.targets, roots, files, check, strict=self.on_error == "raise",
                decode=self._decode, names=names, split=split, cache=cache, columns=columns, outside=outside,
            )  # fmt: skip
            self.targets, self.defects, self.cropped = pairs.targets, tuple(pairs.defects), pairs.cropped
            if pairs.defects:
                _log.warning("left out: %s", report(pairs.defects, fine=len(pairs.scenes), targets=pairs.targets))
            for note in pairs.notes:
                _log.warning("%s", note)
            return checks.table_of_scenes(pairs)

        super().__init__(table, recipe, **how)

    def paths(self, index: int) -> dict[str, str]:
        """The file of each target of a sample, by the target's name; IndexError where `ds[index]` raises one."""
        return self.table.paths(self.sample_keys.row(index))


DATASET = PairedImages
