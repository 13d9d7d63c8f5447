"""The page of a trial: one file that runs nothing, whatever things are called; and the sheets on it."""

import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from records import HOSTILE, ablation, result, trial_of, trials, two

import augrecipes as ar
from augrecipes.bench.report import LIGHT
from augrecipes.bench.scales import LinearScale, has_place
from augrecipes.bench.sides import Setting
from augrecipes.errors import BenchError
from augrecipes.preview.display import resize_to
from augrecipes.preview.sheet import save_sheet
from augrecipes.recipe.parse import parse_text
from augrecipes.trials import tables
from augrecipes.trials.page import page, worst_sheet, write_page
from augrecipes.trials.record import Trial

sys.path.append(str(Path(__file__).parents[1] / "bench"))
from small_data import KINDS, Page, kind_data

EVERY = {"verdicts", "scores", "curves", "affinity", "classes", "method"}


@given(trials())
def test_any_trial_has_a_page(trial: Trial) -> None:
    text = page(trial, {})
    read = Page(text)
    assert read.faults == []
    assert not {"img", "script"} & set(read.tags)
    assert not re.search(r"\b(nan|inf)\b", "".join(re.findall(r' (?:style|points|d)="([^"]*)"', text)))


def test_all_of_a_trial_is_on_its_page() -> None:
    trial = replace(two(), notes=("eval sections differ",))
    read = Page(page(trial, {}))
    assert set(read.ids) == EVERY
    shown = read.text_shown
    order = [tables.headline(trial), *tables.verdict_lines(trial), "87.5 (86.6–88.3)", "training loss", "affinity"]
    places = [shown.index(words) for words in order]
    assert places == sorted(places)
    for one in trial.recipes:
        for estimate in (one.affinity, one.diversity):
            assert tables.estimate_text(estimate) in shown
        assert tables.estimate_text(one.score, "") in shown
        assert all(f"{100 * score:.1f}" in shown for score in one.classes.values())
        assert one.text.strip() in shown.replace(" steps", "\nsteps").replace(" recipe:", "\nrecipe:")
    for words in (trial.data, trial.valid, trial.network, trial.machine, *trial.notes, "3.4 %", "1,234"):
        assert words in shown
    assert "default-src 'none'" in read.text


def test_what_was_not_measured_has_no_section() -> None:
    bare = [replace(result(name, 0.8, classes=0), affinity=None, diversity=None, curve=()) for name in "ab"]
    assert set(Page(page(trial_of(*bare), {})).ids) == EVERY - {"curves", "classes"}
    alone = Page(page(trial_of(bare[0]), {}))
    assert "verdicts" not in alone.ids
    assert "Diversity ↑" not in alone.text_shown


def test_undecided_pairs_have_a_sentence_and_no_track() -> None:
    few = Page(page(trial_of(*(result(name, 0.8, seeds=3) for name in "ab")), {}))
    assert "3 seeds cannot decide 1 pair; it takes 6" in few.text_shown
    assert "Differences of" not in few.text_shown
    text = page(ablation(), {})
    assert text.count('<li class="sure">') == 4
    assert text.count("no difference seen with and without") >= 8


def test_names_are_no_markup(tmp_path: Path) -> None:
    recipe, data = kind_data("image", tmp_path)
    dataset = ar.ImageFolder(data, recipe, mode="eval")

    def read(more: str) -> Page:
        results = [replace(result(f"{name}{more}", level, worst=3), text=more, digest=more) for name, level in NAMED]
        words = {key: f"{key}{more}" for key in ("data", "valid", "network", "machine", "metric")}
        poisoned = [replace(one, classes={f"{key}{more}": v for key, v in one.classes.items()}) for one in results]
        trial = trial_of(*poisoned, notes=(f"note{more}",), **words)
        return Page(page(trial, {one.name: worst_sheet(one, dataset) for one in results}))

    hostile = read(HOSTILE)
    assert hostile.faults == []
    assert hostile.tags == read("").tags
    assert HOSTILE in hostile.text_shown
    assert len(hostile.images) == 2


NAMED = (("one", 0.9), ("two", 0.8))


def quick(trial: Trial) -> Trial:
    """A trial of so few minutes that bench is quick."""
    return replace(trial, plan=replace(trial.plan, minutes=0.1))


