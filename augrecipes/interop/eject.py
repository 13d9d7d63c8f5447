"""`eject`: a recipe as Python that needs albumentations alone, or as the JSON that `A.save` writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from augrecipes.compat.albumentations import A
from augrecipes.compat.guard import installed_version
from augrecipes.errors import harmless
from augrecipes.interop.plain import equivalent, last_steps, output_class, params_of, refuse_several, to_albumentations
from augrecipes.ops import registry
from augrecipes.ops.constants import BORDER, INTERPOLATION, TABLES
from augrecipes.ops.outputs import TO_TENSOR
from augrecipes.recipe.model import Mode, Recipe, Step
from augrecipes.recipe.write import flow

_SEEDS = """\
# Copies of one Compose draw alike, in each DataLoader worker and in each epoch whose workers start anew: give each
# worker's copy generators of its own, in worker_init_fn, with seed = torch.initial_seed() % 2**32:
# copy.set_random_state(np.random.default_rng(seed), random.Random(seed)). Not set_random_seed, nor Compose(seed=...):
# they give all steps the same numbers, so that two flips with p=0.5 always act together."""
_DEVICE = """\
# The recipe's output says `where: device`: images leave as uint8, and what is left to do is
# augrecipes' recipe.device_stage(), a module for the device."""
_CV2 = {name: f"cv2.INTER_{name.upper()}" for name in INTERPOLATION}
_CV2 |= {name: f"cv2.BORDER_{name.upper()}" for name in BORDER}


def python_of(recipe: Recipe) -> str:
    """The recipe as a program that needs albumentations, and of this package the classes that only it has.

    Raises:
        RecipeError: a sample of it is several images, or tiles that share draws.

    >>> import augrecipes as ar
    >>> code = python_of(ar.load("version: 1\\nrecipe: tiny\\nsteps: [HorizontalFlip]\\noutput: {dtype: uint8}"))
    >>> print("\\n".join(code.splitlines()[-8:]))
    train = A.Compose(
        [
            # line 3: HorizontalFlip
            A.HorizontalFlip(),
            # output
            ToTensorV2(),
        ],
    )
    """
    refuse_several(recipe)
    program = _Script()
    sections = [("train", recipe.steps), *([("evaluation", recipe.eval)] if recipe.eval is not None else [])]
    body = [line for name, steps in sections for line in ("", *program.compose(name, steps, recipe))]
    head = f'"""{recipe.name} as albumentations {installed_version()} carries it out, written by `augrecipes eject`."""'
    said = [_SEEDS, *([_DEVICE] if recipe.output.where == "device" else [])]
    return "\n".join([head, "", *program.imported(), "", *said, *body, ""])


def saved(recipe: Recipe, mode: Mode = "train") -> dict[str, Any]:
    """The recipe as `A.save` writes it and `A.load` reads it."""
    found: dict[str, Any] = A.to_dict(to_albumentations(recipe, mode))
    return found


@dataclass
class _Script:
    """The text on its way, and what it imports: names by the module that they are of."""

    cv2: bool = False
    names: dict[str, set[str]] = field(default_factory=dict)

    def imported(self) -> list[str]:
        """The lines of import, what others made above what is ours."""
        lines = [f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(self.names.items())]
        others = [line for line in lines if line.startswith("from albumentations")]
        ours = [line for line in lines if line not in others]
        blocks = (["import albumentations as A", *["import cv2"] * self.cv2, *others], ours)
        return [line for block in blocks if block for line in ("", *block)][1:]

    def compose(self, name: str, steps: Sequence[Step], recipe: Recipe) -> list[str]:
        """A section of the recipe as an `A.Compose` of that name."""
        lines = [f"{name} = A.Compose(", "    ["]
        for made, written in zip(equivalent(steps), steps, strict=True):
            lines += self.step(made, written, " " * 8)
        for number, (cls, args) in enumerate(last_steps(recipe.output)):
            lines += [*["        # output"][number:], f"        {self.called(output_class(cls), args)},"]
        lines.append("    ],")
        for key, given in params_of(recipe.inputs).items():
            params = "BboxParams" if key == "bbox_params" else "KeypointParams"
            lines.append(f"    {key}=A.{params}({_arguments(given)}),")
        return [*lines, ")"]

    def step(self, step: Step, written: Step | None, indent: str) -> list[str]:
        """A step of `equivalent` under its line of the recipe; groups that stand for weights have none."""
        above = [] if written is None else [f"{indent}# {harmless(line_of(written))}"]
        if not step.is_group:
            args = {key: self.value(key, value) for key, value in registry.keywords(step).items()}
            return [*above, f"{indent}{self.called(registry.get_class(step.name), args)},"]
        same = written is not None and len(written.steps) == len(step.steps)
        pairs = zip(
            step.steps, written.steps if written is not None and same else [None] * len(step.steps), strict=True
        )
        inside = [line for pair in pairs for line in self.step(*pair, indent + " " * 8)]
        more = [f"{indent}    {key}={literal(value)}," for key, value in {**step.args.plain(), "p": step.p}.items()]
        return [*above, f"{indent}A.{step.name}(", f"{indent}    [", *inside, f"{indent}    ],", *more, f"{indent}),"]

    def called(self, cls: type, args: Mapping[str, Any]) -> str:
        """A class with arguments, imported if need be."""
        if cls.__module__.partition(".")[0] == "albumentations" and cls.__name__ != TO_TENSOR:
            return f"A.{cls.__name__}({_arguments(args)})"
        module = "albumentations.pytorch" if cls.__name__ == TO_TENSOR else cls.__module__
        self.names.setdefault(module, set()).add(cls.__name__)
        return f"{cls.__name__}({_arguments(args)})"

    def value(self, name: str, value: Any) -> Any:
        """An argument, with constants of OpenCV by name."""
        names = {number: _Name(_CV2[word]) for word, number in TABLES.get(name, {}).items()}
        found = value
        if names and isinstance(value, Mapping):
            found = {key: names[item] for key, item in value.items()}
        elif names and not isinstance(value, list):
            found = names.get(value, value)
        self.cv2 = self.cv2 or found is not value
        return found


class _Name(str):
    """A text that stands in the program as it is."""

    __slots__ = ()


def _arguments(args: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={literal(value)}" for key, value in args.items())


def literal(value: Any) -> str:
    """A plain value as Python.

    >>> literal((0.5, "a", None))
    '(0.5, "a", None)'
    """
    match value:
        case _Name():
            return str(value)
        case str():
            return repr(value) if '"' in value or "\\" in value else f'"{harmless(value)}"'
        case Mapping():
            return "{" + ", ".join(f"{literal(key)}: {literal(item)}" for key, item in value.items()) + "}"
        case tuple():
            return f"({', '.join(map(literal, value))}{',' * (len(value) == 1)})"
        case list():
            return f"[{', '.join(map(literal, value))}]"
    return repr(value)


def line_of(step: Step) -> str:
    """Where a step stands in the recipe, and what stands there."""
    keys = {"target": list(step.target), "at": step.at, "share": step.share, "id": step.id, "p": step.p}
    given = step.args.plain() | {key: value for key, value in keys.items() if value or value == 0}
    said = f"{step.name}: {flow(given)}" if given else step.name
    place = step.position
    if place.origin:
        return f"{place.origin[0]}:{place.origin[1]}: {said}"
    return f"line {place.line}: {said}" if place.line else said
