"""What the page asks for: JSON whose parts are looked at before anything is done with them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from augrecipes.errors import AugrecipesError, LintError, RecipeError
from augrecipes.recipe.limits import MAX_BYTES
from augrecipes.recipe.model import Mode, Optimize

MOST_DRAWS = 2_000  # samples × epochs of one request
MOST_SIZE = 4_096  # px of a picture that is shown smaller
MOST_TEXT = MAX_BYTES
_MOST_KEY = 1 << 62


class Refused(Exception):  # noqa: N818 - an answer, not a fault
    """A request that is not carried out, and what the page is told."""

    def __init__(self, status: int, code: str, message: str, cure: str = "", **more: Any) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.cure, self.more = status, code, message, cure, more

    def to_json(self) -> dict[str, Any]:
        """As every error of the studio looks."""
        return {"error": {"code": self.code, "message": self.message, "cure": self.cure}, **self.more}


def refusal(error: AugrecipesError) -> Refused:
    """What is wrong with a recipe or a file, as an answer."""
    if isinstance(error, RecipeError):
        first = error.problems[0].code if error.problems else "E100"
        lines = [f"{one.line}:{one.col} {one.code} {one.name}: {one.message}" for one in error.problems]
        kind = "lint" if isinstance(error, LintError) else first
        return Refused(422, kind, "\n".join(lines) or str(error), "mend what the editor underlines")
    return Refused(422, "data", str(error))


class RequestBody:
    """One request's JSON object.

    >>> RequestBody(b'{"text": "version: 1", "seed": 3}').integer("seed")
    3
    """

    def __init__(self, body: bytes) -> None:
        try:
            found = json.loads(body)
        except (ValueError, RecursionError):
            raise Refused(400, "json", "the request is no JSON") from None
        if not isinstance(found, dict):
            raise Refused(400, "json", "the request is no JSON object")
        self._found: dict[str, Any] = found

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> RequestBody:
        """An object inside a request."""
        made = cls.__new__(cls)
        made._found = dict(found)
        return made

    def text(self, key: str = "text") -> str:
        """A recipe's text, or another."""
        value = self._found.get(key)
        if not isinstance(value, str):
            raise Refused(400, "text", f"{key!r} must be text")
        if len(value) > MOST_TEXT:
            raise Refused(413, "too-large", f"a recipe is at most {MOST_TEXT:,} bytes")
        return value

    def integer(self, key: str, default: int = 0, least: int = 0, most: int = _MOST_KEY) -> int:
        """A whole number."""
        value = self._found.get(key, default)
        if type(value) is not int or not least <= value <= most:
            raise Refused(400, key, f"{key!r} must be a whole number from {least} to {most}, got {value!r:.80}")
        return value

    def integers(self, key: str, default: Sequence[int] = (0,), most: int = MOST_DRAWS) -> list[int]:
        """A list of whole numbers; one alone is a list of one."""
        value = self._found.get(key, list(default))
        value = [value] if type(value) is int else value
        fine = isinstance(value, list) and all(type(one) is int and 0 <= one <= _MOST_KEY for one in value)
        if not fine or not 1 <= len(value) <= most:
            raise Refused(400, key, f"{key!r} must be a list of 1 to {most} whole numbers")
        return list(value)

    def flag(self, key: str) -> bool:
        """true or false."""
        value = self._found.get(key, False)
        if not isinstance(value, bool):
            raise Refused(400, key, f"{key!r} must be true or false")
        return value

    def optimize(self) -> Optimize | None:
        """`none`, `exact`, `fast`; None: the recipe's own choice."""
        value = self._found.get("optimize")
        if value not in (None, *get_args(Optimize)):
            raise Refused(400, "optimize", f"'optimize' must be none, exact or fast, got {value!r:.80}")
        return value

    def mode(self) -> Mode:
        """`train` or `eval`."""
        value = self._found.get("mode", "train")
        if value not in get_args(Mode):
            raise Refused(400, "mode", f"'mode' must be train or eval, got {value!r:.80}")
        return value

    def names(self, key: str) -> list[str]:
        """A list of texts."""
        value = self._found.get(key, [])
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value) or len(value) > MOST_DRAWS:
            raise Refused(400, key, f"{key!r} must be a list of texts")
        return value

    def inner(self, key: str) -> RequestBody:
        """An object in it."""
        value = self._found.get(key)
        if not isinstance(value, dict):
            raise Refused(400, key, f"{key!r} must be an object")
        return RequestBody.of(value)

    def mapping(self, key: str) -> dict[str, Any]:
        """An object in it, as it is."""
        value = self._found.get(key, {})
        if not isinstance(value, dict):
            raise Refused(400, key, f"{key!r} must be an object")
        return value

    def value(self, key: str) -> Any:
        """Whatever there is."""
        return self._found.get(key)

    def has(self, key: str) -> bool:
        """Whether it is given."""
        return key in self._found
