"""Examine this machine: each fact with the cost of a missing part, and the command that mends it.

The facts may go into a bug report: none names a folder, a host or a user. Nothing is raised: a library that cannot be
imported is a fact as well, so everything that needs a library is imported late.
"""

import ctypes
import os
import platform
import re
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module

from augrecipes import cache
from augrecipes.compat.guard import VERSION, albumentations, version_of
from augrecipes.errors import AugrecipesError, counted
from augrecipes.machine import cores, memory_limit, system_field
from augrecipes.redaction import redact
from augrecipes.report import quiet

# Distributions that augrecipes needs, and the module whose import tests each.
_LIBRARIES = {
    "albucore": "albucore", "numpy": "numpy", "torch": "augrecipes.compat.torch", "pydantic": "pydantic",
    "PyYAML": "yaml", "simplejpeg": "simplejpeg", "pillow": "PIL.Image", "rich": "rich.console", "Jinja2": "jinja2",
}  # fmt: skip
# Optional extras: the distributions of each, and what does not work without them.
EXTRAS = {
    "isal": ("isal", "PNG files are inflated by zlib, which takes more than twice as long"),
    "lossless": ("zstandard", "no stores of `augrecipes pack --format lossless`"),
    "studio": ("starlette uvicorn", "no `augrecipes studio`"),
    "slides": ("openslide-python openslide-bin tifffile", "no whole slides, as ar.SlideBags reads them"),
    "remote": ("fsspec s3fs", "no data at s3://"),
    "ray": ("ray", "no `augrecipes pack --engine ray`"),
    "hdf5": ("h5py", "no images in HDF5 files"),
    "search": ("optuna", "no search over recipes, as docs/TRIALS.md shows one"),
}
_OPENCVS = "opencv-python opencv-python-headless opencv-contrib-python opencv-contrib-python-headless"
_LEAST_SHARED = 512 << 20  # bytes; room for a few batches of some worker processes
_NEEDED, _INSTALL = "augrecipes does not run without it", "pip install --force-reinstall"
_BUILD = "python -m augrecipes.native.build"
_FOLDERS = re.compile(r"(?:\b[A-Za-z]:)?[/\\](?:[^\s/\\:'\"]+[/\\])+")


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact about this machine.

    Attributes:
        name: the part that was examined.
        state: its state, in a few words.
        level: `ok`; `missing`: the rest works without it; `broken`: augrecipes does not work as it should.
        cost: what does not work, or works slower, where the part is missing or broken; else empty.
        cure: the commands that mend it, one per line; else empty.
    """

    name: str
    state: str
    level: str = "ok"
    cost: str = ""
    cure: str = ""


def version_line() -> str:
    """Return the version and the native code in use: `augrecipes 0.1.0 (native AVX2, libjpeg-turbo 2.1.5)`."""
    from augrecipes import __version__
    from augrecipes.native.kernels import described

    return f"augrecipes {__version__} ({described()})"


def facts() -> list[Fact]:
    """Examine everything; never raises."""
    with quiet(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [*_machine(), *_libraries(), *_native(), *_extras(), *_surroundings()]


def _fact(name: str, look: Callable[[], str], cost: str, cure: str, level: str = "missing") -> Fact:
    """Return the fact that `look` finds; an exception's text becomes the state, at `level`."""
    try:
        return Fact(name, look())
    except Exception as error:  # whatever a broken library raises
        text = f"{error}" if isinstance(error, AugrecipesError) else f"{type(error).__name__}: {error}"
        return Fact(name, _without_folders(text), level, cost, cure)


def _without_folders(text: str) -> str:
    """`text` with the names of files alone, and without secrets.

    >>> _without_folders("/home/ann/built/kernels.so: version `GLIBC_2.38' not found")
    "kernels.so: version `GLIBC_2.38' not found"
    """
    home = os.path.expanduser("~")  # noqa: PTH111  which never raises
    return _FOLDERS.sub("", redact(text.replace(home, "/~") if len(home) > 1 else text))


