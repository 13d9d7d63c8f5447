"""`in_order=False`: a finished bag is handed out at once, and no state says in mid-epoch which are left."""

from __future__ import annotations

from multiprocessing import get_context
from typing import Any

import pytest
from bag_folders import BAGS, bag_folders

import augrecipes as ar
from augrecipes.data.loader import loader
from augrecipes.kinds.bag.dataset import TileBags
from augrecipes.recipe.parse import parse_text

N = 8


class FirstIsSlow(TileBags):
    """Bag 0 takes until `go` is set, as if it had thousands of tiles."""

    go: Any = None

    def _sample(self, row: int, epoch: int, virtual: int) -> dict[str, Any]:
        if row == 0 and self.go is not None:
            assert self.go.wait(60)
        return super()._sample(row, epoch, virtual)


@pytest.fixture(scope="module")
def ds(tmp_path_factory: pytest.TempPathFactory) -> FirstIsSlow:
    root = bag_folders(tmp_path_factory.mktemp("bags"), {f"slide-{i}": 3 for i in range(N)})
    return FirstIsSlow(root, parse_text(BAGS))


def opened(ds: FirstIsSlow, *, in_order: bool) -> Any:
    ds.go = None if in_order else get_context("fork").Event()
    options = {"num_workers": 2, "prefetch_factor": 1, "multiprocessing_context": "fork"}
    return loader(ds, in_order=in_order, **options)


def test_fast_bags_overtake_a_slow_one(ds: FirstIsSlow) -> None:
    order = []
    for batch in opened(ds, in_order=False):
        order.append(int(batch["index"]))
        if len(order) > N // 2:
            ds.go.set()
    assert sorted(order) == list(range(N))
    assert order.index(0) > N // 2
    assert [int(batch["index"]) for batch in opened(ds, in_order=True)] == list(range(N))


def test_no_state_says_what_overtook(ds: FirstIsSlow) -> None:
    """In the middle of an epoch; between epochs a state goes on as ever."""
    made = opened(ds, in_order=False)
    passing = iter(made)
    assert 0 not in {int(next(passing)["index"]) for _ in range(3)}
    with pytest.raises(ar.LoaderError, match="save it between epochs, or load with in_order=True"):
        made.state_dict()
    ds.go.set()
    assert len(list(passing)) == N - 3
    made.state_dict()
