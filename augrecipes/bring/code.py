"""Recipes as Python that needs albumentations alone: the text, formatted, with the recipe's lines as comments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from augrecipes.bring.plain import equivalent, last_steps, output_class, params_of
from augrecipes.errors import harmless
from augrecipes.ops import registry
from augrecipes.ops.constants import BORDER, INTERPOLATION, TABLES
from augrecipes.ops.outputs import TO_TENSOR
from augrecipes.recipe.model import Output, Recipe, Step
from augrecipes.recipe.write import flow

_WIDTH = 88  # what formatters of Python keep within, unless they are told otherwise
_INDENT = "    "
_STANDARD = {"import random"}
_CV2 = {name: f"cv2.INTER_{name.upper()}" for name in INTERPOLATION}
_CV2 |= {name: f"cv2.BORDER_{name.upper()}" for name in BORDER}


@dataclass
class Imports:
    """What the text names, by the module that it is imported from."""

    modules: set[str] = field(default_factory=lambda: {"import albumentations as A"})
    names: dict[str, set[str]] = field(default_factory=dict)

    def named(self, cls: type) -> str:
        """A class as the text writes it."""
        top = cls.__module__.partition(".")[0]
        if cls.__name__ == TO_TENSOR:
            return self._from("albumentations.pytorch", cls.__name__)
        return f"A.{cls.__name__}" if top == "albumentations" else self._from(cls.__module__, cls.__name__)

    def _from(self, module: str, name: str) -> str:
        self.names.setdefault(module, set()).add(name)
        return name

    def lines(self) -> list[str]:
        """The lines of import, what others made above what is ours."""
        others = [f"from {m} import {', '.join(sorted(n))}" for m, n in sorted(self.names.items()) if not _ours(m)]
        ours = [f"from {m} import {', '.join(sorted(n))}" for m, n in sorted(self.names.items()) if _ours(m)]
        standard = sorted(self.modules & _STANDARD)
        foreign = [*sorted(self.modules - _STANDARD), *others]
        return [line for block in (standard, foreign, ours) if block for line in ("", *block)][1:]


def _ours(module: str) -> bool:
    return module.partition(".")[0] not in ("albumentations", "cv2", "numpy")


@dataclass(frozen=True)
class Written:
    """An expression: on one line where it fits, else an argument a line; comments stand above it."""

    head: str
    parts: tuple[tuple[str, Written], ...] = ()
    tail: str = ""
    above: tuple[str, ...] = ()

    def lines(self, indent: str = "", before: str = "", behind: str = "") -> list[str]:
        """The lines, the first of them behind `before`."""
        comments = [f"{indent}# {harmless(text)}" for text in self.above]
        line = self._line()
        if line is not None and len(indent + before + line + behind) <= _WIDTH:
            return [*comments, f"{indent}{before}{line}{behind}"]
        found = [*comments, f"{indent}{before}{self.head}"]
        for name, part in self.parts:
            found += part.lines(indent + _INDENT, name, ",")
        return [*found, f"{indent}{self.tail}{behind}"] if self.tail else [f"{found[-1]}{behind}"]

    def _line(self) -> str | None:
        """All of it on one line; None where a comment stands in it."""
        inner = [(name, part._line()) for name, part in self.parts]
        if any(line is None or part.above for (_, line), (_, part) in zip(inner, self.parts, strict=True)):
            return None
        return self.head + ", ".join(f"{name}{line}" for name, line in inner) + self.tail


def literal(value: Any) -> Written:
    """A plain value.

    >>> literal((0.5, "a", None))._line()
    '(0.5, "a", None)'
    """
    match value:
        case str():
            quoted = repr(value) if '"' in value or "\\\\" in value else f'"{harmless(value)}"'
            return Written(quoted)
        case Mapping():
            items = tuple((f"{literal(key)._line()}: ", literal(item)) for key, item in value.items())
            return Written("{", items, "}")
        case tuple() if len(value) == 1:
            return Written(f"({literal(value[0])._line()},)")
        case tuple() | list():
            opens, closes = ("(", ")") if isinstance(value, tuple) else ("[", "]")
            return Written(opens, tuple(("", literal(item)) for item in value), closes)
    return Written(repr(value))


def call(name: str, args: Mapping[str, Written], first: Written | None = None, above: Iterable[str] = ()) -> Written:
    """A call by arguments' names, and one before them."""
    parts = (*([("", first)] if first is not None else []), *((f"{key}=", value) for key, value in args.items()))
    return Written(f"{name}(", parts, ")", tuple(above))


