"""Batches are their samples one by one, bit for bit: whatever the recipe, the files, the order and who reads them."""

import json
import os
import re
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from kernel_sets import NEEDS_KERNELS
from PIL import Image
from random_recipes import Pool, attempt, build, label, pool, recipes
from support.checks import DEAR, FAILURES, PLANTED, SEEDS, holds, planted, planted_faults, same
from support.encoded_images import exif
from support.programs import RUN_BATCH, one_level_off
from test_alignment import ABOUT_BOXES
from test_native_plan import BENT, NATIVE, ON_MASKS, WARPED, WARPED_MASKS

from augrecipes import CollateError, DataError, ImageFolder, Packed, loader, open_encoded, pack
from augrecipes.compiler.executor.inputs import MappedImages
from augrecipes.compiler.executor.program import Program
from augrecipes.compiler.run import batch_threads
from augrecipes.compiler.run.batch import SampleColumns
from augrecipes.compiler.run.points import PointMoves
from augrecipes.compiler.run.program_runner import ProgramRunner
from augrecipes.data.batching import BatchRows, as_torch, native_batch, ragged_keys
from augrecipes.data.collate import Collate
from augrecipes.kinds.bag.pipeline import BagPipeline
from augrecipes.native.kernels import Coded, codec
from augrecipes.recipe.model import Arguments, Boxes, Inputs, Keypoints, Optimize, Recipe, Step
from augrecipes.recipe.parse import parse_text
from augrecipes.store.items import Items, MappedShards

pytestmark = [NEEDS_KERNELS, pytest.mark.filterwarnings("ignore::UserWarning")]
N = 12
NO_IMAGE, CUT_OFF = 4, 7  # no image; a JPEG without its end
BROKEN_ROW, CUT_OFF_ROW = 2, 9  # even ones come first
LEVELS: tuple[tuple[Optimize, Optimize], ...] = (("exact", "none"), ("fast", "fast"))  # batches to samples one by one
ENDS: Pool = (("Resize", {"height": 16, "width": 18}), ("RandomResizedCrop", {"size": [16, 18]}))
AMONG_PIXELS: Pool = pool("""
    ColorJitter, GaussianBlur, MedianBlur, AdvancedBlur, RandomShadow
""")
# Now and then a step that a plan knows nothing of, and a window that small images have no room for.
STEPS: Pool = (*NATIVE, *WARPED, *BENT, *AMONG_PIXELS, ("Spatter", {}), ("RandomCrop", {"height": 40, "width": 30}))


class Folder(ImageFolder):
    """A folder under a recipe that may be foolish: nothing is linted."""

    def _compiled(self, mode: Any) -> Any:
        del mode
        return build(self.recipe, self._compile["optimize"] or "exact", self.seed)


