"""The result of `diff`, as JSON (`Difference.to_json()`) and as the report that `augrecipes diff` prints."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from augrecipes.errors import counted
from augrecipes.recipe.model import Mode, Recipe
from augrecipes.recipe.words import text
from augrecipes.report import Displayed, Note, Report, TextTable, to_plain

What = Literal["added", "removed", "moved", "changed"]
Draws = Literal["kept", "changed", "none"]
_DIGITS = 12  # digits of a digest that the report shows
# The mark and the style of a row.
_MARKS = {"added": ("+", "good"), "removed": ("-", "error"), "moved": (">", "warning"), "changed": ("~", "warning")}
_TITLES = {"train": "Training steps", "eval": "Evaluation steps"}


@dataclass(frozen=True, slots=True)
class Change:
    """A value that differs.

    Attributes:
        key: an argument, or the path of a setting, such as `output.dtype`.
        a: the effective value in the first recipe; None where it has none.
        b: the effective value in the second recipe; None where it has none.
    """

    key: str
    a: Any
    b: Any

    @property
    def text(self) -> str:
        """The old and the new value.

        >>> Change("p", 0.5, None).text
        '0.5 → none'
        """
        values = (self.a, self.b)
        return " → ".join(
            "none" if value is None else f"{{{text(value)}}}" if isinstance(value, Mapping) else text(value)
            for value in values
        )


@dataclass(frozen=True, slots=True)
class Placed:
    """A step of one of the recipes.

    Attributes:
        site: the step's label, which keys its draws.
        name: the step's class.
        place: positions, from 1, in its section and in each group around it.
        behind: label of the step before it in its list; None: it is the first.
        line: its line in the file; 0: it has none.
        arguments: its effective arguments, including `p`.
    """

    site: str
    name: str
    place: tuple[int, ...]
    behind: str | None
    line: int
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StepDifference:
    """A step that differs.

    Attributes:
        mode: the step's section.
        what: `added`, `removed`, `moved` (with or without changes), or `changed` in place.
        a: the step in the first recipe; None: it was added.
        b: the step in the second recipe; None: it was removed.
        changes: arguments that differ.
        draws: `kept` or `changed`: whether the key of its draws is the same; `none`: it draws nothing. None: the step
            is in one recipe only.
    """

    mode: Mode
    what: What
    a: Placed | None
    b: Placed | None
    changes: tuple[Change, ...] = ()
    draws: Draws | None = None

    @property
    def site(self) -> str:
        """The step's label, or both labels where they differ."""
        return " → ".join(dict.fromkeys(placed.site for placed in (self.a, self.b) if placed is not None))

    @property
    def text(self) -> str:
        """The changes of the step, or its new place, in words."""
        placed = self.b or self.a
        if placed is not None and (self.a is None or self.b is None):
            arguments = {name: value for name, value in placed.arguments.items() if value is not None}
            return f"{self.what} at {_dotted_place(placed.place)}: {text(arguments)}"
        parts = [f"{change.key}: {change.text}" for change in self.changes]
        if self.what == "moved" and self.a and self.b:
            now = f"behind {self.b.behind}" if self.b.behind else "to the front"
            parts.insert(0, f"moved {now}, from {_dotted_place(self.a.place)} to {_dotted_place(self.b.place)}")
        return ", ".join(parts) or "another label, so other draws"


@dataclass(frozen=True, slots=True)
class ComparedRecipe:
    """One of the recipes: its name, its file, and the digest of what it does."""

    recipe: str
    file: str
    digest: str


@dataclass(frozen=True, slots=True)
class Difference(Displayed):
    """The differences of two recipes.

    Attributes:
        a: the first recipe.
        b: the second recipe.
        modes: the sections that were compared.
        settings: differences of kind, scales, bag, inputs and output, and of sections that one recipe lacks.
        steps: differences of steps in reading order; a removed step is where it was.
        alike: number of steps that are the same.
        remarks: differences that change no sample.
        pictured: the recipes themselves, to draw their results.
    """

    a: ComparedRecipe
    b: ComparedRecipe
    modes: tuple[Mode, ...]
    settings: tuple[Change, ...] = ()
    steps: tuple[StepDifference, ...] = ()
    alike: int = 0
    remarks: tuple[str, ...] = ()
    pictured: tuple[Recipe, ...] = field(default=(), compare=False)

    def __repr__(self) -> str:
        what = self._counts or "the same in effect"
        return f"<Difference of {self.a.recipe} and {self.b.recipe}: {what}; {self.alike} alike>"

    @property
    def _counts(self) -> str:
        counts = [(self.settings, "setting"), (self.steps, "step")]
        return ", ".join(counted(len(differing), word) for differing, word in counts if differing)

    @property
    def same(self) -> bool:
        """Whether both make the same samples from the same input, seed, epoch and index, under one `optimize`."""
        return not self.settings and not self.steps

    def to_json(self) -> dict[str, Any]:
        """The attributes and `same` as plain dicts, lists, strings, numbers and None."""
        return {"same": self.same, **to_plain(self)}

    def report(self) -> Report:
        """The difference as a report.

        >>> side = ComparedRecipe("tiny", "tiny.yaml", "0123456789abcdef")
        >>> layout = Change("output.layout", "chw", "hwc")
        >>> print(Difference(side, side, ("train",), settings=(layout,), alike=3).report().text())
        A: tiny · tiny.yaml · digest 0123456789ab
        B: tiny · tiny.yaml · digest 0123456789ab
        <BLANKLINE>
        Settings
          setting        what differs
          output.layout  chw → hwc
        <BLANKLINE>
        they differ: 1 setting; 3 steps are the same
        """
        sides = {"A": self.a, "B": self.b}.items()
        facts = {name: f"{side.recipe} · {side.file} · digest {side.digest[:_DIGITS]}" for name, side in sides}
        settings = [(change.key, change.text) for change in self.settings]
        tables = [TextTable("Settings", ("setting", "what differs"), settings)]
        for mode in self.modes:
            rows, styles = [], []
            for step in (step for step in self.steps if step.mode == mode):
                mark, style = _MARKS[step.what]
                rows.append((mark, step.site, step.draws if step.draws in ("kept", "changed") else "", step.text))
                styles.append(style)
            headings = ("", "step", "draws", "what differs")
            tables.append(TextTable(_TITLES[mode], headings, rows, keys=2, styles=styles))
        tables.append(TextTable("Not counted as differences", (), [(line,) for line in self.remarks]))
        alike = f"{counted(self.alike, 'step')} {'is' if self.alike == 1 else 'are'} the same"
        verdict = f"they differ: {self._counts}; {alike}" if self._counts else f"the same in effect: {alike}"
        notes = [Note(verdict, "", "good" if self.same else "strong")]
        return Report(facts, [table for table in tables if table.rows], notes)


def _dotted_place(place: Sequence[int]) -> str:
    return ".".join(map(str, place))
