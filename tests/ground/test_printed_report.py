"""Reports: within the width, with every word, in colour on terminals alone; and values as JSON."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from augrecipes.report import Note, Report, TextTable, to_plain

WORDS = (
    "limit: [-5, 5]",
    "arguments that take effect",
    "JoinedWarps(Rotate#1 + RandomCrop#1)",
    "fill: 0",
    "near",
    "猫",
)
STYLES = ("", "error", "good", "warning")


def random_report(rng: np.random.Generator) -> Report:
    def text(most: int) -> str:
        return " ".join(rng.choice(WORDS, rng.integers(most + 1)))

    def table(columns: int, rows: int) -> TextTable:
        right = {k for k in range(1, columns) if rng.random() < 0.6}
        cells = [
            [f"{rng.random():.3f} ± 0.001" if k in right else text(12) for k in range(columns)] for _ in range(rows)
        ]
        heads = [f"column {k}" for k in range(columns)]
        return TextTable(text(5), heads, cells, right, styles=[*rng.choice(STYLES, rows)], notes=[Note(text(30))])

    tables = [table(int(rng.integers(1, 9)), int(rng.integers(5))) for _ in range(3)]
    return Report({"recipe": text(3), "output": text(40)}, tables, [Note(text(30), "warning:", "warning")])


def characters_of(report: Report) -> Counter[str]:
    texts = [*report.facts.values(), *(note.text for note in report.notes)]
    for table in report.tables:
        texts += [table.title, *(cell for row in table.rows for cell in row), *(note.text for note in table.notes)]
    return Counter("".join(texts).replace(" ", ""))


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_reports_keep_within_the_width_and_lose_nothing(columns):
    from rich.cells import cell_len

    for seed in range(40):
        report = random_report(np.random.default_rng(seed))
        shown = report.text(columns)
        assert max(map(cell_len, shown.splitlines())) <= columns
        assert not any(line != line.rstrip() for line in shown.splitlines())
        assert Counter(shown) >= characters_of(report)
        coloured = report.text(columns, colour=True)
        assert re.sub(r"\x1b\[[0-9;]*m", "", coloured).replace(" ", "") == shown.replace(" ", "")


@dataclass
class Part:
    path: Path
    ratio: float
    hidden: int = field(default=3, compare=False)


def test_values_become_json():
    found = {"parts": (Part(Path("a"), float("nan")),), 3: {np.float32(0.5)}, "array": np.arange(2)}
    plain = {"parts": [{"path": "a", "ratio": None}], "3": [0.5], "array": [0, 1]}
    assert to_plain(found) == plain == json.loads(json.dumps(to_plain(found), allow_nan=False))
