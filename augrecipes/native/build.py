"""Builds the kernels of this folder: every C file once for each instruction set, linked into one library in `built/`.

If libjpeg-turbo and its headers are found, a second library decodes parts of JPEGs with it (the folder `codec`).

    python augrecipes/native/build.py [--all]
    python augrecipes/native/build.py LIBRARY [ARGUMENTS FOR THE COMPILER]

The first form builds for this machine: `base`, and the best instruction set that it has. With `--all`, as in wheels,
and for a LIBRARY every instruction set is built.

Needs a C compiler: that of `CC`, cc, gcc or clang, or else the package ziglang. Nothing of augrecipes is imported,
because this also runs while augrecipes is being installed.
"""

import ctypes
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent
CODEC = HERE / "codec"
_SHARED_HEADERS = ("export.h", "layout.h", "layout_table.h")  # the codec includes them, too
# Compiler flags of the instruction sets of each processor; the last one that the machine has is preferred.
INSTRUCTION_SETS: dict[str, dict[str, tuple[str, ...]]] = {
    "x86_64": {"base": (), "v3": ("-march=x86-64-v3",), "v4": ("-march=x86-64-v4",)},
    "arm64": {"base": ()},  # NEON is part of it
}
# The same for ziglang, whose flags differ, and which compiles for the present processor by default.
_ZIG = {"base": ("-mcpu=baseline",), "v3": ("-mcpu=x86_64_v3",), "v4": ("-mcpu=x86_64_v4",)}
_PROCESSOR_NAMES = {"amd64": "x86_64", "aarch64": "arm64"}
# Every instruction set must give the same bits: no fused multiply-add, and no reordering of floating point.
_FLAGS = (
    "-std=c11",
    "-O3",
    "-fPIC",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fvisibility=hidden",
)
# Vectorising the two cursors of a JPEG makes them slower than a single cursor.
_SCALAR = "-fno-tree-slp-vectorize"
_SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
LIBRARY = HERE / "built" / f"kernels{_SUFFIX}"  # in a folder of its own, since it is not a Python module


# If the entropy decoder fails with this libjpeg, or crashes, the library is built without it.
_SELF_TEST = "import ctypes, sys; sys.exit(not ctypes.CDLL(sys.argv[1]).ar_jpeg_self_test())"


class NoCompilerError(Exception):
    """No C compiler was found."""


def processor() -> str:
    """The target processor by a common name: `x86_64` or `arm64`, or as the system calls it."""
    machine = sysconfig.get_platform().rpartition("-")[2]  # `_PYTHON_HOST_PLATFORM` overrides it
    machine = platform.machine().lower() if machine == "universal2" else machine  # only for this Mac
    return _PROCESSOR_NAMES.get(machine, machine)


def _is_foreign() -> bool:
    """Whether the target processor is not that of this machine."""
    return processor() != _PROCESSOR_NAMES.get(platform.machine().lower(), platform.machine().lower())


def source_files(folder: Path | None = None) -> list[Path]:
    """The C files to compile."""
    return sorted((folder or HERE).glob("*.c"))


def input_files(folder: Path | None = None) -> list[Path]:
    """The files that decide what a library contains.

    Args:
        folder: the sources; None: those of the kernels.
    """
    shared = (
        [HERE / name for name in (*_SHARED_HEADERS, "build.py")] if folder not in (None, HERE) else [HERE / "build.py"]
    )
    return [file for kind in ("*.c", "*.h", "*.def") for file in sorted((folder or HERE).glob(kind))] + shared


def fingerprint(folder: Path | None = None) -> str:
    """A hash of the `input_files` of a folder, which is embedded in the library."""
    digest = hashlib.sha256()
    for file in input_files(folder):
        digest.update(file.name.encode() + b"\0" + file.read_bytes().replace(b"\r\n", b"\n") + b"\0")
    return digest.hexdigest()[:16]


def is_stale(library: Path, folder: Path | None = None) -> bool:
    """Whether the sources of a checkout have changed since a library was built.

    Files are read only if one is newer than the library. The sources of an installed package do not change.
    """
    if not (HERE.parents[1] / "pyproject.toml").exists():
        return False
    built = library.stat().st_mtime
    entries = (entry for path in {folder or HERE, HERE} for entry in [*os.scandir(path)])
    newer = any(e.stat().st_mtime > built for e in entries if e.name.endswith((".c", ".h", ".def", "build.py")))
    return newer and fingerprint(folder).encode() not in library.read_bytes()


