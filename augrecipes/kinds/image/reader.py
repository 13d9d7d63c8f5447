"""Lists the files of images as the Dataset does, and checks them one by one for defects. Imports no torch."""

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
    recipe: Recipe, _targets: Any, data: DataArguments, *, masks: Any, strict: bool, decode: Any, **_: Any
) -> RecipeSource:
    """List images: in folders, a CSV file or annotations, or a single file."""
    table = table_of(recipe, data, masks, check=strict, exif=decode.get("exif", "apply"))
    check_targets(recipe, table)
    return RecipeSource(table, recipe.inputs, decode)


def table_of(recipe: Recipe, data: DataArguments, masks: Any, *, check: bool, **options: Any) -> Columns:
    """List images as a table; see `as_table` for the other arguments."""
    root, files = data.root, data.files
    if files is None and isinstance(root, str | os.PathLike) and not remote.is_folder(root):
        if not remote.is_there(root):
            raise DataError("no such file or folder", os.fsdecode(root))
        return Columns(files={STACK if recipe.inputs.stack else "image": PathTable.from_paths([os.fsdecode(root)])})
    try:
        return as_table(recipe, root, files, masks, check=check, cache=False, layout="auto", **data.more, **options)
    except ValueError as error:  # arguments that exclude each other
        raise DataError(str(error)) from error


def check(
    recipe: Recipe, mode: Mode, data: Any, *, masks: str | None, split: str | None, content: bool,
    advance: progress.Parts, **_: Any,
) -> CheckReport:  # fmt: skip
    """Check every file that a recipe of kind image would read.

    Args:
        recipe: says which targets it takes, and how large images must be.
        mode: the section of the recipe.
        data: a folder, an image, a CSV file, or annotations and the folder of their images.
        masks: with a folder: a folder of masks.
        split: the split of a CSV file or of annotations, where `data` does not name it.
        content: decode every file; otherwise their headers and ends are read.
        advance: called with the name of a phase and its progress.

    Raises:
        DataError: there is nothing to check.
    """
    if isinstance(data, str) and is_store(data):
        raise DataError("this is a packed store: `augrecipes verify-store` checks it", data)
    arguments, findings = data_arguments(recipe, data), Findings()
    if split is not None:
        arguments = replace(arguments, more={"split": split, **arguments.more})
    table = table_of(recipe, arguments, masks, check=False, findings=findings)
    classes = (table.classes if arguments.files is None else None) or ()
    used = table.labels.tolist() if classes and table.labels is not None else []
    if empty := set(range(len(classes))).difference(used):
        findings.notes.append(f"classes without images: {', '.join(classes[k] for k in sorted(empty))}")
    present = {"mask": table.masks, "boxes": table.boxes, "keypoints": table.keypoints}
    listed = {"image": len(table)} | {name: len(table) for name, values in present.items() if values is not None}
    listed |= dict.fromkeys(table.targets, len(table))
    given_targets = {*listed, *(["mask"] if table.masked else [])}
    wrong = [Defect("absent", (), text) for text in target_problems(recipe, given_targets)]
    findings.defects += wrong
    findings.notes += [f"the recipe declares {name}, and the data has none" for name in absent_targets(recipe, listed)]
    if recipe.inputs.stack:
        stacks = RecipeSource(table, recipe.inputs, decode_arguments(recipe.inputs))
        looked = check_samples(recipe, mode, stacks, advance)
        defects = [*findings.defects, *looked.defects]
        return CheckReport("stack", looked.listed, 0 if wrong else looked.fine, defects, findings.notes)
    fine = check_files(recipe, mode, table, findings, advance, content=content, file=str(arguments.files))
    return CheckReport("image", listed, 0 if wrong else len(fine), findings.defects, findings.notes)
