"""`explain` says whose work twins do, and whose draws they make: all that they do, and no more."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from every_class import STEPS
from kernel_sets import KERNEL_SETS, counted

from augrecipes.compiler.explain import explain
from augrecipes.compiler.kernels import twins, warp_native
from augrecipes.compiler.kernels.resize_native import NativeResize
from augrecipes.compiler.kernels.step_draws import draw
from augrecipes.compiler.kernels.warp_native import NativeWarp
from augrecipes.compiler.run.draws import Draws
from augrecipes.native.kernels import using
from augrecipes.ops.capabilities import claims
from augrecipes.ops.registry import construct
from augrecipes.recipe.model import Arguments, Step
from augrecipes.recipe.parse import parse_text

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
IMAGE = np.random.default_rng(0).integers(0, 256, (60, 80, 3), np.uint8)


def _acts(step: Step, made: list[Any]) -> bool:
    """Whether kernels did something of a step's work, in some draw."""
    quick, draws = construct(step), Draws(0)
    quick.random_generator, quick.py_random = draws.add(step.name)
    twins.attach([quick])
    made.clear()
    for index in range(3):
        draws.position(0, index)
        try:
            quick.apply(IMAGE, **draw(quick, {"image": IMAGE}))
        except Exception:
            return False  # it needs something else
    return bool(made)


def _what_acts_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    named = {step: twins.quick_parts(construct(step))[0] for step in STEPS if not claims(step.name).twin}
    made = counted(monkeypatch, NativeWarp, "sampled"), counted(monkeypatch, NativeResize, "resized")
    for step, said in named.items():
        assert said or not any(_acts(step, kind) for kind in made), step
    monkeypatch.undo()


@pytest.mark.parametrize("kernels", KERNEL_SETS[1:], ids=lambda kernels: kernels.isa)
def test_what_runs_by_kernels_is_said(kernels: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with using(kernels):
        _what_acts_is_said(monkeypatch)
        if kernels.isa != "base":
            monkeypatch.setattr(warp_native, "acts", lambda *_: False)
            with pytest.raises(AssertionError):
                _what_acts_is_said(monkeypatch)


CUBIC, LANCZOS = Arguments({"interpolation": "cubic"}), Arguments({"interpolation": "lanczos4"})
PARTS = (
    (Step("Rotate"), (True, True)), (Step("Rotate", CUBIC), (False, True)), (Step("Blur"), (False, False)),
    (Step("RandomScale"), (True, False)), (Step("RandomScale", LANCZOS), (False, False)),
    (Step("RandomScale", Arguments({"interpolation": "cubic", "area_for_downscale": "image"})), (True, False)),
    (Step("MotionBlur"), (False, True)), (Step("GaussNoise"), (True, True)), (Step("RandomShadow"), (True, False)),
    (Step("ImageCompression"), (True, False)),
    (Step("ImageCompression", Arguments({"compression_type": "webp"})), (False, False)),
    (Step("ResizeToTarget", Arguments({"method": "area"})), (True, False)), (Step("ResizeToTarget"), (False, False)),
)  # fmt: skip


@pytest.mark.parametrize(("step", "parts"), PARTS, ids=lambda of: f"{of.name}" if isinstance(of, Step) else "")
def test_work_and_draws_are_told_apart(step: Step, parts: tuple[bool, bool]) -> None:
    for kernels in KERNEL_SETS:
        if kernels is not None and kernels.isa != "base":
            with using(kernels):
                assert twins.quick_parts(construct(step)) == parts
    with using(None):
        assert twins.quick_parts(construct(step))[0] == (step.name == "RandomShadow")  # is Python


RECIPE = """
version: 1
recipe: test
steps: [MotionBlur, {OneOf: {steps: [Blur, {Rotate: {id: turned}}]}}]
eval: []
"""


@pytest.mark.parametrize("optimize", ["none", "exact", "fast"])
def test_explain_names_work_and_draws(optimize: Any) -> None:
    with using(KERNEL_SETS[-1]):
        report = explain(parse_text(RECIPE), optimize=optimize)
    streaks, group = report.plan
    assert (streaks.twins, streaks.drawn) == ((), () if optimize == "none" else ("MotionBlur#1",))
    quick = KERNEL_SETS[-1] is not None and KERNEL_SETS[-1].isa != "base"
    assert group.twins == (("turned",) if optimize != "none" and quick else ())
    assert group.drawn == (() if optimize == "none" else ("turned",))
    assert report.to_json()["plan"][1]["drawn"] == group.drawn
