"""A recipe as one function of a sample, for `transform=` of other people's datasets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from augrecipes.data.epochs import check_epoch
from augrecipes.data.sample import as_torch, ragged_keys
from augrecipes.data.visits import CallKeys
from augrecipes.errors import DataError, RecipeError
from augrecipes.recipe.model import Mode, Optimize, Recipe
from augrecipes.sources.files import MAX_PIXELS
from augrecipes.sources.given import ANNOTATIONS, AXES, Axes, is_picture, plain_array, split_parts, taken_by
from augrecipes.sources.rows import PICTURE_NAMES, Keys, RowKeys

_INDEX_NAMES = ("index", "__key__")


class SampleTransform:
    """A recipe as one function, which `Recipe.transform` makes.

    It takes a picture (of Pillow, an array, a tensor, bytes or a path) and gives a tensor; a tuple, of which the
    picture, and a mask, are replaced; a dict, the same by names, boxes and keypoints too; a dict of lists, as Hugging
    Face gives a batch. It pickles, and may be called from many threads.

    Draws are keyed by the index that a dict holds, or that is given: `transform(image, index=7)`; without one by the
    worker and the number of its call. No call repeats the draws of an earlier one, unless `set_epoch` says so: then an
    index has the draws that it has in that epoch.

    Args:
        recipe: of kind image or pair.
        mode: `train` runs the recipe's steps, `eval` its eval section.
        seed: of the draws.
        optimize: `none`, `exact`, `fast`, or None for what the recipe says.
        keys: what the parts are called in a dict, by the recipe's names, `{"image": "photo"}`; of a tuple their names,
            `("image", "mask")`, or numbers. None: as `ar.Samples` finds them.
        index: the part of a dict that is its index, an integer or text; None: `index` or `__key__`, if there.
        axes: how arrays and tensors lie, `hwc` or `chw`; `auto`: those of numpy hwc, those of torch chw.
        channels: 1, 3 or 4; None takes what the recipe's inputs say, or 3.
        calls: says the epoch and the index that draws are keyed by; None: calls are counted, as above.

    Attributes:
        pipeline: the compiled recipe.

    Raises:
        LintError, RecipeError: as `Recipe.compile`; and for a recipe of bags.
    """

    def __init__(
        self,
        recipe: Recipe,
        mode: Mode = "train",
        *,
        seed: int = 0,
        optimize: Optimize | None = None,
        keys: Keys | None = None,
        index: str | None = None,
        axes: Axes = "auto",
        channels: int | None = None,
        calls: Any = None,
    ) -> None:
        if recipe.facts.tiles:
            raise RecipeError(
                f"{recipe.file}: recipe {recipe.name!r} is of kind {recipe.kind!r}: a bag is no one picture"
            )
        if axes not in AXES:
            raise ValueError(f"axes must be {', '.join(map(repr, AXES))}, got {axes!r}")
        self.pipeline = recipe.compile(mode, optimize, seed)
        self._keys, self._index, self._axes = keys, index, axes
        self._channels = channels or recipe.inputs.channels or 3
        self._calls = CallKeys() if calls is None else calls

    def __repr__(self) -> str:
        recipe = self.pipeline.recipe
        return f"transform of recipe {recipe.name!r}, mode {self.pipeline.mode!r}"

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch, here and in copies that workers have: a sample with an index is that of (epoch, index)."""
        self._calls.clock.set(check_epoch(epoch))

    def __call__(self, sample: Any, *rest: Any, index: int | str | None = None) -> Any:
        """The sample, transformed, in the form that it came in.

        Args:
            sample: a picture; a tuple or list; a dict; or a dict of lists, a batch of Hugging Face's.
            rest: further parts: torchvision's `transforms=` gives picture and target so.
            index: what keys its draws.

        Raises:
            DataError: it is not as it should be.
        """
        if rest or isinstance(sample, tuple | list):
            given, form = ((sample, *rest), tuple) if rest else (sample, type(sample))
            made = self._run(dict(zip(self._places(given), given, strict=True)), index).values()
            return form(made) if form in (tuple, list) else form(*made)
        if isinstance(sample, Mapping):
            return self._batch(sample) if self._is_batch(sample) else self._dict(sample, index)
        return self._run({self._pictures[0]: sample}, index)[self._pictures[0]]

    @property
    def _pictures(self) -> tuple[str, ...]:
        return self.pipeline.targets

    def _places(self, sample: Sequence[Any]) -> list[str]:
        """What the places of a tuple are called; those that are of no recipe's by their numbers."""
        others = [f" {k}" for k in range(len(sample))]
        if isinstance(self._keys, Mapping):
            places = {place: name for name, place in self._keys.items()}
            return [str(places.get(k, other)) for k, other in enumerate(others)]
        if self._keys is not None or self._pictures != ("image",):
            return [*RowKeys(self._keys, self._pictures).named(tuple(others))]
        masked = len(sample) == 2 and is_picture(sample[1]) and self.pipeline.recipe.inputs.mask != "absent"
        return ["image", "mask"] if masked else ["image", *others[1:]]

    def _dict(self, sample: Mapping[str, Any], index: Any) -> dict[str, Any]:
        called = self._called(sample)
        parts = {called.get(name, name): value for name, value in sample.items()}
        back = {mine: name for name, mine in called.items()}
        made = self._run(parts, self._index_in(sample) if index is None else index)
        return {back.get(name, name): value for name, value in made.items()}

    def _batch(self, batch: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
        n = len(next(iter(batch.values())))
        made = [self._dict({name: values[k] for name, values in batch.items()}, None) for k in range(n)]
        return {name: [one[name] for one in made] for name in (made[0] if made else batch)}

    def _is_batch(self, sample: Mapping[str, Any]) -> bool:
        """Whether the parts are lists: a picture itself is none."""
        return any(isinstance(sample[name], list) for name in self.pictures_of(sample)[:1])

    def pictures_of(self, sample: Mapping[str, Any]) -> list[str]:
        """The parts of a dict that are pictures of the recipe, by the names that they have there."""
        called = self._called(sample)
        return [name for name in sample if called.get(name, name) in self._pictures]

    def _called(self, sample: Mapping[str, Any]) -> dict[str, str]:
        """The recipe's name of each part that is called otherwise in the sample."""
        if isinstance(self._keys, Mapping):
            missing = [str(name) for name in self._keys.values() if name not in sample]
            if missing:
                raise DataError(f"has no {missing[0]!r}; there is {', '.join(map(repr, sample))}")
            return {str(theirs): name for name, theirs in self._keys.items()}
        if "image" in sample or self._pictures != ("image",):
            return {}
        name = next((name for name in PICTURE_NAMES if name in sample), None)
        return {} if name is None else {name: "image"}

    def _index_in(self, sample: Mapping[str, Any]) -> int | str | None:
        """What a dict says of its index."""
        names = _INDEX_NAMES if self._index is None else (self._index,)
        found = next((sample[name] for name in names if name in sample), None)
        if found is None and self._index is not None:
            raise DataError(f"has no {self._index!r}; there is {', '.join(map(repr, sample))}")
        if found is None or isinstance(found, str):
            return found
        number = plain_array(found)
        return int(number) if number.ndim == 0 and number.dtype.kind in "iu" else None

    def _run(self, parts: dict[str, Any], index: Any) -> dict[str, Any]:
        """The parts in their order, those that the recipe takes transformed."""
        pipeline, inputs = self.pipeline, self.pipeline.recipe.inputs
        if stray := sorted((ANNOTATIONS & parts.keys()) - taken_by(inputs)):
            raise DataError(f"the recipe takes no {stray[0]}, which would no longer fit its picture: leave it out")
        taken, beside = split_parts(
            parts, inputs, self._pictures, self._axes, undecoded=pipeline.reads, channels=self._channels,
            exif="apply", max_pixels=MAX_PIXELS,
        )  # fmt: skip
        epoch, key = self._calls.next() if index is None else self._calls.at(index)
        out = pipeline.at(key, epoch)(**taken)
        ragged = ragged_keys(inputs) if pipeline.recipe.facts.annotated else frozenset()
        made = as_torch({name: np.asarray(v) if name in ragged else v for name, v in out.items()}, ragged)
        made |= {name: value for name, value in beside.items() if name not in made}
        return {name: made.get(name, value) for name, value in parts.items()}
