"""Turns, medians and intervals on made-up times; stages add up; the gate: a planted slowdown fails, none passes."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import albumentations as A
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_data import DAWDLE, KINDS, MovedClock, kind_data, steps_of

from augrecipes.bench.gate import Baseline, Gate, RecordedSide, judge, open_baseline
from augrecipes.bench.gate import outcome as outcome_of
from augrecipes.bench.record import write
from augrecipes.bench.run import Options, bench
from augrecipes.bench.sides import Setting, dataset_of, sides_of, work_of
from augrecipes.bench.stages import staged
from augrecipes.bench.timing import FEWEST_ROUNDS, Ratio, Work, interleaved, ratio, size_for, turn_order
from augrecipes.bench.verdicts import differs, verdict
from augrecipes.compiler.run.clock import DECODE, READ, REST, SINK, Clock
from augrecipes.errors import BenchError


def noisy(draw: np.random.Generator, rounds: int, stalls: float = 0.1) -> np.ndarray:
    """Six batches that take 1 to 6, each 10% more or less, and now and then five times as long."""
    times = np.arange(1, 7) * draw.lognormal(0, 0.1, (rounds, 6))
    return np.asarray(np.where(draw.random(times.shape) < stalls, 5 * times, times))


def test_two_runs_of_the_same_give_no_verdict() -> None:
    draw = np.random.default_rng(0)
    told = [differs(ratio(noisy(draw, 15), noisy(draw, 15))) for _ in range(100)]
    assert sum(told) <= 1


def test_a_difference_is_found_and_its_size_is_in_the_interval() -> None:
    draw = np.random.default_rng(1)
    found = [ratio(1.5 * noisy(draw, 15), noisy(draw, 15)) for _ in range(50)]
    assert sum(differs(one) for one in found) >= 49
    assert sum(one.low <= 1.5 <= one.high for one in found) >= 47
    assert verdict("A", "B", found[0]).startswith("B is 1.")


def test_a_mean_would_not_have_stood_the_stalls() -> None:
    """The planted fault: the plain ratio of sums is off where the median round is not."""
    draw = np.random.default_rng(2)
    calm, stalled = noisy(draw, 15, stalls=0), noisy(draw, 15, stalls=0.3)
    assert stalled.sum() / calm.sum() > 1.6
    assert ratio(stalled, calm).middle < 1.25


def test_few_rounds_decide_nothing() -> None:
    rounds = np.ones((FEWEST_ROUNDS - 1, 2))
    assert not differs(ratio(3 * rounds, rounds))


@given(st.integers(1, 9), st.floats(0.1, 10))
def test_a_ratio_scales(seed: int, factor: float) -> None:
    draw = np.random.default_rng(seed)
    one, other = noisy(draw, 9), noisy(draw, 9)
    plain, scaled = ratio(one, other), ratio(one * factor, other)
    for name in ("middle", "low", "high"):
        assert getattr(scaled, name) == pytest.approx(getattr(plain, name) * factor)


def test_a_clock_that_did_not_move_gives_no_verdict() -> None:
    """Processors' clocks of some systems move every 16 ms."""
    found = ratio(np.zeros((9, 2)), np.zeros((9, 2)))
    assert (found.middle, found.low, found.high) == (1.0, 1.0, 1.0)
    assert not differs(found)


@pytest.mark.parametrize("count", [2, 3, 4])
def test_everyone_is_first_equally_often(count: int) -> None:
    first = Counter(turn_order(count, turn, batch)[0] for turn in range(count) for batch in range(2))
    assert set(first.values()) == {2}


def test_every_batch_is_run_in_every_round() -> None:
    done: list[tuple[str, int]] = []

    def work(name: str) -> Work:
        return Work(name, lambda: iter(range(3)), after=lambda batch: done.append((name, batch)))

    found = interleaved([work(name) for name in "ab"], 2, 3)
    assert found.shape == (2, 2, 2, 3)
    assert (found[0] > 0).all()
    assert sorted(done) == sorted([(name, batch) for name in "ab" for batch in range(3)] * 2)


def test_on_a_busy_machine_there_is_no_verdict_without_the_cpu_time() -> None:
    rounds = (1.6,) * 9
    wall, cpu = Ratio(1.6, 1.2, 2.2, rounds), Ratio(1.0, 0.95, 1.05, rounds)
    assert differs(wall) and not differs(wall, cpu) and differs(wall, Ratio(1.5, 1.4, 1.6, rounds))
    assert "no statistically significant" in verdict("a", "b", wall, cpu)
    assert not differs(wall, Ratio(0.6, 0.5, 0.7, rounds))


