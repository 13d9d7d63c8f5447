"""Conversion of a recipe to plain albumentations: its groups and defaults, Normalize and ToTensorV2."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from augrecipes.compat.albumentations import A
from augrecipes.compat.guard import installed_version
from augrecipes.compiler.kernels.sink import Sink
from augrecipes.compiler.run.points import PARAMS, params_of
from augrecipes.errors import RecipeError, harmless
from augrecipes.mixtures import warn_unmixed
from augrecipes.ops import groups, outputs, registry
from augrecipes.ops.step import Arguments
from augrecipes.recipe.model import Inputs, Mode, Normalize, Output, Recipe, Step
from augrecipes.recipe.sections import refuse_views
from augrecipes.recipe.write import body_of, flow


class ToOutput(A.ImageOnlyTransform):  # type: ignore[misc]
    """Converts an image as a recipe's `output:` does; the last transform of a pipeline.

    Args:
        dtype: `float32`, `float16`, `uint8` or `uint16`.
        color: `rgb`, `bgr`, `y`, `gray` or `ycbcr`.
        mean: mean of values in 0..1, one number or one per channel; None: scale to `value_range` instead.
        std: standard deviation, likewise.
        value_range: the values of 0 and full scale without `mean` and `std`.
        p: probability.

    Image: H×W×C, uint8 (0..255) or float32 (0..1), RGB or grey; the result is H×W×C of `dtype`. Draws: none.

    >>> ToOutput(color="bgr", dtype="uint8")(image=np.full((1, 1, 3), (1, 2, 3), np.uint8))["image"].tolist()
    [[[3, 2, 1]]]
    """

    def __init__(
        self,
        dtype: str = "float32",
        color: str = "rgb",
        mean: Sequence[float] | None = None,
        std: Sequence[float] | None = None,
        value_range: Sequence[float] = (0.0, 1.0),
        p: float = 1.0,
    ) -> None:
        super().__init__(p=p)
        self.dtype, self.color, self.mean, self.std, self.value_range = dtype, color, mean, std, value_range
        normalize = None if mean is None or std is None else Normalize(tuple(mean), tuple(std))
        self._output = Output(dtype, "hwc", normalize, (float(value_range[0]), float(value_range[1])), color)

    @staticmethod
    def arguments_of(output: Output) -> dict[str, Any]:
        """The arguments for an output, without its layout.

        >>> ToOutput.arguments_of(Output(dtype="float16"))
        {'dtype': 'float16', 'color': 'rgb'}
        """
        arguments: dict[str, Any] = {"dtype": output.dtype, "color": output.color}
        if output.normalize is not None:
            arguments |= {"mean": output.normalize.mean, "std": output.normalize.std}
        elif output.range != Output().range:
            arguments["value_range"] = output.range
        return arguments

    def apply(self, img: np.ndarray, **_: Any) -> np.ndarray:
        """Convert the image."""
        sink = Sink(self._output)
        return sink(img if img.ndim > 2 else img[..., None])


_SEEDS = """\
# Copies of one Compose draw alike, in each DataLoader worker and in each epoch whose workers start anew: give each
# worker's copy generators of its own, in worker_init_fn, with seed = torch.initial_seed() % 2**32:
# copy.set_random_state(np.random.default_rng(seed), random.Random(seed)). Not set_random_seed, nor Compose(seed=...):
# they give all steps the same numbers, so that two flips with p=0.5 always act together."""
_DEVICE = """\
# The recipe's output says `where: device`: images leave as uint8, and what is left to do is
# augrecipes' recipe.device_stage(), a module for the device."""
_VIEWS = "# The recipe's views at test time (`tta:`) are none of albumentations': augrecipes.tta makes and merges them."
_BATCH = "# The recipe's `batch:` is not among this: it mixes batches, in ar.loader or by ar.collate."


