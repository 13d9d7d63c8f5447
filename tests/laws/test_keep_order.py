"""Steps of a RandomOrder that `keep_order` names share the turns that are drawn for them, in their written order."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from kernel_sets import KERNEL_SETS, using

import augrecipes as ar
from augrecipes.compat.albumentations import RandomOrder
from augrecipes.compiler.lowering.lower import lower

NAMES = ("a", "b", "c", "d")
STEPS = [
    {"Solarize": {"threshold_range": [0.3, 0.6], "id": "a", "p": 1}},
    {"RandomGamma": {"id": "b", "p": 0.7}},
    {"OneOf": {"id": "c", "steps": [{"Posterize": {"p": 1}}, {"InvertImg": {"p": 1}}]}},
    {"SolarizeAdd": {"id": "d", "p": 1}},
]


def recipe(**keys: Any) -> ar.Recipe:
    steps = [{"RandomOrder": {"id": "all", "steps": STEPS, **keys}}]
    output = {"dtype": "uint8", "layout": "hwc"}
    return ar.load({"version": 1, "recipe": "t", "steps": steps, "eval": [], "output": output})


@pytest.mark.parametrize("kept", [("b", "d"), ("a", "b", "c"), NAMES, ("d", "c", "a")], ids="".join)
@pytest.mark.parametrize("n", [2, 3, 4])
def test_every_level_keeps_the_same_order(kept: tuple[str, ...], n: int) -> None:
    loaded, image = recipe(keep_order=list(kept), n=n), np.arange(256, dtype=np.uint8).repeat(3).reshape(16, 16, 3)
    plain = loaded.compile(optimize="none", seed=1)
    free = recipe(n=n).compile(optimize="none", seed=1)
    expected = [plain.at(index)(image=image)["image"] for index in range(40)]
    assert any(not np.array_equal(free.at(k)(image=image)["image"], one) for k, one in enumerate(expected))
    for kernels in KERNEL_SETS:
        for optimize in ("none", "exact", "fast"):
            with using(kernels):
                pipeline = loaded.compile(optimize=optimize, seed=1)
                for index, each in enumerate(expected):
                    np.testing.assert_array_equal(pipeline.at(index)(image=image)["image"], each)


def test_all_orders_that_keep_it_are_as_likely() -> None:
    group = lower(recipe(keep_order=["b", "d"]).steps)[0][0].transform
    assert isinstance(group, RandomOrder)
    group.random_generator = np.random.default_rng(0)
    orders = Counter("".join(NAMES[place] for place in group._get_idx()) for _ in range(6000))
    assert len(orders) == 12 and all(order.index("b") < order.index("d") for order in orders)
    assert all(abs(count - 500) < 100 for count in orders.values()), orders


@pytest.mark.parametrize("kept", [["a", "e"], ["a"], "a", [1, 2], []], ids=str)
def test_what_it_may_name(kept: Any) -> None:
    with pytest.raises(ar.RecipeError, match=r":\d+:\d+: E3\d\d RandomOrder.keep_order"):
        recipe(keep_order=kept)


def test_albumentations_has_none() -> None:
    with pytest.raises(ar.RecipeError, match="keep_order"):
        recipe(keep_order=["a", "b"]).to_albumentations()


def test_its_text_reads_back_and_counts() -> None:
    loaded = recipe(keep_order=["a", "b"])
    assert ar.load(loaded.to_yaml()).digest == loaded.digest != recipe().digest
