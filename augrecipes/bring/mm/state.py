"""What is known of the sample between two transforms of an MM framework."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from augrecipes.bring.calls import Call
from augrecipes.bring.draft import Item, Line, RecipeDraft
from augrecipes.bring.lines import line
from augrecipes.recipe.nodes import NOWHERE, Place


class Unheld(ValueError):  # noqa: N818 - a finding about one transform, not a fault
    """A setting that no recipe holds; the message says why, and what to do."""


@dataclass(slots=True)
class SampleState:
    """The sample on its way, and the draft that is written.

    Attributes:
        draft: of the recipe.
        output: `output:` as it stands so far.
        normalized: mean and deviation were applied by now.
        place: of the transform at hand.
        rest: the transforms behind it.
        boxes: `inputs.boxes`; None: the pipeline has none.
        needs_mask: labels of every pixel are loaded.
    """

    draft: RecipeDraft
    output: dict[str, Any] = field(default_factory=lambda: {"dtype": "float32", "layout": "chw", "range": [0, 255]})
    normalized: bool = False
    place: Place = NOWHERE
    rest: Sequence[Call] = ()
    boxes: dict[str, Any] | None = None
    needs_mask: bool = False

    def line(self, name: str, **args: Any) -> Line:
        """A step, without the arguments that its class has anyway."""
        return line(name, args, self.place)

    def carried(self, call: Call) -> list[Item]:
        """What loading and packing tell of the sample."""
        if call.name == "LoadAnnotations":
            if call.args.get("with_bbox"):
                self.boxes = self.boxes or {}
            segments = not any(key in call.args for key in ("with_bbox", "with_mask", "with_label"))
            self.needs_mask = self.needs_mask or segments or bool(call.args.get("with_seg"))
            if call.args.get("with_mask"):
                self.draft.note("A mask for each box (with_mask) is not part of a sample here; boxes and classes are.")
        if call.args.get("color_type") == "grayscale":
            self.output["color"] = "gray"
        return []
