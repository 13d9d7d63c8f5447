"""Anything with a length and items, and a recipe, as a torch Dataset."""

from __future__ import annotations

from typing import Any, Unpack

from augrecipes.data import checks, dataset
from augrecipes.recipe.model import Recipe
from augrecipes.sources import arguments, items, paths, sample_inputs


class Samples(dataset.RecipeDataset):
    """Samples of a source of your own, run through a recipe: a dataset of Hugging Face or torchvision, arrays, HDF5.

    A sample is a pure function of (what the source gives, recipe, seed, epoch, index): the dict that ImageFolder makes,
    or PairedImages where the recipe is of kind pair, and beside it what else the item has, as it is. `label` is an int
    where it is an integer. Sources that draw by themselves (torchvision's `transform=`) are to be left without.

    An item of the source is an image, a tuple (image, label), (image, mask) or as `keys` says, or a dict of
    `image` (or `img`, `jpg`, `png`, ...), `mask`, `boxes` and `keypoints` with their labels under the recipe's names,
    `object`, `keypoint_object` and `masks` (n, H, W) beside these, `label`, and anything else. An image is one of
    Pillow (as it stands, whatever its EXIF says), an array H×W×C or H×W, a tensor C×H×W, of uint8 or of floats 0..1;
    or encoded, as bytes or a path. Annotations that the recipe does not take are left out.

    Args:
        source: it (or the Samples of another recipe over it), or a function without arguments that opens it, which each
            process calls for itself: HDF5 and LMDB want that; or an `.npy` file of N×H×W×C; or tar archives as
            WebDataset lays them out (a path, a pattern with `*`, or a list); or columns by their
            names, of one length (a dict of arrays, an HDF5 file).
        recipe: a Recipe of kind image or pair, the name of a gallery recipe, or the path of a recipe file.
        keys: what the parts of an item are called in it, by the recipe's names: `{"image": "photo", "boxes":
            "objects.bbox", "box_labels": "objects.category"}`, and nothing else is taken; of tuples numbers, or a tuple
            of names: `("image", "mask")`.
        mode: `train` runs the recipe's steps, `eval` its eval section.
        seed: of the draws.
        optimize: `none`, `exact`, `fast`, or None for what the recipe says.
        on_error: `raise` a DataError for a sample that cannot be read or transformed, or `skip` it, as in ImageFolder.
        labels: one integer a sample, for `ds.labels` and `weights="balanced"`; None: the source's column or `targets`,
            where it has some. A sample's own label is what its item says.
        axes: how arrays and tensors of images lie, `hwc` or `chw`; `auto`: those of numpy hwc, those of torch chw.
        name: of the source, for `path`, which is `name[index]`, and messages; None: that of its class.
        weights: one number a sample, kept as `ds.weights`.
        samples_per_epoch: length of the dataset, when it is not that of the source.
        channels: 1, 3 or 4; None takes what the recipe's inputs say, or 3.
        exif, max_pixels, depth, frames: of encoded images, as ImageFolder has them; `depth` of arrays of uint16, too.
        save_applied_params: add `applied` to every sample.

    Attributes:
        classes: class names, where the source has some, or None.
        pipeline: the compiled recipe.

    Raises:
        DataError: an empty source; while reading: a sample that is not as it should be.
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