@pytest.fixture(scope="module", autouse=True)
def small_work_is_shared() -> Iterator[None]:
    """Threads are asked for however little there is to do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch_threads, "_LEAST", 1)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root: Path = tmp_path_factory.mktemp("pictures")
    rng = np.random.default_rng(0)
    for k in range(N):
        height, width = (int(size) for size in rng.integers(24, 150, 2))
        noise = rng.integers(0, 256, (height // 4, width // 4, 3), np.uint8)
        image = Image.fromarray(cv2.resize(noise, (width, height), interpolation=cv2.INTER_CUBIC))
        options: dict[str, Any] = {"quality": 85, "subsampling": k % 3}
        if k % 4 == 1:
            options["exif"] = exif(k % 8 + 1)
        if k % 5 == 2:
            options["progressive"] = True
        path = root / "ab"[k % 2] / f"{k:02}"
        path.parent.mkdir(exist_ok=True)
        if k == NO_IMAGE:
            path.with_suffix(".jpg").write_bytes(b"no picture")
        elif k % 6 == 3:
            image.convert("L" if k == 3 else "RGBA").save(path.with_suffix(".png"))
        else:
            image.save(path.with_suffix(".jpg"), **options)
        if k == CUT_OFF:
            data = path.with_suffix(".jpg").read_bytes()
            path.with_suffix(".jpg").write_bytes(data[: len(data) * 2 // 3])
    return root


POINTED = Inputs(boxes=Boxes(min_area=9.0), keypoints=Keypoints())


@st.composite
def of_one_size(draw: st.DrawFn, pool: Pool, *inputs: Inputs) -> Recipe:
    """Recipes without groups, most of whose samples have one size; and with one of these inputs."""
    recipe = draw(
        recipes(pool, boxes=False, max_steps=4 if inputs else 5).filter(lambda r: not any(s.is_group for s in r.steps))
    )
    name, args = draw(st.sampled_from(ENDS))
    end = Step(name, Arguments(args), p=draw(st.sampled_from((1.0,) if inputs else (1.0, 1.0, 1.0, 0.5))))
    steps = label((*(replace(step, site="") for step in recipe.steps), end))
    return replace(recipe, steps=steps, inputs=draw(st.sampled_from(inputs or (Inputs(),))))


def check_batch(made: Any, found: list[Any]) -> None:
    """Holds what `batch` gave, or complains of, to what the samples are one by one."""
    wrong = [one for one in found if isinstance(one, tuple)]
    uneven = len({one.shape for one in found if not isinstance(one, tuple)}) > 1
    if wrong or uneven:
        assert made in wrong[:1] or (uneven and made[0] == "CollateError")
    else:
        same(made, np.stack(found))


@DEAR
@given(of_one_size(STEPS), SEEDS, st.sampled_from(LEVELS), st.integers(1, 3), st.sampled_from((1, 3, 4)))
def test_images_in_memory(recipe: Recipe, seed: int, levels: tuple[Optimize, Optimize], threads: int, c: int) -> None:
    rng = np.random.default_rng(seed)
    images: Any = [rng.integers(0, 256, (*rng.integers(12, 70, 2), c), np.uint8) for _ in range(rng.integers(1, 40))]
    if seed % 3 == 0:
        images = np.stack([np.resize(image, (40, 37, c)) for image in images])
    indices = [int(k) for k in rng.integers(0, 2**40, len(images))]
    made = attempt(lambda: build(recipe, levels[0], seed).batch(images, indices, 2, threads=threads))
    plain = build(recipe, levels[1], seed)
    found = [attempt(lambda k=k: plain.at(indices[k], 2)(image=images[k])["image"]) for k in range(len(images))]
    check_batch(made, found)


@DEAR
@given(of_one_size(STEPS), SEEDS, st.sampled_from(LEVELS), st.integers(1, 3))
def test_files_in_memory(
    folder: Path, recipe: Recipe, seed: int, levels: tuple[Optimize, Optimize], threads: int
) -> None:
    """What is decoded by kernels, what is not, and what is damaged: in one batch."""
    rng = np.random.default_rng(seed)
    files = [path for path in sorted(folder.rglob("*.*")) if path.name != f"{NO_IMAGE:02}.jpg"]
    files = [files[k] for k in rng.integers(0, len(files), rng.integers(1, 40))]
    if seed % 3:
        files = [path for path in files if path.name != f"{CUT_OFF:02}.jpg"] or files[:1]
    images = [open_encoded(path, channels=(3, 3, None)[seed % 7 % 3]) for path in files]
    made = attempt(lambda: build(recipe, levels[0], seed).batch(images, threads=threads))
    plain = build(recipe, levels[1], seed)
    found = [attempt(lambda k=k: plain.at(k)(image=images[k])["image"]) for k in range(len(images))]
    check_batch(made, found)


def check_folder(folder: Path, recipe: Recipe, seed: int, levels: tuple[Optimize, Optimize], on_error: Any) -> None:
    rng = np.random.default_rng(seed)
    options = {"on_error": on_error, "seed": seed % 1000, "cache": False, "layout": "classes"}
    order = [int(k) for k in rng.integers(0, 3 * N, rng.integers(1, 2 * N))]
    if on_error == "raise" and seed % 3:
        order = [k for k in order if k % N not in (BROKEN_ROW, CUT_OFF_ROW)] or [0]
    here = Folder(folder, recipe, optimize=levels[0], **options)
    found = [attempt(lambda: here.__getitems__([(3, k) for k in order]))]
    found.append(attempt(lambda: Collate("list")([here[3, k] for k in order])))
    there = Folder(folder, recipe, optimize=levels[1], **options)
    wanted = attempt(lambda: [there[3, k] for k in order])
    if isinstance(wanted, tuple):
        assert found == [wanted, wanted]
        return
    for one, other in zip(found[0], wanted, strict=True):
        same(one, other)
    same(found[1], Collate("list")(wanted))


LEVELS_DRAWN = st.sampled_from(LEVELS)


def test_files(folder: Path) -> None:
    on_error = st.sampled_from(("raise", "skip"))
    holds(check_folder, st.just(folder), of_one_size(STEPS), SEEDS, LEVELS_DRAWN, on_error)


BACKENDS: tuple[dict[str, Any], ...] = (
    {},
    {"backend": "threads", "num_workers": 2},
    {"backend": "threads", "num_workers": 3},
    {"num_workers": 2, "multiprocessing_context": "fork"},
)


@pytest.mark.parametrize(
    ("collate", "options"),
    [*(("default", options) for options in BACKENDS), ("pad", {}), ("pad", BACKENDS[1])],
    ids=lambda o: f"{o.get('backend')}-{o.get('num_workers', 0)}" if isinstance(o, dict) else o,
)
def test_every_backend(folder: Path, options: dict[str, Any], collate: Any) -> None:
    recipe = recipe_of(("RandomCrop", {"height": 20, "width": 20}), ("HorizontalFlip", {}), ENDS[0])
    here = Folder(folder, recipe, on_error="skip", cache=False)
    assert here.gathers
    made = loader(here, 5, shuffle=True, samples_per_epoch=31, collate=collate, **options)
    there = Folder(folder, recipe, optimize="none", on_error="skip", cache=False)
    assert not there.gathers
    reference = loader(there, 5, shuffle=True, samples_per_epoch=31, collate=collate)
    wanted = [[*reference] for _ in range(2)]
    skipped = reference.skipped
    for expected in wanted:
        for batch, other in zip(made, expected, strict=True):
            same(batch, other)
    assert made.skipped == skipped
    assert skipped


def recipe_of(*steps: tuple[str, dict[str, Any]]) -> Recipe:
    return Recipe("law", steps=label(tuple(Step(name, Arguments(args)) for name, args in steps)))


def check_bag(recipe: Recipe, seed: int, levels: tuple[Optimize, Optimize], threads: int, skip: bool) -> None:
    rng = np.random.default_rng(seed)
    tiles: list[Any] = [
        rng.integers(0, 256, (*rng.integers(20, 60, 2), 3), np.uint8) for _ in range(rng.integers(1, 50))
    ]
    broken = {int(k) for k in rng.integers(0, len(tiles), rng.integers(0, 3))}
    numbers = np.sort(rng.choice(2**40, len(tiles), replace=False)).tolist()

    def read(k: int) -> Any:
        if k in broken:
            raise DataError("torn", f"{k}.png")
        return tiles[k]

    def bag(optimize: Optimize, count: int) -> Any:
        bags = BagPipeline(build(recipe, optimize, seed).compiled)
        done = bags.bag(7, 3, numbers, read, threads=count, skip=skip)
        return [done.image, done.kept, [(k, error.path, error.step) for k, error in done.dropped]]

    made = attempt(lambda: bag(levels[0], threads))
    wanted = attempt(lambda: bag(levels[1], 1))
    if isinstance(wanted, tuple) and isinstance(made, tuple) and not skip:
        # Which size most tiles have depends on how many were made before one was found broken.
        assert made == wanted or "CollateError" in (made[0], wanted[0])
    else:
        same(made, wanted)


def test_bags() -> None:
    holds(check_bag, of_one_size(STEPS), SEEDS, LEVELS_DRAWN, st.integers(1, 3), st.booleans())


lies = Coded.lies


def _spoilt(fault: str) -> Any:
    def run_batch(self: Program, epoch: int, keys: Any, images: Any, *more: Any, **named: Any) -> Any:
        if fault == "another's draws":
            keys = [*keys[1:], keys[0]]
        if fault == "another's place":
            images = [*images[1:], images[0]]
        return RUN_BATCH(self, epoch, keys, images, *more, **named)

    return Program, "run_batch", one_level_off() if fault == "a pixel" else run_batch


def _of_files(fixture: Any) -> None:
    made = st.just(fixture("folder")), of_one_size(NATIVE), SEEDS, LEVELS_DRAWN, st.just("skip")
    holds(check_folder, *made, tried=PLANTED)


def _by_another_thread() -> Any:
    right, wrong, main = RUN_BATCH, one_level_off(), threading.get_ident()

    def run_batch(self: Program, *args: Any, **named: Any) -> Any:
        if threading.get_ident() == main:
            time.sleep(0.005)  # so that others have their share
        return (right if threading.get_ident() == main else wrong)(self, *args, **named)

    return Program, "run_batch", run_batch


OF_BAGS = planted(check_bag, of_one_size(NATIVE), SEEDS, LEVELS_DRAWN, st.integers(1, 3), st.booleans())
WINDOW = {"a window's place": (_of_files, (Coded, "lies", lambda self: (max(lies(self)[0] - 3, 0), lies(self)[1])))}
test_planted_faults_are_found = planted_faults(
    {
        **{fault: (_of_files, _spoilt(fault)) for fault in ("a pixel", "another's place", "another's draws")},
        **(WINDOW if codec() is not None else {}),
    },
)
test_planted_faults_in_bags_are_found = planted_faults(
    {fault: (OF_BAGS, _spoilt(fault)) for fault in ("a pixel", "another's draws")}
    | {"a pixel of another thread": (OF_BAGS, _by_another_thread())}
)


def test_a_broken_image_of_a_store_is_an_error(folder: Path, tmp_path: Path) -> None:
    text = "{version: 1, recipe: r, steps: [D4: {p: 1.0}, Resize: {height: 20, width: 20}], eval: []}"
    pack(parse_text(text), str(folder), tmp_path / "store", workers=0, on_error="skip")
    here = Packed(tmp_path / "store", parse_text(text))
    assert here.read_batch(1, [0, 1]) is not None
    with pytest.raises(DataError):
        here.read_batch(1, [0, BROKEN_ROW, 1])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_after_batches_in_threads(folder: Path) -> None:
    pipeline = build(recipe_of(("RandomCrop", {"height": 20, "width": 20})), "exact")
    images = [np.full((30, 40, 3), k, np.uint8) for k in range(20)]
    wanted = pipeline.batch(images, threads=3)
    child = os.fork()
    if not child:
        os._exit(0 if np.array_equal(pipeline.batch(images, threads=3), wanted) else 1)
    assert os.waitpid(child, 0)[1] == 0


# Samples with masks, boxes and keypoints.


STEPS_OF_TARGETS: Pool = (*NATIVE, *WARPED, *BENT, *ON_MASKS, *WARPED_MASKS, *ABOUT_BOXES, ("Spatter", {}))
EPOCH = 3
# How masks come; those that no plan takes are Python's.
MASKS = (np.uint8, np.uint8, np.uint8, bool, np.uint16, np.int32, np.float32)
Sample = dict[str, Any]


def drawn(recipe: Recipe, rng: np.random.Generator, count: int) -> list[Sample]:
    """Samples that a dataset might read: all with the same targets, some of them broken."""
    masked, samples = rng.random() < 0.8, []
    kinds = rng.choice(len(MASKS), 2)
    for _ in range(count):
        size = (37, 52) if rng.random() < 0.5 else tuple(rng.integers(40, 70, 2).tolist())
        sample: Sample = {"image": rng.integers(0, 256, (*size, 3), np.uint8)}
        if masked:
            mask = rng.integers(0, 256, size).astype(MASKS[kinds[int(rng.random() < 0.1)]])
            sample["mask"] = mask[:-1] if rng.random() < 0.02 else mask[..., None] if rng.random() < 0.2 else mask
        if recipe.inputs.boxes:
            boxes = rng.integers(0, 5)
            corner = rng.uniform(0, 15, (boxes, 2))
            sample["boxes"] = np.hstack([corner, corner + rng.uniform(2, 20, (boxes, 2))]).astype(np.float32)
            sample["box_labels"] = rng.integers(0, 9, boxes)
            sample["keypoints"] = rng.uniform(0, 36, (rng.integers(0, 4), 2)).astype(np.float32)
        samples.append(sample)
    return samples


def in_memory(samples: list[Sample]) -> SampleColumns | None:
    """The samples as they lie in a mapped store; None where they could not."""
    if any(mask.dtype != np.uint8 or mask.shape[:2] != s["image"].shape[:2] for s in samples for mask in masks_of(s)):
        return None
    masks = [mask.reshape(*mask.shape[:2], 1) for s in samples for mask in masks_of(s)]
    others = [{name: v for name, v in s.items() if name not in ("image", "mask")} for s in samples]
    return SampleColumns(
        MappedImages.of([s["image"] for s in samples]),
        MappedImages.of(masks) if masks else None,
        others if others[0] else None,
    )


def masks_of(sample: Sample) -> list[np.ndarray]:
    return [sample["mask"]] if "mask" in sample else []


def one_by_one(pipeline: Any, samples: list[Sample], indices: list[int], ragged: frozenset[str]) -> list[Any]:
    """Each sample, or None where it is broken."""
    found: list[Any] = []
    for index, sample in zip(indices, samples, strict=True):
        try:
            found.append(as_torch(pipeline.at(index, EPOCH)(**sample), ragged))
        except DataError:
            found.append(None)
    return found


def read_by(given: list[Sample]) -> Any:
    """As datasets read, each time anew."""
    return lambda k: dict(given[k])


def check_targets(recipe: Recipe, seed: int, levels: tuple[Optimize, Optimize], lying: bool) -> bool:
    """Whether there was a batch."""
    rng, ragged = np.random.default_rng(seed), ragged_keys(recipe)
    samples = drawn(recipe, rng, int(rng.integers(1, 40)))
    indices = rng.integers(0, 2**40, len(samples))
    rows = BatchRows(len(samples))
    columns = in_memory(samples) if lying else None
    broken = False
    made: dict[str, Any] | None = None
    try:
        made = native_batch(
            build(recipe, levels[0], seed), columns or read_by(samples), EPOCH, indices,
            rows.allocate_rows(range(len(samples))), ragged,
        )  # fmt: skip
    except DataError:
        broken = True
    wanted = one_by_one(build(recipe, levels[1], seed), samples, indices.tolist(), ragged)
    whole = [one for one in wanted if one is not None]
    try:
        batch = Collate("default", ragged_keys=ragged)(whole) if whole else None
    except CollateError:
        batch = None
    assert broken == any(one is None for one in wanted)
    if broken:
        return False
    if made is None:
        assert batch is None or any(mask.dtype != np.uint8 for s in samples for mask in masks_of(s))
        return False
    assert batch is not None
    assert made.keys() == batch.keys()
    for key, value in made.items():
        same(torch.from_numpy(value) if isinstance(value, np.ndarray) else value, batch[key])
    return True


def test_whatever_lies_on_images() -> None:
    made: list[bool] = []

    def law(recipe: Recipe, seed: int, levels: tuple[Optimize, Optimize], lying: bool) -> None:
        made.append(check_targets(recipe, seed, levels, lying))

    holds(law, of_one_size(STEPS_OF_TARGETS, Inputs(), POINTED), SEEDS, LEVELS_DRAWN, st.booleans())
    assert sum(made) > len(made) // 5


run_batch_of_targets, move_points = ProgramRunner.run_batch, PointMoves.run
run_masks = ProgramRunner._run_masks
FAULTS: dict[str, tuple[Any, str, Any]] = {
    "another's mask": (
        ProgramRunner, "_run_masks",
        lambda self, output, keys, *rest: run_masks(self, output, [*keys[1:], keys[0]], *rest),
    ),
    "another's boxes": (
        PointMoves, "run",
        lambda self, key, data, image, _=None: move_points(self, (key[0], key[1] + 1, key[2]), data, image),
    ),
    "one that is left is forgotten": (
        ProgramRunner, "run_batch", lambda self, output, positions, *rest: (
            [] if len(left := run_batch_of_targets(self, output, positions, *rest)) < len(positions) else left
        ),
    ),
    "a mask of another epoch": (
        Program, "run_batch",
        lambda self, epoch, *rest, **named: RUN_BATCH(self, epoch + self._limits[1], *rest, **named),
    ),
}  # fmt: skip
FAULTY = of_one_size((*NATIVE, *WARPED, ("Spatter", {"p": 0.4})), Inputs(), POINTED)
test_planted_faults_in_targets_are_found = planted_faults(
    {
        f"{name}, {lying}": (planted(check_targets, FAULTY, SEEDS, LEVELS_DRAWN, st.just(lying)), fault)
        for (name, fault), lying in zip(FAULTS.items(), (True, False, True, False), strict=True)
    },
    (*FAILURES, KeyError),
)


TEXT = """
version: 1
recipe: on-images
inputs: {mask: optional, boxes: {format: pascal_voc, labels: names, min_area: 4}, keypoints: {format: xy}}
steps:
  - Resize: {height: 30, width: 40, p: 1.0}
