"""What explanations and differences say, as reports for people."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from augrecipes.diff.differences import Difference, text
from augrecipes.errors import counted
from augrecipes.recipe.derive import ONE_BY_ONE
from augrecipes.report import Note, Report, TextTable

_DIGITS = 12  # of a digest: enough to tell recipes apart
_LISTED = 8  # hints and remarks that are printed; the others are counted
# Of a step that differs: the mark of its row, and its style.
_MARKS = {"added": ("+", "good"), "removed": ("-", "error"), "moved": (">", "warning"), "changed": ("~", "warning")}
_TITLES = {"train": "Training steps", "eval": "Evaluation steps"}


def of_explanation(found: Mapping[str, Any]) -> Report:
    """Returns what `Explanation.to_json()` holds as a report: facts, and a table for every list.

    >>> flip = {"site": "Flip#1", "depth": 0, "name": "Flip", "p": 0.5, "arguments": {"axis": "x", "fill": None}}
    >>> print(of_explanation({"recipe": "tiny", "digest": "0123456789abcdef", "steps": [flip], "stayed": []}).text())
    recipe: tiny
    digest: 0123456789ab
    <BLANKLINE>
    Steps, with the arguments that take effect
      step      p  arguments
      Flip#1  0.5  axis: x
    <BLANKLINE>
    Not merged or moved, and why
      none
    """
    facts = {key: text(value) for key, value in found.items() if not isinstance(value, list | tuple | Mapping)}
    timing = found.get("timing")
    if timing is not None:
        before, after = (f"{timing[which]['whole']:.3f} ms" for which in ("before", "after"))
        how = f"one thread, {timing['samples']} draws, {timing['rounds']} times each in turns"
        facts["measured"] = f"{timing['what']}, {how}"
        facts["ratio"] = f"{timing['ratio']:.2f} ± {timing['spread']:.2f}, {before} as written, {after} as planned"
    if "digest" in facts:
        facts["digest"] = facts["digest"][:_DIGITS]
    if facts.get("optimize") == "fast":
        facts["optimize"] = "fast (keeps the contracts below; augrecipes verify measures how far)"
    tables = []
    for key, rows in found.items():
        if isinstance(rows, list | tuple):
            title, *headings = _HEADINGS.get(key, (key.capitalize(), ""))
            cells = [tuple(cell) for row in rows for cell in _CELLS.get(key, _one)(row)]
            right = (1,) if key == "steps" else ()
            if timing is not None and key in _TIMED:
                rest = timing[_TIMED[key]]
                more = [("output conversion", rest["sink"]), ("overhead", rest["overhead"]), ("total", rest["whole"])]
                times = [*(row["ms"] for row in rows), *(ms for _, ms in more)]
                cells += [(what, *[""] * (len(headings) - 1)) for what, _ in more]
                cells = [(*cell[:-1], f"{ms:.3f}", cell[-1]) for cell, ms in zip(cells, times, strict=True)]
                headings, right = [*headings[:-1], "ms", headings[-1]], (*right, len(headings) - 1)
            tables.append(TextTable(title, headings if any(headings) else (), cells, right))
    return Report(facts, tables)


_TIMED = {"steps": "before", "plan": "after"}
_HEADINGS = {
    "steps": ("Steps, with the arguments that take effect", "step", "p", "arguments"),
    "shared": ("Shared random parameters", "", ""),
    "rules": ("Rules that fired", "rule", "contract", "what it did"),
    "plan": ("Plan", "step", "how it runs"),
    "stayed": ("Not merged or moved, and why", "", ""),
    "derived": ("Evaluation, derived from the training steps", "training", "evaluation, and why"),
}


def _step(row: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Children stand below their group, further in, so their label need not repeat the group's."""
    site = str(row["site"]).rpartition("/")[2]
    label = site if site.startswith(f"{row['name']}#") else f"{site} ({row['name']})"
    arguments = {name: value for name, value in row["arguments"].items() if value is not None}
    return [("  " * row["depth"] + label, f"{row['p']:g}", text(arguments))]


def _rule(row: Mapping[str, Any]) -> list[tuple[str, ...]]:
    found = [(str(row["rule"]), str(row["contract"]), f"{row['before']} → {row['after'] or 'nothing'}")]
    return [*found, ("", "", " ".join(row["equation"].split()))] if row["equation"] else [*found]


def _planned(row: Mapping[str, Any]) -> list[tuple[str, ...]]:
    return [(str(row["step"]), f"{row['runs']}{' = ' if row['stands_for'] else ''}{row['stands_for']}")]


def _derived(row: Mapping[str, Any]) -> list[tuple[str, ...]]:
    becomes = "" if row["why"] == ONE_BY_ONE else f"{', '.join(row['becomes']) or 'nothing'}: "
    return [("  " * row["depth"] + str(row["site"]).rpartition("/")[2], f"{becomes}{row['why']}")]


def _one(value: Any) -> list[tuple[str, ...]]:
    return [(text(value),)]


_CELLS: dict[str, Callable[[Any], list[tuple[str, ...]]]] = {
    "steps": _step, "rules": _rule, "plan": _planned, "derived": _derived,
    "shared": lambda row: [(str(row["site"]), str(row["how"]))],
    "stayed": lambda row: [(str(row["site"]), str(row["why"]))],
}  # fmt: skip


def of_difference(found: Difference) -> Report:
    """Returns a difference as a report.

    >>> from augrecipes.diff.differences import Change, ComparedRecipe
    >>> side = ComparedRecipe("tiny", "tiny.yaml", "0123456789abcdef")
    >>> layout = Change("output.layout", "chw", "hwc")
    >>> print(of_difference(Difference(side, side, ("train",), settings=(layout,), alike=3)).text())
    A: tiny · tiny.yaml · digest 0123456789ab
    B: tiny · tiny.yaml · digest 0123456789ab
    <BLANKLINE>
    Settings
      setting        what differs
      output.layout  chw → hwc
    <BLANKLINE>
    they differ: 1 setting; 3 steps are the same
    """
    facts = {
        name: f"{side.recipe} · {side.file} · digest {side.digest[:_DIGITS]}"
        for name, side in (("A", found.a), ("B", found.b))
    }
    settings = [(one.key, one.text) for one in found.settings]
    tables = [TextTable("Settings", ("setting", "what differs"), settings)]
    for mode in found.modes:
        steps = [one for one in found.steps if one.mode == mode]
        rows = [
            (_MARKS[one.what][0], one.site, one.draws if one.draws in ("kept", "changed") else "", one.text)
            for one in steps
        ]
        styles = [_MARKS[one.what][1] for one in steps]
        tables.append(TextTable(_TITLES[mode], ("", "step", "draws", "what differs"), rows, keys=2, styles=styles))
    tables += [_lines("To keep draws", found.hints), _lines("Not counted as differences", found.remarks)]
    same = f"{counted(found.alike, 'step')} {'is' if found.alike == 1 else 'are'} the same"
    counts = [counted(len(rows), word) for rows, word in ((found.settings, "setting"), (found.steps, "step")) if rows]
    verdict = f"they differ: {', '.join(counts)}; {same}" if counts else f"the same in effect: {same}"
    return Report(facts, [table for table in tables if table.rows], [Note(verdict, "", "strong" if counts else "good")])


def _lines(title: str, lines: Sequence[str]) -> TextTable:
    more = [f"and {len(lines) - _LISTED} more"] if len(lines) > _LISTED else []
    return TextTable(title, (), [(line,) for line in (*lines[:_LISTED], *more)])
