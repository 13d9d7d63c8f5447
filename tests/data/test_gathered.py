"""Datasets that read many samples at once give what they give one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from support.datasets import Gathering, here
from support.kinds import pixels, samples
from torch.utils.data import DataLoader, Subset, default_collate

from augrecipes.data import batching
from augrecipes.data.batching import Pool
from augrecipes.data.collate import Collate
from augrecipes.data.loader import loader
from augrecipes.errors import DataError

N = 23
BACKENDS: tuple[dict[str, Any], ...] = (
    {"num_workers": 0},
    {"backend": "threads", "num_workers": 1},
    {"backend": "threads", "num_workers": 3},
    {"num_workers": 2, "multiprocessing_context": "fork"},
)
by_backend = pytest.mark.parametrize("options", BACKENDS, ids=lambda o: f"{o.get('backend')}-{o.get('num_workers', 0)}")


class OneByOne(Gathering):
    def _batch(self, *_: Any) -> None:
        return None


def equal(a: Any, b: Any) -> bool:
    if isinstance(a, torch.Tensor):
        return isinstance(b, torch.Tensor) and a.dtype == b.dtype and torch.equal(a, b)
    return type(a) is type(b) and bool(a == b)


@by_backend
@pytest.mark.parametrize("make", [lambda ds: ds, lambda ds: ds.subset([5, 5, 3, *range(9)])], ids=["all", "subset"])
def test_batches_are_those_that_are_read_one_by_one(options: dict[str, Any], make: Any) -> None:
    ds = Gathering(N)
    made = loader(make(ds), 5, shuffle=True, samples_per_epoch=31, **options)
    reference = here(make(OneByOne(N)), 5, shuffle=True, samples_per_epoch=31)
    for _ in range(2):
        for batch, expected in zip(made, reference, strict=True):
            assert list(batch) == list(expected)
            assert all(equal(batch[key], expected[key]) for key in expected)


def test_they_are_read_at_once() -> None:
    ds = Gathering(N)
    list(here(ds, 10))
    assert [n for _, n in ds.asked] == [10, 10, 3]
    ds.asked.clear()
    list(loader(ds, 10, backend="threads", num_workers=2))
    assert sorted(n for _, n in ds.asked) == [1, 2, 5, 5, 5, 5]  # threads take parts in any order


@by_backend
@pytest.mark.parametrize("collate", ["list", "pad", default_collate])
def test_other_collates_get_samples(options: dict[str, Any], collate: Any) -> None:
    for batch, expected in zip(
        loader(Gathering(N), 5, collate=collate, **options),
        here(OneByOne(N), 5, collate=collate),
        strict=True,
    ):
        found, wanted = samples([batch]), samples([expected])
        assert [pixels(s) for s in found] == [pixels(s) for s in wanted]


@by_backend
def test_a_broken_sample_is_blamed_and_replaced_as_one_by_one(options: dict[str, Any]) -> None:
    broken = frozenset({3, 7})
    with pytest.raises(DataError) as caught:
        list(loader(Gathering(N, broken=broken), 5, **options))
    assert caught.value.path == "3.png"
    made = loader(Gathering(N, broken=broken, on_error="skip"), 5, **options)
    reference = here(OneByOne(N, broken=broken, on_error="skip"), 5)
    assert [pixels(s) for s in samples(made)] == [pixels(s) for s in samples(reference)]
    assert made.skipped == reference.skipped
    assert len(made.skipped) == 2


@by_backend
def test_sizes_that_differ_are_padded(options: dict[str, Any]) -> None:
    for batch in loader(Gathering(N, ragged=True), 5, collate="pad", **options):
        assert batch["image"].shape[2:] == (9, 9)
        assert [bool(p.any()) for p in batch["padding"]] == [int(i) % 2 == 0 for i in batch["index"]]


def test_a_plain_torch_loader_asks_for_batches() -> None:
    ds = Gathering(N)
    expected = [[pixels(ds[epoch, i]) for i in range(N)] for epoch in (0, 1)]
    ds.asked.clear()
    for epoch, (view, n) in enumerate([(ds, N), (Subset(ds, range(9)), 9)]):  # the second one reads samples again
        found = list(DataLoader(view, 5, collate_fn=list))
        assert [pixels(sample) for batch in found for sample in batch] == expected[epoch][:n]
        assert isinstance(found[0][0]["index"], int)
    assert [n for _, n in ds.asked] == [5, 5, 5, 5, 3, 5, 4]
    batch = next(iter(DataLoader(ds, 5, sampler=[(0, i) for i in range(N)], collate_fn=Collate())))
    assert batch["image"].shape == (5, 3, 8, 8)


def test_a_batch_is_read_without_a_loader() -> None:
    ds = Gathering(N)
    batch, expected = ds.read_batch(2, [4, N + 1]), Collate()([ds[2, 4], ds[2, N + 1]])
    assert batch is not None
    assert list(batch) == list(expected)
    assert all(equal(batch[key], expected[key]) for key in expected)
    assert OneByOne(N).read_batch(0, [1]) is None


def test_keys_of_any_sort_may_be_asked_for_at_once() -> None:
    ds = Gathering(N)
    for keys in ([0, -1, np.int64(3)], [(1, 0), (1, N + 2)], [(0, 1), (1, 1)], []):
        assert [pixels(s) for s in ds.__getitems__(keys)] == [pixels(ds[key]) for key in keys]
    with pytest.raises(IndexError):
        ds.__getitems__([0, N])


def test_samples_lie_in_their_batch() -> None:
    """Nothing is copied: a sample's memory is a row of its batch."""
    kept: list[Any] = []

    class Watching(OneByOne):
        def _sample(self, row: int, epoch: int, virtual: int) -> dict[str, Any]:
            sample = super()._sample(row, epoch, virtual)
            kept.append(sample["image"].data_ptr())
            return sample

    for options in BACKENDS[:3]:
        kept.clear()
        for batch in loader(Watching(10), 5, **options):
            rows = {row.data_ptr() for row in batch["image"]}
            assert len(rows & set(kept)) == 5


