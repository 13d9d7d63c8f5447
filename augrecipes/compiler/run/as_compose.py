"""A compiled recipe among albumentations' own pipelines: what it takes part in, and what to do instead of the rest."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np

from augrecipes.compat.albumentations import Compose
from augrecipes.compiler.plan import Compiled
from augrecipes.compiler.run.lower import Sites, lower_step
from augrecipes.compiler.run.made_size import guard
from augrecipes.display import Displayed
from augrecipes.recipe.model import named

_ONE_BY_ONE = (
    "write the steps into the recipe (OneOf and the other groups too; a class of your own: ar.register), or call one "
    "after the other, the recipe's with `output: {layout: hwc}`: image = pipeline(image=image)['image']; or nest what "
    "recipe.to_albumentations() gives, drawing as albumentations does: A.Compose([recipe.to_albumentations(), step])"
)
_NESTED = (
    "a compiled pipeline cannot be a step of A.Compose, A.OneOf or another group: its draws are keyed by sample, and "
    f"what comes out is the recipe's output, not a picture for further steps. Instead, {_ONE_BY_ONE}"
)
_SEED = "a pipeline's draws are keyed by its seed; for another seed, recipe.compile(seed=...)"
_STEPS = (
    "this step belongs to a compiled pipeline, which keys its draws; A.Compose([*pipeline]) has steps of its own, as "
    "the recipe has them, without the recipe's output"
)


class Standalone(Displayed, Compose):
    """An albumentations Compose that is not part of another, and to which nothing can be added.

    `len`, iteration and indexing give the outermost steps as the recipe has them: new transforms, with draws of their
    own. `pipeline.recipe.steps` are the same as data.

    >>> import augrecipes as ar
    >>> pipeline = ar.load("folder-128").compile()
    >>> pipeline
    <ImagePipeline folder-128, train, exact, seed 0: SmallestMaxSize#1, RandomCrop#1, HorizontalFlip#1>
    >>> [type(step).__name__ for step in pipeline]
    ['SmallestMaxSize', 'RandomCrop', 'HorizontalFlip']
    >>> pipeline + pipeline[0]
    Traceback (most recent call last):
    TypeError: nothing can be added to a compiled pipeline, or taken away; write the steps into the recipe (OneOf ...
    """

    compiled: Compiled
    seed: int | None
    _standalone = False

    def _keep(self, sites: Sites) -> None:
        """From here on nothing else may seed this pipeline, or a step of it, as every group does with what is in it."""
        self._standalone = True
        for made, _, _ in sites:
            made.set_random_seed = made.set_random_state = _refuse_step

    def __len__(self) -> int:
        return len(self._written)

    def __bool__(self) -> bool:
        return True  # without a step there is an output still

    def __iter__(self) -> Iterator[Any]:
        return iter([self._made(step) for step in self._written])

    def __getitem__(self, item: Any) -> Any:
        steps = self._written[item]
        return [self._made(step) for step in steps] if isinstance(item, slice) else self._made(steps)

    def __repr__(self) -> str:
        of = self.compiled
        what = f"{of.recipe.name}, {of.mode}, {of.optimize}, seed {of.seed}"
        return f"<{type(self).__name__} {what}: {named(self._written)}>"

    def indented_repr(self, indent: int = 0) -> str:
        """As `repr`; `indent` changes nothing."""
        return repr(self)

    @property
    def _written(self) -> Any:
        return self.compiled.recipe.section(self.compiled.mode) or ()

    def _made(self, step: Any) -> Any:
        sites: Sites = []
        made = lower_step(step, sites)
        guard(sites, self.compiled.recipe.max_bytes)
        return made

    # What albumentations calls on the parts of a group; each begins with the first.

    def set_mask_interpolation(self, mask_interpolation: int | None) -> None:
        """Refused."""
        if self._standalone:
            raise TypeError(_NESTED if mask_interpolation is None else "say it in the recipe, step by step")
        super().set_mask_interpolation(mask_interpolation)

    def set_random_seed(self, seed: int | None) -> None:
        """Refused: the seed is part of what was compiled."""
        if self._standalone:
            raise TypeError(_SEED)
        super().set_random_seed(seed)

    def set_random_state(self, random_generator: np.random.Generator, py_random: random.Random) -> None:
        """Refused, as `set_random_seed`."""
        raise TypeError(_SEED)

    def set_deterministic(self, flag: bool, save_key: str = "replay") -> None:
        """Refused: every sample can be had again."""
        raise TypeError("a sample is replayed from its key: pipeline.at(index, epoch)(image=image)")

    # What other versions of albumentations do with + and -, and what saves.

    def _no_sum(self, _: Any) -> NoReturn:
        raise TypeError(f"nothing can be added to a compiled pipeline, or taken away; {_ONE_BY_ONE}")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _no_sum

    def to_dict_private(self) -> NoReturn:
        """Refused: albumentations could not read it back."""
        of = self.compiled
        again = f"mode={of.mode!r}, optimize={of.optimize!r}, seed={of.seed}"
        raise TypeError(
            "albumentations would lose a compiled pipeline's keys and output. Save the recipe: "
            f"Path('recipe.yaml').write_text(pipeline.recipe.to_yaml()); ar.load('recipe.yaml').compile({again}) makes "
            "this pipeline again. Or pickle it. What albumentations can read draws in its own way: "
            "A.save(pipeline.recipe.to_albumentations(), 'aug.json')"
        )

    get_dict_with_id = to_dict_private


def _refuse_step(*_: Any) -> NoReturn:
    raise TypeError(_STEPS)
