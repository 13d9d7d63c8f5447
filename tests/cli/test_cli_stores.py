"""`augrecipes pack`, `verify-store`, `cache`; and `bench`: speed, the gate, ablation, sweeps and training steps."""

import itertools
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cv2
import numpy as np
import pytest
from support.folders import draw, draw_waves

from augrecipes import cache as caches
from augrecipes.bench import tables, timing
from augrecipes.bench.stages import Stage
from augrecipes.bench.training import StepPart, Training
from augrecipes.compiler.run import clock
from augrecipes.data.packed import Packed
from augrecipes.packing.bake import BakedRow, Baker
from augrecipes.report import Report

PACK = "pack folder-128 --data photos --workers 0 --out"


@pytest.fixture(autouse=True)
def photos(tmp_path: Path) -> Path:
    for i in range(6):
        draw(tmp_path / "photos" / "ab"[i % 2] / f"{i}.png", i, (150, 140 + i))
    return tmp_path / "photos"


def test_pack_says_what_it_does_and_does_it(finish: Any, tmp_path: Path) -> None:
    said = " ".join(finish(f"{PACK} store --dry-run").split())
    assert "whole images are kept" not in said
    assert [path.name for path in tmp_path.iterdir()] == ["photos"]  # which writes nothing
    said = " ".join(finish(f"{PACK} store --shard-size 200kB").split())
    for part in ("SmallestMaxSize(interpolation: area, max_size: 128)", "for train and eval", "6 images", "free"):
        assert part in said
    assert len(Packed(tmp_path / "store", "folder-128")) == 6
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    sizes = [path.stat().st_size for path in (tmp_path / "store").glob("image-*.bin")]
    assert len(sizes) > 1
    assert max(sizes) <= 200_000


def test_unreadable_inputs_are_named_and_counted(finish: Any, photos: Path, tmp_path: Path) -> None:
    (photos / "a" / "x.png").write_bytes(b"no image")
    said = finish(f"{PACK} store", 1)
    assert "unreadable inputs: 1" in said
    assert "photos/a/x.png: not an image" in said
    (listed,) = json.loads((tmp_path / "store" / "index.json").read_text())["about"]["unreadable"]
    assert listed["path"] == "photos/a/x.png"
    finish(f"{PACK} other --on-error raise", 2)
    assert not (tmp_path / "other").exists()
    finish(f"{PACK} parts --part 1/2")
    finish(f"{PACK} parts --part 2/2", 1)
    assert "photos/a/x.png: not an image" in finish("pack --merge parts", 1)
    for k in range(6):
        (photos / "a" / f"x{k}.png").write_bytes(b"no image")
    said = finish(f"{PACK} alone --part 1/1", 1)
    assert "unreadable: 1 more, --json lists them all" in said


