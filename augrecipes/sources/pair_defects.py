"""Defects: a record of what is wrong with files of pairs."""

from __future__ import annotations

from dataclasses import dataclass

# Kinds, in the order in which a report tells them.
KINDS = {
    "row": "rows and labels that cannot be used",
    "record": "annotations that cannot be used",
    "absent": "targets that the recipe requires",
    "bag": "bags that cannot be used",
    "ambiguous": "ambiguous names",
    "missing": "no partner",
    "unreadable": "files that cannot be read",
    "size": "sizes that do not fit the scales",
    "resized": "images of another size than their annotations are for",
    "mask": "masks that do not fit their images",
    "box": "boxes that do not fit their images",
    "keypoint": "keypoints that do not fit their images",
    "channels": "channels that differ within a pair",
    "small": "images smaller than the crop",
    "content": "images that do not show the same",
}


@dataclass(frozen=True, slots=True)
class Defect:
    """One thing that is wrong, and the files that it is about.

    Attributes:
        kind: a key of `KINDS`.
        files: paths of all the files concerned; none of their samples can be used.
        message: what is wrong, naming the files.
    """

    kind: str
    files: tuple[str, ...]
    message: str
