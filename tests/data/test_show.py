"""What `show` draws is what a dataset hands out, of every kind, from files and from stores, whole and in parts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from kinds import KINDS, Kind, arrays
from packed_kinds import open_packed

from augrecipes.errors import DataError
from augrecipes.preview.display import picture_of_output
from augrecipes.preview.sheet import Sheet
from augrecipes.sources.sample import Held

PLACES = [7, 0, 7, 3]


def of_files(kind: Kind, root: Path) -> Any:
    kind.fill(root)
    return kind.open(root, seed=5)


def of_store(kind: Kind, root: Path) -> Any:
    kind.fill(root / "files")
    return open_packed(kind, root / "files", seed=5)


def part_of(kind: Kind, root: Path) -> Any:
    """A part in which an index stands twice: the second time with draws of its own."""
    return of_files(kind, root).subset([3, 11, 3, 0, 5, 8, 1, 3])


def handed_out(ds: Any, index: int, epoch: int) -> list[np.ndarray]:
    """The pictures of a sample as an eye sees them."""
    found = arrays(ds[epoch, index])
    outputs = {name: ds.recipe.outputs.get(name, ds.recipe.output) for name in ds.pipeline.outputs}
    made = {name: found[name] for name in outputs}
    stacks = {name: image if image.ndim == 4 else image[None] for name, image in made.items()}
    return [picture_of_output(one, outputs[name]) for name, stack in stacks.items() for one in stack]


def alike(shown: np.ndarray, picture: np.ndarray) -> bool:
    """Whether both are one picture, however much the first was enlarged."""
    places = [
        ((np.arange(old) + 0.5) * new / old).astype(int)
        for new, old in zip(shown.shape[:2], picture.shape[:2], strict=True)
    ]
    back = shown[places[0]][:, places[1]]  # the middle of what became of each pixel
    return bool(np.abs(back.astype(float) - picture).mean() < 8)


def assert_shows(sheet: Sheet, ds: Any, places: list[int], epochs: range) -> None:
    """Each row has the pictures of its sample, epoch by epoch; of a bag tiles that it has then."""
    assert len(sheet.rows) == len(places)
    for row, index in zip(sheet.rows, places, strict=True):
        for epoch in epochs:
            named = [group for group in row.groups if group.header.startswith(f"epoch {epoch}")]
            shown = [cell.picture for group in named for cell in group.cells if cell.picture is not None]
            expected = handed_out(ds, index, epoch)
            assert shown
            if ds.recipe.facts.tiles:
                assert all(any(alike(one, picture) for picture in expected) for one in shown)
            else:
                assert len(shown) == len(expected)
                assert all(map(alike, shown, expected))


@pytest.mark.parametrize("make", [of_files, of_store, part_of])
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_what_is_shown_is_what_is_handed_out(kind: Kind, make: Callable[..., Any], tmp_path: Path) -> None:
    ds = make(kind, tmp_path)
    assert_shows(ds.show(PLACES, draws=5 if ds.recipe.facts.tiles else 2, epoch=1), ds, PLACES, range(1, 3))
    for place in PLACES:
        given = ds.given(place)
        assert given.index == ds[0, place]["index"]
        assert set(given.images) == (set(ds.pipeline.targets) if ds.recipe.facts.scales else {"image"})


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_draws_of_another_sample_are_noticed(kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: what is listed again is drawn as it was the first time."""
    ds = part_of(kind, tmp_path)
    monkeypatch.setattr(Held, "key", lambda self, k: self.row(k))
    rows = type(ds).given
    monkeypatch.setattr(type(ds), "given", lambda self, index, **how: _with_key_of_row(rows(self, index, **how), self))
    with pytest.raises(AssertionError):
        assert_shows(ds.show(PLACES, draws=5 if ds.recipe.facts.tiles else 2, epoch=1), ds, PLACES, range(1, 3))


def _with_key_of_row(sample: Any, ds: Any) -> Any:
    return type(sample)(sample.index % len(ds.table), sample.tile, sample.path, sample.images, sample.rest)


def test_side_by_side_they_are_the_samples_themselves(tmp_path: Path) -> None:
    (kind, *_) = KINDS
    ds = of_files(kind, tmp_path)
    (row,) = ds.show(PLACES, epoch=2).rows
    for group, place in zip(row.groups, PLACES, strict=True):
        assert group.header.endswith(f"index {place}")
        (picture,) = handed_out(ds, place, 2)
        np.testing.assert_array_equal(group.cells[0].picture, picture)
    groups = [group for row in ds.show(12).rows for group in row.groups]
    assert len(groups) == 12
    assert {group.header.partition(" ")[0] for group in groups} <= {"cat", "dog", "emu"}


def test_what_cannot_be_read_is_left_out_and_named(tmp_path: Path) -> None:
    (kind, *_) = KINDS
    ds = of_files(kind, tmp_path)
    for k in range(11):
        (tmp_path / kind.files(k)).write_bytes(b"none")
    sheet = ds.show(12)
    assert [len(row.groups) for row in sheet.rows] == [1]
    assert sheet.footers[0].startswith("left out: ")
    (tmp_path / kind.files(11)).write_bytes(b"none")
    with pytest.raises(DataError, match="no image can be shown"):
        ds.show(12)
    assert "without pictures" in ds._repr_html_()


@pytest.mark.parametrize("ending", ["png", "jpg"])
def test_sheets_are_written(ending: str, tmp_path: Path) -> None:
    (kind, *_) = KINDS
    sheet = of_files(kind, tmp_path / "data").show(4)
    written = cv2.imread(str(sheet.save(tmp_path / "new" / f"sheet.{ending}")))
    assert written is not None
    assert written.shape == sheet.pixels.shape
    with pytest.raises(DataError, match=r"\.png or \.jpg"):
        sheet.save(tmp_path / "sheet.gif")


@pytest.mark.parametrize("wrong", [0, -1, True, []])
def test_nonsense_is_refused(wrong: Any, tmp_path: Path) -> None:
    (kind, *_) = KINDS
    ds = of_files(kind, tmp_path)
    with pytest.raises(ValueError, match="a positive number of samples"):
        ds.show(wrong)
    with pytest.raises(ValueError, match="draws must be"):
        ds.show(draws=0)
