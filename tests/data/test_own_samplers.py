"""Samplers of the user's own: what they say is read, in the loader's way, whoever reads, and shared out by ranks."""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from support.checks import planted_faults
from support.datasets import WAYS, Counting, Gathering, Wrapped
from support.kind_laws import BACKENDS
from support.kinds import pixels
from torch.utils import data

from augrecipes import LoaderError, loader
from augrecipes.data import loader as loading
from augrecipes.data import order, samplers

N = 12


class Shuffled:
    """A sampler that draws by Python's and numpy's generators, as many scripts do."""

    def __iter__(self) -> Iterator[int]:
        order = [*range(N)]
        random.shuffle(order)
        return iter(np.random.permutation(order).tolist())

    def __len__(self) -> int:
        return N


class OfItsOwn:
    """A sampler that draws by a generator that it made."""

    def __init__(self, generator: Any) -> None:
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        order = [*range(N)]
        self.generator.shuffle(order)
        return iter(order)

    def __len__(self) -> int:
        return N


class Buckets:
    """Batches of several lengths."""

    def __iter__(self) -> Iterator[list[int]]:
        order = torch.randperm(N).tolist()
        return iter([order[:2], order[2:7], order[7:8], order[8:], [order[0], order[0]]])

    def __len__(self) -> int:
        return 5


OWN: dict[str, Callable[[int], Any]] = {
    "torch's own": lambda seed: data.RandomSampler(range(N), generator=torch.Generator().manual_seed(seed))
}

SAMPLERS: dict[str, Callable[[], dict[str, Any]]] = {
    "sequential": lambda: {"sampler": data.SequentialSampler(range(N)), "batch_size": 5},
    "random": lambda: {"sampler": data.RandomSampler(range(N)), "batch_size": 5},
    "random, dropped": lambda: {"sampler": data.RandomSampler(range(N)), "batch_size": 5, "drop_last": True},
    "weighted": lambda: {"sampler": data.WeightedRandomSampler([1.0] * 3 + [0] * (N - 3), 20), "batch_size": 3},
    "subset": lambda: {"sampler": data.SubsetRandomSampler([1, 5, 7]), "batch_size": 2},
    "distributed": lambda: {"sampler": data.DistributedSampler(range(N), num_replicas=2, rank=1), "batch_size": 2},
    "a list": lambda: {"sampler": [3, 3, -1], "batch_size": 2},
    "Python's and numpy's": lambda: {"sampler": Shuffled(), "batch_size": 5},
    **{name: lambda make=make: {"sampler": make(5), "batch_size": 5} for name, make in OWN.items()},
    "batches of its own": lambda: {"batch_sampler": data.BatchSampler(OWN["torch's own"](5), 5, False)},
    "batches": lambda: {"batch_sampler": data.BatchSampler(data.RandomSampler(range(N)), 5, False)},
    "buckets": lambda: {"batch_sampler": Buckets()},
}


def read(made: Any) -> list[list[tuple[int, bytes]]]:
    """Index and pixels of every sample of a pass, batch by batch."""
    return [[(s["index"], pixels(s)) for s in batch] for batch in made]


def opened(name: str, **options: Any) -> Any:
    ds = Gathering(N)
    options = {"num_workers": 0, "multiprocessing_context": "fork", "collate": lambda samples: samples, **options}
    return ds, loader(ds, **{**SAMPLERS[name](), **options})


def law(name: str, **options: Any) -> None:
    """Each pass is the same in every run, its samples are those of its epoch, and no two of it draw alike."""
    (ds, made), (_, again) = opened(name, **options), opened(name)
    passes = []
    for epoch in range(3):
        torch.manual_seed(epoch if options else 7)
        found = read(made)
        assert found == read(again)
        assert len(found) == len(made)
        flat = [one for batch in found for one in batch]
        assert all(image == pixels(ds[epoch, index]) for index, image in flat)
        assert len(set(flat)) == len(flat)
        passes.append(flat)
    assert len({image for flat in passes for _, image in flat}) == sum(map(len, passes))
    if name in ("random", "weighted", "distributed", "Python's and numpy's", "batches", "buckets") or "own" in name:
        assert len({tuple(index for index, _ in flat) for flat in passes}) == 3


@pytest.mark.parametrize("name", SAMPLERS)
def test_every_sampler(name: str) -> None:
    law(name)


@pytest.mark.parametrize("backend", BACKENDS, ids=str)
def test_whoever_reads(backend: dict[str, Any]) -> None:
    law("weighted", **backend)
    law("buckets", **backend)


