"""A sweep and a training together: the advice knows the step, and the step is measured again with what is advised."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from augrecipes.bench.run import Options, bench
from augrecipes.bench.sides import Setting
from augrecipes.recipe.parse import parse_text

NAPS = "version: 1\nrecipe: it\nsteps:\n  - RandomResizedCrop: {size: [24, 24]}\n  - Nap: {p: 1.0}\neval: []\n"


def fed(photos: Path, **more: Any) -> Any:
    options = Options(["none", "exact"], samples=4, batch_size=4, seconds=0.3, effects=False, **more)
    return bench({"it": parse_text(NAPS)}, Setting(photos), options)


def test_training_is_measured_again_with_what_is_advised(photos: Path, dawdle: Any, recorded: Any) -> None:
    recorded(0.04)
    found = fed(photos, workers=(2,), sizes=(16,), train_step="2")
    (advice,) = found.sweep.advice
    assert advice.workers == 2
    assert "training step takes " in advice.text
    cases = [(one.level, one.backend, one.workers) for one in found.training]
    assert cases == [("none", "batches", 0), ("exact", "batches", 0), ("exact", advice.backend, advice.workers)]
    for one in found.training:
        assert sum(part.share for part in one.parts) == pytest.approx(1)


def test_a_long_step_needs_no_workers_and_binds(photos: Path, recorded: Any) -> None:
    recorded(0.0001)
    steps = NAPS.replace("  - Nap: {p: 1.0}\n", "")
    options = Options(
        ["none"], samples=4, batch_size=4, seconds=0.1, effects=False, train_step="20", workers=(0, 1), sizes=(16,)
    )
    found = bench({"it": parse_text(steps)}, Setting(photos), options)
    assert found.side("it", "none").binds.startswith("the training step binds: it takes 5.00 ms")
    assert found.sweep.advice[0].workers == 0
    assert not any("cannot" in line for line in found.sweep.left_out)
