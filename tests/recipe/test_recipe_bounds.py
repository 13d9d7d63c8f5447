"""Numbers that no step can work with, and images that no machine can hold, are told by check; draws in words."""

import json
import logging
import os
import random
import resource
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import cv2
import numpy as np
import pytest
from programs import Programs
from support.checks import rows
from support.every_class import _NEEDED, REFERENCE, TEMPLATE
from support.recipe_strategies import CLASSES

from augrecipes.errors import DataError, Diagnostic, RecipeError
from augrecipes.ops import bounds, catalog
from augrecipes.ops.records import op_record
from augrecipes.recipe.parse import parse_text
from augrecipes.recipe.words import in_words
from augrecipes.recipe.write import flow

# Beyond OpenCV's integers, beyond any memory, and beyond what floats can be squared to.
EXTREME = (2**31, 2**32 + 1, -(2**31) - 1, 10**9, 2**63, 10**18, 1e300, -1e300, 1e-300, -1e-300)
NEEDED: dict[str, Any] = {
    "height": 8,
    "width": 8,
    "size": [8, 8],
    "min_max_height": [100, 101],
    "num_grid_xy": [4, 4],
    "magnitude": 5,
    "references": REFERENCE,
    "template": TEMPLATE,
}


# What becomes of an image then, each case in a process of its own. A program is given cases, `[class, arguments]`, and
# answers with lines: `refused` by the check, `ok`, or what went wrong. Memory and time of each are bounded.
# `--without-bounds`: the check knows no bounds.
PROGRAM = """
import json, sys
sys.path[:0] = ["tests", "tests/recipe"]
from test_recipe_bounds import main
main(json.loads(sys.argv[1]), *sys.argv[2:])
"""
Case = tuple[str, dict[str, Any]]

# Whatever passes the check is tried with these, and with both ends of every bound.
NUMBERS = (0, 1, 2, 3, 7, 255, 256, 1000, 32768, bounds.LARGEST, -1, -bounds.LARGEST, bounds.SMALLEST, 1e-3, 0.5, -0.5)
NEEDED_TO_RUN = {**_NEEDED, "FromFloat": {"dtype": "uint8"}}
# Whether these can be carried out an image decides, or a mask: by size, channels or dtype. A DataError names the step.
OF_IMAGES = {
    *("height", "width", "x_max", "y_max", "px", "hole_height_range", "hole_width_range", "unit_size_range"),
    *("freq_mask_param", "time_mask_param", "mask_x_length", "mask_y_length", "drop_length", "channel_drop_range"),
    *("min_max_height", "grid", "holes_number_xy", "max_value", "fill_mask"),
    "num_grid_xy",  # cells of a few pixels fold, and have no inverse
}
_BOXED = ("BBoxSafeRandomCrop", "RandomSizedBBoxSafeCrop", "AtLeastOneBBoxRandomCrop")
_MASKED = ("MaskDropout", "CropNonEmptyMaskIfExists", "ConstrainedCoarseDropout")
_MEMORY, _SECONDS = 4 << 30, 60
_SLOW = ("PiecewiseAffine", "Superpixels")  # shown smaller images


def placed(schema: Mapping[str, Any], number: float) -> Iterator[Any]:
    """Values of a schema's shapes with a number in every numeric place."""
    for part in schema.get("anyOf", ()):
        yield from placed(part, number)
    kind = schema.get("type")
    if kind == "number" or (kind == "integer" and isinstance(number, int)):
        yield number
    elif kind == "array":
        parts = schema.get("prefixItems") or [schema.get("items", {})] * 3
        for values in zip(*(list(placed(part, number)) for part in parts), strict=False):
            yield list(values)
    elif kind == "object" and isinstance(schema.get("additionalProperties"), Mapping):
        for value in placed(schema["additionalProperties"], number):
            yield {"x": value}


def cases(name: str) -> list[Case]:
    """Each argument of a class alone, with each number everywhere in it and at either end of its default."""
    found = []
    for argument, schema in catalog.shipped()[name]["properties"].items():
        ends = op_record(name).limits.get(argument) or bounds.LIMITS.get(argument, ())
        default = schema.get("default")
        for number in dict.fromkeys((*NUMBERS, *ends)) if argument != "p" else ():
            for value in placed(schema, number):
                found.append((name, {argument: value}))
                if isinstance(value, list) and isinstance(default, list) and len(value) == len(default) == 2:
                    found += [(name, {argument: [default[0], value[1]]}), (name, {argument: [value[0], default[1]]})]
    return found