@pytest.mark.parametrize("name", SAMPLERS)
def test_the_order_is_the_samplers(name: str) -> None:
    if name.startswith(("sequential", "a list", "distributed")):
        sampler = SAMPLERS[name]()["sampler"]
        _, made = opened(name)
        assert [i % N for batch in read(made) for i, _ in batch] == [i % N for i in sampler]
    if name == "buckets":
        _, made = opened(name)
        assert [*map(len, read(made))] == [2, 5, 1, 4, 2]


@pytest.mark.parametrize("name", SAMPLERS)
def test_passes_resume_at_every_batch(name: str) -> None:
    whole = opened(name)[1]
    expected = read(whole) + read(whole)
    for taken in range(len(whole) + 1):
        first, second = opened(name)[1], opened(name)[1]
        passing = iter(first)
        head = [[(s["index"], pixels(s)) for s in next(passing)] for _ in range(taken)]
        second.load_state_dict(first.state_dict())
        assert head + read(second) + read(second) == expected
    with pytest.raises(LoaderError, match="sampler: saved"):
        loader(Gathering(N), 5).load_state_dict(whole.state_dict())


def shared_out(name: str, ranks: int) -> None:
    """The law: ranks read what the sampler says, together, equally many batches, and none what another one draws."""
    alone = [index for batch in read(opened(name, rank=0, world_size=1)[1]) for index, _ in batch]
    shares = [read(opened(name, rank=rank, world_size=ranks)[1]) for rank in range(ranks)]
    together = [index for share in shares for batch in share for index, _ in batch]
    assert len({*map(len, shares)}) == 1
    assert len(set(together)) == len(together)
    missing = Counter(i % N for i in alone) - Counter(i % N for i in together)
    assert sum(missing.values()) < (ranks * 5 if "dropped" in name else 1)


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("name", sorted(SAMPLERS.keys() - {"distributed"}))
def test_ranks_share_out_what_a_sampler_says(name: str, ranks: int) -> None:
    if "dropped" in name and 5 * ranks > N:
        with pytest.raises(ValueError, match=f"an epoch has {N} samples, and a batch of 5 for each of {ranks} ranks"):
            shared_out(name, ranks)
    else:
        shared_out(name, ranks)


def test_a_distributed_sampler_is_not_divided_again() -> None:
    found = [opened("distributed", rank=rank, world_size=2)[1] for rank in range(2)]
    assert read(found[0]) == read(found[1])  # it is of rank 1, whoever asks
    assert sum(map(len, read(found[0]))) == N // 2


def test_nobodys_generators_are_disturbed() -> None:
    made = opened("Python's and numpy's")[1]
    random.seed(1), np.random.seed(1), torch.manual_seed(1)
    expected = random.random(), np.random.rand(), torch.rand(1).item()
    random.seed(1), np.random.seed(1), torch.manual_seed(1)
    read(made)
    assert (random.random(), np.random.rand(), torch.rand(1).item()) == expected


def test_an_order_that_cannot_be_had_again_is_an_error_and_not_another_order() -> None:
    made = [loader(Gathering(N), 5, sampler=OfItsOwn(np.random.default_rng(1))) for _ in range(2)]
    passing = iter(made[0])
    assert sorted(index for batch in passing for index in batch["index"].tolist()) == [*range(N)]
    made[1].load_state_dict(made[0].state_dict())  # between epochs nothing is left
    next(iter(made[0]))
    with pytest.raises(LoaderError, match=r"the order of epoch 1 is another .* seeded by its set_epoch"):
        made[1].load_state_dict(made[0].state_dict())


@pytest.mark.parametrize(
    "options",
    [{"sampler": []}, {"batch_sampler": data.BatchSampler([1, 2], 4, True)}],
    ids=lambda options: next(iter(options)),
)
def test_a_sampler_of_nothing(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"sampler is empty: its len\(\) is 0"):
        loader(Gathering(N), **options)


