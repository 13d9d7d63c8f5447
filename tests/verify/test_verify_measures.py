"""The measures that `verify` is made of, each against something known."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray
from planted import COLOURS, MOVES, recipe

from augrecipes.recipe.model import Arguments, Mode, Step
from augrecipes.verify import variants
from augrecipes.verify.contract import Metrics, SampleRef
from augrecipes.verify.geometry import Grating
from augrecipes.verify.maps import F32, Map, certain, map_from, ramps
from augrecipes.verify.run import places


def affine(
    matrix: list[list[float]], size: tuple[int, int], border: int = cv2.BORDER_CONSTANT,
    given: tuple[int, int] = (90, 120),
) -> Map:  # fmt: skip
    """The map of one warp; `matrix` takes an output pixel to its source."""
    planes = [warped(plane, matrix, size, border, fill=1) for plane in ramps(*given)]
    return map_from(planes, given)


def warped(
    plane: F32, matrix: list[list[float]], size: tuple[int, int], border: int = cv2.BORDER_CONSTANT, fill: float = 0.0
) -> F32:
    """A plane through the same warp."""
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    made = cv2.warpAffine(
        plane.astype(np.float32),
        np.array(matrix, np.float64),
        size[::-1],
        flags=flags,
        borderMode=border,
        borderValue=fill,
    )
    return np.asarray(made, np.float32)


class TestDisplacement:
    """How far samples are from a map, told by waves alone."""

    def apart(
        self, matrix: list[list[float]], other: list[list[float]], size: tuple[int, int], *, levels: bool = True
    ) -> NDArray[np.float64]:
        """What is said of one warp where another one is meant."""
        where = affine(matrix, size)
        grating = Grating.of(where, levels=levels)
        read = [np.rint(255 * plane(90, 120)) if levels else plane(90, 120) for plane in grating.planes()]
        made = [warped(plane, other, size) for plane in read]
        off = grating.off([np.rint(one) if levels else one for one in made], read, where)
        return grating.distances(*off, where, certain(where, where.shown))

    @pytest.mark.parametrize("levels", [True, False])
    @pytest.mark.parametrize(("along", "px"), [((2.0, 0.0), 1.0), ((0.0, 2.0), 0.5), ((0.1, 0.0), 0.05)])
    def test_distances_count_pixels_of_the_output(self, along: tuple[float, float], px: float, *, levels: bool) -> None:
        matrix = [[2.0, 0.0, 10.0], [0.0, 4.0, 10.0]]
        moved = [[2.0, 0.0, 10.0 + along[0]], [0.0, 4.0, 10.0 + along[1]]]
        found = self.apart(matrix, moved, (18, 40), levels=levels)
        assert found.mean() == pytest.approx(px, abs=0.03 if levels else 0.004)
        assert found.min() > 0.01

    @pytest.mark.parametrize("scale", [0.25, 0.5, 1.0, 1.7, 3.0])
    @pytest.mark.parametrize("turn", [0.0, 0.3])
    def test_the_rounding_of_levels_is_no_distance(self, scale: float, turn: float) -> None:
        matrix = [[scale, turn, 9.3], [-turn, scale, 12.1]]
        assert self.apart(matrix, matrix, (22, 30)).max() < 1e-3

    def test_brighter_or_softer_pictures_lie_where_they_did(self) -> None:
        matrix = [[1.0, 0.2, 9.3], [-0.2, 1.0, 30.0]]
        where = affine(matrix, (40, 60))
        grating = Grating.of(where, levels=False)
        read = [plane(90, 120) for plane in grating.planes()]
        made = [0.7 * warped(plane, matrix, (40, 60)) + 0.2 for plane in read]
        x, y = grating.off(made, read, where)
        assert np.hypot(x, y)[certain(where, where.shown)].max() < 2e-3


class TestVariants:
    def test_steps_keep_their_labels_and_weights(self) -> None:
        whole = recipe(MOVES + COLOURS + "  - OneOf: {steps: [{Affine: {p: 0.3}}, {Rotate: {p: 0.7}}]}\n")
        colours = variants.not_merged(whole, "train")
        assert [step.site for step in colours.walk()] == [step.site for step in whole.walk()]
        names = [step.name for step in colours.walk()]
        assert names[4:8] == ["RandomBrightnessContrast", "OneOf", "ToGray", "HueSaturationValue"]
        assert [*names[:4], *names[8:]] == [*["NoOp"] * 4, "OneOf", *["NoOp"] * 2]
        assert variants.does_something(colours, "train")
        assert not variants.does_something(variants.not_merged(recipe(MOVES), "train"), "train")
        assert [step.p for step in colours.walk()][-2:] == [0.3, 0.7]

    @pytest.mark.parametrize("mode", ["train", "eval"])
    def test_only_one_section_changes(self, mode: Mode) -> None:
        whole = recipe(COLOURS)
        changed = variants.not_merged(whole, mode)
        assert changed.section("eval" if mode == "train" else "train") == whole.section(
            "eval" if mode == "train" else "train"
        )

    def test_a_class_of_the_programs_own(self) -> None:
        assert variants.moves_pixels(Step("ElasticTransform"))
        assert not variants.moves_pixels(Step("StainJitter"))
        assert variants.moves_pixels(Step("ResizeToTarget", Arguments({"method": "area"})))


class TestMetrics:
    def test_a_broken_sample_comes_before_a_larger_value(self) -> None:
        metrics = Metrics()
        for index, (value, broken) in enumerate([(0.2, False), (0.6, True), (0.7, False)]):
            metrics.add("mask", "nearest", value, SampleRef(index, 0), limit=0.5, broken=broken)
        (figure,) = metrics.figures()
        assert (figure.worst, figure.broken, figure.samples, figure.ok) == (0.7, 1, 3, False)
        assert figure.where == SampleRef(1, 0)
        assert [worst.place.index for worst in metrics.worst(2)] == [1, 2]

    def test_not_a_number_breaks_a_law(self) -> None:
        metrics = Metrics()
        metrics.add("image", "displacement", float("nan"), SampleRef(0, 0), limit=0.01)
        assert not metrics.figures()[0].ok

    @pytest.mark.parametrize("mode", ["train", "eval"])
    @pytest.mark.parametrize(("total", "samples", "epochs"), [(3, 64, 1), (3, 4, 1), (100, 8, 3), (5, 5, 2), (0, 4, 1)])
    def test_samples_are_spread(self, total: int, samples: int, epochs: int, mode: Mode) -> None:
        found = [(place.number, place.epoch) for place in places(total, samples, epochs, mode)]
        assert len(set(found)) == len(found)
        if mode == "train" and total:
            assert len(found) == samples * epochs
        assert len({number for number, _ in found}) == min(total, samples)
