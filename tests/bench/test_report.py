"""The report: one page that needs nothing else and trusts no name, and the record next to it."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_data import KINDS, Page, kind_data, swept, trained

import augrecipes as ar
from augrecipes.bench import report as pages
from augrecipes.bench.gate import Judgement, judge, open_baseline
from augrecipes.bench.record import Bench, write
from augrecipes.bench.report import (
    LIGHT,
    headline,
    page,
    rows_of,
    samples_sheet,
    sides_in_order,
    stage_bars,
    usable_folder,
    write_report,
)
from augrecipes.bench.run import Options, bench
from augrecipes.bench.sides import Setting
from augrecipes.bench.timing import Ratio
from augrecipes.bench.verdicts import figure, verdict
from augrecipes.errors import BenchError
from augrecipes.preview.display import rgb_of_output

LEVELS = {"one": "exact", "two": "exact"}
ALWAYS = {"answer", "speed", "stages", "samples", "plans", "recipes", "machine"}
HOSTILE = "</style><script>alert(1)</script><img src=x onerror=alert(2)>\"'&{{ 7 * 7 }}"
Made = tuple[Bench, Any, Setting]


def quick(**more: Any) -> Options:
    return Options(["none", "exact"], samples=4, batch_size=2, seconds=0.01, **more)


def compared(kind: str, root: Path, options: Options, *names: str) -> Made:
    recipe, data = kind_data(kind, root)
    recipes = dict.fromkeys(names, recipe)
    setting = Setting(data)
    return bench(recipes, setting, options), recipes, setting


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Two recipes compared with stock, with their effects and without each step."""
    return compared("image", tmp_path_factory.mktemp("images"), quick(stock=True, ablate=True), "one", "two")


def whole(found: Bench) -> Bench:
    """With a sweep and training steps."""
    names = [recipe.name for recipe in found.recipes]
    return replace(found, sweep=swept(names), training=trained(names))


@pytest.fixture(scope="module")
def report(made: Made) -> dict[str, Any]:
    """What is recorded, with a sweep and training steps."""
    return whole(made[0]).to_json()


def paged(report: dict[str, Any], judgement: Judgement | None = None, samples: Any = "none here") -> Page:
    return Page(page(report, samples, judgement))


@pytest.mark.parametrize("kind", KINDS)
def test_a_report_of_every_kind(kind: str, tmp_path: Path) -> None:
    found, recipes, setting = compared(kind, tmp_path / "data", quick(), "one", "two")
    folder = tmp_path / "made" / "report"
    text = write_report(found, folder, recipes, setting).read_text(encoding="utf-8")
    read = Page(text)
    assert read.faults == []
    assert len(text) < 2_000_000
    assert "default-src 'none'; style-src 'unsafe-inline'; img-src data:" in text
    assert set(read.ids) == ALWAYS | {"effects"} | ({"fidelity"} if kind == "pair" else set())
    assert [uri.partition(",")[0] for uri in read.images] == ["data:image/jpeg;base64"]
    record = json.loads((folder / "bench.json").read_text(encoding="utf-8"))
    assert record == json.loads(json.dumps(found.to_json()))
    assert sorted(file.name for file in folder.iterdir()) == ["bench.json", "index.html"]
    assert {link for link in read.links if link[0] != "#"} == {"bench.json"}


def test_the_answer_comes_first_and_all_figures_are_in_tables(report: dict[str, Any]) -> None:
    shown = paged(report).text_shown
    assert shown.index(headline(report)) < shown.index("samples/s")
    assert shown.count("Of a training step so much is waiting: 30 % with 2 threads Recommended: 2 threads") == 2
    for one in report["verdicts"]:
        assert one["text"] in shown
    for side in report["sides"]:
        assert side["bottleneck"].partition(":")[2].strip() in shown or side["level"] != "exact"
        for stage in side["stages"]:
            assert figure(stage["ms"], stage["mad"]) in shown
    assert "30.0 %" in shown  # of a training step is loading
    assert 'ar.loader(ds, 2, backend="threads", num_workers=2)' in shown
    assert "left out: three processes: there are two cores" in shown


