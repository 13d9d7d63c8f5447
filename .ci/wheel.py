"""Build the sdist, and from it a wheel with libjpeg-turbo linked in: `python .ci/wheel.py [FOLDER] [TARGET]`.

Needs the extra `wheels`. FOLDER is `dist` by default. TARGET, `x86_64` or `aarch64`, cross-compiles for Linux with
ziglang, on any machine; without one the wheel is for this machine, by its own compiler. On Linux auditwheel finds the
oldest glibc that the symbols allow, and names the wheel after it; a glibc newer than that of `.ci/libjpeg.py` fails.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from contents import problems
from libjpeg import GLIBC, compiler_for
from libjpeg import main as build_libjpeg

ROOT = Path(__file__).parent.parent


def sdist(folder: Path) -> Path:
    """Build the sdist into `folder`, and return it."""
    run("build", "--sdist", "--outdir", str(folder), str(ROOT))
    return max(folder.glob("augrecipes-*.tar.gz"), key=lambda file: file.stat().st_mtime)


def wheel(archive: Path, folder: Path, target: str = "") -> Path:
    """Build the wheel of an sdist into `folder`, and return it; exit with a message if its contents are wrong."""
    prefix = ROOT / "build" / f"libjpeg-turbo-{target or 'here'}"
    build_libjpeg(prefix, target)
    environment = {"AUGRECIPES_LIBJPEG": str(prefix)}
    if target:
        environment |= {"CC": compiler_for(target), "_PYTHON_HOST_PLATFORM": f"linux-{target}"}
    with tempfile.TemporaryDirectory() as name:
        with tarfile.open(archive) as sources:
            sources.extractall(name, filter="data")
        (unpacked,) = (path for path in Path(name).iterdir() if path.is_dir())
        said = run("build", "--wheel", "--outdir", name, str(unpacked), **environment)
        (built,) = Path(name).glob("*.whl")
        if wrong := problems(built):
            sys.exit("\n".join([*wrong, said]))
        folder.mkdir(parents=True, exist_ok=True)
        if sys.platform == "linux":
            run("auditwheel", "repair", "--wheel-dir", f"{name}/named", str(built))
            (built,) = Path(name, "named").glob("*.whl")
            if newer := newer_glibc(built.name):
                sys.exit(f"{built.name}: asks for glibc {newer}, and {GLIBC} is promised")
        return Path(shutil.copy(built, folder))


def newer_glibc(name: str) -> str:
    """Return the glibc in a wheel's name if it is newer than promised or missing; else nothing.

    >>> newer_glibc("augrecipes-0.1.0-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl")
    ''
    >>> newer_glibc("augrecipes-0.1.0-py3-none-manylinux_2_34_x86_64.whl")
    '2.34'
    """
    found = [(int(major), int(minor)) for major, minor in re.findall(r"manylinux_(\d+)_(\d+)_", name)]
    if not found:
        return "of this machine"
    oldest = min(found)
    return "" if oldest <= tuple(map(int, GLIBC.split("."))) else ".".join(map(str, oldest))


def run(module: str, *arguments: str, **environment: str) -> str:
    """Run a Python module, and return its output; exit with that output if it fails."""
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def main(folder: Path, target: str = "") -> None:
    """Build sdist and wheel into `folder`."""
    sys.stdout.write(f"{wheel(sdist(folder), folder, target)}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "dist"), *sys.argv[2:])
