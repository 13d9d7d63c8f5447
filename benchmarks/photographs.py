"""W2 and W5: photographs as JPEGs in memory, ours and every peer."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from compare import METHOD, Goals, compare
from jpegs import QUALITY, as_file, jpegs
from options import parser, run
from peers import sides_of
from sides import Each, Side, at_once, in_batches, ours
from workloads import Photos

import augrecipes as ar

_METHOD = f"""\
{METHOD} Batches of 32. JPEGs of quality {QUALITY}, 4:2:0, baseline, in memory; drawn photographs of the demo, or those
of `--photos`, scaled. FFCV reads its own file of the same pictures, encoded alike; its turn is an epoch of 1,024."""
_LOOK_AT = 384  # samples: a window shows the sky or the ground, so that the means of few differ by chance


def compare_photos(
    script: str,
    doc: str,
    *,
    title: str,
    workload: type[Photos],
    recipe: str,
    size: tuple[int, int],
    out: int,
    optimize: Sequence[str],
    goals: Goals,
) -> None:
    """The whole of a script.

    Args:
        script: its file.
        doc: its docstring.
        title: of its section.
        workload: what peers are asked for.
        recipe: what ours runs.
        size: height and width of the photographs.
        out: pixels a side of a sample.
        levels: of `optimize`.
        goals: by side.
    """
    options = parser(doc)
    options.add_argument("--photos", type=Path, metavar="FOLDER", help="of photographs")
    options = options.parse_args()

    name = title.partition(":")[0]

    def measure() -> Iterator[str]:
        pool = jpegs(options.photos, *size)
        with tempfile.TemporaryDirectory() as scratch:
            work = workload(pool, ar.load(recipe), out, Path(scratch))
            mine = [Side("augrecipes", f"`{one}`", _ours(work, one)) for one in optimize]
            mine += [Side("augrecipes", f"`{one}`, a batch at once", _at_once(work, one)) for one in optimize]
            yield compare(
                f"{name}: {size[1]}×{size[0]} → {out}",
                mine,
                sides_of(work),
                rounds=3 if options.quick else 25,
                goals=goals,
                look_at=_LOOK_AT,
            )

    run(script, title, _METHOD, {name: measure}, options)


def _ours(work: Photos, optimize: str) -> Any:
    return in_batches(ours(work.recipe, optimize, Each(work.pool, as_file)), (3, work.out, work.out))


def _at_once(work: Photos, optimize: str) -> Any:
    return at_once(work.recipe, optimize, Each(work.pool, as_file), (3, work.out, work.out))
