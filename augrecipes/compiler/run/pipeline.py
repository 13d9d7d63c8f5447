"""Pipeline: a compiled recipe of any kind, an albumentations Compose with keyed draws."""

import copy
import itertools
import os
import threading
from abc import abstractmethod
from collections.abc import Callable, Mapping, Set
from functools import cached_property, partial
from typing import Any, Self, TypeVar

import cv2

from augrecipes.compat.albumentations import running
from augrecipes.compiler.kernels import deep_steps, fast_apply
from augrecipes.compiler.lowering.lower import Sites
from augrecipes.compiler.rewrite import UNOPTIMIZED_INPUTS, Compiled
from augrecipes.compiler.rewrite.nodes import Steps
from augrecipes.compiler.run import deep_images, draws
from augrecipes.compiler.run.as_compose import AsCompose
from augrecipes.compiler.run.batch_threads import ThreadCopies
from augrecipes.compiler.run.cures import error_text
from augrecipes.compiler.run.draws import Draws
from augrecipes.compiler.run.objects import follow_mirrors
from augrecipes.compiler.run.output_size_guard import guard
from augrecipes.compiler.run.step_calls import call_plain, step_call
from augrecipes.compiler.run.target_steps import carry_targets
from augrecipes.errors import DataError
from augrecipes.flow import Arrival
from augrecipes.ops import groups, registry
from augrecipes.ops.fills import mask_fills
from augrecipes.ops.on_channels import OnChannels
from augrecipes.recipe.model import Mode, Optimize, Recipe
from augrecipes.seeds import END_OF_KEYS, key_part

P = TypeVar("P")


