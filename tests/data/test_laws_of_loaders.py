"""Batches are functions of (dataset, seed, epoch) alone, and made as ARCHITECTURE says; states; skipped samples."""

import random
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from itertools import pairwise
from multiprocessing import active_children
from pathlib import Path
from types import FrameType
from typing import Any

import cv2
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from kernel_sets import NEEDS_KERNELS
from support.damage import CHANGES, places
from support.datasets import WAYS, Counting, here, indices, values
from torch.utils.data import DataLoader, Subset, TensorDataset

import augrecipes as ar
from augrecipes import DataError, Loader, LoaderError
from augrecipes.data import loader as loader_module
from augrecipes.data.epochs import MAX_TRIES, candidates
from augrecipes.data.passes import EpochIterator
from augrecipes.data.state import EpochProgress
from augrecipes.recipe.parse import parse_text

N = 23


def run(ds: Any, **options: Any) -> list[int]:
    """The first two epochs of a new loader."""
    made = here(ds, **options)
    return values(made) + values(made)


@pytest.fixture(scope="module")
def reference() -> list[int]:
    return run(Counting(N), batch_size=3, shuffle=True, seed=5)


def test_it_is_a_torch_loader() -> None:
    ds = Counting(N)
    made = here(ds, batch_size=4, shuffle=True, num_workers=0)
    assert isinstance(made, DataLoader)
    assert isinstance(made, Loader)
    assert made.dataset is ds
    assert (made.batch_size, len(made), made.num_workers) == (4, 6, 0)
    assert list(made.sampler) == [(0, i) for i in indices(made)]


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


