"""Arguments that many commands share: a recipe and its changes, numbers, and data as `DATA...` or `--data` for each.

Data are a folder of images or of bags, local or remote (`s3://bucket/photos`, `s3://bucket/photos/*.jpg`), an image, a
CSV file, annotations, or a store; for pairs `TARGET=PATH` for each target. After a CSV file or annotations come
arguments of the Dataset: `split=val`, `columns=lr=lr_path`, `box_classes=cat,dog`, `crowds=keep`, and `images=FOLDER`
for images in another folder. Whole slides are `slides=PATTERN`, with `tile=256`, `mpp=0.5` and other arguments of
ar.SlideBags. Or tar archives in the layout of WebDataset, `train-*.tar`; or an `.npy` file. Or a source in the user's
own Python, `FILE.py:NAME`, which is run because it is named.
"""

import re
from argparse import Namespace
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from augrecipes.cli.parsing import refusal
from augrecipes.errors import RecipeError
from augrecipes.paths import is_archive
from augrecipes.user_code import is_object_path

if TYPE_CHECKING:
    from augrecipes.recipe.model import Recipe

_FILES, _FILE_ARGUMENTS = "files", ("images", "split", "columns", "box_classes", "crowds", "drop_shapes", "outside")
_SWITCHES = {"crowds": ("drop", "keep"), "outside": ("true", "yes", "no", "false")}
_RECIPES = frozenset({"", ".yaml", ".yml", ".json", ".txt"})  # suffixes of recipe files
_ANNOTATION_KEYS = re.compile(rb'"(?:images|annotations|shapes)"\s*:|^names\s*:', re.MULTILINE)
_RECIPE_KEYS = re.compile(rb'"(?:recipe|steps|__class_fullname__)"\s*:|^(?:recipe|steps)\s*:', re.MULTILINE)


def overrides(changes: Iterable[str]) -> dict[str, Any]:
    """Parse the changes of `--set`, by address; values are YAML.

    Raises:
        UsageError: text without `=`, or a value that is not YAML.

    >>> overrides(["RandomCrop.height=64", "flip.p=0.25"])
    {'RandomCrop.height': 64, 'flip.p': 0.25}
    """
    from augrecipes.recipe.parse import parse_value

    values: dict[str, Any] = {}
    for text in changes:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise refusal(f"{text!r} is not KEY=VALUE, such as RandomCrop.height=64", "--set")
        try:
            values[key.strip()] = parse_value(value)
        except RecipeError as error:
            raise refusal(f"{text!r}: {error.problems[0].message}", "--set") from None
    return values


def load_recipe(args: Namespace, recipe: str = "") -> "Recipe":
    """Load a command's recipe, with the changes of --set and --without. RecipeError where it is not valid."""
    from augrecipes.recipe.parse import load

    return load(recipe or args.recipe, overrides=overrides(args.set), without=args.without)


def pick(args: Namespace, names: str) -> dict[str, Any]:
    """Return some of a command's arguments as a dict; `names` are separated by spaces."""
    return {name: getattr(args, name) for name in names.split()}


def numbers(text: str, option: str, least: int, most: int) -> list[int]:
    """Parse distinct whole numbers with commas between them.

    Raises:
        UsageError: the text is something else.

    >>> numbers("0,1, 4", "--workers", 0, 64)
    [0, 1, 4]
    """
    words = [word.strip() for word in text.split(",")]
    values = [int(word) if word.isdecimal() and len(word) < 10 else -1 for word in words]
    for word, value in zip(words, values, strict=True):
        if not least <= value <= most:
            what = f"{word!r} is not a whole number from {least:,} to {most:,}"
            raise refusal(f"{what}; numbers with commas between them, such as 1,4", option)
    if len(set(values)) < len(values):
        raise refusal(f"{text!r} names a number twice; write each once", option)
    return values


def sources(args: Namespace, *, needed: bool = True) -> Any:
    """Return a command's data: see `data_of`; None where none is needed and none is given.

    Raises:
        UsageError: no data, or data in the recipe's place.
    """
    words = [*args.words, *args.data]
    if is_data(args.recipe):
        recipe = next((word for word in words if not is_data(word)), "RECIPE")
        raise refusal(f"{args.recipe!r} is data, and the recipe comes first: {recipe} {args.recipe}", "RECIPE")
    if not words and needed:
        raise refusal("which data? Give a folder, an image or a CSV file; for pairs TARGET=PATH for each target")
    data = data_of(words) if words else None
    if isinstance(data, str) and ("://" in data or Path(data).is_dir()):
        from augrecipes.store import is_store

        if is_store(data, damaged=True):
            what = "is a packed store, which `bench` and ar.Packed read: give the files it was packed from"
            raise refusal(f"{data!r} {what}")
    return data


