"""What the records claim, held against albumentations itself."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from math import ceil
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_recipes import COLOURS, MOVES, OTHERS, RGB_ONLY, TABLES, photo, pool
from support.checks import DEAR, claimed, in_a_soak
from support.every_class import EACH, SIZE, SLOW, STEPS, mask_of, neighbour, pictures, run

from augrecipes.compiler.prefix import draws_nothing
from augrecipes.compiler.rewrite.nodes import action_of
from augrecipes.compiler.run.draws import Draws
from augrecipes.ops import records, registry
from augrecipes.ops.matrices import symmetry_of
from augrecipes.ops.records import op_record, record_names
from augrecipes.ops.registry import construct, effective, is_registered, names, record_of
from augrecipes.recipe.model import Arguments, Recipe, Step, label

pytestmark = pytest.mark.filterwarnings("ignore")  # some classes warn on every call


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
    assert steps - set(record_names()) == set()
    assert set(record_names()) - steps == set()


@pytest.mark.parametrize(("name", "args"), LOOKUPS, ids=lambda v: v if isinstance(v, str) else "")
@DEAR
@given(st.integers(0, 2**31), st.integers(1, 30), st.integers(1, 30), st.integers(0, 6), st.integers(0, 6))
def test_a_lookup_is_one_wherever_a_pixel_stands(
    name: str, args: dict, index: int, height: int, width: int, y: int, x: int
) -> None:
    """On any window of the image it gives the window of what it gives on the image: body and tail of a row alike."""
    record = op_record(name)
    channels = 3 if record.channels else (1, 3, 5)[index % 3]
    image = photo(index, channels, "uint8")
    window = np.ascontiguousarray(image[y : y + height, x : x + width])
    whole, part = keyed(name, args, index), keyed(name, args, index)
    np.testing.assert_array_equal(
        whole(image=image)["image"][y : y + height, x : x + width], part(image=window)["image"]
    )


@pytest.mark.parametrize(("name", "args"), DIHEDRAL, ids=lambda v: v if isinstance(v, str) else "")
def test_a_dihedral_step_is_the_symmetry_that_the_kernel_thinks(name: str, args: dict) -> None:
    image = photo(1, 3, "uint8", (5, 8))
    for index in range(24):
        step = keyed(name, args, index)
        out = step(image=image)["image"]
        symmetry = symmetry_of(name, step.params)
        np.testing.assert_array_equal(out, symmetry.view(image))


@pytest.mark.parametrize("channels", [1, 3, 5])
@pytest.mark.parametrize(("name", "args"), POOL, ids=lambda v: v if isinstance(v, str) else "")
def test_a_class_takes_the_channel_counts_of_its_record_and_no_others(name: str, args: dict, channels: int) -> None:
    record = op_record(name)
    image = photo(3, channels, "uint8", (64, 48))
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
    """How many different images the step makes of one, with 16 seeds."""
    image, recipe = photo(1, 3, "uint8", (64, 48)), Recipe("one", steps=label([step]))
    return len({recipe.compile(seed=seed).at(0)(image=image)["image"].tobytes() for seed in range(16)})


@pytest.mark.parametrize(("name", "args"), STEADY, ids=lambda v: v if isinstance(v, str) else "")
def test_what_is_taken_for_steady_is(name: str, args: dict[str, Any]) -> None:
    assert outcomes(Step(name, Arguments(args), p=1.0)) == 1


@pytest.mark.parametrize("step", RANDOM, ids=lambda step: step.name)
def test_arguments_that_draw_are_seen(step: Step) -> None:
    assert outcomes(step) > 1
    assert not draws_nothing(step)


# Classes that may read statistics of the whole image, by arguments; what else changes colours must not.
READERS = pool("""
    ColorJitter, ColorJitter: {contrast: [0.5, 0.6]}, Equalize, Equalize: {mode: pil}, AutoContrast,
    FancyPCA: {alpha: 1.0}, PlasmaBrightnessContrast, ToGray: {method: pca},
    RandomBrightnessContrast: {brightness_by_max: false}, HEStain: {method: macenko}, HEStain: {method: vahadane},
    StainNormalize: {method: reinhard}
""")
NO_READERS = pool("""
    ColorJitter: {contrast: 0}, ColorJitter: {contrast: [1, 1]}, ToGray: {method: from_lab},
    RandomBrightnessContrast: {brightness_by_max: false, brightness_limit: 0}, RandomBrightnessContrast,
    HEStain: {method: preset, preset: standard}, HEStain, HueSaturationValue, StainJitter, RandomGamma, Posterize,
    StainJitter: {basis: he}
