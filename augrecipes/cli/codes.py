"""What a code means, for `check --explain`."""

from __future__ import annotations

import textwrap

from augrecipes.cli.terminal import width


def known() -> tuple[str, ...]:
    """Every code: errors, then lints."""
    from augrecipes.recipe.codes import CODES

    return tuple(CODES)


def describe(code: str) -> str | None:
    """One code's documentation; lint names such as `random-in-eval` are known too. None for an unknown one.

    >>> describe("E303").splitlines()[0]
    'E303 step that recipes cannot use (error)'
    """
    from augrecipes.lint import lints
    from augrecipes.recipe.codes import CODES

    wanted, named = code.strip(), {lint.name: lint for lint in lints().values()}
    lint = lints().get(wanted.upper()) or named.get(wanted.lower())
    entry = CODES.get(lint.code if lint else wanted.upper())
    if entry is None:
        return None
    severity = lint.severity if lint else "error"
    page = f"{entry.code} {entry.title} ({severity})\n\n{_wrapped('Why', entry.why)}\n{_wrapped('Fix', entry.fix)}"
    if lint is None:
        return page
    silence = f"Silence it on the step's line with  # augrecipes: ignore[{entry.code}]"
    return f"{page}\n\nSpeaks of:\n{_yaml(entry.example)}\n\nMended:\n{_yaml(entry.good)}\n\n{silence}"


def _wrapped(label: str, text: str) -> str:
    return textwrap.fill(text, width=width(), initial_indent=f"{label}: ", subsequent_indent="     ")


def _yaml(text: str) -> str:
    return textwrap.indent(text.strip(), "    ")
