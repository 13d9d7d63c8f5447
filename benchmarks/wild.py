"""Recipes that other people wrote, beside the same steps in a plain `A.Compose`: `none`, `exact` and `fast`.

python benchmarks/wild.py --recipes FOLDER            prints a row for each recipe of the folder
python benchmarks/wild.py --write --recipes FOLDER    prints, and writes the section `wild` of benchmarks/RESULTS.md

A folder holds recipes (`*.yaml`), and may hold a `pipelines.json` beside or above them: a list of objects whose `size`
says how large the pictures of the recipe `id` are, in pixels (512 where nothing is said).
"""

from __future__ import annotations

import gc
import json
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from statistics import geometric_mean, median
from time import thread_time_ns
from typing import Any

import numpy as np
from augrecipes.bench.baseline import last_of
from breakdown import REST, shares
from options import Part, parser, run
from results import Row, met

import augrecipes as ar
from augrecipes.bring.plain import processors_of
from augrecipes.compat.albumentations import A
from augrecipes.compiler.lowering.lower import lower, transforms_of
from augrecipes.compiler.run.draws import Draws
from augrecipes.demo.photos import CLASSES, render_photo

_PLANNED = ("exact", "fast")
_SIDES = ("none", *_PLANNED)
_ROUNDS, _PHOTOS = 3, 4
_GOALS = {"exact": 1.5, "fast": 2.2}  # the geometric means
_LEAST = 0.97  # of plain albumentations' speed
_LITTLE = 1.5  # below that it is told where the time goes
_SHOWN = 0.03  # of the time; steps that take less are told together
_METHOD = f"""\
One thread, CPU time of that thread, glibc's allocator tuned alike for both sides. Each recipe runs on drawn photos of
the size that it was written for, with masks, boxes and keypoints where it takes them. The plain side is an `A.Compose`
of the same steps, with `A.Normalize` and `ToTensorV2` for the output, whose steps are given the very generators that
ours have, at the key of the same sample: all sides make the same draws, and before anything is timed the pictures of
`none` are held against the plain side's. A sample's time is the best of {_ROUNDS} rounds of plain, `none`, `exact`,
`fast` in turns, forwards and backwards, each of which is first equally often; a recipe's ratio is the plain side's
time for all samples by ours, and above 1 ours is the quicker. Where no step acts, albumentations hands out the
caller's own array, and `ToTensorV2` a view that is not contiguous; ours are always arrays of their own. The last
column counts what it takes to make the plain side's sample such an array, too. Of recipes that are slower without
that, rows say what the difference costs at least: copies in one go of as many bytes as lie in those arrays, and labels
as int64, which a sample of float32 has here, and uint8 there. Of recipes whose `exact` or `fast` gains less than
×{_LITTLE}, the last rows say where the time of the slower of the two goes: the shares of classes of steps, draws and
all, of kernels that carry out several, and of the sink, by a clock around each in the quickest of several runs of every
sample. `{REST}` is everything else: keys, checks, boxes and labels, copies, and the choices of groups."""

Sides = dict[str, Callable[[int], Any]]


@dataclass(frozen=True, slots=True)
class Subject:
    """One recipe, and the sides that carry it out.

    Attributes:
        recipe: what is measured.
        given: targets, sample by sample in turns.
        move: brings the plain side's generators to the key of a sample; not timed.
        sides: `plain`, `none`, `exact`, `fast`: from a sample's index to the sample.
        own: what the plain side has handed out as a view or as the caller's own array, made contiguous arrays.
        labels: makes the plain side's mask one of ours.
    """

    recipe: ar.Recipe
    given: list[dict[str, Any]]
    move: Callable[[int], None]
    sides: Sides
    own: Callable[[int, Any], list[np.ndarray]]
    labels: Callable[[Any], Any]


def main() -> None:
    known = parser(__doc__)
    known.add_argument("--recipes", type=Path, metavar="FOLDER", help="where the recipes lie")
    known.add_argument("--samples", type=int, default=32, help="of each recipe (%(default)s)")
    options = known.parse_args()
    if options.recipes is None:
        print("not measured: --recipes FOLDER says where recipes of other people lie")
        return
    samples = 4 if options.quick else options.samples
    parts: dict[str, Part] = {"recipes": lambda: _rows(options.recipes, samples)}
    log = logging.getLogger("augrecipes")
    before = log.level
    log.setLevel(logging.ERROR)  # other people's recipes are not here for their lints
    try:
        run(__file__, "Recipes that other people wrote", _METHOD, parts, options)
    finally:
        log.setLevel(before)