def _machine() -> Iterator[Fact]:
    yield _fact("augrecipes", version_line, "nothing runs: a library below is broken", "pip check", "broken")
    yield Fact("Python", f"{platform.python_implementation()} {platform.python_version()}")
    yield Fact("system", platform.platform())
    model = system_field("/proc/cpuinfo", "model name") or platform.processor() or platform.machine()
    yield Fact("processor", f"{model}; {cores()} of {os.cpu_count()} cores")
    yield Fact("memory", f"{system_field('/proc/meminfo', 'MemTotal') or 'unknown'}; {memory_limit()}")


def _libraries() -> Iterator[Fact]:
    cure = f"{_INSTALL} albumentations=={VERSION}"
    yield _fact("albumentations", lambda: albumentations().__version__, _NEEDED, cure, "broken")
    for name, module in _LIBRARIES.items():
        yield _fact(name, partial(_import_version, module, name), _NEEDED, f"{_INSTALL} {name}", "broken")
    packages = {name: f"{name} {version_of(name)}" for name in _OPENCVS.split() if version_of(name)}
    cost = f"{_NEEDED}; packages of it write the same files, of which the last one wins"
    cure = f"pip uninstall --yes {' '.join(packages)}\npip install opencv-python-headless"
    yield _fact("OpenCV", partial(_opencv, [*packages.values()]), cost, cure, "broken")


def _import_version(module: str, distribution: str) -> str:
    import_module(module)
    return version_of(distribution) or "of no package of pip"


def _opencv(packages: list[str]) -> str:
    from augrecipes.versions import features, versions

    if len(packages) > 1:
        raise AugrecipesError(f"{' and '.join(packages)} are installed beside each other")
    return f"{versions()['opencv']}, {[*packages, 'of no package of pip'][0]}, {features()}"


def _native() -> Iterator[Fact]:
    slow = "recipes run as with optimize: none, at a third of the speed"
    yield _fact("kernels", _kernels, slow, f"{_BUILD} --all", "broken")
    whole = "of a JPEG everything is decoded, where a crop needs a part"
    yield _fact("libjpeg", _libjpeg, whole, f"apt install libjpeg-dev\n{_BUILD}")


def _kernels() -> str:
    from augrecipes.native import kernels

    if os.environ.get(kernels.SWITCH) == "0":
        return f"turned off by {kernels.SWITCH}=0"
    if not kernels.where().exists():
        raise AugrecipesError("not built")
    loaded = kernels.load(os.environ.get(kernels.SWITCH, ""))
    return f"{loaded.isa}; this processor has v{loaded.handle.ar_isa()}".replace("v0", "base")


def _libjpeg() -> str:
    from augrecipes.native import build, kernels

    if not (path := build.codec_library(kernels.where())).exists():
        raise AugrecipesError("its headers were not there when the kernels were built")
    return kernels.opened(ctypes.CDLL(str(path))).version


def _extras() -> Iterator[Fact]:
    for name, (packages, cost) in EXTRAS.items():
        versions = {package: version_of(package) for package in packages.split()}
        gaps = " ".join(package for package, version in versions.items() if version is None)
        state = ", ".join(f"{package} {version or 'is not installed'}" for package, version in versions.items())
        yield Fact(name, state, "missing", cost, f"pip install {gaps}") if gaps else Fact(name, state)


def _surroundings() -> Iterator[Fact]:
    yield _fact("cache", _cache, "what runs find out is found out again", f"export {cache.CACHE}=FOLDER")
    cost = "readers that are processes fill it, and end; threads need none"
    yield _fact("shared memory", _shared_memory, cost, "docker run --shm-size=2g")
    names = [name for name in sorted(os.environ) if re.match(r"AUGRECIPES_|OPENCV_|\w+_NUM_THREADS$", name)]
    values = [f"{name}={value if (value := os.environ[name]).isalnum() else '…'}" for name in names]
    yield Fact("variables", " ".join(values) or "none of threads, of OpenCV or of augrecipes")


def _cache() -> str:
    (folder := cache.cache_folder()).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder):
        sizes = [file.size for each in cache.CACHES for file in each.files()]
    return f"writable, {counted(len(sizes), 'file')}, {sum(sizes):,} bytes"


def _shared_memory() -> str:
    size = shutil.disk_usage("/dev/shm").total if os.path.isdir("/dev/shm") else None  # noqa: PTH112
    if size is not None and size < _LEAST_SHARED:
        raise AugrecipesError(f"{size:,} bytes")
    return "no /dev/shm here" if size is None else f"{size:,} bytes"
