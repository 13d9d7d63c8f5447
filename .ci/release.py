"""All that comes before an upload, and no upload: `python .ci/release.py [--python PYTHON]...`.

Each line is a check with its time; the first that fails ends it, with what it said. PYTHON is an interpreter that the
wheel is tried with; this one where none is named. Needs the extras `dev` and `wheels`: `make release`.
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
    """What a command says.

    Raises:
        CheckError: it fails.
    """
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CheckError(f"{' '.join(command)}\n{(done.stdout + done.stderr)[-4000:]}")
    return done.stdout


def clean_tree() -> str:
    """Nothing is changed or new, so that what is built is what is committed."""
    if changed := run("git", "status", "--porcelain"):
        raise CheckError(f"commit, or put away:\n{changed}")
    return run("git", "rev-parse", "--short", "HEAD").strip()


def version_named(project: str, package: str, citation: str, changelog: str, tags: list[str]) -> str:
    """The version that all of them name: four files' texts, and the tags of the commit.

    Raises:
        CheckError: one names another.
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
    """One version in all places."""
    names = ("pyproject.toml", "augrecipes/__init__.py", "CITATION.cff", "CHANGELOG.md")
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in names]
    return version_named(*texts, run("git", "tag", "--points-at", "HEAD").split())


def built(target: str) -> Callable[[], str]:
    """A check that builds the sdist and the wheel for a target; "" is this machine."""

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
    """A check that installs the wheel of this machine in an empty environment of an interpreter, and runs it."""

    def check() -> str:
        return run(sys.executable, ".ci/package.py", "--python", python, str(DIST)).rpartition(": ")[2].strip()

    return check


def whole() -> str:
    """What is in the wheels: their files, sizes and bills of material."""
    run(sys.executable, ".ci/contents.py", *map(str, packages("*.whl")))
    return f"{len(packages('*.whl'))} wheels"


def made(target: str) -> Callable[[], str]:
    """A check that is a target of the Makefile."""

    def check() -> str:
        run("make", target)
        return ""

    return check


def checks(pythons: list[str]) -> Iterator[tuple[str, Callable[[], str]]]:
    """What is checked, in this order: what takes long and what needs it come last."""
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
    """Run checks and tell of each; whether all of them passed."""
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
    """Go through all of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", action="append", default=[])
    if not go_through(checks(parser.parse_args().python or [sys.executable])):
        sys.exit(1)
    sys.stdout.write("\nto be uploaded, which the tag does (.github/workflows/wheels.yml):\n")
    sys.stdout.writelines(f"  {file.relative_to(ROOT)}\n" for file in packages("*"))


if __name__ == "__main__":
    main()
