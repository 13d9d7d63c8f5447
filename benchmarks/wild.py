"""Recipes that other people wrote, compared with the same steps in a plain `A.Compose`: `none`, `exact` and `fast`.

python benchmarks/wild.py --recipes FOLDER            prints a row for each recipe of the folder
python benchmarks/wild.py --write --recipes FOLDER    prints, and writes the section `wild` of benchmarks/RESULTS.md

A folder holds recipes (`*.yaml`), and may hold a `pipelines.json` beside or above them: a list of objects whose `size`
says how large the images of the recipe `id` are, in pixels (512 where nothing is said), and `mask` whether those who
published it have masks (where there is no such file, all have).
"""

from __future__ import annotations

import gc
import json
import logging
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from statistics import geometric_mean, median
from time import thread_time_ns
from timeit import timeit
from typing import Any

import cv2
import numpy as np
from albumentations.core.bbox_utils import convert_bboxes_from_albumentations
from harness import Row, in_turns, met, run
from speed_chart import write_chart

import augrecipes as ar
from augrecipes.bench.sides import output_objects
from augrecipes.bench.timing import turn_order
from augrecipes.compat.albumentations import A
from augrecipes.compiler.lowering.lower import lower, transforms_of
from augrecipes.compiler.run.draws import Draws
from augrecipes.demo.photos import CLASSES, render_photo
from augrecipes.errors import AugrecipesError
from augrecipes.interop.plain import processors_of

_SIDES = ("none", "exact", "fast")
_ROUNDS, _PHOTOS = 3, 4
_GOALS = {"exact": 2.5, "fast": 3.5}  # the geometric means
_SUM = 5.0  # of all times
_LEAST = 0.97  # of plain albumentations' speed
_TWO, _BATCH = 1.8, 32  # how much faster two threads are, and the images in a batch
_THREADS = f"""\
### Batches in threads

`pipeline.batch` of {_BATCH} photos in `fast` into allocated memory, with two threads and one in turns; medians, for
recipes without boxes and keypoints whose samples have one size and need no mask. The first rows show what two threads
of this machine gain at most: for work limited by the core, and for work limited by memory."""
_EACH, _CALL = 0.95, 15  # of plain albumentations' speed; µs
_AROUND = """\
### One line around an A.Compose

Each recipe as an `A.Compose` with `A.Normalize` and `A.ToTensorV2`, called in a plain loop by itself, and as
`ar.accelerate(compose, optimize)`, in turns; CPU time of the calls. Each side makes its own draws."""
_METHOD = f"""\
One thread, CPU time of that thread, glibc's allocator tuned alike for both sides. Each recipe runs on drawn photos of
the size that it was written for, with masks, boxes and keypoints if the published recipe has them. The plain
side is an `A.Compose` of the same steps, with `A.Normalize` and `ToTensorV2` for the output, whose steps get the same
generators as ours, at the key of the same sample, so all sides have the same random parameters. Before anything is
timed, the images of `none` are compared with the plain side's. A sample's
time is the best of {_ROUNDS} rounds of plain, `none`, `exact`, `fast` in turns; a recipe's ratio is the plain side's
time for all samples divided by ours, and above 1 ours is faster. If no step acts, albumentations returns the caller's
own array, and `ToTensorV2` a view that is not contiguous; ours are always new arrays. The last column includes the
time to copy the plain side's sample to a new array."""


