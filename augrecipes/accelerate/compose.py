"""An albumentations Compose that runs through the compiler, with the same interface."""

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
# A user's subclass that overrides one of these is not accelerated.
_METHODS = ("__call__", "preprocess", "postprocess", "check_data_post_transform")


class Accelerated(KeyedCopy, A.Compose):  # type: ignore[misc]
    """An `A.Compose` whose steps run through the compiler: see `augrecipes.accelerate.accelerate`."""

    keys_draws = True  # an outer pipeline must leave the draws of its transforms to it
    source: Any = A.Compose
    _is_keyed = False  # whether it draws by the generators of an outer pipeline that keys them
    _ends: int | None = None  # number of first transforms after which an image is known to be uint8

    @staticmethod
    @cache
    def class_of(source: Any) -> "type[Accelerated]":
        """The accelerated subclass of a Compose class."""
        is_own = any(getattr(source, name) is not getattr(A.Compose, name) for name in _METHODS)
        return Accelerated if source is A.Compose else class_made(Accelerated, source, is_own=is_own)

    def _key_generators(self) -> None:
        """Where albumentations runs all steps, give them generators that are positioned at each call."""
        if not self._is_keyed:
            self._draws = Draws(0)
            self.random_generator, self.py_random = self._draws.add("Compose")
        if self.why_not:
            super().set_random_state(self.random_generator, self.py_random)

    def __call__(self, *args: Any, **data: Any) -> dict[str, Any]:
        """Transform a sample as `A.Compose` does, with draws that no other call makes."""
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

    # Methods that albumentations calls on the parts of a pipeline.

    def set_random_seed(self, seed: int | None) -> None:
        """Restart the draws from a seed; each worker has its own."""
        super().set_random_seed(seed)
        self._is_keyed = False
        self.start(seed)

    def set_random_state(self, random_generator: Any, py_random: random.Random) -> None:
        """Restart the draws from the next number of `py_random`; follow a keyed generator at each sample."""
        super().set_random_state(random_generator, py_random)
        self._is_keyed = isinstance(py_random, CounterRandom)
        if not self._is_keyed:
            self.start(py_random.getrandbits(_BITS))

    def set_deterministic(self, flag: bool, save_key: str = "replay") -> None:
        """Turn replay on or off; with replay albumentations runs all steps."""
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
        """Make this a step of another Compose, whose processors it shares."""
        super().disable_check_args_private()
        self._made = None

    @classmethod
    def is_serializable(cls) -> bool:
        """False: saved dicts name the original class, not this one."""
        return False

    def to_dict_private(self) -> dict[str, Any]:
        """The dict that `A.save` writes, of the original Compose; this process accelerates it again when loaded."""
        saved = {**super().to_dict_private(), "__class_fullname__": self.source.get_class_fullname()}
        restore_composes(partial(accelerated, optimize=self._optimize, seed=self.seed), saved)
        return saved

    def get_dict_with_id(self) -> dict[str, Any]:
        """The dict that a `ReplayCompose` notes."""
        return {**super().get_dict_with_id(), "__class_fullname__": self.source.get_class_fullname()}

    # The pipeline.

    def _uncompiled(self, why_not: str) -> None:
        self.why_not = why_not
        self.start(self._number)

    def _compiled(self) -> ComposePipeline:
        transforms = flat(self.transforms)
        parts = [part for transform in transforms for part in (transform, *parts_of(transform))]
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
        plans: dict[Arrival, Plan] = {arrival: plan(recipe, steps, self._optimize, arrival) for arrival in _ARRIVALS}
        compiled = CompiledCompose(
            recipe, "train", self._optimize, 0, False, plans, added=dict(self.additional_targets), last=last,
            rest=rest, params=own, attributes=more, convert=self._convert,
        )  # fmt: skip
        return ComposePipeline(compiled)

    def _convert(self, site: str) -> None:
        """From the next call on, run the transforms from this one on, which leaves no uint8 image, as they are."""
        self._ends, self._made = self._labels.index(site.partition("/")[0]), None

    # The report.

    def _drawn(self) -> tuple[Any, dict[str, Any]]:
        return (), sample_for(self.processors)

    def _steps(self) -> Iterator[StepReport]:
        pipeline: ComposePipeline = self._made
        native, compiled = pipeline.native, pipeline.compiled
        opaque = () if isinstance(native, str) else {id(step) for step, _ in native.opaque.values()}
        for step, transform in zip(compiled.recipe.steps, pipeline.transforms, strict=True):
            inside = ", ".join(type(part).__name__ for part in parts_of(transform) if id(part) in opaque)
            why = native if isinstance(native, str) else _UNKNOWN if id(transform) in opaque else ""
            remark = why or (f"but for {inside}" if inside else "")
            yield StepReport(step.site, "albumentations" if why else "native", remark)
        if compiled.last:
            yield StepReport(", ".join(type(last).__name__ for last in compiled.last), "native", "one pass")
        for step in compiled.rest:
            yield StepReport(step.site, "as it was", "after what is no longer a uint8 image")


def accelerated(transform: Any, optimize: Optimize, seed: int | None) -> Accelerated:
    """Accelerate a Compose, or a transform as a Compose."""
    if not isinstance(transform, A.Compose):
        transform = A.Compose([deepcopy(transform)])
    compose: Accelerated = Accelerated.of(transform, optimize, transform.seed if seed is None else seed)
    compose.seed = transform.seed if seed is None else seed
    return compose
