"""Datasets that read many samples at once give what they give one by one, whatever items hold and whoever reads."""

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from support.checks import DEAR, FAILURES, planted, planted_faults, same
from support.datasets import Gathering, here
from support.datasets import here as in_process
from support.kinds import pixels, samples
from torch.utils.data import DataLoader, Subset, default_collate

from augrecipes import CollateError, DataError, Samples, loader
from augrecipes.data import batching, source_runs
from augrecipes.data.batching import Pool, ragged_keys
from augrecipes.data.collate import Collate
from augrecipes.native.kernels import library
from augrecipes.recipe.parse import parse_text

N = 23
BACKENDS: tuple[dict[str, Any], ...] = (
    {"num_workers": 0},
    {"backend": "threads", "num_workers": 1},
    {"backend": "threads", "num_workers": 3},
    {"num_workers": 2, "multiprocessing_context": "fork"},
)
by_backend = pytest.mark.parametrize("options", BACKENDS, ids=lambda o: f"{o.get('backend')}-{o.get('num_workers', 0)}")


class OneByOne(Gathering):
    def make_batch(self, *_: Any) -> None:
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
        def make_sample(self, row: int, epoch: int, virtual: int) -> dict[str, Any]:
            sample = super().make_sample(row, epoch, virtual)
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
    of_the_system = batching._map_memory

    def counted(size: int) -> Any:
        asked.append(size)
        return of_the_system(size)

    monkeypatch.setattr(batching, "_map_memory", counted)
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


# Batches of a source of one's own are its samples one by one, whatever the items hold and whoever reads them.


ON_IMAGES = parse_text(
    """
version: 1
recipe: on-images
inputs: {mask: optional, boxes: {format: pascal_voc, labels: names, min_area: 4}}
steps:
  - RandomCrop: {height: 20, width: 18}
  - Affine: {rotate: 20, p: 0.5}
  - HorizontalFlip
eval: []
"""
)
ITEMS = 9


def encoded(image: np.ndarray) -> bytes:
    Image.fromarray(image).save(file := io.BytesIO(), "PNG")
    return file.getvalue()


FORMS: tuple[Callable[[np.ndarray], Any], ...] = (
    np.asarray,
    encoded,
    Image.fromarray,
    lambda picture: torch.from_numpy(picture).permute(2, 0, 1),
    lambda picture: picture.astype(np.float32) / np.float32(255),
)
# What an item may have beside its image, by the name and the number of the item.
BESIDE: dict[str, Callable[[int], Any]] = {
    "label": lambda k: np.int64(k % 3),
    "cls": lambda k: f"class {k}",
    "score": lambda k: 0.5 * k,
    "true": lambda k: k % 2 == 0,
    "caption": lambda k: f"no. {k}",
    "numbers": lambda k: np.full(4, k, np.float32),
    "scalar": torch.tensor,
    "found": lambda k: {"at": k},
    "mask": lambda k: np.random.default_rng(k).integers(0, 256, (30, 26), np.uint8),
    "boxes": lambda k: [[1, 2, 20.5, 25], [4, 4, 9, 9]][: k % 3],
    "names": lambda k: [7, 1][: k % 3],
}


def items(form: Callable[[np.ndarray], Any], names: Any, broken: int | None = None) -> list[dict[str, Any]]:
    rng = np.random.default_rng(1)
    made: list[dict[str, Any]] = []
    for k in range(ITEMS):
        image: Any = form(rng.integers(0, 256, (30, 26, 3), np.uint8)) if k != broken else b"no picture"
        made.append({"image": image} | {name: value(k) for name, value in BESIDE.items() if name in names})
    return made


class SamplesOneByOne(Samples):
    """Whose samples are not read at once."""

    def make_sample(self, row: int, epoch: int, virtual: int) -> dict[str, Any]:
        return super().make_sample(row, epoch, virtual)


def check(form: int, names: set[str], order: list[int], how: dict[str, Any]) -> None:
    rows = items(FORMS[form], names)
    here, there = Samples(rows, ON_IMAGES, seed=3), SamplesOneByOne(rows, ON_IMAGES, seed=3, optimize="none")
    assert here.gathers
    assert not there.gathers
    wanted = [there[2, k] for k in order]
    same(here.__getitems__([(2, k) for k in order]), wanted)
    for batch, other in zip(loader(here, 4, shuffle=True, **how), in_process(there, 4, shuffle=True), strict=True):
        same(batch, other)
    ragged = ragged_keys(ON_IMAGES)
    same(Collate(ragged_keys=ragged)([here[2, k] for k in order]), Collate(ragged_keys=ragged)(wanted))


natively = pytest.mark.skipif(library() is None, reason="no native kernels here")
ORDERS = st.lists(st.integers(0, 3 * ITEMS), min_size=1, max_size=12)
NAMES = st.sets(st.sampled_from([*BESIDE]))


@natively
@DEAR
@given(st.integers(0, len(FORMS) - 1), NAMES, ORDERS, st.sampled_from(BACKENDS[:3]))
def test_batches_are_the_samples(form: int, names: set[str], order: list[int], how: dict[str, Any]) -> None:
    check(form, names, order, how)