def test_an_interrupted_run_says_how_to_go_on(
    run: Any, finish: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, rows = Baker.bake, []

    def several(self: Baker, numbers: range) -> Iterator[BakedRow]:
        rows.extend(numbers)
        if len(rows) == 4:
            raise KeyboardInterrupt
        return plain(self, numbers)

    monkeypatch.setattr("augrecipes.packing.run.estimate_size", lambda *_: (0, 3))
    monkeypatch.setattr(Baker, "bake", several)
    monkeypatch.setattr("augrecipes.store.writer.SHARD_BYTES", 1)  # a row is a file
    done = run(*PACK.split(), "store")
    assert (done.exit_code, "give the same command again to go on" in " ".join(done.stderr.split())) == (130, True)
    assert not (tmp_path / "store").exists()
    finish(f"{PACK} store")
    assert rows == [0, 1, 2, 3, 2, 3, 4, 5]  # the file that it was at is made anew


def test_verify_store_finds_a_flipped_byte(finish: Any, tmp_path: Path) -> None:
    finish(f"{PACK} store")
    assert finish("verify-store store") == "every byte is as it was packed\n"
    file = tmp_path / "store" / "image-00000.bin"
    data = bytearray(file.read_bytes())
    data[-1000] ^= 1
    file.write_bytes(data)
    assert "row 5 of image" in finish("verify-store store", 1)
    (fault,) = json.loads(finish("verify-store store --json", 1))["faults"]
    assert (fault["row"], fault["target"]) == (5, "image")
    finish("verify-store nowhere", 2)


def test_parts_are_merged_where_they_are(finish: Any) -> None:
    whole, part = (json.loads(finish(f"{PACK} s --dry-run --json {more}")) for more in ("", "--part 1/2"))
    assert (whole["rows"], part["rows"], part["bytes"]) == (6, 3, whole["bytes"] // 2)
    for name in ("2/2", "1/2"):
        assert "3 of 6 images" in finish(f"{PACK} parts --part {name}")
    assert "2 parts are one store, parts: 6 rows" in finish("pack --merge parts")
    found = json.loads(finish("pack --merge parts --json"))
    assert (found["store"], found["parts"], found["rows"], found["unreadable"]) == ("parts", 2, 6, [])
    finish("verify-store parts")
    assert json.loads(finish(f"{PACK} parts --part 1/2 --json"))["part"] == [1, 2]
    again = finish(f"{PACK} parts --part 1/2")
    assert ("there already, of the same recipe and files" in again, "packed in" in again) == (True, False)


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(caches.CACHE, str(tmp_path / "own"))
    return tmp_path / "own"


def test_what_is_kept_is_shown_and_cleared(run: Any, kept: Path) -> None:
    assert caches.FOLDERS.write("1-2", bytes(2000))
    assert caches.SLIDES.write("v", bytes(500))
    shown = run("cache").stdout.splitlines()
    assert shown[0] == str(kept)
    assert [line.split()[0] for line in shown[2:]] == ["cache", *(one.name for one in caches.CACHES)]
    assert shown[3].split()[-2:] == ["2.0", "kB"]
    assert run("cache", "--clear", "folders").stdout.splitlines()[-1] == "cleared 1 file, 2.0 kB"
    found = {one["cache"]: one["files"] for one in json.loads(run("cache", "--json").stdout)}
    assert (found["folders"], found["slides"]) == (0, 1)
    assert run("cache", "--clear").exit_code == 0
    assert not [file for one in caches.CACHES for file in one.files()]


def test_a_cache_that_is_none(run: Any, kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run("cache", "--clear", "photos")
    assert result.exit_code == 2
    assert "there is no cache 'photos'; there are folders, archives" in " ".join(result.stderr.split())
    kept.write_text("mine")  # a file in the place of the folder
    assert {one["files"] for one in json.loads(run("cache", "--json").stdout)} == {0}
    assert run("cache", "--clear").stdout.splitlines()[-1] == "cleared 0 files, 0 B"
    assert kept.read_text() == "mine"
    for name in (caches.CACHE, "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)

    def nobody() -> Path:
        raise RuntimeError("no home")

    monkeypatch.setattr("augrecipes.cache.Path.home", nobody)
    result = run("cache")
    assert (result.exit_code, result.stderr) == (2, "error: no home\n")


QUICK = ("--seconds", "0.01", "--samples", "4", "--batch-size", "4")
EXACT = ("--no-effects", "--optimize", "exact", *QUICK)
RECIPE = "version: 1\nrecipe: NAME\nsteps:\n  - RandomCrop: {height: 48, width: 48}\n  - HorizontalFlip\neval: []\n"


@pytest.fixture
def recipes(write):
    for name in ("a", "b"):
        write(f"{name}.yaml", RECIPE.replace("NAME", name))


@pytest.fixture
def counted(monkeypatch):
    """A look at a clock takes a millisecond, and nothing else does, so that no machine decides."""
    wall, cpu = itertools.count(1, 1e-3), itertools.count(1, 1e-3)
    for module in (clock, timing):
        monkeypatch.setattr(module, "perf_counter", wall.__next__)
    monkeypatch.setattr(timing, "process_time", cpu.__next__)
    monkeypatch.setattr(clock.Clock, "charge", lambda spent, parts: [spent.run(what, int, (), {}) for what, _ in parts])


@pytest.fixture
def bench(finish, tmp_path, recipes):
    """Run `augrecipes bench RECIPES --data few MORE`, which ends with a status: what it prints."""
    few = draw_waves(tmp_path / "few").name
    return lambda recipes, *more, status=0: finish(f"bench {recipes} --data {few} {' '.join(more)}", status)


def test_two_recipes_and_stock(bench, counted, tmp_path):
    words = ("--against", "stock", "--json", "bench.json", "-o", "made/report")
    shown = bench("a.yaml b.yaml", *words, *QUICK)
    assert shown.splitlines()[-1] == "made/report/index.html"
    written = tmp_path / "made" / "report"
    assert {file.name for file in written.iterdir()} == {"index.html", "bench.json"}
    assert (written / "bench.json").read_bytes() == (tmp_path / "bench.json").read_bytes()
    said = ("a · none", "b · exact", "a · stock", "RandomCrop#1", "█", "bottleneck: CPU", "what the steps do")
    assert [text for text in (*said, "Verdicts") if text not in shown] == []
    record = json.loads((tmp_path / "bench.json").read_text())
    assert record["schema_version"] == 1
    assert [recipe["name"] for recipe in record["recipes"]] == ["a", "b"]
    steps = [step["site"] for step in record["recipes"][0]["plans"]["exact"]["steps"]]
    assert steps == ["RandomCrop#1", "HorizontalFlip#1"]
    by_name = {(side["recipe"], side["level"]): side for side in record["sides"]}
    assert np.shape(by_name["a", "exact"]["seconds"]) == (record["rounds"], record["samples"] // record["batch_size"])
    assert by_name["a", "exact"]["against_stock"]["low"] > 0
    assert by_name["a", "stock"]["stages"] == []
    assert record["machine"]["packages"]["albumentations"]


def test_the_gate_passes_and_fails(bench, counted, tmp_path):
    bench("a.yaml", "--against", "stock", "--json", "b.json", *QUICK)
    record = json.loads((tmp_path / "b.json").read_text())

    def against(factor: float, *more: str, status: int):
        for side in record["sides"]:
            for key in ("against_stock", "cpu_against_stock"):
                if side[key]:
                    side[key] |= dict.fromkeys(("middle", "low", "high"), factor)
        (tmp_path / "b.json").write_text(json.dumps(record))
        how = ("--baseline", "b.json", "--fail-if-slower", "20%", *QUICK, *more)
        return bench("a.yaml", *how, status=status)

    assert "passes" in against(1000.0, status=0)
    failed = against(0.001, "-o", "report", status=1)
    assert "a · exact" in failed
    assert "slower than 20 % fails" in failed
    assert failed.splitlines()[-3].endswith("slower")
    assert "Compared with the baseline" in (tmp_path / "report" / "index.html").read_text(encoding="utf-8")


def test_ablation_and_one_recipe_twice(bench, counted, write):
    """Why a recipe cannot run without a step stands below the table."""
    shown = bench("a.yaml a.yaml", "--optimize", "fast", "--ablate", *QUICK)
    assert "a (2) · fast" in shown and "without each step" in shown
    write("d.yaml", "{version: 1, recipe: d, steps: [Resize: {height: 90, width: 110}, "
          "RandomCrop: {height: 85, width: 85}], eval: []}")  # fmt: skip
    shown = bench("d.yaml", "--optimize", "none", "--ablate", *QUICK)
    assert "without Resize#1 it cannot run: " in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_a_sweep_over_who_reads(bench, counted, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    shown = bench("a.yaml b.yaml", "--workers", "0,1", "--sizes", "4,8", "--json", "bench.json", *EXACT)
    lines = shown.splitlines()
    assert [line.split(":")[0] for line in lines if "seconds of an epoch" in line] == ["a · exact", "b · exact"]
    for name in ("batches", "threads:1", "processes:1"):
        assert len([line for line in lines if line.startswith(f"  {name} ")]) == 4  # a table and bars for each
    assert len([line for line in lines if line.endswith(" recommended")]) == 2
    assert "ar.loader(ds, 4, " in shown
    assert "the data has 4 samples, larger epochs read some again" in shown
    sweep = json.loads((tmp_path / "bench.json").read_text())["sweep"]
    assert (sweep["sizes"], sweep["available"], len(sweep["points"])) == ([4, 8], 4, 2 * 2 * 3)
    assert [advice["recipe"] for advice in sweep["advice"]] == ["a", "b"]


def test_what_the_data_are_logged_for_is_said_once(bench, counted, write, caplog):
    write("few/inside/5.png", cv2.imencode(".png", np.zeros((80, 100, 3), np.uint8))[1].tobytes())
    bench("a.yaml b.yaml", "-o", "report", *QUICK)
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == len(set(said)) >= 1


def test_stages_are_one_table_in_eighty_columns() -> None:
    """However long a label is."""
    joined = "JoinedWarps(Rotate#1 + RandomResizedCrop#1 + HorizontalFlip#1 + VerticalFlip#1)"
    stages = [Stage("read", "read", 0.06, 0.01), Stage("decode", "decode", 123.4, 0.8)]
    stages += [Stage("step", name, 0.14, 0.04) for name in (joined, "a-label-of-ones-own" * 4, f"OneOf#1/{joined}")]
    side = SimpleNamespace(name="mine", stages=stages, mad=0.3, ms=101.0, transfer=1.03, bottleneck="CPU")
    lines = Report(tables=[tables.stages(side)]).text().splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) == 1 + len(stages) + 2 + 1  # title, total and worker transfer, and the bottleneck
    assert "  JoinedWarps(Rotate#1 + 3)" in "\n".join(lines)


def test_a_training_step_of_ones_own(bench, write, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv("COLUMNS", "120")
    write("train.py", "from torch import nn\nmodel = nn.Conv2d(3, 4, 3, stride=8)\n")
    lines = bench("a.yaml", "--train-step", "train.py", "--json", "b.json", *EXACT).splitlines()
    start = lines.index("a · exact, read in this process on request: ms of a training step")
    names = [line.split()[0] for line in lines[start + 1 : start + 6]]
    assert names == ["loading", "forward", "backward", "optimiser", "total"]
    assert lines[start + 6].endswith(" % of a step is waiting for samples")
    assert lines[start + 7] == (
        "  step: train.py, Conv2d; mean square of the output as a stand-in for loss(); SGD as a stand-in"
    )
    assert "in batches of 4; on the CPU, torch's own" in lines[start + 8]
    (training,) = json.loads((tmp_path / "b.json").read_text())["training"]
    assert training["step"].startswith("train.py, Conv2d")
    assert sum(part["share"] for part in training["parts"]) == pytest.approx(1)


def test_a_training_step_of_milliseconds(bench):
    shown = bench("a.yaml", "--train-step", "20", *EXACT)
    for said in ("  training step", "step: 20 ms, waited for", "this thread sleeps meanwhile"):
        assert said in shown


def test_figures_have_the_digits_of_their_spread():
    figures = (("loading", 150.65, 10.58, 0.4), ("forward", 41.6, 2.7, 0.4), ("optimiser", 0.42, 0.012, 0.2))
    one = Training("a", "exact", "batches", 0, "cpu", 1, "step", 4, 12, tuple(StepPart(*part) for part in figures))
    rows = [" ".join(row[:3]) for row in tables.training([one])[0].rows]
    assert rows == ["loading 151 ± 11", "forward 42 ± 3", "optimiser 0.42 ± 0.01", "total 193 "]
