"""An albumentations Compose that runs through the compiler, and is called as it was before."""

from __future__ import annotations

import random
from collections.abc import Iterator
from copy import deepcopy
from functools import cache, partial
from typing import Any

from augrecipes.accelerate.keyed import KeyedCopy, StepReport, class_made, sample_for
from augrecipes.accelerate.pipeline import CompiledCompose, ComposePipeline
from augrecipes.accelerate.steps import converts, flat, object_step, output_and_last, sites_of, step_of
from augrecipes.compat.albumentations import A, restore_composes
from augrecipes.compiler.lowering.lower import parts_of
from augrecipes.compiler.rewrite import Plan, plan
from augrecipes.compiler.run.draws import CounterRandom, Draws
from augrecipes.flow import Arrival
from augrecipes.recipe.model import Boxes, Inputs, Optimize, Recipe
from augrecipes.seeds import END_OF_KEYS, finalise, mix

_ARRIVALS: tuple[Arrival, ...] = ("uint8", "float32", "together")
_UNIT = 2.0**-53
_BITS = 63
_UNKNOWN = "no kernel knows it, or not with these arguments"
_CHECKS = ("is_check_shapes", "strict")
_OF_OUTER = ("main_compose", "processors", "check_each_transform")
# A class of somebody's that does one of these in its own way is called as it is.
_METHODS = ("__call__", "preprocess", "postprocess", "check_data_post_transform")


