"""Tests whether simple classifiers tell classes by colours, and whether classes are mirror images of each other."""

from __future__ import annotations

from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.ops.dihedral import D4
from augrecipes.preview.cells import Cell, CellGroup, SheetRow
from augrecipes.preview.display import RgbImage
from augrecipes.verify.safety import LabelFinding, ShareEstimate, share

MOVES = {
    "h": "flipped left to right", "v": "flipped top to bottom", "t": "transposed", "r180": "turned by half",
    "r90": "turned a quarter left", "r270": "turned a quarter right", "hvt": "transposed and turned by half",
}  # fmt: skip
_SIDE, _BINS, _PIXELS = 16, 4, 4096  # px of a thumbnail; histogram bins per channel; pixels that a histogram counts
_FOLDS, _RIDGE = 5, 0.05  # of cross-validation; L2 penalty of the regression
Floats = NDArray[np.float64]


class Thing(NamedTuple):
    """An image or a box that has a class.

    Attributes:
        label: the class.
        group: its image, bag or patient: things of one group are never neighbours, and lie in one fold.
        picture: its source pixels, reduced.
        colours: colour histogram of its source pixels.
        draws: for each draw, histograms of the source pixels that it shows, and of the same pixels after the steps.
    """

    label: str
    group: Any
    picture: RgbImage
    colours: Floats
    draws: list[tuple[Floats, Floats]]


def colours_of(pixels: NDArray[np.uint8]) -> Floats:
    """The square root of the colour histogram of pixels, 4×4×4 bins with linear interpolation; NaN for no pixels.

    >>> float(colours_of(np.full((9, 3), 255, np.uint8))[-1])
    1.0
    """
    sampled = pixels.reshape(-1, 3)[:: 1 + pixels.size // (3 * _PIXELS)] * ((_BINS - 1) / 255)
    red, green, blue = np.maximum(0, 1 - np.abs(sampled.T[..., None] - np.arange(_BINS)))
    pairs = (red[:, :, None] * green[:, None]).reshape(-1, _BINS**2)
    cells = (pairs.T @ blue).ravel()
    return np.asarray(np.sqrt(cells / (len(sampled) or np.nan)))


def thumbnail(image: RgbImage) -> Floats:
    """An image as 16×16 grey values with mean 0 and norm 1; all 0 for a uniform image."""
    small: Floats = cv2.resize(image, (_SIDE, _SIDE), interpolation=cv2.INTER_AREA).mean(axis=2)
    small -= small.mean()
    return np.asarray(small / max(float(np.linalg.norm(small)), 1e-9))


class ClassProbe:
    """Classifiers of things of at least two classes."""

    def __init__(self, things: list[Thing]) -> None:
        self.things, self.thumbnails = things, np.stack([thumbnail(thing.picture) for thing in things])
        self.names, self.labels = np.unique([thing.label for thing in things], return_inverse=True)
        self.groups = np.unique([thing.group for thing in things], return_inverse=True)[1]

    def neighbours(self, move: str) -> NDArray[np.int64]:
        """For each thing, moved, the number of the most similar thing of another group."""
        moved = np.stack([D4[move].view(image) for image in self.thumbnails])
        likeness = np.tensordot(moved, self.thumbnails, ([1, 2], [1, 2]))
        likeness[self.groups[:, None] == self.groups] = -np.inf
        return likeness.argmax(axis=1)

    def mirrors(self, move: str, draws: ShareEstimate) -> tuple[list[LabelFinding], list[SheetRow]]:
        """Find how many things stay nearest to their own class when moved, and which classes come near another."""
        near = {"as read": self.neighbours("e"), "moved": self.neighbours(move)}
        moved, own = self.labels[near["moved"]], {name: (self.labels[k] == self.labels) for name, k in near.items()}
        figures = {name: share(same.mean(), len(same)) for name, same in own.items()}
        findings, rows = [LabelFinding("mirrors", MOVES[move], {"draws": draws, **figures})], []
        for a, b in np.unique(np.stack([self.labels, moved], 1)[~own["moved"]], axis=0):
            members = np.flatnonzero(self.labels == a)
            figures = {name: share((self.labels[k[members]] == b).mean(), len(members)) for name, k in near.items()}
            if figures["moved"].low > figures["as read"].high:  # overlapping intervals are no evidence
                findings.append(LabelFinding("mirrors", MOVES[move], figures, str(self.names[a]), str(self.names[b])))
                k = members[np.argmax(moved[members] == b)]
                image, other = (self.things[n].picture for n in (k, near["moved"][k]))
                images = image, np.ascontiguousarray(D4[move].view(image)), other
                words = f"{self.names[a]}, {MOVES[move]}, and its nearest: {self.names[b]}"
                rows.append(SheetRow([CellGroup([*map(Cell, images)], words)]))
        return findings, rows

    def colours(self, seed: int) -> LabelFinding:
        """Measure by cross-validation how well ridge regression on colours tells the classes, before and after."""
        folds = (np.random.default_rng(seed).permutation(self.groups.max() + 1) % _FOLDS)[self.groups]
        read = np.array([[thing.colours] for thing in self.things])
        shown, drawn = np.moveaxis(np.array([thing.draws for thing in self.things]), 2, 0)
        truth, weights = np.eye(len(self.names))[self.labels], []
        for fold in range(_FOLDS):
            x, y = read[folds != fold, 0], truth[folds != fold]
            weights.append(np.linalg.solve(x.T @ x + _RIDGE * np.eye(x.shape[1]), x.T @ y))

        def hits(colours: Floats) -> ShareEstimate:  # things × draws × bins
            scores = np.einsum("ndb,nbc->ndc", colours, np.array(weights)[folds])
            right, valid = scores.argmax(axis=2) == self.labels[:, None], ~np.isnan(scores[..., 0])
            return share((right & valid).sum() / max(valid.sum(), 1), max(int(valid.any(axis=1).sum()), 1))

        chance = share(truth.mean(axis=0).max(), len(truth))
        figures = {"chance": chance, "as read": hits(read), "shown": hits(shown), "drawn": hits(drawn)}
        return LabelFinding("colours", "told by colours", figures)
