"""Arguments of the datasets: `root` or `files` and what goes with each, checked and turned into a table."""

import os
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from augrecipes.errors import DataError, logger
from augrecipes.paths import is_archive
from augrecipes.recipe import kinds
from augrecipes.recipe.model import Recipe
from augrecipes.recipe.targets import missing_targets
from augrecipes.sources.annotations.records import AnnotationOptions, Crowds
from augrecipes.sources.annotations.table import is_annotated, is_given_as_data, table_of_annotations
from augrecipes.sources.columns import Columns
from augrecipes.sources.defects import Findings
from augrecipes.sources.files import Exif
from augrecipes.sources.image_tables import table_of_csv, table_of_folders
from augrecipes.sources.listing import Layout
from augrecipes.sources.paths import PathLike
from augrecipes.sources.sample import DataArguments
from augrecipes.sources.stacks import STACK

FILES = "files"  # the key of mappings that name files and how to read them, rather than folders by target
# Keys beside `files`; the first three go with every CSV file.
OF_FILES = ("split", "columns", "outside", "box_classes", "crowds", "drop_shapes")


def as_table(
    recipe: Recipe, root: PathLike | Sequence[PathLike] | None, files: PathLike | None,
    masks: PathLike | Sequence[PathLike] | None, split: str | None = None, *, check: bool, cache: bool, layout: Layout,
    exif: Exif = "apply", columns: Mapping[str, Any] | None = None, box_classes: Sequence[str] | None = None,
    crowds: Crowds = "drop", drop_shapes: Sequence[str] = (), outside: bool = False, findings: Findings | None = None,
    targets: Mapping[str, PathLike | Sequence[PathLike]] | None = None,
) -> Columns:  # fmt: skip
    """The table of the samples in `root` or in `files`, with the targets that `recipe` takes.

    Defective samples raise a DataError; with `findings` they are noted there and left out.
    """
    if archives := [path for path in map(os.fsdecode, as_list(root)) if is_archive(path)]:
        raise DataError("is a tar archive, whose samples ar.Samples takes", archives[0])
    annotated = files is not None and is_annotated(files)
    check_root_or_files(None if annotated else root, files, split, masks=masks, columns=columns, targets=targets)
    if strange := [name for name in targets or () if name not in recipe.targets]:
        known = ", ".join(recipe.targets) or "none"
        raise ValueError(f"targets= names {strange[0]!r}, and the recipe's `targets:` are {known}")
    noted = Findings() if findings is None else findings
    if recipe.inputs.stack and annotated:
        what = "annotations are of single images, and the recipe takes stacks of frames: give a folder, or a CSV file"
        raise DataError(what, os.fsdecode(files or b""))
    if files is None:
        beside: dict[str, Any] = {"targets": {name: as_list(paths) for name, paths in (targets or {}).items()}}
        beside |= {"cache": cache, "layout": layout, "stacks": recipe.inputs.stack is not None}
        table = table_of_folders(as_list(root), as_list(masks), noted, **beside)
    elif not annotated:
        if box_classes is not None:
            raise ValueError("box_classes= goes with annotations; this CSV file has one row an image")
        how: dict[str, Any] = {"check": check, "renamed": columns, "outside": outside, "targets": [*recipe.targets]}
        table = table_of_csv(files, split, noted, taken=recipe.inputs.taken, **how)
    else:
        for wrong, what in (
            (columns is not None, "columns= says what a CSV file calls its columns, and these are annotations"),
            (crowds not in ("drop", "keep"), f"crowds must be 'drop' or 'keep', got {crowds!r}"),
            (isinstance(box_classes, str), f"box_classes= is a list of names, got {box_classes!r}"),
            (isinstance(drop_shapes, str), f"drop_shapes= is a list of types, got {drop_shapes!r}"),
            (isinstance(root, list | tuple), "root= with annotations is the one folder that their images lie in"),
        ):
            if wrong:
                raise ValueError(what)
        names = None if box_classes is None else [str(name) for name in box_classes]
        folder: Any = root
        options = AnnotationOptions(recipe.inputs, folder, split, names, crowds, exif, check, outside, drop_shapes)
        table = table_of_annotations(files, options, noted)
    if recipe.inputs.stack:
        table = replace(table, files={STACK: table.images})
    if findings is None:
        noted.refuse()
        for note in noted.notes if annotated else ():
            logger.warning("%s: %s", os.fsdecode(files or b""), note)
    return table


def csv_path(data: Any) -> Any:
    """`data` if it is the path of a CSV or TSV file, else None."""
    return data if isinstance(data, str | os.PathLike) and Path(data).suffix.lower() in (".csv", ".tsv") else None


def data_arguments(recipe: Recipe, data: Any) -> DataArguments:
    """The arguments of a Dataset from what a user gives as data.

    Folders and images become `root`; CSV files become `files`, and so do annotations of images (for a folder see
    `is_given_as_data`). `{"files": ..., "split": ...}` has a Dataset's arguments beside its files, with the folder of
    annotated images under `images`; `{"slides": ..., "mpp": ...}` has those of `SlideBags`; `{"image": ..., "after":
    ...}` has folders, or name templates, of images and of the recipe's further targets.

    Raises:
        DataError: folders by target for a recipe without targets, or unknown names.
    """
    if isinstance(data, Mapping):
        return _by_name(recipe, data)
    points = not recipe.inputs.taken.isdisjoint(("boxes", "keypoints"))
    annotated = recipe.facts.annotated and isinstance(data, str | os.PathLike) and is_given_as_data(data, points=points)
    return DataArguments(None, data) if annotated or csv_path(data) is not None else DataArguments(data)


