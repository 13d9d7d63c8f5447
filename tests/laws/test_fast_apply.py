"""A faster `apply` does what that of its class does, to the bit, whatever is drawn and whatever image comes."""

import ctypes
import pickle
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_sets import EACH_SET, KERNEL_SETS, Spoilt, using
from support.checks import in_a_thread
from support.every_class import STEPS
from test_native_plan import recipe_of

from augrecipes.compat import normals
from augrecipes.compat.albumentations import sampler_of
from augrecipes.compiler.kernels import fast_apply, fast_steps
from augrecipes.compiler.run.draws import Draws
from augrecipes.native import lab
from augrecipes.ops import opencv_variants
from augrecipes.ops.records import op_record
from augrecipes.ops.registry import construct
from augrecipes.recipe.model import Arguments, Recipe, Step
from augrecipes.recipe.parse import parse_text

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # some classes warn on every call


MORE = [
    Step("RandomSunFlare", Arguments({"src_radius": 30, "src_color": [7, 100, 255]})),
    Step("RandomSunFlare", Arguments({"src_radius": 2500, "angle_range": [0, 1]})),
    Step("Superpixels", Arguments({"n_segments": [5, 7], "p_replace": [1.0, 1.0], "max_size": None})),
    Step("Superpixels", Arguments({"n_segments": [5, 7], "p_replace": [1.0, 1.0], "max_size": 20})),
    Step("UnsharpMask", Arguments({"blur_limit": [3, 3], "threshold": 0})),
    Step("UnsharpMask", Arguments({"alpha": [1.0, 1.0], "sigma_limit": [2.0, 3.0]})),
]
FUNCTION = re.compile("[a-z_]+:[a-z_]+")  # others are classes in front of albumentations'
FAST = [
    step
    for step in STEPS
    if FUNCTION.fullmatch(op_record(step.name).fast) and step.args.get("method") != "physics_based"
] + MORE
PCA = next(step for step in FAST if step.name == "FancyPCA")
SIZES = st.one_of(st.tuples(st.integers(1, 70), st.integers(1, 70)), st.sampled_from([(64, 64), (1, 513), (130, 3)]))


def image_of(kind: str, size: tuple[int, int], channels: int, seed: int) -> np.ndarray:
    """Noise, few levels, greys with a little noise, or dark; uint8."""
    rng = np.random.default_rng(seed)
    shape = (*size, channels)
    if kind == "levels":
        return rng.choice(np.array([0, 1, 127, 128, 254, 255], np.uint8), shape)
    if kind == "grey":
        return np.clip(rng.integers(0, 256, (*size, 1)) + rng.integers(-2, 3, shape), 0, 255).astype(np.uint8)
    return rng.integers(0, 12 if kind == "dark" else 256, shape, np.uint8)


IMAGES = st.builds(
    image_of, st.sampled_from(["noise", "levels", "grey", "dark"]), SIZES, st.sampled_from([3, 3, 3, 1, 4]),
    st.integers(0, 99),
)  # fmt: skip


def outcome(apply: Any, image: np.ndarray, drawn: dict[str, Any]) -> Any:
    """What comes of an image: an array, or the error."""
    given = image.copy()
    try:
        done = apply(given, **drawn)
    except Exception as error:
        return type(error), str(error)
    np.testing.assert_array_equal(given, image)  # what comes in stays
    return done


