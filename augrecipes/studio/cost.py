"""What a recipe costs on this machine: each step's time before and after the plan, and what the plan is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from augrecipes.compiler.explain import explain
from augrecipes.compiler.rewrite.rules import rules_for
from augrecipes.compiler.timing import measure
from augrecipes.machine import cores
from augrecipes.studio.jobs import go_on
from augrecipes.studio.requests import ViewRequest
from augrecipes.studio.studio import Studio
from augrecipes.studio.view import View, whole

SECONDS = 0.4  # for the recipe as it is written, and for its plan


def costs(studio: Studio, request: ViewRequest) -> dict[str, Any]:
    """Times in µs a sample, on one thread, on the sample that is shown; and what `augrecipes explain` says.

    Raises:
        AugrecipesError: the recipe cannot be compiled, or fails on the sample.
    """
    view = View(studio, request, optimize="none")
    recipe, mode, optimize = view.recipe, view.mode, request.optimize or view.recipe.optimize
    sample = view.sample(view.units(request.index, 0)[0], 0)
    images: dict[str, Any] = {name: whole(image) for name, image in sample.images.items()}
    with studio.measuring:
        measured = measure(
            recipe, replace(sample, images=images).targets, mode=mode, optimize=optimize, seed=request.seed,
            seconds=SECONDS, resumes=studio.bench.resumes, between=go_on,
        )  # fmt: skip
    explained = explain(recipe, mode, optimize, "uint8").with_times(measured, "")
    section = "steps" if mode == "train" else "eval"
    paths = {step.site: path for path, step in view.steps.items() if path.startswith(section)}
    names = {step.site: step.name for path, step in view.steps.items() if path.startswith(section)}
    steps: list[tuple[str | None, str, int, float]] = [
        (paths[site], f"{name} (in the store)", 0, 0.0) for site, name in names.items() if site in view.baked
    ]
    steps += [(paths.get(one.site), one.name, one.depth, one.ms or 0.0) for one in explained.steps]
    rules = {rule.name: {"fired": False, "why": rule.equation, "before": ""} for rule in rules_for(recipe, optimize)}
    rules |= {rule.rule: {"fired": True, "why": rule.equation, "before": rule.before} for rule in explained.rules}
    before, after = measured.before, measured.after
    return {
        "steps": [
            {"path": path, "name": name, "depth": depth, "before_us": 1e3 * ms} for path, name, depth, ms in steps
        ],
        "plan": [{"name": step.label, "after_us": 1e3 * (step.ms or 0.0)} for step in explained.plan],
        "sink_before_us": 1e6 * before.sink, "sink_after_us": 1e6 * after.sink,
        "overhead_before_us": 1e6 * before.overhead, "overhead_after_us": 1e6 * after.overhead,
        "total_before_us": 1e6 * before.whole, "total_after_us": 1e6 * after.whole,
        "rules": [{"name": name, **rule} for name, rule in sorted(rules.items(), key=lambda one: not one[1]["fired"])],
        "stayed": [{"name": one.site, "why": one.why} for one in explained.stayed],
        "per_second": 1 / after.whole, "cores": cores(), "per_second_all": cores() / after.whole,
        "native": explained.native, "optimize": explained.optimize,
    }  # fmt: skip
