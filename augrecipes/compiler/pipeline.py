"""Pipeline: a compiled recipe, an albumentations Compose whose every draw is keyed."""

from __future__ import annotations

import copy
import itertools
import operator
import os
import random
import sys
import threading
from dataclasses import dataclass
from typing import Any

import albumentations as A
import numpy as np
from albumentations.core.label_manager import LabelManager

from augrecipes.compiler.draws import Draws
from augrecipes.compiler.kernels.joined import Joined
from augrecipes.compiler.kernels.moves import Moved
from augrecipes.compiler.kernels.sink import Sink
from augrecipes.compiler.lower import lower
from augrecipes.compiler.plan import Compiled, Plan
from augrecipes.compiler.points import processors, take_points
from augrecipes.compiler.seeds import MASK, mix
from augrecipes.compiler.targets import check_image, check_presence, mask_in, mask_out
from augrecipes.errors import AugrecipesError, DataError
from augrecipes.flow import Dtype
from augrecipes.recipe.model import Mode, Optimize, Recipe

# Bare calls live in epochs that `at` refuses, so that the two can never meet.
_BARE = 1 << 63


class Pipeline(A.Compose):  # type: ignore[misc]
    """A compiled recipe: numpy arrays in, numpy arrays out.

    Targets in: `image` uint8 (0..255) or float32 (0..1), H×W or H×W×C; `mask` H×W of labels; `boxes` (n, 4) in the
    recipe's format with the labels under their own key; `keypoints` (n, 2 or more). `bboxes` is understood as well.
    Targets out: `image` as the recipe's `output` says; `mask` int64 H×W; `boxes` and `keypoints` float32; none of
    them shares memory with what went in. Whatever else came in comes out as the same object. With `save_applied_params`
    also `applied`: (label, class, parameters) of each step that acted.

    Draws: `at(index, epoch, tile)` decides every draw; see `augrecipes.compiler.draws`. A bare call counts for itself
    and mixes in the seed of the DataLoader worker that it runs in. One pipeline may be used from many threads.

    Errors: DataError for arrays that are not what the recipe's inputs say, and for a step that fails (it is named).
    """

    def __init__(self, compiled: Compiled, dtype: Dtype = "uint8") -> None:
        self.compiled = compiled
        self.dtype = dtype
        inputs = compiled.recipe.inputs
        transforms, sites = lower(compiled.plans[dtype].steps)
        super().__init__(transforms, is_check_shapes=False, **processors(inputs))
        self.draws = Draws(compiled.seed)
        for made, site in sites:
            made.random_generator, made.py_random = self.draws.add(site)
        self._labels = {id(made): site for made, site in sites}
        self._acting = [(made, site) for made, site in sites if isinstance(made, A.BasicTransform)]
        self._sink = Sink(compiled.recipe.output)
        self._home, self._stream, self._count = _home(), _BARE, itertools.count()
        self.seed = compiled.seed  # Compose has set its own, None
        self._owner, self._local = threading.get_ident(), threading.local()
        self._twin: Pipeline | None = None

    # What it was compiled from.

    @property
    def recipe(self) -> Recipe:
        """The source."""
        return self.compiled.recipe

    @property
    def mode(self) -> Mode:
        """`train` or `eval`."""
        return self.compiled.mode

    @property
    def optimize(self) -> Optimize:
        """`none`, `exact` or `fast`."""
        return self.compiled.optimize

    # Calling.

    def at(self, index: int, epoch: int = 0, tile: int = 0) -> At:
        """The pipeline at one sample's key: call it with the targets. Integers from 0 to 2⁶³ − 1."""
        return At(self, _key_part("index", index), _key_part("epoch", epoch), _key_part("tile", tile))

    def __call__(self, *args: Any, force_apply: bool = False, **targets: Any) -> dict[str, Any]:
        """Run once with draws that no other bare call makes; `at` is the reproducible call.

        In the process that compiled it, the k-th bare call always draws the same (and a copy counts from the start
        again). In a DataLoader worker the worker's seed decides, in any other process the operating system does.
        """
        del force_apply
        if args:
            raise TypeError("pass the targets by name: pipeline(image=image)")
        if os.getpid() != self._home:
            self._home, self._stream = os.getpid(), _BARE | _process_stream()
        return self.run(self._stream, next(self._count), 0, targets)

    def run(self, epoch: int, index: int, tile: int, targets: dict[str, Any]) -> dict[str, Any]:
        """One sample at one key."""
        mine = self._for_this_thread()
        image = targets.get("image")
        if image is not None and getattr(image, "dtype", None) == np.float32 and mine.dtype != "float32":
            mine = mine._for_floats()
        data, finish = mine._prepare(targets)
        data = mine._steps(data, epoch, index, tile, None)
        return finish(data)

    def stages(self, index: int, epoch: int = 0) -> Stages:
        """Like `at`, but the call returns [(label, image)] after each outermost step as written, before the sink."""
        return Stages(self, index, epoch)

    def __reduce__(self) -> tuple[Any, ...]:
        # Compiling again is quicker than pickling generators, and cannot go stale.
        return _rebuild, (self.compiled, self.dtype, self._home, self._stream, _registered(self.recipe))

    def set_random_seed(self, seed: int | None) -> None:
        """Refused: the seed is part of what was compiled."""
        if "_labels" in self.__dict__:  # Compose's own constructor calls this once
            raise TypeError("a pipeline's draws are keyed; for another seed, recipe.compile(seed=...)")
        super().set_random_seed(seed)

    def set_random_state(self, random_generator: np.random.Generator, py_random: random.Random) -> None:
        """Refused, as `set_random_seed`."""
        raise TypeError("a pipeline's draws are keyed; for another seed, recipe.compile(seed=...)")

    # The parts of a call.

    def _for_this_thread(self) -> Pipeline:
        """This pipeline or, in another thread than it was made in, a copy of the thread's own: steps hold state."""
        if threading.get_ident() == self._owner:
            return self
        mine: Pipeline | None = getattr(self._local, "pipeline", None)
        if mine is None:
            mine = self._local.pipeline = Pipeline(self.compiled, self.dtype)
        return mine

    def _for_floats(self) -> Pipeline:
        """The pipeline with the plan for float32 images."""
        if self._twin is None:
            self._twin = Pipeline(self.compiled, "float32")
        return self._twin

    def _prepare(self, targets: dict[str, Any]) -> tuple[dict[str, Any], Any]:
        """The targets as albumentations wants them, and the function that turns its result into a sample."""
        inputs = self.recipe.inputs
        data = dict(targets)
        data["image"] = image = check_image(data.get("image"), inputs)
        mask = data.get("mask")
        check_presence("mask", inputs.mask, given=mask is not None)
        if mask is None:
            data.pop("mask", None)
        else:
            data["mask"] = mask_in(mask, image)
        mask_dtype = None if mask is None else mask.dtype
        box_key = "bboxes" if "bboxes" in data else "boxes"
        points = (
            take_points(data, box_key, "bboxes", inputs.boxes, 4),
            take_points(data, "keypoints", "keypoints", inputs.keypoints, 2),
        )

        def finish(done: dict[str, Any]) -> dict[str, Any]:
            done["image"] = self._sink(done["image"])
            if mask_dtype is not None:
                done["mask"] = mask_out(done["mask"], mask_dtype)
            for taken in points:
                if taken is not None:
                    taken.put_back(done)
            if self.compiled.save_applied_params:
                done["applied"] = self._applied()
            return done

        return data, finish

    def _steps(
        self, data: dict[str, Any], epoch: int, index: int, tile: int, stages: list[tuple[str, np.ndarray]] | None
    ) -> dict[str, Any]:
        """Albumentations' own loop, every step at its key."""
        self.draws.position(epoch, index, tile)
        if self.compiled.save_applied_params:
            for step, _ in self._acting:
                step.params = {}  # a step that is not called keeps the parameters of its last sample
        try:
            for processor in self.processors.values():
                processor.label_manager = LabelManager()  # it remembers the labels of the sample before
            self.preprocess(data)
            for step in self.transforms:
                data = step(**data)
                if self.check_each_transform and not isinstance(step, Joined):
                    data = self.check_data_post_transform(data)
                if stages is not None:
                    stages.append((self._labels.get(id(step), ""), _copy_of(data["image"])))
            image = data["image"]
            if image.dtype not in (np.uint8, np.float32):
                raise DataError(
                    f"the steps left an image of {image.dtype}; images are uint8 (0..255) or float32 (0..1)"
                )
            if isinstance(image, Moved):
                data["image"] = image.stand_in()  # the boxes' last filter reads its size
            data = self.postprocess(data)
            data["image"] = image if isinstance(image, Moved) or image.ndim == 3 else image[..., None]
        except AugrecipesError:
            raise
        except Exception as error:
            step_label = self._culprit(error)
            raise DataError(f"{type(error).__name__}: {str(error).strip() or 'no message'}", step=step_label) from error
        return data

    def _culprit(self, error: BaseException) -> str | None:
        """The label of the innermost step that was running when `error` was raised."""
        label, trace = None, error.__traceback__
        while trace is not None:
            label = self._labels.get(id(trace.tb_frame.f_locals.get("self")), label)
            trace = trace.tb_next
        return label

    def _applied(self) -> list[tuple[str, str, dict[str, Any]]]:
        return [
            (site, type(step).__name__, copy.deepcopy({k: v for k, v in step.params.items() if k != "shape"}))
            for step, site in self._acting
            if step.params
        ]