def test_sections_are_there_where_there_is_something(report: dict[str, Any]) -> None:
    assert set(paged(report).ids) == ALWAYS | {"effects", "ablations", "workers", "training"}
    bare = {**report, "sweep": None, "training": []}
    bare["recipes"] = [{**recipe, "effects": None, "ablations": []} for recipe in report["recipes"]]
    assert set(paged(bare).ids) == ALWAYS


def test_the_gate_is_shown(made: Made, tmp_path: Path) -> None:
    found = made[0]
    write(found, tmp_path / "then.json")
    then = open_baseline(tmp_path / "then.json")
    elsewhere = replace(then, features="x86_64 SSE SSE2")
    assert "a processor of another family, x86_64 (here" in judge(elsewhere, found, 0.15).warnings[0]
    assert judge(then, found, 0.15).warnings == ()
    read = paged(found.to_json(), judge(then, replace(found, samples=found.samples + 1), 0.15))
    assert read.faults == []
    assert "gate" in read.ids
    assert "More than 15 % slower fails" in read.text_shown
    assert f"samples was {found.samples} then and is {found.samples + 1} now" in read.text_shown


_OURS = {"kind", "backend", "level", "mode", "date"}  # words that are ours to choose
_NAMES = {"recipe", "one", "other"}  # hostile already, and the same everywhere


def poisoned(value: Any, key: str = "") -> Any:
    """Every text of a record that a user, a file or an error may have written, made hostile."""
    if isinstance(value, dict):
        known = {*_NAMES, "name"} if "text" in value or "share" in value else _NAMES
        return {k: v if k in known else poisoned(v, k) for k, v in value.items()}
    if isinstance(value, list):
        return [poisoned(part, key) for part in value]
    return value + HOSTILE if value and isinstance(value, str) and key not in _OURS else value


def test_names_are_no_markup(report: dict[str, Any], made: Made, tmp_path: Path) -> None:
    names = [f"{name} {HOSTILE}" for name in ("one", "two")]
    found, recipes, setting = compared("image", tmp_path, quick(stock=True, ablate=True), *names)
    bad, plain = whole(replace(found, busy="it was")).to_json(), {**report, "busy": "it was"}
    clean = paged(plain, samples=samples_sheet(made[1], made[2], LEVELS))
    read = paged(poisoned(bad), samples=samples_sheet(recipes, setting, dict.fromkeys(names, "exact")))
    assert read.faults == []
    assert read.tags == clean.tags
    assert HOSTILE in read.text_shown


def test_a_folder_that_is_used_keeps_what_is_not_ours(made: Made, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    (tmp_path / "index.html").write_text("of an earlier report")
    first = write_report(made[0], tmp_path, made[1], made[2]).read_bytes()
    assert {file.name for file in tmp_path.iterdir()} == {"mine.txt", "bench.json", "index.html"}
    assert (tmp_path / "mine.txt").read_text() == "mine"
    assert (tmp_path / "index.html").stat().st_mode & 0o044 == 0o044
    assert write_report(made[0], tmp_path / "again", made[1], made[2]).read_bytes() == first


def test_places_where_no_report_can_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "taken" / "index.html").mkdir(parents=True)
    for place, why in (("file", "is a file"), ("file/under", "is a file"), ("taken", "is a folder")):
        with pytest.raises(BenchError, match=why):
            usable_folder(tmp_path / place)
    usable_folder(tmp_path / "not" / "there" / "yet")
    assert not (tmp_path / "not").exists()


def test_without_images_the_rest_is_shown(made: Made, tmp_path: Path) -> None:
    gone = replace(made[2], data=str(tmp_path / "gone"))
    read = Page(write_report(made[0], tmp_path / "report", made[1], gone).read_text(encoding="utf-8"))
    assert read.faults == []
    assert "No images:" in read.text_shown
    assert "gone" in read.text_shown


def test_bars_add_up_and_rows_keep_their_order(report: dict[str, Any]) -> None:
    bars = stage_bars(report)
    assert [(bar["name"], bar["level"]) for bar in bars] == [
        (name, level) for name in ("one", "two") for level in ("none", "exact", "stock")
    ]
    names = [part["name"] for part, _ in rows_of(bars)]
    for bar, side in zip(bars, sides_in_order(report), strict=True):
        own = [part["name"] for part in bar["parts"]]
        assert own == [name for name in names if name in own]
        assert bar["length"] == pytest.approx(sum(stage["ms"] for stage in side["stages"]) or side["ms"])
    assert names[:2] == ["read", "decode"]
    assert names[-3:] == ["output conversion", "collate", "overhead"]


