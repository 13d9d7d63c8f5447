"""The pipeline of each kind of recipe."""

from __future__ import annotations

from collections.abc import Callable

from augrecipes.compiler.plan import Compiled
from augrecipes.compiler.run.bag import BagPipeline
from augrecipes.compiler.run.image import ImagePipeline
from augrecipes.compiler.run.pair import PairPipeline
from augrecipes.compiler.run.pipeline import Pipeline
from augrecipes.recipe.model import Kind

KINDS: dict[Kind, Callable[[Compiled], Pipeline]] = {"image": ImagePipeline, "pair": PairPipeline, "bag": BagPipeline}
