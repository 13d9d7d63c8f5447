"""The page docs/OPS.md, made of the records of classes: `python tests/ops_page.py` writes it."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from augrecipes.ops.record import OpRecord
from augrecipes.ops.records import op_record, record_names

PAGE = Path(__file__).parent.parent / "docs" / "OPS.md"
_HEAD = """\
# Which steps run natively

Made from what is known of each class (its record in `augrecipes/ops/families/`) by
`tests/ops_page.py`; a test holds it to them.

- **native**: random parameters and pixels are C, without Python between steps.
- **host-drawn**: albumentations draws the parameters, because boxes or the stains of a bag decide them; the
  pixels are C.
- **opaque**: albumentations runs it. Where it acts the sample leaves the native side, and comes back behind it; where
  it does not act it costs nothing.

A native class is opaque, too, with other arguments than its row names, and where a probe at its first use finds that
the installed OpenCV or numpy makes other bits. Samples run natively in `exact` and `fast`, where the kernels are
built, on uint8 images of up to four channels; otherwise every step is a call of its class. `augrecipes explain
RECIPE` says what a recipe does.

Masks, boxes and keypoints **move with the pixels**, **stay** as they are beside a step that changes values, or
**change in place** (masks where `fill_mask` says so; what a hole covers is dropped or cut). In `exact` every step keeps
the bits of `none`. What `fast` may change: **resampling**: pixels are resampled once, at the same places (`GEOMETRY`);
**levels**: colours differ by some levels (`LEVELS`); **noise** has other numbers, distributed alike (`DISTRIBUTION`);
see [the optimiser](OPTIMISER.md). [Every argument](STEPS.md) of our own steps is on a page, and `augrecipes step NAME`
prints those of any class.
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
        return f"draws by what is in the {' and the '.join(sorted(record.draws_from))}"
    if record.changes_dtype:
        return "its images are floats"
    if record.fast:
        return "it runs in albumentations, with functions of ours for what is slow there"
    return "no faster kernel for it exists here"


def _both(record: OpRecord) -> tuple[str, str]:
    """What becomes of masks and points, and what `fast` may change."""
    return record.annotation_effect, record.fast_changes or "nothing"


def _name(record: OpRecord) -> str:
    return f"`{record.name}`"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    for cells in (heads, ["---"] * len(heads), *rows):
        yield f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
