"""`verify` on the optimiser's own merged warps, sound and broken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from planted import COLOURS, MOVES, draw_data, recipe

from augrecipes.compiler.kernels import warped
from augrecipes.ops import warps
from augrecipes.verify import Verification, verify

BOXES = "inputs: {mask: optional, boxes: {format: pascal_voc, labels: box_labels}, keypoints: {format: xy}}"
HIDES = """
  - Resize: {height: 80, width: 100}
  - CenterCrop: {height: 60, width: 60}
  - Rotate: {limit: [20, 40], border_mode: constant, p: 1.0}
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return draw_data(tmp_path_factory.mktemp("fast"))


def broken(found: Verification) -> set[str]:
    return {figure.law for figure in found.broken}


@pytest.mark.parametrize("border", ["constant", "reflect_101", "replicate"])
def test_merged_warps_keep_their_contract(data: Path, border: str) -> None:
    found = verify(recipe(MOVES.replace("constant", border) + COLOURS, BOXES), data / "list.csv", samples=12)
    assert found.promise.geometry
    assert found.ok, found.broken


def test_what_a_window_hides_stays_hidden(data: Path) -> None:
    assert verify(recipe(HIDES, BOXES), data / "list.csv", samples=6).ok


class TestPlantedFaults:
    def test_a_matrix_without_the_half_pixel(self, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def careless(x: float, y: float, x0: float = 0.0, y0: float = 0.0) -> Any:
            return (x, 0.0, x0, 0.0, y, y0, 0.0, 0.0, 1.0)

        monkeypatch.setattr(warps, "scaling", careless)
        assert "displacement" in broken(verify(recipe(MOVES), data / "images", samples=3))

    def test_a_forgotten_window(self, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(warped, "stays_inside", lambda *_: True)
        assert "hidden" in broken(verify(recipe(HIDES), data / "images", samples=3))

    def test_matrices_in_the_wrong_order(self, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        multiply = warped.multiply
        monkeypatch.setattr(warped, "multiply", lambda a, b: multiply(b, a))
        assert "displacement" in broken(verify(recipe(MOVES), data / "images", samples=3))

    def test_a_mask_that_is_interpolated(self, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(warps.Warp, "for_mask", lambda self: self)
        assert "labels" in broken(verify(recipe(MOVES, BOXES), data / "list.csv", samples=3))