def _recipes(options: Any) -> Iterator[Row]:
    if options.recipes is None:
        raise SystemExit("not measured: --recipes FOLDER says where recipes of other people lie")
    samples, sizes, plain = (
        4 if options.quick else options.samples,
        sizes_in(options.recipes),
        unmasked_in(options.recipes),
    )
    ratios: dict[str, dict[str, list[float]]] = {key: {side: [] for side in _SIDES} for key in ("plain", "owned")}
    total = dict.fromkeys(("plain", *_SIDES), 0.0)
    for recipe in folder_of_recipes(options.recipes):
        size = sizes.get(recipe.name, sizes.get(Path(recipe.file).stem, (512, 512)))
        found = measure(recipe, size, samples, masks=plain.isdisjoint((recipe.name, Path(recipe.file).stem)))
        total = {side: ms + found[side] for side, ms in total.items()}
        for key, every in ratios.items():
            for side in _SIDES:
                every[side].append(found[key] / found[side])
        text, like = (_text({side: every[side][-1] for side in _SIDES}) for every in ratios.values())
        yield Row(recipe.name, text, f"plain {found['plain']:.3f} ms", like if like != text else "")
    for what, of in (("geometric mean", geometric_mean), ("median", median), ("least", min)):
        text, like = (_text({side: of(every[side]) for side in _SIDES}) for every in ratios.values())
        yield Row(f"{what} of {len(ratios['plain']['none'])}", text, "", like)
    for side, goal in _GOALS.items():
        ratio = geometric_mean(ratios["plain"][side])
        yield Row(f"geometric mean, `{side}`", f"×{ratio:.2f}", f"goal ×{goal}", met(ratio >= goal))
    sums = {side: total["plain"] / total[side] for side in _SIDES}
    yield Row("the sum of all times", _text(sums), f"goal `fast` ×{_SUM:g}", met(sums["fast"] >= _SUM))
    for what, every in zip(("as it is handed out", "as an array of its own"), ratios.values(), strict=True):
        count = sum(min(one) < _LEAST for one in zip(*every.values(), strict=True))
        yield Row(f"slower than ×{_LEAST} of plain, {what}", f"{count} recipes", "goal 0", met(not count))


def _two_threads(options: Any) -> Iterator[Row | str]:
    """Recipes whose samples are an image of one size, with one photo in each place."""
    yield _THREADS
    yield from _limits(3 if options.quick else 15)
    sizes, ratios = sizes_in(options.recipes), []
    for recipe in folder_of_recipes(options.recipes):
        size = sizes.get(recipe.name, sizes.get(Path(recipe.file).stem, (512, 512)))
        photos = [_targets(recipe, size, k, masks=False) for k in range(_PHOTOS)]
        if recipe.kind != "image" or photos[0].keys() != {"image"}:
            continue
        pipeline: Any = recipe.compile(optimize="fast", seed=0)
        images = [photos[k % _PHOTOS]["image"] for k in range(_BATCH)]
        try:
            room = pipeline.batch(images, range(_BATCH))
        except AugrecipesError:  # of several sizes, or they need a mask
            continue

        def batch(threads: int, pipeline: Any = pipeline, images: Any = images, room: Any = room) -> Any:
            return pipeline.batch(images, range(_BATCH), out=room, threads=threads)

        pair = in_turns(partial(batch, 2), partial(batch, 1), 3 if options.quick else 15)
        ratios.append(pair.ratio)
        yield pair.row(f"{recipe.name}, batches of {_BATCH} by two threads", "one thread")
    ratio = geometric_mean(ratios)
    yield Row(f"geometric mean of {len(ratios)}", f"×{ratio:.2f}", f"goal ×{_TWO}", met(ratio >= _TWO))


def _accelerated(options: Any) -> Iterator[Row | str]:
    """Each recipe as its `A.Compose`, called in a plain loop as it is, and with `ar.accelerate` around it."""
    yield _AROUND
    sizes, plain = sizes_in(options.recipes), unmasked_in(options.recipes)
    ratios: dict[str, list[float]] = {"exact": [], "fast": []}
    for recipe in folder_of_recipes(options.recipes):
        size = sizes.get(recipe.name, sizes.get(Path(recipe.file).stem, (512, 512)))
        masks = plain.isdisjoint((recipe.name, Path(recipe.file).stem))
        given = [_targets(recipe, size, k, masks=masks) for k in range(_PHOTOS)]
        given = [{"bboxes" if name == "boxes" else name: value for name, value in each.items()} for each in given]
        compose = recipe.to_albumentations()
        sides = {"plain": compose} | {side: ar.accelerate(compose, side, 0) for side in ratios}  # type: ignore[arg-type]
        spent = dict.fromkeys(sides, 0)
        samples = 4 if options.quick else 4 * options.samples
        for index in range(_PHOTOS + samples):
            for name, side in sides.items():
                start = thread_time_ns()
                done = side(**given[index % _PHOTOS])
                spent[name] += thread_time_ns() - start if index >= _PHOTOS else 0  # the first compile
                del done
        for side, every in ratios.items():
            every.append(spent["plain"] / spent[side])
        each = spent["plain"] / samples / 1e6
        yield Row(recipe.name, _text({side: every[-1] for side, every in ratios.items()}), f"plain {each:.3f} ms", "")
    for side, every in ratios.items():
        mean, least = geometric_mean(every), min(every)
        goal = met(mean >= _GOALS[side])
        yield Row(f"geometric mean of {len(every)}, `{side}`", f"×{mean:.2f}", f"goal ×{_GOALS[side]}", goal)
        yield Row(f"least, `{side}`", f"×{least:.2f}", f"goal ×{_EACH}", met(least >= _EACH))
    if options.write:
        write_chart([*zip(*ratios.values(), strict=True)], tuple(map(geometric_mean, ratios.values())))  # type: ignore[arg-type]
    flip = ar.accelerate(A.Compose([A.HorizontalFlip(p=1.0)]))
    image = np.zeros((32, 32, 3), np.uint8)
    times = [timeit(lambda: flip(image=image), number=1000) * 1e3 for _ in range(15)]
    yield Row("a call, flip of 32² and all", f"{median(times):.1f} µs", f"goal {_CALL} µs", met(median(times) <= _CALL))


