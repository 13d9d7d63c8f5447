"""What a code means, for `check --explain`."""

from __future__ import annotations

import textwrap

from augrecipes.cli.terminal import width


def known() -> tuple[str, ...]:
    """Every code: errors, then lints."""
    from augrecipes.lint import lints
    from augrecipes.recipe.codes import CODES

    return (*CODES, *lints())


def describe(code: str) -> str | None:
    """One code's documentation; lint names such as `random-in-eval` are known too. None for an unknown one.

    >>> describe("E303").splitlines()[0]
    'E303 step that recipes cannot use (error)'
    """
    from augrecipes.lint import lints
    from augrecipes.recipe.codes import CODES

    wanted = code.strip()
    error = CODES.get(wanted.upper())
    if error is not None:
        return _page(f"{error.code} {error.title} (error)", error.why, error.fix)
    by_name = {lint.name: lint for lint in lints().values()}
    lint = lints().get(wanted.upper()) or by_name.get(wanted.lower())
    if lint is None:
        return None
    page = _page(f"{lint.code} {lint.name} ({lint.severity})", lint.why, lint.fix)
    silence = f"Silence it on the step's line with  # augrecipes: ignore[{lint.code}]"
    return f"{page}\n\nSpeaks of:\n{_yaml(lint.example)}\n\nMended:\n{_yaml(lint.good)}\n\n{silence}"


def _page(title: str, why: str, fix: str) -> str:
    return f"{title}\n\n{_wrapped('Why', why)}\n{_wrapped('Fix', fix)}"


def _wrapped(label: str, text: str) -> str:
    return textwrap.fill(text, width=width(), initial_indent=f"{label}: ", subsequent_indent="     ")


def _yaml(text: str) -> str:
    return textwrap.indent(text.strip(), "    ")
