"""Record what decides bits besides recipe and seed: library versions, and the processor features that kernels use.

OpenCV has different kernels for processors without AVX2, and without Intel's IPP, which round differently. So the
promise of equal bits holds on processors of one family: those for which `family` returns the same.
"""

import os
import platform
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from typing import Any

import cv2
import numpy as np

from augrecipes.compat.guard import installed_version
from augrecipes.errors import logger
from augrecipes.native.kernels import library

# Measured: with AVX-512 the bits are those of AVX2.
_DECIDE = {"AVX2", "NEON", "IPP"}
_warned: set[tuple[int, str]] = set()
_plugins: dict[str, str] = {}


def versions() -> dict[str, str]:
    """Return the versions of the libraries that decide pixels, and of the packages whose plugins have run."""
    return {**_versions(), **_plugins}


def decides(package: str, version: str) -> None:
    """Record the version of a package whose plugin has run."""
    _plugins[package] = version


def plugins() -> dict[str, str]:
    """Return the versions of the packages whose plugins have run."""
    return dict(_plugins)


@cache  # reading the metadata takes milliseconds, and every saved state needs it
def _versions() -> dict[str, str]:
    core = {"albumentations": installed_version(), "numpy": np.__version__, "opencv": cv2.__version__}
    return {**core, "simplejpeg": version("simplejpeg")}


def features() -> str:
    """Return the processor features that OpenCV uses: `x86_64 SSE SSE2 SSE3 SSE4.1 AVX FP16 AVX2 AVX512-SKX IPP`."""
    words = cv2.getCPUFeaturesLine().replace("*", "").split()  # "*": chosen at run time; "?": not there
    ipp = ["IPP"] if cv2.ipp.useIPP() else []
    return " ".join([platform.machine().lower(), *(word for word in words if not word.endswith("?")), *ipp])


def family(features: str) -> str:
    """Return the part of `features` that decides bits.

    >>> family("x86_64 SSE SSE2 SSE3 SSE4.1 SSE4.2 AVX FP16 AVX2 AVX512-SKX IPP")
    'x86_64 AVX2 IPP'
    """
    architecture, *words = features.split() or [""]
    architecture = {"amd64": "x86_64", "aarch64": "arm64"}.get(architecture, architecture)
    return " ".join([architecture, *(word for word in words if word in _DECIDE)])


def environment() -> dict[str, str]:
    """Return versions, `processor` and `kernels`, for records; without kernels all runs as with `optimize: none`."""
    return {**versions(), "processor": features(), "kernels": "none" if library() is None else "native"}


def differences(then: Mapping[str, Any]) -> list[str]:
    """Describe how this environment differs from a recorded one; entries that were not recorded are skipped."""
    now = environment()
    then = {name: value for name, value in then.items() if isinstance(value, str)}  # records may be damaged
    diffs = [f"{name} {then[name]} (here {now[name]})" for name in versions() if then.get(name, now[name]) != now[name]]
    before, here = family(then.get("processor") or now["processor"]), family(now["processor"])
    return diffs if before == here else [*diffs, f"a processor of another family, {before} (here {here})"]


def warn_of_differences(then: Mapping[str, Any], what: str) -> None:
    """Warn once that pixels may differ from those of `what`, which was made in the environment `then`."""
    if changes := differences(then):
        message = f"{what} {', '.join(changes)}: pixels may differ"
        if (os.getpid(), message) not in _warned:
            _warned.add((os.getpid(), message))
            logger.warning("%s", message)
