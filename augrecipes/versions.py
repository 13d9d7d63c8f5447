"""What decides bits beside recipe and seed: versions of libraries, and what their kernels take of the processor.

OpenCV has other kernels for processors without AVX2, and others again without Intel's IPP, which round differently.
So the promise of equal bits holds on processors of one family: those of which `family` says the same.
"""

from __future__ import annotations

import logging
import os
import platform
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from typing import Any

import cv2
import numpy as np

from augrecipes.compat.guard import installed_version
from augrecipes.native.kernels import library

_log = logging.getLogger("augrecipes")
# Measured: with AVX-512 the bits are those of AVX2.
_DECIDE = {"AVX2", "NEON", "IPP"}
_warned: set[tuple[int, str]] = set()
_plugins: dict[str, str] = {}


def versions() -> dict[str, str]:
    """The versions of the libraries that decide pixels, and of the packages whose plugins do."""
    return {**_versions(), **_plugins}


def decides(package: str, version: str) -> None:
    """From here on this package takes part: a plugin of it has run."""
    _plugins[package] = version


def plugins() -> dict[str, str]:
    """The versions of the packages whose plugins have run."""
    return dict(_plugins)


@cache  # reading what is installed takes milliseconds, and every saved state says it
def _versions() -> dict[str, str]:
    found = {"albumentations": installed_version(), "numpy": np.__version__, "opencv": cv2.__version__}
    return {**found, "simplejpeg": version("simplejpeg")}


def features() -> str:
    """What OpenCV uses of this processor: `x86_64 SSE SSE2 SSE3 SSE4.1 SSE4.2 AVX FP16 AVX2 AVX512-SKX IPP`."""
    words = cv2.getCPUFeaturesLine().replace("*", "").split()  # a star: chosen at run time; "?": not there
    ipp = ["IPP"] if cv2.ipp.useIPP() else []
    return " ".join([platform.machine().lower(), *(word for word in words if not word.endswith("?")), *ipp])


def family(features: str) -> str:
    """What of `features` decides bits.

    >>> family("x86_64 SSE SSE2 SSE3 SSE4.1 SSE4.2 AVX FP16 AVX2 AVX512-SKX IPP")
    'x86_64 AVX2 IPP'
    """
    architecture, *words = features.split() or [""]
    architecture = {"amd64": "x86_64", "aarch64": "arm64"}.get(architecture, architecture)
    return " ".join([architecture, *(word for word in words if word in _DECIDE)])


def made_with() -> dict[str, str]:
    """Versions, `processor` and `kernels`, for records: without kernels all runs as with `optimize: none`."""
    return {**versions(), "processor": features(), "kernels": "none" if library() is None else "native"}


def differences(then: Mapping[str, Any]) -> list[str]:
    """What is otherwise here than `made_with` was, in words; what was not recorded is passed over."""
    now = made_with()
    then = {name: value for name, value in then.items() if isinstance(value, str)}  # records may be damaged
    found = [f"{name} {then[name]} (here {now[name]})" for name in versions() if then.get(name, now[name]) != now[name]]
    before, here = family(then.get("processor") or now["processor"]), family(now["processor"])
    return found if before == here else [*found, f"a processor of another family, {before} (here {here})"]


def warn_of_differences(then: Mapping[str, Any], what: str) -> None:
    """Say once that bits may be others than those of `what`, which was made with `then`."""
    if changes := differences(then):
        message = f"{what} {', '.join(changes)}: pixels may differ"
        if (os.getpid(), message) not in _warned:
            _warned.add((os.getpid(), message))
            _log.warning("%s", message)
