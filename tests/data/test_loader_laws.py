"""Batches depend on (dataset, seed, epoch) alone: not on workers, batch size, resume point or anyone's random state."""

from __future__ import annotations

import random
import warnings
from multiprocessing import active_children
from typing import Any

import numpy as np
import pytest
import torch
from counting import Counting, indices, values
from torch.utils.data import ConcatDataset, DataLoader, Dataset, Subset, TensorDataset, random_split

from augrecipes.data.loader import Loader, loader
from augrecipes.data.passes import Pass
from augrecipes.errors import CollateError, DataError, LoaderError

N = 23


def run(ds: Any, **options: Any) -> list[int]:
    """The first two epochs of a new loader."""
    made = loader(ds, **options)
    return values(made) + values(made)


@pytest.fixture(scope="module")
def reference() -> list[int]:
    return run(Counting(N), batch_size=3, shuffle=True, seed=5)


def test_it_is_a_torch_loader() -> None:
    ds = Counting(N)
    made = loader(ds, batch_size=4, shuffle=True, num_workers=0)
    assert isinstance(made, DataLoader)
    assert isinstance(made, Loader)
    assert made.dataset is ds
    assert (made.batch_size, len(made), made.num_workers) == (4, 6, 0)
    assert list(made.sampler) == [(0, i) for i in indices(made)]


@pytest.mark.parametrize("batch_size", [1, 3, 8])
@pytest.mark.parametrize("workers", [0, 1, 2])
def test_workers_and_batch_size_do_not_matter(reference: list[int], workers: int, batch_size: int) -> None:
    context = "fork" if workers else None
    options = {"num_workers": workers, "multiprocessing_context": context, "batch_size": batch_size}
    assert run(Counting(N), shuffle=True, seed=5, **options) == reference


@pytest.mark.parametrize("context", ["spawn", "forkserver"])
@pytest.mark.parametrize("persistent", [False, True])
def test_start_method_does_not_matter(reference: list[int], context: str, persistent: bool) -> None:
    if persistent != (context == "spawn"):
        pytest.skip("one of each is enough: every process started afresh takes seconds")
    options = {"multiprocessing_context": context, "persistent_workers": persistent}
    assert run(Counting(N), batch_size=3, shuffle=True, seed=5, num_workers=1, **options) == reference


def test_finished_batches_may_overtake(reference: list[int]) -> None:
    made = loader(Counting(N), batch_size=3, shuffle=True, seed=5, num_workers=2, in_order=False)
    assert sorted(values(made)) == sorted(reference[:N])


def test_random_state_is_neither_used_nor_disturbed(reference: list[int]) -> None:
    for workers in (0, 2):
        torch.manual_seed(workers)
        random.seed(workers)
        np.random.seed(workers)
        before = torch.get_rng_state(), random.getstate(), np.random.get_state(legacy=False)["state"]["key"].copy()
        assert run(Counting(N), batch_size=3, shuffle=True, seed=5, num_workers=workers) == reference
        assert torch.equal(before[0], torch.get_rng_state())
        assert before[1] == random.getstate()
        np.testing.assert_array_equal(before[2], np.random.get_state(legacy=False)["state"]["key"])


def test_epochs_and_seeds_differ() -> None:
    ds = Counting(N)
    epochs = loader(ds)
    found = [tuple(values(epochs)) for _ in range(3)]
    assert len({*found, tuple(values(loader(Counting(N, seed=1))))}) == 4
    assert indices(loader(ds, shuffle=True, seed=0)) != indices(loader(ds, shuffle=True, seed=1))