def check(step: Step, image: np.ndarray, seed: int) -> None:
    """Holds a faster way to its class, for one draw and one image."""
    own, fast = construct(step), construct(step)
    draws = Draws(seed)
    own.random_generator, own.py_random = draws.add(step.name)
    draws.position(0, seed)
    try:
        drawn = sampler_of(own)({"image": image, "mask": image[..., 0] // 86})
    except Exception:
        return  # it takes no such image at all
    fast_apply.attach([fast])
    expected, done = outcome(own.apply, image, drawn), outcome(fast.apply, image, drawn)
    alike_in_all(done, expected, f"{step.name} {drawn}")
    if "mask" in op_record(step.name).targets:  # most are masks by the very `apply`
        for dtype in (np.uint8, np.int16):
            mask = image[..., 0].astype(dtype)
            made, asked = (one.apply_with_params(drawn, mask=mask)["mask"] for one in (fast, own))
            alike_in_all(made, asked, f"{step.name} {drawn} of a mask")


def alike_in_all(done: Any, expected: Any, message: str) -> None:
    if isinstance(expected, np.ndarray):
        assert isinstance(done, np.ndarray)
        assert done.dtype == expected.dtype
        np.testing.assert_array_equal(done, expected, err_msg=message)
    else:
        assert done == expected


@pytest.mark.parametrize("step", FAST, ids=lambda step: f"{step.name} {step.args.plain() or ''}".strip())
def test_it_gives_the_bits_of_its_class(step: Step) -> None:
    @given(
        image=IMAGES,
        floats=st.sampled_from([False, False, True]),
        level=st.sampled_from(KERNEL_SETS),
        seed=st.integers(0, 999),
    )
    def law(image: np.ndarray, floats: bool, level: Any, seed: int) -> None:
        with using(level):
            check(step, image.astype(np.float32) / np.float32(255) if floats else image, seed)

    law()
    check(step, image_of("noise", (4, 1), 3, 0), 0)  # OpenCV takes its planes for numbers


def test_each_shows_its_bits_on_the_opencv_that_is_installed() -> None:
    assert FAST
    for level in KERNEL_SETS:
        with using(level):
            for step in FAST:
                assert (fast_apply.fast_function(construct(step)) is not None) == (level is not None), (
                    step.name,
                    level,
                )


RECIPE = """
version: 1
recipe: test
steps:
  - FancyPCA
  - OneOf:
      steps:
        - Sequential: {steps: [FancyPCA, {Blur: {p: 0.5}}]}
        - FancyPCA
      p: 0.9
  - SomeOf: {n: 2, steps: [FancyPCA, {RandomGamma: {p: 1}}]}
eval: []
output: {dtype: uint8, layout: hwc}
"""
IMAGE = np.random.default_rng(0).integers(0, 256, (60, 80, 3), np.uint8)


def recipe() -> Recipe:
    return parse_text(RECIPE)


def samples(pipeline: Any, image: np.ndarray = IMAGE) -> list[Any]:
    return [pipeline.at(k)(image=image) for k in range(12)]


def alike(some: list[Any], others: list[Any]) -> None:
    for one, other in zip(some, others, strict=True):
        np.testing.assert_array_equal(one["image"], other["image"])
        assert pickle.dumps(one.get("applied")) == pickle.dumps(other.get("applied"))


@pytest.mark.parametrize("level", KERNEL_SETS, ids=lambda level: level.isa if level else "python")
def test_samples_are_those_of_none(level: Any) -> None:
    with using(level):
        expected = samples(recipe().compile(optimize="none", save_applied_params=True))
        exact = recipe().compile(optimize="exact", save_applied_params=True)
        alike(samples(exact), expected)
        alike(samples(pickle.loads(pickle.dumps(exact))), expected)
        alike(in_a_thread(lambda: samples(exact)), expected)
        together = [exact.at(k)(image=IMAGE, images=np.stack([IMAGE, IMAGE[::-1]])) for k in range(12)]
        alike(together, expected)
        floats = IMAGE.astype(np.float32) / np.float32(255)
        alike(samples(exact, floats), samples(recipe().compile(optimize="none", save_applied_params=True), floats))


@contextmanager
def instead(monkeypatch: pytest.MonkeyPatch, works: Callable[..., Any]) -> Iterator[None]:
    """Inside, `works(step, fast, image, **drawn)` is what stands for FancyPCA, by its own faster way."""
    own = fast_steps.fancy_pca

    def planted_way(step: Any, kernels: Any, *args: Any, **drawn: Any) -> Any:
        return works(step, partial(own, step, kernels), *args, **drawn)

    with monkeypatch.context() as planted:
        planted.setattr(fast_steps, "fancy_pca", planted_way)
        planted.setattr(fast_apply, "_ANSWERS", {})
        yield


def _off(step: Any, fast: Any, *args: Any, **drawn: Any) -> Any:
    """As on an OpenCV that rounds otherwise."""
    made = type(step).apply(step, *args, **drawn).copy()
    made[-1, -1, 0] ^= 1
    return made


def _outgrown(step: Any, fast: Any, img: Any, *, alphas: Any, **drawn: Any) -> Any:
    """As if the class had come to draw something else."""
    return fast(img, **drawn)


def test_one_with_other_bits_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = samples(recipe().compile(optimize="none"))
    with instead(monkeypatch, _off):
        alike(samples(recipe().compile(optimize="exact")), expected)
        monkeypatch.setattr(fast_apply, "same_bits", lambda *_: True)
        with pytest.raises(AssertionError):  # the law sees it
            alike(samples(recipe().compile(optimize="exact")), expected)


def test_one_that_the_class_has_outgrown_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    with instead(monkeypatch, _outgrown):
        assert fast_apply.fast_function(construct(PCA)) is None
        alike(samples(recipe().compile(optimize="exact")), samples(recipe().compile(optimize="none")))
    assert fast_apply.fast_function(construct(PCA)) is not None


# A kernel that errs alone is not used: the probes look at the work of each that is called.


def one_spoilt(kernels: Any, name: str, target: int, by: np.generic, place: int = 0) -> Any:
    """Of all kernels one is spoilt: some number of what it makes is larger."""
    return Spoilt(kernels, target, lambda at: _add(at + place * by.itemsize, by), name)


def _add(address: int, by: Any) -> None:
    there = np.frombuffer((ctypes.c_uint8 * by.itemsize).from_address(address), by.dtype)
    there += by


STRONG = Step("FancyPCA", Arguments({"alpha": 2}))
LEVEL = np.uint8(1)
# A kernel; which of its arguments is the result, and by how much that errs; and a step whose `apply` it makes faster.
CALLED = (
    ("sum_floats", 3, np.float32(3), STRONG),
    ("moments", 3, np.float64(30), STRONG),
    ("channel_sums", 8, LEVEL, STRONG),
    ("through_tables", 3, LEVEL, Step("RandomSunFlare")),
    ("discs", 0, LEVEL, Step("RandomFog")),
    ("segments", 11, np.int32(1), Step("Superpixels", Arguments({"n_segments": [9, 9], "p_replace": [1.0, 1.0]}))),
    ("sharpen_all", 5, np.float32(0.5), Step("UnsharpMask", Arguments({"threshold": 0}))),
    ("sharpen_some", 5, LEVEL, Step("UnsharpMask")),
)


@EACH_SET
@pytest.mark.parametrize("called", CALLED, ids=lambda called: f"{called[0]} of {called[3].name}")
def test_a_fast_apply_that_calls_it_is_not_used_and_would_be_seen(
    kernels: Any, called: tuple[str, int, np.generic, Step], monkeypatch: pytest.MonkeyPatch
) -> None:
    name, target, by, step = called

    def law() -> None:
        for seed in range(8):
            check(step, image_of("noise", (20, 30), 3, seed), seed)

    with using(one_spoilt(kernels, name, target, by)):
        law()
        monkeypatch.setattr(fast_apply, "same_bits", lambda *_: True)
        with pytest.raises(AssertionError):
            law()
    with using(kernels):
        law()


def equally_spread(seed: int) -> np.ndarray:
    """Two levels, in all eight colours alike: no direction of its covariance is longer than another."""
    rng = np.random.default_rng(seed)
    colours = rng.choice(256, 2)[np.indices((2, 2, 2)).reshape(3, 8).T].astype(np.uint8)
    return rng.permutation(np.repeat(colours, 200, axis=0)).reshape(40, 40, 3)


@EACH_SET
def test_principal_colours_that_the_order_of_sums_would_decide(kernels: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def law() -> None:
        for seed in range(20):
            check(STRONG, equally_spread(seed), seed)

    with using(kernels):
        law()
        monkeypatch.setattr(fast_steps, "_ASIDE", np.zeros((3, 3)))  # a planted fault: nobody looks
        with pytest.raises(AssertionError):
            law()


@pytest.mark.parametrize("field", ["light", "there", "back", "roots", "ys", "root_ys", "levels"])
def test_the_probe_sees_a_number_of_the_tables_of_lab_that_is_one_off(
    field: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on an OpenCV with another table: the step is left to albumentations. Of roots, each decides little."""
    size, seen = {"roots": 1700, "levels": 4000}.get(field, lab.TABLES[field].shape[1]), 0
    for place in np.linspace(0, size - 1, 5).astype(int):
        changed = lab.TABLES.copy()
        changed[field][0, place] += 1
        monkeypatch.setattr(lab, "TABLES", changed)
        monkeypatch.setattr(fast_apply, "_ANSWERS", {})
        plan: Any = recipe_of(("CLAHE", {"p": 1.0})).compile(optimize="exact").native
        seen += len(plan.opaque)
    assert seen >= (3 if field == "roots" else 5)


@EACH_SET
@pytest.mark.skipif(not normals(), reason="numpy is another here")
@pytest.mark.parametrize(
    ("name", "target", "by"),
    [
        ("numpy_normals", 4, np.float64(1e-9)),
        ("normal_strips", 1, np.uint64(2**46)),
        ("normal_strips", 2, np.float64(1)),
    ],
)
def test_numbers_that_are_not_those_of_numpy(kernels: Any, name: str, target: int, by: np.generic) -> None:
    assert opencv_variants.numpy_normals(kernels) is not None
    spoilt: Any = one_spoilt(kernels, name, target, by, 17)
    assert opencv_variants.numpy_normals(spoilt) is None
