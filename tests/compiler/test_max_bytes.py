"""Images that would be too large are refused before they are made, however the recipe is carried out."""

import numpy as np
import pytest
from support.every_class import SLOW, STEPS, pool

import augrecipes as ar
from augrecipes.compiler.run import output_size_guard
from augrecipes.kinds.pair import pipeline as pair
from augrecipes.kinds.pair import shared
from augrecipes.ops import bounds
from augrecipes.ops.records import record_names
from augrecipes.recipe.model import Arguments, Optimize, Step
from augrecipes.recipe.parse import parse_text
from augrecipes.recipe.write import flow

PICTURE, LARGER = np.zeros((40, 50, 3), np.uint8), np.zeros((80, 100, 3), np.uint8)
LARGE = [
    "RandomScale: {scale_limit: [9999, 9999], p: 1.0}",
    "Affine: {scale: 2000, fit_output: true, p: 1.0}",
    "CropAndPad: {px: 50000, keep_size: false, p: 1.0}",
    "Pad: {padding: 50000}",
    "PadIfNeeded: {min_height: null, min_width: null, pad_height_divisor: 90000, pad_width_divisor: 90000}",
    "LongestMaxSize: {max_size: 90000}",
]


def run(steps: str, optimize: Optimize) -> None:
    text = f"version: 1\nrecipe: t\nsteps: [{{{steps}}}, {{Resize: {{height: 8, width: 8}}}}]\neval: []"
    parse_text(text).compile(optimize=optimize).at(0)(image=PICTURE)


@pytest.mark.parametrize("optimize", ["none", "exact", "fast"])
@pytest.mark.parametrize("steps", LARGE)
def test_what_would_be_too_large_is_refused_by_name(steps: str, optimize: Optimize) -> None:
    name = steps.partition(":")[0]
    with pytest.raises(ar.DataError, match=f"{name}#1: would make an image of .* more than 1 GiB"):
        run(steps, optimize)


# Of each class that may make more of an image than it is given: arguments with which it does.
ENLARGE = dict(
    pool("""
    Affine: {scale: 3.0, fit_output: true}, CornerAffine: {scale: 3.0, fit_output: true},
    CenterCrop: {height: 120, width: 130, pad_if_needed: true}, Crop: {x_max: 140, y_max: 120, pad_if_needed: true},
    CropAndPad: {px: 40, keep_size: false}, LongestMaxSize: {max_size: 150}, Pad: {padding: 50},
    PadIfNeeded: {min_height: 200, min_width: 220},
    Perspective: {scale: [0.1, 0.1], keep_size: false, fit_output: true},
    RandomCrop: {height: 120, width: 130, pad_if_needed: true}, RandomResizedCrop: {size: [110, 120]},
    RandomScale: {scale_limit: [1.5, 2.0]}, RandomSizedBBoxSafeCrop: {height: 110, width: 120},
    RandomSizedCrop: {min_max_height: [20, 30], size: [110, 120]}, Resize: {height: 110, width: 120}, ResizeToTarget,
    SmallestMaxSize: {max_size: 150}
""")
)
HEAD = "version: 1\nrecipe: t\noutput: {dtype: uint8, layout: hwc}\neval: []\n"
KINDS = {
    "image": ("inputs: {boxes: {labels: null}}\n", {"image": PICTURE, "boxes": np.array([[10, 10, 30, 30.0]])}),
    "bag": ("kind: bag\n", {"images": PICTURE[None]}),
    "pair": ("kind: pair\nscales: {lr: 1, hr: 2}\nallow_resampling: true\n", {"lr": PICTURE, "hr": LARGER}),
}
BOXES = "RandomSizedBBoxSafeCrop"  # it needs some, and other kinds have none
NOT_IN = {
    "image": {"ResizeToTarget"},
    "bag": {"ResizeToTarget", BOXES},
    "pair": {"CropAndPad", "Pad", "PadIfNeeded", "Perspective", BOXES},  # no draw of theirs fits several grids
}
EACH = pytest.mark.parametrize("kind", KINDS)


def made(step: Step, kind: str, max_bytes: int | None, optimize: Optimize = "none") -> int | None:
    """Bytes of the largest image that a step makes; None where it makes none larger, or not in that kind.

    DataError or RecipeError where it would make an image of more than `max_bytes`.
    """
    head, given = KINDS[kind]
    steps = f"[{{{step.name}: {flow({**step.args.plain(), 'p': 1.0})}}}]"
    if step.name == "ResizeToTarget":
        steps, given = f"[{{Degrade: {{source: lr, target: hr, steps: {steps}}}}}]", {"lr": PICTURE}
    try:
        recipe = parse_text(f"{HEAD}{head}max_bytes: {flow(max_bytes)}\nsteps: {steps}")
        out = recipe.compile(optimize=optimize).at(0)(**given)
    except (ar.RecipeError, ar.DataError) as error:
        if "image" in str(error) and "more than" in str(error):
            assert step.name in str(error)
            raise
        return None
    most = max(array.nbytes for array in out.values())
    return most if most > max(one.nbytes for one in given.values() if isinstance(one, np.ndarray)) else None


def law(step: Step, kind: str, optimize: Optimize = "none") -> bool:
    """Whether a step makes more than it is given; then a limit decides whether it is carried out."""
    most = made(step, kind, None, optimize)
    if most is None:
        return False
    assert made(step, kind, 2 * most, optimize) == most  # twice: one that pads and crops makes more in between
    with pytest.raises((ar.RecipeError, ar.DataError)):
        made(step, kind, int(0.95 * most), optimize)  # sides are rounded
    return True


@EACH
@pytest.mark.parametrize("optimize", ["none", "fast"])
def test_nothing_larger_than_the_limit_is_made(kind: str, optimize: Optimize) -> None:
    found = {name for name, args in ENLARGE.items() if law(Step(name, Arguments(args)), kind, optimize)}
    assert found == ENLARGE.keys() - NOT_IN[kind]


@EACH
def test_no_other_class_makes_more_than_it_is_given(kind: str) -> None:
    assert set(ENLARGE) == {name for name in record_names() if output_size_guard.enlarges(name)}
    for step in STEPS:
        if step.name not in SLOW:
            law(step, kind)


@pytest.mark.parametrize("name", sorted(ENLARGE))
def test_without_the_guard_the_law_fails(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output_size_guard, "enlarges", lambda _: False)
    monkeypatch.setattr(bounds, "_image", lambda *_: None)  # what is told when the recipe is checked
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        law(Step(name, Arguments(ENLARGE[name])), "pair" if name == "ResizeToTarget" else "image")


class OfCells(shared.PairStep):
    """A step of a pair that thinks its targets have one pixel a cell."""

    largest_factor = 1  # type: ignore[assignment]


def test_a_guard_that_takes_cells_for_pixels_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair, "PairStep", OfCells)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        law(Step("Resize", Arguments(ENLARGE["Resize"])), "pair")


def test_the_limit_is_part_of_no_sample() -> None:
    text = "version: 1\nrecipe: t\nsteps: [Blur]\n"
    plain, other, none = (parse_text(text + more) for more in ("", "max_bytes: 5000000000", "max_bytes: null"))
    assert (plain.max_bytes, other.max_bytes, none.max_bytes) == (1 << 30, 5_000_000_000, None)
    assert plain.digest == other.digest == none.digest
    assert [parse_text(one.to_yaml()) for one in (plain, other, none)] == [plain, other, none]
