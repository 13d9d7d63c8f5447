"""Pipeline: a compiled recipe, an albumentations Compose whose every draw is keyed, for recipes of all kinds."""

from __future__ import annotations

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

    `at(index, epoch, tile)` decides every draw; see `augrecipes.compiler.run.draws`. A bare call counts for itself and
    mixes in the seed of the DataLoader worker that it runs in. One pipeline may be used from many threads, and
    pickles. What goes in and what comes out depends on the recipe's kind: see ImagePipeline, PairPipeline and
    BagPipeline. Arrays that are no targets are an error; whatever else came in comes out as the same object. With
    `save_applied_params` also `applied`: (label, class, parameters) of each step that acted.

    Errors: DataError for arrays that are not what the recipe's inputs say, and for a step that fails (it is named).

    Attributes:
        targets: names of the image arrays that go in.
        outputs: names of the image arrays that come out.
        optional: those of `targets` without which it makes samples, too.
        sinks: what makes each of them out of the last step's image.
    """

    targets: tuple[str, ...] = ("image",)
    outputs: tuple[str, ...] = ("image",)
    optional: frozenset[str] = frozenset()
    sinks: dict[str, Any]
    call: Callable[..., Any] | None = None  # how steps are called that programs leave to Python
    watch: Callable[[Any], object] | None = None  # what is called with each program that is made
    trace: Callable[[int, int, int, dict[str, Any]], list[tuple[str, Any]]]  # what `stages` returns, in this thread
    made_of_steps: tuple[str, ...] = ("native",)  # cached properties that new steps make anew
    masks_keep_dtype = False  # where images become floats; else they are int64 there
    moves_views = False  # steps of deep images may leave views, which a sink lays out
    takes_points = True  # boxes and keypoints come as samples have them; else in terms of albumentations
    floats_are_news = True  # no float32 image has come yet
    cells: Mapping[int, int] = {}  # see `guard`
    dressed: Callable[[Pipeline], object] | None = None

    def __init__(
        self, compiled: Compiled, arrival: Arrival, transforms: list[Any], sites: Sites, **processors: Any
    ) -> None:
        self.compiled, self.arrival = compiled, arrival
        if compiled.optimize != "none" and arrival not in UNOPTIMIZED_INPUTS:
            fast_apply.attach(made for made, _, _ in sites)
        elif compiled.optimize != "none" and arrival == "float32" and self.moves_views:
            deep_steps.attach((made for made, _, _ in sites), frozenset({*self.targets, "mask", deep_images.VALID}))
        deep_images.attach((made for made, _, _ in sites), compiled.recipe.inputs, self.image_names)
        for made in (made for made, _, _ in sites if isinstance(made, OnChannels)):
            made.image_names |= frozenset(self.image_names)
        super().__init__(
            transforms, is_check_shapes=False, additional_targets=dict(compiled.added) or None, **processors
        )
        self.draws = Draws(compiled.seed)
        for made, site, shared in sites:
            made.random_generator, made.py_random = self.draws.add(
                site, shared=shared, turn=getattr(made, "draw_turn", 0)
            )
        guard(sites, self.recipe.max_bytes, self.cells)
        sites = [*sites, *carry_targets(sites, self.recipe.inputs, self.draws)]
        self.run_through(transforms)
        self.sites, self._labels = sites, {id(made): site for made, site, _ in sites}
        # Bare calls live in epochs that `at` refuses, so that the two can never meet.
        self._home, self._stream, self._count = draws.home_process(), END_OF_KEYS, itertools.count()
        self._owner, self.tried, self.seed = threading.get_ident(), set[Any](), compiled.seed  # Compose has set None
        Pipeline.renew(self, compiled)
        self.own_steps(sites)

    @property
    def image_names(self) -> tuple[str, ...]:
        """Names that images have where a step takes them."""
        return ("image",)

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

    @property
    def reads(self) -> bool:
        """Whether it takes images that are not decoded yet, and decodes no more of them than it needs."""
        return "encoded" in self.compiled.plans and self.compiled.plans["encoded"].reads

    @property
    def takes_files(self) -> bool:
        """Whether this very pipeline runs the plan for images that are not decoded yet."""
        return self.arrival == "encoded" and self.reads

    @property
    def origins(self) -> dict[str, str]:
        """From each image array that comes out to the one that it is made of: a Degrade's from its source."""
        origins = {name: name for name in self.targets}
        for step in self.compiled.steps:
            if step.name == groups.DEGRADE:
                origins[step.args["target"]] = origins[step.args["source"]]
        return {name: origins.get(name, name) for name in self.outputs}

    @cached_property
    def mask_fills(self) -> tuple[float, ...]:
        """What steps may write into masks."""
        return mask_fills(inner for step in self.compiled.steps for inner in step.walk())

    def nodes(self, arrival: Arrival | None = None) -> Steps:
        """What runs, in order, of samples that come so; None: as this very pipeline takes them."""
        return self.compiled.plans[arrival or self.arrival].steps

    def target_of(self, name: str) -> str | None:
        """The target that an image is of, by its name; None where it is of none."""
        return name if name in self.targets else None

    def at(self, index: int, epoch: int = 0, tile: int = 0) -> Callable[..., dict[str, Any]]:
        """The pipeline at one sample's key: call it with the targets, as often as you like, for the same result.

        Integers from 0 to 2⁶³ − 1.
        """
        return partial(self._run_at, key_part("index", index), key_part("epoch", epoch), key_part("tile", tile))

    def _run_at(self, index: int, epoch: int, tile: int, /, **targets: Any) -> dict[str, Any]:
        return self.run(epoch, index, tile, targets)

    def __call__(self, /, *args: Any, force_apply: bool = False, **targets: Any) -> dict[str, Any]:
        """Run once with draws that no other bare call makes; `at` is the reproducible call.

        In the process that compiled it, the k-th bare call always draws the same (and a copy counts from the start
        again). In a DataLoader worker the worker's seed decides, in any other process the operating system does.
        """
        if args:
            raise TypeError(f"pass the targets by name: pipeline({', '.join(f'{t}={t}' for t in self.targets)})")
        if os.getpid() != self._home:
            self._home, self._stream = os.getpid(), END_OF_KEYS | draws.process_stream()
        return self.run(self._stream, next(self._count), 0, targets)

    def run(self, epoch: int, index: int, tile: int, targets: dict[str, Any]) -> dict[str, Any]:
        """One sample at one key."""
        return self.for_this_thread(epoch).sample(epoch, index, tile, targets)

    @abstractmethod
    def sample(self, epoch: int, index: int, tile: int, targets: dict[str, Any]) -> dict[str, Any]:
        """One sample at one key, in the thread that this pipeline belongs to."""

    def stages(self, index: int, epoch: int = 0, tile: int = 0) -> Callable[..., list[tuple[str, Any]]]:
        """Like `at`, but the call returns [(label, image)] after each outermost step as written, before the sink.

        Of a pair an image is {target: image}.
        """
        return partial(self._trace_at, key_part("index", index), key_part("epoch", epoch), key_part("tile", tile))

    def _trace_at(self, index: int, epoch: int, tile: int, /, **targets: Any) -> list[tuple[str, Any]]:
        return self.again(self.compiled.in_epoch(epoch).unoptimised()).trace(epoch, index, tile, targets)

    def __reduce__(self) -> tuple[Any, ...]:
        # Compiling again is quicker than pickling generators, and cannot go stale.
        made = type(self), self.compiled, self.arrival
        # Classes of the program's own go along: a new process may not have registered them yet.
        own = {s.name: registry.get_class(s.name) for s in self.recipe.walk() if registry.is_registered(s.name)}
        return _rebuild, (*made, self._home, self._stream, own)

    # What the kinds build on.

    @property
    def plain(self) -> Self:
        """The pipeline that runs its steps as they are written, one by one, in albumentations."""
        return self.coming("float32")

    def run_through(self, transforms: list[Any]) -> None:
        """Let samples go through these from now on. Those that miss a sample, by their first draw, are not called."""
        follow_mirrors(transforms)
        prepare = call_plain if self.arrival == "together" else step_call
        self.transforms = self.keyed_steps = transforms
        self.step_calls = [prepare(step, self) for step in transforms]
        for name in self.made_of_steps:
            self.__dict__.pop(name, None)

    def again(self, compiled: Compiled | None = None, arrival: Arrival | None = None) -> Self:
        """A pipeline of the same kind, with state of its own."""
        make: Any = type(self)
        made: Self = make(compiled or self.compiled, arrival or self.arrival)
        made.tried = self.tried
        if self.dressed is not None:
            made.dress(self.dressed)
        return made

    def renew(self, compiled: Compiled) -> None:
        """Compiled otherwise; the copies are made again when they are asked for."""
        self.compiled, self._copies, self._last_epoch = compiled, ThreadCopies[Self](), compiled.recipe.last_epoch
        self._by_arrival, self._by_epoch = dict[Arrival, Self](), dict[int, Self]()

    def dress(self, dress: Callable[[Pipeline], object]) -> None:
        """Do something to this pipeline, and to every copy that `again` makes: for other threads, and other plans."""
        self.dressed = dress
        dress(self)

    def called(self, step: Any, act: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """What a step does that a program has stopped at, called as is wanted."""
        return act(*args, **kwargs) if self.call is None else self.call(self.label_of(step), act, args, kwargs)

    def watched(self, program: P) -> P:
        """A program that was made, shown to whoever wants to see each."""
        if self.watch is not None:
            self.watch(program)
        return program

    def for_this_thread(self, epoch: int) -> Self:
        """This pipeline or, in another thread than it was made in, a copy of the thread's own: steps hold state."""
        if threading.get_ident() == self._owner:
            return self.in_epoch(epoch) if epoch < self._last_epoch else self
        return self._copies.of_this_thread(self.again).for_this_thread(epoch)

    def coming(self, arrival: Arrival) -> Self:
        """The pipeline with the plan for images that come as `arrival` says."""
        if arrival == self.arrival:
            return self
        if arrival not in self._by_arrival:
            self._by_arrival[arrival] = self.again(arrival=arrival)
        return self._by_arrival[arrival]

    def in_epoch(self, epoch: int) -> Self:
        """The pipeline with the numbers of an epoch, for the same thread; it is kept until the next but one."""
        if epoch not in self._by_epoch:
            compiled, last = self.compiled.in_epoch(epoch), dict([*self._by_epoch.items()][-1:])
            same = (copy for copy in last.values() if copy.recipe == compiled.recipe)
            self._by_epoch = {**last, epoch: next(same, None) or self.again(compiled)}
        return self._by_epoch[epoch]

    def position(self, epoch: int, index: int, tile: int) -> None:
        """Move every step to one sample's key."""
        self.draws.position(epoch, index, tile)
        if self.compiled.save_applied_params:
            for step, _, _ in self.sites:
                step.params = {}  # a step that is not called keeps the parameters of its last sample

    def step_error(self, error: Exception, channels: int | None = None) -> Exception:
        """What is raised for what went wrong in a step: a DataError with its label; want of memory is no fault of data.

        `channels`: of the sample's image, where that is known.
        """
        labels, innermost = self._labels, reversed([*running(error)])
        step = next((labels[id(one)] for one in innermost if id(one) in labels), None)
        if isinstance(error, cv2.error) and error.code == cv2.Error.StsNoMem:
            return MemoryError(f"step {step}: {error}")
        return DataError(error_text(error, channels), step=step)

    def why_one_by_one(self, targets: Set[str] = frozenset(), *, files: bool = True) -> str | None:
        """Why samples with these targets beside their images are made one by one; None: they are made side by side."""
        del targets, files
        return "a sample is more than one image"

    def label_of(self, step: Any) -> str:
        """The label of a step."""
        return self._labels.get(id(getattr(step, "innermost", step)), "")

    def applied(self) -> list[tuple[str, str, dict[str, Any]]]:
        """The draws that were made for the last sample."""
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
    made: Pipeline = kind(compiled, arrival)
    made._home, made._stream = home, stream
    return made
