"""What is known of a sample between two transforms of another library, and how its transforms become lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from augrecipes.interop.draft import Call, Item, LeftOut, Line, RecipeDraft, line
from augrecipes.interop.outputs import placed_behind
from augrecipes.ops.groups import ONE_OF, SEQUENTIAL
from augrecipes.recipe.nodes import NOWHERE, Place

Args = Mapping[str, Any]


class Unheld(ValueError):  # noqa: N818 - a finding about one transform, not a fault
    """A setting that no recipe holds; the message says why, and what to do."""


@dataclass(slots=True)
class SampleState:
    """The sample on its way, and the draft that is written.

    Attributes:
        draft: of the recipe.
        output: `output:` as it stands so far.
        scaled: values are 0..1 by now.
        normalized: mean and deviation were applied by now.
        sides: height and width that no image is below, px; None: nothing is known.
        place: of the transform at hand.
        rest: the transforms behind it.
        boxes: `inputs.boxes`; None: the pipeline has none.
        needs_mask: labels of every pixel are loaded.
    """

    draft: RecipeDraft
    output: dict[str, Any]
    scaled: bool = False
    normalized: bool = False
    sides: tuple[int, int] | None = None
    place: Place = NOWHERE
    rest: Sequence[Call] = ()
    boxes: dict[str, Any] | None = None
    needs_mask: bool = False

    def line(self, name: str, **args: Any) -> Line:
        """A step, without the arguments that its class has anyway."""
        return line(name, args, self.place)

    def holds(self, height: int, width: int) -> bool:
        """Whether a window of that size fits into every image."""
        return self.sides is not None and self.sides[0] >= height and self.sides[1] >= width

    def finish(self, steps: list[Item]) -> None:
        """Put the steps, and what was learnt on the way, into the draft."""
        self.draft.steps, self.draft.keys["output"] = steps, self.output
        inputs: dict[str, Any] = {} if self.boxes is None else {"boxes": {"format": "pascal_voc", **self.boxes}}
        if self.needs_mask:
            inputs["mask"] = "required"
        if inputs:
            self.draft.keys["inputs"] = inputs


def photometric(change: Callable[[str], Line], place: Place) -> list[Item]:
    """Brightness, then contrast first or last of saturation and hue: the distortion of SSD, by what makes each."""

    def rest() -> list[Item]:
        return [change("saturation"), change("hue")]

    first = Line(SEQUENTIAL, {"p": 0.5}, place, [change("contrast"), *rest()])
    last = Line(SEQUENTIAL, {"p": 0.5}, place, [*rest(), change("contrast")])
    return [change("brightness"), Line(ONE_OF, {}, place, [first, last])]


Maker = Callable[[Args, SampleState], list[Item]]


def lines_by(made: Callable[[Call, SampleState], list[Item]], calls: Sequence[Call], sample: SampleState) -> list[Item]:
    """The calls as the lines that `made` makes; what has no place in a recipe is among them as left out.

    What is made of a group behind the normalisation is counted back by those that the group stands among.
    """
    found: list[Item] = []
    settled = sample.normalized
    for index, call in enumerate(calls):
        sample.place, sample.rest = call.place, calls[index + 1 :]
        behind = sample.normalized and not settled
        try:
            items = made(call, sample)
        except Unheld as error:
            items = [LeftOut(call.name, str(error), call.place)]
        except KeyError as error:
            items = [LeftOut(call.name, f"its argument {error.args[0]!r} is missing", call.place)]
        found += [each for item in items for each in placed_behind(item, sample.output)] if behind else items
    return found
