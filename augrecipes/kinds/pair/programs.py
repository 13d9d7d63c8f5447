"""Runs pairs by native programs, one for each target with the same draws, as single samples or as batches."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from augrecipes.compiler.executor.inputs import AnyImage, MappedImages, is_image
from augrecipes.compiler.executor.program import ExitReached, Program
from augrecipes.compiler.executor.program_buffer import END
from augrecipes.compiler.kernels import encoded_images, sink
from augrecipes.compiler.lowering.make_program import Position
from augrecipes.compiler.run.program_run import PythonFallback, uint8_image
from augrecipes.kinds.pair.grid import Factors, Scene
from augrecipes.kinds.pair.shared import DegradeProgram, Key, PairStep

# Gives the memory for a target's results: (target, shape of one, dtype) → array (n, *shape).
TargetArray = Callable[[str, tuple[int, ...], np.dtype[Any]], np.ndarray]


class PairExit(NamedTuple):
    """A step at which samples of a pair leave their programs.

    Attributes:
        step: the step.
        forced: whether its group has chosen it, so that it acts whatever its gate would draw.
        names: the targets that leave their programs here.
    """

    step: PairStep | DegradeProgram
    forced: bool
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PairPrograms:
    """The native programs of a pair recipe, which run its samples between the steps that Python runs.

    To be used by one thread at a time.

    Attributes:
        by_target: a program for each output target; a step has the same place in each.
        exits: the steps at which samples leave the programs, by place.
        factors: scale factors, by target.
        position: moves the generators of all steps to a sample's key.
        call: calls a step at an exit: (step, function, *arguments) → the function's result.
        stops: labels of the steps that albumentations runs.
        unfinished: the targets whose results still need their sinks.
    """

    by_target: Mapping[str, Program]
    exits: Mapping[int, PairExit]
    factors: Factors
    position: Position
    call: Callable[..., Any]
    stops: tuple[str, ...]
    unfinished: tuple[str, ...]

    def __iter__(self) -> Iterator[Program]:
        yield from self.by_target.values()
        yield from (step.program for step, _, _ in self.exits.values() if isinstance(step, DegradeProgram))

    def run_batch(
        self, epoch: int, indices: Sequence[int] | np.ndarray, images: Mapping[str, MappedImages], array: TargetArray
    ) -> Sequence[int] | None:
        """Make a batch of samples of one size, except those that come to an exit.

        Args:
            epoch: the epoch, which keys the draws.
            indices: the index of each sample, which keys its draws.
            images: images by target; remainders of less than a cell are cut off.
            array: makes the array for a target's results.

        Returns:
            The positions of samples that are to be made one by one; None where results differ in size.
        """
        everything = range(len(indices))
        sizes = {name: mapped.shapes[:, :2] // self.factors[name] for name, mapped in images.items()}
        size = next(iter(sizes.values()))
        if sizes.keys() != self.by_target.keys() or self.unfinished:
            return everything  # a Degrade makes a target, or sinks finish it
        if not (size > 0).all() or any((other != size).any() for other in sizes.values()):
            return everything
        keys, remaining = np.zeros((len(indices), 2), np.uint64), set[int]()
        keys[:, 0] = indices
        for name, program in sorted(self.by_target.items(), key=lambda item: not item[1].stops):
            factor = self.factors[name]
            whole = images[name] if factor == 1 else images[name].first(size * factor)
            not_made = program.run_batch(epoch, keys, whole, lambda *form, name=name: (array(name, *form), everything))
            if not_made is None or len(not_made) == len(indices):
                return not_made
            remaining.update(not_made)
        return sorted(remaining)


class PairRun:
    """A run of one scene through the programs of its targets, from exit to exit.

    Args:
        programs: the programs.
        key: the sample's key.
        images: images by target, cut to whole cells.

    Raises:
        PythonFallback: the kernels do not take the sample.
    """

    __slots__ = ("_begins", "_exits", "_images", "_key", "_programs", "_results")

    def __init__(self, programs: PairPrograms, key: Key, images: Mapping[str, AnyImage]) -> None:
        for image in images.values():
            if not (is_image(image, files=False) or isinstance(image, encoded_images.EncodedWindow)):
                raise PythonFallback
        self._programs, self._key = programs, key
        self._images: dict[str, Any] = {**images}
        self._begins: dict[str, int] = {}
        self._exits: dict[str, int] = {}  # the exit at which a target waits
        self._results: dict[str, Any] = {}

    def finish(self, allocate: Callable[[str], sink.Allocate]) -> dict[str, Any]:
        """Run the scene to its end; returns the results by target, those of `unfinished` before their sinks.

        Args:
            allocate: returns the allocator of a target's result.

        Raises:
            PythonFallback: the kernels do not take the sample, or a step fails.
        """
        names = [*self._images]
        while names:
            for name in names:
                self._run_program(name, allocate)
            names = self._run_step(self._next_exit()) if self._exits else []
        if len(self._results) < len(self._programs.by_target):
            raise PythonFallback
        return self._results

    def _run_program(self, name: str, allocate: Callable[[str], sink.Allocate]) -> None:
        """Run a target's program to its next exit, or to its end."""
        program = self._programs.by_target[name]
        memory = allocate(name) if program.writes else np.empty
        result = program.run_one(*self._key, self._images[name], memory, self._begins.get(name, END))
        if result is None:
            raise PythonFallback
        if isinstance(result, ExitReached):
            self._exits[name], self._images[name] = result
        else:
            self._results[name] = result

    def _next_exit(self) -> int:
        """The first exit at which all targets of its step wait."""
        for place in sorted(set(self._exits.values())):
            if all(self._exits.get(name) == place for name in self._programs.exits[place].names):
                return place
        raise PythonFallback

    def _run_step(self, place: int) -> list[str]:
        """Run the step at an exit; returns the targets that continue."""
        programs, (step, forced, names) = self._programs, self._programs.exits[place]
        programs.position(*self._key)
        try:
            if isinstance(step, DegradeProgram):
                images = programs.call(step.degrade, self._degrade, step, *names)
            else:
                images = programs.call(step, self._share, step, forced, names)
        except Exception as error:  # the Python fallback raises the error again and names the step
            raise PythonFallback from error
        for name in names:
            del self._exits[name]
        self._images |= images
        self._begins |= dict.fromkeys(images, place)
        return [*images]

    def _degrade(self, step: DegradeProgram, source: str) -> dict[str, np.ndarray]:
        target, image, factors = step.degrade.target, self._images[source], self._programs.factors
        height, width = (n // factors[source] * factors[target] for n in image.shape[:2])
        try:
            result = step.run(self._key, image, (height, width))
        except PythonFallback:  # the kernels lack a size in between
            self._programs.position(*self._key)
            scene = Scene({source: image}, factors)
            step.degrade.act(scene)
            result = uint8_image(scene.arrays[target])
        return {source: image, target: result}

    def _share(self, step: PairStep, forced: bool, names: Sequence[str]) -> dict[str, np.ndarray]:
        scene = Scene({name: self._images[name] for name in names}, self._programs.factors)
        step(scene=scene, force_apply=forced)
        scene.size()
        images = {name: uint8_image(scene.arrays[name]) for name in names}
        if len(names) < len(self._images) and any(
            image.shape[:2] != self._images[name].shape[:2] for name, image in images.items()
        ):
            raise PythonFallback  # the size may no longer fit the other targets
        return images