class Accelerated(KeyedCopy, A.Compose):  # type: ignore[misc]
    """An `A.Compose` whose steps run through the compiler: see `augrecipes.accelerate.accelerate`."""

    keys_draws = True  # those of its transforms, where another pipeline keys its own
    source: Any = A.Compose
    _is_keyed = False  # it draws by the generators of a pipeline that keys them
    _ends: int | None = None  # transforms of which an image is known to leave as uint8

    @staticmethod
    @cache
    def class_of(source: Any) -> type[Accelerated]:
        """The class of what is made of a Compose of this class, of which it is one, too."""
        is_own = any(getattr(source, name) is not getattr(A.Compose, name) for name in _METHODS)
        return Accelerated if source is A.Compose else class_made(Accelerated, source, is_own=is_own)

    def _key_generators(self) -> None:
        """Where albumentations runs it all, let its generators go by the calls of this; else none of them is used."""
        if not self._is_keyed:
            self._draws = Draws(0)
            self.random_generator, self.py_random = self._draws.add("Compose")
        if self.why_not:
            super().set_random_state(self.random_generator, self.py_random)

    def __call__(self, *args: Any, **data: Any) -> dict[str, Any]:
        """A sample, as `A.Compose` takes and gives it, with draws that no other call makes."""
        epoch, index = (END_OF_KEYS, self.py_random.getrandbits(_BITS)) if self._is_keyed else self._key()
        if self.why_not or args:
            if self.why_not and not self._is_keyed:
                self._draws.position(epoch, index)
            return super().__call__(*args, **data)
        force_apply = data.pop("force_apply", False)
        if self.save_applied_params and self.main_compose:
            data["applied_transforms"] = []
        if self.p < 1 and not force_apply and (finalise(mix(epoch, index)) >> 11) * _UNIT >= self.p:
            return data
        pipeline: ComposePipeline | None = self.current()
        return self(force_apply=True, **data) if pipeline is None else pipeline.run(epoch, index, 0, data)

    # What albumentations calls on the parts of a pipeline.

    def set_random_seed(self, seed: int | None) -> None:
        """From here on draw as this seed has it: the same after each such call, in each worker its own."""
        super().set_random_seed(seed)
        self._is_keyed = False
        self.start(seed)

    def set_random_state(self, random_generator: Any, py_random: random.Random) -> None:
        """From here on draw as the next number of `py_random` has it; of one that is keyed as each sample's has."""
        super().set_random_state(random_generator, py_random)
        self._is_keyed = isinstance(py_random, CounterRandom)
        if not self._is_keyed:
            self.start(py_random.getrandbits(_BITS))

    def set_deterministic(self, flag: bool, save_key: str = "replay") -> None:
        """Note what is drawn, or no longer: albumentations does that, and so it runs all steps."""
        super().set_deterministic(flag, save_key)
        self.why_not = "it notes what it draws" if flag else type(self).why_not
        self.start(self._number)

    def set_mask_interpolation(self, mask_interpolation: int | None) -> None:
        """Set how masks are interpolated."""
        super().set_mask_interpolation(mask_interpolation)
        self._made = None

    def add_targets(self, additional_targets: dict[str, str] | None) -> None:
        """Add targets."""
        super().add_targets(additional_targets)
        self._made = None

    def disable_check_args_private(self) -> None:
        """From here on this is a step of another Compose, whose processors it has."""
        super().disable_check_args_private()
        self._made = None

    @classmethod
    def is_serializable(cls) -> bool:
        """Whether albumentations may load dicts as this class: they name the one that it was made of."""
        return False

    def to_dict_private(self) -> dict[str, Any]:
        """What `A.save` writes: the Compose that it was made of. This process makes it accelerated again."""
        saved = {**super().to_dict_private(), "__class_fullname__": self.source.get_class_fullname()}
        restore_composes(partial(accelerated, optimize=self._optimize, seed=self.seed), saved)
        return saved

    def get_dict_with_id(self) -> dict[str, Any]:
        """What a `ReplayCompose` notes."""
        return {**super().get_dict_with_id(), "__class_fullname__": self.source.get_class_fullname()}

    # The pipeline.

    def _uncompiled(self, why_not: str) -> None:
        self.why_not = why_not
        self.start(self._number)

    def _compiled(self) -> ComposePipeline:
        transforms = flat(self.transforms)
        parts = [part for each in transforms for part in (each, *parts_of(each))]
        if any(getattr(part, "deterministic", False) for part in parts):
            raise ValueError("a transform notes what it draws")
        converting = (k for k, transform in enumerate(transforms) if k == self._ends or converts(transform))
        ends = next(converting, len(transforms))
        output, last = output_and_last(transforms[ends:])
        self._labels = sites_of(transforms)
        steps = tuple(map(step_of, transforms[:ends], self._labels))
        rest = tuple(map(object_step, transforms[ends + len(last) :], self._labels[ends + len(last) :]))
        own = {name: processor.params for name, processor in self.processors.items() if self.main_compose}
        more = {name: getattr(self, name) for name in (_CHECKS if self.main_compose else _CHECKS + _OF_OUTER)}
        inputs = Inputs(boxes=Boxes("albumentations") if self.processors else None)
        recipe = Recipe("accelerated", inputs=inputs, steps=steps, output=output, max_bytes=None)
        plans: dict[Arrival, Plan] = {each: plan(recipe, steps, self._optimize, each) for each in _ARRIVALS}
        compiled = CompiledCompose(
            recipe, "train", self._optimize, 0, False, plans, added=dict(self.additional_targets), last=last,
            rest=rest, params=own, attributes=more, convert=self._convert,
        )  # fmt: skip
        return ComposePipeline(compiled)

    def _convert(self, site: str) -> None:
        """Let the transforms from this one on, which leaves no uint8 image, run as they are from the next call on."""
        self._ends, self._made = self._labels.index(site.partition("/")[0]), None

    # What it says of itself.

    def _drawn(self) -> tuple[Any, dict[str, Any]]:
        return (), sample_for(self.processors)

    def _steps(self) -> Iterator[StepReport]:
        pipeline: ComposePipeline = self._made
        native, compiled = pipeline.native, pipeline.compiled
        opaque = () if isinstance(native, str) else {id(step) for step, _ in native.opaque.values()}
        for step, transform in zip(compiled.recipe.steps, pipeline.transforms, strict=True):
            inside = ", ".join(type(each).__name__ for each in parts_of(transform) if id(each) in opaque)
            why = native if isinstance(native, str) else _UNKNOWN if id(transform) in opaque else ""
            remark = why or (f"but for {inside}" if inside else "")
            yield StepReport(step.site, "albumentations" if why else "native", remark)
        if compiled.last:
            yield StepReport(", ".join(type(each).__name__ for each in compiled.last), "native", "one pass")
        for step in compiled.rest:
            yield StepReport(step.site, "as it was", "after what is no longer a uint8 image")


def accelerated(transform: Any, optimize: Optimize, seed: int | None) -> Accelerated:
    """A Compose, or one of a transform, that is accelerated."""
    if not isinstance(transform, A.Compose):
        transform = A.Compose([deepcopy(transform)])
    compose: Accelerated = Accelerated.of(transform, optimize, transform.seed if seed is None else seed)
    compose.seed = transform.seed if seed is None else seed
    return compose
