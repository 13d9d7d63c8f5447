"""`on_error="skip"`: replaced by a decided sample, counted and told."""

from __future__ import annotations

import logging
import pickle

import pytest
from counting import Counting, indices, values
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import Subset

from augrecipes.data.epochs import MAX_TRIES, SkipError, candidates
from augrecipes.data.loader import loader
from augrecipes.errors import DataError

BROKEN = frozenset({1, 4, 5, 11})


def skipping(n: int = 17, broken: frozenset[int] = BROKEN) -> Counting:
    return Counting(n, broken=broken, skip=True)


@given(st.integers(1, 3000), st.integers(0, 2**40), st.integers(0, 2**40))
def test_candidates_visit_everyone_once(n: int, epoch: int, index: int) -> None:
    found = list(candidates(0, epoch, index, n))
    assert len(set(found)) == len(found) == min(n, MAX_TRIES)
    assert 0 <= min(found) <= max(found) < n


@pytest.mark.parametrize("workers", [0, 2])
def test_replaced_counted_and_told(workers: int, caplog: pytest.LogCaptureFixture) -> None:
    made = loader(skipping(), batch_size=3, shuffle=True, num_workers=workers)
    with caplog.at_level(logging.WARNING, "augrecipes"):
        found = indices(made)
    assert len(found) == 17
    assert not BROKEN & set(found)
    assert {s.path for s in made.skipped} == {f"{i}.png" for i in BROKEN}
    assert len(made.skipped) == 4
    assert all((s.reason, s.epoch) == ("broken", 0) for s in made.skipped)
    assert all(s.replacement and int(s.replacement[:-4]) not in BROKEN for s in made.skipped)
    assert caplog.text.count("4 samples could not be read") == 1
    assert "4.png: broken" in caplog.text


def test_the_choice_depends_on_seed_epoch_and_index_alone() -> None:
    first = loader(skipping(), batch_size=4, shuffle=True)
    reference = values(first) + values(first)
    for options in ({"num_workers": 2}, {"num_workers": 1, "batch_size": 1}):
        made = loader(skipping(), **{"batch_size": 4, "shuffle": True, **options})
        assert values(made) + values(made) == reference
    made = loader(skipping(), batch_size=4, shuffle=True)
    made.load_state_dict(first.state_dict() | {"epoch": 0, "read": 8})
    assert values(made) == reference[8:17]


def test_the_replacement_is_the_sample_at_its_own_index() -> None:
    whole = loader(skipping())
    found = dict(zip(indices(whole), values(loader(skipping())), strict=True))
    good = Counting(17)
    assert all(int(good[i]["image"]) == value for i, value in found.items())


def test_records_are_of_one_pass() -> None:
    made = loader(skipping())
    values(made)
    values(made)
    assert [s.epoch for s in made.skipped] == [1] * 4


def test_replacements_come_from_the_part_that_is_read() -> None:
    part = [0, 1, 2, 4, 5]
    for workers in (0, 1):
        found = indices(loader(Subset(skipping(), part), num_workers=workers))
        assert len(found) == 5
        assert set(found) <= {0, 2}


@pytest.mark.parametrize("workers", [0, 1])
def test_nothing_left_is_an_error(workers: int) -> None:
    with pytest.raises(DataError, match="none of 4 other samples") as caught:
        values(loader(skipping(5, frozenset(range(5))), num_workers=workers))
    assert caught.value.path == "0.png"


def test_the_message_to_the_loader_survives_pickling() -> None:
    error = pickle.loads(pickle.dumps(SkipError(DataError("why", "a.png", "Crop"), 3, 9)))
    assert (error.error.reason, error.path, error.step, error.seed, error.index) == ("why", "a.png", "Crop", 3, 9)
