"""Test-time augmentation as a recipe's `tta:` has it: views of an image, and what a network says of them merged."""

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

_SIZES = 64  # of images whose geometry is kept


class Evaluation:
    """The steps of evaluation on the target `name`.

    Attributes:
        name: of the target in samples.
        inputs: of the recipe.
        channels_first: how its images leave.
        scales: how many times as fine as its grid those of a pair's targets are; none for a recipe of one image.
        pipeline: that runs them.
        stretches: of predictions, that were said.
        geometry: from rows and columns, and channels, to what the steps do to places.
    """

    def __init__(self, recipe: Recipe, name: str, optimize: Optimize | None, seed: int) -> None:
        alone = part(recipe.kind, "alone").alone(recipe, name) if recipe.facts.scales else recipe
        self.name, self.inputs, self.channels_first = name, alone.inputs, alone.output.layout == "chw"
        self.scales, self.stretches = {at / recipe.scales[name] for at in recipe.scales.values()}, set[str]()
        self.pipeline = alone.compile("eval", optimize, seed)
        plain = replace(alone, inputs=Inputs()).compile("eval", "none")
        self.geometry = lru_cache(_SIZES)(partial(geometry_of, plain))


class ImageViews(Sequence[dict[str, Any]]):
    """The samples of one image, window by window, and of each window view by view.

    A window is read, and run through the steps of evaluation, when one of its views is asked for; the views of one
    window are made of one run, and nothing else is kept.

    Args:
        evaluation: of the image.
        views: what the recipe says.
        targets: the image, under the name `image`, and what lies on it.

    Attributes:
        symmetries: of the views.
        size: of the image, rows and columns.
        windows: rows and columns of each.
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
        self._latest: tuple[int, dict[str, Any]] = (-1, {})  # a window's number, and its sample

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
        """What the steps of evaluation do to places in a window."""
        rows, columns = self.windows[number]
        return self.evaluation.geometry((rows.end - rows.start, columns.end - columns.start), self._channels)

    def merge(self, predictions: Iterable[Any], kind: str, how: str = "mean", *, fill: float | None = None) -> Any:
        """One prediction of those on the samples: see `TTA.merge`."""
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
        """The views of one image, each a sample of evaluation: the windows row by row, and of each window its views.

        A sequence that makes its samples when they are asked for. With `tile`, an image or mask need only have a shape
        and rows and columns to slice, such as np.memmap or a dataset of HDF5: windows are read one by one.

        Args:
            targets: `image` and what lies on it (`mask`, `boxes`, `keypoints` with their labels); of a pair its target
                on the coarsest grid instead. `index` keys what evaluation draws, if it draws anything. Whatever else
                is no array is in each sample as it came.

        Raises:
            DataError: arrays that views cannot be made of; and as the pipeline has it.

        >>> import numpy as np, augrecipes as ar
        >>> views = ar.tta({"version": 1, "recipe": "plain", "steps": [], "eval": [], "tta": {"views": "d4"}}).split(
        ...     image=np.zeros((20, 30, 3), np.uint8))
        >>> len(views), views[0]["image"].shape, views[1]["image"].shape
        (8, (3, 20, 30), (3, 30, 20))
        """
        every = tuple(self.recipe.scales) or ("image",)
        names = [name for name in every if targets.get(name) is not None]
        if len(names) != 1:
            raise DataError(f"views are made of one array, {' or '.join(every)}; got {len(names)}")
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
        """One prediction on the source's grid, of those on the samples of the last `split`, in their order.

        `split(...).merge` does the same for any of them. Windows that overlap are blended, with weights of a raised
        cosine; `how` says what becomes of the views of one window. Flips, turns and windows are undone bit for bit;
        resizes and other warps by their matrices, values between pixels linearly.

        Args:
            predictions: arrays, tensors or lists, one a sample; a generator will do, and one window's are kept at
                a time. By `kind`:
                `labels`: (classes,) scores.
                `mask`: integers H×W, which are voted for (where windows overlap, that decides whose middle is nearer);
                or scores, floats H×W or C×H×W; finer or coarser than the view if need be, along both axes alike, and
                the log says by which factor.
                `image`: C×H×W or H×W×C as the recipe's output, s times as fine as the view (self-ensemble; of a pair
                one of its scales), and s times as fine as the source behind.
                `boxes`: mappings of `boxes` (n, 4) in the recipe's format, `scores` (n,) in 0..1 and, unless all are
                of one class, `labels` (n,). Fused with an IoU above 0.55 (Solovyev et al. 2021); a window leaves those
                to its neighbours that lie there. Clipped if the inputs say so; those of no area are left out.
                `keypoints`: (n, 2 or more) in the recipe's format, of all views the same ones in one order.
            kind: what they are.
            how: `mean` (of integers the vote), `max` or `median`; keypoints `mean` or `median`; boxes `wbf`, a mean.
            fill: of pixels that the steps of evaluation have cut off; None: these are an error.

        Returns:
            Of `boxes` a mapping of `boxes`, `scores` and `labels`, the highest score first, else an array: float32
            (float64 of float64, and of scores that are integers of 32 bits and more); labels and images of integers
            keep their dtype.

        Raises:
            DataError: predictions that are no arrays, too few, too many or no views of the image; pixels in no view.

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
    """What splits an image into the views of a recipe's `tta:`, and merges what a network says of them.

    Args:
        recipe: with `tta:` and `eval:`, or what `load` takes.
        optimize: `none`, `exact` or `fast`; None takes the recipe's own choice.
        seed: of what evaluation draws, if it draws anything.

    Raises:
        RecipeError: it has no `tta:`.

    >>> import numpy as np, augrecipes as ar
    >>> t = ar.tta({"version": 1, "recipe": "plain", "steps": [], "eval": [], "tta": {"views": "hflip"}})
    >>> views = t.split(image=np.zeros((20, 30, 3), np.uint8))
    >>> t.merge([np.float32([0.25, 0.75]) for sample in views], kind="labels").tolist()
    [0.25, 0.75]
    """
    return TTA(recipe, optimize, seed)