class TestEpochs:
    def test_every_pass_moves_on(self) -> None:
        made = loader(Counting(4))
        assert made.epoch == 0
        first, second = values(made), values(made)
        assert made.epoch == 2
        made.set_epoch(0)
        assert values(made) == first
        assert values(made) == second

    def test_a_pass_that_was_broken_off_counts(self) -> None:
        made = loader(Counting(4))
        next(iter(made))
        assert made.epoch == 0  # still under way, for all the loader knows
        assert values(made) == _epoch(4, 1)

    def test_a_pass_from_which_nothing_was_taken_does_not_count(self) -> None:
        made = loader(Counting(4))
        iter(made)
        assert values(made) == _epoch(4, 0)

    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"backend": "threads", "num_workers": 2},
            {"num_workers": 2},
            {"num_workers": 1, "persistent_workers": True},
        ],
        ids=str,
    )
    @pytest.mark.parametrize("who", ["loader", "sampler", "dataset", "state"])
    def test_a_pass_begins_where_it_was_said_before_its_first_batch(self, who: str, options: dict[str, Any]) -> None:
        ds = Counting(9)
        made = loader(ds, 2, shuffle=True, multiprocessing_context="fork", **options)
        other = loader(Counting(9), 2, shuffle=True)
        passing = iter(made)
        if who == "state":
            made.load_state_dict(made.state_dict() | {"epoch": 3, "read": 4})
        else:
            said: dict[str, Any] = {"loader": made, "sampler": made.sampler, "dataset": ds}
            said[who].set_epoch(3)
        other.set_epoch(3)
        assert values(passing) == values(other)[4 * (who == "state") :]
        assert made.epoch == 4
        made.set_epoch(0)  # and what is said again changes nothing
        passing = iter(made)
        made.set_epoch(0)
        assert values(passing) == values(loader(Counting(9), 2, shuffle=True))
        # What is said later is of the pass after it.
        passing = iter(made)
        first = values([next(passing)])
        made.set_epoch(6)
        other.set_epoch(1)
        assert first + values(passing) == values(other)
        assert made.epoch == 6

    def test_a_pass_that_hears_nothing_is_caught(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Pass, "_moved", lambda self: False)
        with pytest.raises(AssertionError):
            self.test_a_pass_begins_where_it_was_said_before_its_first_batch("loader", {})

    def test_set_epoch_of_the_dataset_is_followed(self) -> None:
        ds = Counting(4)
        made = loader(ds, num_workers=1, persistent_workers=True)
        values(made)
        ds.set_epoch(7)
        assert values(made) == _epoch(4, 7)
        assert values(loader(ds)) == _epoch(4, 7)
        made.set_epoch(3)  # the later word wins
        assert values(made) == _epoch(4, 3)
        assert ds.epoch == 7

    def test_a_plain_torch_loader_sees_the_datasets_epoch(self) -> None:
        ds = Counting(4)
        made = DataLoader(ds, num_workers=1, persistent_workers=True)
        first = values(made)
        ds.set_epoch(1)
        assert (first, values(made)) == (_epoch(4, 0), _epoch(4, 1))

    def test_a_closed_loader_has_no_workers_and_goes_on_with_others(self) -> None:
        made = loader(Counting(8), num_workers=2, persistent_workers=True)
        assert values(made) == _epoch(8, 0)
        before = set(active_children())
        assert len(before) >= 2
        made.close()
        made.close()
        assert len(before - set(active_children())) == 2
        under_way = iter(made)
        assert values([next(under_way)]) == _epoch(8, 1)[:1]
        made.close()
        with pytest.raises(LoaderError, match="was closed"):
            list(under_way)
        assert values(made) == _epoch(8, 2)
        made.close()

    @pytest.mark.parametrize(("epoch", "error"), [(-1, ValueError), (1.5, TypeError), ("1", TypeError)])
    def test_senseless_epochs_are_refused(self, epoch: Any, error: type[Exception]) -> None:
        with pytest.raises(error, match="epoch must be"):
            loader(Counting(4)).set_epoch(epoch)


def _epoch(n: int, epoch: int) -> list[int]:
    made = loader(Counting(n))
    made.set_epoch(epoch)
    return values(made)


