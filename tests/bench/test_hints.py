"""What a comparison says of a busy machine, and of what would make samples come faster."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from small_data import kind_data

from augrecipes.bench import hints
from augrecipes.bench.compare import busy, differs, verdict
from augrecipes.bench.hints import packing, quicker
from augrecipes.bench.machine import Machine
from augrecipes.bench.measure import Ratio, Timings
from augrecipes.bench.record import SideRecord
from augrecipes.bench.report.bars import Bar, BarPart
from augrecipes.bench.report.page import _speed
from augrecipes.bench.sides import Setting, Side, sides_of
from augrecipes.bench.stages import Stage
from augrecipes.bench.workers import Gaps
from augrecipes.recipe import load
from augrecipes.recipe.parse import parse_text

MACHINE = Machine("2026-01-01T00:00:00", "some processor", 2, 6.1, "Linux", "3.11", {})
STAGES = (
    Stage("read", "read", 0.2, 0.0),
    Stage("decode", "decode", 2.8, 0.1),
    Stage("step", "SmallestMaxSize#1", 0.5, 0.0),
    Stage("step", "JoinedFlips(HorizontalFlip#1 + VerticalFlip#1)", 0.1, 0.0),
    Stage("sink", "sink", 0.2, 0.0),
    Stage("overhead", "overhead", 0.2, 0.0),
)


def side(**more: Any) -> SideRecord:
    plain = SideRecord(
        recipe="folder-128", level="exact", ms=4.0, mad=0.2, cpu_ms=3.8, samples_per_second=250.0, seconds=((0.004,),),
        gaps=Gaps(1.0, 1.0, 1.0), peak_mib=1.0, stages=STAGES, accounted=None, hand_over=None, binds="",
        against_stock=None, cpu_against_stock=None,
    )  # fmt: skip
    return replace(plain, **more)


class TestBusy:
    def test_waiting_for_a_core_is_told_with_the_load(self) -> None:
        told = busy([side(), side(recipe="other", ms=31.0, mad=5.1, cpu_ms=5.65)], MACHINE)
        assert told.startswith(
            "the machine was busy (load 6.1 on 2 cores): of the 31 ms a sample of other · exact 6 ms"
        )

    def test_reading_is_no_waiting_for_a_core(self) -> None:
        assert busy([side(cpu_ms=1.0, stages=(Stage("read", "read", 9.0, 0.0), *STAGES[1:2]))], MACHINE) == ""
        assert busy([side()], MACHINE) == busy([], MACHINE) == ""

    def test_no_verdict_there_without_the_work(self) -> None:
        rounds = (1.6,) * 9
        wall, work = Ratio(1.6, 1.2, 2.2, rounds), Ratio(1.0, 0.95, 1.05, rounds)
        assert differs(wall) and not differs(wall, work) and differs(wall, Ratio(1.5, 1.4, 1.6, rounds))
        assert "no difference" in verdict("a", "b", wall, work)
        assert not differs(Ratio(1.6, 1.2, 2.2, rounds), Ratio(0.6, 0.5, 0.7, rounds))


@pytest.mark.parametrize("low", [0.5, 0.97, 1.5])
def test_a_track_shows_how_fast_the_side_is_that_its_text_names_first(low: float) -> None:
    ratio = Ratio(low * 1.05, low, low * 1.1, (low,) * 9)
    text = verdict("A", "B", ratio)
    shown = _speed(
        {"one": "A", "other": "B", "text": text, "ratio": {"low": low, "middle": low * 1.05, "high": low * 1.1}}
    )
    a_over_b = 1 / ratio.middle if text.startswith("A ") else ratio.middle
    assert shown["middle"] == pytest.approx(a_over_b)
    assert f"{shown['low']:.2f} to {shown['high']:.2f} times" in text


def test_a_bar_is_labelled_with_what_is_drawn() -> None:
    parts = (BarPart("read", "read", 10.0, 0.1, 0.5), BarPart("sink", "sink", 20.0, 0.1, 0.5))
    assert Bar("a", "exact", "", parts, 25.8, 0.5).drawn == 30.0
    assert Bar("a", "stock", "", (), 25.8, 0.5).drawn == 25.8


class TestPacking:
    def test_what_a_store_leaves_out_is_the_gain(self) -> None:
        # Of 4.0 ms the files take 3.0, and the resize that is baked 0.5: 0.5 are left.
        told = packing(side(), load("folder-128"), Setting("photos"))
        assert "75 % of the time" in told and "up to 8.0 times" in told
        assert told.endswith("augrecipes pack folder-128 --data photos --out STORE")

    def test_pairs_name_every_folder(self) -> None:
        told = packing(side(recipe="sr-x4"), load("sr-x4"), Setting({"hr": ["a", "b"], "lr": "c"}))
        assert "--data hr=a --data hr=b --data lr=c" in told

    def test_nothing_is_said_where_something_else_binds(self) -> None:
        slow = (Stage("step", "Blur#1", 9.0, 0.0), *STAGES)
        assert packing(side(stages=slow), load("folder-128"), Setting("photos")) == ""
        assert packing(side(stages=()), load("folder-128"), Setting("photos")) == ""


class TestFast:
    STEPS = "version: 1\nrecipe: it\nsteps: [{Rotate: {p: 1.0}}, {RandomResizedCrop: {size: [32, 32]}}]\neval: []"

    def quick(self, tmp_path: Path, text: str) -> tuple[Side, Setting]:
        _, data = kind_data("image", tmp_path)
        setting = Setting(data)
        (one,) = sides_of({"it": parse_text(text)}, ["exact"], setting, 4)
        return one, setting

    @pytest.mark.parametrize(("seconds", "told"), [((2.0, 1.0), True), ((1.0, 1.0), False), ((1.0, 2.0), False)])
    def test_it_is_named_with_its_ratio_where_it_wins(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: tuple[float, float], told: bool
    ) -> None:
        def timed(works: Any, rounds: int, batches: int, *_: Any) -> Timings:
            import numpy as np

            times = np.stack([np.full((rounds, batches), one) for one in seconds])
            return Timings(times, times)

        monkeypatch.setattr(hints, "in_turns", timed)
        hint = quicker(*self.quick(tmp_path, self.STEPS), 4, 0.1)
        assert hint.startswith("`optimize: fast` is 2.00 times as fast as `exact`") == told

    def test_it_is_not_tried_where_it_has_nothing_to_add(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delattr(hints, "in_turns")
        assert quicker(*self.quick(tmp_path, self.STEPS.replace("[{Rotate", "[Blur] # [{Rotate")), 4, 0.1) == ""