@dataclass(frozen=True, slots=True)
class At:
    """A pipeline at the key of one sample; call it with the targets, as often as you like: the result is the same."""

    pipeline: Pipeline
    index: int
    epoch: int
    tile: int

    def __call__(self, **targets: Any) -> dict[str, Any]:
        """The sample."""
        return self.pipeline.run(self.epoch, self.index, self.tile, targets)


@dataclass(frozen=True, slots=True)
class Stages:
    """A pipeline at the key of one sample, that shows what each step does to it."""

    pipeline: Pipeline
    index: int
    epoch: int

    def __call__(self, **targets: Any) -> list[tuple[str, np.ndarray]]:
        """[(label, image)] after each outermost step, of the recipe as it was written."""
        compiled = self.pipeline.compiled
        source = Plan(compiled.recipe.section(compiled.mode) or ())
        plain = Pipeline(
            Compiled(compiled.recipe, compiled.mode, "none", compiled.seed, False, {"uint8": source, "float32": source})
        )
        found: list[tuple[str, np.ndarray]] = []
        data, _ = plain._prepare(targets)
        plain._steps(data, self.epoch, self.index, 0, found)
        return found


def _key_part(name: str, value: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, got {value!r}") from None
    if not 0 <= number < _BARE:
        raise ValueError(f"{name} must be an integer from 0 to 2⁶³ − 1, got {value}")
    return number


def _copy_of(image: np.ndarray) -> np.ndarray:
    return np.array(image if image.ndim == 3 else image[..., None])


def _home() -> int:
    """The process whose bare calls need no more than a count; none, where a DataLoader worker compiles for itself."""
    return -1 if _worker_seed() is not None else os.getpid()


def _worker_seed() -> int | None:
    """The seed of the DataLoader worker that this process is, or None."""
    # torch is asked only where it is already imported: a worker of its DataLoader cannot run without it.
    torch = sys.modules.get("torch")
    worker = torch.utils.data.get_worker_info() if torch is not None else None
    return None if worker is None else int(worker.seed)


def _process_stream() -> int:
    """What tells this process's bare calls from those of every other: the DataLoader worker's seed, or chance."""
    seed = _worker_seed()
    return mix(int.from_bytes(os.urandom(8), "little") if seed is None else seed) & (MASK >> 1)


def _registered(recipe: Recipe) -> dict[str, type]:
    """The classes of the program's own that the recipe names; a new process may not have registered them yet."""
    from augrecipes.ops.registry import registered

    own = registered()
    return {step.name: own[step.name] for step in recipe.walk() if step.name in own}


def _rebuild(compiled: Compiled, dtype: Dtype, home: int, stream: int, classes: dict[str, type]) -> Pipeline:
    from augrecipes.ops.registry import register, registered

    for name, cls in classes.items():
        if name not in registered():
            register(cls)
    made = Pipeline(compiled, dtype)
    made._home, made._stream = home, stream
    return made
