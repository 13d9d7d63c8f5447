"""Plain scalars by YAML 1.2's core schema: `no` is text, `1e-3` a number, `1_000` and `1:30` are text."""

from __future__ import annotations

import math
import re

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEAN = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INTEGER = re.compile(r"[-+]?[0-9]+", re.ASCII)
_OCTAL = re.compile(r"0o[0-7]+")
_HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_LARGEST = 2**63


class NumberError(ValueError):
    """A number that no step can use: infinite, NaN, or an integer over 64 bits."""


def resolve(text: str) -> bool | int | float | str | None:
    """The value of a plain (unquoted) scalar.

    Raises:
        NumberError: it is infinite, NaN or does not fit 64 bits.

    >>> [resolve(text) for text in ("true", "no", "1e-3", "0o17", "0x1F", "1_000", "1:30", "~", "012", ".5")]
    [True, 'no', 0.001, 15, 31, '1_000', '1:30', None, 12, 0.5]
    """
    if text in _NULL:
        return None
    if text in _BOOLEAN:
        return _BOOLEAN[text]
    if text[0] not in "+-.0123456789":
        return text
    if len(text) > 400 and _FLOAT.fullmatch(text):
        raise NumberError(f"a number of {len(text)} characters")
    for pattern, base in ((_INTEGER, 10), (_OCTAL, 8), (_HEXADECIMAL, 16)):
        if pattern.fullmatch(text):
            number = int(text if base == 10 else text[2:], base)
            if not -_LARGEST <= number < 2 * _LARGEST:
                raise NumberError(f"{text[:40]} does not fit 64 bits")
            return number
    if _FLOAT.fullmatch(text):
        value = float(text)
        if math.isinf(value):
            raise NumberError(f"{text} is too large")
        return value
    if _NOT_FINITE.fullmatch(text):
        raise NumberError(f"{text} is not a finite number")
    return text