def _rows(folder: Path, samples: int) -> Iterator[Row]:
    sizes = _sizes(folder)
    ratios, owned = ({side: [] for side in _SIDES} for _ in range(2))
    slower, little = [], []
    for path in sorted(folder.rglob("*.yaml")):
        subject = subject_of(ar.load(path), sizes.get(path.stem, (512, 512)))
        look(subject, samples)
        found = measure(subject, samples)
        plain = found["plain"]
        for side in _SIDES:
            ratios[side].append(plain / found[side])
            owned[side].append(found["owned"] / found[side])
        text, like = (_text({side: every[side][-1] for side in _SIDES}) for every in (ratios, owned))
        yield Row(subject.recipe.name, text, f"plain {plain:.3f} ms", like if like != text else "")
        if min(ratios[side][-1] for side in _SIDES) < _LEAST:
            slower.append(_parts(subject.recipe.name, found))
        ours = {side: found[side] for side in _PLANNED}
        side, taken = max(ours.items(), key=itemgetter(1))
        if plain / taken < _LITTLE:
            little.append(_where(subject, side, taken, samples))
    for what, of in (("geometric mean", geometric_mean), ("median", median), ("least", min)):
        text, like = (_text({side: of(every[side]) for side in _SIDES}) for every in (ratios, owned))
        yield Row(f"{what} of {len(ratios['none'])}", text, "", like)
    for side, goal in _GOALS.items():
        ratio = geometric_mean(ratios[side])
        yield Row(
            f"geometric mean, `{side}`, as it is handed out", f"×{ratio:.2f}", f"goal ×{goal}", met(ratio >= goal)
        )
    for what, every in (("as it is handed out", ratios), ("as an array of its own", owned)):
        count = sum(min(every[side][k] for side in _SIDES) < _LEAST for k in range(len(every["none"])))
        yield Row(f"slower than ×{_LEAST} of plain, {what}", f"{count} recipes", "goal 0", met(not count))
    yield from slower
    yield from little


def _where(subject: Subject, side: str, taken: float, samples: int) -> Row:
    """The classes of steps that take a side's time, the greatest first."""
    found = shares(subject.recipe, side, subject.given, samples)
    rest = found.pop(REST)
    shown = {what: share for what, share in found.items() if share >= _SHOWN}
    shown |= {"other steps": sum(found.values()) - sum(shown.values()), REST: rest}
    text = " · ".join(f"{what} {share:.0%}" for what, share in shown.items() if share >= 0.005)
    return Row(f"{subject.recipe.name}, where it goes", f"{side} {taken:.3f} ms", text, "")


def _parts(name: str, found: dict[str, float]) -> Row:
    """What the plain side leaves out, in µs."""
    plain, copies, labels = (1e3 * found[part] for part in ("plain", "copies", "labels"))
    ours = " · ".join(f"{side} {1e3 * found[side]:.0f} µs" for side in _SIDES)
    most = f"so ×{plain / (plain + copies + labels):.2f} at most"
    return Row(f"{name}, in µs", ours, f"plain {plain:.0f} µs", f"copies {copies:.0f} · labels {labels:.0f} µs, {most}")


def _text(ratios: dict[str, float]) -> str:
    return " · ".join(f"{side} ×{ratio:.2f}" for side, ratio in ratios.items())


def _sizes(folder: Path) -> dict[str, tuple[int, int]]:
    """Height and width of the pictures, by recipe."""
    found: dict[str, tuple[int, int]] = {}
    for file in (folder / "pipelines.json", folder.parent / "pipelines.json"):
        if file.is_file():
            for one in json.loads(file.read_text(encoding="utf-8")):
                size = one.get("size", 512)
                found[one["id"]] = (size, size) if isinstance(size, int) else tuple(size)
    return found


def plain_compose(recipe: ar.Recipe, seed: int) -> tuple[Any, Callable[[int], None]]:
    """A recipe's steps as an `A.Compose` whose steps draw as ours do, and what moves it to the sample of an index.

    The output is made by `A.Normalize` or `A.ToFloat`, and by `ToTensorV2` where it is C×H×W.
    """
    lowered, sites = lower(recipe.steps)
    last = [*last_of(recipe.output), *([A.ToTensorV2()] if recipe.output.layout == "chw" else [])]
    made = A.Compose([*transforms_of(lowered), *last], **processors_of(recipe.inputs), seed=seed)
    draws = Draws(seed)
    for step, site, shared in sites:
        step.random_generator, step.py_random = draws.add(site, shared=shared)

    def move(index: int) -> None:
        draws.position(0, index)
        for step, _, _ in sites:  # at once, where ours do when they are used
            step.py_random.getstate(), step.random_generator.bit_generator

    return made, move


def subject_of(recipe: ar.Recipe, size: tuple[int, int], seed: int = 0) -> Subject:
    """The sides of a recipe over photos of a size."""
    given = [_targets(recipe, size, k) for k in range(_PHOTOS)]
    compose, move = plain_compose(recipe, seed)
    pipelines = {side: recipe.compile(optimize=side, seed=seed) for side in _SIDES}

    def plain(index: int) -> Any:
        targets = dict(given[index % _PHOTOS])
        if "boxes" in targets:
            targets["bboxes"] = targets.pop("boxes")
        return compose(**targets)

    sides: Sides = {"plain": plain}
    for side, pipeline in pipelines.items():
        sides[side] = lambda index, pipeline=pipeline: pipeline.at(index)(**given[index % _PHOTOS])

    def own(index: int, done: dict[str, Any]) -> list[np.ndarray]:
        arrays = [
            (given[index % _PHOTOS].get(name), np.asarray(done[name])) for name in ("image", "mask") if name in done
        ]
        return [np.array(made, order="C") for held, made in arrays if made is held or not made.flags.c_contiguous]

    def labels(done: dict[str, Any]) -> np.ndarray | None:
        wide = "mask" in done and recipe.output.dtype != "uint8"
        return np.asarray(done["mask"]).astype(np.int64) if wide else None

    return Subject(recipe, given, move, sides, own, labels)