class TestResume:
    @pytest.mark.parametrize("workers", [0, 2])
    @pytest.mark.parametrize("taken", [0, 1, 5, 8])
    def test_goes_on_with_the_next_batch(self, reference: list[int], workers: int, taken: int) -> None:
        options = {"batch_size": 3, "shuffle": True, "seed": 5, "num_workers": workers}
        first = loader(Counting(N), **options)
        passing = iter(first)
        head = [v for _ in range(taken) for v in next(passing)["image"].flatten().tolist()]
        state = first.state_dict()
        assert (state["epoch"], state["read"]) == (0, min(3 * taken, N))
        resumed = loader(Counting(N), **{**options, "num_workers": 1})
        resumed.load_state_dict(state)
        assert resumed.state_dict() == state
        assert head + values(resumed) + values(resumed) == reference

    def test_skipped_batches_are_not_read(self) -> None:
        made = loader(Counting(N, broken=frozenset(range(9))), batch_size=3)
        state = loader(Counting(N), batch_size=3).state_dict() | {"read": 9}
        made.load_state_dict(state)
        assert indices(made) == list(range(9, N))

    def test_set_epoch_to_the_same_epoch_keeps_the_place(self) -> None:
        made = loader(Counting(N), batch_size=3)
        made.load_state_dict(made.state_dict() | {"epoch": 2, "read": 9})
        for epoch in (2, 3):
            made.set_epoch(epoch)
            assert len(values(made)) == (N - 9 if epoch == 2 else N)

    @pytest.mark.parametrize(
        ("other", "names"),
        [
            ({"seed": 1}, ["seed"]),
            ({"batch_size": 4, "shuffle": True}, ["shuffle"]),
            ({"even": False}, ["even"]),
            ({"weights": [1.0] * N}, ["weights"]),
            ({"samples_per_epoch": 9, "drop_last": True}, ["samples_per_epoch", "drop_last"]),
        ],
    )
    def test_a_state_of_another_loader_is_refused(self, other: dict[str, Any], names: list[str]) -> None:
        state = loader(Counting(N)).state_dict()
        with pytest.raises(LoaderError) as caught:
            loader(Counting(N), **other).load_state_dict(state)
        assert all(f"{name}: saved" in str(caught.value) for name in names)

    def test_a_state_of_another_dataset_is_refused(self) -> None:
        state = loader(Counting(N)).state_dict()
        with pytest.raises(LoaderError, match="length: saved 23, here 22"):
            loader(Counting(22)).load_state_dict(state)
        with pytest.raises(LoaderError, match="dataset_seed: saved 0, here 1"):
            loader(Counting(N, seed=1)).load_state_dict(state)

    @pytest.mark.parametrize("state", [{}, None, {"epoch": 1}])
    def test_what_is_not_a_state_is_refused(self, state: Any) -> None:
        with pytest.raises(LoaderError, match="not a state"):
            loader(Counting(N)).load_state_dict(state)
        good = loader(Counting(N)).state_dict()
        for damage in ({"read": 99}, {"epoch": -1}, {"version": 1}, {"world_size": 0}, {"rank": 1}):
            with pytest.raises(LoaderError):
                loader(Counting(N)).load_state_dict(good | damage)


class TestWeights:
    def test_repeats_draw_anew(self) -> None:
        made = loader(Counting(3), weights=[0, 1, 0], samples_per_epoch=50)
        passing = list(made)
        assert [int(b["index"]) for b in passing] == [1 + 3 * k for k in range(50)]
        assert len({int(b["image"]) for b in passing}) == 50

    def test_samples_per_epoch(self) -> None:
        assert indices(loader(Counting(3), samples_per_epoch=7)) == list(range(7))
        assert len(values(loader(Counting(N), samples_per_epoch=5, shuffle=True))) == 5

    def test_balanced(self) -> None:
        ds = Counting(4)
        ds.labels = np.array([0, 0, 0, 1])  # type: ignore[attr-defined]
        drawn = np.array(indices(loader(ds, weights="balanced", samples_per_epoch=4000))) % 4
        np.testing.assert_allclose(np.mean(drawn == 3), 0.5, atol=4 * np.sqrt(0.25 / 4000))
        with pytest.raises(ValueError, match="labels"):
            loader(Counting(4), weights="balanced")


class Wrapped(Dataset[Any]):
    """A user's own wrapper, which knows nothing of epochs."""

    def __init__(self, inner: Any) -> None:
        self.dataset = inner

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> Any:
        return self.dataset[index]


