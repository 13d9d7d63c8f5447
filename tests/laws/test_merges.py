"""What `fast` merges is near `none`: a warp with the output, warps with one another, and every class behind a merge."""

from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_recipes import build, pool
from support.checks import planted_faults
from support.every_class import EACH, SIZE, SLOW, STEPS, mask_of, pictures, states
from support.programs import with_results

from augrecipes.compiler.executor.program import Program
from augrecipes.compiler.lowering import walk
from augrecipes.compiler.rewrite import Compiled, Plan, plan, rule, rules
from augrecipes.compiler.rewrite.nodes import Fused, fuse
from augrecipes.errors import DataError
from augrecipes.kinds.image.pipeline import ImagePipeline
from augrecipes.native.kernels import library
from augrecipes.ops import opencv_variants
from augrecipes.recipe.model import Arguments, Inputs, Output, Recipe, Step, label
from augrecipes.recipe.parse import parse_text

pytestmark = pytest.mark.filterwarnings("ignore")  # some classes warn on every call

BODY = 32  # pixels of a row that OpenCV takes from HSV to RGB at a time, with AVX2: in what is left it rounds
FLOATS = Output("float32", "chw", range=(0.0, 255.0))
WARPS = st.sampled_from(
    [
        ("Affine", {"scale": [0.6, 1.6], "rotate": [-90, 90], "shear": [-9, 9]}),
        ("Affine", {"scale": [0.7, 1.3], "translate_percent": [-0.2, 0.2], "keep_ratio": True}),
        ("Rotate", {"limit": [-180, 180]}),
        ("ShiftScaleRotate", {"scale_limit": [-0.4, 0.4]}),
        ("SafeRotate", {"limit": [-50, 50]}),
        ("Perspective", {}),
        ("GridDistortion", {"distort_limit": [-0.5, 0.5], "normalized": False}),
    ]
)
FILLS = st.one_of(st.integers(0, 255), st.lists(st.integers(0, 255), min_size=3, max_size=3))
BORDERS = st.sampled_from(["constant", "constant", "replicate", "reflect", "wrap", "reflect_101"])
TURNS = st.lists(st.sampled_from(["HorizontalFlip", "Transpose", "D4", "RandomRotate90"]), max_size=2)
KERNELS = pytest.mark.skipif(library() is None, reason="no native kernels")
HSV = ("HueSaturationValue", {"hue_shift_limit": [-20, 20], "sat_shift_limit": [-30, 30], "val_shift_limit": [-20, 20]})


def recipe_of(*named: tuple[str, dict[str, Any]]) -> Recipe:
    steps = tuple(
        Step(name, args=Arguments({"p": 1.0, **args}), p=1.0, site=f"{name}#{k}")
        for k, (name, args) in enumerate(named)
    )
    return Recipe("warped", steps=steps, output=FLOATS)


