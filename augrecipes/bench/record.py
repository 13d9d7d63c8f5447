"""The record of a comparison, `bench.json`: everything that a report, or a later run, needs.

`schema_version` is 1. Keys are the fields of the classes below; times are milliseconds per sample unless a field says
otherwise; ratios are quotients of times, so more than 1 is slower. Later versions add and drop keys, and change the
number only if a key that `--baseline` reads changes its meaning.
"""

import json
import os
import platform
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from augrecipes.bench.effects import Ablated, Effects
from augrecipes.bench.fidelity import FidelityVerdict
from augrecipes.bench.stages import Stage
from augrecipes.bench.sweep import Sweep
from augrecipes.bench.timing import CONFIDENCE, Gaps, Ratio
from augrecipes.bench.training import Training
from augrecipes.compat.guard import version_of
from augrecipes.errors import BenchError, counted
from augrecipes.machine import cores, system_field
from augrecipes.native.kernels import described
from augrecipes.paths import write_file
from augrecipes.report import Displayed, to_plain
from augrecipes.versions import features, plugins

SCHEMA_VERSION = 1
_PACKAGES = ("augrecipes", "albumentations", "opencv-python-headless", "numpy", "torch", "simplejpeg")


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine and software of a measurement.

    Attributes:
        date: UTC, ISO 8601.
        processor: name of the processor.
        cores: number of cores that this process may use.
        load: the system's load average of the last minute at the start; None if the system has none.
        system: the operating system.
        python: version of Python.
        packages: versions of packages.
        features: processor features that OpenCV uses; pixels depend on them.
        kernels: the native kernels that ran, if any.
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


