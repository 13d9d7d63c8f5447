"""`eject`: a recipe as Python code, or as the JSON that `A.save` writes."""

from __future__ import annotations

from typing import Any

from augrecipes.bring import scripts
from augrecipes.bring.code import Imports, compose
from augrecipes.bring.plain import to_albumentations
from augrecipes.compat.albumentations import A
from augrecipes.compat.guard import installed_version
from augrecipes.recipe.model import Mode, Recipe

_SEEDS = """\
# Copies of one Compose draw alike, in each DataLoader worker and in each epoch whose workers start anew: give each
# worker's copy generators of its own, in worker_init_fn, with seed = torch.initial_seed() % 2**32:
# copy.set_random_state(np.random.default_rng(seed), random.Random(seed)). Not set_random_seed, nor Compose(seed=...):
# they give all steps the same numbers, so that two flips with p=0.5 always act together."""
_DEVICE = """\
# The recipe's output says `where: device`: pictures leave as uint8, and what is left to do is
# augrecipes' recipe.device_stage(), a module for the device."""


def python_of(recipe: Recipe) -> str:
    """The recipe as a program that needs albumentations, and of this package the classes that only it has.

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
    head = f'"""{recipe.name} as albumentations {installed_version()} carries it out, written by `augrecipes eject`."""'
    if recipe.facts.scales or recipe.facts.tiles:
        imports, parts = (scripts.of_pair if recipe.facts.scales else scripts.of_bag)(recipe)
        return "\n".join([head, "", *imports.lines(), "", "\n\n".join(parts)]).rstrip() + "\n"
    imports = Imports()
    sections = [("train", recipe.steps), *([("evaluation", recipe.eval)] if recipe.eval is not None else [])]
    body: list[str] = []
    for name, steps in sections:
        body += ["", *compose(steps, recipe, imports).lines(before=f"{name} = ")]
    said = [_SEEDS, *([_DEVICE] if recipe.output.where == "device" else [])]
    return "\n".join([head, "", *imports.lines(), "", *said, *body, ""])


def saved(recipe: Recipe, mode: Mode = "train") -> dict[str, Any]:
    """The recipe as `A.save` writes it and `A.load` reads it."""
    found: dict[str, Any] = A.to_dict(to_albumentations(recipe, mode))
    return found