def _targets(recipe: ar.Recipe, size: tuple[int, int], number: int) -> dict[str, Any]:
    """A photo, and whatever else the recipe takes."""
    rng = np.random.default_rng(number)
    height, width = size
    found: dict[str, Any] = {"image": render_photo(CLASSES[number % len(CLASSES)], size, rng)}
    inputs = recipe.inputs
    if inputs.mask != "absent":
        found["mask"] = np.kron(
            rng.integers(0, 2, (8, 8), np.uint8), np.ones((-(-height // 8), -(-width // 8)), np.uint8)
        )
        found["mask"] = np.ascontiguousarray(found["mask"][:height, :width])
    middles = rng.uniform(0.2, 0.8, (5, 2))
    if inputs.boxes is not None:
        found["boxes"] = _boxes(middles, rng.uniform(0.1, 0.35, (5, 2)), size, inputs.boxes.format)
        if inputs.boxes.labels:
            found[inputs.boxes.labels] = list(range(5))
    if inputs.keypoints is not None:
        found["keypoints"] = (middles * (width, height)).astype(np.float32)
        if inputs.keypoints.labels:
            found[inputs.keypoints.labels] = list(range(5))
    return found


def _boxes(middles: np.ndarray, sides: np.ndarray, size: tuple[int, int], form: str) -> np.ndarray:
    """Boxes in one of albumentations' formats, from shares of the picture."""
    if form == "yolo":
        return np.hstack([middles, sides]).astype(np.float32)
    corners = np.hstack([middles - sides / 2, middles + sides / 2])
    if form == "albumentations":
        return corners.astype(np.float32)
    whole = corners * (size[1], size[0], size[1], size[0])
    if form == "coco":
        whole[:, 2:] -= whole[:, :2]
    return whole.astype(np.float32)


def look(subject: Subject, samples: int) -> None:
    """SystemExit where `none` does not make the plain side's picture."""
    for index in range(samples):
        subject.move(index)
        theirs, ours = (np.asarray(subject.sides[side](index)["image"]) for side in ("plain", "none"))
        if ours.shape != theirs.shape or not np.allclose(ours, theirs, atol=2e-6, rtol=2e-6):
            raise SystemExit(f"{subject.recipe.name}: sample {index} of `none` is not that of plain albumentations")


def measure(subject: Subject, samples: int) -> dict[str, float]:
    """Milliseconds a sample of each side: the best of the rounds of each sample, and the mean over samples."""
    total = dict.fromkeys([*subject.sides, "owned", "copies", "labels"], 0)
    gc.disable()
    try:
        for index in range(samples):
            best = dict.fromkeys(total, 1 << 62)
            for turn in range(_ROUNDS):
                for name, side in _in_turn(subject.sides, index + turn):
                    if name == "plain":
                        subject.move(index)
                    start = thread_time_ns()
                    done = side(index)
                    best[name] = min(best[name], thread_time_ns() - start)
                    if name == "plain":
                        made = subject.own(index, done)
                        best["owned"] = min(best["owned"], thread_time_ns() - start)
                        del made
                    del done
            for part, taken in _left_out(subject, index).items():
                best[part] = taken
            for name, one in best.items():
                total[name] += one
            gc.collect(0)
    finally:
        gc.enable()
    return {name: one / samples / 1e6 for name, one in total.items()}


def _left_out(subject: Subject, index: int) -> dict[str, int]:
    """Nanoseconds that the plain side would need at least for what it leaves out of a sample."""
    best = {"copies": 1 << 62, "labels": 1 << 62}
    for _ in range(_ROUNDS):
        subject.move(index)
        done = subject.sides["plain"](index)
        made = subject.own(index, done)
        work = {
            "copies": lambda made=made: [array.copy() for array in made],
            "labels": lambda done=done: subject.labels(done),
        }
        for part, do in work.items():
            start = thread_time_ns()
            do()
            best[part] = min(best[part], thread_time_ns() - start)
    return best


def _in_turn(sides: Sides, turn: int) -> list[tuple[str, Callable[[int], Any]]]:
    """The sides, forwards and backwards, each of them first equally often: who follows whom decides what is cached."""
    order = list(sides.items())[:: -1 if turn % 2 else 1]
    start = turn // 2 % len(order)
    return order[start:] + order[:start]


if __name__ == "__main__":
    main()
