"""What a source gives, looked at sample by sample; every defect is reported."""

from __future__ import annotations

from typing import Any

from augrecipes.data.audit.files import needs
from augrecipes.data.audit.found import Checked
from augrecipes.data.audit.points import wrong_boxes, wrong_keypoints
from augrecipes.data.reading.listing import open_data
from augrecipes.data.reading.sample import Sample
from augrecipes.data.tables.pair_checks import size_text
from augrecipes.errors import DataError
from augrecipes.progress import Parts
from augrecipes.recipe.model import Mode, Recipe
from augrecipes.sources.defects import Defect


def check_given(recipe: Recipe, mode: Mode, data: Any, advance: Parts) -> Checked:
    """Read everything that a source gives, as a recipe takes it.

    Args:
        recipe: of kind image or pair.
        mode: the section.
        data: a source.
        advance: called with what is done, and how much of it.

    Raises:
        DataError: there is nothing to look at.
    """
    targets = recipe.compile(mode, "none").targets
    files = open_data(recipe, targets, data, mode=mode)
    listed: dict[str, int] = dict.fromkeys(targets, len(files))
    defects, fine = [], 0
    for k in range(len(files)):
        try:
            sample = files.read(k)
            wrong = _wrong(recipe, mode, sample)
            for name in sample.rest.keys() & {"mask", "boxes", "keypoints"}:
                listed[name] = listed.get(name, 0) + 1
        except DataError as error:
            wrong = [
                Defect("unreadable", (files.path(k),), str(error if error.path else error.with_path(files.path(k))))
            ]
        defects += wrong
        fine += not wrong
        advance("reading", k + 1, len(files))
    return Checked(recipe.facts.unit, listed, fine, "every sample was read", tuple(defects), given=True)


def _wrong(recipe: Recipe, mode: Mode, sample: Sample) -> list[Defect]:
    """What is wrong with a sample that can be read."""
    found = []
    sizes = {name: image.shape[:2] for name, image in sample.images.items()}
    if recipe.facts.scales:
        height, width = sizes[next(iter(sizes))]
        first = recipe.scales[next(iter(sizes))]
        for name, size in sizes.items():
            wanted = height * recipe.scales[name] / first, width * recipe.scales[name] / first
            if any(not 0 <= of - to < 1 for of, to in zip(size, wanted, strict=True)):
                found.append(("size", f"{name} is {size_text(size)}, {next(iter(sizes))} {size_text((height, width))}"))
    elif short := needs(recipe, mode, sizes["image"]):
        found.append(("small", f"{size_text(sizes['image'])}: {short}"))
    for name, declared, check in (
        ("boxes", recipe.inputs.boxes, wrong_boxes),
        ("keypoints", recipe.inputs.keypoints, wrong_keypoints),
    ):
        if declared is not None and name in sample.rest:
            points: Any = check
            for k, why in points(sample.rest[name], declared, *sizes["image"]):
                found.append((name, f"{name}, row {k + 1}: {why}"))
    return [Defect(kind, (sample.path,), f"{sample.path}: {what}") for kind, what in found]
