"""The rows of `explain`: a plan's steps, the evaluation that `eval: derived` makes of each, the output; as a report."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from augrecipes.compiler.prefix import described
from augrecipes.compiler.rewrite.nodes import Fused, Steps, singles
from augrecipes.ops.records import op_record, own_names
from augrecipes.recipe.derive import ONE_BY_ONE, DerivedRow, derive
from augrecipes.recipe.model import Inputs, Output, Recipe, Step
from augrecipes.recipe.words import brief, text
from augrecipes.report import Report, TextTable

NATIVE = "native"


@dataclass(frozen=True, slots=True)
class SourceStep:
    """One step as written, with the arguments that take effect; `ms`: its measured time, None where not measured."""

    site: str
    depth: int
    name: str
    p: float
    arguments: dict[str, Any]
    ms: float | None = None


@dataclass(frozen=True, slots=True)
class FiredRule:
    """One firing of a rule, with the rule's contract and equation."""

    rule: str
    contract: str
    equation: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class SharedStep:
    """A step of a pair or a bag, and which targets or tiles share its draw."""

    site: str
    how: str


@dataclass(frozen=True, slots=True)
class Stayed:
    """A step that no rule touched, and why."""

    site: str
    why: str


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """One step of the plan.

    Attributes:
        step: its label; for merged steps the kernel that merges them.
        stands_for: the labels of merged steps; empty for a single one.
        runs: `native`, or `albumentations` with the reason.
        ms: its measured time; None where not measured.
    """

    step: str
    stands_for: str
    runs: str = ""
    ms: float | None = None

    @property
    def label(self) -> str:
        """The compiler's label, without the name of a view in front."""
        step = self.step.rpartition(": ")[2]
        return f"{step}({self.stands_for})" if self.stands_for else step


def planned_steps(nodes: Steps, opaque: Collection[str] | None = None) -> tuple[PlannedStep, ...]:
    """Describe each step of a plan.

    Args:
        nodes: the plan's nodes.
        opaque: labels of the steps at which the program exits; None: every step runs in albumentations, as written.
    """
    planned = []
    for node in nodes:
        step, stands_for = node.site, ""
        if isinstance(node, Fused):
            step, stands_for = node.name, " + ".join(step.site for step in node.steps)
        planned.append(PlannedStep(step, stands_for, _how_it_runs(node, opaque)))
    return tuple(planned)


def _how_it_runs(node: Step, opaque: Collection[str] | None) -> str:
    """What runs a node; a group is told step by step where these differ."""
    by: dict[str, list[str]] = {}
    for step in singles(node):
        if opaque is None:
            how = "augrecipes" if step.name in own_names() else "albumentations"
        else:
            how = f"albumentations: {why_not_native(step.name)}" if step.site in opaque else NATIVE
        by.setdefault(how, []).append(step.site)
    if len(by) == 1:
        return next(iter(by))
    return "; ".join(f"{', '.join(sites)} {how}" for how, sites in by.items())


def why_not_native(name: str) -> str:
    """Why steps of a class run in albumentations, and which arguments would change that.

    >>> why_not_native("Defocus"), why_not_native("Blur")
    ('no kernel does what it does', 'native only with `blur_limit` up to 15')
    """
    record = op_record(name)
    if not record.is_known:
        return "a class of your own"
    if not record.native:
        return "no kernel does what it does"
    if record.native_when:
        return f"native only with {record.native_when}"
    return "on this machine it draws or paints differently from the kernels"


@dataclass(frozen=True, slots=True)
class DerivedStep:
    """A training step, the steps that replace it in evaluation, and why.

    Attributes:
        site: label of the training step.
        depth: how many groups it is in.
        becomes: the evaluation steps, a line each; empty for a group whose steps have rows of their own.
        why: the reason, in a few words.
    """

    site: str
    depth: int
    becomes: tuple[str, ...]
    why: str


def derived_steps(recipe: Recipe) -> tuple[DerivedStep, ...]:
    """A row for every training step; no rows where the recipe does not say `eval: derived`.

    >>> import augrecipes as ar
    >>> [row.becomes for row in derived_steps(ar.load("folder-128", overrides={"eval": "derived"}))]
    [('SmallestMaxSize(interpolation: area, max_size: 128)',), ('CenterCrop(height: 128, width: 128)',), ()]
    """
    return tuple(_derived_rows(derive(recipe.parts()[0].steps, recipe.scales.plain()), 0)) if recipe.derived else ()


def _derived_rows(rows: Iterable[DerivedRow], depth: int) -> Iterator[DerivedStep]:
    for row in rows:
        becomes = () if row.inner else tuple(brief(described(step)) for step in row.becomes)
        yield DerivedStep(row.step.site, depth, becomes, row.why)
        yield from _derived_rows(row.inner, depth + 1)


def output_line(recipe: Recipe) -> str:
    """The recipe's output in one line; one part per target where they differ."""
    if not recipe.outputs:
        return _output_text(recipe.output, recipe.inputs)
    outputs = {name: recipe.outputs.get(name, recipe.output) for name in recipe.scales}
    return "; ".join(f"{name} {_output_text(output, recipe.inputs)}" for name, output in outputs.items())