""")


def far_pixels_count(name: str, args: dict) -> bool:
    """Whether what one half of an image holds changes what a step makes of the other, with the same draws."""
    here = photo(5, 3, "uint8", (64, 96))
    there = here.copy()
    there[:, 60:] = there[:, 60:] // 3 + np.array([60, 5, 30], np.uint8)
    for index in range(12):
        one, other = (keyed(name, args, index)(image=image)["image"][:, :30] for image in (here, there))
        if not np.array_equal(one, other):
            return True
    return False


@pytest.mark.parametrize(("name", "args"), READERS + NO_READERS, ids=str)
def test_statistics_are_read_by_the_steps_that_say_so(name: str, args: dict) -> None:
    record = op_record(name)
    assert bool(record.under(effective(Step(name, Arguments(args)))).statistics) == far_pixels_count(name, args)


def test_a_planted_claim_is_found() -> None:
    """Contrast 0 leaves ColorJitter nothing to read; a record that claims it all the same is wrong."""
    assert not far_pixels_count("ColorJitter", {"contrast": 0})
    assert far_pixels_count("ColorJitter", {"contrast": 0.2})


# What the records say of draws and of amplification, held against what albumentations does.


BOTH = ("uint8", "float32")


def law(step: Step, dtype: str, seeds: range, every: int = 1) -> None:
    """On images that differ a little a step draws the same, and its results differ no more than its record says."""
    record = op_record(step.name)
    assert record.draws_from is not None
    gain = record_of(step).gain
    for seed in seeds:
        for place, image in islice(enumerate(pictures(seed, dtype)), 0, None, every):
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


@in_a_soak("long", False, True)
@EACH
def test_draws_and_gains(step: Step, long: bool) -> None:
    slow = step.name in SLOW
    for dtype in BOTH:
        law(step, dtype, range(1 if not long else 3 if slow else 30), every=1 if long else 6 if slow else 2)


@EACH
def test_who_draws_by_the_mask(step: Step) -> None:
    record = op_record(step.name)
    assert record.draws_from is not None
    image = pictures(1, "uint8")[0]
    ran = [run(step, 1, image, mask_of(seed)) for seed in range(3)]
    drawn = [(one.drawn, one.params) for one in ran]
    assert (drawn[0] == drawn[1] == drawn[2]) != ("mask" in record.draws_from)


@pytest.mark.parametrize("name", ["ISONoise", "ShotNoise"])
def test_who_draws_by_the_image(name: str) -> None:
    """What is said of them costs speed: it must be so."""
    image, mask = pictures(1, "uint8")[0], mask_of(1)
    assert any(
        run(Step(name), i, image, mask).drawn != run(Step(name), i, neighbour(image, i), mask).drawn for i in range(20)
    )


@pytest.mark.parametrize(
    ("name", "facts"),
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
def test_planted_claims_are_caught(name: str, facts: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*claimed(name, **facts))
    with pytest.raises(AssertionError):
        for dtype in BOTH:
            law(Step(name, Arguments(), p=1.0), dtype, range(3))


def test_every_class_is_among_them() -> None:
    assert {step.name for step in STEPS} == set(records.record_names())


# A step gives the same bits however many threads OpenCV has, and wherever in memory its image and results lie.


LARGE = 132, 130  # OpenCV shares images of 128 × 128 px and more among threads
_WAYS = ((1, 0), (2, 4), (1, 12))  # OpenCV's threads, and bytes from the beginning of a line of memory
SMALL = SLOW | {"Morphological"}  # of larger images OpenCV 5 refuses to turn its boxes into masks


@contextmanager
def threads(count: int) -> Iterator[None]:
    """OpenCV has so many inside."""
    before = cv2.getNumThreads()
    cv2.setNumThreads(count)
    try:
        yield
    finally:
        cv2.setNumThreads(before)


def lying(array: np.ndarray, shift: int) -> np.ndarray:
    """A copy that begins so many bytes behind the beginning of a line of memory."""
    room = np.empty(array.nbytes + 128, np.uint8)
    start = -room.ctypes.data % 64 + shift
    found = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    found[...] = array
    return found


def check(step: Step, dtype: str, size: tuple[int, int] = LARGE) -> None:
    image = np.random.default_rng(3).integers(0, 256, (*size, 3), np.uint8)
    mask = cv2.resize(mask_of(1), size[::-1], interpolation=cv2.INTER_NEAREST)
    given = image if dtype == "uint8" else image.astype(np.float32) / 255
    made = []
    for count, shift in _WAYS:
        with threads(count):
            held = [np.empty(1000 * k + 1, np.uint8) for k in range(shift // 4)]  # results lie elsewhere, too
            made.append(run(step, 1, lying(given, shift), mask).image)
            del held
    for other in made[1:]:
        np.testing.assert_array_equal(other, made[0])


@EACH
def test_every_class(step: Step) -> None:
    for dtype in BOTH:
        check(step, dtype, SIZE if step.name in SMALL else LARGE)


@pytest.mark.skipif(not (hasattr(cv2, "ipp") and cv2.ipp.useIPP()), reason="OpenCV without IPP is steady")
def test_the_law_sees_what_is_not_steadied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("support.every_class.construct", registry.plain)
    with pytest.raises(AssertionError):
        check(Step("Illumination", Arguments({"mode": "corner"}), p=1.0, site="Illumination#1"), "float32")
