"""Defects of data: of files, records and samples, found by the rules of a recipe, collected and reported together."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from augrecipes.errors import DataError, Lines, as_lines, counted, harmless
from augrecipes.images.format import ImageHeader
from augrecipes.images.losses import find_loss
from augrecipes.images.pixels import PROFILE, foreign_profile
from augrecipes.images.reading import MaybeHeader
from augrecipes.ops import records, registry
from augrecipes.recipe.model import Inputs, Mode, Recipe, Step
from augrecipes.sources.files import MAX_PIXELS

Problem = tuple[int, str]  # line of a file, and its problem
Size = tuple[int, int]  # height, width
Least = Sequence[tuple[Size, str]]  # minimal sizes in common cells, and what requires each
_TURNED = 5  # EXIF orientations from here on exchange height and width
_MOST_LINES = 300

# Titles of the kinds of defects, in the order of a report.
KINDS: dict[str, str] = json.loads(Path(__file__).with_name("defects.json").read_text(encoding="utf-8"))


@dataclass(frozen=True, slots=True)
class Defect:
    """One defect of some files.

    Attributes:
        kind: a key of `KINDS`.
        files: paths of all the files concerned; none of their samples can be used.
        message: the defect; names the files.
    """

    kind: str
    files: tuple[str, ...]
    message: str


@dataclass(slots=True)
class Findings:
    """All defects of some data: a dataset raises them, a check reports them.

    Attributes:
        defects: the defects.
        notes: remarks on what is odd but no defect.
    """

    defects: list[Defect] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def rows(self, path: str, problems: Iterable[Problem]) -> None:
        """Add defects of the rows of a file; messages of line 0 name their place themselves."""
        texts = (f"{path}:{line}: {what}" if line else what for line, what in sorted(problems))
        self.defects += [Defect("row", (path,), text) for text in texts]

    def add_defects(self, files: tuple[str, ...], faults: Iterable[tuple[str, str]], place: str = "") -> bool:
        """Add defects of the sample of these files, from kinds and messages; return whether there are any."""
        defects = [Defect(kind, files, place + text) for kind, text in faults]
        self.defects += defects
        return bool(defects)

    def refuse(self) -> None:
        """Raise a DataError with all defects; return if there are none."""
        if len(self.defects) == 1:
            where, _, what = harmless(self.defects[0].message).partition(": ")
            raise DataError(what, where)
        if self.defects:
            lines = as_lines(defect.message for defect in self.defects)
            files = {defect.files for defect in self.defects}
            path = self.defects[0].files[0] if len(files) == 1 else None
            raise DataError(f"{len(self.defects):,} problems in the data:{lines}", path)


def report(defects: Sequence[Defect], *, fine: int, targets: Sequence[str], unit: str = "scene") -> Lines:
    """Counts, then a line for each defect, sorted by kind and file.

    Args:
        defects: the defects.
        fine: the number of samples without defects.
        targets: names of the targets that have files.
        unit: what a sample is: `image`, `scene` or `bag`.

    >>> print(report([Defect("missing", ("a.png",), "a.png: no lr")], fine=2, targets=("hr", "lr")))
    1 defect in the files of hr and lr; 2 scenes are fine
    no partner: 1
      a.png: no lr
    """
    left = f"{counted(fine, unit)} {'is' if fine == 1 else 'are'} fine"
    lines = [f"{counted(len(defects), 'defect')} in the files of {' and '.join(targets)}; {left}"]
    room = _MOST_LINES
    for kind, title in KINDS.items():
        if messages := sorted(harmless(defect.message) for defect in defects if defect.kind == kind):
            lines.append(f"{title}{' (width×height)' if kind in ('size', 'small', 'mask') else ''}: {len(messages)}")
            shown = messages[: max(room, 3)]  # at least three of every kind
            room -= len(shown)
            more = len(messages) - len(shown)
            lines += [f"  {message}" for message in [*shown, *([f"and {more:,} more"] if more else [])]]
    return Lines("\n".join(lines))


def size_text(size: Size) -> str:
    """A size as text, width first.

    >>> size_text((300, 451))
    '451×300'
    """
    return f"{size[1]}×{size[0]}"


def upright(header: ImageHeader, exif: str) -> Size:
    """(height, width) as the image is read."""
    size = (header.height, header.width)
    return size[::-1] if exif == "apply" and header.orientation >= _TURNED else size


def why_unreadable(header: MaybeHeader, *, max_pixels: int = MAX_PIXELS, **how: Any) -> str:
    """Why a file with this header cannot be read; empty where it can. `how` are arguments of `find_loss`."""
    if isinstance(header, str):
        return header
    pixels = header.width * header.height
    if pixels > max_pixels:
        return f"{pixels:,} pixels are more than the limit of {max_pixels:,}"
    return find_loss(header, **how)


def profile_notes(headers: Mapping[str, MaybeHeader]) -> dict[str, str]:
    """Notes on files with a colour profile that is not applied, by path."""
    named = {path: foreign_profile(header) for path, header in headers.items() if isinstance(header, ImageHeader)}
    return {path: f"has {PROFILE.format(name)} in the recipe" for path, name in named.items() if name}


def least_sizes(recipe: Recipe, mode: Mode, units: Mapping[str, int]) -> Least:
    """The minimal sizes, in common cells, that the recipe's inputs and first crop require; `units`: px per cell."""
    needs: list[tuple[Size, str]] = []
    if least := recipe.inputs.min_size:  # of the coarsest target
        coarsest = min(units.values())
        needs.append(((-(-least[0] // coarsest), -(-least[1] // coarsest)), "the recipe's inputs ask for"))
    if crop := _first_crop(recipe.section(mode) or (), units):
        needs.append(crop)
    return needs


def _first_crop(steps: Sequence[Step], units: Mapping[str, int]) -> tuple[Size, str] | None:
    """The minimal size for the first crop; None where another step comes first, or the crop pads."""
    for step in steps:
        if step.target and len(step.target) < len(units):
            continue  # the steps of one target leave its size alone
        if not records.op_record(step.name).cuts_sides:
            return None
        values = registry.effective(step)
        if values.get("pad_if_needed") or values["p"] < 1:
            return None
        at = units[step.at or min(units, key=lambda name: units[name])]
        return (-(-values["height"] // at), -(-values["width"] // at)), f"{step.site or step.name} needs"
    return None


def too_small(cells: Size, least: Least, units: Mapping[str, int]) -> str:
    """What requires more common cells than there are, and how many; empty where nothing does.

    >>> too_small((30, 40), [((32, 32), "RandomCrop#1 needs")], {"lr": 1, "hr": 4})
    'RandomCrop#1 needs 32×32 of lr and 128×128 of hr'
    """
    for (rows, columns), who in least:
        if cells[0] < rows or cells[1] < columns:
            sizes = {name: size_text((rows * unit, columns * unit)) for name, unit in units.items()}
            return f"{who} {' and '.join(f'{size} of {name}' if name else size for name, size in sizes.items())}"
    return ""


def point_problems(
    inputs: Inputs, size: Size, boxes: npt.NDArray[np.float32] | None, keypoints: npt.NDArray[np.float32] | None
) -> Iterator[tuple[str, str]]:
    """Kind and message of the boxes and keypoints that a recipe would refuse on an image of this size.

    >>> from augrecipes.recipe.model import Boxes, Keypoints
    >>> boxes = np.array([[0, 0, 9, 9], [5, 5, 30, 8]], np.float32)
    >>> list(point_problems(Inputs(boxes=Boxes(), keypoints=Keypoints()), (10, 20), boxes, boxes[:, 2:]))
    [('box', 'box 2, [5, 5, 30, 8]: it reaches outside'), ('keypoint', 'keypoint 2, [30, 8]: it lies outside')]
    """
    height, width = size
    points = []
    if boxes is not None and inputs.boxes is not None:
        with np.errstate(all="ignore"):
            corners = corners_of(boxes, inputs.boxes.format, height, width)
            empty = (corners[:, 2:] <= corners[:, :2]).any(axis=1)
            corners = np.clip(corners, 0, 1) if inputs.boxes.clip else corners
            inside = ((corners >= 0) & (corners <= 1) | np.isclose(corners, 0) | np.isclose(corners, 1)).all(axis=1)
        whys = np.where(empty, "it has no width, or no height", np.where(inside, "", "it reaches outside"))
        whys = np.where(np.isfinite(boxes).all(axis=1), whys, "it holds a number that is not finite")
        points.append(("box", boxes, whys))
    if keypoints is not None and inputs.keypoints is not None and inputs.keypoints.remove_invisible:
        x, y = keypoints[:, [1, 0] if inputs.keypoints.format == "yx" else [0, 1]].T
        inside = (x >= 0) & (x < width) & (y >= 0) & (y < height)
        points.append(("keypoint", keypoints, np.where(inside, "", "it lies outside")))
    for kind, rows, whys in points:
        for k in np.flatnonzero(whys != "").tolist():
            yield kind, f"{kind} {k + 1}, [{', '.join(f'{value:g}' for value in rows[k])}]: {whys[k]}"


def corners_of(boxes: npt.NDArray[np.float32], format: str, height: Any, width: Any) -> npt.NDArray[Any]:
    """Left, top, right and bottom as fractions of the image's size (or of one size per box)."""
    if format == "yolo":
        centre, size = boxes[:, :2], boxes[:, 2:]
        return np.hstack([centre - size / 2, centre + size / 2])
    corners = np.hstack([boxes[:, :2], boxes[:, :2] + boxes[:, 2:]]) if format == "coco" else boxes
    if format == "albumentations":
        return corners
    return np.asarray(corners / np.array([width, height, width, height], np.float32).T)
