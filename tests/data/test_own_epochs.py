"""`set_epoch` of a user's own dataset is called by the loader, wherever it is read, and moves nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support.checks import planted_faults
from support.datasets import WAYS, Counting, Wrapped
from torch.utils.data import ConcatDataset, Dataset, Subset

from augrecipes.data.loader import loader

N = 8


class Own(Dataset[Any]):
    """A dataset of the user's, which draws by an epoch of its own."""

    def __init__(self, base: int = 0) -> None:
        self.base, self.epoch = base, -1
        self.heard: list[int] = []

    def __len__(self) -> int:
        return N

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
    "Subset": lambda: Subset(Own(), range(N)),
    "ConcatDataset": lambda: ConcatDataset([Subset(Own(), [0, 1, 2]), Subset(Own(), [3, 4, 5, 6, 7])]),
}


def found(made: Any) -> list[tuple[int, int]]:
    return [(int(e), int(i)) for epochs, indices in made for e, i in zip(epochs, indices, strict=True)]


def law(view: str, way: str, **more: Any) -> None:
    made = loader(VIEWS[view](), 3, **WAYS[way], **more)
    for epoch in (0, 1, 2):
        assert found(made) == [(epoch, i) for i in range(N)]
    made.set_epoch(7)
    assert found(made) == [(7, i) for i in range(N)]
    resumed = loader(VIEWS[view](), 3, **WAYS[way], **more)
    made.set_epoch(4)
    next(iter(made))
    resumed.load_state_dict(made.state_dict())
    assert found(resumed) == [(4, i) for i in range(3, N)]
    made.close()


@pytest.mark.parametrize(
    ("view", "way"),
    [*((view, "here") for view in VIEWS), *(("itself", way) for way in WAYS), ("ConcatDataset", "forked, that stay")],
)
def test_every_pass_says_its_epoch(view: str, way: str) -> None:
    law(view, way)


def test_workers_that_are_not_forked() -> None:
    made = loader(Own(), 3, num_workers=1, multiprocessing_context="forkserver")  # and stay
    for epoch in (0, 1):
        assert found(made) == [(epoch, i) for i in range(N)]
    made.close()


def test_once_a_pass() -> None:
    ds = Own()
    made = loader(ds, 3)
    for _ in range(3):
        list(made)
    assert ds.heard == [0, 1, 2]


@pytest.mark.parametrize("way", WAYS)
def test_what_is_handed_on_to_ours_sets_nothing(way: str) -> None:
    """Else the loader would take it for a word of the user, and read the same epoch again."""
    ds = Counting(N)
    made, plain = loader(HandsOn(ds), 3, **WAYS[way]), loader(Counting(N), 3)
    for _ in range(3):
        assert [b["image"].tolist() for b in made] == [b["image"].tolist() for b in plain]
    assert (ds.epoch, ds.clock.changes) == (0, 0)
    handed_on: Any = made.dataset
    handed_on.set_epoch(9)  # the user's own word
    plain.set_epoch(9)
    assert [b["image"].tolist() for b in made] == [b["image"].tolist() for b in plain]
    made.close()


def _without_telling(reader: Any, order: Any) -> Any:
    from augrecipes.data.fetch import Draft

    draft = Draft(reader, order)
    for piece in draft.pieces:
        draft.work(piece)
    return draft.delivery()


test_planted_faults_are_caught = planted_faults({
    **{
        f"nobody is told, {way}": (
            lambda _, way=way: law("itself", way), ("augrecipes.data.fetch.tell_epoch", lambda *_: None),
        )
        for way in WAYS
    },
    "only this process is told": (
        lambda _: law("itself", "forked, that stay"),
        ("augrecipes.data.fetch.FetchDataset.__getitems__", _without_telling),
    ),
    "ours take it for the user's word": (
        lambda _: test_what_is_handed_on_to_ours_sets_nothing("here"),
        ("augrecipes.data.epochs.current", lambda: None),
    ),
})  # fmt: skip
