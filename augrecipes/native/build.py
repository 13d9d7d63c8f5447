"""Builds the kernels of this folder: every C file once for each instruction set, linked into one library beside them.

Where libjpeg-turbo and its headers are found, a second library reads parts of JPEGs by it (the folder `codec`).

    python augrecipes/native/build.py [--all]
    python augrecipes/native/build.py LIBRARY [ARGUMENTS FOR THE COMPILER]

The first builds for this machine: `base`, and the best instruction set that it has; with `--all`, as in wheels and for
a LIBRARY, every one.

Needs a C compiler: the one that `CC` names, cc, gcc or clang, or else the package ziglang. Nothing of augrecipes is
imported, because it also runs while augrecipes is installed.
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
_SHARED_HEADERS = ("export.h", "layout.h", "layout_table.h")  # which the codec includes, too
# What each instruction set asks of compilers, by processor; a later one is preferred where the machine has it.
INSTRUCTION_SETS: dict[str, dict[str, tuple[str, ...]]] = {
    "x86_64": {"base": (), "v3": ("-march=x86-64-v3",), "v4": ("-march=x86-64-v4",)},
    "arm64": {"base": ()},  # NEON is part of it
}
# The same for ziglang, which writes them otherwise, and without a word compiles for the very processor it runs on.
_ZIG = {"base": ("-mcpu=baseline",), "v3": ("-mcpu=x86_64_v3",), "v4": ("-mcpu=x86_64_v4",)}
_PROCESSOR_NAMES = {"amd64": "x86_64", "aarch64": "arm64"}
# Every instruction set gives the same bits: nothing is contracted, and nothing reordered.
_FLAGS = (
    "-std=c11",
    "-O3",
    "-fPIC",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fvisibility=hidden",
)
# Two cursors of a JPEG are no vector: as one they are slower than one alone.
_SCALAR = "-fno-tree-slp-vectorize"
_SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
LIBRARY = HERE / "built" / f"kernels{_SUFFIX}"  # in a folder of its own: it is no module of Python


# A library whose entropy decoder does not fit into this libjpeg, or that breaks it, is built without it.
_SELF_TEST = "import ctypes, sys; sys.exit(not ctypes.CDLL(sys.argv[1]).ar_jpeg_self_test())"


class NoCompilerError(Exception):
    """There is nothing here that compiles C."""


def processor() -> str:
    """The processor that is built for, under one name: `x86_64` or `arm64`, where it is one of these."""
    machine = sysconfig.get_platform().rpartition("-")[2]  # of another machine where `_PYTHON_HOST_PLATFORM` names one
    machine = platform.machine().lower() if machine == "universal2" else machine  # of this Mac's two processors, one
    return _PROCESSOR_NAMES.get(machine, machine)


def _is_foreign() -> bool:
    """Whether it is built for another processor than this machine's."""
    return processor() != _PROCESSOR_NAMES.get(platform.machine().lower(), platform.machine().lower())


def source_files(folder: Path | None = None) -> list[Path]:
    """The files that are compiled."""
    return sorted((folder or HERE).glob("*.c"))


def input_files(folder: Path | None = None) -> list[Path]:
    """The files that a library is made of.

    Args:
        folder: of the sources; that of the kernels where none is named.
    """
    shared = (
        [HERE / name for name in (*_SHARED_HEADERS, "build.py")] if folder not in (None, HERE) else [HERE / "build.py"]
    )
    return [file for kind in ("*.c", "*.h", "*.def") for file in sorted((folder or HERE).glob(kind))] + shared


def fingerprint(folder: Path | None = None) -> str:
    """A hash of the sources and of how they are built, which is part of a library; `folder` as `input_files` has it."""
    digest = hashlib.sha256()
    for file in input_files(folder):
        digest.update(file.name.encode() + b"\0" + file.read_bytes().replace(b"\r\n", b"\n") + b"\0")
    return digest.hexdigest()[:16]


def is_stale(library: Path, folder: Path | None = None) -> bool:
    """Whether a checkout has a newer source than a library that is there, and one that it was not built from.

    As a rule nothing is read: no file is newer. Of an installed package nobody changes the sources.
    """
    if not (HERE.parents[1] / "pyproject.toml").exists():
        return False
    built = library.stat().st_mtime
    entries = (entry for each in {folder or HERE, HERE} for entry in [*os.scandir(each)])
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
    """Compile on all cores and link; an old library stays until the new one is whole.

    Args:
        to: the library.
        extra: more arguments for the compiler, such as `-fsanitize=address`.
        whole: for every instruction set; False: for `base`, and the best that this machine has.

    Raises:
        NoCompilerError: there is none.
        subprocess.CalledProcessError: the compiler fails; `stderr` says why.
    """
    command = [*compiler(), *_FLAGS, f'-DSOURCES="{fingerprint()}"', *extra]
    sets = INSTRUCTION_SETS.get(processor(), {"base": ()})
    if "ziglang" in command:
        sets = {isa: _ZIG[isa] for isa in sets}
    began = time.time()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:  # Windows keeps what is loaded
        if not whole and len(sets) > 1:
            probe = Path(name, f"machine{_SUFFIX}")
            _run([*command, "-DISA=base", "-shared", str(HERE / "machine.c"), "-o", str(probe)])
            best = f"v{ctypes.CDLL(str(probe)).ar_isa()}"
            sets = {isa: flags for isa, flags in sets.items() if isa in ("base", best)}

        def compiled(job: tuple[Path, str]) -> str:
            source, isa = job
            out = Path(name, f"{source.stem}-{isa}.o")
            _run([*command, *sets[isa], f"-DISA={isa}", "-c", str(source), "-o", str(out)])
            return str(out)

        jobs = [(source, isa) for source in source_files() for isa in sets if source.stem != "machine"]
        jobs.sort(key=lambda job: -job[0].stat().st_size)  # no core ends long after the others
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            objects = list(_report(pool.map(compiled, [*jobs, (HERE / "machine.c", "base")]), len(jobs) + 1))
        linked = Path(name, to.name)
        _run([*command, "-shared", *objects, "-o", str(linked)])
        _publish(linked, to, began)
    return to


