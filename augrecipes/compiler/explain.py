"""Explain a recipe: its steps, what the compiler turned them into, and why it left the others alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from augrecipes import mixtures
from augrecipes.compiler import explained
from augrecipes.compiler.compile import build, check, steps_of
from augrecipes.compiler.rewrite import flow_of, plan
from augrecipes.compiler.rewrite.nodes import Steps
from augrecipes.compiler.rewrite.rule import Merge, flows_before_each, obstacles_from, runs
from augrecipes.compiler.rewrite.rules import is_colour, is_warp, rules_for
from augrecipes.errors import counted
from augrecipes.flow import Arrival, Dtype, Flow
from augrecipes.native.kernels import described, library
from augrecipes.ops import groups
from augrecipes.ops.registry import chance, effective, record_of
from augrecipes.recipe import kinds, write
from augrecipes.recipe.model import Mode, Optimize, Recipe, Step, canonical
from augrecipes.recipe.parse import Source, as_recipe
from augrecipes.report import Displayed, to_plain

if TYPE_CHECKING:
    from augrecipes.compiler.timing import PlanTiming  # brings albumentations with it

_WHY = {
    "identity": "does nothing, but its group counts its children, or boxes are filtered after it",
    "window": "crops without a copy, when pixels are read next",
    "dihedral": "flips or rotates without a copy, when pixels are read next",
    "padding": "pads when pixels are read next",
    "lookup": "is a table of levels; consecutive tables are combined when pixels are read",
    "matrix": "rounds; merging it would change the last bit",
    "pointwise": "rounds by position in the row; moving it would change the last bit",
    "warp": "resamples; merging it would change pixels",
    "opaque": "no rule merges or moves steps of this kind",
}

_MOST_NAMES = 3  # labels that a sentence lists before it says how many more there are
_WHY_FAST = {
    "warp": "is followed by no crop or linear resize that would make merging pay",
    "matrix": "has no neighbouring colour step to merge with",
    "pointwise": "is not a colour matrix, and has no known approximation by one",
}

_MERGES: tuple[tuple[Callable[[Step], bool], Merge], ...] = (
    (is_warp, "RESAMPLES"),
    (is_colour, "LEVELS"),
)


@dataclass(frozen=True, slots=True)
class Explanation(Displayed):
    """What `augrecipes explain` prints; `to_json()` gives the same as plain values, `pictured` is the recipe."""

    recipe: str
    digest: str
    mode: Mode
    optimize: Optimize
    dtype: Dtype
    output: str
    kernels: str
    native: str
    steps: tuple[explained.SourceStep, ...]
    shared: tuple[explained.SharedStep, ...]
    rules: tuple[explained.FiredRule, ...]
    plan: tuple[explained.PlannedStep, ...]
    stayed: tuple[explained.Stayed, ...]
    derived: tuple[explained.DerivedStep, ...] = ()
    batch: tuple[explained.SourceStep, ...] = ()
    plugins: tuple[str, ...] = ()
    tta: str = ""
    bag: str = ""
    timing: PlanTiming | None = None
    pictured: tuple[Recipe, ...] = field(default=(), compare=False)

    def __repr__(self) -> str:
        fired = ", ".join(dict.fromkeys(rule.rule for rule in self.rules)) or "none"
        title = f"{self.recipe}, {self.mode}, {self.optimize}"
        return f"<Explanation {title}: {counted(len(self.steps), 'step')}, rules {fired}>"

    def with_times(self, measured: PlanTiming, what: str) -> Explanation:
        """The same with the time of each step and of the whole, before and after; `what` describes the image."""
        return replace(
            self,
            steps=tuple(replace(step, ms=measured.before.steps[step.site]) for step in self.steps),
            plan=tuple(replace(step, ms=measured.after.steps[step.label]) for step in self.plan),
            timing=replace(measured, what=what),
        )

    def to_json(self) -> dict[str, Any]:
        """The explanation as plain dicts, lists, strings and numbers, without empty sections and unmeasured times."""
        report: dict[str, Any] = to_plain(self)
        for key in ("shared", "derived", "batch", "plugins", "tta", "bag"):
            if not report[key]:
                del report[key]
        if self.timing is None:
            del report["timing"]
            for row in (*report["steps"], *report["plan"]):
                del row["ms"]
        return report


def explain(
    recipe: Recipe | Source, mode: Mode = "train", optimize: Optimize | None = None, arrival: Arrival = "encoded"
) -> Explanation:
    """Explain what the compiler does with a recipe for images that arrive as files, or as arrays of a dtype.

    Raises:
        LintError, RecipeError: as `Recipe.compile`.

    >>> [rule.rule for rule in explain("stained-tissue", optimize="fast", arrival="uint8").rules]
    ['join_warps', 'join_colours']
    """
    recipe = as_recipe(recipe)
    steps_of(recipe, mode)
    check(recipe)
    if recipe.views and mode == "train":
        return _merged_views(
            recipe, {view.name: _explanation(recipe.view(view.name), mode, optimize, arrival) for view in recipe.views}
        )
    return _explanation(recipe, mode, optimize, arrival)


def _explanation(recipe: Recipe, mode: Mode, optimize: Optimize | None, arrival: Arrival) -> Explanation:
    """Explain a checked recipe without views, or one view."""
    chosen: Optimize = recipe.optimize if optimize is None else optimize
    steps = steps_of(recipe, mode)
    applied: Optimize = "none" if library() is None or recipe.inputs.why_not_native else chosen
    planned = plan(recipe, steps, applied, arrival)
    rules = {rule.name: rule for rule in rules_for(recipe, applied)}
    fired = tuple(
        explained.FiredRule(
            f.rule, rules[f.rule].contract, rules[f.rule].equation, ", ".join(f.before), ", ".join(f.after)
        )
        for f in planned.fired
    )
    touched = {site for f in planned.fired for site in f.before}
    flow = flow_of(recipe, arrival)
    reasons = _why_not_merged(steps, flow) if applied == "fast" and not recipe.facts.scales else {}
    native, opaque = _native(recipe, mode, chosen, arrival)
    return Explanation(
        recipe=recipe.name,
        digest=recipe.digest,
        mode=mode,
        optimize=chosen,
        dtype=recipe.inputs.dtype or ("float32" if arrival == "float32" else "uint8"),
        output=explained.output_line(recipe),
        kernels=described(),
        native=native,
        steps=tuple(_source_step(step, depth) for step, depth in _walk(steps)),
        shared=_shared(recipe, steps),
        rules=fired,
        plan=explained.planned_steps(planned.steps, opaque),
        stayed=tuple(
            explained.Stayed(step.site, reasons.get(step.site) or _why_it_stayed(recipe, step, applied))
            for root in steps
            for step, _ in _walk((root,))
            if touched.isdisjoint((root.site, step.site))  # a group that was moved, or joined, went with its children
        ),
        derived=explained.derived_steps(recipe),
        batch=tuple(
            explained.SourceStep(step.site, depth, step.name, chance(step), mixtures.effective(step))
            for step, depth in _walk(recipe.batch if mode == "train" else ())
        ),
        plugins=recipe.plugins,
        tta=write.flow(write.views_of(recipe.tta)) if recipe.tta else "",
        bag=write.flow(canonical(recipe.bag)) if recipe.bag else "",
        pictured=(recipe,),
    )


def _shared(recipe: Recipe, steps: Sequence[Step]) -> tuple[explained.SharedStep, ...]:
    """Which images share the draws of each step, where a sample has several."""
    if not (recipe.facts.scales or recipe.facts.tiles):
        return ()
    return tuple(explained.SharedStep(*row) for row in kinds.part(recipe.kind, "pipeline").sharing(recipe, steps))


def _merged_views(recipe: Recipe, views: Mapping[str, Explanation]) -> Explanation:
    """Merge the explanations of a recipe's views, by name; rows that several views share appear once."""
    first, *_ = explanations = [*views.values()]

    def once(key: str) -> tuple[Any, ...]:
        return tuple({repr(row): row for view in explanations for row in getattr(view, key)}.values())

    native = {name: view.native.replace("samples and batches", "view by view") for name, view in views.items()}
    rows = {row.label: row for view in explanations for row in view.plan}
    users = {label: [name for name, view in views.items() if label in {r.label for r in view.plan}] for label in rows}
    plan = tuple(replace(row, step=f"{', '.join(users[label])}: {row.step}") for label, row in rows.items())
    return replace(
        first, recipe=recipe.name, digest=recipe.digest, steps=once("steps"), rules=once("rules"), plan=plan,
        native="; ".join([*native.values()][:1] if len({*native.values()}) == 1 else map(": ".join, native.items())),
        stayed=once("stayed"), derived=explained.derived_steps(recipe), pictured=(recipe,),
        shared=tuple(explained.SharedStep(step.site, "one draw for all views") for step in recipe.steps),
    )  # fmt: skip


