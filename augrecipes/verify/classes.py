"""Whether classes differ in colours, and whether they are mirror images of each other, as plain classifiers see it."""

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
_SIDE, _BINS, _PIXELS = 16, 4, 4096  # of thumbnails; a channel; that a histogram counts
_FOLDS, _RIDGE = 5, 0.05
Floats = NDArray[np.float64]


class Thing(NamedTuple):
    """An image with a class, or a box with one.

    Attributes:
        label: its class.
        group: what it belongs to, such as its bag: things of one are no neighbours, and lie in one fold.
        picture: as it was read, but small.
        colours: as it was read.
        draws: the colours of the pixels that each draw shows of it, and of these after the steps.
    """

    label: str
    group: Any
    picture: RgbImage
    colours: Floats
    draws: list[tuple[Floats, Floats]]


def colours_of(pixels: NDArray[np.uint8]) -> Floats:
    """The square root of the histogram of pixels in 4×4×4 bins, one between two in both; NaN of no pixels.

    >>> float(colours_of(np.full((9, 3), 255, np.uint8))[-1])
    1.0
    """
    some = pixels.reshape(-1, 3)[:: 1 + pixels.size // (3 * _PIXELS)] * ((_BINS - 1) / 255)
    red, green, blue = np.maximum(0, 1 - np.abs(some.T[..., None] - np.arange(_BINS)))
    cells = np.einsum("ni,nj,nk->ijk", red, green, blue, optimize=True).ravel()
    return np.asarray(np.sqrt(cells / (len(some) or np.nan)))


def thumbnail(image: RgbImage) -> Floats:
    """An image as 16×16 greys of mean 0 and norm 1; all 0 where it is of one grey."""
    small: Floats = cv2.resize(image, (_SIDE, _SIDE), interpolation=cv2.INTER_AREA).mean(axis=2)
    small -= small.mean()
    return np.asarray(small / max(float(np.linalg.norm(small)), 1e-9))


class ClassProbe:
    """Things of at least two classes."""

    def __init__(self, things: list[Thing]) -> None:
        self.things, self.thumbnails = things, np.stack([thumbnail(thing.picture) for thing in things])
        self.names, self.labels = np.unique([thing.label for thing in things], return_inverse=True)
        self.groups = np.unique([thing.group for thing in things], return_inverse=True)[1]

    def neighbours(self, move: str) -> NDArray[np.int64]:
        """Of each thing, moved, the number of the one that looks most like it, of another group."""
        moved = np.stack([D4[move].view(one) for one in self.thumbnails])
        likeness = np.tensordot(moved, self.thumbnails, ([1, 2], [1, 2]))
        likeness[self.groups[:, None] == self.groups] = -np.inf
        return likeness.argmax(axis=1)

    def mirrors(self, move: str, draws: ShareEstimate) -> tuple[list[LabelFinding], list[SheetRow]]:
        """How many stay nearest to their own class; and classes that come nearer to another, with images."""
        near = {"as read": self.neighbours("e"), "moved": self.neighbours(move)}
        moved, own = self.labels[near["moved"]], {name: (self.labels[k] == self.labels) for name, k in near.items()}
        figures = {name: share(same.mean(), len(same)) for name, same in own.items()}
        findings, rows = [LabelFinding("mirrors", MOVES[move], {"draws": draws, **figures})], []
        for a, b in np.unique(np.stack([self.labels, moved], 1)[~own["moved"]], axis=0):
            of = np.flatnonzero(self.labels == a)
            figures = {name: share((self.labels[k[of]] == b).mean(), len(of)) for name, k in near.items()}
            if figures["moved"].low > figures["as read"].high:  # intervals that overlap tell nothing
                findings.append(LabelFinding("mirrors", MOVES[move], figures, str(self.names[a]), str(self.names[b])))
                k = of[np.argmax(moved[of] == b)]
                image, other = (self.things[n].picture for n in (k, near["moved"][k]))
                images = image, np.ascontiguousarray(D4[move].view(image)), other
                words = f"{self.names[a]}, {MOVES[move]}, and its nearest: {self.names[b]}"
                rows.append(SheetRow([CellGroup([*map(Cell, images)], words)]))
        return findings, rows

    def colours(self, seed: int) -> LabelFinding:
        """How well ridge regression on colours tells the classes, cross-validated, as read and in the draws."""
        folds = (np.random.default_rng(seed).permutation(self.groups.max() + 1) % _FOLDS)[self.groups]
        read = np.array([[thing.colours] for thing in self.things])
        shown, drawn = np.moveaxis(np.array([thing.draws for thing in self.things]), 2, 0)
        truth, weights = np.eye(len(self.names))[self.labels], []
        for fold in range(_FOLDS):
            x, y = read[folds != fold, 0], truth[folds != fold]
            weights.append(np.linalg.solve(x.T @ x + _RIDGE * np.eye(x.shape[1]), x.T @ y))

        def hits(colours: Floats) -> ShareEstimate:  # things × draws × bins
            scores = np.einsum("ndb,nbc->ndc", colours, np.array(weights)[folds])
            right, there = scores.argmax(axis=2) == self.labels[:, None], ~np.isnan(scores[..., 0])
            return share((right & there).sum() / max(there.sum(), 1), max(int(there.any(axis=1).sum()), 1))

        chance = share(truth.mean(axis=0).max(), len(truth))
        figures = {"chance": chance, "as read": hits(read), "shown": hits(shown), "drawn": hits(drawn)}
        return LabelFinding("colours", "told by colours", figures)
