"""Run every check before an upload, without the upload: `python .ci/release.py [--python PYTHON]...`.

Each check prints a line with its time; the first failure ends the run and prints its output. PYTHON is an interpreter
to try the wheel with, by default this one. Needs the extras `dev` and `wheels`: `make release`.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
DIST = ROOT / "dist"


class CheckError(Exception):
    """A check fails; its text says why."""


def run(*command: str) -> str:
    """Run a command, and return its output.

    Raises:
        CheckError: the command fails.
    """
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CheckError(f"{' '.join(command)}\n{(done.stdout + done.stderr)[-4000:]}")
    return done.stdout


def clean_tree() -> str:
    """Check that no file is changed or new, so that the build is that of the commit, and return the commit."""
    if changed := run("git", "status", "--porcelain"):
        raise CheckError(f"commit, or put away:\n{changed}")
    return run("git", "rev-parse", "--short", "HEAD").strip()


def version_named(project: str, package: str, citation: str, changelog: str, tags: list[str]) -> str:
    """Return the version that the texts of four files and the tags of the commit agree on.

    Raises:
        CheckError: one of them names another version.
    """
    version = str(tomllib.loads(project)["project"]["version"])
    named = {
        "augrecipes/__init__.py": re.findall(r'^__version__ = "(.*)"', package, re.MULTILINE),
        "CITATION.cff": re.findall(r"^version: (\S+)", citation, re.MULTILINE),
        "CHANGELOG.md, at its head": re.findall(r"^## \[(.*?)\]", changelog, re.MULTILINE)[:1],
        "the tag of this commit": [tag.removeprefix("v") for tag in tags],
    }
    wrong = [f"{where}: {', '.join(said) or 'none'}" for where, said in named.items() if said != [version]]
    if wrong:
        raise CheckError("\n".join([f"pyproject.toml says {version}", *wrong]))
    return version


def version() -> str:
    """Check that the version is the same in all places, and return it."""
    names = ("pyproject.toml", "augrecipes/__init__.py", "CITATION.cff", "CHANGELOG.md")
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in names]
    return version_named(*texts, run("git", "tag", "--points-at", "HEAD").split())


def built(target: str) -> Callable[[], str]:
    """Return a check that builds the sdist and the wheel for a target; "" is this machine."""

    def check() -> str:
        file = Path(run(sys.executable, ".ci/wheel.py", str(DIST), *filter(None, [target])).split()[-1])
        return f"{file.name}, {file.stat().st_size / 1e6:.1f} MB"

    return check


def described() -> str:
    """What PyPI would say of the descriptions."""
    run(sys.executable, "-m", "twine", "check", "--strict", *map(str, packages("*")))
    return f"{len(packages('*'))} files"


def packages(which: str) -> list[Path]:
    """The files that would be uploaded."""
    return sorted(DIST.glob(f"augrecipes-{which}"))


def tried(python: str) -> Callable[[], str]:
    """Return a check that installs this machine's wheel in an empty environment of an interpreter, and runs it."""

    def check() -> str:
        return run(sys.executable, ".ci/package.py", "--python", python, str(DIST)).rpartition(": ")[2].strip()

    return check


def whole() -> str:
    """Check the files, sizes and bills of material of the wheels."""
    run(sys.executable, ".ci/contents.py", *map(str, packages("*.whl")))
    return f"{len(packages('*.whl'))} wheels"


def made(target: str) -> Callable[[], str]:
    """Return a check that runs a target of the Makefile."""

    def check() -> str:
        run("make", target)
        return ""

    return check


def checks(pythons: list[str]) -> Iterator[tuple[str, Callable[[], str]]]:
    """Yield the checks in order; the long ones, and those that need their results, come last."""
    yield "the tree is clean", clean_tree
    yield "one version everywhere", version
    yield "make lint", made("lint")
    yield "make test", made("test")
    if "\nsite:" in (ROOT / "Makefile").read_text(encoding="utf-8"):
        yield "make site", made("site")
    yield "sdist, wheel", built("")
    if sys.platform == "linux":
        yield "wheel for aarch64", built("aarch64")
    yield "files, sizes, bills", whole
    yield "descriptions", described
    for python in pythons:
        yield f"tried with {Path(python).name}", tried(python)


def go_through(listed: Iterator[tuple[str, Callable[[], str]]]) -> bool:
    """Run checks, print a line for each, and return whether all passed."""
    for name, check in listed:
        began, said, problem = time.monotonic(), "", ""
        try:
            said = check()
        except CheckError as error:
            problem = str(error)
        mark = "failed" if problem else "ok"
        sys.stdout.write(f"{name:<24}{mark:<8}{time.monotonic() - began:6.0f} s  {said}".rstrip() + "\n")
        sys.stdout.flush()
        if problem:
            sys.stdout.write(f"\n{problem.strip()}\n")
            return False
    return True


def main() -> None:
    """Run all checks, and list the files to upload."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", action="append", default=[])
    if not go_through(checks(parser.parse_args().python or [sys.executable])):
        sys.exit(1)
    sys.stdout.write("\nto be uploaded, which the tag does (.github/workflows/wheels.yml):\n")
    sys.stdout.writelines(f"  {file.relative_to(ROOT)}\n" for file in packages("*"))


if __name__ == "__main__":
    main()
