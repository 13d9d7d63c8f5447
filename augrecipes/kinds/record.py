"""What is known of a kind of recipe."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a kind, in plain terms; rooms ask for these, never for the kind's name.

    Attributes:
        dataset: its class in `augrecipes` that reads files.
        unit: one picture of a bag, or all pictures of a sample that is no bag: what a row of a store holds.
        keys: of recipes and of steps, that recipes of other kinds do not have.
        annotated: a mask, boxes and keypoints may lie on its picture.
        scales: a sample is several pictures, named by `scales:`, that the steps act on together.
        tiles: a sample is many pictures that the steps act on one by one, each with draws of its own.
    """

    dataset: str
    unit: str
    keys: frozenset[str] = frozenset()
    annotated: bool = False
    scales: bool = False
    tiles: bool = False
