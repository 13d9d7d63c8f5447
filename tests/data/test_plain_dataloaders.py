"""DataLoaders of torch's, and those that others make of a loader's parts: each pass draws anew, of the epoch said."""

import copy
import itertools
import logging
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import get_ident
from typing import Any

import pytest
import torch
from support.checks import planted_faults
from support.datasets import Counting, Gathering, Wrapped, as_they_are, here, values
from support.kind_laws import BACKENDS, direct, drawn
from support.kinds import KINDS, Kind, N, by_kind, pixels
from torch.utils.data import (
    BatchSampler,
    ConcatDataset,
    DataLoader,
    Dataset,
    Subset,
    WeightedRandomSampler,
    random_split,
)
from torch.utils.data.distributed import DistributedSampler

from augrecipes.compat import torch as hooks
from augrecipes.data import epochs, sample_keys
from augrecipes.data.dataset import RecipeDataset
from augrecipes.data.epochs import EpochClock
from augrecipes.data.loader import loader
from augrecipes.data.order import Share
from augrecipes.data.sample_keys import ReadCounter
from augrecipes.data.samplers import LoaderSampler


class Pooled(Wrapped):
    """Reads in a thread of its own."""

    def __getitem__(self, index: int) -> Any:
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(self.dataset.__getitem__, index).result()


# Views of a dataset, and the positions of their samples in it.
VIEWS: dict[str, Callable[[Any], tuple[Any, list[int]]]] = {
    "itself": lambda ds: (ds, [*range(N)]),
    "Subset": lambda ds: (Subset(ds, [3, 1, 8]), [3, 1, 8]),
    "Subset of Subset": lambda ds: (Subset(Subset(ds, [3, 1, 8]), [2, 0]), [8, 3]),
    "random_split": lambda ds: (part := random_split(ds, [5, N - 5])[0], [*part.indices]),
    "subset": lambda ds: (ds.subset([7, 2]), [7, 2]),
    "ConcatDataset": lambda ds: (ConcatDataset([ds.subset([1, 2]), ds.subset([5])]), [1, 2, 5]),
    "wrapped": lambda ds: (Wrapped(ds), [*range(N)]),
}
# Ways of reading them.
WAYS: dict[str, dict[str, Any]] = {
    "here": {"batch_size": 5},
    "here, unbatched": {"batch_size": None},
    "2 forked": {"batch_size": 2, "num_workers": 2, "multiprocessing_context": "fork"},
    "2 that stay": {"batch_size": 1, "num_workers": 2, "multiprocessing_context": "fork", "persistent_workers": True},
}
FRESH = {"batch_size": 4, "num_workers": 1, "multiprocessing_context": "forkserver", "persistent_workers": True}


def plain(ds: Any, batch_size: int | None = 3, **options: Any) -> DataLoader[Any]:
    return DataLoader(ds, batch_size, collate_fn=as_they_are, **options)


def passes(made: DataLoader[Any]) -> Iterator[list[dict[str, Any]]]:
    """The samples of one pass after another."""
    while True:
        yield [sample for batch in made for sample in (batch if isinstance(batch, list) else [batch])]


def check_passes(
    ds: RecipeDataset, view: Callable[[Any], tuple[Any, list[int]]], epochs: int = 3, **options: Any
) -> None:
    """Pass k over a view gives the samples of epoch k."""
    expected = [direct(ds, epoch) for epoch in range(epochs)]
    seen, positions = view(ds)
    for epoch, found in zip(range(epochs), passes(plain(seen, **options)), strict=False):
        assert [pixels(sample) for sample in found] == [expected[epoch][i] for i in positions]


def law(ds: RecipeDataset) -> None:
    """What every kind of dataset does with plain DataLoaders, in short."""
    first = pixels(ds[5])
    check_passes(ds, VIEWS["itself"], **WAYS["2 forked"])
    assert pixels(ds[5]) == first  # by hand: what was set
    ds.set_epoch(7)
    many = next(passes(plain(Subset(ds, [5] * 9))))
    assert len({drawn(s) for s in many}) == 9
    assert pixels(many[0]) == pixels(ds[7, 5]) == pixels(ds[5])
    assert [pixels(s) for s in many] == [pixels(ds[7, s["index"]]) for s in many]


def law_of_images(fixture: Callable[[str], Any]) -> None:
    law(KINDS[0].open(fixture("roots")["image"], seed=3))


true_next: Any = ReadCounter.next


