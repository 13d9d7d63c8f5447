"""Install packages in new environments, and try them: `python .ci/package.py [--python PYTHON]... [FILE...]`.

FILE is a wheel, an sdist, or a folder of wheels, from which pip chooses. Without files both are built (this needs
`build`), the wheel from the sdist, so that neither lacks files that the other needs. PYTHON is the interpreter of an
environment, by default this one. Nothing is written into the checkout.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
TRIED = (["--version"], ["list"], ["check", "stained-tissue"], ["explain", "folder-128"], ["schema"])
CALLED = "\nimport numpy\nassert train(image=numpy.zeros((300, 300, 3), numpy.uint8))['image'].shape == (3, 224, 224)\n"


def first_example() -> str:
    """Return the first example of the README, and a call of its transform."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)[0] + CALLED


def fitting(folder: Path) -> Path:
    """Return the wheel of a folder that fits this machine; exit with a message if there is none."""
    with tempfile.TemporaryDirectory() as name:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-index", "--find-links"]
        command += [str(folder), "--only-binary", ":all:", "--dest", name, "augrecipes"]
        if subprocess.run(command, check=False).returncode:
            sys.exit(f"{folder} has no wheel for this machine")
        (wheel,) = Path(name).iterdir()
        return folder / wheel.name


def try_out(package: Path, python: str, folder: Path) -> str:
    """Install a package in a new environment, run it, and return the output of `augrecipes --version`.

    Exits with a message if anything fails.
    """
    # Without PYTHONPATH, so that the installed package runs and no other.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def run(*command: str) -> str:
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{package.name}: {' '.join(command)} fails\n{done.stdout}{done.stderr}")
        return done.stdout

    place = Path(tempfile.mkdtemp(dir=folder))
    run(python, "-m", "venv", str(place))
    scripts = place / ("Scripts" if sys.platform == "win32" else "bin")
    own = str(scripts / "python")
    # constraints.txt pins versions for the oldest Python; others take the newest that pip finds.
    oldest = run(own, "-c", "import sys; print(sys.version_info[:2] == (3, 11))").strip() == "True"
    pinned = ["-c", str(ROOT / "constraints.txt")] if oldest else []
    run(own, "-m", "pip", "install", "--quiet", *pinned, str(package.resolve()))
    said = [run(str(scripts / "augrecipes"), *arguments) for arguments in TRIED]
    run(own, "-W", "error::DeprecationWarning:augrecipes", "-c", first_example())
    return said[0].strip()


def main() -> None:
    """Try each package with each interpreter."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", action="append", default=[])
    parser.add_argument("files", nargs="*", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if not asked.files:
            subprocess.run([sys.executable, "-m", "build", "--outdir", name, str(ROOT)], check=True)
        for python in asked.python or [sys.executable]:
            named = [fitting(file) if file.is_dir() else file for file in asked.files]
            for package in named or [*folder.glob("*.whl"), *folder.glob("*.tar.gz")]:
                sys.stdout.write(f"{package.name}, {python}: {try_out(package, python, folder)}\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
