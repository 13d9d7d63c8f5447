"""Packing: the same bytes however it went, epochs of what draws, and what is said before anything is written."""

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.kinds import IMAGE, KINDS, Kind, N, by_kind, data_of, pixels, recipe_of

from augrecipes import Packed, RecipeError, StoreError
from augrecipes.packing import run
from augrecipes.packing.bake import BakedRow, Baker
from augrecipes.packing.run import pack, prepare
from augrecipes.packing.workers import WorkerDied
from augrecipes.recipe.parse import parse_text

# Every format of one kind, and every kind in a format.
OF_EACH = pytest.mark.parametrize(
    ("kind", "form"),
    [(IMAGE, "lossless"), (IMAGE, "jpeg"), *((kind, "raw") for kind in KINDS)],
    ids=str,
)
EPOCHS = {
    "image": """
version: 1
recipe: heavy
steps:
  - SmallestMaxSize: {max_size: 30}
  - Rotate: {limit: 20, p: 1.0}
  - GaussianBlur: {p: 0.5}
  - RandomCrop: {height: 16, width: 16}
  - HorizontalFlip
eval: [CenterCrop: {height: 16, width: 16}]
""",
    "pair": """
version: 1
recipe: heavy
kind: pair
scales: {lr: 1, hr: 2}
steps:
  - RandomCrop: {height: 14, width: 14, at: lr}
  - GaussianBlur: {p: 0.5, target: lr}
  - D4: {p: 1.0}
eval: []
""",
    "views": """
version: 1
recipe: heavy
kind: views
shared:
  - SmallestMaxSize: {max_size: 30}
  - Rotate: {limit: 20, p: 1.0}
  - GaussianBlur: {p: 0.5}
views:
  global: {count: 2, steps: [RandomCrop: {height: 16, width: 16}, HorizontalFlip]}
  local: {count: 3, steps: [RandomCrop: {height: 8, width: 8}, HorizontalFlip]}
eval: [CenterCrop: {height: 16, width: 16}]
""",
    "bag": """
version: 1
recipe: heavy
kind: bag
bag: {max_tiles: 3}
steps:
  - Rotate: {limit: 20, p: 1.0}
  - GaussianBlur: {p: 0.5, share: bag}
  - RandomCrop: {height: 12, width: 10}
  - HorizontalFlip: {share: bag}
eval: [CenterCrop: {height: 12, width: 10}]
""",
}


def content(store: Path) -> dict[str, bytes]:
    """Every file of a store."""
    return {file.name: file.read_bytes() for file in sorted(store.iterdir())}


# -- the same bytes ---------------------------------------------------------------------------------------------------


class InterruptedRunError(Exception):
    """What ends a run in the middle."""


