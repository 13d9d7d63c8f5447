"""The report: one page that needs nothing else and trusts no name, plots, and the record beside them."""

from __future__ import annotations

import base64
import copy
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import cv2
import numpy as np
import pytest
from report_pages import Page, swept, trained
from small_data import KINDS, kind_data

import augrecipes as ar
from augrecipes.bench.figures import figure
from augrecipes.bench.gate import Judgement, judge, open_baseline
from augrecipes.bench.record import Bench, write
from augrecipes.bench.report import plots, thumbnails
from augrecipes.bench.report.bars import stages, training
from augrecipes.bench.report.curve import title_of
from augrecipes.bench.report.headline import headline, last_sides
from augrecipes.bench.report.page import page
from augrecipes.bench.report.palette import DARK, LIGHT, contrast, ink_on
from augrecipes.bench.report.thumbnails import grid
from augrecipes.bench.report.write import usable_folder, write_report
from augrecipes.bench.run import Options, bench
from augrecipes.bench.sides import Setting
from augrecipes.errors import BenchError
from augrecipes.packing.run import pack
from augrecipes.preview.display import picture_of_output

SVG = "{http://www.w3.org/2000/svg}"
LEVELS = {"one": "exact", "two": "exact"}
ALWAYS = {"answer", "speed", "stages", "samples", "plans", "recipes", "machine"}
HOSTILE = "</style><script>alert(1)</script><img src=x onerror=alert(2)>\"'&{{ 7 * 7 }}"


def quick(**more: Any) -> Options:
    return Options(["none", "exact"], samples=4, batch_size=2, seconds=0.01, **more)


def written(kind: str, root: Path, options: Options, *names: str) -> tuple[Bench, Any, Setting]:
    recipe, data = kind_data(kind, root)
    recipes = dict.fromkeys(names, recipe)
    setting = Setting(data)
    return bench(recipes, setting, options), recipes, setting


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> tuple[Bench, Any, Setting]:
    """Two recipes beside stock, with their effects and without each step."""
    return written("image", tmp_path_factory.mktemp("images"), quick(stock=True, ablate=True), "one", "two")


def whole(found: Bench) -> Bench:
    """With a sweep and training steps."""
    names = [recipe.name for recipe in found.recipes]
    return replace(found, sweep=swept(names), training=trained(names))


@pytest.fixture(scope="module")
def told(images: tuple[Bench, Any, Setting]) -> dict[str, Any]:
    """What is recorded, with a sweep and training steps."""
    return whole(images[0]).to_json()


def paged(told: dict[str, Any], judgement: Judgement | None = None, pictures: Any = "none here") -> Page:
    return Page(page(told, pictures, judgement, "bench.json", ("stages.svg",)))


@pytest.mark.parametrize("kind", KINDS)
def test_a_report_of_every_kind(kind: str, tmp_path: Path) -> None:
    found, recipes, setting = written(kind, tmp_path / "data", quick(), "one", "two")
    report = write_report(found, tmp_path / "made" / "report", recipes, setting)
    text = report.page.read_text(encoding="utf-8")
    read = Page(text)
    assert read.faults == []
    assert len(text) < 2_000_000
    assert "default-src 'none'; style-src 'unsafe-inline'; img-src data:" in text
    assert set(read.ids) == ALWAYS | {"effects"}
    samples, targets = {"image": (4, 1), "pair": (4, 2), "bag": (6, 1)}[kind]
    assert len(read.pictures) == samples * (1 + 2 * targets)
    assert all(uri.startswith("data:image/jpeg;base64,") for uri in read.pictures)
    assert json.loads(report.record.read_text(encoding="utf-8")) == json.loads(json.dumps(found.to_json()))
    assert sorted(file.name for file in report.page.parent.iterdir()) == ["bench.json", "index.html", "stages.svg"]
    assert ElementTree.parse(report.plots[0]).getroot().tag == SVG + "svg"
    assert {link for link in read.links if link[0] != "#"} == {"bench.json", "stages.svg"}


def test_the_answer_comes_first(told: dict[str, Any]) -> None:
    read = paged(told)
    assert read.said.index(headline(told)) < read.said.index("samples/s")
    for verdict in told["verdicts"]:
        assert verdict["text"] in read.said
    for side in last_sides(told):
        assert side["binds"][1:] in read.said.replace(" :", ":")
    assert read.said.count("Of a training step so much is waiting: 30 % with 2 threads Use 2 threads") == 2


