"""Files that are dropped from the page cache, and what is said of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_data import KINDS, kind_data

from augrecipes.bench import cold
from augrecipes.bench.cold import Evicted, can_evict, evict
from augrecipes.bench.run import Options, bench
from augrecipes.bench.sides import Setting, dataset_of, files_of


@pytest.mark.parametrize("kind", KINDS)
def test_the_files_of_a_sample(kind: str, tmp_path: Path) -> None:
    made, data = kind_data(kind, tmp_path)
    dataset = dataset_of(made, Setting(data))
    found = {str(Path(path).relative_to(tmp_path)) for path in files_of(dataset, 1)}
    assert (
        found
        == {
            "image": {"1.jpg"},
            "pair": {"hr/1.png", "lr/1.png"},
            "bag": {"slide1/x0_y0.png", "slide1/x1_y0.png"},
        }[kind]
    )


@pytest.mark.skipif(not can_evict(), reason="no posix_fadvise here")
def test_every_read_is_asked_for(tmp_path: Path) -> None:
    made, data = kind_data("image", tmp_path)
    found = bench({"it": made}, Setting(data), Options(["none"], cold=True, samples=4, seconds=0.01, effects=False))
    reads = int(found.cold.split()[0].replace(",", ""))
    assert reads >= 2 * found.rounds * 4  # with clocks and without


def test_what_happened_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = Evicted()
    evict([str(tmp_path / "absent")], told)
    assert told.asked == 0
    assert "kept 1 of them" in str(Evicted(3, 2, 3))
    assert "cannot be seen" in str(Evicted(3, 0, 0))
    assert "and did" in str(Evicted(3, 3, 3))
    monkeypatch.setattr(cold, "can_evict", lambda: False)
    (tmp_path / "there").write_bytes(b"1")
    evict([str(tmp_path / "there")], told)
    assert "cannot be asked" in str(told)