def listed(parts: Iterable[Written]) -> Written:
    """A list."""
    return Written("[", tuple(("", part) for part in parts), "]")


def steps(of: Sequence[Step], imports: Imports) -> list[Written]:
    """Steps of a recipe as albumentations' classes, each under its line of the recipe."""
    return [_step(plain, written, imports) for plain, written in zip(equivalent(of), of, strict=True)]


def _step(step: Step, written: Step | None, imports: Imports) -> Written:
    above = [] if written is None else [line_of(written)]
    if not step.is_group:
        cls = registry.get_class(step.name)
        args = {key: _argument(key, value, imports) for key, value in registry.keywords(step).items()}
        return call(imports.named(cls), args, above=above)
    # Groups that stand for weights have no line of their own.
    same = written is not None and len(written.steps) == len(step.steps)
    pairs = zip(step.steps, written.steps if written is not None and same else [None] * len(step.steps), strict=True)
    args = {key: literal(value) for key, value in {**step.args.plain(), "p": step.p}.items()}
    return call(f"A.{step.name}", args, listed(_step(child, line, imports) for child, line in pairs), above)


def line_of(step: Step) -> str:
    """Where a step stands in the recipe, and what stands there."""
    keys = {"target": list(step.target), "at": step.at, "share": step.share, "id": step.id}
    given = step.args.plain() | {key: value for key, value in keys.items() if value}
    given |= {} if step.p is None else {"p": step.p}
    said = f"{step.name}: {flow(given)}" if given else step.name
    place = step.position
    if place.origin:
        return f"{place.origin[0]}:{place.origin[1]}: {said}"
    return f"line {place.line}: {said}" if place.line else said


def _argument(name: str, value: Any, imports: Imports) -> Written:
    """An argument, constants of OpenCV by name."""
    table = TABLES.get(name)
    if table is None:
        return literal(value)
    names = {number: _CV2[word] for word, number in table.items()}
    if isinstance(value, Mapping):
        imports.modules.add("import cv2")
        return Written("{", tuple((f'"{key}": ', Written(names[item])) for key, item in value.items()), "}")
    if value not in names:
        return literal(value)
    imports.modules.add("import cv2")
    return Written(names[value])


def last(output: Output, imports: Imports) -> list[Written]:
    """What stands for the output, under a comment."""
    found: list[Written] = []
    for name, args in last_steps(output):
        cls = output_class(name)
        written = {key: literal(value) for key, value in args.items()}
        found.append(call(imports.named(cls), written, above=[] if found else ["output"]))
    return found


def compose_of(made: Iterable[Written], more: Mapping[str, Written]) -> Written:
    """An `A.Compose`."""
    return call("A.Compose", more, listed(made))


def compose(of: Sequence[Step], recipe: Recipe, imports: Imports) -> Written:
    """A section of a recipe as an `A.Compose`."""
    params = {
        key: call(f"A.{'BboxParams' if key == 'bbox_params' else 'KeypointParams'}", _literals(given))
        for key, given in params_of(recipe.inputs).items()
    }
    return compose_of([*steps(of, imports), *last(recipe.output, imports)], params)


def _literals(given: Mapping[str, Any]) -> dict[str, Written]:
    return {key: literal(value) for key, value in given.items()}
