"""What the machine was, and how much memory the process took."""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from augrecipes.compat.guard import version_of
from augrecipes.machine import cores
from augrecipes.native.described import described
from augrecipes.versions import features, plugins

_PACKAGES = ("augrecipes", "albumentations", "opencv-python-headless", "numpy", "torch", "simplejpeg")


@dataclass(frozen=True, slots=True)
class Machine:
    """What measurements were taken on.

    Attributes:
        date: UTC, ISO 8601.
        processor: its name.
        cores: that this process may use.
        load: of the last minute when it began, as processes that want a core; None where the system does not tell.
        system: the operating system.
        python: its version.
        packages: their versions.
        features: what OpenCV uses of the processor; pixels depend on it.
        kernels: which native kernels ran, if any.
    """

    date: str
    processor: str
    cores: int
    load: float | None
    system: str
    python: str
    packages: dict[str, str]
    features: str = ""
    kernels: str = ""

    def __str__(self) -> str:
        busy = "" if self.load is None else f", load {self.load:.1f}"
        return f"{self.processor}, {self.cores} cores{busy}, {self.system}, Python {self.python}"


def machine() -> Machine:
    """This one, now."""
    return Machine(
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        processor=_field("/proc/cpuinfo", "model name") or platform.processor() or platform.machine(),
        cores=cores(),
        load=os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        system=platform.system(),
        python=platform.python_version(),
        packages={**{name: found for name in _PACKAGES if (found := version_of(name))}, **plugins()},
        features=features(),
        kernels=described(),
    )


def forget_peak() -> None:
    """From here on `peak_mib` counts, where Linux lets that be asked for: it needs no rights."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def peak_mib() -> float:
    """The most memory that this process held since `forget_peak`, MiB; elsewhere than on Linux, that it ever held."""
    if peak := _field("/proc/self/status", "VmHWM"):
        return int(peak.split()[0]) / 1024
    import resource  # Unix only

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if platform.system() == "Darwin" else 1024)


def _field(file: str, name: str) -> str:
    """A value of one of Linux's tables about itself; empty elsewhere."""
    try:
        lines = Path(file).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(name)), "")
