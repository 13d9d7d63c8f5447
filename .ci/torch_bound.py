"""Allow the newest torch on PyPI: the bound in pyproject.toml, the pin in constraints.txt, the hooks' last release.

Prints `raised=VERSION`, or nothing where that release is allowed already. Whether the tests pass with it is for whoever
calls this to find out. Needs nothing but Python and pip.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
# Where a release of torch is named: the file, what stands before the version, and the version that newest one makes it.
_PLACES = (
    ("pyproject.toml", r'"torch>=[\d.]+,<', r"\d+\.\d+", "{major}.{after}"),
    ("constraints.txt", r"^torch==", r"[\d.]+", "{newest}"),
    ("augrecipes/compat/torch.py", r"^PROVEN = \(\(\d+, \d+\), ", r"\(\d+, \d+\)", "({major}, {minor})"),
)


def raised(texts: dict[str, str], newest: str) -> dict[str, str]:
    """The files with `newest` allowed and pinned; nothing where it is allowed already.

    Raises:
        ValueError: a file no longer names the version of torch as it did.
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
    """The newest torch that pip could install here; no pre-release, no build's own part (`+cpu`)."""
    command = [sys.executable, "-m", "pip", "index", "versions", "torch", "--json"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return str(json.loads(done.stdout)["versions"][0]).partition("+")[0]


def main() -> None:
    """Write the files where there is something to raise, and print what."""
    newest = newest_release()
    made = raised({file: (ROOT / file).read_text(encoding="utf-8") for file, *_ in _PLACES}, newest)
    for file, text in made.items():
        (ROOT / file).write_text(text, encoding="utf-8")
    if made:
        sys.stdout.write(f"raised={newest}\n")


if __name__ == "__main__":
    main()