class TestEpochs:
    def test_a_pass_that_was_broken_off_counts(self) -> None:
        made = here(Counting(4))
        next(iter(made))
        assert made.epoch == 0  # still under way, for all the loader knows
        assert values(made) == _epoch(4, 1)

    @pytest.mark.parametrize("options", WAYS.values(), ids=WAYS)
    @pytest.mark.parametrize("who", ["loader", "sampler", "dataset", "state"])
    def test_a_pass_begins_where_it_was_said_before_its_first_batch(self, who: str, options: dict[str, Any]) -> None:
        ds = Counting(9)
        made = here(ds, 2, shuffle=True, **options)
        other = here(Counting(9), 2, shuffle=True)
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
        assert values(passing) == values(here(Counting(9), 2, shuffle=True))
        # What is said later is of the pass after it.
        passing = iter(made)
        first = values([next(passing)])
        made.set_epoch(6)
        other.set_epoch(1)
        assert first + values(passing) == values(other)
        assert made.epoch == 6

    def test_a_pass_that_hears_nothing_is_caught(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(EpochIterator, "_moved", lambda self: False)
        with pytest.raises(AssertionError):
            self.test_a_pass_begins_where_it_was_said_before_its_first_batch("loader", {})

    def test_a_closed_loader_has_no_workers_and_goes_on_with_others(self) -> None:
        made = here(Counting(8), num_workers=2, persistent_workers=True)
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
            here(Counting(4)).set_epoch(epoch)


def _epoch(n: int, epoch: int) -> list[int]:
    made = here(Counting(n))
    made.set_epoch(epoch)
    return values(made)


class TestResume:
    def test_skipped_batches_are_not_read(self) -> None:
        made = here(Counting(N, broken=frozenset(range(9))), batch_size=3)
        state = here(Counting(N), batch_size=3).state_dict() | {"read": 9}
        made.load_state_dict(state)
        assert indices(made) == list(range(9, N))

    @pytest.mark.parametrize(
        ("other", "names"),
        [
            ({"seed": 1}, ["seed"]),
            ({"batch_size": 4, "shuffle": True}, ["shuffle"]),
            ({"even": False}, ["even"]),
            ({"weights": [1.0] * N}, ["weights"]),
            ({"samples_per_epoch": 9, "drop_last": True}, ["samples_per_epoch", "drop_last"]),
            ({"ds": Counting(22)}, ["length"]),
            ({"ds": Counting(N, seed=1)}, ["dataset_seed"]),
        ],
    )
    def test_a_state_of_another_loader_is_refused(self, other: dict[str, Any], names: list[str]) -> None:
        state = here(Counting(N)).state_dict()
        with pytest.raises(LoaderError) as caught:
            here(other.pop("ds", Counting(N)), **other).load_state_dict(state)
        assert all(f"{name}: saved" in str(caught.value) for name in names)


class TestViews:
    def test_other_datasets_work_too(self) -> None:
        plain = TensorDataset(torch.arange(5))
        for options in WAYS.values():
            assert [b[0].tolist() for b in here(plain, 2, **options)] == [[0, 1], [2, 3], [4]]
        assert [b[0].tolist() for b in here(Subset(plain, [3, 1]), 2, num_workers=1)] == [[3, 1]]


class TestErrors:
    @pytest.mark.parametrize("workers", [0, 1])
    def test_an_error_ends_the_pass_and_is_not_counted(self, workers: int) -> None:
        ds = Counting(6, broken=frozenset({3}))
        made = here(ds, batch_size=2, num_workers=workers, multiprocessing_context="fork", persistent_workers=True)
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


@pytest.mark.parametrize("way", ["here", "threads", "forked"])
def test_two_passes_of_one_loader_do_not_mix(way: str) -> None:
    made = here(Counting(N), 3, **WAYS[way])
    first, second = iter(made), iter(made)
    pairs = list(zip(first, second, strict=True))
    assert [a["index"].tolist() for a, _ in pairs] == [b["index"].tolist() for _, b in pairs]
    assert sum(len(a["index"]) for a, _ in pairs) == N


# A loader's saved state is not trusted: whatever became of it, it is taken as one that was saved, or a LoaderError.


ODD = (
    None, [], {}, "x", b"x", 1.5, True, -1, 2**70, float("nan"), np.arange(3), torch.arange(3), object(), [[]], [None],
)  # fmt: skip


def made() -> Loader:
    return here(TensorDataset(torch.arange(20)), 3, shuffle=True, seed=4)


def state() -> dict[str, Any]:
    taken = made()
    passing = iter(taken)
    next(passing), next(passing)
    return taken.state_dict()


def damaged(whole: dict[str, Any], rng: random.Random) -> Any:
    changed = deepcopy(whole)
    place = rng.choice([place for place in places(whole) if place.keys[0] != "version"] * 5 + [None])
    if place is None:
        return rng.choice([*ODD, {**whole, "version": rng.choice([0, 2, "1", True, None, 1.0])}])
    holder = place.holder(changed)
    if rng.random() < 0.5:
        holder[place.keys[-1]] = rng.choice(ODD)
    else:
        rng.choice(CHANGES)(holder, place.keys[-1], rng)
    return changed


def law(tries: int) -> dict[str, int]:
    rng, whole, found = random.Random(0), state(), {"taken": 0, "refused": 0}
    for _ in range(tries):
        resumed = made()
        bad = damaged(whole, rng)
        try:
            resumed.load_state_dict(bad)
        except LoaderError as error:
            assert len(str(error)) < 1000
            found["refused"] += 1
            continue
        assert len(list(resumed)) <= len(resumed)
        found["taken"] += 1
    return found


def test_a_damaged_state_is_a_loader_error() -> None:
    found = law(400)
    assert min(found.values()) > 10


def test_a_loader_that_trusts_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def trusting(state: Any, *_: Any) -> EpochProgress:
        return EpochProgress(state["epoch"], state["read"])

    monkeypatch.setattr(loader_module, "restore", trusting)
    with pytest.raises((AssertionError, TypeError, KeyError, ValueError)):
        law(100)


# `on_error="skip"`: replaced by a decided sample, counted and told.


BROKEN = frozenset({1, 4, 5, 11})


def skipping(n: int = 17, broken: frozenset[int] = BROKEN) -> Counting:
    return Counting(n, broken=broken, skip=True)


@given(st.integers(1, 3000), st.integers(0, 2**40), st.integers(0, 2**40))
def test_candidates_visit_everyone_once(n: int, epoch: int, index: int) -> None:
    found = list(candidates(0, epoch, index, n))
    assert len(set(found)) == len(found) == min(n, MAX_TRIES)
    assert 0 <= min(found) <= max(found) < n


def test_records_are_of_one_pass() -> None:
    made = here(skipping())
    values(made)
    values(made)
    assert [s.epoch for s in made.skipped] == [1] * 4


def test_replacements_come_from_the_part_that_is_read() -> None:
    part = [0, 1, 2, 4, 5]
    for workers in (0, 1):
        found = indices(here(Subset(skipping(), part), num_workers=workers))
        assert len(found) == 5
        assert set(found) <= {0, 2}


@pytest.mark.parametrize("workers", [0, 1])
def test_nothing_left_is_an_error(workers: int) -> None:
    with pytest.raises(DataError, match="none of 4 other samples") as caught:
        values(here(skipping(5, frozenset(range(5))), num_workers=workers))
    assert caught.value.path == "0.png"


# The table of ARCHITECTURE follows the default loader: each function that it names is called, in this order.


ROOT = Path(__file__).parents[2]
PACKAGE = str(ROOT / "augrecipes") + "/"
ROW = re.compile(r"^\| \d+ \| `([\w.]+)` in `([\w/.]+)` \|", re.MULTILINE)
STEPS = "[HorizontalFlip, RandomResizedCrop: {size: [32, 32], p: 1.0}, ElasticTransform: {p: 0.5}, ColorJitter]"
MOST_UP = 3
Function = tuple[str, str]  # its file and name


def table() -> list[Function]:
    section = (ROOT / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8").split("## One sample", 1)[1]
    return [(file, name) for name, file in ROW.findall(section.split("\n## ", 1)[0])]


class Calls:
    """The functions of the package that are called, in the order of their first calls.

    Attributes:
        above: of each, those that were under way in its thread.
    """

    def __init__(self) -> None:
        self.above: dict[Function, set[Function]] = {}

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and (here := function_of(frame)) and here not in self.above:
            outer, above = frame.f_back, set[Function]()
            while outer is not None:
                above.add(function_of(outer) or ("", ""))
                outer = outer.f_back
            self.above.setdefault(here, above)


def function_of(frame: FrameType) -> Function | None:
    code = frame.f_code
    return (code.co_filename.removeprefix(PACKAGE), code.co_qualname) if code.co_filename.startswith(PACKAGE) else None


@contextmanager
def recorded() -> Iterator[Calls]:
    calls, before = Calls(), sys.getprofile()
    threading.setprofile(calls)
    sys.setprofile(calls)
    try:
        yield calls
    finally:
        sys.setprofile(before)
        threading.setprofile(None)  # type: ignore[arg-type]  # as before


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> Calls:
    root = tmp_path_factory.mktemp("photos")
    rng = np.random.default_rng(0)
    for k in range(8):
        cv2.imwrite(str(root / f"{k}.jpg"), cv2.GaussianBlur(rng.integers(0, 256, (90, 120, 3), np.uint8), (9, 9), 3))
    recipe = parse_text(f"{{version: 1, recipe: way, steps: {STEPS}, eval: []}}")
    loader = ar.loader(ar.ImageFolder(root, recipe), 8)
    for _ in loader:  # programs are made
        pass
    with recorded() as found:
        next(iter(loader))
    return found


@NEEDS_KERNELS
def test_each_function_is_called_in_this_order(calls: Calls) -> None:
    named = table()
    assert len(named) >= 10
    assert [function for function in calls.above if function in named] == named


@NEEDS_KERNELS
def test_a_reader_goes_up_again_at_most_three_times(calls: Calls) -> None:
    pairs = pairwise(table())
    assert len([later for earlier, later in pairs if earlier not in calls.above[later]]) <= MOST_UP


@NEEDS_KERNELS
def test_a_table_in_another_order_is_noticed(calls: Calls, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = table()
    monkeypatch.setattr(sys.modules[__name__], "table", lambda: [*rows[1:], rows[0]])
    with pytest.raises(AssertionError):
        test_each_function_is_called_in_this_order(calls)