@by_kind
def test_every_kind(roots: dict[str, Path], kind: Kind) -> None:
    law(kind.open(roots[kind.name], seed=3))


@pytest.mark.parametrize(
    ("view", "way"),
    [*itertools.product(VIEWS, ["here", "2 that stay"]), ("itself", "here, unbatched"), ("Subset", "2 forked")],
)
def test_every_pass_is_an_epoch(view: str, way: str) -> None:
    check_passes(Gathering(N), VIEWS[view], **WAYS[way])


@by_kind
def test_workers_that_were_not_forked(roots: dict[str, Path], kind: Kind) -> None:
    check_passes(kind.open(roots[kind.name], seed=3), VIEWS["ConcatDataset"], epochs=2, **FRESH)


@pytest.mark.parametrize("way", WAYS)
def test_threads_of_the_user(way: str) -> None:
    check_passes(Gathering(N), lambda ds: (Pooled(ds), [*range(N)]), **WAYS[way])


@pytest.mark.parametrize("backend", BACKENDS, ids=str)
def test_threads_of_the_user_below_our_loader(backend: dict[str, Any]) -> None:
    ds = Gathering(N)
    made = loader(
        Pooled(ds), 5, collate=as_they_are, **{"num_workers": 0, "multiprocessing_context": "fork", **backend}
    )
    for epoch in (0, 1, 5):
        made.set_epoch(epoch)
        assert [pixels(s) for batch in made for s in batch] == direct(ds, epoch)
    again = here(Pooled(ds), 5, collate=as_they_are, samples_per_epoch=2 * N)
    assert [s["index"] for batch in again for s in batch] == [*range(2 * N)]


def shared_out(ranks: int, sets_epoch: bool) -> None:
    """The law: whoever reads a sample in a pass, no two visits to it draw alike, and a set epoch is that epoch."""
    made = []
    for rank in range(ranks):
        ds = Gathering(N)
        sampler: Any = DistributedSampler(ds, num_replicas=ranks, rank=rank)
        made.append((ds, sampler, plain(ds, sampler=sampler)))
    seen = []
    for epoch in range(6):
        for rank, (ds, sampler, batches) in enumerate(made):
            sampler.set_epoch(epoch)  # as Lightning says it
            if sets_epoch:
                ds.set_epoch(epoch)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(sample_keys, "share_of_process", lambda rank=rank: Share(rank, ranks))
                seen += (read := [pixels(s) for batch in batches for s in batch])
            assert not sets_epoch or read == [pixels(ds[epoch, i]) for i in sampler]
    assert len(set(seen)) == len(seen)


@pytest.mark.parametrize("sets_epoch", [False, True])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_processes_that_share_an_epoch_out_do_not_draw_alike(ranks: int, sets_epoch: bool) -> None:
    shared_out(ranks, sets_epoch)


def test_a_worker_that_is_not_forked_knows_its_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample_keys, "share_of_process", lambda: Share(1, 2))
    sent = pickle.dumps(Gathering(N))
    monkeypatch.undo()
    assert [pixels(s) for s in next(passes(plain(pickle.loads(sent))))] == direct(Gathering(N), 1)


@pytest.mark.parametrize("way", WAYS)
def test_a_set_epoch_is_exact(way: str) -> None:
    ds = Gathering(N)
    made = passes(plain(ds, **WAYS[way]))
    assert [pixels(s) for s in next(made)] == direct(ds, 0)
    for epoch in (4, 4, 0):
        ds.set_epoch(epoch)
        assert [pixels(s) for s in next(made)] == direct(ds, epoch)
    again = next(made)  # and nobody said a word
    assert [s["index"] for s in again] == [N + i for i in range(N)]
    assert [pixels(s) for s in again] == [pixels(ds[0, N + i]) for i in range(N)]
    assert [s["index"] for s in next(made)] == [2 * N + i for i in range(N)]