def test_the_page_has_both_parts(tmp_path: Path) -> None:
    recipe, data = kind_data("image", tmp_path / "data")
    recipes, dataset = {"strong": recipe, "weak": recipe}, ar.ImageFolder(data, recipe, mode="eval")
    trial = quick(trial_of(*(result(name, level, worst=2) for name, level in (("strong", 0.9), ("weak", 0.8)))))
    (tmp_path / "report").mkdir()
    (tmp_path / "report" / "mine.txt").write_text("mine")
    written = write_page(trial, tmp_path / "report", dict.fromkeys(recipes, dataset), recipes, Setting(data))
    read = Page(written.read_text(encoding="utf-8"))
    assert read.faults == []
    assert {*EVERY, "worst", "bench", "speed", "stages", "effects", "samples", "recipes", "machine"} <= set(read.ids)
    assert read.ids.index("method") < read.ids.index("bench") < read.ids.index("speed")
    assert {f"#{name}" for name in read.ids if name not in ("verdicts", "answer", "bench")} <= set(read.links)
    assert {link for link in read.links if link[0] != "#"} == {"trial.json", "bench.json"}
    assert sorted(file.name for file in written.parent.iterdir()) == [
        "bench.json", "index.html", "mine.txt", "trial.json"
    ]  # fmt: skip
    assert json.loads((written.parent / "trial.json").read_text()) == json.loads(json.dumps(trial.to_json()))
    assert len(read.images) == 3


def test_without_the_data_what_was_learned_is_reported_all_the_same(tmp_path: Path) -> None:
    recipe, _ = kind_data("image", tmp_path / "data")
    gone = Setting(tmp_path / "gone")
    read = Page(write_page(quick(two()), tmp_path / "report", {}, {"strong": recipe}, gone).read_text())
    assert read.faults == []
    assert set(read.ids) == EVERY
    assert "speed and effects are not known:" in read.text_shown
    (tmp_path / "file").write_text("")
    with pytest.raises(BenchError, match="is a file"):
        write_page(two(), tmp_path / "file", {}, {"strong": recipe}, gone)


@pytest.mark.parametrize("kind", [*KINDS, "mask"])
def test_sheets_of_the_worst_samples(kind: str, tmp_path: Path) -> None:
    recipe, data = kind_data("image" if kind == "mask" else kind, tmp_path / "data")
    more: dict[str, Any] = {}
    if kind == "mask":
        recipe = parse_text("version: 1\nrecipe: it\ninputs: {mask: required}\nsteps: [HorizontalFlip]\neval: []\n")
        more = {"masks": tmp_path / "masks"}
        for k in range(4):
            save_sheet(np.eye(48, dtype=np.uint8)[..., None].repeat(3, axis=2), tmp_path / "masks" / f"{k}.png")
    dataset = {"pair": ar.PairedImages, "bag": ar.TileBags}.get(kind, ar.ImageFolder)(data, recipe, mode="eval", **more)
    one = result("it", 28.4 if kind == "pair" else 0.8, classes=0 if kind in ("pair", "mask") else 4, worst=3)
    groups = worst_sheet(one, dataset).rows[0].groups
    assert [group.header for group in groups] == ["000.png", "001.png", "002.png"]
    notes = {"pair": "0.12 dB", "mask": "12.5 %"}.get(kind, "cat → dog · 1 of 8 right")
    assert groups[1].notes == [notes]
    captions = [cell.caption for cell in groups[1].cells]
    assert captions == {"pair": ["hr 64×64", "lr 32×32"], "bag": ["", ""]}.get(kind, [""])
    assert worst_sheet(one, dataset).pixels.shape[1] <= 620
    cell = groups[0].cells[0]
    over = np.abs(cell.at((48, 48)).astype(int) - resize_to(cell.image, (48, 48)))
    assert (over.any(axis=2) & np.eye(48, dtype=bool)).any() == (kind == "mask")


def test_what_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    recipe, data = kind_data("image", tmp_path)
    dataset = ar.ImageFolder(data, recipe, mode="eval")
    Path(dataset.path(1)).write_bytes(b"no image")
    sheet = worst_sheet(result("it", 0.8, worst=3), dataset)
    assert [group.header for group in sheet.rows[0].groups] == ["000.png", "002.png"]
    assert Path(dataset.path(1)).name in sheet.footers[0]
    none = worst_sheet(result("it", 0.8, worst=0), dataset)
    assert (none.rows, Page(page(two(), {"it": none})).images) == ([], [])


@given(trials())
def test_scales_hold_their_values(trial: Trial) -> None:
    values = [point.score for one in trial.recipes for point in one.curve]
    scale = LinearScale(values, 100)
    assert all(0 <= scale.place(value) <= 100 for value in values if has_place(value))
    assert 1 <= len(scale.ticks()) <= 6
    assert all(0 <= place <= 100 for place, _ in scale.ticks())


def test_colours_are_those_of_the_style_sheet() -> None:
    used = set(re.findall(r"var\(--([\w-]+)\)", page(two(), {})))
    assert used - {"share", "fill", "on", "depth"} <= set(LIGHT)
