"""A source of somebody else, a dict of arrays behind `ar.Source`: everything that reads samples reads its own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.kind_laws import LAWS, OF_SAMPLES, drawn
from support.kinds import agree

import augrecipes as ar
from augrecipes.bench.run import Options

RECIPE = """
version: 1
recipe: crops
steps:
  - RandomCrop: {height: 24, width: 28}
  - HorizontalFlip
  - RandomBrightnessContrast: {p: 1.0}
eval:
  - CenterCrop: {height: 24, width: 28}
"""
N = 12


class Arrays(ar.Source):
    """Two arrays of one length, by name."""

    def __init__(self, arrays: Mapping[str, Any]) -> None:
        self.arrays = arrays
        self.labels = arrays["label"]
        self.classes = ("even", "odd")

    def __len__(self) -> int:
        return len(self.labels)

    def read(self, index: int) -> dict[str, Any]:
        return {name: values[index] for name, values in self.arrays.items()}

    def path(self, index: int) -> str:
        return f"arrays.npz[{index}]"

    def digest(self) -> str:
        return str(self.arrays["image"].sum())


class AlsoOne:
    """The same methods, without the class."""

    def __init__(self, source: Arrays) -> None:
        self._source, self.labels, self.classes = source, source.labels, source.classes
        self.read, self.path, self.digest = source.read, source.path, source.digest

    def __len__(self) -> int:
        return len(self._source)


def source(n: int = N) -> Arrays:
    image = np.random.default_rng(7).integers(0, 256, (n, 40, 44, 3), np.uint8)
    return Arrays({"image": image, "mask": image[..., 0] // 64, "label": np.arange(n) % 2})


@pytest.mark.parametrize("law", OF_SAMPLES)
def test_datasets_of_it_obey_the_laws_of_every_dataset(law: str) -> None:
    LAWS[law](lambda **options: ar.Samples(source(), ar.load(RECIPE), **{"seed": 3, **options}))


def test_what_is_known_of_it_is_known_of_the_dataset() -> None:
    ds, rows = ar.Samples(source(), RECIPE, seed=3), [source().read(i) for i in range(N)]
    assert (ds.classes, ds.labels.tolist(), ds.path(5)) == (["even", "odd"], [0, 1] * 6, "arrays.npz[5]")
    other = ar.Samples(Arrays({**source().arrays, "image": rows[0]["image"][None]}), RECIPE)
    assert ds.fingerprint()["files"] != other.fingerprint()["files"]
    assert agree(ds, ar.Samples(AlsoOne(source()), RECIPE, seed=3))  # type: ignore[arg-type]
    listed = ar.Samples(rows, RECIPE, seed=3)
    assert [drawn(ds[1, i]) for i in range(N)] == [drawn(listed[1, i]) for i in range(N)]


def test_everything_that_reads_samples_takes_it(tmp_path: Path) -> None:
    made, recipe = source(), ar.load(RECIPE)
    (batch,) = ar.loader(ar.Samples(made, recipe, seed=3), N)
    assert (tuple(batch["image"].shape), batch["label"].tolist()) == ((N, 3, 24, 28), [0, 1] * 6)
    assert ar.sample_grid(recipe, made, rows=2).std() > 5
    assert ar.verify(recipe, made, samples=3).ok
    ar.pack(recipe, made, tmp_path / "store", workers=0)
    assert agree(ar.Packed(tmp_path / "store", recipe, seed=3), ar.Samples(made, recipe, seed=3))
    sides = ar.bench({"crops": recipe}, made, Options(samples=4, seconds=0.1, effects=False)).sides
    assert len(sides) == 2


def test_the_studio_shows_it() -> None:
    pytest.importorskip("starlette")
    from augrecipes.studio.opening import opened

    recipe, made = ar.load(RECIPE), source()
    shelf = opened(None, made).shelf
    sample = shelf.sample(recipe, recipe.compile(), 4)
    assert sample.path == "arrays.npz[4]"
    assert np.array_equal(sample.images["image"], made.read(4)["image"])