def _output_text(out: Output, inputs: Inputs) -> str:
    if out.where == "device" and inputs.deep_dtype:
        scale = "values of its own"
    elif out.dtype == "uint8" or out.where == "device":
        scale = "0..255"
    elif out.normalize:
        scale = f"(x − {_numbers_text(out.normalize.mean)}) / {_numbers_text(out.normalize.std)}"
    else:
        scale = f"{out.range[0]:g}..{out.range[1]:g}"
    dtype = (inputs.deep_dtype or "uint8") if out.where == "device" else out.dtype
    return f"{dtype} {out.layout} {out.color}, {scale}" + (", the rest on the device" if out.where == "device" else "")


def _numbers_text(values: tuple[float, ...]) -> str:
    text = ", ".join(f"{v:g}" for v in values)
    return text if len(values) == 1 else f"({text})"


def report_of(explanation: Mapping[str, Any]) -> Report:
    """Turn `Explanation.to_json()` into a report: facts, and a table for every list.

    >>> flip = {"site": "Flip#1", "depth": 0, "name": "Flip", "p": 0.5, "arguments": {"axis": "x", "fill": None}}
    >>> print(report_of({"recipe": "tiny", "digest": "0123456789abcdef", "steps": [flip], "stayed": []}).text())
    recipe: tiny
    digest: 0123456789ab
    <BLANKLINE>
    Steps, with the arguments that take effect
      step      p  arguments
      Flip#1  0.5  axis: x
    <BLANKLINE>
    Not merged or moved, and why
      none
    """
    facts = {key: text(value) for key, value in explanation.items() if not isinstance(value, list | Mapping)}
    timing = explanation.get("timing")
    if timing is not None:
        before, after = (f"{timing[which]['whole']:.3f} ms" for which in ("before", "after"))
        how = f"one thread, {timing['samples']} draws, {timing['rounds']} times each in turns"
        facts["measured"] = f"{timing['what']}, {how}"
        facts["ratio"] = f"{timing['ratio']:.2f} ± {timing['spread']:.2f}, {before} as written, {after} as planned"
    if "digest" in facts:
        facts["digest"] = facts["digest"][:_DIGITS]
    if facts.get("optimize") == "fast":
        facts["optimize"] = "fast (keeps the contracts below; augrecipes verify measures how far)"
    tables = []
    for key, rows in explanation.items():
        if isinstance(rows, list):
            title, headings, cells_of = _TABLES[key]
            cells, right = [cell for row in rows for cell in cells_of(row)], [1] if key == "steps" else []
            if timing is not None and key in _TIMED:
                rest, place = timing[_TIMED[key]], len(headings) - 1
                more = {"output conversion": rest["sink"], "overhead": rest["overhead"], "total": rest["whole"]}
                times = [*(row["ms"] for row in rows), *more.values()]
                cells += [(what, *[""] * place) for what in more]
                cells = [(*cell[:-1], f"{ms:.3f}", cell[-1]) for cell, ms in zip(cells, times, strict=True)]
                headings, right = (*headings[:-1], "ms", headings[-1]), [*right, place]
            tables.append(TextTable(title, headings, cells, right))
    return Report(facts, tables)


def _step_cells(row: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """The cells of a step. Children are indented below their group, so their labels need not repeat its label."""
    site = str(row["site"]).rpartition("/")[2] if row["depth"] else row["site"]
    label = site if f"{row['name']}#" in site else f"{site} ({row['name']})"
    arguments = {name: value for name, value in row["arguments"].items() if value is not None}
    if arguments.get("draws") == "alternate" and (period := op_record(row["name"]).draw_period) > 1:
        arguments["draws"] = f"alternate (alternates every epoch: each of {period} outcomes once in {period} epochs)"
    return [("  " * row["depth"] + label, f"{row['p']:g}", text(arguments))]


def _rule_cells(row: Mapping[str, Any]) -> list[tuple[str, ...]]:
    equation = [("", "", " ".join(row["equation"].split()))] if row["equation"] else []
    return [(row["rule"], row["contract"], f"{row['before']} → {row['after'] or 'nothing'}"), *equation]


def _plan_cells(row: Mapping[str, Any]) -> list[tuple[str, ...]]:
    return [(row["step"], " = ".join(filter(None, (row["runs"], row["stands_for"]))))]


def _derived_cells(row: Mapping[str, Any]) -> list[tuple[str, ...]]:
    becomes = "" if row["why"] == ONE_BY_ONE else f"{', '.join(row['becomes']) or 'nothing'}: "
    return [("  " * row["depth"] + row["site"].rpartition("/")[2], f"{becomes}{row['why']}")]


_DIGITS = 12  # of a digest: enough to tell recipes apart
# Each list's title, headings, and the function that turns an entry into rows.
_TABLES: dict[str, tuple[str, tuple[str, ...], Callable[[Any], list[tuple[str, ...]]]]] = {
    "steps": ("Steps, with the arguments that take effect", ("step", "p", "arguments"), _step_cells),
    "shared": ("Shared random parameters", (), lambda row: [(row["site"], row["how"])]),
    "rules": ("Rules that fired", ("rule", "contract", "what it did"), _rule_cells),
    "plan": ("Plan", ("step", "how it runs"), _plan_cells),
    "stayed": ("Not merged or moved, and why", (), lambda row: [(row["site"], row["why"])]),
    "derived": ("Evaluation, derived from the training steps", ("training", "evaluation, and why"), _derived_cells),
    "batch": ("Steps of whole batches, which ar.loader and ar.collate run", ("step", "p", "arguments"), _step_cells),
    "plugins": ("Plugins", (), lambda name: [(name,)]),
}
_TIMED = {"steps": "before", "plan": "after"}
