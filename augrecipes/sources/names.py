"""Matching of file names: files of one scene are found by name templates."""

import os
import re
import unicodedata
from collections import defaultdict
from collections.abc import Container, Mapping
from typing import TypeAlias, TypeVar

from augrecipes.errors import DataError, logger
from augrecipes.paths import EXTENSIONS, is_image

SceneName = tuple[str, str]  # its folder, and its name there
T = TypeVar("T")
Scenes: TypeAlias = dict[SceneName, list[T]]

EXTENSION = re.compile(rf"\.(?i:{'|'.join(sorted(os.fsdecode(name) for name in EXTENSIONS))})$")


def is_folder(entry: os.DirEntry[bytes]) -> bool:
    """Whether an entry is a folder. A looping link is not; it is logged, unless reading it as an image will raise."""
    try:
        return entry.is_dir()
    except OSError as error:
        if not is_image(entry.name):
            logger.warning("%s: passed over: %s", os.fsdecode(entry.path), error.strerror)
        return False


def template(text: str) -> re.Pattern[str]:
    """A pattern for file names below their root, without extension, from a template such as ``{}x4``.

    The template may have folders and ``*`` in it.

    Raises:
        DataError: it has not exactly one ``{}``.

    >>> template("X4/{}x4").fullmatch("a/X4/0001x4").groups(), template("{}x4").fullmatch("0001") is None
    (('a', '0001'), True)
    """
    if text.count("{}") != 1 or any(c in text.replace("{}", "") for c in "{}"):
        raise DataError(f"names=: a template holds {{}} once, for the scene's name, such as {{}}x4; got {text!r}")
    text = EXTENSION.sub("", unicodedata.normalize("NFC", text).replace("\\", "/"))
    before, after = (re.escape(part).replace(r"\*", "[^/]*") for part in text.split("{}"))
    return re.compile(rf"(?:(.*)/)?{before}([^/]+){after}")


def stem(name: str) -> str:
    """A name without its extension, NFC-normalised: some systems store é as one letter, others as e and an accent."""
    path = os.path.splitext(name)[0].replace(os.sep, "/")  # noqa: PTH122 (a name may end in a dot)
    return unicodedata.normalize("NFC", path)


def by_scene(files: Mapping[T, str], named: re.Pattern[str]) -> Scenes[T]:
    """The files whose names match a template, grouped by the folder and name of their scene."""
    scenes: Scenes[T] = defaultdict(list)
    for file, name in files.items():
        if match := named.fullmatch(name):
            scenes[match[1] or "", match[2]].append(file)
    return scenes


def by_longest_stem(files: Mapping[T, str], last: str, stems: Container[str]) -> Scenes[T]:
    """The files whose names match a template with `*`, grouped by folder and the longest image stem that matches.

    >>> files = {0: "a_0", 1: "a_1_0", 2: "m/a_2", 3: "b"}
    >>> dict(by_longest_stem(files, "{stem}_*.png", {"a", "a_1"}))
    {('', 'a'): [0], ('', 'a_1'): [1], ('m', 'a'): [2]}
    """
    before, _, after = EXTENSION.sub("", unicodedata.normalize("NFC", last)).partition("{stem}")
    rest = re.compile("[^/]*".join(map(re.escape, after.split("*"))))
    scenes: Scenes[T] = defaultdict(list)
    for file, name in files.items():
        folder, _, base = name.rpartition("/")
        start = len(before) if base.startswith(before) else len(base)
        ends = range(len(base), start, -1)
        if (end := next((k for k in ends if base[start:k] in stems and rest.fullmatch(base[k:])), None)) is not None:
            scenes[folder, base[start:end]].append(file)
    return scenes


def match_folders(ours: Scenes[T], theirs: Scenes[T]) -> tuple[Scenes[T], Scenes[T]]:
    """The scenes of two targets; folders are dropped from their names unless both targets have the same ones."""
    folders = [{folder for folder, _ in scenes} for scenes in (ours, theirs)]
    if folders[0] == folders[1] or (folders[0] & folders[1]) - {""}:
        return ours, theirs
    flat: list[Scenes[T]] = [defaultdict(list), defaultdict(list)]
    for scenes, joined in zip((ours, theirs), flat, strict=True):
        for (_, scene), files in scenes.items():
            joined["", scene] += files
    return flat[0], flat[1]
