"""The pipeline of each kind of recipe."""

from __future__ import annotations

from collections.abc import Callable

from augrecipes.compiler.bag import BagPipeline
from augrecipes.compiler.image import ImagePipeline
from augrecipes.compiler.pair import PairPipeline
from augrecipes.compiler.pipeline import Pipeline
from augrecipes.compiler.plan import Compiled
from augrecipes.recipe.model import Kind

KINDS: dict[Kind, Callable[[Compiled], Pipeline]] = {"image": ImagePipeline, "pair": PairPipeline, "bag": BagPipeline}
