"""`verify` on the data that are shown: a line for each law as it was measured."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from augrecipes.errors import AugrecipesError
from augrecipes.sources.stored import StoredSource
from augrecipes.studio.asked import Refused, RequestBody
from augrecipes.studio.drawing import failure
from augrecipes.studio.jobs import Piece, Say
from augrecipes.studio.studio import Studio
from augrecipes.verify import LAWS, number, verify

SAMPLES = 16


def verified(studio: Studio, body: RequestBody) -> Iterator[Piece]:
    """The work of a request: says how far it is, then each figure, then the verdict.

    Raises:
        RecipeError, DataError: the recipe is none, or there is nothing that it could be tried on.
    """
    written = studio.bench.recipe(body.text())
    recipe, _ = studio.shelf.left(written, body.mode(), body.integer("seed"))
    chosen = body.optimize() or ("fast" if recipe.optimize == "none" else recipe.optimize)
    seed, samples, mode = body.integer("seed"), body.integer("samples", SAMPLES, 1, 500), body.mode()
    pipeline = studio.bench.pipeline(recipe, mode, "none", seed)
    files = studio.shelf.files(recipe, pipeline)
    data, masks = studio.shelf.given(recipe, pipeline)
    if isinstance(files, StoredSource) and recipe.facts.annotated and (recipe.inputs.boxes or recipe.inputs.keypoints):
        cure = "give the files that the store was packed from"
        raise Refused(422, "stored", "boxes and keypoints of a store are not verified", cure)

    def work(say: Say) -> None:
        try:
            found = verify(
                recipe, data, mode=mode, optimize=chosen, seed=seed, samples=samples, masks=masks, dtypes=("uint8",),
                reader=files if isinstance(files, StoredSource) else None,
                build=lambda made, one: studio.bench.built(made, mode, one, seed),
                progress=lambda done, total: say({"progress": [done, total]}),
            )  # fmt: skip
        except AugrecipesError as error:
            say({"name": "verify", "passed": False, "words": str(error), "error": failure(error)})
            return
        for figure in found.figures:
            unit, law = LAWS[figure.law]
            limit = "nothing is promised" if figure.limit is None else f"allowed {number(figure.limit)}"
            words = f"worst {number(figure.worst)} {unit}, mean {number(figure.mean)} ({limit}); {law}"
            say(
                {
                    "name": f"{figure.law} of {figure.target}", "passed": figure.ok, "words": words,
                    "worst": _finite(figure.worst), "limit": _finite(figure.limit), "unit": unit,
                    "samples": figure.samples, "broken": figure.broken,
                }
            )  # fmt: skip
        verdict = "every contract holds" if found.ok else "a contract is broken"
        words = f"{verdict} on {found.samples} samples: {found.optimize} against none, {found.promise}"
        say({"name": "verdict", "passed": found.ok, "words": words, "left_out": [str(one) for one in found.left_out]})

    return iter([work])


def _finite(value: float | None) -> Any:
    return value if value is None or math.isfinite(value) else str(value)
