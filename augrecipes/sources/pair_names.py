"""How the files of a target are called: templates such as ``{}x4``, given or found in the names of two targets."""

from __future__ import annotations

import os
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction

from augrecipes.errors import DataError
from augrecipes.sources.listing import EXTENSIONS
from augrecipes.sources.pair_roots import Named

Key = tuple[str, str]  # folder, scene

_EXTENSION = re.compile(rf"\.(?i:{'|'.join(sorted(os.fsdecode(name) for name in EXTENSIONS))})$")
# Where a name may be parted into a scene and what is added to it: 0001|x4, img|_001|_SRF|_4|_LR, HR_|baby.
_MARK = re.compile(r"[-_. ]|[xX×](?=\d)")
_MOST_PARTS = 5
_MOST_OF_ONE = 16  # files of a target that are called as a scene is, and something else: more are a series, img_001
_HIGH = re.compile(r"(?i)(?<![a-z])(hr|gt|hq)(?![a-z])")
_LOW = re.compile(r"(?i)(?<![a-z])(lr[a-z]*|lq|bicubic)(?![a-z])")
_SCALE = re.compile(r"[xX×](\d{1,2}(?:\.\d+)?)|(?<!\d)(\d{1,2})[xX](?!\d)")


def template(text: str) -> re.Pattern[str]:
    """What a file is called below its root, without the extension: ``{}x4``; folders may be part of it.

    Raises:
        DataError: it has not exactly one ``{}``.

    >>> template("X4/{}x4").fullmatch("a/X4/0001x4").groups(), template("{}x4").fullmatch("0001") is None
    (('a', '0001'), True)
    """
    if text.count("{}") != 1 or any(c in text.replace("{}", "") for c in "{}"):
        raise DataError(f"names=: a template holds {{}} once, for the scene's name, such as {{}}x4; got {text!r}")
    text = _EXTENSION.sub("", unicodedata.normalize("NFC", text).replace("\\", "/"))
    before, after = map(re.escape, text.split("{}"))
    return re.compile(rf"(?:(.*)/)?{before}([^/]+){after}")


def readings(stem: str) -> Iterator[tuple[str, str]]:
    """Every way to read a name, as the scene and the template: as it is, without its last parts, without its first.

    >>> list(readings("img_1x4"))
    [('img_1x4', '{}'), ('img_1', '{}x4'), ('img', '{}_1x4'), ('1x4', 'img_{}')]
    """
    yield stem, "{}"
    places = [found.span() for found in _MARK.finditer(stem)]
    for start, _ in reversed(places[-_MOST_PARTS:]):
        if start:
            yield stem[:start], f"{{}}{stem[start:]}"
    if places and places[0][0] > 0 and places[0][1] < len(stem) and stem[places[0][0]] not in "xX×":
        yield stem[places[0][1] :], f"{stem[: places[0][1]]}{{}}"


def find_names(large: Sequence[Named], small: Sequence[Named], ratio: Fraction, *, shared: bool) -> tuple[str, str]:
    """The templates under which most scenes have both files; ``{}`` for both where nothing speaks for others.

    Args:
        large: files of the larger target.
        small: those of the other one.
        ratio: of their scales.
        shared: both lie in one folder: only names that say which is which are taken.
    """
    nested = is_nested({file.folder for file in large}, {file.folder for file in small})
    of_large: dict[Key, set[str]] = defaultdict(set)
    for file in large:
        for scene, how in readings(file.stem):
            of_large[file.folder if nested else "", scene].add(how)
    scenes: dict[tuple[str, str], set[Key]] = defaultdict(set)
    for file in small:
        for scene, how in readings(file.stem):
            key = (file.folder if nested else "", scene)
            others = of_large.get(key, ())
            for other in others if len(others) <= _MOST_OF_ONE else ():
                scenes[other, how].add(key)

    def score(names: tuple[str, str]) -> tuple[int, int, int]:
        return len(scenes[names]), _fit(*names, ratio), -len("".join(names))

    taken = [names for names in scenes if not shared or (names[0] != names[1] and _fit(*names, ratio) > 0)]
    best = max(taken, key=lambda names: (*score(names), names), default=("{}", "{}"))
    # One scene is little evidence: any two names may begin alike.
    single = len({scene for _, scene in scenes[best]}) < 2
    return ("{}", "{}") if single and best[0] != "{}" and _fit(*best, ratio) <= 0 else best


def _fit(large: str, small: str, ratio: Fraction) -> int:
    """How much speaks for two templates: words of the field, and the scale, on the right one."""
    said = scale_in(small)
    of_scale = 0 if said is None else 1 if said == ratio else -1
    words = [bool(word.search(text)) for text in (large, small) for word in (_HIGH, _LOW)]
    return words[0] - words[1] - words[2] + words[3] + of_scale


def scale_in(text: str) -> Fraction | None:
    """The scale that a name or a template speaks of."""
    said = _SCALE.search(text)
    return Fraction(said[1] or said[2]) if said else None


def is_nested(large: set[str], small: set[str]) -> bool:
    """Whether folders below the roots count."""
    return large == small or bool((large & small) - {""})
