"""What the machine was, and how much memory the process took."""

from __future__ import annotations

import os
import platform
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
        processor=_processor(),
        cores=cores(),
        load=os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        system=platform.system(),
        python=platform.python_version(),
        packages={**{name: found for name in _PACKAGES if (found := version_of(name))}, **plugins()},
        features=features(),
        kernels=described(),
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


class Peak:
    """The most memory that this process held since `Peak()`, where Linux lets it be asked for.

    Elsewhere the most that it ever held: `since_start` says which.
    """

    def __init__(self) -> None:
        self.since_start = True
        try:
            Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # resets the high-water mark; no root
            self.since_start = _status("VmHWM") is None
        except OSError:
            pass

    def mib(self) -> float:
        """MiB, resident."""
        found = None if self.since_start else _status("VmHWM")
        if found is not None:
            return found / 1024
        import resource  # Unix only

        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most / 2**20 if platform.system() == "Darwin" else most / 1024


def _status(name: str) -> int | None:
    """A figure of /proc/self/status, kB."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) for line in lines if line.startswith(f"{name}:")), None)