def test_sections_are_there_where_there_is_something(told: dict[str, Any]) -> None:
    assert set(paged(told).ids) == ALWAYS | {"effects", "ablations", "workers", "training"}
    bare = {**told, "sweep": None, "training": []}
    bare["recipes"] = [{**recipe, "effects": None, "ablations": []} for recipe in told["recipes"]]
    assert set(paged(bare).ids) == ALWAYS


def test_all_figures_are_in_tables(told: dict[str, Any]) -> None:
    said = paged(told).said
    for side in told["sides"]:
        for stage in side["stages"]:
            assert figure(stage["ms"], stage["mad"]) in said
    assert "30.0 %" in said  # of a training step is loading
    assert 'Two threads are enough. ar.loader(ds, 2, backend="threads", num_workers=2)' in said
    assert "left out: three processes: there are two cores" in said


def test_the_gate_is_told(images: tuple[Bench, Any, Setting], tmp_path: Path) -> None:
    found = images[0]
    write(found, tmp_path / "then.json")
    elsewhere = replace(open_baseline(tmp_path / "then.json"), features="x86_64 SSE SSE2")
    assert "a processor of another family, x86_64 (here" in judge(elsewhere, found, 0.15).warnings[0]
    assert judge(open_baseline(tmp_path / "then.json"), found, 0.15).warnings == ()
    judgement = judge(open_baseline(tmp_path / "then.json"), replace(found, samples=found.samples + 1), 0.15)
    read = paged(found.to_json(), judgement)
    assert read.faults == []
    assert "gate" in read.ids
    assert "More than 15 % slower fails" in read.said
    assert f"samples was {found.samples} then and is {found.samples + 1} now" in read.said


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


def test_names_are_no_markup(told: dict[str, Any], images: tuple[Bench, Any, Setting], tmp_path: Path) -> None:
    names = [f"{name} {HOSTILE}" for name in ("one", "two")]
    found, recipes, setting = written("image", tmp_path, quick(stock=True, ablate=True), *names)
    bad = whole(found).to_json()
    for record in (bad, told := copy.deepcopy(told)):  # two runs may have other things to say
        record["busy"] = "it was"
        for recipe in record["recipes"]:
            recipe["hints"] = ["pack it"]
    bad = poisoned(bad)
    clean = paged(told, pictures=grid(images[1], images[2], LEVELS))
    read = paged(bad, pictures=grid(recipes, setting, dict.fromkeys(names, "exact")))
    assert read.faults == []
    assert read.tags == clean.tags
    assert HOSTILE in read.said
    drawn = plots.render(bad)
    assert set(drawn) == set(plots.NAMES)
    for name, chart in plots.render(told).items():
        tags = [{one.tag for one in ElementTree.fromstring(text).iter()} for text in (chart, drawn[name])]
        assert tags[0] == tags[1]


@pytest.mark.parametrize(
    ("planted", "fault"),
    [
        ("<script>1</script>", "may run"),
        ("<p onclick=a>", "may run"),
        ("<b>", "not closed"),
        ("</section>", "closes nothing"),
        ("<img src=//x/y.png alt=y>", "asks for"),
        ('<a href="#nowhere">x</a>', "leads nowhere"),
        ('<p id="speed"></p>', "twice"),
    ],
)
def test_a_planted_fault_is_seen(told: dict[str, Any], planted: str, fault: str) -> None:
    text = page(told, "none", None, "bench.json", ())
    assert Page(text).faults == []
    assert any(fault in found for found in Page(text.replace("<footer>", planted + "<footer>")).faults)


def test_the_same_record_gives_the_same_files(images: tuple[Bench, Any, Setting], tmp_path: Path) -> None:
    found, recipes, setting = images
    first, second = (write_report(found, tmp_path / name, recipes, setting) for name in ("a", "b"))
    assert first.page.read_bytes() == second.page.read_bytes()
    assert [file.read_bytes() for file in first.plots] == [file.read_bytes() for file in second.plots]


