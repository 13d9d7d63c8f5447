"""Image files and a recipe as a torch Dataset."""

from __future__ import annotations

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
    """Samples from image files, decoded and run through a recipe.

    A sample is a pure function of (recipe, seed, epoch, index). It is a dict:

    - `image`: tensor as the recipe's `output` says, float32 C×H×W in 0..1 unless it says otherwise;
    - `mask`: int64 H×W, palette and 16-bit labels kept; further targets of the recipe by their names;
    - `boxes`: float32 (n, 4) in the recipe's format; their labels under the recipe's name, int64 (n,);
    - `keypoints`: float32 (n, 2 or more);
    - `object`, `keypoint_object`: int64, the number of the object of each box and keypoint, of annotations;
    - `label`: int, where there are classes;
    - `index`: int, which with the epoch replays the sample; `path`: text; `epoch`: int, of recipes with `batch:`;
    - `applied`: the draws that were made, with `save_applied_params`.

    `ds[5]` is sample 5 of the epoch that `set_epoch` set, `ds[epoch, 5]` of a given one, where indices of `len(ds)`
    and more stand for repeats: the same file with draws of its own. What a plain DataLoader of torch asks for moves on
    with every visit, see `augrecipes.data.sample_keys`.

    Args:
        root: a folder of class folders or of images, or a list of such folders.
        recipe: a Recipe, the name of a gallery recipe, or the path of a recipe file.
        files: instead of `root`: a CSV file, see `augrecipes.sources.csv_list`; or annotations of COCO, YOLO, Pascal
            VOC or labelme, see `augrecipes.sources.annotations`: with them `root` is the folder of the images, where
            it is not found beside them.
        masks: with `root`: folder or folders of masks, matched by relative name or, where unique, by file name; or
            names of masks by a template, `masks/{stem}_mask.png`, or `{stem}_mask.png` for masks beside the images.
        targets: with `root`: the files of the recipe's `targets:`, by name, each as `masks` has them:
            `{"after": "after/{stem}.png"}`; in a CSV file they are columns of those names.
        mode: `train` runs the recipe's steps, `eval` its eval section.
        seed: of the draws.
        optimize: `none`, `exact`, `fast`, or None for what the recipe says.
        on_error: `raise` a DataError for a file that cannot be read or transformed, or `skip` it: another sample,
            decided by (seed, epoch, index), is handed out in its place, exactly as it is at its own index.
        split: with `files`: take the rows of this split.
        weights: one number a sample, kept as `ds.weights`; instead of the CSV file's column.
        samples_per_epoch: length of the dataset, when it is not the number of files: files are repeated with draws
            of their own, or only the first ones are used.
        classes: names of classes in the order of their numbers: `classes=train.classes` gives the
            classes of a validation folder the numbers that they have in training. A class that is not among them is an
            error; the log names those without images. Labels of a CSV file that are whole numbers stay as they are.
        exif: `apply` turns images and masks as their EXIF orientation says.
        channels: 1, 3, 4 (with alpha), or those of files of more bands; None takes what the recipe's inputs say, or 3;
            of recipes of 16 bits and floats those that the files have.
        max_pixels: larger images are refused before they are decoded.
        depth: `8bit` reads files of 9 to 16 bits a sample by their upper 8; `error` refuses them, as it would take
            other pixels than the file has; None: as the environment variable AUGRECIPES_DEPTH says, or `error`.
            Masks keep all their bits. Of recipes of 16 bits and floats it says nothing.
        frames: `first` reads the first of several pages or frames; `channels` takes grey pages of a TIFF for channels,
            if they are as many; `error` refuses such files; None: as AUGRECIPES_FRAMES says, or `channels` where
            somebody says how many these are, else `error`.
        layout: of `root`: `classes` (each folder in it is a class), `flat` (no classes, images of all folders), or
            `auto`: what it looks like, and `flat`, with a warning in the log, where it looks like both.
        cache: keep the folder listing in the user's cache folder, because listing takes seconds for many files.
        save_applied_params: add `applied` to every sample.
        columns: what a CSV file calls its columns, by the names that they have here: `{"image": "path"}`. Under
            `labels` stand the columns of classes, each of 0 and 1: `{"labels": ["cat", "dog"]}`; then `label` is
            float32 (classes,), and empty cells are 0.
        box_classes: with annotations: names of the labels 0, 1, ... of boxes; other names are an error. None: the
            file's own. Give them where each split has files of its own without a list of classes.
        crowds: with annotations: `drop` leaves out boxes and keypoints of objects that are marked as a crowd or as
            difficult, `keep` does not.
        drop_shapes: with annotations of labelme: types of shapes that are left out, such as `["rotation"]`.
        outside: with `files`: read images, too, that these name outside of the data's folder, or by an address.

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
        **how: Unpack[checks.Settings],
    ) -> None:
        def table() -> Columns:
            found = arguments.as_table(
                self.recipe, root, files, masks, split, check=self.on_error == "raise", cache=cache,
                layout="classes" if self._classes is not None and layout == "auto" else layout,
                exif=self._decode["exif"], columns=columns, box_classes=box_classes, crowds=crowds, outside=outside,
                drop_shapes=drop_shapes, targets=targets,
            )  # fmt: skip
            arguments.check_targets(self.recipe, found)
            return found

        super().__init__(table, recipe, **how)

    @property
    def box_classes(self) -> list[str] | None:
        """Names of the box labels 0, 1, ..., where the data gives them as text."""
        boxes = self.table.boxes
        names = self.table.box_classes or (None if boxes is None else boxes.classes)
        return None if names is None else list(names)

    @property
    def box_numbers(self) -> list[int] | None:
        """What annotations call the box labels 0, 1, ... by number, such as COCO's category ids; or None."""
        numbers = self.table.box_numbers
        return None if numbers is None else list(numbers)

    @property
    def ids(self) -> npt.NDArray[np.int64] | None:
        """The number that annotations give each sample's image, int64 (n,), for COCO's evaluation; or None."""
        return cast("npt.NDArray[np.int64] | None", self._column(self.table.ids))


DATASET = ImageFolder
