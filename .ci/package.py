"""Build the sdist and the wheel, install one after the other in a new environment, and try what they bring.

Called as `python .ci/package.py`, with `build` installed. Nothing is written into the checkout. The wheel is built from
the sdist, so that neither leaves out what the other needs.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent
TRIED = (["--version"], ["list"], ["check", "stained-tissue"], ["explain", "folder-128"], ["schema"])


def main() -> None:
    """Build both and try both; leaves with a message where one lacks something."""
    # What is tried is what was installed, not what a variable points at.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([sys.executable, "-m", "build", "--outdir", name, str(ROOT)], check=True)
        packages = [*folder.glob("*.whl"), *folder.glob("*.tar.gz")]
        venv.create(folder / "venv", with_pip=True)
        scripts = folder / "venv" / ("Scripts" if sys.platform == "win32" else "bin")
        pip = [str(scripts / "python"), "-m", "pip", "install", "--quiet", "-c", str(ROOT / "constraints.txt")]
        for package in packages:
            subprocess.run([*pip, "--force-reinstall", "--no-deps", str(package)], check=True, env=environment)
            subprocess.run([*pip, "augrecipes"], check=True, env=environment)  # what it depends on
            for arguments in TRIED:
                command = [str(scripts / "augrecipes"), *arguments]
                done = subprocess.run(command, cwd=name, env=environment, capture_output=True, text=True, check=False)
                if done.returncode:
                    sys.exit(f"{package.name}: augrecipes {' '.join(arguments)} fails\n{done.stdout}{done.stderr}")
            sys.stdout.write(f"{package.name}: installed, and its commands run\n")


if __name__ == "__main__":
    main()
