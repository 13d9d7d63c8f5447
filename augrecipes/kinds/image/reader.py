"""The files of images: listed as the Dataset does, and looked at one by one, each defect reported; no torch here."""

import os
from dataclasses import replace
from typing import Any

from augrecipes import progress, remote
from augrecipes.errors import DataError
from augrecipes.recipe.model import Mode, Recipe
from augrecipes.sources.arguments import absent_targets, as_table, check_targets, data_arguments, target_problems
from augrecipes.sources.check import CheckReport, check_files, check_samples
from augrecipes.sources.columns import Columns
from augrecipes.sources.defects import Defect, Findings
from augrecipes.sources.paths import PathTable
from augrecipes.sources.sample import DataArguments, RecipeSource, decode_arguments
from augrecipes.sources.stacks import STACK
from augrecipes.store import is_store

TABLE = Columns


def find(
    recipe: Recipe, _targets: Any, given: DataArguments, *, masks: Any, strict: bool, decode: Any, **_: Any
) -> RecipeSource:
    """List images: in folders, as a CSV file or annotations have them, or one of them."""
    table = table_of(recipe, given, masks, check=strict, exif=decode.get("exif", "apply"))
    check_targets(recipe, table)
    return RecipeSource(table, recipe.inputs, decode)


def table_of(recipe: Recipe, given: DataArguments, masks: Any, *, check: bool, **how: Any) -> Columns:
    """The table of images; see `as_table` for the other arguments."""
    root, files = given.root, given.files
    if files is None and isinstance(root, str | os.PathLike) and not remote.is_folder(root):
        if not remote.is_there(root):
            raise DataError("no such file or folder", os.fsdecode(root))
        return Columns(files={STACK if recipe.inputs.stack else "image": PathTable.from_paths([os.fsdecode(root)])})
    try:
        return as_table(recipe, root, files, masks, check=check, cache=False, layout="auto", **given.more, **how)
    except ValueError as error:  # of words that do not go together, each right by itself
        raise DataError(str(error)) from error


def check(
    recipe: Recipe, mode: Mode, data: Any, *, masks: str | None, split: str | None, content: bool,
    advance: progress.Parts, **_: Any,
) -> CheckReport:  # fmt: skip
    """Look at everything that a recipe of kind image would read.

    Args:
        recipe: says which targets it takes, and how large images must be.
        mode: the section.
        data: a folder, an image, a CSV file, or annotations, and the folder of their images.
        masks: with a folder: a folder of masks.
        split: of a CSV file, or of annotations; where `data` does not say it.
        content: decode every file; otherwise their headers and ends are read.
        advance: called with what is done, and how much of it.

    Raises:
        DataError: there is nothing to look at.
    """
    if isinstance(data, str) and is_store(data):
        raise DataError("this is a packed store: `augrecipes verify-store` checks it", data)
    given, findings = data_arguments(recipe, data), Findings()
    if split is not None:
        given = replace(given, more={"split": split, **given.more})
    table = table_of(recipe, given, masks, check=False, findings=findings)
    classes = (table.classes if given.files is None else None) or ()
    used = table.labels.tolist() if classes and table.labels is not None else []
    if empty := set(range(len(classes))).difference(used):
        findings.notes.append(f"classes without images: {', '.join(classes[k] for k in sorted(empty))}")
    own = {"mask": table.masks, "boxes": table.boxes, "keypoints": table.keypoints}
    listed = {"image": len(table)} | {name: len(table) for name, values in own.items() if values is not None}
    listed |= dict.fromkeys(table.targets, len(table))
    given_targets = {*listed, *(["mask"] if table.masked else [])}
    wrong = [Defect("absent", (), text) for text in target_problems(recipe, given_targets)]
    findings.defects += wrong
    findings.notes += [f"the recipe declares {name}, and the data has none" for name in absent_targets(recipe, listed)]
    if recipe.inputs.stack:
        stacks = RecipeSource(table, recipe.inputs, decode_arguments(recipe.inputs))
        looked = check_samples(recipe, mode, stacks, advance)
        found = [*findings.defects, *looked.defects]
        return CheckReport("stack", looked.listed, 0 if wrong else looked.fine, found, findings.notes)
    fine = check_files(recipe, mode, table, findings, advance, content=content, file=str(given.files))
    return CheckReport("image", listed, 0 if wrong else len(fine), findings.defects, findings.notes)
