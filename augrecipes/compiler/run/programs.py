"""The programs of a pipeline of images: of these, and of masks of each dtype; made when they are first asked for."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from augrecipes.compiler.executor.program import Program
from augrecipes.compiler.lowering.make_program import ProgramMaker
from augrecipes.compiler.lowering.walk import OpaqueError
from augrecipes.compiler.rewrite import UNOPTIMIZED_INPUTS
from augrecipes.ops.fills import mask_dtype

_UINT8 = np.dtype(np.uint8)


def why_not_native(pipeline: Any) -> str | None:
    """What keeps a pipeline from programs, whatever its steps are; None: nothing does."""
    if pipeline.optimize == "none":
        return "`none` runs its steps as albumentations does"
    if why := pipeline.recipe.inputs.why_not_native:
        return str(why)
    if pipeline.arrival in UNOPTIMIZED_INPUTS:
        return "images are no uint8, or come together with others"
    return "images come decoded" if pipeline.arrival == "encoded" and not pipeline.takes_files else None


class Programs:
    """The programs of a pipeline.

    Args:
        pipeline: whose steps these are, as images come to it; of one thread.
        lowered: the steps.
    """

    def __init__(self, pipeline: Any, lowered: Sequence[Any]) -> None:
        self._pipeline, self._lowered = pipeline, lowered
        self._mask_programs: dict[tuple[np.dtype[Any], bool], Program | str] = {}

    @cached_property
    def images(self) -> Program | str:
        """What carries out images, or why nothing does."""
        pipeline = self._pipeline
        if (why := why_not_native(pipeline)) is not None:
            return why
        return self._make(
            lambda maker: maker.images(self._lowered, pipeline.sinks["image"], files=pipeline.takes_files)
        )

    @property
    def opaque(self) -> Mapping[int, tuple[Any, bool]]:
        """The steps at the exits of images, by their places; and whether their group has chosen them."""
        return {} if isinstance(self.images, str) else self.images.opaque

    @cached_property
    def has_exits(self) -> bool:
        """Whether samples come to steps that Python runs, or are all Python's."""
        return isinstance(self.images, str) or bool(self.images.opaque)

    def masks(self, dtype: np.dtype[Any] = _UINT8, *, wide: bool | None = None) -> Program | str:
        """What carries out masks of a dtype, or why nothing does; `wide`: to int64; None: as the output has them."""
        if wide is None:
            output = self._pipeline.recipe.output
            wide = not self._pipeline.masks_keep_dtype and (output.dtype != "uint8" or output.where != "host")
        key = dtype, wide and dtype == _UINT8
        if key not in self._mask_programs:
            self._mask_programs[key] = self._mask_program(*key)
        return self._mask_programs[key]

    def _mask_program(self, dtype: np.dtype[Any], wide: bool) -> Program | str:
        pipeline = self._pipeline
        if dtype == _UINT8 and mask_dtype(_UINT8, pipeline.mask_fills) != _UINT8:
            return "they are filled with numbers beyond 0 to 255"
        if isinstance(self.images, str):
            return self.images
        if pipeline.recipe.inputs.mask == "absent":
            return "there are none"
        how = {"wide": wide} if dtype == _UINT8 else {"dtype": dtype, "exactly": pipeline.optimize == "exact"}
        images = self.images
        return self._make(lambda maker: maker.masks(self._lowered, images, **how))

    def _make(self, make: Callable[[ProgramMaker], Program]) -> Program | str:
        """What `make` makes, or why it does not."""
        try:
            return self._pipeline.watched(make(self._maker))
        except OpaqueError as reason:
            return str(reason)

    @cached_property
    def _maker(self) -> ProgramMaker:
        return ProgramMaker(self._pipeline)

    @cached_property
    def why_not_together(self) -> str | None:
        """Why samples of images are made one by one; None: they are made side by side, but for those with exits."""
        if isinstance(self.images, str):
            return self.images
        if self._pipeline.compiled.save_applied_params:
            return "what its steps draw is asked for"
        if self.images.python_draws:
            return f"{self._pipeline.label_of(next(iter(self.images.python_draws.values())))} draws by boxes"
        return None