class TestViews:
    @pytest.mark.parametrize("workers", [0, 2])
    def test_torch_views_pass_the_epoch_on(self, workers: int) -> None:
        a, b = Counting(6), Counting(5, seed=9)
        views = [
            (Subset(a, [4, 1]), [(a, 4), (a, 1)]),
            (ConcatDataset([a, b]), [*((a, i) for i in range(6)), *((b, i) for i in range(5))]),
            (Wrapped(Subset(ConcatDataset([a, b]), [7, 0])), [(b, 1), (a, 0)]),
            (random_split(a, [4, 2], torch.Generator().manual_seed(0))[1], None),
        ]
        for view, members in views:
            made = loader(view, num_workers=workers)
            made.set_epoch(3)
            found = values(made)
            expected = members or [(a, i) for i in view.indices]  # type: ignore[attr-defined]
            a.set_epoch(3)
            b.set_epoch(3)
            assert found == [int(ds[i]["image"]) for ds, i in expected]
            a.set_epoch(0)
            b.set_epoch(0)
            made.set_epoch(0)
            assert found != values(made)

    def test_repeats_reach_through_views(self) -> None:
        found = values(loader(Subset(Counting(6), [4, 1]), samples_per_epoch=6))
        assert len(set(found)) == 6
        assert found[2:4] == values(loader(Subset(Counting(12), [10, 7])))

    def test_other_datasets_work_too(self) -> None:
        plain = TensorDataset(torch.arange(5))
        assert [b[0].tolist() for b in loader(plain, 2)] == [[0, 1], [2, 3], [4]]
        assert [b[0].tolist() for b in loader(Subset(plain, [3, 1]), 2, num_workers=1)] == [[3, 1]]


class TestErrors:
    @pytest.mark.parametrize("workers", [0, 2])
    def test_a_broken_file_is_told_with_its_name(self, workers: int) -> None:
        with pytest.raises(DataError, match=r"3\.png: broken") as caught:
            values(loader(Counting(6, broken=frozenset({3})), num_workers=workers))
        assert (caught.value.path, caught.value.reason) == ("3.png", "broken")

    @pytest.mark.parametrize("workers", [0, 1])
    def test_an_error_ends_the_pass_and_is_not_counted(self, workers: int) -> None:
        ds = Counting(6, broken=frozenset({3}))
        made = loader(ds, batch_size=2, num_workers=workers, multiprocessing_context="fork", persistent_workers=True)
        passing = iter(made)
        next(passing)
        with pytest.raises(DataError):
            next(passing)
        assert list(passing) == []
        state = made.state_dict()
        assert (state["epoch"], state["read"]) == (0, 2)
        ds.broken = frozenset()
        made.load_state_dict(state)
        assert indices(made) == [2, 3, 4, 5]

    @pytest.mark.parametrize("workers", [0, 2])
    def test_a_misfit_is_a_collate_error(self, workers: int) -> None:
        with pytest.raises(CollateError, match="2 in sample 0, but 3 in sample 1"):
            list(loader(Ragged(), batch_size=2, num_workers=workers))

    @pytest.mark.parametrize(
        ("options", "error", "message"),
        [
            ({"batch_size": 0}, ValueError, "batch_size must be"),
            ({"batch_size": None}, ValueError, "batch_size must be"),
            ({"samples_per_epoch": 0}, ValueError, "samples_per_epoch"),
            ({"collate": "stack"}, ValueError, "'default', 'list', 'pad'"),
            ({"weights": "even"}, ValueError, "'balanced'"),
            ({"num_workers": -1}, ValueError, "at least 0"),
        ],
    )
    def test_senseless_arguments_are_refused(
        self, options: dict[str, Any], error: type[Exception], message: str
    ) -> None:
        with pytest.raises(error, match=message):
            loader(Counting(4), **options)

    def test_there_must_be_something_to_load(self) -> None:
        with pytest.raises(ValueError, match="empty"):
            loader(Counting(0))
        with pytest.raises(TypeError, match="no len"):
            loader(iter([1]))

    def test_worker_options_are_ignored_without_workers(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            made = loader(
                Counting(2), num_workers=0, multiprocessing_context="spawn", persistent_workers=True, prefetch_factor=4
            )
        assert indices(made) == [0, 1]


class Ragged(Counting):
    def __init__(self) -> None:
        super().__init__(2)

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {"image": torch.zeros(index + 2), "index": index}


@pytest.mark.parametrize("backend", [None, "threads", "processes"])
def test_two_passes_of_one_loader_do_not_mix(backend: Any) -> None:
    options = {"backend": backend, "num_workers": 1} if backend else {}
    made = loader(Counting(N), 3, multiprocessing_context="fork", **options)
    first, second = iter(made), iter(made)
    pairs = list(zip(first, second, strict=True))
    assert [a["index"].tolist() for a, _ in pairs] == [b["index"].tolist() for _, b in pairs]
    assert sum(len(a["index"]) for a, _ in pairs) == N
