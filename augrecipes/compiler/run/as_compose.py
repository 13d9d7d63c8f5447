"""A compiled recipe among albumentations' own pipelines: what it takes part in, and what to do instead of the rest."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar, NoReturn

import numpy as np

from augrecipes.compat.albumentations import A, Compose
from augrecipes.compat.steps import share_processors
from augrecipes.compiler.kernels.sink import Sink
from augrecipes.compiler.lowering.lower import Sites, lower, transforms_of
from augrecipes.compiler.rewrite import Compiled
from augrecipes.compiler.run import deep_images
from augrecipes.compiler.run.draws import Draws
from augrecipes.compiler.run.output_size_guard import guard
from augrecipes.recipe.model import Recipe, named
from augrecipes.report import Displayed

_SEVERAL = (
    "several images make up a sample of this recipe, and A.Compose, A.OneOf and other groups hand over one: a "
    "pipeline of kind {} cannot be a step of theirs. Write their steps into the recipe (OneOf and other groups too; a "
    "class of your own: ar.register), or call one after the other"
)
_MASKS = "a compiled pipeline keeps its masks' interpolation: say it in the recipe, step by step"
_ALONE = "{} of the recipe mean nothing among others' steps: call this pipeline by itself"
_SEED = "a pipeline's draws are keyed by its seed; for another seed, recipe.compile(seed=...)"
_STEPS = (
    "this step belongs to a compiled pipeline, which keys its draws; A.Compose([*pipeline]) has steps of its own, as "
    "the recipe has them, without the recipe's output"
)
_BITS = 63


class AsCompose(Displayed, Compose):
    """An albumentations Compose whose steps are its own, and which may be a step of another Compose, or of a group.

    There albumentations runs its steps as they are written, and the recipe's output behind them: so boxes, keypoints
    and further targets are the outer Compose's. Each call draws at a key that a number of the outer generator decides;
    `at` does what it always does. `p` is its probability there, and its weight in a OneOf. `len`, iteration and
    indexing give the outermost steps as the recipe has them: new transforms, with draws of their own.
    `pipeline.recipe.steps` are the same as data.

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

    Attributes:
        nests: one image is a sample.
        keys_draws: those of the steps inside.
        keyed_steps: that draw by the recipe's keys; `transforms` are those that other composes see.
        nested: what runs where this is a step of others; None: it is not.
        outer_random: the generator that decides the keys there.
    """

    nests: ClassVar[bool] = False
    keys_draws: ClassVar[bool] = True
    keyed_steps: list[Any]
    nested: Any = None
    outer_random: random.Random

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

    # As a step of others.

    def run_nested(self, stream: int, force_apply: bool, targets: dict[str, Any]) -> dict[str, Any]:
        """One call; a group that has chosen it applies it by force. `stream`: tells this process from others."""
        if not force_apply and self.p < 1 and self.outer_random.random() >= self.p:
            return targets
        self._nested_draws.position(stream, self.outer_random.getrandbits(_BITS))
        done: dict[str, Any] = self.nested(force_apply=True, **targets)
        return done

    def _nest(self) -> None:
        of = self.compiled
        lowered, sites = lower(of.steps)
        guard(sites, of.recipe.max_bytes)
        deep_images.attach((step for step, _, _ in sites), of.recipe.inputs, self.image_names)
        output = [_OutputStep(of.recipe), *([A.ToTensorV2()] if of.recipe.output.layout == "chw" else [])]
        self.nested = Compose(
            [*transforms_of(lowered), *output], is_check_shapes=False, additional_targets=dict(of.added) or None
        )
        self._nested_draws = Draws(of.seed)
        for step, site, _ in sites:
            step.random_generator, step.py_random = self._nested_draws.add(site)
        self._own_settings = self.processors, self.check_each_transform
        self.transforms, self.outer_random = self.nested.transforms, random.Random()

    # What albumentations calls on the parts of a group; each begins with the first.

    def set_mask_interpolation(self, mask_interpolation: int | None) -> None:
        """From here on this is a step of others; refused where they would give masks another interpolation."""
        if not self._standalone:
            super().set_mask_interpolation(mask_interpolation)
            return
        if not self.nests:
            raise TypeError(_SEVERAL.format(self.compiled.recipe.kind))
        if mask_interpolation is not None:
            raise TypeError(_MASKS)
        inputs = self.compiled.recipe.inputs
        points = inputs.keypoints
        before_steps = {
            "further `targets:`": inputs.targets,
            "`of` and `flip_pairs` of keypoints": points is not None and (points.of or points.flip_pairs),
            "`take` of channels": inputs.takes_channels,
            "pixels of `nodata`": inputs.nodata is not None,
            "`values` and `threshold` of masks": inputs.mask_labels,
        }
        if words := [what for what, is_said in before_steps.items() if is_said]:
            raise TypeError(_ALONE.format(", ".join(words)))
        if self.nested is None:
            self._nest()

    def set_random_seed(self, seed: int | None) -> None:
        """The seed of the outer Compose; refused where there is none: the seed is part of what was compiled."""
        if self._standalone:
            self.set_random_state(None, random.Random(seed))
        else:
            super().set_random_seed(seed)

    def set_random_state(self, random_generator: np.random.Generator | None, py_random: random.Random) -> None:
        """The generators of the outer Compose; refused, as `set_random_seed`, where there is none."""
        if self.nested is None:
            raise TypeError(_SEED)
        self.outer_random = py_random

    def disable_check_args_private(self) -> None:
        """An outer Compose has put its processors in the place of ours: they are for the steps that it sees."""
        if not self._standalone:
            super().disable_check_args_private()
        elif self.nested is not None:
            self.nested.processors, self.nested.check_each_transform = self.processors, self.check_each_transform
            self.nested.disable_check_args_private()
            self.processors, self.check_each_transform = self._own_settings

    def __setstate__(self, state: tuple[float, tuple[Any, ...] | None]) -> None:
        self.p, outer = state
        if outer is not None:
            self._nest()
            self.outer_random, self.processors, self.check_each_transform = outer
            self.disable_check_args_private()
            share_processors(self.nested, self.transforms)

    def state(self) -> tuple[float, tuple[Any, ...] | None]:
        """What a copy, or a pickle, has to know beside what was compiled."""
        of = self.nested
        return self.p, None if of is None else (self.outer_random, of.processors, of.check_each_transform)

    def set_deterministic(self, flag: bool, save_key: str = "replay") -> None:
        """Refused: every sample can be had again."""
        self.nested, self.transforms = None, self.keyed_steps
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


class _OutputStep(A.ImageOnlyTransform):  # type: ignore[misc]
    """What the recipe's output says, of images that stay H×W×C."""

    def __init__(self, recipe: Recipe) -> None:
        super().__init__(p=1)
        self._sink = Sink(replace(recipe.output, layout="hwc"), recipe.inputs.range, recipe.inputs.deep_dtype)

    def apply(self, img: np.ndarray, **_: Any) -> np.ndarray:
        """An image H×W×C or H×W."""
        made = self._sink(np.atleast_3d(img))
        return made[..., 0] if img.ndim < made.ndim and made.shape[2] == 1 else made


def _refuse_step(*_: Any) -> NoReturn:
    raise TypeError(_STEPS)
