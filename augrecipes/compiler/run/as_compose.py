"""A compiled recipe among albumentations' own pipelines: what it has of them, and what to do instead of the rest."""

import random
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np

from augrecipes.compat.albumentations import Compose
from augrecipes.compiler.lowering.lower import Sites, lower
from augrecipes.compiler.rewrite import Compiled
from augrecipes.compiler.run.output_size_guard import guard
from augrecipes.recipe.model import named
from augrecipes.report import Displayed

# What is said where somebody tries what cannot work.
_NESTED = (
    "a compiled pipeline keys its own draws and ends in the recipe's output, so it is no step of another Compose or "
    "group: write their steps into the recipe (OneOf and other groups too; a class of your own: ar.register), give "
    "them recipe.to_albumentations(), or call one after the other. How masks are sampled, say it in the recipe, step "
    "by step"
)
_SEED = "a pipeline's draws are keyed by its seed; for another seed, recipe.compile(seed=...)"
_STEPS = (
    "this step belongs to a compiled pipeline, which keys its draws; A.Compose([*pipeline]) has steps of its own, as "
    "the recipe has them, without the recipe's output"
)


class AsCompose(Displayed, Compose):
    """An albumentations Compose whose steps are its own, and which is no step of others.

    `len`, iteration and indexing give the outermost steps as the recipe has them: new transforms, with draws of their
    own. `pipeline.recipe.steps` are the same as data.

    >>> import augrecipes as ar
    >>> pipeline = ar.load("folder-128").compile()
    >>> pipeline
    <ImagePipeline folder-128, train, exact, seed 0: SmallestMaxSize#1, RandomCrop#1, HorizontalFlip#1>
    >>> [type(step).__name__ for step in pipeline]
    ['SmallestMaxSize', 'RandomCrop', 'HorizontalFlip']
    """

    processors: dict[str, Any]
    check_each_transform: Any
    compiled: Compiled
    seed: int | None
    _standalone = False

    def own_steps(self, sites: Sites) -> None:
        """From here on nothing else may seed this pipeline, or a step of it, as every group does with what is in it."""
        self._standalone = True
        for step, _, _ in sites:
            step.set_random_seed = step.set_random_state = _refuse_step

    def __len__(self) -> int:
        return len(self.compiled.steps)

    def __bool__(self) -> bool:
        return True  # without a step there is an output still

    def __iter__(self) -> Iterator[Any]:
        return iter([self._transform(step) for step in self.compiled.steps])

    def __getitem__(self, item: Any) -> Any:
        chosen: Any = self.compiled.steps[item]
        return [self._transform(step) for step in chosen] if isinstance(item, slice) else self._transform(chosen)

    def __repr__(self) -> str:
        of = self.compiled
        what = f"{of.recipe.name}, {of.mode}, {of.optimize}, seed {of.seed}"
        return f"<{type(self).__name__} {what}: {named(of.steps)}>"

    def indented_repr(self, indent: int = 0) -> str:
        """As `repr`; `indent` changes nothing."""
        return repr(self)

    def _transform(self, step: Any) -> Any:
        (lowered,), sites = lower([step])
        guard(sites, self.compiled.recipe.max_bytes)
        return lowered.transform

    def set_mask_interpolation(self, mask_interpolation: int | None) -> None:
        """Refused, as a Compose asks it of what is to be a step of its own."""
        if self._standalone:
            raise TypeError(_NESTED)
        super().set_mask_interpolation(mask_interpolation)

    def set_random_seed(self, seed: int | None) -> None:
        """Refused: the seed is part of what was compiled."""
        if self._standalone:
            raise TypeError(_SEED)
        super().set_random_seed(seed)

    def set_random_state(self, random_generator: np.random.Generator | None, py_random: random.Random) -> NoReturn:
        """Refused, as `set_random_seed`; a group asks it of what is in it."""
        raise TypeError(_NESTED)

    def set_deterministic(self, flag: bool, save_key: str = "replay") -> NoReturn:
        """Refused: every sample can be had again."""
        raise TypeError("a sample is replayed from its key: pipeline.at(index, epoch)(image=image)")

    def to_dict_private(self) -> NoReturn:
        """Refused: what `A.save` writes has no keys."""
        of = self.compiled
        again = f"mode={of.mode!r}, optimize={of.optimize!r}, seed={of.seed}"
        raise TypeError(
            "albumentations would lose a compiled pipeline's keys and output. Save the recipe: "
            f"Path('recipe.yaml').write_text(pipeline.recipe.to_yaml()); ar.load('recipe.yaml').compile({again}) makes "
            "this pipeline again. Or pickle it; or save recipe.to_albumentations(), which draws in its own way."
        )

    get_dict_with_id = to_dict_private


def _refuse_step(*_: Any) -> NoReturn:
    raise TypeError(_STEPS)