@pytest.mark.parametrize(("sampler", "error"), [(iter([1]), TypeError), ([N], IndexError), (["a"], TypeError)])
def test_what_is_no_sampler(sampler: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        [*loader(Gathering(N), sampler=sampler)]


def law_of(name: str, _: Any) -> None:
    law(name)


def _everything_to_all(*given: Any, **others: Any) -> Any:
    return replace(schedule_by(*given, **others), rank=0, world_size=1)


seeded, schedule_by = samplers._seed_all, samplers.schedule_by
RANDOM = ("random", "weighted", "buckets", "Python's and numpy's")
OF_THEIR_OWN = [name for name in SAMPLERS if "own" in name]
test_planted_faults_are_caught = planted_faults(
    {
        **{f"draws of the process, {name}": (
            partial(law_of, name), (samplers, "_seed_all", lambda *_: nullcontext()))
           for name in RANDOM},
        **{f"draws of generators that go on, {name}": (
            lambda _, name=name: test_passes_resume_at_every_batch(name),
            (samplers, "_seed_all", lambda seed, _: seeded(seed, ())))
           for name in OF_THEIR_OWN},
        **{f"repeats that draw alike, {name}": (
            partial(law_of, name), (order, "number_repeats", lambda positions, n: positions))
           for name in ("weighted", "a list", "buckets")},
        "a sampler is not told the epoch": (
            partial(law_of, "distributed"), (samplers, "samplers_in", lambda sampler: [])),
        **{f"ranks that all read everything, {name}": (
            lambda _, name=name: shared_out(name, 2), (loading, "schedule_by", _everything_to_all))
           for name in ("random", "buckets")},
    },
    (AssertionError, LoaderError),
)  # fmt: skip


# `set_epoch` of a user's own dataset is called by the loader, wherever it is read, and moves nothing else.


N_EPOCHS = 8


class Own(data.Dataset[Any]):
    """A dataset of the user's, which draws by an epoch of its own."""

    def __init__(self, base: int = 0) -> None:
        self.base, self.epoch = base, -1
        self.heard: list[int] = []

    def __len__(self) -> int:
        return N_EPOCHS

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch
        self.heard.append(epoch)

    def __getitem__(self, index: int) -> tuple[int, int]:
        return self.epoch, self.base + index


class HandsOn(Wrapped):
    """A wrapper around ours, which hands the epoch on as the manuals say."""

    def set_epoch(self, epoch: int) -> None:
        self.dataset.set_epoch(epoch)


VIEWS: dict[str, Callable[[], Any]] = {
    "itself": Own,
    "Subset": lambda: data.Subset(Own(), range(N_EPOCHS)),
    "ConcatDataset": lambda: data.ConcatDataset([data.Subset(Own(), [0, 1, 2]), data.Subset(Own(), [3, 4, 5, 6, 7])]),
}


def found(made: Any) -> list[tuple[int, int]]:
    return [(int(e), int(i)) for epochs, indices in made for e, i in zip(epochs, indices, strict=True)]


def law_epochs(view: str, way: str, **more: Any) -> None:
    made = loader(VIEWS[view](), 3, **WAYS[way], **more)
    for epoch in (0, 1, 2):
        assert found(made) == [(epoch, i) for i in range(N_EPOCHS)]
    made.set_epoch(7)
    assert found(made) == [(7, i) for i in range(N_EPOCHS)]
    resumed = loader(VIEWS[view](), 3, **WAYS[way], **more)
    made.set_epoch(4)
    next(iter(made))
    resumed.load_state_dict(made.state_dict())
    assert found(resumed) == [(4, i) for i in range(3, N_EPOCHS)]
    made.close()


@pytest.mark.parametrize(
    ("view", "way"),
    [*((view, "here") for view in VIEWS), *(("itself", way) for way in WAYS), ("ConcatDataset", "forked, that stay")],
)
def test_every_pass_says_its_epoch(view: str, way: str) -> None:
    law_epochs(view, way)


def test_once_a_pass() -> None:
    ds = Own()
    made = loader(ds, 3)
    for _ in range(3):
        list(made)
    assert ds.heard == [0, 1, 2]


@pytest.mark.parametrize("way", WAYS)
def test_what_is_handed_on_to_ours_sets_nothing(way: str) -> None:
    """Else the loader would take it for a word of the user, and read the same epoch again."""
    ds = Counting(N_EPOCHS)
    made, plain = loader(HandsOn(ds), 3, **WAYS[way]), loader(Counting(N_EPOCHS), 3)
    for _ in range(3):
        assert [b["image"].tolist() for b in made] == [b["image"].tolist() for b in plain]
    assert (ds.epoch, ds.clock.changes) == (0, 0)
    handed_on: Any = made.dataset
    handed_on.set_epoch(9)  # the user's own word
    plain.set_epoch(9)
    assert [b["image"].tolist() for b in made] == [b["image"].tolist() for b in plain]
    made.close()


def _without_telling(reader: Any, order: Any) -> Any:
    from augrecipes.data.fetch import PendingBatch

    draft = PendingBatch(reader, order)
    for piece in draft.pieces:
        draft.work(piece)
    return draft.delivery()


test_planted_faults_are_caught_epochs = planted_faults({
    **{
        f"nobody is told, {way}": (
            lambda _, way=way: law_epochs("itself", way),
            ("augrecipes.data.fetch.epochs.set_foreign_epoch", lambda *_: None),
        )
        for way in WAYS
    },
    "only this process is told": (
        lambda _: law_epochs("itself", "forked, that stay"),
        ("augrecipes.data.fetch.FetchDataset.__getitems__", _without_telling),
    ),
    "ours take it for the user's word": (
        lambda _: test_what_is_handed_on_to_ours_sets_nothing("here"),
        ("augrecipes.data.epochs.current", lambda: None),
    ),
})  # fmt: skip
