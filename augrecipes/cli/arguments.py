"""What many commands take: a recipe and its changes, a section, a seed, and data: `DATA...`, or `--data` for each.

Data are a folder of images or of bags, here or elsewhere (`s3://bucket/photos`, `s3://bucket/photos/*.jpg`), an image,
a CSV file, annotations, a store; for pairs `TARGET=PATH` for each target.
Next to a CSV file or annotations may stand what a Dataset takes with them: `split=val`, `columns=lr=lr_path`,
`box_classes=cat,dog`, `crowds=keep`, and `images=FOLDER` where the images lie elsewhere. Whole slides are
`slides=PATTERN`, beside it `tile=256`, `mpp=0.5` and others that ar.SlideBags takes. Or tar archives in the layout of
WebDataset, `train-{000..015}.tar`, or several of them; or an `.npy` file. Or a source in Python of the user's own,
`FILE.py:NAME`, which is run because it is named.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from augrecipes.cli.options import choice, option, refusal
from augrecipes.user_code import is_named

_FILES, _BESIDE_FILES = "files", ("images", "split", "columns", "box_classes", "crowds", "drop_shapes", "outside")
_RECIPES = frozenset({"", ".yaml", ".yml", ".json", ".txt"})  # what recipes may be called
_OF_ANNOTATIONS = re.compile(rb'"(?:images|annotations|shapes)"\s*:|^names\s*:', re.MULTILINE)
_OF_RECIPES = re.compile(rb'"(?:recipe|steps|__class_fullname__)"\s*:|^(?:recipe|steps)\s*:', re.MULTILINE)

_SET = "Change an argument, as `set:` in a variant does: 'RandomCrop.height=64'. Repeatable."
_WITHOUT = "Leave a step out, as `without:` in a variant does. Repeatable."
Set = Annotated[list[str] | None, option("--set", "KEY=VALUE", _SET)]
Without = Annotated[list[str] | None, option("--without", "NAME", _WITHOUT)]
Recipe = Annotated[str, typer.Argument(metavar="RECIPE", help="A recipe file, or a name of the gallery.")]
Section = Literal["train", "eval"]
Level = Literal["none", "exact", "fast"]
Mode = Annotated[Section, choice("--mode", "train|eval", "Which section of the recipe.")]
Optimize = Annotated[Level | None, choice("--optimize", "none|exact|fast", "Instead of the recipe's own choice.")]
Masks = Annotated[Path | None, option("--masks", "FOLDER", "Masks, matched by name.")]
Seed = Annotated[int, option("--seed", "INTEGER", "Seed of the random parameters.")]


_ABOUT = (
    "A folder of images or of bags, an image, a CSV file, or annotations (COCO, YOLO, VOC, labelme); for pairs "
    "TARGET=PATH for each target; or FILE.py:NAME, a source in Python, which is run. With a CSV file or annotations "
    "also split=NAME columns=OURS=THEIRS box_classes=A,B crowds=keep images=FOLDER."
)
_SAME = "The same as DATA; for pairs --data TARGET=PATH for each target."
Words = Annotated[list[str] | None, typer.Argument(metavar="DATA", help=_ABOUT)]
Data = Annotated[list[str] | None, option("--data", "DATA", _SAME)]


def sources(recipe: str, *given: Sequence[str] | None, needed: bool = True) -> Any:
    """Returns the data of a command, as `data_of`; None where none is needed and none is given.

    Raises:
        typer.BadParameter: no data, or data in the recipe's place.
    """
    words = [word for some in given for word in some or ()]
    if is_data(recipe):
        recipes = [word for word in words if not is_data(word)] or ["RECIPE"]
        raise refusal(f"{recipe!r} is no recipe, which comes first: {recipes[0]} {recipe}", "RECIPE")
    if not words and needed:
        raise refusal("which data? Give a folder, an image or a CSV file; for pairs TARGET=PATH for each target")
    found = data_of(words) if words else None
    if isinstance(found, str) and ("://" in found or Path(found).is_dir()):
        from augrecipes.store import is_store

        if is_store(found, damaged=True):
            what = "is a packed store, which `bench` and ar.Packed read: give the files it was packed from"
            raise refusal(f"{found!r} {what}")
    return found


def apart(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Returns recipes and data, where a command takes several recipes.

    >>> apart(["old.yaml", "stained-tissue", "hr=HR", "photos/"])
    (['old.yaml', 'stained-tissue'], ['hr=HR', 'photos/'])
    """
    return [word for word in words if not is_data(word)], [word for word in words if is_data(word)]


