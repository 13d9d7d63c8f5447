"""The problems of a recipe, all reported at once, with hints: likely names, and edits of the text."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from augrecipes.errors import NO_HINT, Diagnostic, Fix, Hint, RecipeError, Severity
from augrecipes.recipe.model import Position
from augrecipes.recipe.nodes import Place, short


def near(name: str, valid: Iterable[str]) -> Hint:
    """A hint that replaces `name` by the nearest name of `valid`; empty when none is near."""
    likely = nearest(name, valid)
    return hint_at(likely, repr(likely)) if likely else NO_HINT


def hint_at(name: str, shown: str = "") -> Hint:
    """A hint that suggests one name."""
    return Hint(f"; did you mean {shown or name}?", (Fix("word", name),))


def nearest(name: str, valid: Iterable[str]) -> str | None:
    """The valid name with the nearest spelling; letter case and underscores count least.

    >>> nearest("hieght", ["height", "width"]), nearest("zzz", ["height"])
    ('height', None)
    """
    if len(name) > 60:
        return None
    most, folded = max(1, (len(name) + 1) // 3), _fold(name)
    folds = ((word, _fold(word)) for word in valid)
    distances = [(distance(folded, other), word) for word, other in folds if abs(len(other) - len(folded)) <= most]
    edits, best = min(distances, key=lambda pair: pair[0], default=(most + 1, None))
    return best if edits <= most else None


def _fold(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")


def distance(a: str, b: str) -> int:
    """The number of edits between two words; swapping neighbours is one edit (optimal string alignment).

    >>> distance("hieght", "height"), distance("sise", "size"), distance("", "ab")
    (1, 1, 2)
    """
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, last, row = row, before, [i]
        for j, y in enumerate(b, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
    return row[-1]


MOST = 100


class Stop(Exception):  # noqa: N818 - control flow, never seen outside
    """The file cannot be read further; its problems are noted."""


def lint_note(
    file: str, place: Position, message: str, code: str, name: str, severity: Severity, fixes: tuple[Fix, ...] = ()
) -> Diagnostic:
    """The diagnostic of a lint at a place of the recipe `file`, which may extend the file of that place."""
    if place.origin and place.origin[1]:
        message += " (in {}:{}:{}, which this recipe extends)".format(*place.origin)
    return Diagnostic(message, place.line or 1, place.col or 1, code, name, file, severity, fixes)


class Problems:
    """Collects the problems of a recipe."""

    def __init__(self) -> None:
        self._found: list[Diagnostic] = []
        self._full = False

    def add(self, code: str, place: Place, message: str, name: str = "", hint: Hint = NO_HINT) -> None:
        """Note one problem with its hint. A problem without a line, such as a missing file, is placed at 1:1.

        Raises:
            Stop: there are too many problems to read, and each search for likely names takes time.
        """
        line, col = place.line or 1, place.col or 1
        message = short(message + hint.text, 400)
        problem = Diagnostic(message, line, col, code, short(name, 80), place.file, fixes=hint.fixes)
        if problem in self._found:
            return
        if any(f.code == "E115" and (f.file, f.line, f.col) == (place.file, line, col) for f in self._found):
            return  # an unusable number is one problem, not also too small
        if len(self._found) >= MOST:
            self._full = True
            raise Stop
        self._found.append(problem)

    def note(self, problem: Diagnostic) -> None:
        """Add a diagnostic as it is."""
        self._found.append(problem)

    def stop(self, code: str, place: Place, message: str, name: str = "", hint: Hint = NO_HINT) -> Stop:
        """Note a problem after which reading cannot go on: `raise problems.stop(...)`."""
        self.add(code, place, message, name, hint)
        return Stop()

    def __len__(self) -> int:
        return len(self._found)

    def all(self) -> tuple[Diagnostic, ...]:
        """Every problem, in file order."""
        problems = sorted(self._found, key=lambda d: (d.file, d.line, d.col))
        if self._full:
            last = problems[-1]
            message = "more problems are not shown; mend these first"
            problems.append(Diagnostic(message, last.line, last.col, "E116", file=last.file))
        return tuple(problems)

    def error(self) -> RecipeError:
        """All problems as one exception."""
        return RecipeError(problems=self.all())


@contextmanager
def reported() -> Iterator[Problems]:
    """A context that collects problems and raises them as one RecipeError at its end; Stop ends it early."""
    problems = Problems()
    with suppress(Stop):
        yield problems
    if problems:
        raise problems.error()
