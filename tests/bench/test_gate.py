"""The gate: a planted slowdown fails, none passes, and a record that is none is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import albumentations as A
import pytest
from moved_clock import MovedClock
from small_data import DAWDLE, steps_of

from augrecipes.bench.gate import Baseline, Gate, RecordedSide, judge, open_baseline
from augrecipes.bench.gate import outcome as outcome_of
from augrecipes.bench.record import write
from augrecipes.bench.run import Options, bench
from augrecipes.bench.sides import Setting
from augrecipes.bench.timing import Ratio
from augrecipes.errors import BenchError

LIMIT = 0.15
STEPS = ["GaussianBlur: {blur_limit: [9, 9], p: 1.0}", "RandomResizedCrop: {size: [96, 96]}"]
QUICK = steps_of(*STEPS)


def options(seconds: float, held: Baseline | None = None) -> Options:
    asked = None if held is None else lambda *ratios: held.undecided(*ratios, limit=LIMIT)
    return Options(
        ["exact"], stock=True, yardsticks=held.yardsticks if held else {}, samples=16, seconds=seconds, effects=False,
        undecided=asked,
    )  # fmt: skip


def baseline(photos: Path, folder: Path, dawdle: Any, seconds: float) -> Baseline:
    """A record of the recipe; from then on the planted step takes 30% of what the recipe took."""
    found = bench({"mine": QUICK}, Setting(str(photos)), options(seconds))
    write(found, folder / "bench.json")
    dawdle.ms = 0.3 * found.sides[0].cpu_ms
    return open_baseline(folder / "bench.json")


def outcome(photos: Path, held: Baseline, seconds: float, *, slow: bool) -> Gate:
    now = bench({"mine": steps_of(*STEPS, DAWDLE) if slow else QUICK}, Setting(str(photos)), options(seconds, held))
    (found,) = judge(held, now, LIMIT).gates
    return found


@pytest.fixture
def blurs(clock: MovedClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the moved clock a blur takes 2 ms, ours as albumentations' own."""
    clock.noise = 0.1
    monkeypatch.setattr(A.GaussianBlur, "apply", lambda self, img, **params: (clock.work(0.002), img)[1])


@pytest.mark.usefixtures("blurs")
@pytest.mark.parametrize(("seconds", "times"), [(0.5, 1), pytest.param(6.0, 10, marks=pytest.mark.soak)])
def test_a_planted_slowdown_fails_and_none_passes(
    photos: Path, tmp_path: Path, dawdle: Any, seconds: float, times: int
) -> None:
    held = baseline(photos, tmp_path, dawdle, 2 * seconds)
    for _ in range(times):
        assert outcome(photos, held, seconds, slow=False).outcome != "slower"
        found = outcome(photos, held, seconds, slow=True)
        assert (found.outcome, found.step) == ("slower", "Dawdle#1")
        assert found.change.low > 1 + LIMIT
        assert found.change.middle == pytest.approx(1.3, abs=0.1)


def narrow(middle: float) -> Ratio:
    return Ratio(middle, middle * 0.98, middle * 1.02, (middle,) * 9)


@pytest.mark.parametrize(
    ("time", "work", "expected"),
    [
        (narrow(1.0), narrow(1.0), "passes"),
        (narrow(1.3), narrow(1.0), "slower"),  # it waits
        (narrow(1.0), narrow(1.3), "slower"),
        (Ratio(1.3, 0.9, 1.7, ()), narrow(1.0), "passes"),  # a busy machine
        (Ratio(1.3, 0.9, 1.7, ()), Ratio(1.2, 1.1, 1.3, ()), "cannot tell"),
        (narrow(1.16), narrow(1.16), "cannot tell"),  # only where the whole interval is beyond the limit
        (narrow(0.5), narrow(0.5), "passes"),
    ],
)
def test_only_a_whole_interval_beyond_the_limit_fails(time: Ratio, work: Ratio, expected: str) -> None:
    assert outcome_of(RecordedSide(narrow(1.0), narrow(1.0), {}), time, work, LIMIT)[0] == expected


def test_an_uncertain_record_is_uncertain_for_ever() -> None:
    wide = Ratio(1.0, 0.7, 1.4, ())
    assert outcome_of(RecordedSide(wide, wide, {}), narrow(1.3), narrow(1.3), LIMIT)[0] == "cannot tell"


@pytest.fixture(scope="module")
def report(photos: Path) -> dict[str, Any]:
    return bench({"mine": QUICK}, Setting(str(photos)), options(0.05)).to_json()


def test_records_that_are_none(report: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "bench.json"
    with pytest.raises(BenchError, match="No such file"):
        open_baseline(file)
    bare = {**report, "sides": [{**side, "against_stock": None} for side in report["sides"]]}
    bent = {**report["sides"][0], "against_stock": {**report["sides"][0]["against_stock"], "low": 9e9}}
    for text, why in (
        ("{", "no JSON"),
        ("[" * 100_000, "no JSON"),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, "no JSON"),
        ("[]", "no record"),
        ('{"schema_version": 2}', "schema_version is 2"),
        (json.dumps({"schema_version": 1}), "changed or cut"),
        (json.dumps(bare), "no ratios to stock"),
        (json.dumps({**report, "sides": [bent, *report["sides"][1:]]}), "changed or cut"),
        (
            json.dumps({**report, "recipes": [{**report["recipes"][0], "yardstick": "nonsense"}]}),
            "cannot be read any more",
        ),
    ):
        file.write_text(text)
        with pytest.raises(BenchError, match=why):
            open_baseline(file)


def test_a_record_of_other_recipes(report: dict[str, Any], photos: Path, tmp_path: Path) -> None:
    file = tmp_path / "bench.json"
    file.write_text(json.dumps(report))
    held = open_baseline(file)
    other = bench({"other": QUICK}, Setting(str(photos)), options(0.05))
    with pytest.raises(BenchError, match="it has mine · exact"):
        judge(held, other, LIMIT)


def test_a_write_that_fails_leaves_what_was_there(photos: Path, tmp_path: Path) -> None:
    found = bench({"mine": QUICK}, Setting(str(photos)), options(0.05))
    file = tmp_path / "bench.json"
    write(found, file)
    before = file.read_bytes()
    object.__setattr__(found, "data", object())  # no JSON
    with pytest.raises(TypeError):
        write(found, file)
    assert file.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["bench.json"]