def is_data(word: str) -> bool:
    """Whether a word is data and no recipe: a folder, an image, a list of files, annotations, or TARGET=PATH.

    >>> is_data("tiles/"), is_data("folder-128"), is_data("my.yaml"), is_data("hr=HR"), is_data("my.py:data")
    (True, False, False, True, True)
    """
    from augrecipes.recipe import gallery

    path = Path(word)
    if "://" in word and "=" not in word.partition("://")[0]:
        return True
    if not word or word in gallery.gallery_names():
        return False
    if path.suffix.lower() in (".yaml", ".yml", ".json") and (path.is_file() or not _named(word)):
        return path.is_file() and _is_annotated(path)
    if path.exists() or word.endswith(("/", "\\")):
        return not path.is_file() or path.suffix.lower() not in _RECIPES
    return _named(word) is not None or is_named(word) or _are_archives([word])


def _is_annotated(path: Path) -> bool:
    """Whether a file that could be a recipe is annotations: of COCO or labelme, or a data.yaml."""
    with path.open("rb") as file:
        head = file.read(1 << 16)
    return bool(_OF_ANNOTATIONS.search(head)) and not _OF_RECIPES.search(head)


def data_of(given: Sequence[str]) -> Any:
    """Returns what words name: a path as it is, paths by target, files and how they are read, or a source in Python.

    Args:
        given: a single path, or `NAME=PATH` for each target; a target that is named again has several folders. Or a
            file, and `NAME=VALUE` for what a Dataset takes with it.

    Raises:
        typer.BadParameter: several paths without targets, or an empty one.

    >>> data_of(["photos"]), data_of(["hr=HR", "lr=LR/X4"])
    ('photos', {'hr': 'HR', 'lr': 'LR/X4'})
    >>> data_of(["hr=DIV2K", "hr=Flickr2K"])
    {'hr': ['DIV2K', 'Flickr2K']}
    >>> data_of(["train-0.tar", "train-1.tar"])
    ['train-0.tar', 'train-1.tar']
    >>> data_of(["pairs.csv", "columns=lr=lr_path", "split=val"])
    {'files': 'pairs.csv', 'columns': {'lr': 'lr_path'}, 'split': 'val'}
    """
    named = [_named(text) for text in given]
    if len(given) == 1 and (named[0] is None or Path(given[0]).exists()):
        if not given[0]:
            raise refusal("'' names no folder")
        if is_named(given[0]) and not Path(given[0]).exists():
            from augrecipes.sources.opened import NamedSource

            return NamedSource(given[0])
        return given[0]
    if _are_archives(given):
        return [*given]
    alone = [k for k, pair in enumerate(named) if pair is None]
    if len(alone) == 1 and all(pair is None or pair[0] in _BESIDE_FILES for pair in named):
        named[alone[0]] = _FILES, given[alone[0]]
    folders: dict[str, list[str]] = {}
    for text, pair in zip(given, named, strict=True):
        if pair is None:
            what = "is not all of the data: give one folder, image or CSV file; of pairs each folder needs its target"
            raise refusal(f"{text!r} {what}: hr={text}")
        if not pair[1]:
            raise refusal(f"{text!r} names no folder")
        folders.setdefault(pair[0], []).append(pair[1])
    found: dict[str, Any] = {name: paths[0] if len(paths) == 1 else paths for name, paths in folders.items()}
    return found | _how(folders) if _FILES in folders else found


def _are_archives(words: Sequence[str]) -> bool:
    from augrecipes.paths import is_archive

    return all(is_archive(word) and _named(word) is None for word in words)


def _how(named: dict[str, list[str]]) -> dict[str, Any]:
    """Of what stands beside a file the lists and mappings."""
    found: dict[str, Any] = {}
    if "crowds" in named and named["crowds"] not in (["drop"], ["keep"]):
        raise refusal(f"crowds={named['crowds'][-1]} is not drop or keep")
    if "outside" in named:
        if named["outside"] not in (["true"], ["yes"], ["false"], ["no"]):
            raise refusal(f"outside={named['outside'][-1]} is not true or false")
        found["outside"] = named["outside"] in (["true"], ["yes"])
    for word in {"box_classes", "drop_shapes"} & named.keys():
        found[word] = [name.strip() for names in named[word] for name in names.split(",")]
    if "columns" in named:
        pairs = [text.partition("=") for text in named["columns"]]
        if not all(ours and theirs for ours, _, theirs in pairs):
            what = "is not columns=OURS=THEIRS, such as columns=image=path"
            raise refusal(f"{', '.join(named['columns'])!r} {what}")
        found["columns"] = {ours: theirs for ours, _, theirs in pairs}
    return found


def _named(text: str) -> tuple[str, str] | None:
    """Target and path, or None where the text is a mere path."""
    name, equals, folder = text.partition("=")
    return (name, folder) if equals and name.isidentifier() else None
