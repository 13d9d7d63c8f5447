"""What `explain` says of a plan's steps, of what `eval: derived` makes of each, and of the output: for people."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from augrecipes.compiler.prefix import brief, described
from augrecipes.compiler.rewrite.nodes import Fused, Node, Nodes, singles
from augrecipes.ops.capabilities import capability
from augrecipes.ops.own import OWN
from augrecipes.recipe.derive import DerivedRow, derive
from augrecipes.recipe.model import Output, Recipe

NATIVE = "native"


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """One step of the plan.

    Attributes:
        step: its label; of merged steps what merges them.
        stands_for: of merged steps their labels.
        runs: by what, in words: natively, or in albumentations, and why.
        segment: which stretch of native steps it belongs to, from 1: one ends where a step acts that is not native.
        ms: its time, where that was measured.
    """

    step: str
    stands_for: str
    runs: str = ""
    segment: int = 1
    ms: float | None = None

    @property
    def label(self) -> str:
        """As the compiler labels it."""
        return f"{self.step}({self.stands_for})" if self.stands_for else self.step


def planned_steps(nodes: Nodes, opaque: Collection[str] | None = None) -> tuple[PlannedStep, ...]:
    """Each of a plan's steps.

    Args:
        nodes: of the plan.
        opaque: labels of steps at which a program stops; None: all run in albumentations, as they are written.
    """
    found, segment = [], 1
    for node in nodes:
        step, stands_for = node.site, ""
        if isinstance(node, Fused):
            step, stands_for = node.kernel, " + ".join(step.site for step in node.steps)
        found.append(PlannedStep(step, stands_for, _runs(node, opaque), segment))
        segment += opaque is not None and any(inner.site in opaque for inner in singles(node))
    return tuple(found)


def _runs(node: Node, opaque: Collection[str] | None) -> str:
    """By what a node runs; of a group by what its steps do."""
    by: dict[str, list[str]] = {}
    for step in singles(node):
        if opaque is None:
            how = "augrecipes" if step.name in OWN else "albumentations"
        else:
            how = f"albumentations: {why_opaque(step.name)}" if step.site in opaque else NATIVE
        by.setdefault(how, []).append(step.site)
    if len(by) == 1:
        return next(iter(by))
    return "; ".join(f"{', '.join(sites)} {how}" for how, sites in by.items())


def why_opaque(name: str) -> str:
    """Why a step of a class runs in albumentations, and what would change that.

    >>> why_opaque("Defocus"), why_opaque("Blur")
    ('no kernel does what it does', 'native only with `blur_limit` up to 15')
    """
    record = capability(name)
    if record is None:
        return "a class of your own"
    if not record.native:
        return "no kernel does what it does"
    if record.native_when:
        return f"native only with {record.native_when}"
    return "it draws or paints otherwise here than the kernels do"


@dataclass(frozen=True, slots=True)
class DerivedStep:
    """A step of training, what stands for it in evaluation, and why.

    Attributes:
        site: of the step of training.
        depth: in groups.
        becomes: the steps of evaluation in a line each; of a group whose steps are told one by one, none.
        why: in a few words.
    """

    site: str
    depth: int
    becomes: tuple[str, ...]
    why: str


def derived_steps(recipe: Recipe) -> tuple[DerivedStep, ...]:
    """A row for every step of training; none where the recipe says something else than `eval: derived`.

    >>> import augrecipes as ar
    >>> [row.becomes for row in derived_steps(ar.load("folder-128", overrides={"eval": "derived"}))]
    [('SmallestMaxSize(interpolation: area, max_size: 128)',), ('CenterCrop(height: 128, width: 128)',), ()]
    """
    return tuple(_listed(derive(recipe.steps, recipe.scales.plain()), 0)) if recipe.derived else ()


def _listed(rows: Iterable[DerivedRow], depth: int) -> Iterator[DerivedStep]:
    for row in rows:
        becomes = () if row.inner else tuple(brief(described(step)) for step in row.becomes)
        yield DerivedStep(row.step.site, depth, becomes, row.why)
        yield from _listed(row.inner, depth + 1)


def output_line(recipe: Recipe) -> str:
    """The recipe's output in one line; that of each target, where they differ."""
    if not recipe.outputs:
        return _output(recipe.output)
    every = [(name, recipe.outputs.get(name, recipe.output)) for name in recipe.scales]
    return "; ".join(f"{name} {_output(output)}" for name, output in every)


def _output(out: Output) -> str:
    if out.dtype == "uint8" or out.where == "device":
        scale = "0..255"
    elif out.normalize:
        scale = f"(x − {_numbers(out.normalize.mean)}) / {_numbers(out.normalize.std)}"
    else:
        scale = f"{out.range[0]:g}..{out.range[1]:g}"
    dtype = "uint8" if out.where == "device" else out.dtype
    return f"{dtype} {out.layout} {out.color}, {scale}" + (", the rest on the device" if out.where == "device" else "")


def _numbers(values: tuple[float, ...]) -> str:
    text = ", ".join(f"{v:g}" for v in values)
    return text if len(values) == 1 else f"({text})"
