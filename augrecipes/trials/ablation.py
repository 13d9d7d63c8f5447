"""Ablation: how much each step of a recipe contributes, with successive halving of the arms' seeds.

An arm is the recipe without one step. Successive halving (Jamieson and Talwalkar, 2016) gives all arms a few seeds,
then the more promising half twice as many, and so on. Promising here means close to a verdict: the arm's difference
from the whole recipe is large relative to its noise.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce

from augrecipes.errors import AugrecipesError
from augrecipes.lint import lint
from augrecipes.lint.record import after, arriving, on_one_grid
from augrecipes.ops.groups import DEGRADE, NO_OP
from augrecipes.ops.records import op_record
from augrecipes.ops.registry import chance
from augrecipes.ops.step import label
from augrecipes.recipe.derive import derive, steps_of
from augrecipes.recipe.model import Recipe, Step
from augrecipes.trials.statistics import ALPHA, compare, seeds_needed
from augrecipes.verify.variants import without_step

Scores = Mapping[str, Sequence[float]]
_TINY = 1e-300  # a divisor where no difference varies


def arms(
    recipe: Recipe, attempt: Callable[[Recipe], object] = lambda _: None
) -> tuple[dict[str, Recipe], list[tuple[str, str]]]:
    """Build the arms of an ablation: the whole recipe, and the recipe without each step; other steps keep their draws.

    Steps inside groups and those of `batch:` are left out in turn, too; a policy counts as one step. A random crop that
    sets the size of images is replaced by its evaluation counterpart, the centre crop. Use the Recipe objects: an arm
    written as YAML would number its steps anew, and so draw differently.

    Args:
        recipe: of kind image, pair or bag.
        attempt: called with each arm to read some samples; where it raises an AugrecipesError, the arm is dropped.

    Returns:
        The recipes by name, the whole one first; and (step, reason) for each step that cannot be left out.

    >>> import augrecipes as ar
    >>> recipes, obstacles = arms(ar.load("folder-128"))
    >>> list(recipes), obstacles
    (['folder-128', 'without SmallestMaxSize#1', 'without RandomCrop#1', 'without HorizontalFlip#1'], [])
    >>> [step.name for step in recipes["without RandomCrop#1"].steps]
    ['SmallestMaxSize', 'CenterCrop', 'HorizontalFlip']
    """
    recipes, obstacles = {recipe.name: recipe}, list[tuple[str, str]]()
    steps = [(step.site, step, parent) for step, parent in _steps(recipe.listed("train"))]
    steps += [(f"batch.{step.site}", step, parent) for step, parent in _steps(recipe.batch)]
    for name, step, parent in steps:
        arm = _leave_out(recipe, step)
        if reason := _reason(recipe, arm, step, parent, attempt):
            obstacles.append((name, reason))
        else:
            recipes[f"without {name}"] = arm
    return recipes, obstacles


def _steps(steps: Sequence[Step], parent: Step | None = None) -> Iterator[tuple[Step, Step | None]]:
    """Yield every step and its group; skip the insides of policies and of groups that never act."""
    for step in steps:
        yield step, parent
        if step.written is None and chance(step) > 0:
            yield from _steps(step.steps, step)


def _leave_out(recipe: Recipe, step: Step) -> Recipe:
    """Remove a step, or put its evaluation counterpart there where images would otherwise change size."""
    arm = without_step(recipe, "train", step)
    instead = label(steps_of(derive((step,), recipe.scales.plain())), step.site)
    keeps_size = not _size_problem(recipe, arm) or step.name in [other.name for other in instead]
    return arm if keeps_size else without_step(recipe, "train", step, instead)


def _reason(recipe: Recipe, arm: Recipe, step: Step, parent: Step | None, attempt: Callable[[Recipe], object]) -> str:
    """Say why a step cannot be left out; empty where it can."""
    if chance(step) <= 0 or step.name == NO_OP:
        return "it never does anything"
    if parent is not None and len(parent.steps) == 1:
        return f"it is all that {parent.site} does"
    if parent is not None and any(step in top.walk() for top in recipe.batch):
        return f"another step of {parent.site} would take its place"
    if any(inner.name == DEGRADE or op_record(inner.name).resizes == "target" for inner in step.walk()):
        return "it makes a target, or gives one its size"
    errors = [problem.message for problem in lint(arm, advice=False) if problem.severity == "error"]
    if problem := _size_problem(recipe, arm) or next(iter(errors), ""):
        return problem
    try:
        attempt(arm)
    except AugrecipesError as error:
        return str(error)
    return ""


def _size_problem(recipe: Recipe, arm: Recipe) -> str:
    """Say how the size after the training steps changes in an arm; empty where it stays."""
    size, other = (
        reduce(lambda size, step: after(step, size), next(on_one_grid(r)), arriving(r)) for r in (recipe, arm)
    )
    if not size.exact or (size.low, size.high) == (other.low, other.high):
        return ""
    return f"images would have {'another size' if other.exact else 'several sizes'} without it"


def rungs(seeds: int, arms: int) -> tuple[int, ...]:
    """The numbers of seeds at which arms are judged, each half the next; even the fewest can give a verdict.

    >>> rungs(8, 4), rungs(24, 4), rungs(64, 4)
    ((8,), (12, 24), (16, 32, 64))
    """
    looks = 1
    while seeds_needed(arms, ALPHA / (looks + 1)) <= seeds >> looks:
        looks += 1
    return tuple(seeds >> look for look in reversed(range(looks)))


def most_runs(rungs: Sequence[int], arms: int) -> int:
    """The most trainings that an ablation can take, those of the whole recipe included.

    >>> most_runs((9, 18), 4), most_runs((18,), 4)
    (72, 90)
    """
    runs = 0
    for before, rung in zip((0, *rungs), rungs, strict=False):
        runs += (1 + arms) * (rung - before)
        arms = -(-arms // 2)
    return runs


def survivors(scores: Scores, whole: str, rung: int, rungs: Sequence[int]) -> tuple[str, ...]:
    """Choose the arms for the next rung: of the undecided ones the half whose difference is clearest.

    Args:
        scores: of the whole recipe and of all arms, by seed; arms that stopped earlier have fewer.
        whole: name of the whole recipe.
        rung: index of the rung just finished, from 0.
        rungs: the numbers of seeds of all rungs.
    """
    if rung + 1 >= len(rungs):
        return ()
    clarity = {
        verdict.b: abs(verdict.difference) / max(verdict.smallest, _TINY) if verdict.seeds else 0.0
        for verdict in compare(scores, whole, rungs)
        if verdict.verdict not in ("a", "b") and len(scores[verdict.b]) >= rungs[rung]
    }
    clearest = sorted(clarity, key=clarity.__getitem__, reverse=True)[: -(-len(clarity) // 2)]
    return tuple(name for name in clarity if name in clearest)
