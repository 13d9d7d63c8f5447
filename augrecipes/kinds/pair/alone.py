"""Makes a recipe of kind image from one target of a pair, for evaluation without the other targets."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from augrecipes.errors import DataError
from augrecipes.kinds.pair import grid, shared
from augrecipes.ops import groups
from augrecipes.recipe.model import Arguments, Recipe, Step


def alone(recipe: Recipe, target: str) -> Recipe:
    """The evaluation of one target, as a recipe of kind image.

    Raises:
        DataError: a Degrade makes the target, or its grid is finer than the one on which windows are drawn.

    >>> import augrecipes as ar
    >>> pair = {"version": 1, "recipe": "x4", "kind": "pair", "scales": {"lr": 1, "hr": 4}, "steps": []}
    >>> crop = {"CenterCrop": {"height": 64, "width": 32, "at": "hr"}}
    >>> alone(ar.load(pair | {"eval": [crop]}), "lr").eval[0].args["height"]
    16
    """
    factors = grid.scale_factors(recipe.scales)
    if factors[target] != 1:
        coarsest = [name for name in recipe.scales if factors[name] == 1]
        raise DataError(f"views are made of a target on the common grid, {' or '.join(coarsest)}, not of {target}")

    def of_target(steps: Iterable[Step], targets: tuple[str, ...]) -> Iterator[Step]:
        for step in steps:
            acts = step.target or targets
            if step.name == groups.DEGRADE:
                if step.args["target"] == target:
                    raise DataError(f"{step.site} makes {target}, and views are made of what is read")
            elif step.is_group:
                if inside := tuple(of_target(step.steps, acts)):
                    yield replace(step, steps=inside, target=())
            elif target in acts:
                at = step.at or min(acts, key=factors.__getitem__)
                yield replace(shared.scaled_to(step, 1, factors[at]), target=(), at=None)

    return replace(
        recipe,
        kind="image",
        scales=Arguments(),
        allow_resampling=False,
        steps=(),
        eval=tuple(of_target(recipe.eval or (), tuple(recipe.scales))),
        inputs=replace(recipe.inputs, mask="absent"),
        output=recipe.outputs.get(target, recipe.output),
        outputs=Arguments(),
    )
