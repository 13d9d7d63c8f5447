"""What is known of the picture between two transforms of torchvision, and the making of lines."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from augrecipes.bring.draft import Line, RecipeDraft
from augrecipes.bring.lines import line
from augrecipes.bring.torchvision.values import fills
from augrecipes.recipe.nodes import NOWHERE, Place


@dataclass(slots=True)
class Picture:
    """The picture on its way, and the draft that is written.

    Attributes:
        draft: of the recipe.
        output: `output:` as it stands so far; without a conversion uint8 leaves, as it came.
        scaled: values are 0..1 by now.
        normalized: mean and deviation were applied by now.
        sides: height and width that no picture is below, px; None: nothing is known.
        place: of the transform at hand.
        boxes: `inputs.boxes`, where transforms speak of boxes.
    """

    draft: RecipeDraft
    output: dict[str, Any] = field(default_factory=lambda: {"dtype": "uint8", "layout": "hwc"})
    scaled: bool = False
    normalized: bool = False
    sides: tuple[int, int] | None = None
    place: Place = NOWHERE
    boxes: dict[str, Any] | None = None

    def line(self, name: str, **args: Any) -> Line:
        """A step, without the arguments that its class has anyway."""
        return line(name, args, self.place)

    def fills(self, value: Any) -> dict[str, Any]:
        """What a border is filled with, in levels of 0..255."""
        found = fills(value)
        if self.scaled and not self.normalized and "fill" in found:
            fill = found["fill"]
            found["fill"] = [each * 255 for each in fill] if isinstance(fill, list) else fill * 255
        return found

    def at_least(self, height: int, width: int) -> None:
        """From here on no picture is smaller."""
        self.sides = (height, width)

    def grown(self) -> None:
        """From here on nothing is known of sizes."""
        self.sides = None

    def holds(self, height: int, width: int) -> bool:
        """Whether a window of that size fits into every picture."""
        return self.sides is not None and self.sides[0] >= height and self.sides[1] >= width