def _report(compiled: Iterator[str], count: int) -> Iterator[str]:
    """Pass on what is compiled, and say on standard error how much: in one line of a terminal, else every 15 s."""
    terminal, every, said = sys.stderr.isatty(), float(os.environ.get("AUGRECIPES_TELL_EVERY", "15")), time.monotonic()
    for number, each in enumerate(compiled, 1):
        if terminal or time.monotonic() - said >= every:
            end, said = "\r" if terminal and number < count else "\n", time.monotonic()
            sys.stderr.write(f"compiling kernels: file {number} of {count}{end}")
            sys.stderr.flush()
        yield each


def _publish(linked: Path, to: Path, began: float) -> None:
    to.parent.mkdir(exist_ok=True)
    fresh = to.with_name(f"{to.name}.{os.getpid()}")
    shutil.copy(linked, fresh)  # a running program keeps the library that it has opened
    os.utime(fresh, (began, began))  # what is changed while it is compiled is newer
    fresh.replace(to)


def codec_library(kernels: Path = LIBRARY) -> Path:
    """The library that reads JPEGs, beside that of the kernels.

    >>> codec_library(Path("built", "kernels.so")).name
    'kernels-jpeg.so'
    """
    return kernels.with_name(f"{kernels.stem}-jpeg{kernels.suffix}")


def build_codec(kernels: Path = LIBRARY, extra: tuple[str, ...] = ()) -> Path | None:
    """Compile what needs libjpeg-turbo; None, and no library, where that or its headers are not found.

    Its own decoder of Huffman codes takes a place that libjpeg's headers do not tell of: where that is another one, as
    a self-test finds out, libjpeg decodes them.

    Args:
        kernels: the library that it is put beside.
        extra: more arguments for the compiler.

    Raises:
        NoCompilerError: there is none.
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
                    if not extra and not _is_foreign():  # a compiler's watchers are not loaded as others are, either
                        _run([sys.executable, "-c", _SELF_TEST, str(linked)])
                except subprocess.CalledProcessError:
                    continue
                _publish(linked, to, began)
                return to
    to.unlink(missing_ok=True)
    return None


def _libjpeg() -> Iterator[list[str]]:
    """Arguments that may find libjpeg: the static one that is named, or one in the environment, by pkg-config, ..."""
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
    """The tag of a wheel that has the library in it: any Python 3, this system."""
    system = sysconfig.get_platform()
    if system.endswith("universal2"):  # the kernels are of one processor; the first macOS that has both is 11
        system = f"macosx-11.0-{platform.machine()}"
    return f"py3-none-{system.replace('-', '_').replace('.', '_')}"


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True)


def _is_current(library: Path, folder: Path, sets: Iterable[str] = ()) -> bool:
    """Whether a library was built from these sources, for these instruction sets: it says so, in its bytes."""
    wanted = [fingerprint(folder), *(f"ar_sink_{isa}\0" for isa in sets)]
    return library.exists() and all(each.encode() in library.read_bytes() for each in wanted)


def update(to: Path = LIBRARY, extra: tuple[str, ...] = (), whole: bool = True) -> list[Path]:
    """Build what was not built from these sources yet; the libraries that are there then.

    Args:
        to: the library of the kernels; that of JPEGs is put beside it.
        extra: more arguments for the compiler: both are built anew.
        whole: as `build` has it.

    Raises:
        NoCompilerError: there is none.
        subprocess.CalledProcessError: the compiler fails.
    """
    sets = INSTRUCTION_SETS.get(processor(), {}) if whole else ()
    is_kept = not extra and _is_current(to, HERE, sets), not extra and _is_current(codec_library(to), CODEC)
    for library, current in zip((to, codec_library(to)), is_kept, strict=True):
        if current:
            os.utime(library)  # so that nobody has to read the sources to know
    kernels = to if is_kept[0] else build(to, extra, whole)
    try:
        codec = codec_library(to) if is_kept[1] else build_codec(to, extra)
    except NoCompilerError:  # the kernels were built by one that pip had, and put away again
        codec = None
    return [path for path in (kernels, codec) if path]


def main() -> None:
    """Build what is not there yet, and say where."""
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