@given(st.floats(0.01, 100), st.floats(1e-4, 10), st.integers(1, 50))
def test_there_are_always_enough_rounds(seconds: float, a_batch: float, batches: int) -> None:
    size = size_for(seconds, a_batch, batches)
    assert size.rounds >= FEWEST_ROUNDS
    assert 1 <= size.batches <= batches
    assert size.rounds * size.batches * a_batch <= max(seconds, FEWEST_ROUNDS * a_batch) * 1.01


def test_parts_of_nested_work_add_up(clock: MovedClock) -> None:
    parts = Clock()
    with parts.stage("whole"):
        clock.work(0.5)
        for _ in range(100):
            parts.run("inner", clock.work, (0.01,), {})
        clock.wait(0.25)
    assert parts.take() == pytest.approx({"whole": 0.75, "inner": 1.0}, abs=1e-3)
    assert parts.take() == {}


CROP = "RandomResizedCrop: {size: [96, 96]}"


@pytest.mark.parametrize("level", ["none", "exact", "fast"])
def test_a_planted_slow_step_is_named_and_the_stages_add_up(
    photos: Path, dawdle: Any, clock: MovedClock, level: Any
) -> None:
    dawdle.ms = 10.0
    made = steps_of(DAWDLE, CROP, "HorizontalFlip")
    options = Options([level], samples=4, batch_size=4, seconds=0.6, effects=False)
    found = bench({"mine": made}, Setting(photos), options)
    (side,) = found.sides
    slowest = max(side.stages, key=lambda stage: stage.ms)
    assert (slowest.kind, slowest.name) == ("step", "Dawdle#1")
    assert slowest.ms == pytest.approx(10, abs=0.01)
    assert side.bottleneck.startswith("CPU, mostly Dawdle#1: 10.00 of ")
    assert sum(stage.ms for stage in side.stages) / side.ms == pytest.approx(1, abs=0.01)
    assert sum(stage.ms for stage in side.stages) == pytest.approx(side.ms, rel=0.01)


@pytest.mark.parametrize("level", ["none", "exact", "fast"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_stage_is_clocked(kind: str, level: Any, tmp_path: Path) -> None:
    made, data = kind_data(kind, tmp_path)
    (side,) = sides_of({"it": made}, [level], Setting(data), 4)
    one = staged(side, Setting(data))
    for _ in one.work(2).start():
        pass
    found = set(one.clock.take())
    if level != "none":
        found.add("\x00collate")  # samples that programs have written side by side are a batch already
    assert {*one.labels, READ, DECODE, SINK, REST, "\x00collate"} == found


@pytest.mark.parametrize("kind", KINDS)
def test_the_clocks_change_no_sample(kind: str, tmp_path: Path) -> None:
    made, data = kind_data(kind, tmp_path)
    for side in sides_of({"it": made}, ["none", "fast"], Setting(data), 3):
        plain = list(work_of(side, 1).start())
        timed = list(staged(side, Setting(data)).work(1).start())
        for one, other in zip(plain, timed, strict=True):
            for name in made.scales or ["image"]:
                np.testing.assert_array_equal(one[name].numpy(), other[name].numpy())


def test_samples_are_the_datasets_own(photos: Path) -> None:
    made = steps_of(CROP, "ColorJitter")
    (side,) = sides_of({"it": made}, ["none"], Setting(photos), 4)
    whole = dataset_of(made, Setting(photos), "none")
    assert [side.dataset[k]["index"] for k in range(4)] == [0, 2, 4, 6]
    np.testing.assert_array_equal(side.dataset[3]["image"].numpy(), whole[6]["image"].numpy())


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
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, "not JSON"),
        ("[]", "not a record"),
        ('{"schema_version": 2}', "schema_version is 2"),
        (json.dumps({"schema_version": 1}), "changed or cut"),
        (json.dumps(bare), "no ratios to stock"),
        (json.dumps({**report, "sides": [bent, *report["sides"][1:]]}), "changed or cut"),
        (
            json.dumps({**report, "recipes": [{**report["recipes"][0], "yardstick": "nonsense"}]}),
            "can no longer be read",
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
