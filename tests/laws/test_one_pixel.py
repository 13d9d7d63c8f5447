"""Images of one row, of one column and of one pixel go through every class, or name it, whatever `optimize` says."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from kernel_sets import NEEDS_KERNELS
from random_recipes import assert_same, build, outcome
from support.every_class import STEPS

from augrecipes.ops import pixel_mends
from augrecipes.ops.records import op_record
from augrecipes.recipe.model import Arguments, Boxes, Inputs, Output, Recipe, Step, label

pytestmark = [NEEDS_KERNELS, pytest.mark.filterwarnings("ignore")]
BYTES = Output(dtype="uint8", layout="hwc")
MAKES = ("ToGray", "ToRGB")  # other channels
MORE = [Step(name, Arguments({"num_output_channels": n}), p=1.0) for name in MAKES for n in (1, 2, 4, 23)]


def check(*steps: Step, channels: tuple[int, ...] = (1, 2, 3, 4, 5)) -> None:
    """Holds steps to the law. Their records say whether sizes stay; channels do, but where arguments count them."""
    about_boxes = any("BBox" in step.name for step in steps)
    inputs = Inputs(boxes=Boxes()) if about_boxes else Inputs()
    recipe = Recipe("law", steps=label(steps), inputs=inputs, output=BYTES)
    none, exact, fast = (build(recipe, optimize) for optimize in ("none", "exact", "fast"))
    records = [op_record(step.name) for step in steps]
    stays = all(record.size is None and record.action != "dihedral" for record in records)
    for seed, (rows, columns) in enumerate(((1, 1), (1, 9), (9, 1), (4, 1))):
        for count, floats in product(channels, (False, True)):
            rng = np.random.default_rng(seed)
            image = rng.integers(0, 256, (rows, columns, count), np.uint8)
            mask = rng.integers(0, 3, (rows, columns), np.uint8)
            sample: dict[str, Any] = {"image": np.float32(image / np.float32(255)) if floats else image, "mask": mask}
            if about_boxes:
                sample |= {"boxes": np.float32([[0, 0, columns, rows]]), "box_labels": [1]}
            made, same, quick = (outcome(pipeline, seed, sample) for pipeline in (none, exact, fast))
            assert_same(made, same)
            if not isinstance(made, dict):
                assert made == quick
                continue
            assert [np.shape(quick[name]) for name in sample] == [np.shape(made[name]) for name in sample]
            assert not stays or made["image"].shape[:2] == made["mask"].shape == (rows, columns)
            wanted = steps[0].args.get("num_output_channels", 3 if steps[0].name in MAKES else count)
            assert made["image"].shape[2] == wanted or (steps[0].name, count) in (("ToGray", 1), ("ToRGB", 3))


@pytest.mark.parametrize("step", [*STEPS, *MORE], ids=lambda step: f"{step.name} {step.args.plain() or ''}".strip())
def test_every_class_takes_them_or_is_named(step: Step) -> None:
    check(Step(step.name, step.args, p=1.0), channels=(1, 3))


@pytest.mark.parametrize("behind", ["SolarizeAdd", "RandomSnow", "HorizontalFlip", "Rotate"])
@pytest.mark.parametrize("step", MORE, ids=lambda step: f"{step.name} {step.args.plain() or ''}")
def test_steps_behind_other_channels_take_them_or_are_named(step: Step, behind: str) -> None:
    check(step, Step(behind, p=1.0))


@pytest.mark.parametrize("name", ["ToGray", "ToRGB", "Sharpen"])
def test_lost_axes_are_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(pixel_mends.GreySharpen if name == "Sharpen" else pixel_mends.NarrowGrey, "apply")
    with pytest.raises(AssertionError):
        check(Step(name, Arguments({"method": "gaussian"} if name == "Sharpen" else {}), p=1.0))