def _native(recipe: Recipe, mode: Mode, optimize: Optimize, arrival: Arrival) -> tuple[str, tuple[str, ...] | None]:
    """What runs natively, without Python between steps, or why nothing does; and the labels of the exits."""
    pipeline: Any = build(recipe, mode, optimize, seed=0)
    if why := recipe.inputs.why_not_native:
        return f"no, steps run one by one, as written; {why}", None
    program = pipeline.at_once if arrival == "encoded" else pipeline.coming(arrival).native
    if not isinstance(program, str):
        by_python = f"; {_listing(program.stops)} in albumentations, the rest natively"
        return f"yes, {pipeline.natively}{by_python if program.stops else ''}", program.stops
    in_memory = arrival == "encoded" and not isinstance(pipeline.coming("uint8").native, str)
    return f"{'yes in memory, no for files' if in_memory else 'no, every step runs as written'}: {program}", None


def _listing(labels: Sequence[str]) -> str:
    """The labels in a phrase; of a long list the first ones and how many more there are."""
    shown = [*labels[:_MOST_NAMES], f"{len(labels) - _MOST_NAMES} more"] if len(labels) > _MOST_NAMES else labels
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def _walk(steps: Steps, depth: int = 0) -> list[tuple[Step, int]]:
    return [pair for step in steps for pair in ((step, depth), *_walk(step.steps, depth + 1))]


