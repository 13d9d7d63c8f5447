"""Build a static libjpeg-turbo to link into a wheel: `python .ci/libjpeg.py FOLDER [TARGET]`.

The release below comes from its publisher, or from Debian, whose archive has the same files; SHA-256 sums verify both.
Its symbols are hidden, so that they do not clash with another libjpeg in the process. Needs cmake, and for x86-64 nasm.
TARGET, `x86_64` or `aarch64`, cross-compiles for Linux with ziglang; the default is this machine, by its compiler.

    AUGRECIPES_LIBJPEG=FOLDER python -m build --wheel
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
from pathlib import Path

VERSION = "3.1.3"
SOURCES = (
    (
        f"https://github.com/libjpeg-turbo/libjpeg-turbo/releases/download/{VERSION}/libjpeg-turbo-{VERSION}.tar.gz",
        "075920b826834ac4ddf97661cc73491047855859affd671d52079c6867c1c6c0",
    ),
    (
        f"http://deb.debian.org/debian/pool/main/libj/libjpeg-turbo/libjpeg-turbo_{VERSION}.orig.tar.gz",
        "3a13a5ba767dc8264bc40b185e41368a80d5d5f945944d1dbaa4b2fb0099f4e5",
    ),
)
GLIBC = "2.17"  # of manylinux2014: no dependency of the wheel supports an older one
PYTHON = Path(sys.executable).as_posix()  # cmake would read backslashes as escapes
SETTINGS = (
    "-DCMAKE_BUILD_TYPE=Release",
    "-DCMAKE_C_VISIBILITY_PRESET=hidden",
    "-DCMAKE_POSITION_INDEPENDENT_CODE=ON",
    "-DCMAKE_INSTALL_LIBDIR=lib",
    "-DENABLE_SHARED=OFF",
    "-DWITH_TURBOJPEG=OFF",
    "-DWITH_TOOLS=OFF",
    "-DWITH_TESTS=OFF",
    "-DREQUIRE_SIMD=ON",
)


def compiler_for(target: str) -> str:
    """Return the value of `CC` that compiles for a Linux target, without the debug information that ziglang adds."""
    return f"{PYTHON} -m ziglang cc -target {target}-linux-gnu.{GLIBC} -g0 -s"


def source(folder: Path) -> Path:
    """Download the sources and unpack them into `folder`; exit with a message if no URL works."""
    refused = []
    for url, expected in SOURCES:
        try:
            with urllib.request.urlopen(url, timeout=60) as answer:
                data = answer.read()
        except OSError as error:
            refused.append(f"{url}: {error}")
            continue
        if hashlib.sha256(data).hexdigest() != expected:
            refused.append(f"{url}: another file than the one that SOURCES has the sum of")
            continue
        (folder / "source.tar.gz").write_bytes(data)
        with tarfile.open(folder / "source.tar.gz") as archive:
            archive.extractall(folder, filter="data")
        return folder / f"libjpeg-turbo-{VERSION}"
    sys.exit("libjpeg-turbo cannot be had:\n" + "\n".join(refused))


def main(prefix: Path, target: str = "") -> None:
    """Build into `prefix`, unless it has this release already."""
    made = prefix / f"libjpeg-turbo-{VERSION}"
    if made.exists():
        return
    settings, environment = [*SETTINGS, f"-DCMAKE_INSTALL_PREFIX={prefix.resolve()}"], dict(os.environ)
    if target or sys.platform == "win32":
        # cmake takes the archiver as one program without arguments, so spell out the whole command.
        archive = f"{PYTHON} -m ziglang ar qcs <TARGET> <OBJECTS>"
        settings += [f"-DCMAKE_C_ARCHIVE_CREATE={archive}", "-DCMAKE_C_ARCHIVE_FINISH="]
        environment["CC"] = f"{PYTHON} -m ziglang cc"
    if target:
        settings += ["-DCMAKE_SYSTEM_NAME=Linux", f"-DCMAKE_SYSTEM_PROCESSOR={target}"]
        environment["CC"] = compiler_for(target)
    with tempfile.TemporaryDirectory() as name:
        folder = source(Path(name))
        generator = ["-G", "Ninja"] if shutil.which("ninja") else []
        for command in (
            ["cmake", *generator, "-S", str(folder), "-B", f"{name}/build", *settings],
            ["cmake", "--build", f"{name}/build", "--parallel"],
            ["cmake", "--install", f"{name}/build"],
        ):
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
            if done.returncode:
                sys.exit(f"{' '.join(command)}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
        licences = [(folder / file).read_text(encoding="utf-8") for file in ("LICENSE.md", "README.ijg")]
        (prefix / "libjpeg-turbo-licence.txt").write_text("\n\n".join(licences), encoding="utf-8")
    made.write_text(f"{VERSION}\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