@natively
def test_processes_read_batches() -> None:
    check(0, {*BESIDE}, [3], {"num_workers": 2, "multiprocessing_context": "fork"})


@natively
def test_no_sample_is_made_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Samples, "make_sample", None)
    monkeypatch.setattr(Samples, "gathers", property(Samples._runs_natively))  # which looks who has changed `_sample`
    ds = Samples(items(np.asarray, {"label", "score", "mask"}), ON_IMAGES)
    (batch,) = loader(ds, ITEMS)
    assert batch["image"].shape == (ITEMS, 3, 20, 18)
    assert batch["mask"].shape == (ITEMS, 20, 18)
    assert batch["label"].tolist() == [k % 3 for k in range(ITEMS)]
    assert batch["score"].tolist() == [0.5 * k for k in range(ITEMS)]


@natively
def test_an_item_that_is_broken_fails_alone() -> None:
    rows = items(encoded, {"label", "caption", "numbers"}, broken=5)
    with pytest.raises(DataError, match=r"list\[5\]"):
        [*loader(Samples(rows, ON_IMAGES), ITEMS)]
    here, there = (
        in_process(kind(rows, ON_IMAGES, on_error="skip"), ITEMS, shuffle=True) for kind in (Samples, SamplesOneByOne)
    )
    same([*here], [*there])
    assert here.skipped == there.skipped
    assert [record.path for record in here.skipped] == ["list[5]"]


@natively
@pytest.mark.parametrize("odd", ["mask", "boxes", "caption"])
@pytest.mark.parametrize("where", [0, 4, ITEMS - 1])
def test_items_that_are_not_alike_are_told_as_one_by_one(odd: str, where: int) -> None:
    rows = items(np.asarray, {"label", "mask", "boxes", "names", "caption"})
    del rows[where][odd]
    with pytest.raises(CollateError) as told:
        [*in_process(SamplesOneByOne(rows, ON_IMAGES), ITEMS)]
    with pytest.raises(CollateError) as found:
        [*loader(Samples(rows, ON_IMAGES), ITEMS)]
    assert str(found.value) == str(told.value)
    same(
        Samples(rows, ON_IMAGES).__getitems__([*range(ITEMS)]),
        [SamplesOneByOne(rows, ON_IMAGES)[k] for k in range(ITEMS)],
    )


class Rewritten:
    """A source whose items are a few arrays, written to again in turn: images, or the masks of images."""

    def __init__(self, arrays: int, *, masks: bool = False) -> None:
        self.pictures = np.random.default_rng(0).integers(0, 256, (ITEMS, 30, 26, 3), np.uint8)
        self.masks = masks
        self.arrays = [np.empty_like(self.pictures[0, :, :, 0] if masks else self.pictures[0]) for _ in range(arrays)]

    def __len__(self) -> int:
        return ITEMS

    def __getitem__(self, index: int) -> dict[str, np.ndarray]:
        array, image = self.arrays[index % len(self.arrays)], self.pictures[index]
        array[...] = image[:, :, 0] if self.masks else image
        return {"image": image, "mask": array} if self.masks else {"image": array}


@natively
@pytest.mark.parametrize("arrays", [1, 2, 3])
@pytest.mark.parametrize("masks", [False, True], ids=["pictures", "masks"])
def test_a_source_that_writes_to_its_arrays_again(arrays: int, masks: bool) -> None:
    here, there = (
        Samples(Rewritten(arrays, masks=masks), ON_IMAGES),
        SamplesOneByOne(Rewritten(arrays, masks=masks), ON_IMAGES),
    )
    assert here.gathers
    for batch, other in zip(loader(here, 4), in_process(there, 4), strict=True):
        same(batch, other)
    same(here.__getitems__([1, 1, 2, 4, 5]), [there[k] for k in (1, 1, 2, 4, 5)])
    with pytest.MonkeyPatch.context() as patch, pytest.raises(AssertionError):
        patch.setattr(source_runs, "_is_overwritten", lambda *_: False)  # a planted fault
        same([*loader(Samples(Rewritten(arrays, masks=masks), ON_IMAGES), 8)], [*in_process(there, 8)])


columns = source_runs._columns
of_names = planted(lambda names, order: check(0, names, order, {}), NAMES, ORDERS)
test_planted_faults_are_found = natively(planted_faults({
    "another's": (
        of_names,
        (source_runs, "_columns", lambda beside, *rest: columns({k: beside[max(0, k - 1)] for k in beside}, *rest)),
    ),
    "lists stay lists": (of_names, ("augrecipes.data.fetch.PendingBatch._has_other_lists", lambda *_: False)),
    "unlike is alike": (
        lambda _: test_items_that_are_not_alike_are_told_as_one_by_one("boxes", 4),
        (source_runs, "frozenset", lambda _: 0, False),  # it is Python's own
    ),
}, (*FAILURES, KeyError, pytest.fail.Exception)))  # fmt: skip
