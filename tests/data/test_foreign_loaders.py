"""DataLoaders that others make of a loader's parts, as accelerate and its kin do: whose epochs they read, and where."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
import torch
from support.checks import planted_faults
from support.datasets import Counting, here, values
from torch.utils.data import BatchSampler, DataLoader, Dataset, Subset

from augrecipes.data.samplers import LoaderSampler

N, SIZE = 23, 3


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


WRAPS: dict[str, Callable[[Any], Any]] = {"itself": lambda batches: batches, "passed": Passed, "zipped": Zipped}
WORKERS: dict[str, dict[str, Any]] = {
    "here": {},
    "one": {"num_workers": 1, "multiprocessing_context": "fork"},
    "two that stay": {"num_workers": 2, "multiprocessing_context": "fork", "persistent_workers": True},
}


def foreign(made: Any, batches: Any, **options: Any) -> Any:
    return DataLoader(made.dataset, batch_sampler=batches, collate_fn=made.collate_fn, **options)


def epochs_of(count: int, **options: Any) -> list[list[int]]:
    made = here(Counting(N), SIZE, shuffle=True, **options)
    return [values(made) for _ in range(count)]


def law(wrap: str, workers: str) -> None:
    """Passes run epoch 0, 1, 2, ... as the loader's own do; one that gave a batch counts; the epoch may be said."""
    made: Any = here(Counting(N), SIZE, shuffle=True)
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
    law(wrap, workers)


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("workers", WORKERS)
def test_a_pass_goes_on_behind_the_batches_that_are_skipped(workers: str, ranks: int) -> None:
    """Each rank has a loader, of which somebody else takes every second batch."""
    epochs, together = epochs_of(3), set()
    for rank in range(ranks):
        made = here(Counting(N), SIZE, shuffle=True)
        list(foreign(made, Passed(made.batch_sampler, 0, rank, ranks), **WORKERS[workers]))
        together |= {*values(foreign(made, Passed(made.batch_sampler, 2, rank, ranks), **WORKERS[workers]))}
        assert {*values(foreign(made, made.batch_sampler, **WORKERS[workers]))} == {*epochs[2]}
    assert together == {*epochs[1][2 * SIZE :]}


def test_two_loaders_of_a_dataset_do_not_hear_each_other() -> None:
    epochs, dataset = epochs_of(3), Counting(N)
    loaders = [here(dataset, SIZE, shuffle=True) for _ in range(2)]
    theirs = [foreign(made, made.batch_sampler) for made in loaders]
    assert [values(theirs[k]) for k in (0, 1, 0, 1, 0)] == [epochs[e] for e in (0, 0, 1, 1, 2)]
    assert values(here(dataset, SIZE, shuffle=True)) == epochs[0]
    dataset.set_epoch(2)
    assert values(theirs[0]) == values(theirs[1]) == epochs[2]


def test_the_sampler_says_the_epoch_of_the_first_index() -> None:
    made = here(Counting(N), SIZE, shuffle=True)
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
        return N

    def __getitem__(self, index: int) -> int:
        return self.epoch


@pytest.mark.parametrize("workers", ["here", "one"])
@pytest.mark.parametrize("view", [lambda ds: ds, lambda ds: Subset(ds, range(9))])
def test_datasets_that_are_not_ours_hear_the_epoch_before_workers_start(view: Any, workers: str) -> None:
    made = here(view(Own()), SIZE)
    theirs = foreign(made, made.batch_sampler, **WORKERS[workers])
    for epoch in range(3):
        assert {*torch.cat([*theirs]).tolist()} == {epoch}


batches = LoaderSampler.batches
test_planted_faults_are_caught = planted_faults({
    f"a pass begins when it is asked for, {name}": (
        lambda _, check=check: check(),
        (LoaderSampler, "batches", lambda self, drop_last: iter([*batches(self, drop_last)])),
    )
    for name, check in (("one worker", partial(law, "itself", "one")), ("none", partial(law, "itself", "here")))
})  # fmt: skip
