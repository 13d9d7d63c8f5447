"""What is known of a step of `batch:` before a batch is there: its arguments, and the samples that it can act on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Schema = Mapping[str, Any]
ANNOTATIONS = ("mask", "boxes", "keypoints")

ALPHA: Schema = {
    "type": "number", "exclusiveMinimum": 0, "default": 1.0,
    "description": "The share of each is drawn from Beta(alpha, alpha); 1: all shares are as likely.",
}  # fmt: skip
PARTNERS: Schema = {
    "enum": ["permutation", "roll"], "default": "permutation",
    "description": "A random partner in the batch for each sample; or the one before it, the first has the last.",
}  # fmt: skip
CLASSES: Schema = {
    "anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}], "default": None,
    "description": "How many classes there are; null: as many as the dataset has.",
}  # fmt: skip
SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
SHARES: Schema = {
    "type": "array", "prefixItems": [SHARE, SHARE], "minItems": 2, "maxItems": 2, "x-nondecreasing": True,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mixture:
    """One step of `batch:`.

    Attributes:
        about: what it does, for editors.
        mix: does it: `mix(batch, rng, **arguments)`, or `mix(batch, rng, k, **arguments)` of `each` sample k.
        arguments: JSON Schema of each argument, with its default.
        each: `p` decides for each sample of the batch, not for the batch.
        labels: class labels are mixed, so they leave as shares of classes.
        needs: keys of samples, of which it wants one at least; pairs have none of them, and do without.
        bars: keys of samples that it cannot mix.
        scales: whether it is for pairs alone (True), or for images alone (False).
        refusal: why it cannot act on a recipe with its arguments, and what to do; empty where it can.
    """

    about: str
    mix: Callable[..., None]
    arguments: Mapping[str, Schema]
    each: bool = False
    labels: bool = False
    needs: tuple[str, ...] = ()
    bars: tuple[str, ...] = ()
    scales: bool | None = None
    refusal: Callable[[Any, Mapping[str, Any]], str] | None = None

    def effective(self, written: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments that take effect."""
        return {key: written.get(key, schema["default"]) for key, schema in self.arguments.items()}

    def refused(self, recipe: Any, written: Mapping[str, Any]) -> str:
        """Why it cannot act on any sample of a recipe, and what to do; empty where it can."""
        if self.scales is not None and self.scales != recipe.facts.scales:
            return f"is {'' if self.scales else 'not '}for recipes of pairs; CutMix is for all"
        inputs = recipe.inputs
        sure = {"mask": inputs.mask == "required", "boxes": inputs.boxes, "keypoints": inputs.keypoints}
        if barred := next((key for key in self.bars if sure[key]), None):
            return f"cannot blend {barred}, which `inputs:` has; use CutMix or Mosaic, which cut {barred}, too"
        if self.needs == ("mask",) and inputs.mask == "absent":
            return "takes objects by their masks, and `inputs:` says that there is none; write `mask: required`"
        return "" if self.refusal is None else self.refusal(recipe, self.effective(written))
