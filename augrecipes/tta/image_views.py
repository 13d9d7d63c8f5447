"""Test-time augmentation by a recipe's `tta:`: makes the views of an image, and merges predictions on them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache, partial
from itertools import product
from typing import Any

from augrecipes.compiler.kernels.encoded_images import is_encoded
from augrecipes.compiler.run.extra_targets import is_array
from augrecipes.errors import DataError, RecipeError
from augrecipes.recipe.grammar import TtaViews
from augrecipes.recipe.inputs import Inputs
from augrecipes.recipe.kinds import part
from augrecipes.recipe.model import Optimize, Recipe
from augrecipes.recipe.parse import Source, as_recipe
from augrecipes.tta.geometry import VIEWS, Placement, geometry_of, viewed
from augrecipes.tta.predictions import MERGED, one_of
from augrecipes.tta.windows import cut, spans

_SIZES = 64  # the most image sizes whose geometry is cached


class Evaluation:
    """The evaluation of the target `name`.

    Attributes:
        name: name of the target in samples.
        inputs: the recipe's inputs.
        channels_first: whether output images are C×H×W.
        scales: scales of a pair's targets relative to this one; empty for recipes of one image.
        pipeline: the pipeline that runs its steps.
        stretches: factors of stretched predictions that the log has reported.
        geometry: a function (size, channels) → Placement of the steps, cached.
    """

    def __init__(self, recipe: Recipe, name: str, optimize: Optimize | None, seed: int) -> None:
        alone = part(recipe.kind, "alone").alone(recipe, name) if recipe.facts.scales else recipe
        self.name, self.inputs, self.channels_first = name, alone.inputs, alone.output.layout == "chw"
        self.scales, self.stretches = {at / recipe.scales[name] for at in recipe.scales.values()}, set[str]()
        self.pipeline = alone.compile("eval", optimize, seed)
        plain = replace(alone, inputs=Inputs()).compile("eval", "none")
        self.geometry = lru_cache(_SIZES)(partial(geometry_of, plain))


class ImageViews(Sequence[dict[str, Any]]):
    """A sequence of the views of an image: window by window, and for each window symmetry by symmetry.

    A window is read and run through the steps of evaluation when one of its views is requested. Only the last window is
    kept, and its views are made from one run.

    Args:
        evaluation: the evaluation of the image.
        views: the recipe's `tta:`.
        targets: the image, as `image`, with its mask, boxes and keypoints.

    Attributes:
        symmetries: the symmetry of each view.
        size: rows and columns of the image.
        windows: the (rows, columns) spans of each window.
    """

    def __init__(self, evaluation: Evaluation, views: TtaViews, targets: Mapping[str, Any]) -> None:
        self.evaluation, self.symmetries, self._targets = evaluation, VIEWS[views.views], dict(targets)
        for name, array in ((name, targets[name]) for name in ("image", "mask") if targets.get(name) is not None):
            if views.tile is not None and is_encoded(array):
                self._targets[name] = array.array()
            shape = getattr(array, "shape", ())
            if len(shape) not in (2, 3) or not all(shape) or shape[:2] != targets["image"].shape[:2]:
                raise DataError(f"{name} is H×W or H×W×C on the image, not empty; got {type(array).__name__} {shape}")
        height, width, *channels = targets["image"].shape
        self.size, self._channels = (height, width), channels[0] if channels else 1
        self.windows = tuple(product(spans(height, views.tile), spans(width, views.tile)))
        self._latest: tuple[int, dict[str, Any]] = (-1, {})  # number of a window, and its sample

    def __len__(self) -> int:
        return len(self.windows) * len(self.symmetries)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[k] for k in range(*index.indices(len(self)))]
        number, view = divmod(range(len(self))[index], len(self.symmetries))
        evaluation, inputs = self.evaluation, self.evaluation.inputs
        latest, sample = self._latest
        if latest != number:
            whole = len(self.windows) == 1
            window = self._targets if whole else cut(self._targets, self.windows[number], self.size, inputs)
            sample = evaluation.pipeline.at(window.get("index", 0), tile=number)(**window)
            self._latest = number, sample
        after = self.geometry(number).after
        view_sample = viewed(sample, self.symmetries[view], after, inputs, channels_first=evaluation.channels_first)
        view_sample[evaluation.name] = view_sample.pop("image")
        return view_sample

    def geometry(self, number: int) -> Placement:
        """The geometric effect of evaluation on a window."""
        rows, columns = self.windows[number]
        return self.evaluation.geometry((rows.end - rows.start, columns.end - columns.start), self._channels)

    def merge(self, predictions: Iterable[Any], kind: str, how: str = "mean", *, fill: float | None = None) -> Any:
        """Merge the predictions on these views: see `TTA.merge`."""
        return MERGED[one_of(kind, MERGED, "kind")](self, predictions, how, fill)


class TTA:
    """Makes the views of an image, and merges predictions on them; see `tta`."""

    def __init__(self, recipe: Recipe | Source, optimize: Optimize | None = None, seed: int = 0) -> None:
        self.recipe = as_recipe(recipe)
        if self.recipe.tta is None:
            raise RecipeError(f"{self.recipe.name} says nothing of views: add a line such as `tta: {{views: d4}}`")
        self.views, self._arguments = self.recipe.tta, (optimize, seed)
        self._evaluation = cache(lambda name: Evaluation(self.recipe, name, optimize, seed))
        self._last: ImageViews | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.recipe, *self._arguments)

    def split(self, /, **targets: Any) -> ImageViews:
        """Split an image into views, each a sample of evaluation: windows row by row, and the views of each window.

        With `tile`, an image or mask needs only a shape and slices of rows and columns, such as np.memmap or an HDF5
        dataset: windows are read one by one.

        Args:
            targets: `image` (uint8 or float32, H×W or H×W×C) with `mask`, `boxes`, `keypoints` and their labels; for a
                pair the target on the coarsest grid instead. `index` keys what evaluation draws, if it draws at all.
                Values that are not arrays are in each sample unchanged.

        Returns:
            A sequence of samples, which are made on demand.

        Raises:
            DataError: an array that has no views, or that the pipeline refuses.

        >>> import numpy as np, augrecipes as ar
        >>> views = ar.tta({"version": 1, "recipe": "plain", "steps": [], "eval": [], "tta": {"views": "d4"}}).split(
        ...     image=np.zeros((20, 30, 3), np.uint8))
        >>> len(views), views[0]["image"].shape, views[1]["image"].shape
        (8, (3, 20, 30), (3, 30, 20))
        """
        possible = tuple(self.recipe.scales) or ("image",)
        names = [name for name in possible if targets.get(name) is not None]
        if len(names) != 1:
            raise DataError(f"views are made of one array, {' or '.join(possible)}; got {len(names)}")
        (name,) = names
        evaluation = self._evaluation(name)
        declared = (evaluation.inputs.boxes, evaluation.inputs.keypoints)
        known = {name, "mask", "boxes", "keypoints", *(points.labels for points in declared if points is not None)}
        for other in targets.keys() - known:
            if is_array(targets[other]):
                raise DataError(f"{other!r} is an array, and views are made of {', '.join(sorted(map(str, known)))}")
        targets["image"] = targets.pop(name)
        self._last = ImageViews(evaluation, self.views, targets)
        return self._last

    def merge(self, predictions: Iterable[Any], kind: str, how: str = "mean", *, fill: float | None = None) -> Any:
        """Merge the predictions on the views of the last `split`, in their order, on the source's grid.

        `split(...).merge` does the same for any split. Overlapping windows are blended with raised cosine (Hann)
        weights; `how` merges the views of a window. Flips, turns and windows are undone bit for bit; resizes and other
        warps by their matrices, with linear interpolation.

        Args:
            predictions: arrays, tensors or lists, one for each sample. A generator will do: those of one window are
                kept at a time. By `kind`:
                `labels`: scores (classes,).
                `mask`: integers H×W, merged by majority vote (where windows overlap, the window with the nearer centre
                decides); or scores, floats H×W or C×H×W. A mask may be finer or coarser than the view, equally along
                both axes; the log reports the factor.
                `image`: C×H×W or H×W×C, as the recipe's output, s times as fine as the view, for self-ensemble; for a
                pair s is one of its scales. The result is s times as fine as the source.
                `boxes`: mappings of `boxes` (n, 4) in the recipe's format, `scores` (n,) in 0..1 and, unless there is
                one class, `labels` (n,). Merged by weighted boxes fusion with an IoU above 0.55 (Solovyev et al. 2021);
                each window keeps the boxes whose centre is nearest to it. Clipped if the inputs say so; boxes without
                area are left out.
                `keypoints`: (n, 2 or more) in the recipe's format, the same points in the same order for all views.
            kind: `labels`, `mask`, `image`, `boxes` or `keypoints`.
            how: `mean` (for integer masks the vote), `max` or `median`; for keypoints `mean` or `median`; for boxes
                `wbf` or `mean`, which are the same.
            fill: the value of pixels that the steps of evaluation have cut off; None: such pixels are an error.

        Returns:
            For `boxes` a mapping of `boxes`, `scores` and `labels`, the highest score first; else an array: float32, or
            float64 for float64 and for scores that are integers of 32 bits and more. Integer masks and images keep
            their dtype.

        Raises:
            DataError: predictions that are no arrays, too few or too many, or do not fit the views; pixels in no view.

        >>> import numpy as np, augrecipes as ar
        >>> t = ar.tta({"version": 1, "recipe": "plain", "steps": [], "eval": [], "tta": {"views": "d4"}})
        >>> image = np.random.default_rng(0).integers(0, 256, (20, 30, 3), np.uint8)
        >>> views = t.split(image=image)
        >>> back = t.merge([sample["image"] for sample in views], kind="image")
        >>> np.array_equal(back, views[0]["image"])
        True
        """
        if self._last is None:
            raise DataError("predictions are merged on the image that `split` was given, and there is none yet")
        return self._last.merge(predictions, kind, how, fill=fill)


def tta(recipe: Recipe | Source, *, optimize: Optimize | None = None, seed: int = 0) -> TTA:
    """Prepare test-time augmentation: an object that splits images into views and merges predictions on them.

    Args:
        recipe: a recipe with `tta:` and `eval:`, or what `load` takes.
        optimize: `none`, `exact` or `fast`; None: as the recipe says.
        seed: seed of the draws of evaluation, if it draws at all.

    Raises:
        RecipeError: the recipe has no `tta:`.

    >>> import numpy as np, augrecipes as ar
    >>> t = ar.tta({"version": 1, "recipe": "plain", "steps": [], "eval": [], "tta": {"views": "hflip"}})
    >>> views = t.split(image=np.zeros((20, 30, 3), np.uint8))
    >>> t.merge([np.float32([0.25, 0.75]) for sample in views], kind="labels").tolist()
    [0.25, 0.75]
    """
    return TTA(recipe, optimize, seed)
