"""Lists the files of bags as the Dataset does, and checks them one by one for defects. Imports no torch."""

from collections.abc import Mapping
from typing import Any

from augrecipes.errors import DataError, counted
from augrecipes.kinds.bag.slides import SlideFiles, slides_of
from augrecipes.kinds.bag.table import BagTable, bags_of_csv, bags_of_folders
from augrecipes.kinds.bag.tiles import choose_tiles, tiles_of
from augrecipes.progress import Parts
from augrecipes.recipe.model import Bag, Mode, Recipe
from augrecipes.sources.arguments import as_list, check_root_or_files, data_arguments
from augrecipes.sources.check import CheckReport, check_files
from augrecipes.sources.defects import Defect, Findings
from augrecipes.sources.sample import DataArguments, RecipeSource, decode_arguments
from augrecipes.sources.slides.listing import Windows

TABLE = BagTable
__all__ = ["TABLE", "bags_of", "check", "find", "slides_of", "tiles_of"]


def bags_of(
    recipe: Recipe, root: Any, files: Any = None, labels: Any = None, split: str | None = None, *, cache: bool = False,
    check: bool = False, findings: Findings | None = None, columns: Any = None, outside: bool = False,
    windows: Windows | None = None, decode: Mapping[str, Any] | None = None,
) -> BagTable:  # fmt: skip
    """List bags: from a table, folders, a CSV file or the windows of slides; see `TileBags`.

    Of tile files, the table keeps those with as much tissue as `windows`, or else the recipe, asks for. A table whose
    tiles another dataset has selected stays as it is.
    """
    inputs = recipe.inputs
    check_root_or_files(root, files, split, labels=labels, columns=columns)
    if inputs.deep_dtype and (isinstance(root, SlideFiles) or getattr(root, "on_slides", False)):
        raise DataError(f"slides have 8 bits, the recipe's inputs say {inputs.deep_dtype}: leave the depth out")
    if labels is not None and isinstance(root, BagTable | SlideFiles):
        raise ValueError("labels= goes with folders; these bags have theirs, or none")
    if isinstance(root, SlideFiles):
        return root.table(check=check, rule=recipe.bag)
    if isinstance(root, BagTable) and (root.notes or root.on_slides):
        return root
    problems = Findings() if findings is None else findings
    if isinstance(root, BagTable):
        table = root
    elif files is None:
        table = bags_of_folders(as_list(root), labels, problems, cache=cache)
    else:
        table = bags_of_csv(files, split, problems, check=check, renamed=columns, outside=outside)
    if findings is None:
        problems.refuse()
    windows = (windows or Windows()).resolved(recipe.bag, slides=False)
    return choose_tiles(table, windows, decode or decode_arguments(inputs))


def find(
    recipe: Any, _targets: Any, data: DataArguments, *, strict: bool, decode: dict[str, Any], **_: Any
) -> RecipeSource:
    """List the bags that a recipe reads."""
    table = bags_of(recipe, data.root, data.files, check=strict, decode=decode, **data.more)
    return RecipeSource(table, recipe.inputs, decode).for_recipe(recipe)


def check(
    recipe: Recipe, mode: Mode, data: Any, *, split: str | None, content: bool, advance: Parts, **_: Any
) -> CheckReport:
    """Check every tile that a recipe of kind bag would read; the arguments are those of images.

    Raises:
        DataError: there is nothing to check.
    """
    arguments, findings = data_arguments(recipe, data), Findings()
    if isinstance(arguments.root, SlideFiles):
        raise DataError("slides are opened when they are listed; `augrecipes preview` names the broken ones")
    more = {} if arguments.files is None else {"split": split, **arguments.more}
    table = bags_of(recipe, arguments.root, arguments.files, findings=findings, **more)
    readable = check_files(recipe, mode, table, findings, advance, content=content)
    least, good = (recipe.bag or Bag()).min_tiles, 0
    for bag, count in enumerate(table.counts().tolist()):
        if count < least:
            text = f"{table.bags[bag]}: {counted(count, 'tile')}, fewer than min_tiles={least}{table.about(bag)}"
            findings.defects.append(Defect("bag", (table.path(bag),), text))
        good += count >= least and readable.issuperset(table.units_of(bag))
    return CheckReport("bag", {"bag": len(table), "tile": table.units}, good, findings.defects, findings.notes)
