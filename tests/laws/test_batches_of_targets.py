"""Batches of samples with masks, boxes and keypoints are their samples one by one, bit for bit."""

import json
import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import torch
from hypothesis import strategies as st
from kernel_sets import NEEDS_KERNELS
from random_recipes import Pool, build, label, recipes
from support.checks import FAILURES, SEEDS, holds, planted, planted_faults, same
from support.programs import RUN_BATCH
from test_alignment import ABOUT_BOXES
from test_batches import ENDS, LEVELS_DRAWN, N
from test_native_plan import BENT, NATIVE, ON_MASKS, WARPED, WARPED_MASKS

from augrecipes import CollateError, DataError, ImageFolder, Packed, pack
from augrecipes.compiler.executor.inputs import MappedImages
from augrecipes.compiler.executor.program import Program
from augrecipes.compiler.run.batch import SampleColumns
from augrecipes.compiler.run.program_runner import ProgramRunner
from augrecipes.data.batching import BatchRows, as_torch, native_batch, ragged_keys
from augrecipes.data.collate import Collate
from augrecipes.recipe.model import Arguments, Boxes, Inputs, Keypoints, Optimize, Recipe, Step
from augrecipes.recipe.parse import parse_text
from augrecipes.store.items import Items, MappedShards

pytestmark = [NEEDS_KERNELS, pytest.mark.filterwarnings("ignore::UserWarning")]
STEPS: Pool = (*NATIVE, *WARPED, *BENT, *ON_MASKS, *WARPED_MASKS, *ABOUT_BOXES, ("Spatter", {}))
EPOCH = 3
# How masks come; those that no plan takes are Python's.
MASKS = (np.uint8, np.uint8, np.uint8, bool, np.uint16, np.int32, np.float32)
Sample = dict[str, Any]


@st.composite
def of_one_size(draw: st.DrawFn, pool: Pool) -> Recipe:
    """Recipes most of whose samples have one size, with or without points."""
    recipe = draw(recipes(pool, boxes=False, max_steps=4).filter(lambda r: not any(s.is_group for s in r.steps)))
    points = draw(st.sampled_from((Inputs(), Inputs(boxes=Boxes(min_area=9.0), keypoints=Keypoints()))))
    name, args = draw(st.sampled_from(ENDS))
    steps = label((*(replace(step, site="") for step in recipe.steps), Step(name, Arguments(args), p=1.0)))
    return replace(recipe, steps=steps, inputs=points)


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


def check(recipe: Recipe, seed: int, levels: tuple[Optimize, Optimize], lying: bool) -> bool:
    """Whether there was a batch."""
    rng, ragged = np.random.default_rng(seed), ragged_keys(recipe.inputs)
    samples = drawn(recipe, rng, int(rng.integers(1, 40)))
    indices = rng.integers(0, 2**40, len(samples))
    rows = BatchRows(len(samples))
    columns = in_memory(samples) if lying else None
    broken = False
    made: dict[str, Any] | None = None
    try:
        made = native_batch(
            build(recipe, levels[0], seed), columns or read_by(samples), EPOCH, indices,
            rows.take(range(len(samples))), ragged,
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
        made.append(check(recipe, seed, levels, lying))

    holds(law, of_one_size(STEPS), SEEDS, LEVELS_DRAWN, st.booleans())
    assert sum(made) > len(made) // 5


run_batch, moved = ProgramRunner.run_batch, ProgramRunner.run_without_pixels
run_masks = ProgramRunner._run_masks
FAULTS: dict[str, tuple[Any, str, Any]] = {
    "another's mask": (
        ProgramRunner, "_run_masks",
        lambda self, output, keys, *rest: run_masks(self, output, [*keys[1:], keys[0]], *rest),
    ),
    "another's boxes": (
        ProgramRunner, "run_without_pixels",
        lambda self, key, data, *way: moved(self, (key[0], key[1] + 1, key[2]), data, *way),
    ),
    "one that is left is forgotten": (
        ProgramRunner, "run_batch", lambda self, output, positions, *rest: (
            [] if len(left := run_batch(self, output, positions, *rest)) < len(positions) else left
        ),
    ),
    "a mask of another epoch": (
        Program, "run_batch",
        lambda self, epoch, *rest, **named: RUN_BATCH(self, epoch + self._limits[1], *rest, **named),
    ),
}  # fmt: skip
FAULTY = of_one_size((*NATIVE, *WARPED, ("Spatter", {"p": 0.4})))
test_planted_faults_are_found = planted_faults(
    {
        f"{name}, {lying}": (planted(check, FAULTY, SEEDS, LEVELS_DRAWN, st.just(lying)), fault)
        for name, fault in FAULTS.items()
        for lying in (True, False)
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


def recipe_of(behind: str, output: str, *, points: bool) -> Recipe:
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
            for found in (whole, Collate("default", ragged_keys=here.ragged_keys)([here[2, k] for k in order])):
                for key, value in Collate("default", ragged_keys=here.ragged_keys)(wanted).items():
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
            pack(recipe_of("nothing", OUTPUTS[0], points=points), given, made[points, k], workers=0, **options)
    return made


@pytest.mark.parametrize("points", [True, False], ids=["points", "masks"])
@pytest.mark.parametrize("behind", BEHIND)
@pytest.mark.parametrize("output", OUTPUTS, ids=["float", "bytes"])
def test_stores_and_folders(
    listed: Path, stores: dict[tuple[bool, int], Path], behind: str, output: str, points: bool
) -> None:
    recipe = recipe_of(behind, output, points=points)
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
    ds = Packed(store, recipe_of(behind, OUTPUTS[0], points=False), optimize="exact")
    assert agrees(ds, Packed(store, ds.recipe, optimize="none"))


lie, addresses = Items.lie, MappedShards.addresses


def _one_byte_on(self: Items, items: Any) -> Any:
    found = lie(self, items)
    return found and found._replace(lie=np.add(found.lie, (1, 0, 0, 0)))


def _one_shard_for_all(self: MappedShards, starts: Any) -> Any:
    return addresses(self, np.full_like(starts, starts[0]))


test_an_address_beside_the_right_one_is_noticed = planted_faults(
    {
        f"{name}, {behind}": (partial(makes_batches, shards, behind), fault)
        for name, shards, fault in (
            ("all from one shard", True, (MappedShards, "addresses", _one_shard_for_all)),
            ("one byte further on", False, (Items, "lie", _one_byte_on)),
        )
        for behind in ("moves", "nothing")
    }
)
