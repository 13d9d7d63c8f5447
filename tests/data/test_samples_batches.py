"""Batches of a source of one's own are its samples one by one, whatever the items hold and whoever reads them."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from examples import DEAR, PLANTED
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from same_samples import same
from support.datasets import here as in_process

from augrecipes.data import running as of_samples
from augrecipes.data.collate import Collate
from augrecipes.data.loader import loader
from augrecipes.data.samples import Samples
from augrecipes.errors import CollateError, DataError
from augrecipes.native.kernels import library
from augrecipes.recipe.parse import parse_text

pytestmark = pytest.mark.skipif(library() is None, reason="no native kernels here")
RECIPE = parse_text(
    """
version: 1
recipe: on-pictures
inputs: {mask: optional, boxes: {format: pascal_voc, labels: names, min_area: 4}}
steps:
  - RandomCrop: {height: 20, width: 18}
  - Affine: {rotate: 20, p: 0.5}
  - HorizontalFlip
eval: []
"""
)
N = 9


def encoded(picture: np.ndarray) -> bytes:
    Image.fromarray(picture).save(file := io.BytesIO(), "PNG")
    return file.getvalue()


FORMS: tuple[Callable[[np.ndarray], Any], ...] = (
    np.asarray,
    encoded,
    Image.fromarray,
    lambda picture: torch.from_numpy(picture).permute(2, 0, 1),
    lambda picture: picture.astype(np.float32) / np.float32(255),
)
# What an item may have beside its picture, by the name and the number of the item.
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
    for k in range(N):
        picture: Any = form(rng.integers(0, 256, (30, 26, 3), np.uint8)) if k != broken else b"no picture"
        made.append({"image": picture} | {name: value(k) for name, value in BESIDE.items() if name in names})
    return made


class OneByOne(Samples):
    """Whose samples are not read at once."""

    def _sample(self, row: int, epoch: int, virtual: int) -> dict[str, Any]:
        return super()._sample(row, epoch, virtual)


def check(form: int, names: set[str], order: list[int], how: dict[str, Any]) -> None:
    rows = items(FORMS[form], names)
    here, there = Samples(rows, RECIPE, seed=3), OneByOne(rows, RECIPE, seed=3, optimize="none")
    assert here.gathers
    assert not there.gathers
    wanted = [there[2, k] for k in order]
    same(here.__getitems__([(2, k) for k in order]), wanted)
    for batch, other in zip(loader(here, 4, shuffle=True, **how), in_process(there, 4, shuffle=True), strict=True):
        same(batch, other)
    ragged = here.ragged_keys
    same(Collate(ragged_keys=ragged)([here[2, k] for k in order]), Collate(ragged_keys=ragged)(wanted))


ORDERS = st.lists(st.integers(0, 3 * N), min_size=1, max_size=12)
NAMES = st.sets(st.sampled_from([*BESIDE]))
BACKENDS: tuple[dict[str, Any], ...] = ({}, {"backend": "threads", "num_workers": 2})


@DEAR
@given(st.integers(0, len(FORMS) - 1), NAMES, ORDERS, st.sampled_from(BACKENDS))
def test_batches_are_the_samples(form: int, names: set[str], order: list[int], how: dict[str, Any]) -> None:
    check(form, names, order, how)


def test_processes_read_batches() -> None:
    check(0, {*BESIDE}, [3], {"num_workers": 2, "multiprocessing_context": "fork"})


def test_no_sample_is_made_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Samples, "_sample", None)
    monkeypatch.setattr(Samples, "gathers", property(Samples._runs_at_once))  # which looks who has changed `_sample`
    ds = Samples(items(np.asarray, {"label", "score", "mask"}), RECIPE)
    (batch,) = loader(ds, N)
    assert batch["image"].shape == (N, 3, 20, 18)
    assert batch["mask"].shape == (N, 20, 18)
    assert batch["label"].tolist() == [k % 3 for k in range(N)]
    assert batch["score"].tolist() == [0.5 * k for k in range(N)]


def test_an_item_that_is_broken_fails_alone() -> None:
    rows = items(encoded, {"label", "caption", "numbers"}, broken=5)
    with pytest.raises(DataError, match=r"list\[5\]"):
        [*loader(Samples(rows, RECIPE), N)]
    here, there = (in_process(kind(rows, RECIPE, on_error="skip"), N, shuffle=True) for kind in (Samples, OneByOne))
    same([*here], [*there])
    assert here.skipped == there.skipped
    assert [record.path for record in here.skipped] == ["list[5]"]


@pytest.mark.parametrize("odd", ["mask", "boxes", "caption"])
@pytest.mark.parametrize("where", [0, 4, N - 1])
def test_items_that_are_not_alike_are_told_as_one_by_one(odd: str, where: int) -> None:
    rows = items(np.asarray, {"label", "mask", "boxes", "names", "caption"})
    del rows[where][odd]
    with pytest.raises(CollateError) as told:
        [*in_process(OneByOne(rows, RECIPE), N)]
    with pytest.raises(CollateError) as found:
        [*loader(Samples(rows, RECIPE), N)]
    assert str(found.value) == str(told.value)
    same(Samples(rows, RECIPE).__getitems__([*range(N)]), [OneByOne(rows, RECIPE)[k] for k in range(N)])


class Rewritten:
    """A source whose items are a few arrays, written to again in turn: pictures, or the masks of pictures."""

    def __init__(self, arrays: int, *, masks: bool = False) -> None:
        self.pictures = np.random.default_rng(0).integers(0, 256, (N, 30, 26, 3), np.uint8)
        self.masks = masks
        self.arrays = [np.empty_like(self.pictures[0, :, :, 0] if masks else self.pictures[0]) for _ in range(arrays)]

    def __len__(self) -> int:
        return N

    def __getitem__(self, index: int) -> dict[str, np.ndarray]:
        array, picture = self.arrays[index % len(self.arrays)], self.pictures[index]
        array[...] = picture[:, :, 0] if self.masks else picture
        return {"image": picture, "mask": array} if self.masks else {"image": array}


@pytest.mark.parametrize("arrays", [1, 2, 3])
@pytest.mark.parametrize("masks", [False, True], ids=["pictures", "masks"])
def test_a_source_that_writes_to_its_arrays_again(arrays: int, masks: bool) -> None:
    here, there = Samples(Rewritten(arrays, masks=masks), RECIPE), OneByOne(Rewritten(arrays, masks=masks), RECIPE)
    assert here.gathers
    for batch, other in zip(loader(here, 4), in_process(there, 4), strict=True):
        same(batch, other)
    same(here.__getitems__([1, 1, 2, 4, 5]), [there[k] for k in (1, 1, 2, 4, 5)])
    with pytest.MonkeyPatch.context() as patch, pytest.raises(AssertionError):
        patch.setattr(of_samples, "_is_anothers", lambda *_: False)  # a planted fault
        same([*loader(Samples(Rewritten(arrays, masks=masks), RECIPE), 8)], [*in_process(there, 8)])


@pytest.mark.parametrize("fault", ["another's", "lists stay lists", "unlike is alike"])
def test_planted_faults_are_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = of_samples._columns
    if fault == "another's":
        monkeypatch.setattr(
            of_samples, "_columns", lambda beside, *rest: columns({k: beside[max(0, k - 1)] for k in beside}, *rest)
        )
    elif fault == "lists stay lists":
        monkeypatch.setattr("augrecipes.data.fetch.Draft._lists", lambda *_: False)
    else:
        monkeypatch.setattr(of_samples, "frozenset", lambda _: 0, raising=False)
        with pytest.raises((AssertionError, KeyError, pytest.fail.Exception)):
            test_items_that_are_not_alike_are_told_as_one_by_one("boxes", 4)
        return

    @PLANTED
    @given(NAMES, ORDERS)
    def law(names: set[str], order: list[int]) -> None:
        check(0, names, order, {})

    with pytest.raises((AssertionError, ExceptionGroup)):
        law()
