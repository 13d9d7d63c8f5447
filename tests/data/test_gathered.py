"""Datasets that read many samples at once give what they give one by one."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from support.datasets import Gathering, here
from support.kinds import pixels, samples
from torch.utils.data import DataLoader, Subset, default_collate

from augrecipes import CollateError, DataError, loader
from augrecipes.data import batching
from augrecipes.data.batching import Pool
from augrecipes.data.collate import MASK_PADDING, Collate

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
        loader(Gathering(N), 5, collate=collate, **options), here(OneByOne(N), 5, collate=collate), strict=True
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


# Batches: what is stacked, listed, padded and refused.


def sample(height: int = 4, width: int = 5, index: int = 0, boxes: int = 1) -> dict[str, Any]:
    return {
        "image": torch.full((3, height, width), index + 1.0),
        "mask": torch.full((height, width), index + 1),
        "boxes": torch.ones(boxes, 4),
        "box_labels": torch.ones(boxes, dtype=torch.int64),
        "label": index,
        "index": index,
        "path": f"{index}.png",
    }


def test_default_stacks() -> None:
    batch = Collate()([sample(index=i, boxes=i) for i in range(3)])
    assert batch["image"].shape == (3, 3, 4, 5)
    assert (batch["mask"].shape, batch["mask"].dtype) == ((3, 4, 5), torch.int64)
    assert torch.equal(batch["label"], torch.tensor([0, 1, 2]))
    assert batch["label"].dtype == torch.int64
    assert batch["path"] == ["0.png", "1.png", "2.png"]
    assert [len(b) for b in batch["boxes"]] == [len(b) for b in batch["box_labels"]] == [0, 1, 2]


@pytest.mark.parametrize(
    "make",
    [
        lambda i: torch.arange(12.0).reshape(3, 4).T + i,  # not contiguous
        lambda i: torch.zeros(0, 3),
        torch.tensor,
        lambda i: torch.full((2, 2), i, dtype=torch.bfloat16),
        lambda i: torch.full((2, 2), float(i), requires_grad=True),
        lambda i: torch.full((2, 2), complex(0, i)).conj(),
    ],
)
def test_stacks_as_torch_does(make: Callable[[int], torch.Tensor]) -> None:
    values = [make(i) for i in range(3)]
    stacked = Collate()([{"image": value} for value in values])["image"]
    assert stacked.dtype == values[0].dtype
    assert torch.equal(stacked, torch.stack(values))


def test_default_refuses_with_both_sizes() -> None:
    with pytest.raises(
        CollateError, match=r"3×4×5 in sample 0 \([^)]*\), but 3×4×6 in sample 7.*\"pad\".*\"list\""
    ) as caught:
        Collate()([sample(), sample(), sample(width=6, index=7)])
    assert caught.value.path == "7.png"
    with pytest.raises(CollateError, match=r"torch\.float32.*torch\.uint8"):
        Collate()([{"image": torch.zeros(1)}, {"image": torch.zeros(1, dtype=torch.uint8)}])


@pytest.mark.parametrize("swap", [False, True])
def test_missing_keys_are_named(swap: bool) -> None:
    pair = [sample(), {k: v for k, v in sample(index=1).items() if k != "mask"}]
    with pytest.raises(CollateError, match=r"sample 0 \([^)]*\) has 'mask', sample 1 \([^)]*\) has not"):
        Collate()(pair[::-1] if swap else pair)


sizes = st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=1, max_size=4)


@given(sizes, st.sampled_from(["chw", "hwc"]))
def test_pad_keeps_every_pixel_and_marks_the_rest(found: list[tuple[int, int]], layout: Any) -> None:
    samples = [sample(h, w, i) for i, (h, w) in enumerate(found)]
    if layout == "hwc":
        samples = [s | {"image": s["image"].permute(1, 2, 0)} for s in samples]
    batch = Collate("pad", layout)(samples)
    height, width = max(h for h, _ in found), max(w for _, w in found)
    image = batch["image"] if layout == "chw" else batch["image"].permute(0, 3, 1, 2)
    assert image.shape == (len(found), 3, height, width)
    assert batch["padding"].shape == (len(found), height, width)
    for i, (h, w) in enumerate(found):
        assert (image[i, :, :h, :w] == i + 1).all()
        assert (batch["mask"][i, :h, :w] == i + 1).all()
        assert not batch["padding"][i, :h, :w].any()
        assert batch["padding"][i].sum() == height * width - h * w
        assert (image[i, :, batch["padding"][i]] == 0).all()
        assert (batch["mask"][i][batch["padding"][i]] == MASK_PADDING).all()


def test_pad_refuses_other_channels() -> None:
    with pytest.raises(CollateError, match="1×4×5 in sample 1"):
        Collate("pad")([sample(), sample(index=1) | {"image": torch.zeros(1, 4, 5)}])
