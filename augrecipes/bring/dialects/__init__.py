"""Ways of writing pipelines down that can be imported, a module each. The first that owns a document reads it."""

from __future__ import annotations

from augrecipes.bring.dialect import Dialect
from augrecipes.bring.dialects import composed, configs, saved, sr, torchvision, triples, ultralytics

DIALECTS: tuple[Dialect, ...] = (
    composed.DIALECT,
    saved.DIALECT,
    torchvision.DIALECT,
    sr.DIALECT,
    ultralytics.DIALECT,
    configs.DIALECT,
    triples.DIALECT,
)