def compiler() -> list[str]:
    """The command that compiles C, without arguments.

    Raises:
        NoCompilerError: none was found.
    """
    if command := shlex.split(os.environ.get("CC", "")):
        if shutil.which(command[0]):
            return command
        raise NoCompilerError(f"CC={os.environ['CC']}: no such program")
    for name in () if sys.platform == "win32" else ("cc", "gcc", "clang"):
        if program := shutil.which(name):
            return [program]
    if find_spec("ziglang"):
        return [sys.executable, "-m", "ziglang", "cc"]
    raise NoCompilerError("no C compiler: install cc, gcc or clang, or the package ziglang")


def build(to: Path = LIBRARY, extra: tuple[str, ...] = (), whole: bool = True) -> Path:
    """Compile on all cores and link; an old library stays until the new one is complete.

    Args:
        to: the library.
        extra: more compiler arguments, such as `-fsanitize=address`.
        whole: build every instruction set; False: `base`, and the best that this machine has.

    Raises:
        NoCompilerError: there is no compiler.
        subprocess.CalledProcessError: the compiler fails; `stderr` says why.
    """
    command = [*compiler(), *_FLAGS, f'-DSOURCES="{fingerprint()}"', *extra]
    sets = INSTRUCTION_SETS.get(processor(), {"base": ()})
    if "ziglang" in command:
        sets = {isa: _ZIG[isa] for isa in sets}
    began = time.time()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:  # Windows locks loaded libraries
        if not whole and len(sets) > 1:
            probe = Path(name, f"machine{_SUFFIX}")
            _run([*command, "-DISA=base", "-shared", str(HERE / "machine.c"), "-o", str(probe)])
            best = f"v{ctypes.CDLL(str(probe)).ar_isa()}"
            sets = {isa: flags for isa, flags in sets.items() if isa in ("base", best)}

        def compile_file(job: tuple[Path, str]) -> str:
            source, isa = job
            out = Path(name, f"{source.stem}-{isa}.o")
            _run([*command, *sets[isa], f"-DISA={isa}", "-c", str(source), "-o", str(out)])
            return str(out)

        jobs = [(source, isa) for source in source_files() for isa in sets if source.stem != "machine"]
        jobs.sort(key=lambda job: -job[0].stat().st_size)  # largest first, so that all cores end together
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            objects = list(_report(pool.map(compile_file, [*jobs, (HERE / "machine.c", "base")]), len(jobs) + 1))
        linked = Path(name, to.name)
        _run([*command, "-shared", *objects, "-o", str(linked)])
        _publish(linked, to, began)
    return to


def _report(objects: Iterator[str], count: int) -> Iterator[str]:
    """Yield object files, and report the progress on standard error: in one line of a terminal, else every 15 s."""
    terminal, every, last = sys.stderr.isatty(), float(os.environ.get("AUGRECIPES_TELL_EVERY", "15")), time.monotonic()
    for number, path in enumerate(objects, 1):
        if terminal or time.monotonic() - last >= every:
            end, last = "\r" if terminal and number < count else "\n", time.monotonic()
            sys.stderr.write(f"compiling kernels: file {number} of {count}{end}")
            sys.stderr.flush()
        yield path


def _publish(linked: Path, to: Path, began: float) -> None:
    to.parent.mkdir(exist_ok=True)
    fresh = to.with_name(f"{to.name}.{os.getpid()}")
    shutil.copy(linked, fresh)  # a copy, since running programs have the old file open
    os.utime(fresh, (began, began))  # sources changed during the build are newer
    fresh.replace(to)


def codec_library(kernels: Path = LIBRARY) -> Path:
    """The library that decodes JPEGs, in the folder of the kernels' library.

    >>> codec_library(Path("built", "kernels.so")).name
    'kernels-jpeg.so'
    """
    return kernels.with_name(f"{kernels.stem}-jpeg{kernels.suffix}")


def build_codec(kernels: Path = LIBRARY, extra: tuple[str, ...] = ()) -> Path | None:
    """Compile the JPEG library; None, and no library, if libjpeg-turbo or its headers are not found.

    Its entropy decoder replaces libjpeg's by a struct that the headers do not declare. If a self-test shows that the
    struct differs, the library is built with libjpeg's own decoder.

    Args:
        kernels: the kernels' library, whose folder it gets.
        extra: more compiler arguments.

    Raises:
        NoCompilerError: there is no compiler.
    """
    to, began = codec_library(kernels), time.time()
    folders = f"-I{CODEC}", f"-I{HERE}"
    command = [*compiler(), *_FLAGS, _SCALAR, *folders, f'-DSOURCES="{fingerprint(CODEC)}"', *extra, "-shared"]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        linked = Path(name, to.name)
        for where in _libjpeg():
            for entropy in ((), ("-DENTROPY_BY_LIBJPEG",)):
                try:
                    _run([*command, *entropy, *map(str, source_files(CODEC)), *where, "-o", str(linked)])
                    if not extra and not _is_foreign():  # sanitizers need to be loaded first
                        _run([sys.executable, "-c", _SELF_TEST, str(linked)])
                except subprocess.CalledProcessError:
                    continue
                _publish(linked, to, began)
                return to
    to.unlink(missing_ok=True)
    return None