class Pipeline(AsCompose):
    """A compiled recipe: numpy arrays in, numpy arrays out.

    `at(index, epoch, tile)` decides every draw; see `augrecipes.compiler.run.draws`. Bare calls are counted, and mix in
    the seed of the DataLoader worker that they run in. A pipeline may be used from many threads, and can be pickled.
    The recipe's kind decides what goes in and what comes out: see ImagePipeline, PairPipeline and BagPipeline. Arrays
    that are no targets are an error; other values are returned as the same objects. With `save_applied_params` the
    result has `applied`: (label, class, parameters) of each step that acted.

    Errors: DataError for arrays that contradict the recipe's inputs, and for a step that fails, with its label.

    Attributes:
        targets: names of the image arrays that go in.
        outputs: names of the image arrays that come out.
        optional: those of `targets` that a sample may lack.
        sinks: by output, the conversion of the last step's image.
    """

    targets: tuple[str, ...] = ("image",)
    outputs: tuple[str, ...] = ("image",)
    optional: frozenset[str] = frozenset()
    sinks: dict[str, Any]
    call: Callable[..., Any] | None = None  # calls the steps that programs leave to Python
    watch: Callable[[Any], object] | None = None  # called with each new program
    trace: Callable[[int, int, int, dict[str, Any]], list[tuple[str, Any]]]  # what `stages` returns, in this thread
    caches_of_steps: tuple[str, ...] = ("native",)  # cached properties that depend on the steps
    masks_keep_dtype = False  # beside float images; otherwise masks leave as int64 there
    moves_views = False  # steps of deep images may return views, which the sink makes contiguous
    takes_points = True  # boxes and keypoints come in the sample's format, not in albumentations'
    floats_are_news = True  # no float32 image has come yet
    cells: Mapping[int, int] = {}  # see `guard`
    dressing: "Callable[[Pipeline], object] | None" = None

    def __init__(
        self, compiled: Compiled, arrival: Arrival, transforms: list[Any], sites: Sites, **processors: Any
    ) -> None:
        self.compiled, self.arrival = compiled, arrival
        if compiled.optimize != "none" and arrival not in UNOPTIMIZED_INPUTS:
            fast_apply.attach(step for step, _, _ in sites)
        elif compiled.optimize != "none" and arrival == "float32" and self.moves_views:
            deep_steps.attach((step for step, _, _ in sites), frozenset({*self.targets, "mask", deep_images.VALID}))
        deep_images.attach((step for step, _, _ in sites), compiled.recipe.inputs, self.image_names)
        for step in (step for step, _, _ in sites if isinstance(step, OnChannels)):
            step.image_names |= frozenset(self.image_names)
        super().__init__(
            transforms, is_check_shapes=False, additional_targets=dict(compiled.added) or None, **processors
        )
        self.draws = Draws(compiled.seed)
        for step, site, shared in sites:
            turn = getattr(step, "draw_turn", 0)
            step.random_generator, step.py_random = self.draws.add(site, shared=shared, turn=turn)
        guard(sites, self.recipe.max_bytes, self.cells)
        sites = [*sites, *carry_targets(sites, self.recipe.inputs, self.draws)]
        self.run_through(transforms)
        self.sites, self._labels = sites, {id(step): site for step, site, _ in sites}
        # Bare calls use epochs that `at` refuses, so that their keys never coincide.
        self._home, self._stream, self._count = draws.home_process(), END_OF_KEYS, itertools.count()
        self._owner, self.tried, self.seed = threading.get_ident(), set[Any](), compiled.seed  # Compose has set None
        Pipeline.renew(self, compiled)
        self.own_steps(sites)

    @property
    def image_names(self) -> tuple[str, ...]:
        """The names under which steps see images."""
        return ("image",)

    @property
    def recipe(self) -> Recipe:
        """The recipe that was compiled."""
        return self.compiled.recipe

    @property
    def mode(self) -> Mode:
        """`train` or `eval`."""
        return self.compiled.mode

    @property
    def optimize(self) -> Optimize:
        """`none`, `exact` or `fast`."""
        return self.compiled.optimize

    @property
    def reads(self) -> bool:
        """Whether it takes encoded images and decodes no more of them than it needs."""
        return "encoded" in self.compiled.plans and self.compiled.plans["encoded"].reads

    @property
    def takes_files(self) -> bool:
        """Whether this copy runs the plan for encoded images."""
        return self.arrival == "encoded" and self.reads

    @property
    def origins(self) -> dict[str, str]:
        """For each output the input that it is made of; a Degrade's output is made of its source's."""
        origins = {name: name for name in self.targets}
        for step in self.compiled.steps:
            if step.name == groups.DEGRADE:
                origins[step.args["target"]] = origins[step.args["source"]]
        return {name: origins.get(name, name) for name in self.outputs}

    @cached_property
    def mask_fills(self) -> tuple[float, ...]:
        """The values that steps may fill masks with."""
        return mask_fills(inner for step in self.compiled.steps for inner in step.walk())

    def nodes(self, arrival: Arrival | None = None) -> Steps:
        """The nodes of the plan for an arrival, in order; None: this pipeline's own arrival."""
        return self.compiled.plans[arrival or self.arrival].steps

    def target_of(self, name: str) -> str | None:
        """The target to which the image of this name belongs; None: no target."""
        return name if name in self.targets else None

    def at(self, index: int, epoch: int = 0, tile: int = 0) -> Callable[..., dict[str, Any]]:
        """The pipeline at the key of one sample; every call of it with the same targets gives the same result.

        Args:
            index: index of the sample, 0 to 2⁶³ − 1.
            epoch: the epoch, 0 to 2⁶³ − 1.
            tile: number of a tile in a bag or of a view, 0 to 2⁶³ − 1.
        """
        return partial(self._run_at, key_part("index", index), key_part("epoch", epoch), key_part("tile", tile))

    def _run_at(self, index: int, epoch: int, tile: int, /, **targets: Any) -> dict[str, Any]:
        return self.run(epoch, index, tile, targets)

    def __call__(self, /, *args: Any, force_apply: bool = False, **targets: Any) -> dict[str, Any]:
        """Run once with draws of its own; `at` is the reproducible call.

        In the process that compiled the pipeline the k-th bare call always draws the same; a copy counts from the start
        again. In a DataLoader worker the worker's seed decides, in other processes the operating system.
        """
        if args:
            raise TypeError(f"pass the targets by name: pipeline({', '.join(f'{t}={t}' for t in self.targets)})")
        if os.getpid() != self._home:
            self._home, self._stream = os.getpid(), END_OF_KEYS | draws.process_stream()
        return self.run(self._stream, next(self._count), 0, targets)

    def run(self, epoch: int, index: int, tile: int, targets: dict[str, Any]) -> dict[str, Any]:
        """Run one sample at one key."""
        return self.for_this_thread(epoch).sample(epoch, index, tile, targets)

    @abstractmethod
    def sample(self, epoch: int, index: int, tile: int, targets: dict[str, Any]) -> dict[str, Any]:
        """Run one sample at one key, in the thread that owns this copy."""

    def stages(self, index: int, epoch: int = 0, tile: int = 0) -> Callable[..., list[tuple[str, Any]]]:
        """Like `at`, but the call returns [(label, image)] after each outermost step as written, before the sink.

        Pairs return {target: image} in place of an image.
        """
        return partial(self._trace_at, key_part("index", index), key_part("epoch", epoch), key_part("tile", tile))

    def _trace_at(self, index: int, epoch: int, tile: int, /, **targets: Any) -> list[tuple[str, Any]]:
        return self.again(self.compiled.in_epoch(epoch).unoptimised()).trace(epoch, index, tile, targets)

    def __reduce__(self) -> tuple[Any, ...]:
        # Compiling again is faster than unpickling generators, and cannot go stale.
        arguments = type(self), self.compiled, self.arrival
        # Registered classes go along: a new process may not have registered them yet.
        own = {s.name: registry.get_class(s.name) for s in self.recipe.walk() if registry.is_registered(s.name)}
        return _rebuild, (*arguments, self._home, self._stream, own)

    # The following methods serve the kinds.

    @property
    def plain(self) -> Self:
        """The copy that runs the steps as written, one by one, in albumentations."""
        return self.coming("float32")

    def run_through(self, transforms: list[Any]) -> None:
        """Set the outermost transforms; those whose first draw says that they do not act are not called."""
        follow_mirrors(transforms)
        prepare = call_plain if self.arrival == "together" else step_call
        self.transforms = self.keyed_steps = transforms
        self.step_calls = [prepare(step, self) for step in transforms]
        for name in self.caches_of_steps:
            self.__dict__.pop(name, None)

    def again(self, compiled: Compiled | None = None, arrival: Arrival | None = None) -> Self:
        """A copy with state of its own, perhaps of another plan."""
        cls: Any = type(self)
        pipeline: Self = cls(compiled or self.compiled, arrival or self.arrival)
        pipeline.tried = self.tried
        if self.dressing is not None:
            pipeline.dress(self.dressing)
        return pipeline

    def renew(self, compiled: Compiled) -> None:
        """Replace what was compiled, and forget the copies, which are made again when needed."""
        self.compiled, self._copies, self._last_epoch = compiled, ThreadCopies[Self](), compiled.recipe.last_epoch
        self._by_arrival, self._by_epoch = dict[Arrival, Self](), dict[int, Self]()

    def dress(self, dress: "Callable[[Pipeline], object]") -> None:
        """Apply a function to this pipeline and to every copy that `again` makes, for other threads and plans."""
        self.dressing = dress
        dress(self)

    def called(self, step: Any, act: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Call the function of a step at an exit, through `call` where that is set."""
        return act(*args, **kwargs) if self.call is None else self.call(self.label_of(step), act, args, kwargs)

    def watched(self, program: P) -> P:
        """Show a new program to `watch`, and return it."""
        if self.watch is not None:
            self.watch(program)
        return program

    def for_this_thread(self, epoch: int) -> Self:
        """This pipeline in the thread that made it; in any other a copy for that thread, because steps hold state."""
        if threading.get_ident() == self._owner:
            return self.in_epoch(epoch) if epoch < self._last_epoch else self
        return self._copies.of_this_thread(self.again).for_this_thread(epoch)

    def coming(self, arrival: Arrival) -> Self:
        """The copy with the plan for an arrival."""
        if arrival == self.arrival:
            return self
        if arrival not in self._by_arrival:
            self._by_arrival[arrival] = self.again(arrival=arrival)
        return self._by_arrival[arrival]

    def in_epoch(self, epoch: int) -> Self:
        """The copy with the scheduled arguments of an epoch; the last two epochs are cached."""
        if epoch not in self._by_epoch:
            compiled, last = self.compiled.in_epoch(epoch), dict([*self._by_epoch.items()][-1:])
            same = (copy for copy in last.values() if copy.recipe == compiled.recipe)
            self._by_epoch = {**last, epoch: next(same, None) or self.again(compiled)}
        return self._by_epoch[epoch]

    def position(self, epoch: int, index: int, tile: int) -> None:
        """Move the generators of every step to one sample's key."""
        self.draws.position(epoch, index, tile)
        if self.compiled.save_applied_params:
            for step, _, _ in self.sites:
                step.params = {}  # a step that is not called keeps the parameters of its last sample

    def step_error(self, error: Exception, channels: int | None = None) -> Exception:
        """Turn the exception of a step into a DataError with its label; out of memory stays a MemoryError.

        `channels`: the channels of the sample's image; None: not known.
        """
        labels, innermost = self._labels, reversed([*running(error)])
        step = next((labels[id(caller)] for caller in innermost if id(caller) in labels), None)
        if isinstance(error, cv2.error) and error.code == cv2.Error.StsNoMem:
            return MemoryError(f"step {step}: {error}")
        return DataError(error_text(error, channels), step=step)

    def why_one_by_one(self, targets: Set[str] = frozenset(), *, files: bool = True) -> str | None:
        """Why samples with these targets run one by one; None: a batch of them runs in one call."""
        return "a sample is more than one image"

    def label_of(self, step: Any) -> str:
        """The label of a step."""
        return self._labels.get(id(getattr(step, "innermost", step)), "")

    def applied(self) -> list[tuple[str, str, dict[str, Any]]]:
        """(label, class, drawn parameters) of each step that acted on the last sample."""
        return [
            (site, type(step).__name__, copy.deepcopy({k: v for k, v in step.params.items() if k != "shape"}))
            for step, site, _ in self.sites
            if getattr(step, "params", None)
        ]


def _rebuild(
    kind: Any, compiled: Compiled, arrival: Arrival, home: int, stream: int, classes: dict[str, type]
) -> Pipeline:
    for name, cls in classes.items():
        if not registry.is_registered(name):
            registry.register(cls)
    pipeline: Pipeline = kind(compiled, arrival)
    pipeline._home, pipeline._stream = home, stream
    return pipeline