def carry_out(recipe: Any, name: str) -> str:
    """What becomes of two images of each dtype, 256 × 320, or 64 × 80."""
    height, width = (64, 80) if name in _SLOW else (256, 320)
    more: dict[str, Any] = {"mask": np.ones((height, width), np.uint8)} if name in _MASKED else {}
    if name in _BOXED:
        more["boxes"] = np.array([[40.0, 40, 140, 120]])
    if name == "RandomCropNearBBox":
        more["cropping_bbox"] = [10, 10, 60, 60]
    pipeline = recipe.compile(optimize="none")
    photo = np.random.default_rng(0).integers(0, 256, (height, width, 3), dtype=np.uint8)
    for image in (photo, photo.astype(np.float32) / 255):
        for index in range(2):
            try:
                out = pipeline.at(index)(image=image, **more)["image"]
            except DataError as error:
                return f"DataError, {image.dtype}: {error}"
            if not np.isfinite(out).all():
                return f"not finite, {image.dtype}"
    return "ok"


def outcome(case: Case) -> str:
    """What becomes of one case."""
    name, given = case
    step = flow({**NEEDED_TO_RUN.get(name, {}), **given, "p": 1.0})
    boxes = "inputs: {boxes: {labels: null}}\n" if name in _BOXED else ""
    try:
        recipe = parse_text(f"version: 1\nrecipe: t\n{boxes}steps: [{{{name}: {step}}}]\neval: []")
    except RecipeError:
        return "refused"
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        try:
            report = carry_out(recipe, name)
        except BaseException as error:
            report = f"{type(error).__name__}: {error}"
        os.write(write, report.replace("\n", " ")[:500].encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        report = pipe.read().decode(errors="replace")
    status = os.waitpid(child, 0)[1]
    return report or f"ended by signal {status & 127}"


def is_fault(case: Case, report: str) -> bool:
    """Whether the check should have refused it."""
    if report in ("ok", "refused") or (report.startswith("DataError") and "would make an image" in report):
        return False
    return not (report.startswith(("DataError", "not finite")) and set(case[1]) <= OF_IMAGES)


def found(name: str, given: Mapping[str, Any]) -> list[Diagnostic]:
    schema = catalog.shipped()[name]
    needed = {key: NEEDED[key] for key in schema.get("required", ()) if key in NEEDED}
    try:
        parse_text(f"version: 1\nrecipe: t\nsteps:\n- {name}: {flow({**needed, **given})}\n")
    except RecipeError as error:
        return list(error.problems)
    return []


@pytest.mark.parametrize("name", CLASSES)
def test_numbers_beyond_all_bounds_are_told_with_their_argument(name: str) -> None:
    for argument, schema in catalog.shipped()[name]["properties"].items():
        for number in EXTREME:
            for value in placed(schema, number) if argument != "p" or abs(number) > 1 else ():  # next to never is fine
                told = found(name, {argument: value})
                assert (f"{name}.{argument}", 4) in {(problem.name, problem.line) for problem in told}, (value, told)


@pytest.mark.parametrize(("step", "fine"), rows(__file__, "sizes"))
def test_images_that_are_too_large_are_told(step: str, fine: bool) -> None:
    name, _, body = step.partition(": ")
    try:
        parse_text(f"version: 1\nrecipe: t\nsteps: [{{{name}: {body}}}]")
    except RecipeError as error:
        assert not fine, error
        assert {problem.code for problem in error.problems} == {"E308"}
    else:
        assert fine


@pytest.mark.parametrize("name", CLASSES)
def test_the_least_limit_is_no_stumbling_block(name: str) -> None:
    """Steps that keep an image's size have no argument that could make it smaller: none is blamed."""
    try:
        parse_text(f"version: 1\nrecipe: t\nmax_bytes: 1\nsteps: [{name}]")
    except RecipeError as error:
        assert {problem.code for problem in error.problems} & {"E303", "E304", "E305", "E306", "E307", "E308"}


# (class, argument, what is still allowed, what is not), at both ends of each of the bounds.
EDGES = [
    (name, argument, inside, outside)
    for of, (low, high) in bounds.LIMITS.items()
    for name in ([of[0]] if isinstance(of, tuple) else [n for n in CLASSES if of in catalog.shipped()[n]["properties"]])
    for argument in [of[1] if isinstance(of, tuple) else of]
    for inside, outside in ((low, low / 2 if 0 < low < 1 else low - 1), (high, 2 * high + 1))
    if inside != -bounds.LARGEST
]


def edges(*, beyond: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every argument with bounds of its own at each of them, or outside."""
    for name, argument, inside, outside in EDGES:
        for value in placed(catalog.shipped()[name]["properties"][argument], outside if beyond else inside):
            yield name, {argument: value}


def test_arguments_with_bounds_of_their_own_end_there() -> None:
    assert {name for name, *_ in EDGES} <= set(CLASSES)
    for name, given in edges(beyond=True):
        (argument,) = given
        assert f"{name}.{argument}" in {problem.name for problem in found(name, given)}, given


@pytest.mark.parametrize("name", CLASSES)
def test_whatever_is_out_of_bounds_is_told_with_an_argument_of_the_class(name: str) -> None:
    properties = catalog.shipped()[name]["properties"]
    defaults = {argument: schema.get("default") for argument, schema in properties.items()}
    needed = {argument: value for argument, value in NEEDED.items() if argument in properties}
    for _, given in cases(name):
        fault = bounds.fault(op_record(name), {**defaults, **needed, **given})
        assert fault is None or fault[0] in properties, given


def faults(programs: Programs, some: list[Case], *options: str) -> list[tuple[Case, str]]:
    done = programs(PROGRAM, json.dumps(some), *options)
    assert done.returncode == 0, done.stderr[-2000:]
    outcomes = [json.loads(line) for line in done.stdout.splitlines()]
    return [found for found in zip(some, outcomes, strict=True) if is_fault(*found)]


def test_what_check_lets_pass_can_be_carried_out(programs: Programs) -> None:
    """One case of each class; the soak has all."""
    rng = random.Random(0)
    assert faults(programs, [rng.choice(found) for name in CLASSES if (found := cases(name))]) == []


@pytest.mark.soak
@pytest.mark.parametrize("name", CLASSES)
def test_whatever_check_lets_pass_can_be_carried_out(programs: Programs, name: str) -> None:
    assert faults(programs, cases(name)) == []


def test_without_the_bounds_images_fail(programs: Programs) -> None:
    """Planted faults: what there are bounds for, one of each kind."""
    some: list[Case] = [
        ("AdvancedBlur", {"sigma_y_limit": 1e-300}),
        ("CoarseDropout", {"fill": 256}),
        ("GaussianBlur", {"sigma_limit": 0}),
        ("Pad", {"padding": -1}),
        ("PlasmaShadow", {"roughness": 1_000_000}),
        ("ThinPlateSpline", {"num_control_points": 99_999}),
        ("CropAndPad", {"px": [1, 1]}),
    ]
    assert {outcome(case) for case in some} == {"refused"}
    assert [case for case, _ in faults(programs, some, "--without-bounds")] == some[:-1]


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"brightness": 1.0834, "hue": -0.012, "shape": (3, 4)}, "brightness × 1.08, hue −0.012"),
        ({"crop_coords": (30, 12, 254, 236)}, "window 224×224 at (30, 12)"),
        ({"matrix": [*cv2.getRotationMatrix2D((0, 0), -17.3, 1.0).tolist(), [0, 0, 1]]}, "angle 17.3°"),
        ({"rotate": 24.889, "scale": {"x": 0.8, "y": 0.8}, "matrix": np.eye(3)}, "angle 24.9°, scale × 0.8"),
        ({"group_element": "r90"}, "rotated by 90°"),
        ({"holes": np.zeros((2, 4), int)}, "2 holes"),
        ({"noise_map": np.zeros((4, 5, 3), np.float32)}, "noise σ 0"),
        ({"alpha": 1.2, "beta": -3.5}, "contrast × 1.2, brightness −3.5"),
        ({"alpha": 0.3, "sharpening_matrix": np.eye(3)}, "α 0.3, sharpening matrix σ 0.471"),
        ({"beta": 0.08}, "β 0.08"),
        ({"quality": 71, "image_type": ".jpg"}, "quality 71"),
        ({"matrix": np.array([[1, 0, 0], [0, 1, 0], [0.001, 0, 1]])}, "corners moved"),
        ({"seed": 3, "interpolation": 1, "fill": 0}, ""),
    ],
)
def test_draws_in_words(params: dict[str, Any], words: str) -> None:
    assert in_words(params) == words


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"scale": 0.664, "interpolation": 3, "fill": 0}, "scale × 0.664, area"),
        ({"quality": 71, "image_type": ".webp"}, "quality 71, webp"),
        ({"kernel": np.full(3, 1 / 3)}, "kernel 3"),
        (
            {"kind": "plateau_iso", "side": 13, "sigma": [2.1], "beta": 1.5, "kernel": np.ones((13, 13))},
            "plateau_iso, 13 px, σ 2.1, β 1.5",
        ),
        ({f"number_{k}": k for k in range(8)}, ", ".join(f"number {k} {k}" for k in range(8))),
    ],
)
def test_all_draws_in_words(params: dict[str, Any], words: str) -> None:
    assert in_words(params, whole=True) == words


def main(some: list[Case], *options: str) -> None:
    cv2.setNumThreads(0)
    warnings.simplefilter("ignore")
    logging.disable()
    carry_out(parse_text("version: 1\nrecipe: t\nsteps: [Blur]\neval: []"), "Blur")  # what is imported is imported here
    if "--without-bounds" in options:
        bounds.fault = lambda *_: None  # type: ignore[assignment]
    for name, given in some:
        print(json.dumps(outcome((name, given))), flush=True)
