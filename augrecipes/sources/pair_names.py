"""What the file names of pairs mean: which scene, and which decoration says the target or the scale.

Data sets of pairs decorate names: ``0001.png`` and ``0001x4.png``, ``img_001_HR_x3`` and ``img_001_LRBI_x3``,
``img_011_SRF_4_HR`` and ``img_011_SRF_4_LR``, ``baby_GT`` and ``LR_baby``. A name alone does not tell whether its end
is a decoration (``box2`` is a scene as good as ``bo`` at ×2), so every way to read it is listed here, and which one
is meant is decided for a whole set of files: see `augrecipes.sources.pairing`.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from augrecipes.sources.listing import EXTENSIONS

_HIGH = ("hr", "gt", "hq")
_LOW = (
    "lr",
    "lq",
    "lrbi",
    "lrbd",
    "lrdn",
    "lrbic",
    "bicubic",
    "bic",
    "bilinear",
    "nearest",
    "mild",
    "difficult",
    "wild",
)
_MARK = "[-_. ]"
# ×2, x4, X3, x1.5, and DIV2K's tracks x4m, x4d, x4w2; it needs no mark before it: 0001x4.
_SCALE = r"[xX×](?P<scale>\d{1,2}(?:\.\d+)?)(?:[mdw]\d?)?"
_MOST_PARTS = 4
_EXTENSION = re.compile(rf"\.(?i:{'|'.join(sorted(os.fsdecode(name) for name in EXTENSIONS))})$")


@dataclass(frozen=True, slots=True)
class Decoration:
    """What a file's name says besides the scene.

    Attributes:
        prefix: before the scene's name, lower case.
        suffix: behind it, lower case.
        scale: the scale that it names, if any.
        role: ``high`` (HR, GT, ...), ``low`` (LR, LQ, ...) or None.
    """

    prefix: str = ""
    suffix: str = ""
    scale: Fraction | None = None
    role: str | None = None

    def __str__(self) -> str:
        return f"{self.prefix}{{}}{self.suffix}"

    def fits(self, ratio: Fraction | None, role: str) -> bool:
        """Whether it may stand on a file of this role, with `ratio` to the largest target (None: the largest)."""
        return (self.role or role) == role and (ratio is None or self.scale in (None, ratio))


PLAIN = Decoration()


class Grammar:
    """The decorations that count for some targets: the usual ones, and the targets' own names.

    >>> grammar = Grammar(("lr", "hr"))
    >>> [(scene, str(how)) for scene, how in grammar.readings("img_011_SRF_4_LR")]
    [('img_011_SRF_4_LR', '{}'), ('img_011_SRF_4', '{}_lr'), ('img_011', '{}_srf_4_lr')]
    >>> [(scene, str(how)) for scene, how in grammar.readings("box2x4")]
    [('box2x4', '{}'), ('box2', '{}x4'), ('bo', '{}x2x4')]
    """

    def __init__(self, targets: Sequence[str]) -> None:
        names = sorted({*_HIGH, *_LOW, *(name.lower() for name in targets)}, key=lambda name: (-len(name), name))
        words = "|".join(map(re.escape, names))
        word = rf"(?P<word>(?i:{words}))(?P<times>\d{{1,2}})?"
        srf = rf"(?i:SRF){_MARK}?(?P<srf>\d{{1,2}})"
        bare = "|".join(re.escape(name.upper()) for name in names if name in {*_HIGH, "lr", "lq"})
        self._part = re.compile(
            rf"(?:{_MARK}?{_SCALE}|{_MARK}(?:{word}|{srf}|(?P<fold>\d{{1,2}})[xX])|(?<=[a-z0-9])(?P<bare>{bare}))$"
        )
        self._prefix = re.compile(rf"^(?P<word>(?i:{words})){_MARK}")

    def readings(self, stem: str) -> list[tuple[str, Decoration]]:
        """Every way to read a name as (scene, decoration), the plain one first; a scene is never empty."""
        found = list(self._suffixes("", stem, None))
        begin = self._prefix.match(stem)
        if begin:
            found += self._suffixes(begin[0], stem[begin.end() :], _role(begin["word"]))
        return found

    def _suffixes(self, prefix: str, rest: str, role: str | None) -> Iterator[tuple[str, Decoration]]:
        whole, scale, low = rest, None, prefix.lower()
        for _ in range(_MOST_PARTS + 1):
            if not rest:
                return
            yield rest, Decoration(low, whole[len(rest) :].lower(), scale, role)
            part = self._part.search(rest)
            if part is None:
                return
            number = part["scale"] or part["times"] or part["srf"] or part["fold"]
            if number is not None and scale is None:
                scale = Fraction(number)
            role = role or _role(part["word"] or part["bare"])
            rest = rest[: part.start()]


def _role(word: str | None) -> str | None:
    name = (word or "").lower()
    return "high" if name in _HIGH else "low" if name in _LOW else None


class Template:
    """A name made of a scene's: ``{}x4``; folders and an extension may be part of it.

    Raises:
        ValueError: it has not exactly one ``{}``.

    >>> Template("X4/{}x4").scene("a/X4/0001x4"), Template("{}x4").scene("0001") is None
    (('a', '0001'), True)
    """

    def __init__(self, text: str) -> None:
        if text.count("{}") != 1 or any(c in text.replace("{}", "") for c in "{}"):
            raise ValueError(f"a template holds {{}} once, for the scene's name, such as {{}}x4; got {text!r}")
        self.text = _EXTENSION.sub("", unicodedata.normalize("NFC", text).replace("\\", "/"))
        before, _, after = self.text.partition("{}")
        self._pattern = re.compile(rf"(?:(?P<folder>.*)/)?{re.escape(before)}(?P<scene>[^/]+){re.escape(after)}")

    def __str__(self) -> str:
        return self.text

    def scene(self, name: str) -> tuple[str, str] | None:
        """(folder, scene) of a name below its root, or None where it is not of this form."""
        found = self._pattern.fullmatch(name)
        return (found["folder"] or "", found["scene"]) if found else None
