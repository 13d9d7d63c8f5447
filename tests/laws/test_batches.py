"""Batches are their samples one by one, bit for bit: whatever the recipe, the files, the order and who reads them."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_sets import NEEDS_KERNELS
from PIL import Image
from random_recipes import Arguments, Pool, attempt, build, label, pool, recipes
from support.checks import DEAR, PLANTED, SEEDS, holds, planted, planted_faults, same
from support.encoded_images import exif
from support.programs import RUN_BATCH, one_level_off
from test_native_plan import BENT, NATIVE, WARPED

from augrecipes import DataError, ImageFolder, Packed, loader, open_encoded, pack
from augrecipes.compiler.executor.program import Program
from augrecipes.compiler.run import batch_threads
from augrecipes.data.collate import Collate
from augrecipes.kinds.bag.pipeline import BagPipeline
from augrecipes.native.libjpeg import Coded, codec
from augrecipes.recipe.model import Optimize, Recipe, Step
from augrecipes.recipe.parse import parse_text

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


@st.composite
def of_one_size(draw: st.DrawFn, pool: Pool) -> Recipe:
    """Recipes without groups, most of whose samples have one size."""
    recipe = draw(recipes(pool, boxes=False, max_steps=5).filter(lambda r: not any(s.is_group for s in r.steps)))
    name, args = draw(st.sampled_from(ENDS))
    end = Step(name, Arguments(args), p=draw(st.sampled_from((1.0, 1.0, 1.0, 0.5))))
    return replace(recipe, steps=label((*(replace(step, site="") for step in recipe.steps), end)))


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


@pytest.mark.parametrize("options", BACKENDS, ids=lambda o: f"{o.get('backend')}-{o.get('num_workers', 0)}")
@pytest.mark.parametrize("collate", ["default", "pad"])
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
)


@pytest.mark.parametrize("kept", ["raw", "jpeg"])
def test_stores(folder: Path, tmp_path: Path, kept: str) -> None:
    text = "{version: 1, recipe: r, steps: [RandomCrop: {height: 20, width: 20}, D4: {p: 1.0}], eval: []}"
    recipe = parse_text(text)
    pack(parse_text(text.replace("RandomCrop: {height: 20, width: 20}, ", "")), str(folder), tmp_path / "store",
         format=kept, workers=0, on_error="skip")  # fmt: skip
    order = [3, 0, 11, N + 5, 1, 1, 8]
    here = Packed(tmp_path / "store", recipe, seed=5)
    assert not isinstance(here.pipeline.at_once, str)  # type: ignore[attr-defined]
    batch = here.read_batch(1, order)
    there = Packed(tmp_path / "store", recipe, seed=5, optimize="none")
    same(batch, Collate()([there[1, k] for k in order]))
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