def equivalent(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The steps with groups in albumentations' terms: p and n written out, and p of OneOf's children a pure weight.

    >>> some = Step("SomeOf", p=0.4, steps=(Step("Blur"),))
    >>> equivalent([Step("OneOf", steps=(some,))])[0].steps[0].name
    'Sequential'
    """
    return tuple(_equivalent(step) for step in steps)


def _equivalent(step: Step) -> Step:
    if not step.is_group:
        return step
    inside = equivalent(step.steps)
    args: dict[str, Any] = {}
    if step.name in groups.GATED:
        args = {"n": int(step.args.get("n", len(inside) if step.name == groups.RANDOM_ORDER else 1))}
        if step.args.get("replace"):
            args["replace"] = True
    if step.name == groups.ONE_OF:
        idle = not any(map(registry.chance, inside))  # albumentations divides by the sum of weights
        inside = tuple(replace(child, p=1.0) if idle else _weighted_child(child) for child in inside)
    return replace(step, args=Arguments(args), p=registry.chance(step), steps=inside)


def _weighted_child(child: Step) -> Step:
    """A child of OneOf whose p is its weight only; a group around it carries the weight if its own p would gate it."""
    if child.name in groups.GATED and child.p != 1:
        inner = replace(child, p=1.0)
        return replace(child, name=groups.SEQUENTIAL, args=Arguments(), steps=(inner,))
    only = child.steps[0] if child.name == groups.SEQUENTIAL and len(child.steps) == 1 else None
    return only if only is not None and only.name in groups.GATED and only.p == child.p else child


def transform(step: Step) -> Any:
    """A step of `equivalent` as an albumentations object, with its children."""
    if not step.is_group:
        return registry.plain(step)
    return getattr(A, step.name)([transform(child) for child in step.steps], **step.args.plain(), p=step.p)


def last_steps(output: Output) -> list[tuple[str, dict[str, Any]]]:
    """The classes that make up the output, by name, and their arguments.

    >>> last_steps(Output())
    [('ToFloat', {}), ('ToTensorV2', {})]
    """
    result: list[tuple[str, dict[str, Any]]] = []
    scaled = output.dtype != "uint8" and output.where == "host"
    if output.where == "host" and (output.color != "rgb" or output.dtype in ("float16", "uint16")):
        result.append((ToOutput.__name__, ToOutput.arguments_of(output)))
    elif scaled and output.normalize is not None:
        mean, std = output.normalize.mean, output.normalize.std
        result.append((outputs.NORMALIZE, {"mean": mean, "std": std}))
    elif scaled and output.range == (0.0, 1.0):
        result.append((outputs.TO_FLOAT, {}))
    elif scaled:
        low, span = output.range[0], output.range[1] - output.range[0]
        normal = (outputs.NORMALIZE, {"mean": (-low / span,) * 3, "std": (1 / span,) * 3})
        result.append(normal if low else (outputs.TO_FLOAT, {"max_value": 1.0}))
    if output.layout == "chw":
        result.append((outputs.TO_TENSOR, {}))
    return result


def output_objects(output: Output) -> list[Any]:
    """The transforms that make up the output."""
    return [output_class(name)(**args) for name, args in last_steps(output)]


def output_class(name: str) -> Any:
    """A class of `last_steps`, ours or albumentations'."""
    return ToOutput if name == ToOutput.__name__ else getattr(A, name)


def processors_of(inputs: Inputs) -> dict[str, Any]:
    """BboxParams and KeypointParams, by Compose's argument."""
    return {key: PARAMS[key](**arguments) for key, arguments in params_of(inputs).items()}


def to_albumentations(recipe: Recipe, mode: Mode = "train") -> Any:
    """A recipe as an `A.Compose`: see `Recipe.to_albumentations`."""
    steps = recipe.section(mode)
    if steps is None:
        raise RecipeError(f"{recipe.file}: the recipe has no `eval:` section; write `eval: derived`, or `eval: []`")
    refuse_several(recipe)
    warn_unmixed(recipe, mode)
    transforms = [transform(step) for step in equivalent(steps)]
    return A.Compose([*transforms, *output_objects(recipe.output)], **processors_of(recipe.inputs))


def refuse_several(recipe: Recipe) -> None:
    """RecipeError where one Compose cannot do what the recipe does."""
    refuse_views(recipe, "a Compose of albumentations")
    if recipe.inputs.is_deep:
        raise RecipeError(
            f"{recipe.name}: one Compose of albumentations cannot carry out `inputs:` of 16 bits, a range or missing "
            "data: its steps take uint8, or floats of 0..1: run the recipe as it is, by `recipe.compile()` or a dataset"
        )
    if recipe.facts.scales or recipe.targets or any(step.share == "bag" for step in recipe.walk()):
        several = recipe.facts.scales or recipe.targets
        what = "several images of one scene" if several else "tiles that share draws"
        raise RecipeError(
            f"{recipe.name}: one Compose of albumentations cannot carry out {what}: run the recipe as it is, by "
            "`recipe.compile()` or a dataset, or write one without what the images share"
        )
    if any(step.channels or "keep_order" in step.args for step in recipe.walk()) or recipe.inputs.takes_channels:
        raise RecipeError(
            f"{recipe.name}: steps of albumentations change all channels of an image, and its RandomOrder keeps none: "
            "run the recipe as it is, or write one without `channels` of steps, `take` and `keep_order`"
        )
    if recipe.last_epoch or any(registry.draw_period(step) > 1 for step in recipe.walk()):
        raise RecipeError(
            f"{recipe.name}: a Compose of albumentations has the same numbers in all epochs, and draws anew in each: "
            "run the recipe as it is, or take `recipe.in_epoch(0)`, without `draws: alternate`"
        )


def python_of(recipe: Recipe) -> str:
    """The recipe as a Python program that uses albumentations, and this package's own classes where needed.

    Raises:
        RecipeError: one Compose cannot do what the recipe does, such as several images or tiles that share draws.

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
    comments = [
        _SEEDS,
        *([_DEVICE] if recipe.output.where == "device" else []),
        *([_VIEWS] if recipe.tta else []),
        *([_BATCH] if recipe.batch else []),
    ]
    return "\n".join([head, "", *program.imported(), "", *comments, *body, ""])


def saved(recipe: Recipe, mode: Mode = "train") -> dict[str, Any]:
    """The recipe in the form of `A.save` and `A.load`."""
    return A.to_dict(to_albumentations(recipe, mode))


@dataclass
class _Script:
    """A program being written; `names` are its imports by module."""

    names: dict[str, set[str]] = field(default_factory=dict)

    def imported(self) -> list[str]:
        """The import lines, third-party above ours."""
        lines = [f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(self.names.items())]
        others = [line for line in lines if line.startswith("from albumentations")]
        ours = [line for line in lines if line not in others]
        blocks = (["import albumentations as A", *others], ours)
        return [line for block in blocks if block for line in ("", *block)][1:]

    def compose(self, name: str, steps: Sequence[Step], recipe: Recipe) -> list[str]:
        """The lines that assign a section of the recipe as an `A.Compose` to a name."""
        lines = [f"{name} = A.Compose(", "    ["]
        for each, written in zip(equivalent(steps), steps, strict=True):
            lines += self.step(each, written, " " * 8)
        for number, (cls, args) in enumerate(last_steps(recipe.output)):
            lines += [*["        # output"][number:], f"        {self.called(output_class(cls), args)},"]
        lines.append("    ],")
        for key, given in params_of(recipe.inputs).items():
            lines.append(f"    {key}=A.{PARAMS[key].__name__}({_arguments(given)}),")
        return [*lines, ")"]

    def step(self, step: Step, written: Step | None, indent: str) -> list[str]:
        """The lines of a step of `equivalent`, below a comment with its line of the recipe (none for added groups)."""
        above = [] if written is None else [f"{indent}# {harmless(line_of(written))}"]
        if not step.is_group:
            return [*above, f"{indent}{self.called(registry.plain_class(step), registry.keywords(step))},"]
        count, same = len(step.steps), written is not None and len(written.steps) == len(step.steps)
        origins = written.steps if written is not None and same else [None] * count
        inside = [line for pair in zip(step.steps, origins, strict=True) for line in self.step(*pair, indent + " " * 8)]
        more = [f"{indent}    {key}={value!r}," for key, value in {**step.args.plain(), "p": step.p}.items()]
        return [*above, f"{indent}A.{step.name}(", f"{indent}    [", *inside, f"{indent}    ],", *more, f"{indent}),"]

    def called(self, cls: type, args: Mapping[str, Any]) -> str:
        """The text of a call of a class, which is imported if necessary."""
        if cls.__module__.partition(".")[0] == "albumentations" and cls.__name__ != outputs.TO_TENSOR:
            return f"A.{cls.__name__}({_arguments(args)})"
        module = "albumentations.pytorch" if cls.__name__ == outputs.TO_TENSOR else cls.__module__
        self.names.setdefault(module, set()).add(cls.__name__)
        return f"{cls.__name__}({_arguments(args)})"


def _arguments(args: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={value!r}" for key, value in args.items())


def line_of(step: Step) -> str:
    """The line of a step in the recipe, with its text."""
    body = body_of(step)
    text = f"{step.name}: {flow(body)}" if body else step.name
    place = step.position
    if place.origin:
        return f"{place.origin[0]}:{place.origin[1]}: {text}"
    return f"line {place.line}: {text}" if place.line else text
