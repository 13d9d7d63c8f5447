"""What a trial says of glyphs whose truth is known: shifts help, mirrors and half turns hurt.

python benchmarks/trial.py            prints
python benchmarks/trial.py --write    prints, writes the section `trial` of benchmarks/RESULTS.md, and docs/trial*.jpg
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from harness import Row, run
from images import DOCS, write_cells

import augrecipes as ar
from augrecipes.demo.glyphs import GLYPHS, RECIPES
from augrecipes.demo.tissue import CLASSES, LABORATORIES, render_tile
from augrecipes.sources.files import read_image
from augrecipes.trials.page import page, worst_sheet
from augrecipes.trials.record import Trial
from augrecipes.trials.run import TrialRun
from augrecipes.trials.tables import estimate_text, figures, plan_lines, verdict_lines

_MINUTES, _SEEDS = 2, 8
_METHOD = f"""\
`ar.draw_glyphs` draws 240 images to learn from and 240 to score; `augrecipes trial` compares the four recipes that come
with them in {_MINUTES} minutes and {_SEEDS} seeds, and then random flips with alternating flips, on tiles of drawn
tissue, with the default number of threads. Scores are accuracy in per cent, with 95 % intervals over the
seeds."""


def main() -> None:
    run(__file__, __doc__ or "", "A trial of recipes", _METHOD, {"glyphs": _glyphs, "alternate": _alternate})


def _glyphs(options: Any) -> Iterator[Row | str]:
    root = ar.draw_glyphs(options.folder)
    how = {"minutes": 0.3, "seeds": 2} if options.quick else {"minutes": _MINUTES, "seeds": _SEEDS}
    compared = TrialRun([root / path.name for path in RECIPES], root / "train", root / "valid", **how, fresh=True)
    yield from _rows(compared.trial)
    if options.write and not options.quick:
        _draw(root, compared)


def _alternate(options: Any) -> Iterator[Row | str]:
    """Flips that are drawn, and flips that alternate over epochs, on drawn tissue that has no left or right."""
    train, valid = (
        [(_tile(label, k, seed), label) for label in range(3) for k in range(n)] for seed, n in ((0, 60), (1, 150))
    )
    flips = {"drawn flips": "HorizontalFlip", "alternating flips": {"HorizontalFlip": {"draws": "alternate"}}}
    recipes = {name: {"version": 1, "recipe": "flips", "steps": [step], "eval": []} for name, step in flips.items()}
    how = {"minutes": 0.3, "seeds": 2} if options.quick else {"minutes": _MINUTES, "seeds": _SEEDS}
    yield from _rows(ar.trial(recipes, train, valid, **how, fresh=True))


def _tile(label: int, number: int, seed: int) -> np.ndarray:
    return render_tile(
        CLASSES[label], (48, 48), LABORATORIES[number % 4], np.random.default_rng((label, number, seed))
    ).image


def _rows(trial: Trial) -> Iterator[Row | str]:
    for one in trial.recipes:
        ratios = (figures("ratio", ratio.mean)[0] if ratio else "–" for ratio in (one.affinity, one.diversity))
        yield Row(one.name, estimate_text(one.score, ""), "affinity {}, diversity {}".format(*ratios), "")
    lines = [*plan_lines(trial.plan), *verdict_lines(trial), *trial.notes, f"{trial.seconds:.0f} s in all"]
    yield "\n".join(f"- {line}" for line in lines)


def _draw(root: Path, compared: TrialRun) -> None:
    """The glyphs, the worst ones of a recipe, and the page, where a Chromium is installed."""
    rows = []
    for split, what in (("train", "to learn from"), ("valid", "to score with")):
        cells = [read_image(root / split / kind / "glyph-001.png") for kind in GLYPHS]
        rows.append([(what if not k else "", cell) for k, cell in enumerate(cells)])
    write_cells(DOCS / "trial-glyphs.jpg", "6, 9, b, d, p and q", rows)
    sheets = {one.name: worst_sheet(one, compared.valid[one.name]) for one in compared.trial.recipes}
    _write("trial-worst.jpg", sheets["mirrors"].pixels[..., ::-1])
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is not None:
        html, shot = root / "page.html", root / "page.png"
        named = replace(compared.trial, data="glyphs/train", valid="glyphs/valid")
        html.write_text(page(named, {}), encoding="utf-8")
        command = [browser, "--headless", "--no-sandbox", "--hide-scrollbars", "--window-size=980,815"]
        subprocess.run([*command, f"--screenshot={shot}", html.as_uri()], check=True, capture_output=True)
        _write("trial.jpg", cv2.imread(str(shot)))


def _write(name: str, image: Any) -> None:
    """A picture of the docs, small enough for a page."""
    small = cv2.resize(image, None, fx=0.8, fy=0.8, interpolation=cv2.INTER_AREA)
    cv2.imwrite(str(DOCS / name), small, [cv2.IMWRITE_JPEG_QUALITY, 65])


if __name__ == "__main__":
    main()