@dataclass(frozen=True, slots=True)
class SideRecord:
    """The measurements of a recipe at a level.

    Attributes:
        recipe: its name in `recipes`.
        level: `none`, `exact`, `fast`, or `stock`.
        ms: wall time per sample, read in this process: for each batch the median round, summed.
        mad: median absolute deviation of the rounds' ms per sample.
        cpu_ms: CPU time per sample; the rest of `ms` is waiting.
        samples_per_second: the throughput that `ms` gives.
        seconds: seconds of each batch, by round.
        gaps: batch latency in this process.
        peak_mib: peak resident memory of the process during a pass, MiB.
        against_stock: wall time over that of stock, if stock was measured in the same run.
        cpu_against_stock: CPU time over that of stock.
        stages: the time of each stage, in order; empty for stock.
        transfer: ms per sample from a worker process to the consumer; None for stock.
        bottleneck: what limits throughput; empty for stock.
    """

    recipe: str
    level: str
    ms: float
    mad: float
    cpu_ms: float
    samples_per_second: float
    seconds: tuple[tuple[float, ...], ...]
    gaps: Gaps
    peak_mib: float
    against_stock: Ratio | None = None
    cpu_against_stock: Ratio | None = None
    stages: tuple[Stage, ...] = ()
    transfer: float | None = None
    bottleneck: str = ""

    @property
    def name(self) -> str:
        """Recipe and level."""
        return f"{self.recipe} · {self.level}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The comparison of two sides.

    Attributes:
        one: name of a side.
        other: name of the other.
        ratio: wall time of `one` over that of `other`.
        differs: whether the difference is statistically significant.
        text: for people.
    """

    one: str
    other: str
    ratio: Ratio
    differs: bool
    text: str


@dataclass(frozen=True, slots=True)
class RecipeRecord:
    """A compared recipe.

    Attributes:
        name: the name that reports show.
        file: the file that it was read from.
        digest: hash of what it does.
        text: the recipe as YAML, variants resolved.
        baked: labels of the steps that a packed store has applied already; empty for other data.
        yardstick: the recipe that stock ran, or would run, as YAML: only steps that albumentations has.
        not_in_stock: labels of the steps that the yardstick lacks.
        plans: the output of `augrecipes explain --json` by level: steps, rules, plan, what stayed and why; for a
            packed store, of the remaining steps.
        effects: what its steps do to the images; None if not requested.
        ablations: the recipe without each of its steps in turn; empty if not requested.
    """

    name: str
    file: str
    digest: str
    text: str
    baked: tuple[str, ...]
    yardstick: str
    not_in_stock: tuple[str, ...]
    plans: Mapping[str, Any]
    effects: Effects | None = None
    ablations: tuple[Ablated, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench(Displayed):
    """A comparison.

    Attributes:
        schema_version: 1.
        machine: the machine and its software, and the date.
        kind: the kind of the recipes.
        data: the data that were read.
        mode: the section of the recipes, `train` or `eval`.
        seed: seed of the random parameters.
        samples: samples per pass.
        batch_size: samples per batch.
        rounds: passes of each side, interleaved.
        confidence: level of the intervals, 0 to 1.
        recipes: the recipes, in the order of the request.
        sides: each recipe at each level, and stock.
        verdicts: comparisons of two sides.
        sweep: epoch times by backend and number of workers; None if not requested.
        training: the share of a training step spent waiting, by side; empty if not requested.
        busy: a warning that samples waited for a core because the machine was busy; else empty.
        fidelity_verdicts: comparisons of two recipes of pairs by how close bicubic upscaling comes to high resolution.
    """

    schema_version: int = SCHEMA_VERSION
    machine: Machine
    kind: str
    data: Any
    mode: str
    seed: int
    samples: int
    batch_size: int
    rounds: int
    confidence: float = CONFIDENCE
    recipes: tuple[RecipeRecord, ...]
    sides: tuple[SideRecord, ...]
    verdicts: tuple[Verdict, ...]
    sweep: Sweep | None = None
    training: tuple[Training, ...] = ()
    busy: str = ""
    fidelity_verdicts: tuple[FidelityVerdict, ...] = ()

    def __repr__(self) -> str:
        sides = ", ".join(f"{side.name} {side.ms:.3g} ms" for side in self.sides)
        return f"<Bench of {counted(self.samples, 'sample')}, {counted(self.rounds, 'round')}: {sides}>"

    def to_json(self) -> dict[str, Any]:
        """Return plain dicts, lists, strings and numbers; numbers that are not finite become null."""
        return to_plain(self)

    def side(self, recipe: str, level: str) -> SideRecord | None:
        """Return the side of a recipe at a level, or None."""
        return next((side for side in self.sides if (side.recipe, side.level) == (recipe, level)), None)


def write(record: Any, path: Path) -> None:
    """Write a record as JSON, such as `bench.json`, atomically.

    Raises:
        OSError: the file cannot be written.
    """
    text = json.dumps(record.to_json(), indent=1, ensure_ascii=False) + "\n"
    # File names may contain bytes that are not UTF-8 (surrogate escapes); JSON can escape those.
    write_file(path, text.encode("utf-8", "backslashreplace"))


def read(path: Path) -> dict[str, Any]:
    """Read a `bench.json`.

    Raises:
        BenchError: the file cannot be read, is not a record of a comparison, or has another schema version.
    """
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BenchError(f"{path}: {error.strerror or error}; write one with: augrecipes bench … --json") from None
    except (ValueError, RecursionError) as error:  # not UTF-8, not JSON, or nested too deeply
        raise BenchError(f"{path}: not JSON ({error}); write a record with: augrecipes bench … --json") from None
    version = report.get("schema_version") if isinstance(report, dict) else None
    if version != SCHEMA_VERSION:
        what = "it is not a record of `augrecipes bench`" if version is None else f"its schema_version is {version!r}"
        raise BenchError(f"{path}: {what}; this augrecipes reads version {SCHEMA_VERSION}")
    return dict(report)


def machine() -> Machine:
    """Describe this machine as it is now."""
    return Machine(
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        processor=system_field("/proc/cpuinfo", "model name") or platform.processor() or platform.machine(),
        cores=cores(),
        load=os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        system=platform.system(),
        python=platform.python_version(),
        packages={**{name: version for name in _PACKAGES if (version := version_of(name))}, **plugins()},
        features=features(),
        kernels=described(),
    )


def peak_mib(work: Callable[[], object]) -> float:
    """Return the peak resident memory of this process during some work, MiB; outside Linux, since the process started.

    On Linux a process may reset its own peak without privileges.
    """
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    work()
    if peak := system_field("/proc/self/status", "VmHWM"):
        return int(peak.split()[0]) / 1024
    import resource  # Unix only

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if platform.system() == "Darwin" else 1024)
