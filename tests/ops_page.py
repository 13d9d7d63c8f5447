"""The page docs/OPS.md, made of the records of classes: `python tests/ops_page.py` writes it."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from augrecipes.ops.record import OpRecord
from augrecipes.ops.records import op_record, record_names

PAGE = Path(__file__).parent.parent / "docs" / "OPS.md"
_HEAD = """\
# Which steps run natively

This page lists every class of steps, how it runs, and what `fast` may change. `tests/ops_page.py` writes it from the
record of each class in `augrecipes/ops/families/`, and a test compares the two.

- **native**: C code draws the random parameters and computes the pixels, without Python between steps.
- **host-drawn**: Python draws the parameters, because they depend on boxes or on the stains of a bag; C code
  computes the pixels.
- **opaque**: albumentations runs the step. If it acts on a sample, the native code stops before it and continues after
  it; if it does not act, it costs nothing.

A native class is opaque, too, if its arguments are not those that its row names, or if a probe at its first use finds
that the installed OpenCV or numpy gives other bits. Samples run natively in `exact` and `fast`, if the kernels are
built, on uint8 images of up to four channels; otherwise every step is a call of its class. `augrecipes explain
RECIPE` says how a recipe runs.

Masks, boxes and keypoints **move with the pixels**, **stay** unchanged if a step changes only values, or **change in
place** (masks if `fill_mask` is given; boxes and keypoints that a hole covers are dropped or cut). In `exact`, every
step keeps the bits of `none`. `fast` may change three things: **resampling**: pixels are resampled once, at the same
places (`GEOMETRY`); **levels**: colours differ by some levels (`LEVELS`); **noise**: other random numbers of the same
distribution (`DISTRIBUTION`); see [the optimiser](OPTIMISER.md). [STEPS.md](STEPS.md) lists every argument of our own
steps, and `augrecipes step NAME` prints the arguments of any class.
"""


def page() -> str:
    """The whole page."""
    records = [op_record(name) for name in record_names()]
    native = [[_name(one), one.runs, one.native_when or "any", *_both(one)] for one in records if one.runs != "opaque"]
    opaque = [[_name(one), why(one), *_both(one)] for one in records if one.runs == "opaque"]
    parts = (
        _HEAD,
        f"## Native and host-drawn: {len(native)} classes\n",
        *_table(("class", "runs", "with", "masks, boxes, keypoints", "`fast` may change"), native),
        f"\n## Opaque: {len(opaque)} classes\n",
        *_table(("class", "because", "masks, boxes, keypoints", "`fast` may change"), opaque),
    )
    return "\n".join(parts) + "\n"


def why(record: OpRecord) -> str:
    """Why a class is opaque."""
    if record.draws_from:
        return f"its draws depend on the {' and the '.join(sorted(record.draws_from))}"
    if record.changes_dtype:
        return "it returns float images"
    if record.fast:
        return "it runs in albumentations, with faster functions for its slow parts"
    return "there is no kernel for it"


def _both(record: OpRecord) -> tuple[str, str]:
    """What happens to masks and points, and what `fast` may change."""
    return record.annotation_effect, record.fast_changes or "nothing"


def _name(record: OpRecord) -> str:
    return f"`{record.name}`"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    for cells in (heads, ["---"] * len(heads), *rows):
        yield f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