def test_a_changed_sample_is_not_gathered() -> None:
    class Brighter(Gathering):
        def _sample(self, row: int, epoch: int, virtual: int) -> dict[str, Any]:
            return {"image": super()._sample(row, epoch, virtual)["image"] // 2}

    assert Gathering(N).gathers
    assert not Brighter(N).gathers
    assert [pixels(s) for s in samples(here(Brighter(N), 5))] == [pixels(Brighter(N)[i]) for i in range(N)]


# Memory of batches is kept from pass to pass, as much as is said and no more.


MIB = 1 << 20


def fresh(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of what is asked of the system from now on."""
    asked: list[int] = []
    of_the_system = batching._of_the_system

    def counted(size: int) -> Any:
        asked.append(size)
        return of_the_system(size)

    monkeypatch.setattr(batching, "_of_the_system", counted)
    return asked


@pytest.mark.parametrize("but", [0, 3 * MIB, 5 * MIB, 100 * MIB])
def test_no_more_is_kept_than_is_said(but: int) -> None:
    lent, sizes = Pool(), (2 * MIB, MIB, 3 * MIB, 2 * MIB)
    held = [lent.empty((size,), torch.uint8) for size in sizes]
    held.clear()
    assert len(lent._free) == len(sizes)
    lent.clear(but)
    kept = [len(one) for one in lent._free]
    assert sum(kept) <= but
    assert sum(kept) + max(sizes) >= min(but, sum(sizes))  # and not much less


@pytest.mark.parametrize(
    "options", [{"num_workers": 0}, {"backend": "threads", "num_workers": 2}], ids=["one thread", "two"]
)
def test_the_next_pass_asks_for_no_fresh_memory(monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]) -> None:
    monkeypatch.setattr(batching, "LEAST_BYTES", 1)
    made, asked = loader(Gathering(40), 8, **options), fresh(monkeypatch)

    def passes(count: int) -> list[int]:
        for _ in range(count):
            for batch in made:
                del batch
            asked.append(0)
        taken = asked[:-1] if not asked[-1] else asked[:]
        asked.clear()
        return [size for size in taken if size]

    first = passes(1)
    assert first
    if not options["num_workers"]:
        assert passes(3) == []
        monkeypatch.setattr(batching, "BATCH_BYTES", 0)  # a planted fault, and what `tune_allocator=False` does
        assert len(passes(4)) >= 3 * len(first)


def test_without_tuning_all_goes_back() -> None:
    made = here(Gathering(40), 8, tune_allocator=False)
    for batch in made:
        assert np.asarray(batch["image"]).size
    del batch
    assert made._readers.pool._free == []
