"""The recipes that come with augrecipes: `recipes/` in a checkout, `augrecipes/gallery/` in a wheel."""

import os
import re
from functools import cache
from pathlib import Path

from augrecipes.errors import Diagnostic, RecipeError
from augrecipes.recipe.problems import near

SUFFIX = ".yaml"
_HEAD = re.compile(r"^(kind|about): *(.*\S)", re.MULTILINE)


@cache
def folder() -> Path:
    """The folder of the gallery."""
    package = Path(__file__).resolve().parent.parent
    packed = package / "gallery"
    return packed if packed.is_dir() else package.parent / "recipes"


@cache
def gallery_names() -> tuple[str, ...]:
    """Names of the gallery's recipes, sorted.

    >>> "folder-128" in gallery_names()
    True
    """
    return tuple(sorted(path.stem for path in folder().glob(f"*{SUFFIX}")))


def path(name: str) -> Path:
    """The file of a gallery recipe.

    Raises:
        RecipeError: the gallery has no such recipe.

    >>> path("folder-128").name
    'folder-128.yaml'
    """
    if name not in gallery_names():
        hint = near(name, gallery_names()).text
        raise RecipeError(f"no recipe {name!r} in the gallery{hint}; it has {', '.join(gallery_names())}")
    return folder() / f"{name}{SUFFIX}"


def entries() -> list[dict[str, str]]:
    """Name, kind, `about` and file of each recipe, read from its head only, since checking all steps takes long.

    >>> entries()[0].keys()
    dict_keys(['name', 'kind', 'about', 'file'])
    """
    headers = {name: dict(_HEAD.findall(path(name).read_text(encoding="utf-8"))) for name in gallery_names()}
    defaults = {"kind": "image", "about": ""}
    return [{"name": name, **defaults, **head, "file": str(path(name))} for name, head in headers.items()]


def find(name_or_path: str | os.PathLike[str]) -> Path:
    """The file of a recipe by gallery name or path; a path need not exist.

    Raises:
        RecipeError: neither a recipe of the gallery nor a path.

    >>> find("folder-128").name
    'folder-128.yaml'
    """
    text = os.fsdecode(name_or_path)
    if text in gallery_names():
        return path(text)
    file = Path(text)
    if file.suffix in (".yaml", ".yml") or len(file.parts) > 1 or file.exists() or not isinstance(name_or_path, str):
        return file
    hint = near(text, gallery_names()).text or f"; it has {', '.join(gallery_names())}"
    message = f"neither a file nor a recipe of the gallery{hint}"
    raise RecipeError(problems=[Diagnostic(message, 1, 1, "E101", text, text)])