def test_a_folder_that_is_used_keeps_what_is_not_ours(images: tuple[Bench, Any, Setting], tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    (tmp_path / "workers.svg").write_text("of an earlier report")
    (tmp_path / "index.html").write_text("of an earlier report")
    write_report(images[0], tmp_path, images[1], images[2])
    assert {file.name for file in tmp_path.iterdir()} == {"mine.txt", "bench.json", "index.html", "stages.svg"}
    assert (tmp_path / "mine.txt").read_text() == "mine"
    assert (tmp_path / "index.html").stat().st_mode & 0o044 == 0o044


def test_places_where_no_report_can_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "taken" / "index.html").mkdir(parents=True)
    for place, why in (("file", "is a file"), ("file/under", "is a file"), ("taken", "is a folder")):
        with pytest.raises(BenchError, match=why):
            usable_folder(tmp_path / place)
    usable_folder(tmp_path / "not" / "there" / "yet")
    assert not (tmp_path / "not").exists()


def test_without_pictures_the_rest_is_told(images: tuple[Bench, Any, Setting], tmp_path: Path) -> None:
    gone = replace(images[2], data=str(tmp_path / "gone"))
    report = write_report(images[0], tmp_path / "report", images[1], gone)
    read = Page(report.page.read_text(encoding="utf-8"))
    assert read.faults == []
    assert "No pictures:" in read.said
    assert "gone" in read.said


def test_charts_beside_the_page_hold_what_was_measured(told: dict[str, Any]) -> None:
    drawn = {name: ElementTree.fromstring(chart) for name, chart in plots.render(told).items()}
    assert set(drawn) == set(plots.NAMES)
    for name, stack in (("stages.svg", stages(told)), ("training.svg", training(told))):
        chart = drawn[name]
        rects = [rect for rect in chart.iter(SVG + "rect") if rect.get("height") == "26"]
        wide = [[part.ms for part in bar.parts] or [bar.ms] for bar in stack.bars]
        assert [float(rect.attrib["width"]) for rect in rects] == pytest.approx(
            [560 * ms / stack.longest for bar in wide for ms in bar], abs=1e-3
        )
        assert {bar.title for bar in stack.bars} <= set(chart.itertext())
        lowest = max(float(text.attrib["y"]) for text in chart.iter(SVG + "text"))
        assert lowest < float(chart.attrib["height"])
    titles = set(drawn["workers.svg"].itertext())
    for point in told["sweep"]["points"]:
        assert {title_of(point), f"{title_of(point)} – advised"} & titles
    for chart in drawn.values():
        assert not any("var(" in value for one in chart.iter() for key, value in one.attrib.items() if key != "style")
    assert set(plots.render({**told, "sweep": None, "training": []})) == {"stages.svg"}


@pytest.mark.parametrize("planted", ["\x00", "\x0b", "\ud800", "\uffff", "]]>", "<!--", "&amp", "\u202e", "名前"])
def test_charts_can_be_read_whatever_names_hold(told: dict[str, Any], planted: str) -> None:
    def renamed(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: renamed(one) for key, one in value.items()}
        if isinstance(value, list):
            return [renamed(one) for one in value]
        return value.replace("one", f"one{planted}") if isinstance(value, str) else value

    drawn = plots.render(renamed(told))
    assert set(drawn) == set(plots.NAMES)
    for chart in drawn.values():
        assert any("one" in text for text in ElementTree.fromstring(chart).itertext())


def test_bars_add_up_and_rows_keep_their_order(told: dict[str, Any]) -> None:
    stack = stages(told)
    assert [bar.title for bar in stack.bars] == [
        f"{name} · {level}" for name in ("one", "two") for level in ("none", "exact", "stock")
    ]
    names = [part.name for part, _ in stack.rows()]
    for bar in stack.apart:
        own = [part.name for part in bar.parts]
        assert own == [name for name in names if name in own]
        assert sum(part.share for part in bar.parts) == pytest.approx(1)
        assert sum(part.ms for part in bar.parts) <= stack.longest
    assert names[:2] == ["read", "decode"]
    assert names[-3:] == ["sink", "collate", "overhead"]


