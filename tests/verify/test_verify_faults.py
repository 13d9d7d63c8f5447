"""Faults that `verify` must find, and sound plans that it must let pass."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from planted import COLOURS, EXACT, GEOMETRY, MOVES, draw_data, noop, planted, recipe, rewritten, shifted

from augrecipes.compiler.kernels import moves
from augrecipes.compiler.plan.nodes import Nodes, is_single
from augrecipes.compiler.plan.rule import Edit, Rule
from augrecipes.compiler.plan.rules import RULES
from augrecipes.errors import DataError
from augrecipes.flow import Flow
from augrecipes.recipe.model import Recipe, Step
from augrecipes.verify import Verification, verify
from augrecipes.verify.contract import Promise

BOXES = "inputs: {boxes: {format: pascal_voc, labels: box_labels}, keypoints: {format: xy}}"
KEPT = "inputs: {mask: required}"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return draw_data(tmp_path_factory.mktemp("verify"))


def broken(found: Verification) -> set[tuple[str, str]]:
    return {(figure.target, figure.law) for figure in found.broken}


def nothing(done: dict[str, Any]) -> None:
    """No fault."""


class TestNoFault:
    @pytest.mark.parametrize("optimize", ["none", "exact"])
    def test_plans_that_change_no_bit(self, data: Path, optimize: Any) -> None:
        found = verify(recipe(MOVES + COLOURS, BOXES), data / "list.csv", samples=6, optimize=optimize)
        assert found.ok
        assert str(found.promise) == "EXACT"
        assert {figure.worst for figure in found.figures} == {0.0}
        assert {figure.target for figure in found.figures} == {"sample", "image", "mask", "boxes", "keypoints"}

    def test_fast(self, data: Path) -> None:
        steps = "\n  - RandomCrop: {height: 64, width: 80}\n  - Resize: {height: 48, width: 60}\n  - HorizontalFlip\n"
        found = verify(recipe(steps, BOXES), data / "list.csv", samples=6)
        assert found.ok, found.broken

    @pytest.mark.parametrize("border", ["constant", "reflect_101", "replicate", "wrap"])
    def test_a_recipe_against_itself_as_if_warps_were_merged(self, data: Path, border: str) -> None:
        text = MOVES.replace("constant", border)
        found = verify(
            recipe(text + COLOURS, BOXES), data / "list.csv", samples=6, build=planted(nothing), promise=GEOMETRY
        )
        assert found.ok
        assert {figure.law for figure in found.figures} == {
            "outcome", "levels", "colours", "displacement", "hidden", "truth", "loss", "labels", "nearest", "equal",
            "follows",
        }  # fmt: skip
        both = [figure for figure in found.figures if figure.law == "displacement"]
        assert [figure.dtype for figure in both] == ["uint8", "float32"]
        for figure in both:
            assert figure.share is not None
            assert figure.share > 0.5

    @pytest.mark.parametrize("name", ["gray", "many"])
    def test_other_numbers_of_channels(self, data: Path, tmp_path: Path, name: str) -> None:
        channels = {"gray": 1, "many": 4}[name]
        made = np.random.default_rng(0).integers(0, 256, (70, 90, channels), np.uint8)
        (tmp_path / "a.png").write_bytes(cv2.imencode(".png", made)[1].tobytes())
        chosen = recipe(MOVES, f"inputs: {{image: {{channels: {channels}}}}}")
        found = verify(chosen, tmp_path / "a.png", samples=3, build=planted(nothing), promise=GEOMETRY)
        assert found.ok
        assert found.samples == 3


class TestPictures:
    """Plans that promise values."""

    def caught(self, data: Path, fault: Any, promise: Promise | None = None) -> set[tuple[str, str]]:
        return broken(verify(recipe(COLOURS), data / "images", samples=3, build=planted(fault), promise=promise))

    def test_one_level_off(self, data: Path) -> None:
        def fault(done: dict[str, Any]) -> None:
            done["image"][3, 4, 1] ^= 1

        assert self.caught(data, fault) == {("image", "levels")}
        assert self.caught(data, fault, Promise(levels=1)) == set()

    def test_two_levels_off_where_one_is_allowed(self, data: Path) -> None:
        def fault(done: dict[str, Any]) -> None:
            done["image"][0, 0, 0] ^= 2

        assert self.caught(data, fault, Promise(levels=1)) == {("image", "levels")}

    @pytest.mark.parametrize(
        "output",
        [
            "{dtype: float32, layout: chw, normalize: imagenet}",
            "{dtype: float32, layout: hwc, range: [-1, 1]}",
            "{dtype: float16, layout: chw}",
        ],
    )
    def test_one_level_off_in_an_output_of_floats(self, data: Path, output: str) -> None:
        def fault(done: dict[str, Any]) -> None:
            done["image"] += done["image"].dtype.type(2 / 255)

        chosen = recipe(COLOURS, output=output)
        assert verify(chosen, data / "images", samples=3, build=planted(nothing)).ok
        found = verify(chosen, data / "images", samples=3, build=planted(fault), promise=Promise(levels=0))
        assert broken(found) == {("image", "levels")}

    def test_colours_are_looked_at_where_warps_are_merged(self, data: Path) -> None:
        def fault(done: dict[str, Any]) -> None:
            if done["image"].dtype == np.uint8:
                done["image"] = cv2.add(done["image"], (3, 3, 3, 0))  # type: ignore[call-overload]

        found = verify(recipe(MOVES + COLOURS), data / "images", samples=3, build=planted(fault), promise=GEOMETRY)
        assert broken(found) == {("image", "colours")}

    def test_swapped_draws(self, data: Path) -> None:
        found = verify(recipe(COLOURS), data / "images", samples=3, build=rewritten(lambda steps: steps, seed=1))
        assert broken(found) == {("image", "levels")}

    def test_not_a_number(self, data: Path) -> None:
        def fault(done: dict[str, Any]) -> None:
            done["image"][0, 0, 0] = np.nan

        chosen = recipe(COLOURS, output="{dtype: float32}")
        assert broken(verify(chosen, data / "images", samples=2, build=planted(fault))) == {("image", "levels")}

    def test_a_window_that_is_one_pixel_off_in_the_kernel(self, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        cut = moves.Moved.cut
        monkeypatch.setattr(
            moves.Moved, "cut", lambda self, x0, y0, x1, y1: cut(self, max(x0 - 1, 0), y0, max(x0 - 1, 0) + x1 - x0, y1)
        )
        steps = "\n  - RandomCrop: {height: 40, width: 40}\n  - HorizontalFlip\n"
        found = verify(recipe(steps), data / "images", samples=6, optimize="exact")
        assert broken(found) == {("image", "levels")}


class TestGeometry:
    """Plans that merge warps."""

    def found(self, data: Path, build: Any, steps: str = MOVES, more: str = "", samples: int = 4) -> Verification:
        return verify(recipe(steps, more), data / "list.csv", samples=samples, build=build, promise=GEOMETRY)

    @pytest.mark.parametrize(("dx", "seen"), [(0.5, True), (0.05, True), (0.0, False)])
    def test_part_of_a_pixel_off(self, data: Path, dx: float, seen: bool) -> None:
        def fault(done: dict[str, Any]) -> None:
            done["image"] = shifted(done["image"], dx)

        found = self.found(data, planted(fault))
        assert (("image", "displacement") in broken(found)) == seen
        # cv2 may round positions to 1/32 px.
        assert all(abs(figure.mean - dx) < 0.02 for figure in found.figures if figure.law == "displacement")

    def test_a_forgotten_window(self, data: Path) -> None:
        def forget(steps: tuple[Step, ...]) -> tuple[Step, ...]:
            return tuple(noop(step) if step.name == "RandomCrop" else step for step in steps)

        assert ("image", "displacement") in broken(self.found(data, rewritten(forget)))

    def test_a_border_that_shows_what_the_window_before_it_hid(self, data: Path) -> None:
        steps = (
            "\n  - CenterCrop: {height: 60, width: 60}\n  - Rotate: {limit: [20, 40], border_mode: constant, p: 1.0}\n"
        )
        # Turned before it is cut, the picture fills the corners. Both turn about their middle, which is the same.
        caught = broken(self.found(data, rewritten(lambda steps: steps[::-1]), steps))
        assert ("image", "hidden") in caught
        assert ("image", "displacement") not in caught

    def test_swapped_draws(self, data: Path) -> None:
        assert ("image", "displacement") in broken(self.found(data, rewritten(lambda steps: steps, seed=1)))

    def test_a_picture_that_is_softer_than_it_need_be(self, data: Path) -> None:
        def fault(done: dict[str, Any]) -> None:
            done["image"] = cv2.blur(done["image"], (3, 3))

        caught = broken(self.found(data, planted(fault), "\n  - Resize: {height: 48, width: 60}\n"))
        assert caught == {("image", "truth")}

    def test_a_picture_that_is_far_noisier_is_a_warning(self, data: Path) -> None:
        def fault(done: dict[str, Any]) -> None:
            if done["image"].dtype == np.uint8:
                done["image"] = cv2.add(done["image"], np.indices(done["image"].shape).sum(0).astype(np.uint8) % 2 * 60)

        found = self.found(data, planted(fault), "\n  - Resize: {height: 24, width: 32}\n")
        assert found.ok
        assert {figure.law for figure in found.warned} == {"loss"}

    def test_a_rule_of_the_optimiser_that_forgets_a_step(self, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def forget(steps: Nodes, flow: Flow) -> list[Edit]:
            del flow
            return [
                Edit(place, place + 1, ())
                for place, step in enumerate(steps)
                if is_single(step) and step.name == "Rotate"
            ]

        rule = Rule("forget_turns", "", "GEOMETRY", "", "", forget)  # type: ignore[arg-type,unused-ignore]
        monkeypatch.setitem(RULES, "fast", (rule,))
        found = verify(recipe(MOVES + COLOURS), data / "images", samples=3)
        assert found.promise == Promise(True, 0, ("forget_turns",))
        assert {("image", "displacement"), ("image", "truth")} <= broken(found)
        assert ("image", "colours") not in broken(found)


class TestMasks:
    def caught(self, data: Path, fault: Any, promise: Promise = GEOMETRY, steps: str = MOVES) -> set[tuple[str, str]]:
        found = verify(recipe(steps, KEPT), data / "list.csv", samples=4, build=planted(fault), promise=promise)
        return broken(found)

    def test_labels_invented_by_linear_interpolation(self, data: Path) -> None:
        def fault(done: dict[str, Any]) -> None:
            done["mask"] = np.rint(shifted(done["mask"].astype(np.float32), 0.5)).astype(done["mask"].dtype)

        assert ("mask", "labels") in self.caught(data, fault)

    def test_labels_that_lie_elsewhere(self, data: Path) -> None:
        def fault(done: dict[str, Any]) -> None:
            done["mask"] = np.roll(done["mask"], 6, axis=1)

        assert ("mask", "nearest") in self.caught(data, fault)

    def test_nearest_neighbours_may_differ_along_edges(self, data: Path) -> None:
        def fault(done: dict[str, Any]) -> None:
            done["mask"] = np.hstack([done["mask"][:, :1], done["mask"][:, :-1]])

        steps = "\n  - RandomCrop: {height: 64, width: 80}\n  - HorizontalFlip\n"
        assert self.caught(data, fault, steps=steps) == set()
        assert self.caught(data, fault, EXACT, steps) == {("mask", "labels")}  # but not in a plan that is exact


class TestPoints:
    def caught(self, data: Path, fault: Any, promise: Promise = GEOMETRY) -> set[tuple[str, str]]:
        found = verify(recipe(MOVES, BOXES), data / "list.csv", samples=4, build=planted(fault), promise=promise)
        return broken(found)

    @pytest.mark.parametrize("name", ["boxes", "keypoints"])
    def test_points_that_leave_the_picture_behind(self, data: Path, name: str) -> None:
        def fault(done: dict[str, Any]) -> None:
            done[name] = done[name] + np.float32(0.75)

        assert self.caught(data, fault) == {(name, "equal"), (name, "follows")}
        assert self.caught(data, fault, EXACT) == {(name, "equal")}

    def test_a_box_too_few(self, data: Path) -> None:
        def fault(done: dict[str, Any]) -> None:
            done["boxes"], done["box_labels"] = done["boxes"][1:], done["box_labels"][1:]

        assert self.caught(data, fault, EXACT) == {("boxes", "equal")}


class TestOutcomes:
    def test_one_refuses(self, data: Path) -> None:
        def fault(done: dict[str, Any]) -> None:
            raise DataError("too small")

        found = verify(recipe(COLOURS), data / "images", samples=3, build=planted(fault))
        assert broken(found) == {("sample", "outcome")}

    @pytest.mark.parametrize("change", [lambda a: a[1:], lambda a: a.astype(np.float32)], ids=["size", "dtype"])
    def test_not_of_the_same_kind(self, data: Path, change: Any) -> None:
        def fault(done: dict[str, Any]) -> None:
            done["image"] = change(done["image"])

        found = verify(recipe(COLOURS), data / "images", samples=3, build=planted(fault))
        assert broken(found) == {("sample", "outcome")}

    def test_a_target_is_missing(self, data: Path) -> None:
        found = verify(
            recipe(COLOURS, KEPT), data / "list.csv", samples=3, build=planted(lambda done: done.pop("mask"))
        )
        assert broken(found) == {("sample", "outcome")}

    def test_one_refuses_ramps(self, data: Path) -> None:
        def fault(done: dict[str, Any]) -> None:
            if done["image"].dtype == np.float32:
                raise DataError("not for floats")

        found = verify(recipe(MOVES), data / "images", samples=3, build=planted(fault), promise=GEOMETRY)
        assert broken(found) == {("sample", "outcome")}

    def test_the_recipe_alone_refuses(self, data: Path) -> None:
        large: Recipe = recipe("\n  - RandomCrop: {height: 500, width: 500}\n")
        found = verify(large, data / "images", samples=3, build=rewritten(lambda steps: ()))
        assert broken(found) == {("sample", "outcome")}

    def test_both_refuse_every_sample(self, data: Path) -> None:
        small: Recipe = recipe("\n  - RandomCrop: {height: 500, width: 500}\n")
        with pytest.raises(DataError, match=r"no sample of 3 could be compared; the first: .*0\.png"):
            verify(small, data / "images", samples=3)
