"""What the capability records claim, held against albumentations itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from examples import DEAR
from hypothesis import given
from hypothesis import strategies as st
from random_recipes import COLOURS, MOVES, OTHERS, RGB_ONLY, TABLES, picture

from augrecipes.compiler.kernels.moves import symmetry_of
from augrecipes.compiler.prefix import draws_nothing
from augrecipes.compiler.rewrite.nodes import action_of
from augrecipes.compiler.run.draws import Draws
from augrecipes.ops.capabilities import capability, known
from augrecipes.ops.registry import construct, effective, is_registered, names
from augrecipes.recipe.model import Arguments, Recipe, Step
from augrecipes.recipe.sites import label

# Grey images make some colour steps warn on every call.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


POOL = MOVES + TABLES + OTHERS + COLOURS + RGB_ONLY
LOOKUPS = [(n, a) for n, a in POOL if action_of(Step(n, Arguments(a))) == "lookup"]
DIHEDRAL = [(n, a) for n, a in POOL if action_of(Step(n, Arguments(a))) == "dihedral"]


def keyed(name: str, args: dict, index: int):
    made = construct(Step(name, Arguments(args), p=1.0))
    draws = Draws(0)
    made.random_generator, made.py_random = draws.add(name)
    draws.position(0, index)
    return made


def test_every_class_has_a_record_and_every_record_a_class() -> None:
    steps = {n for n in names() if n != "Degrade" and not is_registered(n)}
    assert steps - set(known()) == set()
    assert set(known()) - steps == set()


@pytest.mark.parametrize(("name", "args"), LOOKUPS, ids=lambda v: v if isinstance(v, str) else "")
@DEAR
@given(st.integers(0, 2**31), st.integers(1, 30), st.integers(1, 30), st.integers(0, 6), st.integers(0, 6))
def test_a_lookup_is_one_wherever_a_pixel_stands(
    name: str, args: dict, index: int, height: int, width: int, y: int, x: int
) -> None:
    """On any window of the image it gives the window of what it gives on the image: body and tail of a row alike."""
    record = capability(name)
    channels = 3 if record is not None and record.channels else (1, 3, 5)[index % 3]
    image = picture(index, channels, "uint8")
    window = np.ascontiguousarray(image[y : y + height, x : x + width])
    whole, part = keyed(name, args, index), keyed(name, args, index)
    np.testing.assert_array_equal(
        whole(image=image)["image"][y : y + height, x : x + width], part(image=window)["image"]
    )


@pytest.mark.parametrize(("name", "args"), DIHEDRAL, ids=lambda v: v if isinstance(v, str) else "")
def test_a_dihedral_step_is_the_symmetry_that_the_kernel_thinks(name: str, args: dict) -> None:
    image = picture(1, 3, "uint8", (5, 8))
    for index in range(24):
        step = keyed(name, args, index)
        out = step(image=image)["image"]
        symmetry = symmetry_of(name, step.params)
        np.testing.assert_array_equal(out, symmetry.view(image))


@pytest.mark.parametrize("channels", [1, 3, 5])
@pytest.mark.parametrize(("name", "args"), POOL, ids=lambda v: v if isinstance(v, str) else "")
def test_a_class_takes_the_channel_counts_of_its_record_and_no_others(name: str, args: dict, channels: int) -> None:
    record = capability(name)
    assert record is not None
    image = picture(3, channels, "uint8", (64, 48))
    if record.channels is None or channels in record.channels:
        assert keyed(name, args, 1)(image=image)["image"].size
    else:
        with pytest.raises((ValueError, TypeError, NotImplementedError), match=r"channel|RGB"):
            keyed(name, args, 1)(image=image)


STEADY = [(n, a) for n, a in POOL if draws_nothing(Step(n, Arguments(a), p=1.0))]
RANDOM = [
    Step("PadIfNeeded", Arguments({"min_height": 90, "min_width": 80, "position": "random"}), p=1.0),
    Step("CenterCrop", Arguments({"height": 90, "width": 80, "pad_if_needed": True, "pad_position": "random"}), p=1.0),
    Step("SmallestMaxSize", Arguments({"max_size": [20, 30]}), p=1.0),
    Step("LongestMaxSize", Arguments({"max_size": [20, 30]}), p=1.0),
]


def outcomes(step: Step) -> int:
    """How many different pictures the step makes of one, with 16 seeds."""
    image, recipe = picture(1, 3, "uint8", (64, 48)), Recipe("one", steps=label([step]))
    return len({recipe.compile(seed=seed).at(0)(image=image)["image"].tobytes() for seed in range(16)})


@pytest.mark.parametrize(("name", "args"), STEADY, ids=lambda v: v if isinstance(v, str) else "")
def test_what_is_taken_for_steady_is(name: str, args: dict[str, Any]) -> None:
    assert outcomes(Step(name, Arguments(args), p=1.0)) == 1


@pytest.mark.parametrize("step", RANDOM, ids=lambda step: step.name)
def test_arguments_that_draw_are_seen(step: Step) -> None:
    assert outcomes(step) > 1
    assert not draws_nothing(step)


# Classes that may read statistics of the whole image, by arguments; what else changes colours must not.
READERS = [
    ("ColorJitter", {}),
    ("ColorJitter", {"contrast": [0.5, 0.6]}),
    ("Equalize", {}),
    ("Equalize", {"mode": "pil"}),
    ("AutoContrast", {}),
    ("FancyPCA", {"alpha": 1.0}),
    ("PlasmaBrightnessContrast", {}),
    ("ToGray", {"method": "pca"}),
    ("RandomBrightnessContrast", {"brightness_by_max": False}),
    ("HEStain", {"method": "macenko"}),
    ("HEStain", {"method": "vahadane"}),
]
NO_READERS = [
    ("ColorJitter", {"contrast": 0}),
    ("ColorJitter", {"contrast": [1, 1]}),
    ("ToGray", {"method": "from_lab"}),
    ("RandomBrightnessContrast", {"brightness_by_max": False, "brightness_limit": 0}),
    ("RandomBrightnessContrast", {}),
    ("HEStain", {"method": "preset", "preset": "standard"}),
    ("HEStain", {}),
    ("HueSaturationValue", {}),
    ("StainJitter", {}),
    ("RandomGamma", {}),
    ("Posterize", {}),
]


def far_pixels_count(name: str, args: dict) -> bool:
    """Whether what one half of a picture holds changes what a step makes of the other, with the same draws."""
    here = picture(5, 3, "uint8", (64, 96))
    there = here.copy()
    there[:, 60:] = there[:, 60:] // 3 + np.array([60, 5, 30], np.uint8)
    for index in range(12):
        one, other = (keyed(name, args, index)(image=image)["image"][:, :30] for image in (here, there))
        if not np.array_equal(one, other):
            return True
    return False


@pytest.mark.parametrize(("name", "args"), READERS + NO_READERS, ids=str)
def test_statistics_are_read_by_the_steps_that_say_so(name: str, args: dict) -> None:
    record = capability(name)
    assert record is not None
    assert bool(record.statistics_for(effective(Step(name, Arguments(args))))) == far_pixels_count(name, args)


def test_a_planted_claim_is_found() -> None:
    """Contrast 0 leaves ColorJitter nothing to read; a record that claims it all the same is wrong."""
    assert not far_pixels_count("ColorJitter", {"contrast": 0})
    assert far_pixels_count("ColorJitter", {"contrast": 0.2})