@pytest.mark.parametrize("said", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_what_a_sampler_repeats_is_drawn_anew(way: str, said: bool) -> None:
    ds = Gathering(N)
    weights = [float(i < 3) for i in range(N)]
    options = {**WAYS[way], "num_workers": min(1, WAYS[way].get("num_workers", 0))}
    made = passes(plain(ds, sampler=WeightedRandomSampler(weights, 20), **options))
    seen = set()
    for epoch in range(3):
        if said:
            ds.set_epoch(epoch)
        seen |= {drawn(s) for s in next(made)}
    assert len(seen) == 60


def test_copies_count_for_themselves(tmp_path: Path) -> None:
    ds = Gathering(N)
    next(passes(plain(ds)))
    made = [copy.deepcopy(ds), pickle.loads(pickle.dumps(ds))]
    for other in (*made, ds):
        assert [pixels(s) for s in next(passes(plain(other)))] == direct(ds, 1)
    assert [pixels(s) for s in next(passes(plain(copy.copy(ds))))] == direct(ds, 2)


def test_one_line_in_the_log(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    ds = Gathering(N)
    made = passes(plain(ds))
    next(made)
    assert not caplog.messages
    next(made), next(made)
    (told,) = caplog.messages
    assert "set_epoch" in told
    assert "ar.loader" in told
    caplog.clear()
    ds.set_epoch(3)
    next(made), next(made)
    assert not caplog.messages

    handler = logging.FileHandler(tmp_path / "log.txt")
    logging.getLogger("augrecipes").addHandler(handler)
    try:
        for way in ("2 forked", "2 that stay"):
            workers = passes(plain(Gathering(N), **WAYS[way]))
            next(workers), next(workers), next(workers)
    finally:
        logging.getLogger("augrecipes").removeHandler(handler)
        handler.close()
    assert (tmp_path / "log.txt").read_text().splitlines() == [told] * 2


def test_a_full_shared_memory_is_told(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    def full(self: Any) -> None:
        raise RuntimeError("unable to allocate shared memory")

    monkeypatch.setattr(sample_keys.SharedState, "_share", full)
    counters = ReadCounter(N)
    assert "unable to allocate shared memory: workers" in caplog.text
    monkeypatch.undo()
    ds = Gathering(N)
    ds.sample_keys._reads = counters
    check_passes(ds, VIEWS["itself"], **WAYS["here"])


test_planted_faults_are_caught = planted_faults({
    "draws do not move": (law_of_images, (ReadCounter, "next", lambda self, sample, clock: (clock.epoch, 0))),
    "counters are not shared": (law_of_images, (ReadCounter, "_share", lambda self: None)),
    "what is read by hand counts": (law_of_images, (sample_keys, "is_called_by_dataloader", lambda: True)),
    "a word of the user is missed": (law_of_images, (EpochClock, "changes", 0)),
    "repeats are those of later epochs": (law_of_images, (ReadCounter, "next", lambda *of: (sum(true_next(*of)), 0))),
    "nobody finds threads": (lambda _: test_threads_of_the_user("here"), (hooks.sys, "_current_frames", dict)),
    **{f"nobody tells threads, {backend}": (
        lambda _, backend=backend: test_threads_of_the_user_below_our_loader(backend),
        (sample_keys, "current", lambda: epochs._by_thread.get(get_ident())))
       for backend in BACKENDS},
    "processes count alike": (lambda _: shared_out(2, False), (ReadCounter, "process_share", lambda self: Share())),
})  # fmt: skip


# DataLoaders that others make of a loader's parts, as accelerate and its kin do: whose epochs they read, and where.


N_PARTS, SIZE = 23, 3


class Passed(BatchSampler):
    """The batches of another, from a generator: it asks when the first is asked for."""

    def __init__(self, batches: Any, skip: int = 0, rank: int = 0, ranks: int = 1) -> None:
        self.batches, self.skip, self.rank, self.ranks = batches, skip, rank, ranks

    def __iter__(self) -> Iterator[Any]:
        for number, batch in enumerate(self.batches):
            if number >= self.skip and (number - self.skip) % self.ranks == self.rank:
                yield batch

    def __len__(self) -> int:
        return len(self.batches)


class Zipped(Passed):
    """As `Passed`, but it asks at once, as a generator expression does."""

    def __iter__(self) -> Iterator[Any]:
        return (batch for batch in self.batches)


WRAPS: dict[str, Callable[[Any], Any]] = {
    "itself": lambda batches: batches,
    "passed": Passed,
    "zipped": Zipped,
}
WORKERS: dict[str, dict[str, Any]] = {
    "here": {},
    "one": {"num_workers": 1, "multiprocessing_context": "fork"},
    "two that stay": {"num_workers": 2, "multiprocessing_context": "fork", "persistent_workers": True},
}


def foreign(made: Any, batches: Any, **options: Any) -> Any:
    return DataLoader(made.dataset, batch_sampler=batches, collate_fn=made.collate_fn, **options)


def epochs_of(count: int, **options: Any) -> list[list[int]]:
    made = here(Counting(N_PARTS), SIZE, shuffle=True, **options)
    return [values(made) for _ in range(count)]


def law_of_parts(wrap: str, workers: str) -> None:
    """Passes run epoch 0, 1, 2, ... as the loader's own do; one that gave a batch counts; the epoch may be said."""
    made: Any = here(Counting(N_PARTS), SIZE, shuffle=True)
    epochs = epochs_of(9)
    theirs = foreign(made, WRAPS[wrap](made.batch_sampler), **WORKERS[workers])
    assert [values(theirs) for _ in range(3)] == epochs[:3]
    unasked = [iter(made.batch_sampler), iter(WRAPS[wrap](made.batch_sampler))]
    first = next(iter(theirs))
    assert first["image"].flatten().tolist() == epochs[3][:SIZE]
    assert made.epoch == 3
    assert values(theirs) == epochs[4]
    for epoch, say in ((7, made.set_epoch), (6, made.sampler.set_epoch), (8, made.dataset.set_epoch)):
        say(epoch)
        assert values(theirs) == epochs[epoch]
    made.load_state_dict(made.state_dict() | {"epoch": 5, "read": 2 * SIZE})
    assert values(theirs) == epochs[5][2 * SIZE :]
    assert len(unasked) == 2


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("wrap", WRAPS)
def test_epochs_follow_one_another(wrap: str, workers: str) -> None:
    law_of_parts(wrap, workers)


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("workers", WORKERS)
def test_a_pass_goes_on_behind_the_batches_that_are_skipped(workers: str, ranks: int) -> None:
    """Each rank has a loader, of which somebody else takes every second batch."""
    epochs, together = epochs_of(3), set()
    for rank in range(ranks):
        made = here(Counting(N_PARTS), SIZE, shuffle=True)
        list(foreign(made, Passed(made.batch_sampler, 0, rank, ranks), **WORKERS[workers]))
        together |= {*values(foreign(made, Passed(made.batch_sampler, 2, rank, ranks), **WORKERS[workers]))}
        assert {*values(foreign(made, made.batch_sampler, **WORKERS[workers]))} == {*epochs[2]}
    assert together == {*epochs[1][2 * SIZE :]}


def test_two_loaders_of_a_dataset_do_not_hear_each_other() -> None:
    epochs, dataset = epochs_of(3), Counting(N_PARTS)
    loaders = [here(dataset, SIZE, shuffle=True) for _ in range(2)]
    theirs = [foreign(made, made.batch_sampler) for made in loaders]
    assert [values(theirs[k]) for k in (0, 1, 0, 1, 0)] == [epochs[e] for e in (0, 0, 1, 1, 2)]
    assert values(here(dataset, SIZE, shuffle=True)) == epochs[0]
    dataset.set_epoch(2)
    assert values(theirs[0]) == values(theirs[1]) == epochs[2]


def test_the_sampler_says_the_epoch_of_the_first_index() -> None:
    made = here(Counting(N_PARTS), SIZE, shuffle=True)
    said = iter(made.sampler)
    made.set_epoch(2)
    assert next(said)[0] == 2
    assert made.epoch == 2


class Own(Dataset[Any]):
    """A dataset of the user's, whose copies in workers hear nothing."""

    epoch = -1

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __len__(self) -> int:
        return N_PARTS

    def __getitem__(self, index: int) -> int:
        return self.epoch


@pytest.mark.parametrize("workers", ["here", "one"])
@pytest.mark.parametrize("view", [lambda ds: ds, lambda ds: Subset(ds, range(9))])
def test_datasets_that_are_not_ours_hear_the_epoch_before_workers_start(view: Any, workers: str) -> None:
    made = here(view(Own()), SIZE)
    theirs = foreign(made, made.batch_sampler, **WORKERS[workers])
    for epoch in range(3):
        assert {*torch.cat([*theirs]).tolist()} == {epoch}


loader_batches = LoaderSampler.batches
test_planted_faults_of_parts_are_caught = planted_faults({
    f"a pass begins when it is asked for, {workers}": (
        lambda _, workers=workers: law_of_parts("itself", workers),
        (LoaderSampler, "batches", lambda self, drop_last: iter([*loader_batches(self, drop_last)])),
    )
    for workers in ("one", "here")
})  # fmt: skip