def _limits(turns: int) -> Iterator[Row]:
    """Work that is done twice, by two threads with memory of their own and by one: nothing but a core, or memory."""
    image, blurred = np.ones((2, 2, 256, 256, 3), np.uint8)
    large, copied = np.ones((2, 2, 1 << 26), np.uint8)
    works: dict[str, Callable[[int], object]] = {
        "blurs of an image in the cache": lambda k: [
            cv2.GaussianBlur(image[k], (7, 7), 2, blurred[k]) for _ in range(64)
        ],
        "copies of 1 MB": lambda k: [np.copyto(copied[k, : 1 << 20], large[k, : 1 << 20]) for _ in range(256)],
        "copies of 64 MB": lambda k: np.copyto(copied[k], large[k]),
    }
    with ThreadPoolExecutor(2) as pool:
        for what, work in works.items():
            pair = in_turns(lambda: [*pool.map(work, range(2))], lambda: [*map(work, range(2))], turns)  # noqa: B023
            yield pair.row(f"{what} by two threads", "one thread")


def _text(ratios: dict[str, float]) -> str:
    return " · ".join(f"{side} ×{ratio:.2f}" for side, ratio in ratios.items())


def folder_of_recipes(folder: Path) -> list[ar.Recipe]:
    """All recipes of a folder."""
    return [ar.load(path) for path in sorted(folder.rglob("*.yaml"))]


def sizes_in(folder: Path) -> dict[str, tuple[int, int]]:
    """Height and width of the images, by recipe."""
    sizes = {one["id"]: one.get("size", 512) for one in _known(folder)}
    return {name: (size, size) if isinstance(size, int) else tuple(size) for name, size in sizes.items()}


def unmasked_in(folder: Path) -> set[str]:
    """The recipes whose images have no masks."""
    return {one["id"] for one in _known(folder) if not one.get("mask")}


def _known(folder: Path) -> list[Any]:
    files = (folder / "pipelines.json", folder.parent / "pipelines.json")
    return [one for file in files if file.is_file() for one in json.loads(file.read_text(encoding="utf-8"))]


def plain_compose(recipe: ar.Recipe, seed: int) -> tuple[Any, Callable[[int], None]]:
    """A recipe's steps as an `A.Compose` with our random parameters, and what moves it to the sample of an index.

    The output is made by `A.Normalize` or `A.ToFloat`, and by `ToTensorV2` where it is C×H×W.
    """
    lowered, sites = lower(recipe.steps)
    last = [*output_objects(recipe.output), *([A.ToTensorV2()] if recipe.output.layout == "chw" else [])]
    made = A.Compose([*transforms_of(lowered), *last], **processors_of(recipe.inputs), seed=seed)
    draws = Draws(seed)
    for step, site, shared in sites:
        step.random_generator, step.py_random = draws.add(site, shared=shared)

    def move(index: int) -> None:
        draws.position(0, index)
        for step, _, _ in sites:  # at once, where ours do when they are used
            step.py_random.getstate(), step.random_generator.bit_generator

    return made, move


