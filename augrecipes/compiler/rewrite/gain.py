"""How much a colour step enlarges a difference that an earlier step has made."""

from __future__ import annotations

from typing import Any

from augrecipes.ops.registry import effective
from augrecipes.recipe.model import Step


def gain(step: Step) -> float:
    """The factor for steps that multiply values; 1 for all others: nothing is known of them.

    >>> from augrecipes.recipe.model import Arguments
    >>> gain(Step("RandomBrightnessContrast", Arguments({"contrast_limit": 0.5}))), gain(Step("Blur"))
    (1.5, 1.0)
    """
    match step.name:
        case "ColorJitter":
            total = 1.0
            arguments = effective(step)
            for name in ("brightness", "contrast", "saturation"):
                value = arguments.get(name)
                total *= max(1.0, most(value) if isinstance(value, list | tuple) else 1 + most(value))
            return total
        case "RandomBrightnessContrast":
            return 1 + most(effective(step).get("contrast_limit"))
        case _:
            return 1.0


def most(value: Any) -> float:
    """The largest size of a number, or of those of a range."""
    return max(abs(float(part)) for part in (value if isinstance(value, list | tuple) else (value or 0,)))
