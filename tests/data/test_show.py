"""What `show` draws is what a dataset hands out, of every kind, from files and from stores, whole and in parts."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.kinds import IMAGE, Kind, arrays, by_kind, open_packed

from augrecipes.errors import DataError
from augrecipes.preview.display import picture_of_output
from augrecipes.preview.sheet import Sheet
from augrecipes.sources.sample import Held

PLACES = [7, 0, 7, 3]


# A part in which an index stands twice: the second time with draws of its own.
MAKERS: dict[str, Callable[[Kind, Path], Any]] = {
    "files": lambda kind, root: kind.open(root, seed=5),
    "store": lambda kind, root: open_packed(kind, root, seed=5),
    "part": lambda kind, root: kind.open(root, seed=5).subset([3, 11, 3, 0, 5, 8, 1, 3]),
}


def of_images(roots: dict[str, Path], tmp_path: Path) -> Any:
    """A dataset of files that may be changed."""
    shutil.copytree(roots["image"], tmp_path / "files")
    return IMAGE.open(tmp_path / "files", seed=5)


def handed_out(ds: Any, index: int, epoch: int) -> list[np.ndarray]:
    """The images of a sample as an eye sees them."""
    found = arrays(ds[epoch, index])
    outputs = {name: ds.recipe.outputs.get(name, ds.recipe.output) for name in ds.pipeline.outputs}
    made = {name: found[name] for name in outputs}
    stacks = {name: image if image.ndim == 4 else image[None] for name, image in made.items()}
    return [picture_of_output(one, outputs[name]) for name, stack in stacks.items() for one in stack]


def alike(shown: np.ndarray, picture: np.ndarray) -> bool:
    """Whether both are one image, however much the first was enlarged."""
    places = [
        ((np.arange(old) + 0.5) * new / old).astype(int)
        for new, old in zip(shown.shape[:2], picture.shape[:2], strict=True)
    ]
    back = shown[places[0]][:, places[1]]  # the middle of what became of each pixel
    return bool(np.abs(back.astype(float) - picture).mean() < 8)


def assert_shows(sheet: Sheet, ds: Any, places: list[int], epochs: range) -> None:
    """Each row has the images of its sample, epoch by epoch; of a bag tiles that it has then."""
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


@by_kind
@pytest.mark.parametrize("made", MAKERS)
def test_what_is_shown_is_what_is_handed_out(kind: Kind, made: str, roots: dict[str, Path]) -> None:
    ds = MAKERS[made](kind, roots[kind.name])
    assert_shows(ds.show(PLACES, draws=5 if ds.recipe.facts.tiles else 2, epoch=1), ds, PLACES, range(1, 3))
    for place in PLACES:
        given = ds.given(place)
        assert given.index == ds[0, place]["index"]
        assert set(given.images) == (set(ds.pipeline.targets) if ds.recipe.facts.scales else {"image"})


@by_kind
def test_draws_of_another_sample_are_noticed(
    kind: Kind, roots: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted: what is listed again is drawn as it was the first time."""
    ds = MAKERS["part"](kind, roots[kind.name])
    monkeypatch.setattr(Held, "key", lambda self, k: self.row(k))
    rows = type(ds).given
    monkeypatch.setattr(type(ds), "given", lambda self, index, **how: _with_key_of_row(rows(self, index, **how), self))
    with pytest.raises(AssertionError):
        assert_shows(ds.show(PLACES, draws=5 if ds.recipe.facts.tiles else 2, epoch=1), ds, PLACES, range(1, 3))


def _with_key_of_row(sample: Any, ds: Any) -> Any:
    return type(sample)(sample.index % len(ds.table), sample.tile, sample.path, sample.images, sample.rest)


def test_what_cannot_be_read_is_left_out_and_named(roots: dict[str, Path], tmp_path: Path) -> None:
    ds = of_images(roots, tmp_path)
    for k in range(11):
        (tmp_path / "files" / IMAGE.files(k)).write_bytes(b"none")
    sheet = ds.show(12)
    assert [len(row.groups) for row in sheet.rows] == [1]
    assert sheet.footers[0].startswith("left out: ")
    (tmp_path / "files" / IMAGE.files(11)).write_bytes(b"none")
    with pytest.raises(DataError, match="no image can be shown"):
        ds.show(12)
    assert "without images" in ds._repr_html_()


@pytest.mark.parametrize("wrong", [0, -1, True, []])
def test_nonsense_is_refused(wrong: Any, roots: dict[str, Path]) -> None:
    ds = IMAGE.open(roots["image"])
    with pytest.raises(ValueError, match="a positive number of samples"):
        ds.show(wrong)
    with pytest.raises(ValueError, match="draws must be"):
        ds.show(draws=0)
