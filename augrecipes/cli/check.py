"""`augrecipes check`: list every problem of recipes, and explain codes."""

import os
import sys
import textwrap
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from augrecipes.cli.arguments import overrides
from augrecipes.cli.parsing import refusal
from augrecipes.cli.terminal import answer, good, line_of, progress, say, width
from augrecipes.errors import Diagnostic, RecipeError, counted, harmless

STDIN = "-"
_SUFFIXES = frozenset({".yaml", ".yml"})
# Read from standard input at most one byte more than a recipe may have, which is enough to refuse it.
_MOST_BYTES = 1_000_001


def check(args: Namespace) -> None:
    """Print every problem of recipes as FILE:LINE:COL: CODE name: message.

    \b
    Examples:
      augrecipes check recipes/*.yaml --strict
      augrecipes check my.yaml --set RandomCrop.height=64 --without ColorJitter
      augrecipes check --explain L101

    A comment `# augrecipes: ignore[L301]` on a step's line silences a lint there.

    \b
    Exit status:
      0  clean, or warnings only
      1  a lint error; with --strict also a warning
      2  not a valid recipe, or no such file
    """
    if args.explain is not None:
        if (text := describe(args.explain)) is None:
            from augrecipes.recipe.codes import CODES
            from augrecipes.recipe.problems import near

            raise refusal(f"no code {args.explain!r}{near(args.explain, tuple(CODES)).text}", "--explain")
        answer(args, {"code": args.explain, "text": text}, lambda: say(text))
        return
    if not args.files:
        raise refusal("which recipes? Give files, folders, gallery names, or - for standard input", None)
    changes = overrides(args.set)
    from augrecipes.compat.guard import without_torch

    # No pixels are processed here.
    without_torch()
    checked, problems = check_all(args.files, changes, args.without)
    answer(args, problems, lambda: _tell(problems, args.format, checked), status=status(problems, args.strict))


def describe(code: str) -> str | None:
    """Return the documentation of a code; None for an unknown code.

    >>> describe("E303").splitlines()[0]
    'E303 step that recipes cannot use (error)'
    """
    from augrecipes.lint import lints
    from augrecipes.recipe.codes import CODES

    lint, entry = lints().get(code.upper()), CODES.get(code.upper())
    if entry is None:
        return None
    severity = lint.severity if lint else "error"
    parts = [f"{entry.code} {entry.title} ({severity})", f"{_wrap('Why', entry.why)}\n{_wrap('Fix', entry.fix)}"]
    if lint is not None:
        parts.append(f"A recipe that it warns of, and what mends it:\n{textwrap.indent(entry.diff.rstrip(), '   ')}")
        parts.append(f"Silence it on the step's line with  # augrecipes: ignore[{entry.code}]")
    return "\n\n".join(parts)


def _wrap(label: str, text: str) -> str:
    return textwrap.fill(text, width=width(), initial_indent=f"{label}: ", subsequent_indent="     ")


def status(problems: Sequence[Diagnostic], strict: bool) -> int:
    """Return the exit status: 2 where a recipe is not valid, 1 for lint errors (`strict`: warnings too), else 0.

    >>> status([Diagnostic("", code="L102", severity="warning")], strict=True)
    1
    """
    if any(problem.code.startswith("E") for problem in problems):
        return 2
    return int(any(strict or problem.severity == "error" for problem in problems))


def _tell(problems: Sequence[Diagnostic], form: str, checked: int) -> None:
    """Print problems on standard output; as text also a summary on standard error."""
    for problem in problems:
        say(annotation(problem) if form == "github" else line_of(problem, sys.stdout), wrap=False)
    if form == "github":
        return
    recipes = counted(checked, "recipe")
    if not problems:
        good(f"{recipes} checked, all clean", err=True)
        return
    errors = sum(problem.severity == "error" for problem in problems)
    counts = (errors, "error"), (len(problems) - errors, "warning")
    summary = ", ".join(counted(count, word) for count, word in counts if count)
    say(f"{recipes} checked: {summary}; `augrecipes check --explain CODE` says more", err=True)


def annotation(problem: Diagnostic) -> str:
    """Format a problem as a workflow command of GitHub Actions.

    >>> annotation(Diagnostic("100% wrong", 3, 5, "E302", "Crop", "a,b.yaml"))
    '::error file=a%2Cb.yaml,line=3,col=5,title=E302 Crop::100%25 wrong'
    """

    def escaped(text: str, key: bool = True) -> str:
        # GitHub turns %0D and %0A back into line ends; other control characters are escaped.
        text = harmless(text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))
        return text.replace(":", "%3A").replace(",", "%2C") if key else text

    line = f",line={problem.line},col={problem.col}" if problem.line else ""
    place = f"file={escaped(problem.file)}{line},title={escaped(f'{problem.code} {problem.name}'.strip())}"
    return f"::{problem.severity} {place}::{escaped(problem.message, key=False)}"


def check_all(
    names: Sequence[str], changes: Mapping[str, Any], without: Sequence[str]
) -> tuple[int, tuple[Diagnostic, ...]]:
    """How many recipes were checked, and every problem in the order of the files.

    >>> check_all(["folder-128"], {}, ())
    (1, ())
    """
    from augrecipes.lint import lint
    from augrecipes.recipe import gallery, parse

    def problems_of(file: str) -> Sequence[Diagnostic]:
        try:
            if file == STDIN:
                data = getattr(sys.stdin, "buffer", sys.stdin).read(_MOST_BYTES)
                return lint(parse.parse_text(data, file="<stdin>", root=Path.cwd(), overrides=changes, without=without))
            return lint(parse.load(gallery.find(file), overrides=changes, without=without))
        except RecipeError as error:
            return error.problems or (Diagnostic(str(error), 1, 1, file=file),)

    files, problems = _expand(names)
    with progress("checking") as advance:
        for done, file in enumerate(files):
            problems += problems_of(file)
            advance(done + 1, len(files))
    return len(files), tuple(problems)


def _expand(names: Sequence[str]) -> tuple[list[str], list[Diagnostic]]:
    """Folders as their files, each file once; a folder without files is a problem."""
    files: dict[str, None] = {}
    problems: list[Diagnostic] = []
    for name in names:
        paths = dict.fromkeys(_files(name))
        files.update(paths)
        if not paths:
            problems.append(Diagnostic("a folder without .yaml or .yml files", 1, 1, "E101", "file", name))
    return list(files), problems


def _files(name: str) -> Iterator[str]:
    from augrecipes.recipe import gallery

    path = Path(name)
    if name in (STDIN, ""):
        yield from [name] * bool(name)
    elif name not in gallery.gallery_names() and path.is_dir():
        for folder, folders, names in os.walk(path):
            folders[:] = sorted(folder for folder in folders if not folder.startswith("."))
            for file in sorted(names):
                if Path(file).suffix.lower() in _SUFFIXES and not file.startswith("."):
                    yield str(Path(folder) / file)
    else:
        yield name