BEHIND
output: OUTPUT
"""
BEHIND = {
    "nothing": "",
    "moves": "  - D4: {p: 1.0}\n  - RandomCrop: {height: 20, width: 20}\n",
    "a warp": "  - Affine: {rotate: 20, p: 0.8}\n  - HorizontalFlip\n",
    "now and then Python": "  - Spatter: {p: 0.3}\n  - HorizontalFlip\n",
    "boxes": "  - RandomSizedBBoxSafeCrop: {height: 20, width: 22}\n",
}
OUTPUTS = ("{dtype: float32, normalize: imagenet}", "{dtype: uint8, layout: hwc}")
ORDERS = ([3, 0, 5, 5, N + 1], [2], list(range(N)))


@pytest.fixture(scope="module")
def listed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CSV file of images with masks, boxes and keypoints; and one with masks alone."""
    root: Path = tmp_path_factory.mktemp("listed")
    rng = np.random.default_rng(3)
    rows = ["image,mask,label,boxes,keypoints"]
    for k in range(N):
        size = tuple(rng.integers(30, 60, 2).tolist())
        cv2.imwrite(str(root / f"{k}.{'jpg' if k % 2 else 'png'}"), rng.integers(0, 256, (*size, 3), np.uint8))
        cv2.imwrite(str(root / f"m{k}.png"), rng.integers(0, 256, size, np.uint8))
        corners = [[int(v) for v in rng.integers(0, 25, 2)] for _ in range(rng.integers(0, 4))]
        boxes = [[x, y, x + 9, y + 7, f"kind-{at % 2}"] for at, (x, y) in enumerate(corners)]
        cells = ['"' + json.dumps(value).replace('"', '""') + '"' for value in (boxes, corners)]
        rows.append(f"{k}.{'jpg' if k % 2 else 'png'},m{k}.png,{'ab'[k % 2]},{','.join(cells)}")
    (root / "all.csv").write_text("\n".join(rows))
    (root / "masks.csv").write_text("\n".join(",".join(row.split(",")[:3]) for row in rows))
    return root


