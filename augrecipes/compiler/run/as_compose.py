"""What a compiled pipeline shares with albumentations' Compose, and errors that name the way for what it does not."""

import random
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np

from augrecipes.compat.albumentations import Compose
from augrecipes.compiler.lowering.lower import Sites, lower
from augrecipes.compiler.rewrite import Compiled
from augrecipes.compiler.run.output_size_guard import guard
from augrecipes.errors import counted
from augrecipes.report import Displayed

# Messages for uses that cannot work.
_NESTED = (
    "a compiled pipeline keys its own draws and ends in the recipe's output, so it cannot be a step of another Compose "
    "or group: write their steps into the recipe (OneOf and other groups too; a class of your own: ar.register), give "
    "them recipe.to_albumentations(), or call one after the other. The interpolation of masks is an argument of the "
    "recipe's steps"
)
_SEED = "a pipeline's draws are keyed by its seed; for another seed, recipe.compile(seed=...)"
_STEPS = (
    "this step belongs to a compiled pipeline, which keys its draws; A.Compose([*pipeline]) has steps of its own, as "
    "the recipe has them, without the recipe's output"
)


class AsCompose(Displayed, Compose):
    """An albumentations Compose that keeps its steps to itself and cannot be a step of others.

    `len`, iteration and indexing give the recipe's outermost steps as new transforms with draws of their own;
    `pipeline.recipe.steps` has them as data.

    >>> import augrecipes as ar
    >>> pipeline = ar.load("folder-128").compile()
    >>> pipeline
    <ImagePipeline folder-128, train, exact, seed 0, 3 steps>
    >>> [type(step).__name__ for step in pipeline]
    ['SmallestMaxSize', 'RandomCrop', 'HorizontalFlip']
    """

    processors: dict[str, Any]
    check_each_transform: Any
    compiled: Compiled
    seed: int | None
    _standalone = False

    def own_steps(self, sites: Sites) -> None:
        """Forbid others to seed this pipeline or its steps, as a group seeds its children."""
        self._standalone = True
        for step, _, _ in sites:
            step.set_random_seed = step.set_random_state = _refuse_step

    def __len__(self) -> int:
        return len(self.compiled.steps)

    def __bool__(self) -> bool:
        return True  # a pipeline without steps still converts the output

    def __iter__(self) -> Iterator[Any]:
        return iter([self._transform(step) for step in self.compiled.steps])

    def __getitem__(self, item: Any) -> Any:
        chosen: Any = self.compiled.steps[item]
        return [self._transform(step) for step in chosen] if isinstance(item, slice) else self._transform(chosen)

    def __repr__(self) -> str:
        compiled = self.compiled
        title = f"{compiled.recipe.name}, {compiled.mode}, {compiled.optimize}, seed {compiled.seed}"
        return f"<{type(self).__name__} {title}, {counted(len(compiled.steps), 'step')}>"

    def indented_repr(self, indent: int = 0) -> str:
        """The same as `repr`; `indent` has no effect."""
        return repr(self)

    def _transform(self, step: Any) -> Any:
        (lowered,), sites = lower([step])
        guard(sites, self.compiled.recipe.max_bytes)
        return lowered.transform

    def set_mask_interpolation(self, mask_interpolation: int | None) -> None:
        """Raise TypeError: a Compose calls this on pipelines nested in it."""
        if self._standalone:
            raise TypeError(_NESTED)
        super().set_mask_interpolation(mask_interpolation)

    def set_random_seed(self, seed: int | None) -> None:
        """Raise TypeError: the seed is fixed when the recipe is compiled."""
        if self._standalone:
            raise TypeError(_SEED)
        super().set_random_seed(seed)

    def set_random_state(self, random_generator: np.random.Generator | None, py_random: random.Random) -> NoReturn:
        """Raise TypeError: a group calls this on its children."""
        raise TypeError(_NESTED)

    def set_deterministic(self, flag: bool, save_key: str = "replay") -> NoReturn:
        """Raise TypeError: the key of a sample replays it."""
        raise TypeError("a sample is replayed from its key: pipeline.at(index, epoch)(image=image)")

    def to_dict_private(self) -> NoReturn:
        """Raise TypeError: `A.save` would write a pipeline without keys."""
        compiled = self.compiled
        arguments = f"mode={compiled.mode!r}, optimize={compiled.optimize!r}, seed={compiled.seed}"
        raise TypeError(
            "albumentations would lose a compiled pipeline's keys and output. Save the recipe: "
            f"Path('recipe.yaml').write_text(pipeline.recipe.to_yaml()); ar.load('recipe.yaml').compile({arguments}) "
            "makes this pipeline again. Or pickle it; or save recipe.to_albumentations(), whose draws are not keyed."
        )

    get_dict_with_id = to_dict_private


def _refuse_step(*_: Any) -> NoReturn:
    raise TypeError(_STEPS)
