"""Allow the newest torch on PyPI: the bound in pyproject.toml, the pin in constraints.txt, the hooks' last release.

Prints `raised=VERSION`, or nothing if that release is allowed already. It does not run the tests with the new torch;
the caller does. Needs nothing but Python and pip.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
# Mentions of a torch release: the file, patterns of the text before the version and of the version, its new value.
_PLACES = (
    ("pyproject.toml", r'"torch>=[\d.]+,<', r"\d+\.\d+", "{major}.{after}"),
    ("constraints.txt", r"^torch==", r"[\d.]+", "{newest}"),
    ("augrecipes/compat/torch.py", r"^PROVEN = \(\(\d+, \d+\), ", r"\(\d+, \d+\)", "({major}, {minor})"),
)


def raised(texts: dict[str, str], newest: str) -> dict[str, str]:
    """Return the changed files that allow and pin `newest`; none if it is allowed already.

    Raises:
        ValueError: a file no longer matches its pattern.
    """
    major, minor = (int(part) for part in newest.split(".")[:2])
    made = {}
    for file, before, version, after in _PLACES:
        found = re.search(f"({before})({version})", texts[file], re.MULTILINE)
        if found is None:
            raise ValueError(f"{file} does not say which torch is allowed: {before}")
        if file == "pyproject.toml" and (major, minor) < tuple(int(part) for part in found[2].split(".")):
            return {}
        wanted = after.format(newest=newest, major=major, minor=minor, after=minor + 1)
        made[file] = texts[file][: found.start(2)] + wanted + texts[file][found.end(2) :]
    return made


def newest_release() -> str:
    """Return the newest torch that pip could install here; no pre-release, no local part (`+cpu`)."""
    command = [sys.executable, "-m", "pip", "index", "versions", "torch", "--json"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return str(json.loads(done.stdout)["versions"][0]).partition("+")[0]


def main() -> None:
    """Write the changed files, if any, and print the new version."""
    newest = newest_release()
    made = raised({file: (ROOT / file).read_text(encoding="utf-8") for file, *_ in _PLACES}, newest)
    for file, text in made.items():
        (ROOT / file).write_text(text, encoding="utf-8")
    if made:
        sys.stdout.write(f"raised={newest}\n")


if __name__ == "__main__":
    main()
