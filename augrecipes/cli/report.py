"""Problems as text for people, and as annotations for GitHub."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from augrecipes.cli.terminal import line_of, paint, say
from augrecipes.errors import Diagnostic, counted, harmless


def status(problems: Sequence[Diagnostic], strict: bool) -> int:
    """The exit status: 2 where something is no valid recipe, 1 for lint errors (`strict`: warnings too), else 0.

    >>> status([Diagnostic("", code="L102", severity="warning")], strict=True)
    1
    """
    if any(problem.code.startswith("E") for problem in problems):
        return 2
    return int(any(strict or problem.severity == "error" for problem in problems))


def tell(problems: Sequence[Diagnostic], form: str, checked: int) -> None:
    """Print problems on standard output; as text also a summary on standard error."""
    for problem in problems:
        if form == "github":
            say(annotation(problem), wrap=False)
        else:
            say(line_of(problem, sys.stdout), wrap=False)
    if form != "github":
        sys.stdout.flush()
        say(_summary(problems, checked), err=True)


def annotation(problem: Diagnostic) -> str:
    """One problem as a workflow command of GitHub Actions.

    >>> annotation(Diagnostic("100% wrong", 3, 5, "E302", "Crop", "a,b.yaml"))
    '::error file=a%2Cb.yaml,line=3,col=5,title=E302 Crop::100%25 wrong'
    """
    title = f"{problem.code} {problem.name}".strip()
    place = [f"file={_property(problem.file)}"]
    if problem.line:
        place += [f"line={problem.line}", f"col={problem.col}"]
    place.append(f"title={_property(title)}")
    return f"::{problem.severity} {','.join(place)}::{_data(problem.message)}"


def _data(text: str) -> str:
    # GitHub makes line ends of these two again, and shows other control characters to nobody.
    return harmless(text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _summary(problems: Sequence[Diagnostic], checked: int) -> str:
    files = counted(checked, "recipe")
    errors = sum(problem.severity == "error" for problem in problems)
    warnings = len(problems) - errors
    if not problems:
        return paint(f"{files} checked, all clean", "good", sys.stderr)
    found = [counted(count, word) for count, word in ((errors, "error"), (warnings, "warning")) if count]
    return f"{files} checked: {', '.join(found)}; `augrecipes check --explain CODE` says more"