def _libjpeg() -> Iterator[list[str]]:
    """Yield compiler arguments for each place of libjpeg: AUGRECIPES_LIBJPEG alone if set, conda, pkg-config, ..."""
    if prefix := os.environ.get("AUGRECIPES_LIBJPEG"):
        yield [f"-I{Path(prefix, 'include')}", str(Path(prefix, "lib", "libjpeg.a"))]
        return
    for prefix in filter(None, (os.environ.get("CONDA_PREFIX"), sys.prefix)):
        if Path(prefix, "include", "jpeglib.h").exists():
            yield _flags_of_prefix(prefix)
    if program := shutil.which("pkg-config"):
        flags = subprocess.run([program, "--cflags", "--libs", "libjpeg"], capture_output=True, text=True, check=False)
        if not flags.returncode:
            yield shlex.split(flags.stdout)
    yield ["-ljpeg"]
    for prefix in ("/opt/homebrew/opt/jpeg-turbo", "/usr/local/opt/jpeg-turbo", "/usr/local", "/opt/local"):
        if Path(prefix, "include", "jpeglib.h").exists():
            yield _flags_of_prefix(prefix)


def _flags_of_prefix(prefix: str) -> list[str]:
    library = str(Path(prefix, "lib"))
    return [f"-I{Path(prefix, 'include')}", f"-L{library}", "-ljpeg", f"-Wl,-rpath,{library}"]


def platform_tag() -> str:
    """The tag of a wheel with the library: any Python 3, this system."""
    system = sysconfig.get_platform()
    if system.endswith("universal2"):  # kernels are for one processor; universal2 begins with macOS 11
        system = f"macosx-11.0-{platform.machine()}"
    return f"py3-none-{system.replace('-', '_').replace('.', '_')}"


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True)


def _is_current(library: Path, folder: Path, sets: Iterable[str] = ()) -> bool:
    """Whether a library was built from these sources for these instruction sets, by strings in the file."""
    strings = [fingerprint(folder), *(f"ar_sink_{isa}\0" for isa in sets)]
    return library.exists() and all(text.encode() in library.read_bytes() for text in strings)


def update(to: Path = LIBRARY, extra: tuple[str, ...] = (), whole: bool = True) -> list[Path]:
    """Build the libraries that are not current, and return the paths of all that exist.

    Args:
        to: the kernels' library; the JPEG library gets the same folder.
        extra: more compiler arguments; with any, both are rebuilt.
        whole: build every instruction set, as for `build`.

    Raises:
        NoCompilerError: there is no compiler.
        subprocess.CalledProcessError: the compiler fails.
    """
    sets = INSTRUCTION_SETS.get(processor(), {}) if whole else ()
    is_kept = not extra and _is_current(to, HERE, sets), not extra and _is_current(codec_library(to), CODEC)
    for library, current in zip((to, codec_library(to)), is_kept, strict=True):
        if current:
            os.utime(library)  # newer than all sources, so that is_stale need not read them
    kernels = to if is_kept[0] else build(to, extra, whole)
    try:
        codec = codec_library(to) if is_kept[1] else build_codec(to, extra)
    except NoCompilerError:  # pip built the kernels with a compiler that it has removed
        codec = None
    return [path for path in (kernels, codec) if path]


def main() -> None:
    """Build what is not current, and print the paths."""
    try:
        file, *extra = sys.argv[1:] or [str(LIBRARY)]
        for library in filter(Path.exists, (LIBRARY, codec_library())):
            try:
                ctypes.CDLL(str(library))
            except OSError:  # built for another system
                library.unlink()
        libraries = update(LIBRARY if file == "--all" else Path(file), tuple(extra), len(sys.argv) > 1)
        sys.stdout.write("".join(f"{path}\n" for path in libraries))
    except NoCompilerError as error:
        sys.exit(f"kernels are not built, and everything runs without them: {error}")
    except subprocess.CalledProcessError as error:
        sys.exit(f"kernels are not built, and everything runs without them: {shlex.join(error.cmd)}\n{error.stderr}")


if __name__ == "__main__":
    main()
