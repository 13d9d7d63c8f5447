"""Samples: a torch Dataset over a user's own source and a recipe."""

from typing import Any, Unpack

from augrecipes.data import checks, dataset
from augrecipes.recipe.model import Recipe
from augrecipes.sources import arguments, items, paths, sample_inputs


class Samples(dataset.RecipeDataset):
    """A torch Dataset over a source of your own (Hugging Face, torchvision, arrays, HDF5, ...) and a recipe.

    A sample is a pure function of (item of the source, recipe, seed, epoch, index): the dict that ImageFolder makes, or
    PairedImages for a recipe of kind pair, with the item's other fields unchanged. An integer `label` becomes an int.
    The source must not draw random numbers itself: leave torchvision's `transform=` out.

    An item of the source is an image; a tuple (image, label), (image, mask) or as `keys` says; or a dict of
    `image` (or `img`, `jpg`, `png`, ...), `mask`, `boxes` and `keypoints` with their labels under the recipe's names,
    `object`, `keypoint_object` and `masks` (n, H, W) with these, `label`, and any other fields. An image is a Pillow
    image (its EXIF orientation is ignored), an array H×W×C or H×W, or a tensor C×H×W, of uint8 or of floats 0..1; or
    encoded, as bytes or a path. Annotations that the recipe does not take are left out.

    Args:
        source: an object with a length and items; or the Samples of another recipe over it; or a function without
            arguments that opens it, called in each process (for HDF5 and LMDB); or the path of an `.npy` file of
            N×H×W×C; or tar archives in WebDataset's layout (a path, a pattern with `*`, or a list); or columns of equal
            length by name (a dict of arrays, an HDF5 file).
        recipe: a Recipe of kind image or pair, the name of a gallery recipe, or the path of a recipe file.
        keys: the item's keys by the recipe's names: `{"image": "photo", "boxes": "objects.bbox", "box_labels":
            "objects.category"}`; then other fields are left out. For tuples: numbers, or a tuple of names such as
            `("image", "mask")`.
        mode: `train` runs the recipe's steps, `eval` its eval section.
        seed: of the random draws.
        optimize: `none`, `exact`, `fast`, or None: as the recipe says.
        on_error: `raise` a DataError for a sample that cannot be read or transformed, or `skip` it, as in ImageFolder.
        labels: one integer per sample, for `ds.labels` and `weights="balanced"`; None: the source's column or
            `targets`, if any. A sample's own label is the item's.
        axes: the order of axes of image arrays and tensors, `hwc` or `chw`; `auto`: hwc for numpy, chw for torch.
        name: the source's name in `path`, which is `name[index]`, and in messages; None: the name of its class.
        weights: one number per sample, kept as `ds.weights`.
        samples_per_epoch: length of the dataset, by default that of the source.
        channels: 1, 3 or 4; None: as the recipe's inputs say, or 3.
        exif, max_pixels, depth, frames: for encoded images, see ImageFolder; `depth` also for uint16 arrays.
        save_applied_params: add `applied` to every sample.

    Attributes:
        classes: class names, if the source has some, or None.
        pipeline: the compiled recipe.

    Raises:
        DataError: the source is empty; while reading: a sample has a wrong type, shape or size.
        RecipeError: the recipe is not valid, for bags, or has no section for `mode`.
        TypeError: the source has no length or no items.

    >>> import numpy as np
    >>> images = np.zeros((5, 200, 300, 3), np.uint8)
    >>> ds = Samples([(image, 7) for image in images], "folder-128", seed=1)
    >>> len(ds), ds[1]["image"].shape, ds[1]["label"], ds[1]["path"]
    (5, torch.Size([3, 128, 128]), 7, 'list[1]')
    """

    table: items.SourceTable

    def __init__(
        self,
        source: Any,
        recipe: Recipe | paths.PathLike,
        *,
        keys: items.Keys | None = None,
        labels: Any = None,
        axes: sample_inputs.Axes = "auto",
        name: str | None = None,
        **how: Unpack[checks.Settings],
    ) -> None:
        parsed = checks.as_recipe(recipe)
        self.kind = parsed.kind

        def table() -> items.SourceTable:
            rows = items.table_of_source(source, parsed, self.pipeline.targets, keys, axes, labels, name)
            arguments.warn_of_absent(parsed, rows.present_targets(parsed.inputs))
            return rows

        super().__init__(table, parsed, **how)