@pytest.mark.parametrize("low", [0.5, 0.97, 1.5])
def test_a_track_shows_how_fast_the_side_is_that_its_text_names_first(low: float) -> None:
    ratio = Ratio(low * 1.05, low, low * 1.1, (low,) * 9)
    text = verdict("A", "B", ratio)
    shown = pages._speed({"one": "A", "other": "B", "text": text,
                          "ratio": {"low": low, "middle": low * 1.05, "high": low * 1.1}})  # fmt: skip
    assert shown["middle"] == pytest.approx(1 / ratio.middle if text.startswith("A ") else ratio.middle)
    assert f"{shown['low']:.2f} to {shown['high']:.2f} times" in text


def test_headlines() -> None:
    def of(ms: dict[str, float], differ: bool, levels: tuple[str, ...] = ("fast",)) -> str:
        sides = [{"recipe": name, "level": level, "ms": ms[name]} for name in ms for level in levels]
        names = [f"{side['recipe']} · {side['level']}" for side in sides]
        verdicts = [
            {"one": a, "other": b, "differs": differ, "text": f"{a} and {b}: say (1.0 to 2.0 times)"}
            for k, a in enumerate(names)
            for b in names[k + 1 :]
        ]
        sides = [{**side, "samples_per_second": 1e3 / side["ms"]} for side in sides]
        return headline({"sides": sides, "verdicts": verdicts})

    assert of({"a": 4.0}, True) == "a · fast: 250 samples a second"
    assert of({"a": 4.0}, True, ("none", "fast")) == "a · none and a · fast: say (1.0 to 2.0 times)"
    assert of({"a": 4.0}, True, ("none", "fast", "stock")) == "a · fast and a · stock: say (1.0 to 2.0 times)"
    assert of({"a": 4.0, "b": 2.0}, False) == "a · fast and b · fast: say"
    three = {"a": 4.0, "b": 2.0, "c": 3.0}
    assert of(three, True).startswith("b · fast is the fastest of 3; b · fast and c · fast: say")
    assert of(three, False).startswith("b · fast, c · fast and a · fast are the fastest of 3, with no significant")


def cells(sheet: Any) -> list[list[np.ndarray]]:
    return [[group.cells[0].image for group in row.everything] for row in sheet.rows]


@pytest.mark.parametrize("kind", KINDS)
def test_images_are_what_a_dataset_hands_out(kind: str, tmp_path: Path) -> None:
    recipe, data = kind_data(kind, tmp_path)
    sheet = samples_sheet({"one": recipe, "two": recipe}, Setting(data), LEVELS)
    targets = [*recipe.scales] or ["image"]
    assert [len(row.groups) for row in sheet.rows] == [2 * len(targets)] * {"image": 4, "pair": 4, "bag": 6}[kind]
    if kind == "image":
        samples = ar.ImageFolder(data, recipe, seed=0)
        for index, (_, one, two) in enumerate(cells(sheet)):
            np.testing.assert_array_equal(one, rgb_of_output(samples[index]["image"].numpy(), recipe.output))
            np.testing.assert_array_equal(one, two)


def contrast(one: str, other: str) -> float:
    """How far two colours are apart in lightness, 1 to 21, as WCAG 2 has it."""

    def luminance(colour: str) -> float:
        parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_text_can_be_read_by_day_and_by_night() -> None:
    style = (Path(pages.__file__).parent / "templates" / "style.css").read_text(encoding="utf-8")
    day, night = (dict(re.findall(r"--([\w-]+): (#\w{6})", part)) for part in style.split("@media", 2)[:2])
    assert day == LIGHT
    for colours in (day, day | night):
        for ink in ("ink", "quiet", "accent", "good", "bad", "doubt"):
            for ground in ("page", "card", "sunken"):
                assert contrast(colours[ink], colours[ground]) >= 4.5, (ink, ground)
        fills = [name for name in colours if f"on-{name}" in colours]
        assert len(fills) == 12
        for name in fills:
            assert contrast(colours[name], colours[f"on-{name}"]) >= 4.5, name
