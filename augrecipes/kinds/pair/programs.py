"""Pairs through programs: one for each target, all with the same draws; sample by sample, or side by side."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from augrecipes.compiler.executor.inputs import AnyImage, MappedImages, is_image
from augrecipes.compiler.executor.program import ExitReached, Program
from augrecipes.compiler.executor.program_buffer import END
from augrecipes.compiler.kernels import encoded_images, sink
from augrecipes.compiler.lowering.validate import Position
from augrecipes.compiler.run.program_run import PythonFallback, uint8_image
from augrecipes.kinds.pair.grid import Factors, Scene
from augrecipes.kinds.pair.shared import DegradeProgram, Key, PairStep

# Gives the memory for a target's results: (target, shape of one, dtype) → array (n, *shape).
TargetArray = Callable[[str, tuple[int, ...], np.dtype[Any]], np.ndarray]


class PairExit(NamedTuple):
    """A step at which samples of a pair leave their programs.

    Attributes:
        step: it.
        forced: its group has chosen it, so that it acts whatever its first draw would be.
        names: the targets that leave there.
    """

    step: PairStep | DegradeProgram
    forced: bool
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PairPrograms:
    """What carries out the samples of a pair recipe natively, from one step of albumentations' to the next.

    One thread at a time.

    Attributes:
        by_target: a program for each target that comes out; the same step has the same place in each.
        exits: the steps at which samples leave them, by their places.
        factors: scale factors, by target.
        position: moves the generators of all steps to a sample's key.
        call: calls a step at an exit: (step, what it does, its arguments) → what it leaves.
        stops: labels of the steps that albumentations carries out.
        unfinished: the targets whose results still go to their sinks.
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
        yield from (each.step.program for each in self.exits.values() if isinstance(each.step, DegradeProgram))

    def run_batch(
        self, epoch: int, indices: Sequence[int] | np.ndarray, images: Mapping[str, MappedImages], array: TargetArray
    ) -> Sequence[int] | None:
        """Make samples of one size side by side, as far as they come to no exit.

        Args:
            epoch: of the draws.
            indices: that key the draws.
            images: by target; what they have beyond their last whole cells is left out.
            array: gives the memory for a target's results.

        Returns:
            Those that are to be made one by one, of all targets. None where sizes differ.
        """
        everything = range(len(indices))
        sizes = {name: mapped.shapes[:, :2] // self.factors[name] for name, mapped in images.items()}
        size = next(iter(sizes.values()))
        if sizes.keys() != self.by_target.keys() or self.unfinished:
            return everything  # a Degrade is to make the others, or sinks write them
        if not (size > 0).all() or any((other != size).any() for other in sizes.values()):
            return everything
        keys, left = np.zeros((len(indices), 2), np.uint64), set[int]()
        keys[:, 0] = indices
        for name, program in sorted(self.by_target.items(), key=lambda item: not item[1].stops):
            factor = self.factors[name]
            whole = images[name] if factor == 1 else images[name].first(size * factor)
            not_made = program.run_batch(epoch, keys, whole, lambda *form, name=name: (array(name, *form), everything))
            if not_made is None or len(not_made) == len(indices):
                return not_made
            left.update(not_made)
        return sorted(left)


class PairRun:
    """Images of one scene on their way through the programs of their targets, from exit to exit. No step comes twice.

    Args:
        programs: that carry them.
        key: of the sample.
        images: of the targets that are given, without what they have beyond their last whole cells.

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
        self._exits: dict[str, int] = {}  # the targets that are at one
        self._results: dict[str, Any] = {}

    def finish(self, allocate: Callable[[str], sink.Allocate]) -> dict[str, Any]:
        """The results by target, before their sinks where programs do not write what those make.

        Args:
            allocate: gives what makes the memory for that of a target.

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
        """Carry a target to its next exit, or to its end."""
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
        """The first exit at which all targets are that take part in its step."""
        for place in sorted(set(self._exits.values())):
            if all(self._exits.get(name) == place for name in self._programs.exits[place].names):
                return place
        raise PythonFallback

    def _run_step(self, place: int) -> list[str]:
        """Run the step at an exit; the targets that go on from there."""
        programs, (step, forced, names) = self._programs, self._programs.exits[place]
        programs.position(*self._key)
        try:
            if isinstance(step, DegradeProgram):
                images = programs.call(step.degrade, self._degrade, step, *names)
            else:
                images = programs.call(step, self._share, step, forced, names)
        except Exception as error:  # the whole sample, as it is written, says where
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
        except PythonFallback:  # on the way there are sizes that the kernels do not make
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
            raise PythonFallback  # it may not fit the others any more
        return images