def listed_recipe(behind: str, output: str, *, points: bool) -> Recipe:
    text = TEXT.replace("BEHIND\n", BEHIND[behind]).replace("OUTPUT", output)
    return parse_text(text if points else re.sub(r"(?m)^inputs: .*$", "inputs: {mask: optional}", text))


def agrees(here: Any, there: Any) -> bool:
    """Whether batches that are read at once, in whichever way, are the samples of another dataset."""
    try:
        for order in ORDERS:
            wanted = [there[2, k] for k in order]
            whole = here.read_batch(2, order)
            assert whole is not None
            assert whole.keys() == wanted[0].keys()
            for found in (whole, Collate("default", ragged_keys=ragged_keys(here.recipe))([here[2, k] for k in order])):
                for key, value in Collate("default", ragged_keys=ragged_keys(here.recipe))(wanted).items():
                    same(found[key], value)
            for found, one in zip(here.__getitems__([(2, k) for k in order]), wanted, strict=True):
                same(found, {name: one[name] for name in found})
    except AssertionError:
        return False
    return True


STORES: tuple[dict[str, Any], ...] = ({}, {"shard_size": "4K"}, {"format": "jpeg", "quality": 95})


@pytest.fixture(scope="module")
def stores(listed: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[bool, int], Path]:
    root, made = tmp_path_factory.mktemp("stores"), {}
    for points in (True, False):
        for k, options in enumerate(STORES):
            made[points, k] = root / f"{points}-{k}"
            given = str(listed / ("all.csv" if points else "masks.csv"))
            pack(listed_recipe("nothing", OUTPUTS[0], points=points), given, made[points, k], workers=0, **options)
    return made


