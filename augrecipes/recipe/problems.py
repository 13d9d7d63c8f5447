"""The list that every part of the language writes its findings into, so that all of them are reported at once."""

from __future__ import annotations

from augrecipes.errors import Diagnostic, RecipeError, Severity
from augrecipes.recipe.model import Position
from augrecipes.recipe.nodes import Place, short
from augrecipes.recipe.spelling import NO_HINT, Fix, Hint

MOST = 100


class Stop(Exception):  # noqa: N818 - control flow, never seen outside
    """Nothing more can be found: the file cannot be read further."""


def noted(
    file: str, place: Position, message: str, code: str, name: str, severity: Severity, fixes: tuple[Fix, ...] = ()
) -> Diagnostic:
    """What a lint says of a place in the recipe `file`, which may extend the file that the place is in."""
    if place.origin and place.origin[1]:
        message += " (in {}:{}:{}, which this recipe extends)".format(*place.origin)
    return Diagnostic(message, place.line or 1, place.col or 1, code, name, file, severity, fixes)


class Problems:
    """Findings, in the order in which they were made."""

    def __init__(self) -> None:
        self._found: list[Diagnostic] = []
        self._notes: list[Diagnostic] = []
        self._full = False

    def add(self, code: str, place: Place, message: str, name: str = "", hint: Hint = NO_HINT) -> None:
        """Note one problem, with the way out. What has no line, such as a missing file, stands at 1:1.

        Raises:
            Stop: there are too many; nobody reads on, and looking for likely names takes time.
        """
        line, col = place.line or 1, place.col or 1
        message = short(message + hint.text, 400)
        found = Diagnostic(message, line, col, code, short(name, 80), place.file, fixes=hint.fixes)
        if found in self._found:
            return
        if any(f.code == "E115" and (f.file, f.line, f.col) == (place.file, line, col) for f in self._found):
            return  # a number that cannot be used is wrong once, not also too small
        if len(self._found) >= MOST:
            self._full = True
            raise Stop
        self._found.append(found)

    def note(self, found: Diagnostic) -> None:
        """Say something beside the problems: it is none, and alone it is not shown."""
        self._notes.append(found)

    def stop(self, code: str, place: Place, message: str, name: str = "", hint: Hint = NO_HINT) -> Stop:
        """Note one problem after which reading cannot go on: `raise problems.stop(...)`."""
        self.add(code, place, message, name, hint)
        return Stop()

    def __len__(self) -> int:
        return len(self._found)

    def __bool__(self) -> bool:
        return bool(self._found)

    def since(self, count: int) -> tuple[Diagnostic, ...]:
        """The problems after the first `count`, in the order in which they were found."""
        return tuple(self._found[count:])

    def all(self) -> tuple[Diagnostic, ...]:
        """Every problem, in file order."""
        found = sorted([*self._found, *self._notes], key=lambda d: (d.file, d.line, d.col)) if self._found else []
        if self._full:
            last = found[-1]
            message = "more problems are not shown; mend these first"
            found.append(Diagnostic(message, last.line, last.col, "E116", file=last.file))
        return tuple(found)

    def error(self) -> RecipeError:
        """All of them as one exception."""
        return RecipeError(problems=self.all())
