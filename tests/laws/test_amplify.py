"""What the capability records say of draws and of amplification, held against what albumentations does."""

from __future__ import annotations

from dataclasses import replace
from math import ceil

import numpy as np
import pytest
from every_class import EACH, SLOW, STEPS, mask_of, neighbour, pictures, run

from augrecipes.ops import capabilities
from augrecipes.ops.capabilities import capability
from augrecipes.ops.registry import effective
from augrecipes.recipe.model import Arguments, Step

pytestmark = pytest.mark.filterwarnings("ignore")  # some classes warn on every call
BOTH = pytest.mark.parametrize("dtype", ["uint8", "float32"])


def law(step: Step, dtype: str, seeds: range) -> None:
    """On pictures that differ a little a step draws the same, and its results differ no more than its record says."""
    record = capability(step.name)
    assert record is not None
    assert record.draws_from is not None
    gain = record.gain_for(effective(step))
    for seed in seeds:
        for place, image in enumerate(pictures(seed, dtype)):
            other, mask = neighbour(image, seed + place), mask_of(seed)
            a, b = run(step, seed, image, mask), run(step, seed, other, mask)
            assert a.drawn == b.drawn or "image" in record.draws_from, "draws by what is in the image"
            if gain is None:
                continue
            assert a.image.shape == b.image.shape
            given = float(np.abs(image.astype(np.float64) - other).max())
            found = float(np.abs(a.image.astype(np.float64) - b.image).max())
            if dtype == "uint8":
                assert found <= ceil((given + 1) * gain), "amplifies"
            else:
                assert record.in_levels or found <= gain * given + 3e-6, "amplifies"


@BOTH
@EACH
def test_draws_and_gains(step: Step, dtype: str) -> None:
    law(step, dtype, range(1))


@pytest.mark.soak
@BOTH
@EACH
def test_draws_and_gains_at_length(step: Step, dtype: str) -> None:
    law(step, dtype, range(3 if step.name in SLOW else 30))


@EACH
def test_who_draws_by_the_mask(step: Step) -> None:
    record = capability(step.name)
    assert record is not None
    assert record.draws_from is not None
    image = next(pictures(1, "uint8"))
    ran = [run(step, 1, image, mask_of(seed)) for seed in range(3)]
    drawn = [(one.drawn, one.params) for one in ran]
    assert (drawn[0] == drawn[1] == drawn[2]) != ("mask" in record.draws_from)


@pytest.mark.parametrize("name", ["ISONoise", "ShotNoise"])
def test_who_draws_by_the_picture(name: str) -> None:
    """What is said of them costs speed: it must be so."""
    image, mask = next(pictures(1, "uint8")), mask_of(1)
    assert any(
        run(Step(name), i, image, mask).drawn != run(Step(name), i, neighbour(image, i), mask).drawn for i in range(20)
    )


@pytest.mark.parametrize(
    ("name", "claimed"),
    [
        ("ShotNoise", {"draws_from": frozenset()}),
        ("ISONoise", {"draws_from": frozenset()}),
        ("CLAHE", {"gain": 2.0}),
        ("Posterize", {"gain": 2.0}),
        ("Sharpen", {"gain": 1.0}),
        ("HueSaturationValue", {"gain": 2.0}),
        ("RandomSnow", {"gain": 2.0}),
        ("MedianBlur", {"in_levels": False}),
    ],
)
def test_planted_claims_are_caught(name: str, claimed: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(capabilities._BY_NAME, name, replace(capabilities._BY_NAME[name], **claimed))  # type: ignore[arg-type]

    def caught() -> bool:
        try:
            for dtype in ("uint8", "float32"):
                law(Step(name, Arguments(), p=1.0), dtype, range(3))
        except AssertionError:
            return True
        return False

    assert caught()


def test_every_class_is_among_them() -> None:
    assert {step.name for step in STEPS} == set(capabilities.known())
