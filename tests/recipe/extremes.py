"""Numbers as extreme as a class may be given, and what becomes of an image then: each case in a process of its own.

As a program: reads cases, `[class, arguments]` a line, and answers each with a line: `refused` by the check, `ok`, or
what went wrong. Memory and processor time of each are bounded. `--without-bounds`: the check knows no bounds.
"""

from __future__ import annotations

import json
import logging
import os
import resource
import sys
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import cv2
import numpy as np

sys.path.append(str(Path(__file__).parents[1]))
from support.every_class import _NEEDED

from augrecipes.errors import DataError, RecipeError
from augrecipes.ops import bounds, catalog
from augrecipes.recipe.parse import parse_text
from augrecipes.recipe.write import flow

Case = tuple[str, dict[str, Any]]

# Whatever passes the check is tried with these, and with both ends of every bound.
NUMBERS = (0, 1, 2, 3, 7, 255, 256, 1000, 32768, bounds.LARGEST, -1, -bounds.LARGEST, bounds.SMALLEST, 1e-3, 0.5, -0.5)
NEEDED = {**_NEEDED, "FromFloat": {"dtype": "uint8"}}
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
        ends = bounds.LIMITS.get((name, argument)) or bounds.LIMITS.get(argument, ())
        default = schema.get("default")
        for number in dict.fromkeys((*NUMBERS, *ends)) if argument != "p" else ():
            for value in placed(schema, number):
                found.append((name, {argument: value}))
                if isinstance(value, list) and isinstance(default, list) and len(value) == len(default) == 2:
                    found += [(name, {argument: [default[0], value[1]]}), (name, {argument: [value[0], default[1]]})]
    return found


def carry_out(recipe: Any, name: str) -> str:
    """What becomes of two images of each dtype, 256 × 320."""
    more: dict[str, Any] = {"mask": np.ones((256, 320), np.uint8)} if name in _MASKED else {}
    if name in _BOXED:
        more["boxes"] = np.array([[40.0, 40, 140, 120]])
    if name == "RandomCropNearBBox":
        more["cropping_bbox"] = [10, 10, 60, 60]
    pipeline = recipe.compile(optimize="none")
    photo = np.random.default_rng(0).integers(0, 256, (256, 320, 3), dtype=np.uint8)
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
    step = flow({**NEEDED.get(name, {}), **given, "p": 1.0})
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


if __name__ == "__main__":
    cv2.setNumThreads(0)
    warnings.simplefilter("ignore")
    logging.disable()
    carry_out(parse_text("version: 1\nrecipe: t\nsteps: [Blur]\neval: []"), "Blur")  # what is imported is imported here
    if "--without-bounds" in sys.argv:
        bounds.fault = lambda *_: None  # type: ignore[assignment]
    for line in sys.stdin:
        print(json.dumps(outcome(json.loads(line))), flush=True)
