"""A torch Dataset of image files run through a recipe."""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack, cast

import numpy as np
import numpy.typing as npt

from augrecipes.data import checks, dataset
from augrecipes.recipe.model import Kind, Recipe
from augrecipes.sources import arguments, listing, paths
from augrecipes.sources.annotations.records import Crowds
from augrecipes.sources.columns import Columns


class ImageFolder(dataset.RecipeDataset):
    """A torch Dataset of image files that are decoded and run through a recipe.

    A sample is a pure function of (recipe, seed, epoch, index). It is a dict:

    - `image`: tensor as the recipe's `output` says, by default float32 C×H×W in 0..1, RGB;
    - `mask`: int64 H×W, palette and 16-bit labels kept; the recipe's further `targets:` by their names;
    - `boxes`: float32 (n, 4) in the recipe's box format; their labels int64 (n,) under the recipe's name for them;
    - `keypoints`: float32 (n, 2 or more), x and y in px first;
    - `object`, `keypoint_object`: int64 (n,), with annotations: the number of the object of each box and keypoint;
    - `label`: int, where there are classes;
    - `index`: int, which with the epoch replays the sample; `path`: str; `epoch`: int, for recipes with `batch:`;
    - `applied`: the draws of the steps, with `save_applied_params`.

    `ds[5]` is sample 5 of the epoch that `set_epoch` set, `ds[epoch, 5]` of that epoch; indices from `len(ds)` on are
    repeats: the same files with other draws. In a plain torch DataLoader every visit of a sample draws anew, see
    `augrecipes.data.sample_keys`.

    Args:
        root: a folder of class folders or of images, or a list of such folders.
        recipe: a Recipe, the name of a gallery recipe, or the path of a recipe file.
        files: instead of `root`: a CSV file, see `augrecipes.sources.csv_list`; or annotations of COCO, YOLO, Pascal
            VOC or labelme, see `augrecipes.sources.annotations`; then `root` is the folder of the images, if they do
            not lie beside the annotations.
        masks: with `root`: a folder or folders of masks, matched by relative name or, where unique, by file name; or a
            template of the masks' names, `masks/{stem}_mask.png`, or `{stem}_mask.png` for masks beside the images.
        targets: with `root`: the files of the recipe's `targets:` by name, each given as `masks` is:
            `{"after": "after/{stem}.png"}`; a CSV file has columns of these names instead.
        mode: `train` runs the recipe's steps, `eval` its eval section.
        seed: the seed of all draws, an int.
        optimize: `none`, `exact` or `fast`; None: as the recipe says.
        on_error: `raise` a DataError for a file that cannot be read or transformed, or `skip` it: return another sample
            in its place, chosen by (seed, epoch, index) and equal to what that sample is at its own index.
        split: with `files`: the split whose rows are taken.
        weights: a number for each sample, kept as `ds.weights`, instead of the CSV file's column.
        samples_per_epoch: length of the dataset, when it is not the number of files: files are repeated with other
            draws, or only the first ones are used.
        classes: names of classes in the order of their labels: `classes=train.classes` gives the classes of a
            validation folder the labels that they have in training. A class that is not among them is an error; the
            log names those without images. Labels of a CSV file that are whole numbers stay as they are.
        exif: `apply` turns images and masks as their EXIF orientation says; `ignore` does not.
        channels: 1, 3, 4 (with alpha), or the number of bands of the files; None: as the recipe's inputs say, or 3;
            with recipes of 16 bits or floats, as many as the files have.
        max_pixels: images of more pixels are refused before they are decoded.
        depth: how to read files of 9 to 16 bits per channel: `8bit` takes the upper 8 bits, `error` refuses them; None:
            as the environment variable AUGRECIPES_DEPTH says, or `error`. Masks keep all their bits. Without effect
            on recipes of 16 bits or floats.
        frames: how to read files of several pages or frames: `first` reads the first; `channels` reads the grey pages
            of a TIFF as channels, if there are as many; `error` refuses them; None: as AUGRECIPES_FRAMES says, or
            `channels` where the number of channels is set, else `error`.
        layout: of `root`: `classes` (each folder in it is a class), `flat` (no classes, images of all folders), or
            `auto`: whichever it looks like; `flat`, with a warning in the log, where it looks like both.
        cache: keep the folder listing in the user's cache folder, because listing takes seconds for many files.
        save_applied_params: add `applied` to every sample.
        columns: the CSV file's names of columns, by the names that they have here: `{"image": "path"}`. `labels` lists
            columns of classes, each of 0 and 1: `{"labels": ["cat", "dog"]}`; then `label` is float32 (classes,), and
            empty cells are 0.
        box_classes: with annotations: names of the box labels 0, 1, ...; other names are an error. None: as the file
            numbers them. Set this where each split has its own files without a list of classes.
        crowds: with annotations: `drop` leaves out boxes and keypoints of objects marked as crowd or difficult, `keep`
            does not.
        drop_shapes: with labelme annotations: types of shapes to leave out, such as `["rotation"]`.
        outside: with `files`: also read images that it names outside the data's folder, or by URL.

    Attributes:
        classes: class names, or None.
        class_to_idx: the label of each class name, or None.
        pipeline: the compiled recipe.

    Raises:
        DataError: there is nothing to read, the CSV file has defects, or masks are missing or differ in size.
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

    kind: Kind = "image"
    table: Columns

    def __init__(
        self,
        root: paths.PathLike | Sequence[paths.PathLike] | None = None,
        recipe: Recipe | paths.PathLike | None = None,
        *,
        files: paths.PathLike | None = None,
        masks: paths.PathLike | Sequence[paths.PathLike] | None = None,
        targets: Mapping[str, paths.PathLike | Sequence[paths.PathLike]] | None = None,
        split: str | None = None,
        layout: listing.Layout = "auto",
        cache: bool = True,
        columns: Mapping[str, Any] | None = None,
        box_classes: Sequence[str] | None = None,
        crowds: Crowds = "drop",
        drop_shapes: Sequence[str] = (),
        outside: bool = False,
        **settings: Unpack[checks.Settings],
    ) -> None:
        def table() -> Columns:
            columns_of_data = arguments.as_table(
                self.recipe, root, files, masks, split, check=self.on_error == "raise", cache=cache,
                layout="classes" if self._classes is not None and layout == "auto" else layout,
                exif=self._decode["exif"], columns=columns, box_classes=box_classes, crowds=crowds, outside=outside,
                drop_shapes=drop_shapes, targets=targets,
            )  # fmt: skip
            arguments.check_targets(self.recipe, columns_of_data)
            return columns_of_data

        super().__init__(table, recipe, **settings)

    @property
    def box_classes(self) -> list[str] | None:
        """Names of the box labels 0, 1, ..., where the data has names; or None."""
        boxes = self.table.boxes
        names = self.table.box_classes or (None if boxes is None else boxes.classes)
        return None if names is None else list(names)

    @property
    def box_numbers(self) -> list[int] | None:
        """The annotations' numbers of the box labels 0, 1, ..., such as COCO's category ids; or None."""
        numbers = self.table.box_numbers
        return None if numbers is None else list(numbers)

    @property
    def ids(self) -> npt.NDArray[np.int64] | None:
        """The annotations' image id of each sample, int64 (n,), as COCO's evaluation needs it; or None."""
        return cast("npt.NDArray[np.int64] | None", self._column(self.table.ids))


DATASET = ImageFolder
