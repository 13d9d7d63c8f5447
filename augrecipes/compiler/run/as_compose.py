"""A compiled recipe among albumentations' own pipelines: what it takes part in, and what to do instead of the rest."""

from __future__ import annotations

import logging
import random
from collections.abc import Iterator
from typing import Any, ClassVar, NoReturn

import numpy as np

from augrecipes.compat.albumentations import A, Compose
from augrecipes.compiler.lowering.lower import Sites, lower
from augrecipes.compiler.rewrite import Compiled
from augrecipes.compiler.run.nested import Nested
from augrecipes.compiler.run.output_size_guard import guard
from augrecipes.compiler.run.points import processors
from augrecipes.display import Displayed
from augrecipes.recipe.model import named

_NESTED = (
    "several images make up a sample of this recipe, and A.Compose, A.OneOf and other groups hand over one: a "
    "pipeline of kind {} cannot be a step of theirs. Write their steps into the recipe (OneOf and other groups too; a "
    "class of your own: ar.register), or call one after the other"
)
_MASKS = "a compiled pipeline keeps its masks' interpolation: say it in the recipe, step by step"
_ENDS_IN_CHW = (
    "what leaves this recipe is chw, and steps of albumentations take H×W×C. Write the steps into the recipe, or put "
    "them in front, A.Compose([step, pipeline]), or let images leave as they are: ar.load(..., "
    "overrides={'output': {'dtype': 'uint8', 'layout': 'hwc'}})"
)
_NO_ARITHMETIC = (
    "nothing can be taken away from a compiled pipeline, or repeated in it: ar.load(..., without=['Blur']) leaves "
    "steps out; steps of albumentations are put in front or behind by step + pipeline and pipeline + step"
)
_SEED = "a pipeline's draws are keyed by its seed; for another seed, recipe.compile(seed=...)"
_STEPS = (
    "this step belongs to a compiled pipeline, which keys its draws; A.Compose([*pipeline]) has steps of its own, as "
    "the recipe has them, without the recipe's output"
)
_log = logging.getLogger("augrecipes")
_warned: set[str] = set()


