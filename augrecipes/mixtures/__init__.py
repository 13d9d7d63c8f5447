"""Steps of `batch:`, which mix the samples of a batch: their records, and their effect on arrays."""

from typing import Any

from augrecipes.errors import logger
from augrecipes.mixtures.families import MIXTURES
from augrecipes.ops.step import Step


def effective(step: Step) -> dict[str, Any]:
    """The effective arguments of a step of `batch:`, none for a group; with `p` where it has a schedule."""
    return ({} if step.is_group else MIXTURES[step.name].effective(step.args)) | step.schedule.plain()


def warn_unmixed(recipe: Any, mode: str) -> None:
    """Log a warning where single samples are made of a recipe whose `batch:` would mix them."""
    if recipe.batch and mode == "train":
        logger.warning("%s: `batch:` is left out here: ar.loader runs it, or a DataLoader with ar.collate", recipe.file)