@pytest.mark.parametrize(
    ("behind", "points", "output"),
    [(behind, points, OUTPUTS[(k + points) % 2]) for k, behind in enumerate(BEHIND) for points in (True, False)],
)
def test_stores_and_folders(
    listed: Path, stores: dict[tuple[bool, int], Path], behind: str, output: str, points: bool
) -> None:
    recipe = listed_recipe(behind, output, points=points)
    if behind == "boxes" and not points:
        return
    given = str(listed / ("all.csv" if points else "masks.csv"))
    plain = ImageFolder(files=given, recipe=recipe, optimize="none", seed=5)
    at_once = behind != "boxes"
    here = ImageFolder(files=given, recipe=recipe, optimize="exact", seed=5)
    assert here.gathers == at_once
    assert agrees(here, plain) == at_once
    for k in range(len(STORES)):
        with_steps = Packed(stores[points, k], recipe, optimize="exact", seed=5)
        there = plain if "quality" not in STORES[k] else Packed(stores[points, k], recipe, optimize="none", seed=5)
        assert agrees(with_steps, there) == at_once, STORES[k]


def makes_batches(shards: bool, behind: str, fixture: Any) -> None:
    """Of a store of one shard, or of several."""
    store = fixture("stores")[False, int(shards)]
    ds = Packed(store, listed_recipe(behind, OUTPUTS[0], points=False), optimize="exact")
    assert agrees(ds, Packed(store, ds.recipe, optimize="none"))


mapped, addresses = Items.mapped, MappedShards.addresses


def _one_byte_on(self: Items, items: Any) -> Any:
    found = mapped(self, items)
    return found and found._replace(places=np.add(found.places, (1, 0, 0, 0)))


def _one_shard_for_all(self: MappedShards, starts: Any) -> Any:
    return addresses(self, np.full_like(starts, starts[0]))


test_an_address_beside_the_right_one_is_noticed = planted_faults(
    {
        f"{name}, {behind}": (partial(makes_batches, shards, behind), fault)
        for name, shards, fault in (
            ("all from one shard", True, (MappedShards, "addresses", _one_shard_for_all)),
            ("one byte further on", False, (Items, "mapped", _one_byte_on)),
        )
        for behind in ("moves", "nothing")
    }
)
