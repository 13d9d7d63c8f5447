"""The programs of a pipeline: for images, and for masks of each dtype; each is made on first use."""

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
    """Why a pipeline cannot run as a program, whatever its steps; None: it can."""
    if pipeline.optimize == "none":
        return "`none` runs its steps as albumentations does"
    if why := pipeline.recipe.inputs.why_not_native:
        return str(why)
    if pipeline.arrival in UNOPTIMIZED_INPUTS:
        return "images are not uint8, or arrive together with other images or masks"
    return "images come decoded" if pipeline.arrival == "encoded" and not pipeline.takes_files else None


class Programs:
    """The programs of a pipeline.

    Args:
        pipeline: the pipeline of one thread and one arrival.
        lowered: its lowered steps.
    """

    def __init__(self, pipeline: Any, lowered: Sequence[Any]) -> None:
        self._pipeline, self._lowered = pipeline, lowered
        self._mask_programs: dict[tuple[np.dtype[Any], bool], Program | str] = {}

    @cached_property
    def images(self) -> Program | str:
        """The program of images, or why there is none."""
        pipeline = self._pipeline
        if (why := why_not_native(pipeline)) is not None:
            return why
        return self._make(
            lambda maker: maker.images(self._lowered, pipeline.sinks["image"], files=pipeline.takes_files)
        )

    @property
    def opaque(self) -> Mapping[int, tuple[Any, bool]]:
        """The steps at the exits of images by place, and whether their group has chosen them."""
        return {} if isinstance(self.images, str) else self.images.opaque

    @cached_property
    def has_exits(self) -> bool:
        """Whether Python runs some or all steps."""
        return isinstance(self.images, str) or bool(self.images.opaque)

    def masks(self, dtype: np.dtype[Any] = _UINT8, *, wide: bool | None = None) -> Program | str:
        """The program of masks of a dtype, or why there is none; `wide`: to int64; None: as the output asks."""
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
            return "they are filled with values beyond 0 to 255"
        if isinstance(self.images, str):
            return self.images
        if pipeline.recipe.inputs.mask == "absent":
            return "there are none"
        options = {"wide": wide} if dtype == _UINT8 else {"dtype": dtype, "exactly": pipeline.optimize == "exact"}
        images = self.images
        return self._make(lambda maker: maker.masks(self._lowered, images, **options))

    def _make(self, make: Callable[[ProgramMaker], Program]) -> Program | str:
        """The program that `make` returns, or why it raises OpaqueError."""
        try:
            return self._pipeline.watched(make(self._maker))
        except OpaqueError as reason:
            return str(reason)

    @cached_property
    def _maker(self) -> ProgramMaker:
        return ProgramMaker(self._pipeline)

    @cached_property
    def why_not_together(self) -> str | None:
        """Why samples run one by one; None: a batch runs in one call, except samples that reach exits."""
        if isinstance(self.images, str):
            return self.images
        if self._pipeline.compiled.save_applied_params:
            return "the drawn parameters are asked for"
        if self.images.python_draws:
            return f"{self._pipeline.label_of(next(iter(self.images.python_draws.values())))} draws by boxes"
        return None
