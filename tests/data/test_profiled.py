"""What is read shows under its names in PyTorch's profiler, and is the same as without one."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch
from kinds import BAG, IMAGE, KINDS, PAIR, Kind, N, pixels, samples
from packed_kinds import open_packed, packed, recipe_of
from torch.profiler import ProfilerActivity, profile

from augrecipes.data.batches import profiled
from augrecipes.data.loader import loader
from augrecipes.data.packed import Packed
from augrecipes.images import watch
from augrecipes.recipe.parse import parse_text

WHOLE = "{version: 1, recipe: whole, steps: [Resize: {height: 9, width: 8}], eval: [Resize: {height: 9, width: 8}]}"
BATCHES = 3  # of four samples


def ranges(work: Callable[[], Any]) -> tuple[Any, Counter[str]]:
    """What `work` returns, and how often each of our ranges was seen."""
    with profile(activities=[ProfilerActivity.CPU]) as seen:
        done = work()
    counts = {event.key: event.count for event in seen.key_averages() if event.key.startswith("augrecipes: ")}
    return done, Counter({key.removeprefix("augrecipes: "): count for key, count in counts.items()})


def every_bit(dataset: Any, **options: Any) -> list[bytes]:
    made = loader(dataset, N // BATCHES, shuffle=True, seed=5, collate="list", **{"num_workers": 0, **options})
    made.set_epoch(2)
    return [pixels(sample) for sample in samples(made)]


@pytest.mark.parametrize("level", ["none", "exact", "fast"])
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_every_stage_shows_and_no_bit_changes(roots: dict[str, Path], kind: Kind, level: Any) -> None:
    ds = kind.open(roots[kind.name], seed=3, optimize=level)
    one_thread = kind.open(roots[kind.name], seed=3, optimize=level, **({"threads": 1} if kind is BAG else {}))
    without = every_bit(ds)
    profiled_bits, seen = ranges(lambda: every_bit(one_thread))
    assert profiled_bits == without == every_bit(ds)
    assert seen["next batch"] == BATCHES + 1  # the last finds the end
    assert seen["collate"] == BATCHES
    a_sample = {"image": 1, "pair": 2, "bag": 4}[kind.name]
    lazily = ds.pipeline.reads and kind is not BAG
    plan = ds.pipeline.compiled.plans["encoded" if lazily else "uint8"]
    assert seen["sink"] == N * a_sample
    assert seen["read"] >= N * a_sample
    assert seen["decode"] >= N * a_sample
    for step in plan.steps:
        assert seen[step.site] == N * (a_sample if kind is BAG else 1)


def test_stores_show_too(roots: dict[str, Path]) -> None:
    steps = {"sink", "RandomBrightnessContrast#1"}
    recipe = recipe_of(IMAGE)
    jpegs = packed(IMAGE, roots["image"], recipe, format="jpeg")
    for ds, expected in (
        (open_packed(IMAGE, roots["image"], seed=3), steps),
        (open_packed(PAIR, roots["pair"], seed=3), steps),
        (open_packed(BAG, roots["bag"], seed=3, threads=1), steps),
        (Packed(packed(IMAGE, roots["image"], WHOLE), parse_text(WHOLE)), {"sink"}),
        (Packed(jpegs, parse_text(recipe), seed=3), {"read", "decode", *steps}),
    ):
        without = [pixels(ds[k]) for k in range(N)]
        alone, seen = ranges(lambda ds=ds: [pixels(ds[k]) for k in range(N)])
        assert alone == without
        assert expected <= set(seen)
        stacked, seen = ranges(lambda ds=ds: [*loader(ds, 4, num_workers=0)])
        assert expected | {"collate", "next batch"} <= set(seen)
        key = "lr" if ds.kind == "pair" else "image"
        images = [image for batch in stacked for image in batch[key]]
        assert all(torch.equal(image, ds[k][key]) for k, image in enumerate(images))


def test_a_gathered_batch_is_read_at_once(roots: dict[str, Path]) -> None:
    ds = Packed(packed(IMAGE, roots["image"], WHOLE), parse_text(WHOLE))
    _, seen = ranges(lambda: [*loader(ds, N // BATCHES, num_workers=0)])
    assert seen.pop("read") >= BATCHES  # some rows at a time, as the sink takes them
    assert seen == {"next batch": BATCHES + 1, "sink": BATCHES, "collate": BATCHES}


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("backend", ["threads", "processes"])
def test_of_those_that_read_ahead_the_wait_shows(roots: dict[str, Path], kind: Kind, backend: Any) -> None:
    ds = kind.open(roots[kind.name], seed=3)
    found, seen = ranges(lambda: every_bit(ds, num_workers=2, backend=backend))
    assert found == every_bit(ds)
    assert seen == {"next batch": BATCHES + 1}


class TellsOfTheProfiler(torch.utils.data.Dataset[int]):
    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> int:
        return int(not isinstance(profiled.span("here"), nullcontext))


def test_a_forked_worker_has_no_profiler() -> None:
    def told() -> list[int]:
        made = loader(TellsOfTheProfiler(), 2, num_workers=1, multiprocessing_context="fork")
        return next(iter(made)).tolist()  # type: ignore[no-any-return]

    assert ranges(told)[0] == [0, 0]
    assert ranges(lambda: [TellsOfTheProfiler()[0]])[0] == [1]


def test_nothing_is_left_behind(roots: dict[str, Path]) -> None:
    ds = IMAGE.open(roots["image"], seed=3)
    pipeline = ds.pipeline
    _, seen = ranges(lambda: ds[0])
    assert seen["read"]
    assert ds.pipeline is pipeline
    assert profiled.named(ds) is ds
    assert watch.stage("read") is watch.stage("decode")  # nobody
    assert profiled.span("collate") is profiled.span("sink")


def test_threads_of_the_user_may_read_while_profilers_come_and_go(roots: dict[str, Path]) -> None:
    ds = IMAGE.open(roots["image"], seed=3)
    expected = [pixels(ds[k]) for k in range(N)]
    stop, wrong = threading.Event(), []

    def reads() -> None:
        while not stop.is_set():
            wrong.extend(k for k in range(N) if pixels(ds[k]) != expected[k])

    readers = [threading.Thread(target=reads) for _ in range(3)]
    for reader in readers:
        reader.start()
    for _ in range(5):
        assert ranges(lambda: [pixels(ds[k]) for k in range(N)])[0] == expected
    stop.set()
    for reader in readers:
        reader.join()
    assert wrong == []


def test_a_step_that_fails_is_named_as_without(roots: dict[str, Path]) -> None:
    ds = IMAGE.open(roots["image"], IMAGE.recipe.replace("height: 24", "height: 240"), seed=3)
    errors = []
    for attempt in (lambda: ds[0], lambda: ranges(lambda: ds[0])):
        with pytest.raises(Exception, match="RandomCrop") as caught:
            attempt()
        errors.append((type(caught.value), str(caught.value)))
    assert errors[0] == errors[1]


def test_a_step_that_is_run_twice_would_be_noticed(roots: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: a watcher that draws."""
    ds = IMAGE.open(roots["image"], seed=3)
    expected = every_bit(ds)

    def twice(label: str, step: Any, args: Any, kwargs: Any) -> Any:
        return step(*args, **step(*args, **kwargs)) if label == "RandomBrightnessContrast#1" else step(*args, **kwargs)

    monkeypatch.setattr(profiled, "_spanning", twice)
    assert ranges(lambda: every_bit(ds))[0] != expected