def split_words(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split words into recipes and data, for commands that take several recipes.

    >>> split_words(["old.yaml", "stained-tissue", "hr=HR", "photos/"])
    (['old.yaml', 'stained-tissue'], ['hr=HR', 'photos/'])
    """
    return [word for word in words if not is_data(word)], [word for word in words if is_data(word)]


def is_data(word: str) -> bool:
    """Whether a word names data and not a recipe: a folder, an image, a list of files, annotations, or TARGET=PATH.

    >>> is_data("tiles/"), is_data("folder-128"), is_data("my.yaml"), is_data("hr=HR"), is_data("my.py:data")
    (True, False, False, True, True)
    """
    from augrecipes.recipe import gallery

    path = Path(word)
    if "://" in word and "=" not in word.partition("://")[0]:
        return True
    if not word or word in gallery.gallery_names():
        return False
    if path.suffix.lower() in (".yaml", ".yml", ".json") and (path.is_file() or not _split_target(word)):
        return path.is_file() and _is_annotated(path)
    if path.exists() or word.endswith(("/", "\\")):
        return not path.is_file() or path.suffix.lower() not in _RECIPES
    return _split_target(word) is not None or is_object_path(word) or _are_archives([word])


def _is_annotated(path: Path) -> bool:
    """Whether a file with a recipe's suffix holds annotations: COCO, labelme, or a data.yaml."""
    with path.open("rb") as file:
        head = file.read(1 << 16)
    return bool(_ANNOTATION_KEYS.search(head)) and not _RECIPE_KEYS.search(head)


def data_of(words: Sequence[str]) -> Any:
    """Turn words into data: a path, paths by target, files with arguments for reading them, or a source in Python.

    Args:
        words: a single path, or `NAME=PATH` for each target; a target that is repeated has several folders. Or a file,
            and `NAME=VALUE` for each argument of its Dataset.

    Raises:
        UsageError: several paths without targets, or an empty one.

    >>> data_of(["photos"]), data_of(["hr=HR", "lr=LR/X4"])
    ('photos', {'hr': 'HR', 'lr': 'LR/X4'})
    >>> data_of(["hr=DIV2K", "hr=Flickr2K"])
    {'hr': ['DIV2K', 'Flickr2K']}
    >>> data_of(["train-0.tar", "train-1.tar"])
    ['train-0.tar', 'train-1.tar']
    >>> data_of(["pairs.csv", "columns=lr=lr_path", "split=val"])
    {'files': 'pairs.csv', 'columns': {'lr': 'lr_path'}, 'split': 'val'}
    """
    pairs = [_split_target(text) for text in words]
    if len(words) == 1 and (pairs[0] is None or Path(words[0]).exists()):
        if not words[0]:
            raise refusal("the path is empty; give a folder, an image or a CSV file")
        if is_object_path(words[0]) and not Path(words[0]).exists():
            from augrecipes.sources.opened import NamedSource

            return NamedSource(words[0])
        return words[0]
    if _are_archives(words):
        return [*words]
    files = [place for place, pair in enumerate(pairs) if pair is None]
    if len(files) == 1 and all(pair is None or pair[0] in _FILE_ARGUMENTS for pair in pairs):
        pairs[files[0]] = _FILES, words[files[0]]
    folders: dict[str, list[str]] = {}
    for text, pair in zip(words, pairs, strict=True):
        if pair is None:
            what = "is not all of the data: give one folder, image or CSV file; of pairs each folder needs its target"
            raise refusal(f"{text!r} {what}: hr={text}")
        if not pair[1]:
            raise refusal(f"{text!r} names no folder; write {pair[0]}=FOLDER")
        folders.setdefault(pair[0], []).append(pair[1])
    data: dict[str, Any] = {name: paths[0] if len(paths) == 1 else paths for name, paths in folders.items()}
    return data | _settings(folders) if _FILES in folders else data


def _are_archives(words: Sequence[str]) -> bool:
    return all(is_archive(word) and _split_target(word) is None for word in words)


def _settings(texts: dict[str, list[str]]) -> dict[str, Any]:
    """Parse the arguments that come after a file and are more than text."""
    values: dict[str, Any] = {}
    for key, allowed in _SWITCHES.items():
        if key in texts and not (len(texts[key]) == 1 and texts[key][0] in allowed):
            raise refusal(f"{key}={texts[key][-1]} is not {allowed[0]} or {allowed[-1]}")
    if "outside" in texts:
        values["outside"] = texts["outside"][0] in ("true", "yes")
    for key in {"box_classes", "drop_shapes"} & texts.keys():
        values[key] = [name.strip() for names in texts[key] for name in names.split(",")]
    if "columns" in texts:
        pairs = [text.partition("=") for text in texts["columns"]]
        if not all(ours and theirs for ours, _, theirs in pairs):
            what = "is not columns=OURS=THEIRS, such as columns=image=path"
            raise refusal(f"{', '.join(texts['columns'])!r} {what}")
        values["columns"] = {ours: theirs for ours, _, theirs in pairs}
    return values


def _split_target(text: str) -> tuple[str, str] | None:
    """Split `TARGET=PATH`; None where the text is only a path."""
    name, equals, folder = text.partition("=")
    return (name, folder) if equals and name.isidentifier() else None
