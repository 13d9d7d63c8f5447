"""Turn what a constructor raises or warns of into one readable line that names the argument."""

import re
from typing import Any

# Warnings about style or speed; every other warning means that the class altered a value.
_ADVICE = (
    "is a special case of", "is a specialized version of", "is an alias for", "This augmenter is very slow",
)  # fmt: skip


class Refusal(Exception):  # noqa: N818 - callers turn it into a RecipeError
    """A class does not take its arguments.

    Args:
        message: one line, without the names of the class and the argument.
        argument: the argument at fault, or an empty text.
    """

    def __init__(self, message: str, argument: str = "") -> None:
        super().__init__(message)
        self.message, self.argument = message, argument


def is_advice(message: str) -> bool:
    """Whether a warning does not mean that a value was altered.

    >>> is_advice("ShiftScaleRotate is a special case of Affine transform. Please use Affine transform instead.")
    True
    """
    return any(part in message for part in _ADVICE)


def from_warning(message: str, arguments: tuple[str, ...]) -> Refusal:
    """Turn a constructor's warning into a refusal."""
    return Refusal(_one_line(message), _mentioned(message, arguments))


def from_exception(error: Exception, arguments: tuple[str, ...]) -> Refusal:
    """Turn a constructor's exception, pydantic's or any other, into a refusal.

    >>> from_exception(ValueError("blur_limit must be odd"), ("blur_limit",)).argument
    'blur_limit'
    """
    details = _details(error)
    if not details:
        text = _one_line(str(error)) or type(error).__name__
        return Refusal(text, _mentioned(text, arguments))
    # A union reports every alternative; after the schema's check the first error of the first argument is enough.
    first = details[0]
    place: tuple[Any, ...] = first.get("loc") or ()
    argument = str(place[0]) if place and str(place[0]) in arguments else ""
    if first.get("type") == "missing":
        return Refusal(f"{str(place[-1])!r} is required")
    text = _one_line(re.sub(r"^(Value|Assertion) error, ", "", str(first.get("msg", ""))))
    return Refusal(text, argument or _mentioned(text, arguments))


def _details(error: BaseException | None) -> list[dict[str, Any]]:
    """pydantic's errors among the causes of `error`, since albumentations raises ValueError from them."""
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