def measure(recipe: ar.Recipe, size: tuple[int, int], samples: int, *, masks: bool = True) -> dict[str, float]:
    """Milliseconds a sample of `plain`, `none`, `exact`, `fast`, and of plain with arrays of its own: `owned`.

    `masks`: images have masks, where the recipe takes them.

    Raises:
        SystemExit: `none` does not make the plain side's image.
    """
    given = [_targets(recipe, size, k, masks=masks) for k in range(_PHOTOS)]
    compose, move = plain_compose(recipe, 0)

    def plain(index: int) -> Any:
        targets = dict(given[index % _PHOTOS])
        if "boxes" in targets:
            targets["bboxes"] = targets.pop("boxes")
        return compose(**targets)

    sides: dict[str, Callable[[int], Any]] = {"plain": plain}
    for side in _SIDES:
        pipeline = recipe.compile(optimize=side, seed=0)  # type: ignore[arg-type]
        sides[side] = lambda index, pipeline=pipeline: pipeline.at(index)(**given[index % _PHOTOS])
    for index in range(samples):
        move(index)
        theirs, ours = (np.asarray(sides[side](index)["image"]) for side in ("plain", "none"))
        if ours.shape != theirs.shape or not np.allclose(ours, theirs, atol=2e-6, rtol=2e-6):
            raise SystemExit(f"{recipe.name}: sample {index} of `none` is not that of plain albumentations")
    total = dict.fromkeys([*sides, "owned"], 0)
    gc.disable()
    try:
        for index in range(samples):
            best = dict.fromkeys(total, 1 << 62)
            for turn in range(_ROUNDS):
                for k in turn_order(len(sides), index + turn, turn):
                    name, side = list(sides.items())[k]
                    move(index)
                    start = thread_time_ns()
                    done = side(index)
                    best[name] = min(best[name], thread_time_ns() - start)
                    if name == "plain":
                        _own(given[index % _PHOTOS], done)
                        best["owned"] = min(best["owned"], thread_time_ns() - start)
                    del done
            total = {name: seconds + best[name] for name, seconds in total.items()}
            gc.collect(0)
    finally:
        gc.enable()
    return {name: one / samples / 1e6 for name, one in total.items()}


def _own(given: dict[str, Any], done: dict[str, Any]) -> list[np.ndarray]:
    """What the plain side has handed out as a view or as the caller's own array, as contiguous arrays."""
    arrays = [(given.get(name), np.asarray(done[name])) for name in ("image", "mask") if name in done]
    return [np.array(made, order="C") for held, made in arrays if made is held or not made.flags.c_contiguous]


def _targets(recipe: ar.Recipe, size: tuple[int, int], number: int, *, masks: bool = True) -> dict[str, Any]:
    """A photo, and whatever else the recipe takes."""
    rng, inputs, (height, width) = np.random.default_rng(number), recipe.inputs, size
    found: dict[str, Any] = {"image": render_photo(CLASSES[number % len(CLASSES)], size, rng)}
    if masks and inputs.mask != "absent":
        coarse = rng.integers(0, 2, (8, 8), np.uint8).repeat(-(-height // 8), 0).repeat(-(-width // 8), 1)
        found["mask"] = np.ascontiguousarray(coarse[:height, :width])
    middles, sides = rng.uniform(0.2, 0.8, (5, 2)), rng.uniform(0.1, 0.35, (5, 2))
    if inputs.boxes is not None:
        boxes = np.hstack([middles - sides / 2, middles + sides / 2])
        found["boxes"] = convert_bboxes_from_albumentations(boxes, inputs.boxes.format, size).astype(np.float32)
    if inputs.keypoints is not None:
        found["keypoints"] = (middles * (width, height)).astype(np.float32)
    labelled = [one for one in (inputs.boxes, inputs.keypoints) if one is not None and one.labels]
    return found | {one.labels: list(range(5)) for one in labelled}


if __name__ == "__main__":
    more = {
        "recipes": {"type": Path, "metavar": "FOLDER", "help": "where the recipes lie"},
        "samples": {"type": int, "default": 32, "help": "of each recipe (%(default)s)"},
    }
    logging.getLogger("augrecipes").setLevel(logging.ERROR)  # other people's recipes are not here for their lints
    run(
        __file__,
        __doc__,
        "Recipes that other people wrote",
        _METHOD,
        {"recipes": _recipes, "threads": _two_threads, "accelerate": _accelerated},
        more=more,
    )