def _by_name(recipe: Recipe, data: Mapping[str, Any]) -> DataArguments:
    known = ("images", *OF_FILES) if recipe.facts.annotated else OF_FILES[:3]
    if FILES in data and FILES not in recipe.scales:
        strange = [name for name in data if name not in (FILES, *known)]
        if strange:
            what = f"a recipe of kind {recipe.kind} takes {', '.join(f'{name}=' for name in known)} beside files="
            raise DataError(f"{', '.join(f'{name}=' for name in strange)}: {what}")
        more = {name: value for name, value in data.items() if name in OF_FILES}
        return DataArguments(data.get("images"), data[FILES], more)
    if "image" in data and {*data} <= {"image", *recipe.targets}:
        return DataArguments(data["image"], None, {"targets": {name: data[name] for name in data if name != "image"}})
    if recipe.facts.tiles and "slides" in data:
        return DataArguments(kinds.part(recipe.kind, "reader").slides_of(data))
    if recipe.facts.scales:
        return DataArguments(data)
    names = ", ".join(f"{name}=" for name in data)
    also = ", or annotations as files=FILE images=FOLDER" if recipe.facts.annotated else ""
    also = ", or whole slides as slides=PATTERN" if recipe.facts.tiles else also
    raise DataError(f"{recipe.name} is of kind {recipe.kind}: give one folder, or a CSV file, without {names}{also}")


def check_root_or_files(root: Any, files: Any, split: str | None, **beside: Any) -> None:
    """ValueError unless exactly one of `root` and `files` is given, with only the arguments that go with it."""
    if (root is None) == (files is None):
        raise ValueError("give either root= (a folder, or a list of folders) or files= (a CSV file, or annotations)")
    if files is None and split is not None:
        raise ValueError(f"split= goes with files=; for folders give the split's own, such as root/{split}")
    for name, value in beside.items():
        if value is not None and files is None and name == "columns":
            raise ValueError("columns= goes with files=: it says what a CSV file calls its columns")
        if value is not None and files is not None and name != "columns":
            column = "columns of their names" if name == "targets" else f"a column `{name.removesuffix('s')}`"
            raise ValueError(f"{name}= goes with root=; a CSV file has {column}")


def as_list(paths: PathLike | Sequence[PathLike] | None) -> list[PathLike]:
    """One path or several as a list; None as an empty list."""
    if paths is None:
        return []
    listed: list[PathLike] = [paths] if isinstance(paths, str | bytes | os.PathLike) else list(paths)
    if not listed:
        raise ValueError("an empty list of folders")
    return listed


def check_targets(recipe: Recipe, table: Columns) -> None:
    """DataError where the data lacks a target that the recipe requires, or has masks that the recipe refuses."""
    own = {"mask": table.masked, "boxes": table.boxes is not None, "keypoints": table.keypoints is not None}
    targets = {*table.targets, *(name for name, there in own.items() if there)}
    for text in target_problems(recipe, targets):
        raise DataError(text)
    warn_of_absent(recipe, targets)


def target_problems(recipe: Recipe, targets: Container[str]) -> Iterator[str]:
    """Messages on targets that the recipe requires and the data lacks, or that the data has and the recipe refuses."""
    for name, presence in recipe.inputs.presence.items():
        if presence == "required" and name not in targets:
            source = f"annotations (files=, --data: COCO, YOLO, ...), or a CSV column `{name}`"
            if name == "mask":
                source = "masks (masks=, --masks), a CSV column `mask`, or annotations with polygons (files=, --data)"
            yield f"recipe {recipe.name!r} requires {name}, and the data has none: give {source}"
        if presence == "absent" and name in targets:
            text = f"recipe {recipe.name!r} does not take {name} (its `inputs:` say `{name}: absent`)"
            yield f"{text}: change the recipe, or leave out masks="
    for name in missing_targets(recipe.targets, targets):
        source = f"targets={{{name!r}: ...}} (a folder, or a template), or a CSV column `{name}`"
        yield f"recipe {recipe.name!r} requires {name}, and the data has none: give {source}"


def absent_targets(recipe: Recipe, targets: Container[str]) -> list[str]:
    """Which of boxes and keypoints the recipe declares and the data lacks."""
    declared = recipe.inputs.presence
    return [name for name in ("boxes", "keypoints") if declared[name] == "optional" and name not in targets]


def warn_of_absent(recipe: Recipe, targets: Container[str]) -> None:
    """Log a warning where the recipe declares boxes or keypoints, and the data has none."""
    if absent := absent_targets(recipe, targets):
        logger.warning(
            "recipe %r declares %s, and the data has none: samples come without. Give annotations, or a CSV file "
            "with a column for them, or write `presence: required` to make this an error",
            recipe.name,
            " and ".join(absent),
        )
