"""Why a class refused its arguments, in one line, with the argument named."""

import re
from typing import Any

# Warnings that speak of taste or speed and change nothing; every other warning means that a value was altered.
_ADVICE = (
    "is a special case of", "is a specialized version of", "is an alias for", "This augmenter is very slow",
)  # fmt: skip


class Refusal(Exception):  # noqa: N818 - a verdict, turned into a RecipeError by its callers
    """A class does not take these arguments.

    Args:
        message: one line, without the names of the class and the argument.
        argument: the argument that it speaks of, or an empty text.
    """

    def __init__(self, message: str, argument: str = "") -> None:
        super().__init__(message)
        self.message, self.argument = message, argument


def is_advice(message: str) -> bool:
    """Whether a warning changes nothing.

    >>> is_advice("ShiftScaleRotate is a special case of Affine transform. Please use Affine transform instead.")
    True
    """
    return any(part in message for part in _ADVICE)


def from_warning(message: str, arguments: tuple[str, ...]) -> Refusal:
    """A refusal from a warning that a constructor gave."""
    return Refusal(_one_line(message), _mentioned(message, arguments))


def from_exception(error: Exception, arguments: tuple[str, ...]) -> Refusal:
    """A refusal from what a constructor raised: pydantic's list of errors, or any exception.

    >>> from_exception(ValueError("blur_limit must be odd"), ("blur_limit",)).argument
    'blur_limit'
    """
    details = _details(error)
    if not details:
        text = _one_line(str(error)) or type(error).__name__
        return Refusal(text, _mentioned(text, arguments))
    # A union reports every alternative; the first error of the first argument says enough beside the schema's check.
    first = details[0]
    place: tuple[Any, ...] = first.get("loc") or ()
    argument = str(place[0]) if place and str(place[0]) in arguments else ""
    if first.get("type") == "missing":
        return Refusal(f"{str(place[-1])!r} is required")
    text = _one_line(re.sub(r"^(Value|Assertion) error, ", "", str(first.get("msg", ""))))
    return Refusal(text, argument or _mentioned(text, arguments))


def _details(error: BaseException | None) -> list[dict[str, Any]]:
    """pydantic's errors behind `error`, which albumentations re-raises as a ValueError."""
    while error is not None:
        errors = getattr(error, "errors", None)
        if callable(errors):
            return list(errors())
        error = error.__cause__
    return []


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 300 else line[:297] + "..."


def _mentioned(text: str, arguments: tuple[str, ...]) -> str:
    return next((name for name in arguments if re.search(rf"\b{re.escape(name)}\b", text)), "")
