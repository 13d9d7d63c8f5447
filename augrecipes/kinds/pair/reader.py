"""The files of pairs, as the Dataset finds them; no torch here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from augrecipes.errors import DataError
from augrecipes.progress import progress
from augrecipes.recipe.model import Mode, Recipe
from augrecipes.sources.columns import Columns
from augrecipes.sources.defects import report
from augrecipes.sources.pair_checks import Check, Cropped, check_roots, checked, find_scenes, table_of_scenes
from augrecipes.sources.pairs import PairScenes
from augrecipes.sources.sample import DataArguments, RecipeSource

TABLE = Columns


def scenes_of(
    recipe: Recipe, mode: Mode, targets: Sequence[str], roots: Any, files: Any, check: Check | None, *, strict: bool,
    decode: Mapping[str, Any], **more: Any,
) -> tuple[PairScenes, tuple[Cropped, ...]]:  # fmt: skip
    """List scenes, in folders by target or as a CSV file has them, and what is cut off their images.

    Args:
        recipe: of the dataset.
        mode: the section that reads them.
        targets: that it reads.
        roots: as `find_scenes` has them.
        files: the same.
        check: what is looked at; None: no file.
        strict: a defect is an error; otherwise defective scenes are left out.
        decode: arguments of `read_image`.
        more: other arguments of `find_scenes`.

    Raises:
        DataError: there is no scene, or with `strict` a defect: all of them in one text.
    """
    cropped: tuple[Cropped, ...] = ()
    found = find_scenes(recipe, tuple(targets), roots, files, **more)
    if check is not None:
        with progress("reading headers") as advance:
            found, cropped = checked(found, recipe, mode, check, advance, **decode)
    if found.defects and (strict or not found.scenes):
        raise DataError(report(found.defects, fine=len(found.scenes), targets=found.targets))
    if not found.scenes:
        raise DataError("no pairs were found")
    return found, cropped


def find(
    recipe: Recipe, targets: Sequence[str], given: DataArguments, *, mode: Mode, strict: bool, headers: bool,
    decode: dict[str, Any], **_: Any,
) -> RecipeSource:  # fmt: skip
    """The scenes as a recipe reads them."""
    roots = given.root if isinstance(given.root, Mapping) else None
    if given.files is None and roots is None:
        check_roots(recipe, targets, {})
    check: Check | None = "headers" if headers else None
    found = scenes_of(
        recipe, mode, targets, roots, given.files, check, strict=strict, decode=decode, cache=False, **given.more
    )[0]
    left_out = tuple(defect.message for defect in found.defects)
    return RecipeSource(table_of_scenes(found), recipe.inputs, decode, left_out, tuple(found.notes))
