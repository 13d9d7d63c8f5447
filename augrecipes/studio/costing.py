"""What a recipe costs on this machine: each step's time before and after the plan, and what the plan is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from augrecipes.compiler.compile import steps_of
from augrecipes.compiler.explain import explain
from augrecipes.compiler.rewrite.rules import rules_for
from augrecipes.compiler.timing import measure
from augrecipes.machine import cores
from augrecipes.studio.asked import RequestBody
from augrecipes.studio.drawing import whole
from augrecipes.studio.jobs import go_on
from augrecipes.studio.outline import steps_by_path
from augrecipes.studio.studio import Studio
from augrecipes.studio.wanted import WantedDraws, check_index, units_of

SECONDS = 0.4  # for the recipe as it is written, and for its plan


def costed(studio: Studio, body: RequestBody) -> dict[str, Any]:
    """Times in µs a sample, on one thread, on the sample that is shown; and what `augrecipes explain` says.

    Raises:
        AugrecipesError: the recipe cannot be compiled, or fails on the sample.
    """
    wanted = WantedDraws.of(studio, body)
    index, recipe = body.integer("index"), wanted.recipe
    optimize = wanted.optimize or recipe.optimize
    pipeline = studio.bench.pipeline(recipe, wanted.mode, "none", wanted.seed)
    files = studio.shelf.files(recipe, pipeline)
    check_index(files, index)
    sample = studio.shelf.sample(recipe, pipeline, units_of(wanted, files, index, 0)[0])
    images: dict[str, Any] = {name: whole(image) for name, image in sample.images.items()}
    sample = replace(sample, images=images)
    with studio.measuring:
        measured = measure(
            recipe,
            sample.targets,
            mode=wanted.mode,
            optimize=optimize,
            seed=wanted.seed,
            seconds=SECONDS,
            resumes=studio.bench.resumes,
            between=go_on,
        )
    explained = explain(recipe, wanted.mode, optimize, "uint8").with_times(measured, "")
    section = "steps" if wanted.mode == "train" else "eval"
    paths = {step.site: path for path, step in steps_by_path(wanted.as_written).items() if path.startswith(section)}
    fired = {rule.rule for rule in explained.rules}
    rules = [
        {"name": rule.rule, "fired": True, "why": rule.equation, "before": rule.before, "after": rule.after,
         "contract": rule.contract}
        for rule in explained.rules
    ]  # fmt: skip
    rules += [
        {"name": rule.name, "fired": False, "why": rule.equation, "before": "", "after": "", "contract": rule.contract}
        for rule in rules_for(recipe, optimize)
        if rule.name not in fired
    ]
    timing = explained.timing
    assert timing is not None
    spent = measured.after.whole
    return {
        "steps": [
            {
                "path": path, "name": f"{name} (in the store)", "label": site, "depth": 0, "before_us": 0.0,
                "after_us": None,
            }
            for site, (path, name) in _baked(wanted).items()
        ]
        + [
            {
                "path": paths.get(step.site), "name": step.name, "label": step.site, "depth": step.depth,
                "before_us": 1e3 * (step.ms or 0.0), "after_us": _after(step.site, measured.after.steps),
            }
            for step in explained.steps
        ],
        "plan": [{"name": step.label, "after_us": 1e3 * (step.ms or 0.0)} for step in explained.plan],
        "sink_before_us": 1e6 * measured.before.sink, "sink_after_us": 1e6 * measured.after.sink,
        "overhead_before_us": 1e6 * measured.before.overhead, "overhead_after_us": 1e6 * measured.after.overhead,
        "total_before_us": 1e6 * measured.before.whole, "total_after_us": 1e6 * spent,
        "ratio": measured.ratio, "spread": measured.spread, "samples": measured.samples, "rounds": measured.rounds,
        "rules": rules,
        "stayed": [{"path": paths.get(one.site), "name": one.site, "why": one.why} for one in explained.stayed],
        "per_second": 1 / spent, "cores": cores(), "per_second_all": cores() / spent,
        "native": explained.native, "kernels": explained.kernels, "optimize": explained.optimize,
        "output": explained.output, "what": " · ".join(
            f"{image.shape[1]}×{image.shape[0]} px" for image in sample.images.values()
        ),
        "mode": wanted.mode, "written": len(steps_of(recipe, wanted.mode)),
    }  # fmt: skip


def _baked(wanted: WantedDraws) -> dict[str, tuple[str, str]]:
    """Path and class of the steps that the store has behind it, by label."""
    known = steps_by_path(wanted.as_written)
    return {step.site: (path, step.name) for path, step in known.items() if step.site in wanted.baked}


def _after(site: str, steps: dict[str, float]) -> float | None:
    """A step's time in the plan, where it runs there by itself; None where it has become part of something."""
    return 1e6 * steps[site] if site in steps else None