@OF_EACH
def test_interruptions_change_no_byte(
    roots: dict[str, Path], tmp_path: Path, kind: Kind, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("augrecipes.store.writer.SHARD_BYTES", 9_000)
    recipe, data = parse_text(recipe_of(kind)), data_of(kind, roots[kind.name])
    pack(recipe, data, tmp_path / "once", workers=0, format=form)
    runs: list[list[int]] = []

    def stop_after(done: int, total: int) -> None:
        runs[-1].append(done)
        if len(runs[-1]) == 3 + 2 * len(runs):
            raise InterruptedRunError

    while not (tmp_path / "often").exists():
        runs.append([])
        try:
            pack(recipe, data, tmp_path / "often", workers=0, format=form, advance=stop_after)
        except InterruptedRunError:
            assert not (tmp_path / "often").exists()
    assert any(run[0] > 1 for run in runs) == bool(list(tmp_path.glob("once/*-00001.*")))
    assert content(tmp_path / "often") == content(tmp_path / "once")
    assert {path.name for path in tmp_path.iterdir()} == {"often", "once"}


def test_other_arguments_do_not_go_on_with_it(roots: dict[str, Path], tmp_path: Path) -> None:
    def stop(done: int, total: int) -> None:
        if done == last:
            raise InterruptedRunError

    arguments: Any = (parse_text(recipe_of(IMAGE)), str(roots["image"]), tmp_path / "store")
    other: Any = {"mode": "train", "shard_size": 1}
    last = 2  # of which the first is a shard
    with pytest.raises(InterruptedRunError):
        pack(*arguments, workers=0, advance=stop, shard_size=1)
    with pytest.raises(StoreError, match="go on with the same arguments, or discard"):
        pack(*arguments, workers=0, **other)
    assert not (tmp_path / "store").exists()
    shutil.rmtree(tmp_path / ".store.partial")
    last = 1  # nothing is whole yet
    with pytest.raises(InterruptedRunError):
        pack(*arguments, workers=0, advance=stop, shard_size=1)
    pack(*arguments, workers=0, **other)


class Dies(Baker):
    """A worker that is killed, as for want of memory."""

    def bake(self, rows: range) -> Iterator[BakedRow]:
        if 4 in rows:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().bake(rows)


def test_a_dead_worker_is_told_and_the_rest_is_kept(
    roots: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe, out = parse_text(recipe_of(IMAGE)), tmp_path / "store"
    with monkeypatch.context() as patch:
        patch.setattr(run, "Baker", Dies)
        patch.setattr(run, "estimate_size", lambda *_: (0, 3))
        with pytest.raises(WorkerDied, match="a worker process died"):
            pack(recipe, str(roots["image"]), out, workers=1)
    pack(recipe, str(roots["image"]), out, workers=0)
    assert len(Packed(out, recipe)) == N


# -- epochs -----------------------------------------------------------------------------------------------------------


@by_kind
def test_baked_epochs_are_the_epochs_of_the_files(roots: dict[str, Path], tmp_path: Path, kind: Kind) -> None:
    recipe, root = parse_text(EPOCHS[kind.name]), roots[kind.name]
    packing = pack(recipe, data_of(kind, root), tmp_path / "store", epochs=3, seed=5, workers=0)
    files, ds = kind.open(root, EPOCHS[kind.name], seed=5), Packed(tmp_path / "store", recipe, seed=5)
    assert packing.plan.steps[-1].name == "GaussianBlur"
    assert len(ds) == len(files) == N
    for epoch in range(3):
        assert [pixels(ds[epoch, i]) for i in range(N)] == [pixels(files[epoch, i]) for i in range(N)]
    # Later epochs begin with the same images, and draw anew behind them.
    later = [pixels(ds[epoch, i]) for epoch in range(3, 6) for i in range(N)]
    assert len(set(later)) > N
    assert not set(later) & {pixels(files[epoch, i]) for epoch in range(3, 6) for i in range(N)}
    assert {pixels(ds[0, i + N]) for i in range(N)}.isdisjoint(later)


def test_epochs_belong_to_a_seed_and_to_training(roots: dict[str, Path], tmp_path: Path) -> None:
    recipe = parse_text(EPOCHS["image"])
    pack(recipe, str(roots["image"]), tmp_path / "store", epochs=2, seed=5, workers=0)
    with pytest.raises(StoreError, match="drawn with seed 5, not with 0: give seed=5"):
        Packed(tmp_path / "store", recipe)
    with pytest.raises(StoreError, match="does not begin with the steps"):
        Packed(tmp_path / "store", recipe, seed=5, mode="eval")
    # Steps that draw are told apart by what their draws are keyed with.
    renamed = parse_text(EPOCHS["image"].replace("Rotate: {limit", "Rotate: {id: turn, limit"))
    with pytest.raises(StoreError, match="does not begin with the steps"):
        Packed(tmp_path / "store", renamed, seed=5)


# -- what is baked ----------------------------------------------------------------------------------------------------

STEPS = """
version: 1
recipe: steps
steps:
  - Resize: {height: 30, width: 28, id: small}
  - HorizontalFlip: {p: 1.0}
  - CenterCrop: {height: 28, width: 28}
  - GaussianBlur: {p: 0.5}
  - HorizontalFlip
eval:
  - Resize: {height: 30, width: 28}
  - HorizontalFlip: {p: 1.0}
"""


@pytest.mark.parametrize(
    ("options", "count", "serves"),
    [
        ({}, 2, ["train", "eval"]),
        ({"mode": "train"}, 3, ["train"]),
        ({"mode": "eval"}, 2, ["eval"]),
        ({"epochs": 2}, 4, ["train"]),
    ],
)
def test_which_steps_are_baked(
    roots: dict[str, Path], tmp_path: Path, options: dict[str, Any], count: int, serves: list[str]
) -> None:
    plan = prepare(parse_text(STEPS), str(roots["image"]), tmp_path / "store", **options).plan
    assert (plan.count, list(plan.serves)) == (count, serves)
    assert plan.epochs == (2 if count > 3 else 0)  # the first three draw nothing
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"epochs": 0}, "at least 1"),
        ({"epochs": 2, "mode": "eval"}, "epochs of training"),
    ],
)
def test_what_cannot_be_baked(roots: dict[str, Path], options: dict[str, Any], error: str, tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=error):
        prepare(parse_text(STEPS), str(roots["image"]), tmp_path / "store", **options)


def test_a_prefix_that_draws_is_caught_by_the_law(
    roots: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A planted fault: a step that draws passes for one that does not."""
    recipe = parse_text(EPOCHS["image"].replace("eval: [CenterCrop: {height: 16, width: 16}]\n", ""))
    monkeypatch.setattr("augrecipes.compiler.prefix.draws_nothing", lambda step: step.name != "GaussianBlur")
    monkeypatch.setattr("augrecipes.compiler.prefix.deterministic_prefix", lambda steps: 2)
    monkeypatch.setattr("augrecipes.compiler.prefix.common_prefix", lambda recipe: 2)
    pack(recipe, str(roots["image"]), tmp_path / "store", workers=0)
    files, ds = IMAGE.open(roots["image"], EPOCHS["image"]), Packed(tmp_path / "store", recipe)
    assert [pixels(ds[1, i]) for i in range(N)] != [pixels(files[1, i]) for i in range(N)]


# -- before it is written ---------------------------------------------------------------------------------------------


@OF_EACH
def test_the_size_is_told(roots: dict[str, Path], tmp_path: Path, kind: Kind, form: str) -> None:
    recipe, data = parse_text(recipe_of(kind)), data_of(kind, roots[kind.name])
    packing = pack(recipe, data, tmp_path / "store", workers=0, format=form)
    kept = [file for file in (tmp_path / "store").iterdir() if file.suffix not in (".json",)]
    real = sum(file.stat().st_size for file in kept)
    assert 0.6 * real < packing.bytes < 1.5 * real
    assert packing.channels == 3
    size = f"about {packing.bytes:,} bytes"
    assert repr(packing) == f"<Packing to {tmp_path / 'store'}: {form}, {packing.rows} rows, {size}>"
