"""A torch Dataset of image pairs and pyramids: one scene on several grids."""

from collections.abc import Mapping
from typing import Unpack

from augrecipes.data.checks import Settings
from augrecipes.data.dataset import RecipeDataset
from augrecipes.errors import logger
from augrecipes.kinds.pair import checks, pairing, reader
from augrecipes.recipe.model import Kind, Recipe
from augrecipes.sources.columns import Columns
from augrecipes.sources.defects import Defect, report
from augrecipes.sources.paths import PathLike, Roots


class PairedImages(RecipeDataset):
    """A torch Dataset of scenes at several scales: low and high resolution, or a pyramid.

    A sample is a pure function of (recipe, seed, epoch, index). It is a dict:

    - a tensor for each target of the recipe's `scales`, as its `output` says, by default float32 C×H×W in 0..1. All
      show exactly the same region of the scene; targets that a Degrade makes have no files;
    - `label`: int, where a CSV file has labels;
    - `index`: int; `path`: str, the file of the target with the largest scale (`ds.paths(i)` has all);
    - `applied` (the draws) and `window` (see `PairPipeline`), with `save_applied_params`.

    Files are paired by name, whatever their extensions: names are equal except for the usual marks of a target
    (`0001.png` and `0001x4.png`, `img_001_HR_x3` and `img_001_LRBI_x3`, `img_011_SRF_4_HR` and `_LR`, `HR_baby` and
    `LR_baby`), or as `names=` says. All defects of names, sizes and channels are reported at once, before the first
    sample. Images that exceed the size that the scales allow by less than a pixel of the smallest target are cut at the
    bottom and at the right; the log reports this, and files that `names=` leaves out.

    Args:
        roots: for each target a folder, or a list of folders: several data sets, whose i-th folders belong together. A
            single folder beside lists belongs to all their folders.
        recipe: a Recipe of kind pair, the name of a gallery recipe, or the path of a recipe file.
        files: instead of `roots`: a CSV file with one column a target, and `label`, `split`, `group` and `weight` as
            in `augrecipes.sources.csv_list`.
        names: templates of names, such as `{"lr": "{}x4"}`, where `{}` is the name of the scene; files of targets
            without a template have that name. A template may have folders: `"X4/{}x4"`.
        on_error: `raise` one DataError for all defects, and for a file that later cannot be read or transformed; or
            `skip`: leave out defective scenes, list them in `defects` and in the log, and replace a sample that later
            fails by another.
        check: `headers` reads the header of every file; `names` only checks names.
        split: with `files`: the split whose rows are taken.
        weights: a number for each sample, kept as `ds.weights`, instead of the CSV file's column.
        samples_per_epoch: length of the dataset, when it is not the number of scenes: scenes are repeated with other
            draws, or only the first ones are used.
        mode, seed, optimize, exif, max_pixels, depth, frames, cache: as in `ImageFolder`.
        channels: 1, 3 or 4; None: as the recipe's inputs say, or 3. Grey is repeated.
        columns: the CSV file's names of columns, by the names that they have here: `{"lr": "lr_path"}`.
        outside: also read files that a CSV file lists outside its folder.
        save_applied_params: add `applied` and `window` to every sample.

    Attributes:
        targets: names of the targets that are read, the largest scale first.
        defects: the defects of scenes that were left out, with `on_error="skip"`.
        cropped: what is cut off images that are larger than the scales allow, an entry for each such target.
        pipeline: the compiled recipe.

    Raises:
        DataError: missing partners, ambiguous names, files that cannot be read, sizes that do not fit the scales,
            channels that differ, images smaller than the crop: all in one text that names every file.
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
        **settings: Unpack[Settings],
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
                logger.warning("left out: %s", report(pairs.defects, fine=len(pairs.scenes), targets=pairs.targets))
            for note in pairs.notes:
                logger.warning("%s", note)
            return checks.table_of_scenes(pairs)

        super().__init__(table, recipe, **settings)

    def paths(self, index: int) -> dict[str, str]:
        """The file of each target of a sample, by the target's name; IndexError for an index out of range."""
        return self.table.paths(self.sample_keys.row(index))


DATASET = PairedImages
