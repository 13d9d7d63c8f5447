"""What torchvision prints of a pipeline, `repr`, read back: that of version 2, and that of version 1."""

from __future__ import annotations

import re
from typing import Any, NoReturn

from augrecipes.bring.calls import Call
from augrecipes.bring.torchvision.signatures import PARAMETERS
from augrecipes.errors import Diagnostic, RecipeError
from augrecipes.recipe.limits import MAX_DEPTH
from augrecipes.recipe.nodes import Place

_TOKEN = re.compile(
    r"""(?P<space>\s+|,)
    |(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.]))
    |(?P<name>[A-Za-z_][\w.\-]*)
    |(?P<text>'[^'\n]*'|"[^"\n]*")
    |(?P<thing><[^<>\n]*(?:<[^<>\n]*>[^<>\n]*)*>)
    |(?P<sign>[()\[\]{}=:])""",
    re.VERBOSE,
)
_WORDS = {"True": True, "False": False, "None": None}
_CLOSES = {"(": ")", "[": "]", "{": "}"}


def is_printed(text: str) -> bool:
    """Whether a text opens as what torchvision prints.

    >>> is_printed("Compose(\\n      Resize(size=[256])\\n)"), is_printed("steps: [Resize]")
    (True, False)
    """
    opening = re.match(r"\s*(\w+)\(", text)
    return opening is not None and opening[1] in PARAMETERS


def read(text: str, file: str) -> Call:
    """The pipeline that the text tells of.

    Raises:
        RecipeError: the text is not what torchvision prints; names the line.

    >>> read("Compose(\\n  Resize(size=[256], interpolation=bilinear)\\n  ToImage()\\n)", "x.txt").children[0].args
    {'size': [256], 'interpolation': 'bilinear'}
    """
    reader = _PrintedReader(text, file)
    found = reader.value()
    if not isinstance(found, Call) or reader.kind:
        reader.wrong("one pipeline is expected, such as Compose(...)")
    return found


class _PrintedReader:
    """Takes a text apart from its front; `kind` and `word` are the token at hand."""

    def __init__(self, text: str, file: str) -> None:
        self.text, self.file = text, file
        self.at, self.depth, self.line, self.line_at = 0, 0, 1, 0
        self.kind: str | None = None
        self.word = ""
        self.place = Place(file, 1, 1)
        self.take()

    def take(self) -> None:
        """Go on to the next token."""
        while self.at < len(self.text):
            found = _TOKEN.match(self.text, self.at)
            self.place = Place(self.file, self.line, self.at - self.line_at + 1)
            if found is None:
                self.wrong(f"{self.text[self.at]!r} is nothing that torchvision prints")
            if lines := found[0].count("\n"):
                self.line, self.line_at = self.line + lines, found.start() + found[0].rindex("\n") + 1
            self.at = found.end()
            if found.lastgroup != "space":
                self.kind, self.word = found.lastgroup, found[0]
                return
        self.kind, self.word = None, ""

    def wrong(self, message: str) -> NoReturn:
        """Stop reading here."""
        raise RecipeError(problems=[Diagnostic(message, self.place.line, self.place.col, "E603", "", self.file)])

    def value(self) -> Any:
        """One value: a number, a text, a list, a mapping, or a call."""
        kind, word, place = self.kind, self.word, self.place
        if kind is None:
            self.wrong("the text ends in the middle")
        if kind == "sign":
            return self.collected(word)
        self.take()
        if kind == "number":
            return float(word) if set(word) & set(".eE") else int(word)
        if kind == "text":
            return word[1:-1]
        if kind == "thing":
            return word
        if self.word == "(":
            return self.call(word, place)
        return _WORDS.get(word, word)

    def inside(self, opening: str) -> list[tuple[str | None, Any]]:
        """What stands up to the bracket that closes: values, with their keys."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.wrong(f"nested more than {MAX_DEPTH} levels deep")
        self.take()
        found: list[tuple[str | None, Any]] = []
        while self.word != _CLOSES[opening] or self.kind != "sign":
            item = self.value()
            if self.kind == "sign" and self.word in "=:":
                self.take()
                found.append((str(item), self.value()))
            else:
                found.append((None, item))
        self.take()
        self.depth -= 1
        return found

    def collected(self, opening: str) -> Any:
        if opening not in _CLOSES:
            self.wrong(f"{opening!r} is not expected here")
        found = self.inside(opening)
        return {key: value for key, value in found if key is not None} if opening == "{" else [v for _, v in found]

    def call(self, name: str, place: Place) -> Call:
        """A class with its arguments; version 1 prints those of RandomChoice behind it, in parentheses of their own."""
        items = self.inside("(")
        children = [value for key, value in items if key is None and isinstance(value, Call)]
        while self.kind == "sign" and self.word == "(":
            items += self.inside("(")
        args = {key: value for key, value in items if key is not None}
        listed = args.pop("transforms", None)
        if isinstance(listed, list):
            children += [each if isinstance(each, Call) else _thing(each, place) for each in listed]
        others = [value for key, value in items if key is None and not isinstance(value, Call)]
        children += [_thing(each, place) for each in others if name in ("Compose", "RandomApply")]
        if name == "RandomApply":
            args.setdefault("p", None)  # version 2 does not print it
        package = "torchvision.transforms" if name in PARAMETERS else ""
        return Call(name.rpartition(".")[2], args, tuple(children) or None, place, package)


def _thing(value: Any, place: Place) -> Call:
    """A function among the transforms."""
    return Call("Lambda", {}, None, place)