def _source_step(step: Step, depth: int) -> explained.SourceStep:
    if step.is_group:
        arguments: dict[str, Any] = {"p": 1.0 if step.p is None else step.p, **step.args.plain()}
        if step.name == groups.RANDOM_ORDER:
            arguments.setdefault("n", len(step.steps))
    else:
        arguments = effective(step) | ({"channels": list(step.channels)} if step.channels else {})
    p = float(arguments.pop("p"))
    arguments |= step.schedule.plain()
    return explained.SourceStep(step.site, depth, step.name, p, arguments)


def _why_not_merged(steps: Steps, flow: Flow) -> dict[str, str]:
    """Why steps that could be merged are not: a later step would amplify the difference."""
    reasons: dict[str, str] = {}
    for step, inner_flow in zip(steps, flows_before_each(steps, flow), strict=True):
        if step.name == groups.SEQUENTIAL:
            reasons |= _why_not_merged(step.steps, inner_flow)
    for joins, merge in _MERGES:
        obstacles = obstacles_from(steps, flow, merge)
        for start, run in runs(steps, joins):
            if (why := obstacles[start + len(run)]) is not None:
                merged = [inner for step in run for inner in step.walk()]
                reasons |= {inner.site: f"is not merged: after it, {why}" for inner in merged}
    return reasons


def _why_it_stayed(recipe: Recipe, step: Step, optimize: Optimize) -> str:
    if why := recipe.inputs.why_not_native:
        return f"runs as written; {why}"
    if optimize == "none":
        return "with optimize: none, or without native kernels, every step runs as written"
    if step.name == groups.DEGRADE:
        return "makes a target; its steps run as written"
    if step.is_group:
        return "is a group, which stays; its steps are optimised separately"
    record = record_of(step)
    if not record.is_known:
        return "is a class of your own, about which nothing is assumed"
    if read := record.statistics:
        return f"reads {read} of the whole image, which a crop before it would change"
    action = record.action
    is_fast = optimize == "fast" and not recipe.facts.scales  # no rule for pairs changes a bit
    return _WHY_FAST.get(action, _WHY[action]) if is_fast else _WHY[action]
