"""Where pixels come from, told another way: each step seen alone, and the steps' maps composed, never blended."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.compiler.rewrite.nodes import is_single, opened
from augrecipes.compiler.run.instrument import instrument
from augrecipes.flow import Dtype
from augrecipes.sources.sample import Sample
from augrecipes.verify.maps import Map, grown, map_from, ramps, seams
from augrecipes.verify.variants import only_moves

F64 = NDArray[np.float64]


def composed(plain: Any, given: Sample, dtype: Dtype) -> tuple[F64, F64, NDArray[np.bool_]]:
    """x and y of the source of what moves pixels smoothly, and where they are certain.

    A place between pixels of a step's input is interpolated in the map of the step before, in float64, and is not
    certain where that map has a kink, or shows a border.
    """
    pipeline = only_moves(plain, dtype, "float32")
    nodes = [node for top in pipeline.compiled.plans[dtype].steps for node in opened(top)]
    labels = {node.site for node in nodes if is_single(node)}
    y, x = np.mgrid[: given.images["image"].shape[0], : given.images["image"].shape[1]].astype(np.float32)
    maps = [Map(x, y, np.ones(x.shape, np.bool_), *x.shape)]

    def alone(label: str, step: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if label not in labels:
            return step(*args, **kwargs)
        size = kwargs["image"].shape[:2]
        fresh = np.stack(ramps(*size), axis=-1)
        done = step(*args, **{**kwargs, "image": fresh})
        if done["image"] is not fresh:
            maps.append(map_from(np.moveaxis(np.array(done["image"]), 2, 0), size))
        return done

    pipeline.dress(lambda copy: instrument(copy, alone))
    given.run(pipeline, 0, image=np.zeros((*x.shape, 3), np.float32))
    return _through(maps)


def _through(maps: list[Map]) -> tuple[F64, F64, NDArray[np.bool_]]:
    last = maps[-1]
    x, y, sure = last.x.astype(np.float64), last.y.astype(np.float64), last.shown & ~grown(seams(last), 1)
    for before in reversed(maps[:-1]):
        trusted = before.shown & ~grown(seams(before), 1)
        height, width = before.x.shape
        if min(height, width) < 2:
            return x, y, sure & False
        sure &= (x >= 0) & (x <= width - 1) & (y >= 0) & (y <= height - 1)
        u, v = np.where(sure, x, 0.0), np.where(sure, y, 0.0)
        left, top = np.minimum(u.astype(int), width - 2), np.minimum(v.astype(int), height - 2)
        du, dv = u - left, v - top
        corners = [
            (top, left, (1 - dv) * (1 - du)), (top, left + 1, (1 - dv) * du),
            (top + 1, left, dv * (1 - du)), (top + 1, left + 1, dv * du),
        ]  # fmt: skip
        x, y = (sum(values[r, c].astype(np.float64) * w for r, c, w in corners) for values in (before.x, before.y))
        for r, c, _ in corners:
            sure &= trusted[r, c]
    return x, y, sure
