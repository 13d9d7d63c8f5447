"""The pages that commands and notebooks write, as axe-core reads them by day and by night."""

import sys
from pathlib import Path
from typing import Any

from studio_pages import SERIOUS, Tab

import augrecipes as ar
from augrecipes.bench.report import write_report
from augrecipes.bench.run import Options, bench
from augrecipes.bench.sides import Setting
from augrecipes.notebook.pages import html_of
from augrecipes.trials.page import page

sys.path.append(str(Path(__file__).parents[1] / "trials"))
from records import ablation, two


def test_axe_finds_nothing_serious(tab: Tab, photos: Path, file: Path, tmp_path: Path) -> None:
    recipes = {name: ar.load(file) for name in "ab"}
    setting = Setting(str(photos))
    found = bench(recipes, setting, Options(["none", "fast"], samples=2, batch_size=2, seconds=0.01))
    written = [write_report(found, tmp_path / "bench", recipes, setting)]
    notebook = f"<!doctype html><html lang=en><title>x</title><main><h1>x</h1>{html_of(recipes['a'])}{html_of(found)}"
    for name, text in (("trial", page(two(), {})), ("ablation", page(ablation(), {})), ("notebook", notebook)):
        written.append(tmp_path / f"{name}.html")
        written[-1].write_text(text, encoding="utf-8")
    serious: list[Any] = []
    for path in written:
        for theme in ("light", "dark"):
            for width in (1200, 360):
                tab.page.emulate_media(color_scheme=theme)
                tab.page.set_viewport_size({"width": width, "height": 800})
                tab.page.goto(path.as_uri())
                tab.load_axe()
                serious += [[path.name, theme, width, *each] for each in tab.page.evaluate(SERIOUS)]
    assert serious == []