def test_headlines(told: dict[str, Any]) -> None:
    def of(ms: dict[str, float], told_apart: bool, levels: tuple[str, ...] = ("fast",)) -> str:
        sides = [{"recipe": name, "level": level, "ms": ms[name]} for name in ms for level in levels]
        names = [f"{side['recipe']} · {side['level']}" for side in sides]
        verdicts = [
            {"one": a, "other": b, "differs": told_apart, "text": f"{a} and {b}: say (1.0 to 2.0 times)"}
            for k, a in enumerate(names)
            for b in names[k + 1 :]
        ]
        return headline({"sides": [{**side, "samples_per_second": 1e3 / side["ms"]} for side in sides],
                         "verdicts": verdicts})  # fmt: skip

    assert of({"a": 4.0}, True) == "a · fast: 250 samples a second"
    assert of({"a": 4.0}, True, ("none", "fast")) == "a · none and a · fast: say (1.0 to 2.0 times)"
    assert of({"a": 4.0}, True, ("none", "fast", "stock")) == "a · fast and a · stock: say (1.0 to 2.0 times)"
    assert of({"a": 4.0, "b": 2.0}, False) == "a · fast and b · fast: say"
    three = {"a": 4.0, "b": 2.0, "c": 3.0}
    assert of(three, True).startswith("b · fast is the quickest of 3; b · fast and c · fast: say")
    assert of(three, False) == "b · fast, c · fast and a · fast are the quickest of 3, and cannot be told apart"


def test_pictures_are_what_a_dataset_hands_out(images: tuple[Bench, Any, Setting]) -> None:
    _, recipes, setting = images
    shown = grid(recipes, setting, LEVELS)
    dataset = ar.ImageFolder(setting.data, recipes["one"], seed=0)
    assert [line.name for line in shown.lines] == ["source", "one", "two"]
    for index, one in enumerate(shown.lines[1].pictures):
        jpeg = np.frombuffer(base64.b64decode(one.uri.partition(",")[2]), np.uint8)
        seen = cv2.cvtColor(cv2.imdecode(jpeg, cv2.IMREAD_COLOR), cv2.COLOR_BGR2RGB)
        sample = picture_of_output(dataset[index]["image"].numpy(), recipes["one"].output)
        same, other = (
            np.abs(cv2.resize(seen, (24, 24), interpolation=cv2.INTER_AREA).astype(float) - picture).mean()
            for picture in (sample, sample[:, ::-1])
        )
        assert same < 12 < other


def test_pictures_of_a_packed_store(images: tuple[Bench, Any, Setting], tmp_path: Path) -> None:
    _, recipes, setting = images
    pack(recipes["one"], setting.data, tmp_path / "store", workers=0)
    of_files, of_store = grid(recipes, setting, LEVELS), grid(recipes, Setting(str(tmp_path / "store")), LEVELS)
    assert of_store.lines == of_files.lines


def test_long_tables_are_folded(told: dict[str, Any]) -> None:
    many = [{**told["sides"][0]["stages"][2], "name": f"Step#{k}"} for k in range(30)]
    longer = {
        **told,
        "sides": [{**side, "stages": side["stages"] and [*side["stages"], *many]} for side in told["sides"]],
    }
    read, folded = paged(told), paged(longer)
    assert folded.faults == []
    assert folded.tags.count("details") == read.tags.count("details") + 1
    assert "parts in figures" in folded.said


def test_many_pictures_are_smaller_pictures(
    images: tuple[Bench, Any, Setting], monkeypatch: pytest.MonkeyPatch
) -> None:
    def characters() -> int:
        return sum(len(one.uri) for line in grid(images[1], images[2], LEVELS).lines for one in line.pictures)

    plenty = characters()
    monkeypatch.setattr(thumbnails, "_BUDGET", plenty // 2)
    assert characters() <= plenty // 2


def test_text_can_be_read_by_day_and_by_night() -> None:
    for fills in (LIGHT, DARK):
        for name, fill in fills.items():
            assert contrast(fill, ink_on(fill)) >= 4.5 or name.startswith("line"), name
    style = (Path(plots.__file__).parent / "templates" / "style.css").read_text(encoding="utf-8")
    day, night = (
        dict(re.findall(r"--(\w+): (#\w{6})", block)) for block in re.findall(r":root \{(.*?)\}", style, re.S)[:2]
    )
    for colours in (day, night):
        for ink in ("ink", "quiet", "accent", "good", "bad", "doubt"):
            for ground in ("page", "card", "sunken"):
                assert contrast(colours[ink], colours[ground]) >= 4.5, (ink, ground)