def image_of(seed: int, channels: int = 3, wide: int = 1) -> np.ndarray:
    """With slopes and a little noise: a place that is rounded makes no great difference.

    Its columns are a multiple of `wide`.
    """
    rng = np.random.default_rng(seed)
    height, width = rng.integers(20, 140, 2)
    width = -(-width // wide) * wide
    slopes = np.add.outer(np.linspace(20, 120, height), np.linspace(0, 90, width))[..., None]
    return np.clip(slopes + rng.normal(0, 4, (height, width, channels)), 0, 255).astype(np.uint8)


def kernels_of(recipe: Recipe, arrival: Any = "uint8") -> list[str]:
    steps = plan(recipe, recipe.steps, "fast", arrival).steps
    return [step.name for step in steps]


def check(recipe: Recipe, image: np.ndarray, seed: int, most: float = 255, mean: float = 0.15) -> None:
    """`fast` beside `none`: how many levels they may be from each other."""
    plain, fast = (build(recipe, how, seed) for how in ("none", "fast"))
    assert not isinstance(fast.native, str)
    for index in range(3):
        wanted, found = (pipeline.at(index)(image=image)["image"] for pipeline in (plain, fast))
        assert found.shape == wanted.shape
        off = np.abs(found - wanted)
        assert off.max() <= most + 1e-3
        assert off.mean() <= mean


@KERNELS
@given(warp=WARPS, border=BORDERS, fill=FILLS, turns=TURNS, seed=st.integers(0, 2**31), grey=st.booleans())
def test_levels_are_those_of_the_step(warp: Any, border: str, fill: Any, turns: Any, seed: int, grey: bool) -> None:
    name, args = warp
    fill = fill[0] if grey and isinstance(fill, list) else fill
    recipe = recipe_of((name, {**args, "border_mode": border, "fill": fill}), *((turn, {}) for turn in turns))
    assert kernels_of(recipe)[0] == "JoinedWarps"
    check(recipe, image_of(seed, 1 if grey else 3), seed, 3)


@KERNELS
@given(seed=st.integers(0, 2**31), turn=st.sampled_from([None, "Transpose", "HorizontalFlip", "VerticalFlip"]))
def test_hue_saturation_and_value_are_those_of_the_step(seed: int, turn: str | None) -> None:
    """Of an image that the warp leaves as it is: behind one that moves it a level may become several.

    In what is left of a row behind whole registers of 32 pixels OpenCV rounds, where it drops fractions before.
    """
    still = ("Affine", {"scale": [1.0, 1.0]})
    recipe = recipe_of(still, *([(turn, {})] if turn else []), HSV)
    assert {"JoinedWarps", "JoinedColours"} <= set(kernels_of(recipe))
    check(recipe, image_of(seed, wide=1 if (opencv_variants.hsv() or [BODY])[0] == BODY else 64), seed, 2)


@KERNELS
@pytest.mark.parametrize(
    "named",
    [
        [("OpticalDistortion", {})],  # takes longer there
        [("Resize", {"height": 30, "width": 30})],
        [("GridDistortion", {"mask_interpolation": "linear"})],
        [("Affine", {"interpolation": "cubic"})],
        [("HueSaturationValue", {})],
    ],
)
def test_what_is_left_as_it_is(named: list[tuple[str, dict[str, Any]]]) -> None:
    assert kernels_of(recipe_of(*named)) == [name for name, _ in named]


BENDS = pool("""
    GridDistortion: {distort_limit: [-0.5, 0.5]}, OpticalDistortion: {distort_limit: [-1.5, 1.5]},
    OpticalDistortion: {distort_limit: [-0.2, 0.2]}
""")
BEHIND = pool("""
    HorizontalFlip, Transpose, RandomCrop: {height: 40, width: 44}, Resize: {height: 41, width: 47},
    Rotate: {limit: [-30, 30]}
""")


def slopes_of(height: int, width: int) -> np.ndarray:
    """Levels that tell columns, rows and both, a level to a pixel or less: sampled twice they are what they were."""
    y, x = np.mgrid[:height, :width]
    return np.stack([10 + x, 240 - y, 20 + (x + y) // 2], -1).astype(np.uint8)


def bent(*named: tuple[str, dict[str, Any]], border: str) -> Recipe:
    warps = {"GridDistortion", "OpticalDistortion", "Rotate"}
    return recipe_of(*((name, {**args, "border_mode": border} if name in warps else args) for name, args in named))


@KERNELS
@given(
    before=st.sampled_from([[], [("Rotate", {"limit": 30})], [("HorizontalFlip", {})]]),
    bend=st.sampled_from(BENDS),
    behind=st.lists(st.sampled_from(BEHIND), min_size=1, max_size=3),
    border=st.sampled_from(["replicate", "reflect_101"]),
    sides=st.tuples(st.integers(64, 140), st.integers(64, 140)),
    seed=st.integers(0, 2**31),
)
def test_what_is_behind_a_field_is_sampled_with_it(
    before: Any, bend: Any, behind: Any, border: str, sides: tuple[int, int], seed: int
) -> None:
    """In one pass, where `none` rounds once more."""
    check(bent(*before, bend, *behind, border=border), slopes_of(*sides), seed, mean=0.4)


STILL = recipe_of(("Affine", {"scale": [1.0, 1.0]}), ("RandomBrightnessContrast", {}))
FILLED = recipe_of(("Affine", {"scale": [0.6, 0.7], "fill": 114}))
LENS = bent(
    ("OpticalDistortion", {"distort_limit": [0.9, 1.0]}), ("Resize", {"height": 90, "width": 80}), border="reflect_101"
)
FAULTY: dict[str, Callable[[], None]] = {
    "a shift of the value": lambda: check(STILL, image_of(1, wide=64), 1, 3),
    "a border of one channel only": lambda: check(FILLED, image_of(1), 1, 3),
    "a lens that bends more": lambda: check(LENS, slopes_of(140, 120), 1, mean=0.4),
}


@KERNELS
def test_without_faults_the_laws_hold() -> None:
    for law in FAULTY.values():
        law()


def encoded(name: str, change: Callable[[Any], dict[str, Any]]) -> tuple[Any, ...]:
    """Steps of a class by other numbers."""
    own = walk.encode

    def another(step: Any, **how: bool) -> Any:
        found = own(step, **how)
        return found and replace(found, **(change(found) if type(step).__name__ == name else {}))

    return walk, "encode", another


FAULTS: dict[str, tuple[Any, ...]] = {
    "a shift of the value": (Program, "run_batch", with_results(lambda result: result.__iadd__(np.float32(4)))),
    "a border of one channel only": encoded(  # of three bytes the lowest
        "Affine", lambda found: {"effect_arguments": (found.effect_arguments[0], 114, *found.effect_arguments[2:])}
    ),
    "a lens that bends more": encoded("OpticalDistortion", lambda _: {"arguments": (1.2, 1.2)}),
}
test_planted_faults_are_found = KERNELS(
    planted_faults({name: (lambda _, law=law: law(), FAULTS[name]) for name, law in FAULTY.items()})
)


def _fused(steps: str) -> list[str]:
    text = f"version: 1\nrecipe: test\nsteps: {steps}\neval: []\n"
    return [step.site for step in parse_text(text).compile(optimize="fast").compiled.plans["uint8"].steps]


@KERNELS
def test_stain_stands_first_among_the_colours_that_are_joined() -> None:
    stain, tone = "StainJitter: {p: 1.0}", "RandomBrightnessContrast: {brightness_limit: 0.1, contrast_limit: 0.1}"
    assert _fused(f"[{stain}]") == ["JoinedColours(StainJitter#1)"]
    assert _fused(f"[{stain}, {tone}]") == ["JoinedColours(StainJitter#1 + RandomBrightnessContrast#1)"]
    assert _fused(f"[ToSepia, {tone}, {stain}]")[2:] == ["JoinedColours(StainJitter#1)"]
    assert _fused(f"[{stain}, CLAHE]") == ["StainJitter#1", "CLAHE#1"]
    assert _fused(f"[ToSepia, Sequential: {{steps: [ToGray, {stain}]}}]")[0] == "ToSepia#1"


# Every class behind every kind of merge: the draws of `none`, and its image within what the merge promises.


def sure(name: str, **arguments: Any) -> Step:
    return Step(name, Arguments(arguments), p=1.0)


JITTER = sure("ColorJitter", brightness=0.1, contrast=0.1, saturation=0.1, hue=0.02)
TURNED = (sure("Rotate", limit=20), sure("RandomResizedCrop", size=[60, 64], scale=[0.5, 1.0]))
# What the rule merges, by its name.
MERGES: dict[str, tuple[Step, ...]] = {
    "join_colours": (JITTER, sure("ToSepia")),
    "join_colours in a group": (Step("Sequential", p=0.9, steps=(JITTER, sure("ToSepia"))),),  # p = 1: it is opened
    "join_warps": TURNED,
}
ACTS = pytest.mark.parametrize("merge", MERGES)


def recipe_of_behind(merge: str, *behind: Step) -> Recipe:
    output = Output(dtype="uint8", layout="hwc")
    steps = label((*MERGES[merge], *behind))
    # Noise of our own is no merge, and no two images with it are near each other.
    return Recipe("law", without_rules=("own_noise",), steps=steps, inputs=Inputs(min_size=SIZE), output=output)


def is_called(pipeline: Any, site: str) -> bool:
    """Whether albumentations runs a step, so that there are generators to look at."""
    native = pipeline.coming("uint8").native
    return isinstance(native, str) or site in native.stops


def law(merge: str, step: Step, seeds: range, every: int = 1) -> None:
    recipe = recipe_of_behind(merge, step)
    none, fast = build(recipe, "none"), build(recipe, "fast")
    site, fired = recipe.steps[-1].site, fast.compiled.plans["uint8"].fired
    promised = sum(firing.levels for firing in fired)
    for seed in seeds:
        for image in islice(pictures(seed, "uint8"), 0, None, every):
            made: list[dict[str, Any]] = []
            drawn: list[list[bytes]] = []
            for pipeline in (none, fast):
                with states() as drawn_here:
                    try:
                        made.append(pipeline.at(seed)(image=image, mask=mask_of(seed)))
                    except DataError as error:  # a key of its own that is not there: both must say so
                        made.append({"image": np.zeros(0), "mask": np.array(str(error))})
                drawn.append(drawn_here)
            if is_called(fast, site):
                assert drawn[0] == drawn[1], "draws something else"
            one, other = (sample["image"].astype(np.float64) for sample in made)
            assert one.shape == other.shape
            assert made[0]["mask"].shape == made[1]["mask"].shape
            if one.size and all(firing.contract == "LEVELS" for firing in fired):
                assert np.abs(one - other).max() <= promised
                np.testing.assert_array_equal(made[0]["mask"], made[1]["mask"])


@EACH
def test_behind_one_merge(step: Step) -> None:
    """Which merge goes by the class, so that each kind meets many of them; the soak has all."""
    law(sorted(MERGES)[STEPS.index(step) % len(MERGES)], step, range(1), every=3)


@pytest.mark.soak
@ACTS
@EACH
def test_behind_every_merge(step: Step, merge: str) -> None:
    law(merge, step, range(1 if step.name in SLOW else 6))


@pytest.mark.parametrize("merge", MERGES)
def test_each_merge_is_made(merge: str) -> None:
    """Otherwise the law above compares nothing."""
    fired = [f.rule for f in build(recipe_of_behind(merge, sure("Blur")), "fast").compiled.plans["uint8"].fired]
    assert merge.partition(" ")[0] in fired


def faults(merge: str, *names: str, seeds: int = 4) -> list[str]:
    found = []
    for name in names:
        step = next(one for one in STEPS if one.name == name)
        try:
            law(merge, step, range(seeds))
        except AssertionError:
            found.append(name)
    return found


@pytest.mark.parametrize(
    ("merge", "names"),
    [
        ("join_colours", ("ShotNoise", "RandomSnow", "ISONoise", "Superpixels", "HEStain", "Equalize", "CLAHE")),
        ("join_colours in a group", ("ShotNoise", "CLAHE")),
        ("join_warps", ("ShotNoise",)),
    ],
)
def test_without_the_barrier_the_law_fails(merge: str, names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    assert faults(merge, *names, seeds=1) == []
    monkeypatch.setattr(rules, "obstacles_from", lambda steps, *_: [None] * (len(steps) + 1))
    assert faults(merge, *names) == list(names)


def test_a_group_that_comes_before_is_held_too(monkeypatch: pytest.MonkeyPatch) -> None:
    assert faults("join_colours in a group", "ShotNoise") == []
    monkeypatch.setattr("augrecipes.compiler.rewrite.rule.flows_before_each", lambda steps, flow: [flow] * len(steps))
    assert faults("join_colours in a group", "ShotNoise") == ["ShotNoise"]


def rules_of(*steps: Step) -> set[str]:
    recipe = Recipe("law", steps=label(steps), inputs=Inputs(min_size=SIZE))
    return {firing.rule for firing in build(recipe, "fast").compiled.plans["uint8"].fired}


def _fused_of(*steps: Step) -> int:
    """The most steps that are resampled together."""
    recipe = Recipe("law", steps=label(steps), inputs=Inputs(min_size=SIZE))
    nodes = build(recipe, "fast").compiled.plans["uint8"].steps
    inside = [inner for node in nodes for inner in (node, *(() if isinstance(node, Fused) else node.steps))]
    return max((len(node.steps) for node in inside if isinstance(node, Fused)), default=0)


def _near_none(name: str) -> None:
    steps = label((*TURNED, sure("Resize", height=62, width=65), sure(name)))
    recipe = Recipe("law", steps=steps, output=Output(dtype="uint8", layout="hwc"))
    none, fast = build(recipe, "none"), build(recipe, "fast")
    apart = [
        np.abs(np.subtract(*(p.at(seed)(image=image)["image"].astype(float) for p in (none, fast)))).mean()
        for seed in range(3)
        for image in islice(pictures(seed, "uint8"), 1, 2)  # smooth
    ]
    assert np.mean(apart) < 0.3


REACTING = ("CLAHE", "Equalize", "AutoContrast", "Sharpen", "Emboss")


@pytest.mark.parametrize("name", REACTING)
def test_what_reacts_sees_nearly_the_pixels_of_none(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _near_none(name)
    monkeypatch.setattr(rules, "obstacles_from", lambda steps, *_: [None] * (len(steps) + 1))
    with pytest.raises(AssertionError):
        _near_none(name)


def test_where_merges_stop() -> None:
    noise = Step("ShotNoise")
    group = Step("Sequential", steps=(JITTER, sure("ToSepia")))
    assert "join_colours" in rules_of(JITTER, sure("Blur"))
    assert "join_colours" in rules_of(noise, JITTER)
    assert "join_colours" in rules_of(JITTER, replace(noise, p=0.0))  # it never acts
    assert "join_colours" not in rules_of(JITTER, noise)
    assert "join_colours" not in rules_of(JITTER, Step("OneOf", steps=(noise, sure("Blur"))))
    assert "join_colours" in rules_of(Step("OneOf", steps=(group, noise)))  # one or the other
    assert "join_colours" not in rules_of(Step("RandomOrder", steps=(noise, group)))  # noise may come second
    assert "join_colours" not in rules_of(Step("Sequential", steps=(group,)), noise)
    assert "join_warps" not in rules_of(*TURNED, noise)
    assert _fused_of(*TURNED, sure("ColorJitter")) == 2
    assert _fused_of(*TURNED, sure("CLAHE")) == 1  # a turn is a level off; as one resampling both would be a hundred
    assert _fused_of(Step("Sequential", p=0.5, steps=TURNED), sure("CLAHE")) == 1
    assert _fused_of(Step("OneOf", p=0.5, steps=TURNED), sure("HorizontalFlip"), sure("CLAHE")) == 2
    assert "join_warps" not in rules_of(*TURNED, sure("CropNonEmptyMaskIfExists", height=30, width=30))
    assert "join_colours" in rules_of(JITTER, sure("CropNonEmptyMaskIfExists", height=30, width=30))  # masks stay


def test_nothing_known_is_a_barrier() -> None:
    unknown = Step("Unheard", site="Unheard#1")
    for contract in rule.INEXACT:
        assert rule.obstacle((unknown,), rule.Flow(), contract)


# The cheaper of two ways to an image is taken: an OpenCV resize is not given up for a warp that saves nothing.


TO_256 = "{Resize: {height: 256, width: 256}}"
TO_224 = "{RandomCrop: {height: 224, width: 224}}"


def cheaper(steps: str, arrival: Any = "uint8") -> set[str]:
    recipe = unlinted(steps)
    return {fired.rule for fired in plan(recipe, recipe.steps, "fast", arrival).fired}


def unlinted(steps: str) -> Recipe:
    return parse_text(f"version: 1\nrecipe: cost\nsteps: [{steps}]\neval: []\noutput: {{dtype: uint8, layout: hwc}}\n")


@pytest.mark.parametrize(
    "steps",
    [
        f"{TO_256}, {TO_224}, HorizontalFlip",
        f"{{SmallestMaxSize: {{max_size: 256}}}}, {TO_224}, HorizontalFlip",
        f"{{RandomScale: {{scale_limit: 0.5}}}}, {TO_224}",
        "{SmallestMaxSize: {max_size: 256}}, {RandomResizedCrop: {size: [224, 224]}}",
        f"{TO_256}, {{RandomCrop: {{height: 60, width: 60}}}}",
        f"{{RandomResizedCrop: {{size: [300, 300]}}}}, {TO_256}",
        f"{TO_256}, {{OneOf: {{p: 1.0, steps: [{TO_224}]}}}}",
    ],
)
def test_a_resize_that_is_cut_stays_a_resize(steps: str) -> None:
    assert "join_warps" not in cheaper(steps)
    assert "join_warps" in cheaper(steps, "encoded")  # the decoder is spared what is cut off


def test_what_saves_pixels_is_merged() -> None:
    assert "join_warps" in cheaper(f"{{Rotate: {{limit: 20}}}}, {TO_256}")


def noise() -> list[np.ndarray]:
    draw = np.random.default_rng(0)
    return [draw.integers(0, 256, (*size, 3), np.uint8) for size in ((300, 401), (512, 512), (90, 120))]


@pytest.mark.parametrize("turn", ["", "HorizontalFlip, ", "Transpose, ", "RandomRotate90, "])
def test_a_part_of_a_resize_has_its_bits(turn: str) -> None:
    """Turned before, cut and turned after; where the output is made with it, it rounds otherwise: by a level."""
    recipe = unlinted(f"{turn}{TO_256}, {{RandomCrop: {{height: 224, width: 224}}}}, {{D4: {{p: 1.0}}}}")
    merged = Plan((fuse("JoinedWarps", recipe.steps),))
    fast = ImagePipeline(Compiled(recipe, "train", "fast", 0, False, {"uint8": merged}))
    for image in noise():
        for index in range(8):
            mask = image[..., 0].copy()
            one, other = (p.at(index)(image=image, mask=mask) for p in (recipe.compile(optimize="none"), fast))
            assert int(np.abs(one["image"].astype(int) - other["image"]).max()) <= 1
            assert turn or (one["mask"] == other["mask"]).all()  # a turned mask is warped