class AsCompose(Displayed, Compose):
    """An albumentations Compose whose steps are its own, and which may be a step of another Compose, or of a group.

    As a step of others it draws by their generators, takes what their steps leave, and hands over what the recipe's
    output says (see `Nested`); `at` does what it always does. `p` is its probability there, and its weight in a OneOf.
    `len`, iteration and indexing give the outermost steps as the recipe has them: new transforms, with draws of their
    own. `pipeline.recipe.steps` are the same as data.

    >>> import augrecipes as ar
    >>> pipeline = ar.load("folder-128").compile()
    >>> pipeline
    <ImagePipeline folder-128, train, exact, seed 0: SmallestMaxSize#1, RandomCrop#1, HorizontalFlip#1>
    >>> [type(step).__name__ for step in pipeline]
    ['SmallestMaxSize', 'RandomCrop', 'HorizontalFlip']
    >>> import albumentations as A, numpy as np
    >>> both = A.Compose([A.VerticalFlip(p=0.5), pipeline], seed=3)
    >>> both(image=np.zeros((200, 300, 3), np.uint8))["image"].shape
    torch.Size([3, 128, 128])
    >>> pipeline + A.VerticalFlip(p=0.5)
    Traceback (most recent call last):
    TypeError: what leaves this recipe is chw, and steps of albumentations take H×W×C. Write the steps into the ...
    """

    nests: ClassVar[bool] = False  # whether one image is a sample
    keys_draws: ClassVar[bool] = True  # those of the steps inside
    nested: Nested | None = None

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

    # What albumentations calls on the parts of a group; each begins with the first.

    def set_mask_interpolation(self, mask_interpolation: int | None) -> None:
        """From here on this is a step of others; refused where they would give masks another interpolation."""
        if not self._standalone:
            super().set_mask_interpolation(mask_interpolation)
            return
        if not self.nests:
            raise TypeError(_NESTED.format(self.compiled.recipe.kind))
        if mask_interpolation is not None:
            raise TypeError(_MASKS)
        self.nested = self.nested or Nested()
        self._own_settings = [(each, each.processors, each.check_each_transform) for each in _groups(self)]
        for step in _steps(self):
            step.set_processors = _keep_processors

    def set_random_seed(self, seed: int | None) -> None:
        """The seed of the outer Compose; refused where there is none: the seed is part of what was compiled."""
        if not self._standalone:
            super().set_random_seed(seed)
        elif self.nested is None:
            raise TypeError(_SEED)
        else:
            self.nested.py_random = random.Random(seed)

    def set_random_state(self, random_generator: np.random.Generator, py_random: random.Random) -> None:
        """The generators of the outer Compose; refused, as `set_random_seed`, where there is none."""
        if self.nested is None:
            raise TypeError(_SEED)
        self.nested.py_random = py_random

    def disable_check_args_private(self) -> None:
        """An outer Compose has put its processors in the place of ours: it keeps them to itself."""
        if not self._standalone:
            super().disable_check_args_private()
        elif self.nested is not None:
            self.nested.limit({name: processor.params for name, processor in self.processors.items()})
            for each, processors_, checked in self._own_settings:
                each.processors, each.check_each_transform = processors_, checked

    def set_deterministic(self, flag: bool, save_key: str = "replay") -> None:
        """Refused: every sample can be had again."""
        self.nested = None
        raise TypeError("a sample is replayed from its key: pipeline.at(index, epoch)(image=image)")

    # What other versions of albumentations do with + and -, and what saves.

    def __add__(self, other: Any) -> Any:
        """An `A.Compose` of this pipeline and steps of albumentations behind it."""
        if self.nests and self.compiled.recipe.output.layout == "chw":
            raise TypeError(_ENDS_IN_CHW)
        return self._with([self, *_as_steps(other)])

    def __radd__(self, other: Any) -> Any:
        """An `A.Compose` of steps of albumentations and this pipeline behind them."""
        return self._with([*_as_steps(other), self])

    def _with(self, parts: list[Any]) -> Any:
        arguments = processors(self.compiled.recipe.inputs)
        for params in arguments.values():
            params.label_fields = params.label_fields[:-1] or None  # the last numbers rows
        return A.Compose(parts, **arguments)

    def _refuse_arithmetic(self, _: Any) -> NoReturn:
        raise TypeError(_NO_ARITHMETIC)

    __sub__ = __rsub__ = __mul__ = __rmul__ = _refuse_arithmetic

    def to_dict(self, on_not_implemented_error: str = "raise") -> dict[str, Any]:
        """What `A.save` writes: the recipe as plain albumentations, which draws in its own way."""
        saved: dict[str, Any] = super().to_dict(on_not_implemented_error)
        if (name := self.compiled.recipe.name) not in _warned:
            _warned.add(name)
            _log.warning("%s is saved as plain albumentations, without its keys; recipe.to_yaml() keeps them", name)
        return saved

    def to_dict_private(self) -> dict[str, Any]:
        """The recipe as `eject` has it; refused where no Compose can carry it out."""
        if not self.nests:
            self.get_dict_with_id()
        plain = self.compiled.recipe.to_albumentations(self.compiled.mode)
        return {**plain.to_dict_private(), "p": self.p}

    def get_dict_with_id(self) -> NoReturn:
        """Refused: albumentations could not replay it."""
        of = self.compiled
        again = f"mode={of.mode!r}, optimize={of.optimize!r}, seed={of.seed}"
        raise TypeError(
            "albumentations would lose a compiled pipeline's keys and output. Save the recipe: "
            f"Path('recipe.yaml').write_text(pipeline.recipe.to_yaml()); ar.load('recipe.yaml').compile({again}) makes "
            "this pipeline again. Or pickle it."
        )


def _refuse_step(*_: Any) -> NoReturn:
    raise TypeError(_STEPS)


def _keep_processors(_: Any) -> None:
    """In the place of a step's `set_processors`: those of an outer Compose are none of its."""


def _groups(compose: Any) -> Iterator[Any]:
    """A Compose or group, and those in it."""
    yield compose
    for child in compose.transforms:
        if isinstance(child, A.BaseCompose):
            yield from _groups(child)


def _steps(compose: Any) -> Iterator[Any]:
    """The steps of a Compose, and of the groups in it."""
    return (step for group in _groups(compose) for step in group.transforms if hasattr(step, "set_processors"))


def _as_steps(other: Any) -> list[Any]:
    """What is added: a step of albumentations, or some."""
    steps = list(other) if isinstance(other, list | tuple) else [other]
    for step in steps:
        if not isinstance(step, A.BasicTransform | A.BaseCompose):
            raise TypeError(f"steps of albumentations can be added to a compiled pipeline, not {step!r}")
    return steps
