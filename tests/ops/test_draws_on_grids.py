"""What records say of one draw for the same scene on several grids, held against albumentations itself."""

from typing import Any

import cv2
import numpy as np
import pytest
from support.every_class import SLOW, STEPS

from augrecipes.compiler.run.draws import Draws
from augrecipes.ops.records import op_record, record_names, rescalable
from augrecipes.ops.registry import construct, effective
from augrecipes.recipe.model import Step

pytestmark = pytest.mark.filterwarnings("ignore")  # some warn of images so small, or of so little colour
DRAWN = ("random_seed", "seed")


def of_images_alone(*grids: str) -> pytest.MarkDecorator:
    """The steps that change images alone, of whose draws records say one of these."""
    steps = [step for step in STEPS if "mask" not in op_record(step.name).targets and step.name not in LEFT]
    chosen = [step for step in steps if op_record(step.name).under(effective(step)).grids in grids]
    return pytest.mark.parametrize("step", chosen, ids=lambda step: f"{step.name} {step.args.plain() or ''}".strip())


LEFT = {"ResizeToTarget", "FromFloat"}
RNG = np.random.default_rng(0)
SMALL = cv2.resize(RNG.integers(0, 256, (6, 8, 3), dtype=np.uint8), (64, 48), interpolation=cv2.INTER_CUBIC)


def doubled(image: np.ndarray) -> np.ndarray:
    return image.repeat(2, axis=0).repeat(2, axis=1)


LARGE = doubled(SMALL)


def drawn(step: Step, image: np.ndarray, index: int) -> tuple[Any, dict[str, Any]]:
    """A keyed transform, and the parameters that it draws for an image."""
    transform, draws, data = construct(step), Draws(0), {"image": image}
    transform.random_generator, transform.py_random = draws.add(step.name)
    draws.position(0, index)
    params = transform.update_transform_params(params=transform.get_params(), data=data)
    return transform, {**params, **transform.get_params_dependent_on_data(params=params, data=data)}


def of_both(step: Step, index: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is drawn for either image, but for its shape."""
    small, large = ({**drawn(step, image, index)[1], "shape": None} for image in (SMALL, LARGE))
    return small, large


def indices(step: Step) -> range:
    return range(2 if step.name in SLOW else 20)


def changed(step: Step, index: int) -> tuple[np.ndarray, np.ndarray]:
    """Both images by the draw for the smaller, that one doubled."""
    transform, params = drawn(step, SMALL, index)
    coarse = transform.apply_with_params(dict(params), image=SMALL)["image"]
    return doubled(coarse), transform.apply_with_params({**params, "shape": LARGE.shape}, image=LARGE)["image"]


@of_images_alone("same", "alike")
def test_draws_do_not_depend_on_the_grid(step: Step) -> None:
    for index in indices(step):
        small, large = of_both(step, index)
        assert not small.keys() & set(DRAWN), "draws again when it is applied"
        if op_record(step.name).statistics:
            small["stain_matrix"] = large["stain_matrix"] = None
        np.testing.assert_equal(small, large)


@of_images_alone("same")
def test_one_draw_changes_the_same_scene(step: Step) -> None:
    for index in indices(step):
        coarse, fine = changed(step, index)
        np.testing.assert_allclose(fine.astype(int), coarse.astype(int), atol=1)


@of_images_alone("never")
def test_what_is_never_shared_cannot_be(step: Step) -> None:
    def is_shared(index: int) -> bool:
        small, large = of_both(step, index)
        try:
            np.testing.assert_equal(small, large)
        except AssertionError:
            return False
        return not small.keys() & set(DRAWN)

    if step.name == "Superpixels":  # draws which of its own segments it flattens
        assert not np.array_equal(*changed(step, 0))
    else:
        assert not all(map(is_shared, indices(step)))


def test_geometry_says_what_the_compiler_can_carry_from_grid_to_grid() -> None:
    geometric = [op_record(name) for name in record_names() if "mask" in op_record(name).targets]
    same = {record.name for record in geometric if record.under(effective(Step(record.name))).grids == "same"}
    assert {record.name for record in geometric if record.resamples} & same == set(rescalable())
    assert {record.name for record in geometric if record.action in ("window", "dihedral")} <= same
