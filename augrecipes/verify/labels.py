"""`label_safety`: whether a recipe's random steps keep the labels of some data true, as figures."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.errors import DataError
from augrecipes.ops.dihedral import D4
from augrecipes.ops.groups import NO_OP
from augrecipes.ops.records import op_record
from augrecipes.preview.cells import Cell, CellGroup, SheetRow
from augrecipes.preview.display import RgbImage, rgb_of_input, rgb_of_output
from augrecipes.preview.rows import annotated, short_path
from augrecipes.preview.stretch import stretch_of
from augrecipes.progress import Progress
from augrecipes.recipe.model import UINT8_HWC, Recipe, Step
from augrecipes.recipe.parse import Source, as_recipe
from augrecipes.recipe.sections import refuse_views
from augrecipes.sources.opening import Data, StrPath, open_data
from augrecipes.sources.sample import RecipeSource
from augrecipes.sources.stacks import refuse_stacks
from augrecipes.verify.safety import MOVES, ColourUse, LabelSafety, MirroredPair, ObjectLoss, share
from augrecipes.verify.source_map import Tracer, regions_of
from augrecipes.verify.variants import changed, moves_pixels

_DRAWS, _MOST_DRAWS = 512, 32  # of all samples, and of one
_WORST = 4  # draws that are shown, and pairs of classes
_SIDE, _BINS, _PIXELS = 16, 4, 4096  # of thumbnails; a channel; that a histogram counts
_FOLDS, _RIDGE = 5, 0.05
_DROPPED = "min_visibility or min_area"
_NO_PAIR = "a pair has no object to lose and no class: its large image is the label, and steps move both alike"
_NO_OBJECT = "no mask, boxes or keypoints: what crops leave of objects cannot be measured, only of the image's area"
_NO_CLASS = "colours and mirrors need two images, and two classes: one label for each image, or boxes with labels"
Floats = NDArray[np.float64]


class Thing(NamedTuple):
    """An image with a class, or a box with one.

    Attributes:
        label: its class.
        group: what it belongs to, such as its bag: things of one are no neighbours, and lie in one fold.
        image: as it was read.
        drawn: its colours in each draw.
        others: the same without the steps that change values.
    """

    label: str
    group: Any
    image: RgbImage
    drawn: list[Floats]
    others: list[Floats]


def label_safety(
    recipe: Recipe | Source, data: Data, *, masks: StrPath | None = None, split: str | None = None, seed: int = 0,
    samples: int = 512, progress: Progress | None = None,
) -> LabelSafety:  # fmt: skip
    """Measure what a recipe's training steps do to the labels of some data.

    How much they leave of objects; whether colours tell the classes, and still do after the steps; whether classes are
    mirror images of each other. All of it is measured on the recipe as it is written, without `batch:`.

    Args:
        recipe: of kind image or bag; of kind pair there is nothing to measure, as a note says.
        data: as `augrecipes.preview` takes them.
        masks: a folder of masks that match the images' names.
        split: of a CSV file.
        seed: of the draws, and of the choice of samples.
        samples: at most so many; where there are few, each is drawn up to 32 times.
        progress: called with (samples done, samples in all).

    Raises:
        DataError: no sample can be drawn; the reason of the first.
        RecipeError: of a recipe of views or stacks.
        LintError: of the recipe.
    """
    recipe = as_recipe(recipe)
    refuse_stacks(recipe, "and labels are those of single images: judge its frames by a recipe without `stack:`")
    refuse_views(recipe, "what becomes of labels")
    reader = open_data(recipe, recipe.compile("train", "none", seed).targets, data, masks, split=split)
    study, total = _Study(recipe, reader, seed), len(reader)
    chosen = np.random.default_rng([seed, total]).choice(total, min(samples, total), replace=False)
    numbers = [] if recipe.facts.scales else sorted(chosen.tolist())
    draws = min(max(_DRAWS // max(len(numbers), 1), 1), _MOST_DRAWS)
    epochs = np.linspace(0, max(recipe.last_epoch, draws - 1), draws).astype(int).tolist()
    left_out = []
    for k, number in enumerate(numbers):
        try:
            study.add(number, epochs)
        except DataError as error:
            left_out.append(error)
        if progress:
            progress(k + 1, len(numbers))
    if left_out and len(left_out) == len(numbers):
        raise left_out[0]
    return study.result(len(numbers) - len(left_out), [str(error) for error in left_out])


class _Study:
    """The samples of some data under a recipe, one after the other."""

    def __init__(self, recipe: Recipe, reader: RecipeSource, seed: int) -> None:
        self.recipe, self.reader, self.seed, self.draws = recipe, reader, seed, 0
        self.value_steps: list[str] = []
        others = replace(recipe, steps=changed(recipe.steps, self._other))
        self.tracers = [] if recipe.facts.scales else [Tracer(recipe, seed), Tracer(others, seed)]
        self.left = defaultdict[tuple[str, str], list[float]](list)  # by what and class
        self.taken = defaultdict[tuple[str, str], float](float)  # by what and step: the sum of the shares that it takes
        self.moves, self.things, self.worst = Counter[Any](), list[Thing](), list[tuple[float, SheetRow]]()
        table = reader.table
        names = {number: name for name, number in (table.class_to_idx or {}).items()}
        self.labels = [str(names.get(k, k)) for k in reader.labels.tolist()] if reader.labels is not None else []
        self.box_classes = table.box_classes or (table.boxes and table.boxes.classes) or ()

    def _other(self, step: Step) -> Step | None:
        """A step that moves or hides pixels; of those that change their values the name is noted."""
        if step.is_group or moves_pixels(step) or op_record(step.name).hides:
            return step
        self.value_steps += [step.name] * (step.name not in (NO_OP, *self.value_steps))
        return None

    def add(self, number: int, epochs: Sequence[int]) -> None:
        """Draw a sample in some epochs. DataError where it cannot be read, or a step fails."""
        sample, recipe, row = self.reader.sample(number), self.recipe, self.reader.table.place(number)[0]
        stretch = stretch_of(sample.images.values(), recipe.inputs)
        image, regions = (
            rgb_of_input(sample.images["image"], stretch),
            [*regions_of(sample, recipe.inputs, dict(enumerate(self.box_classes)))],
        )
        boxes = [k for k, region in enumerate(regions) if region.what == "box"]
        objects = np.asarray(sample.rest.get("object", range(len(boxes))))
        classed = [regions[0]._replace(of=self.labels[row])] if self.labels else [regions[k] for k in boxes]
        group = row if self.reader.table.groups is None else self.reader.table.groups[row]
        things = [Thing(region.of, group, np.ascontiguousarray(image[region.where]), [], []) for region in classed]
        judged, worst = [k for k, region in enumerate(regions) if region.what != "image"] or [0], (2.0, SheetRow([]))
        for epoch in epochs:
            out, stages = self.tracers[0].draw(sample, epoch, **({"object": objects} if boxes else {}))
            other = self.tracers[1].draw(sample, epoch)[0] if self.value_steps and things else out
            left = np.array([[np.mean(shown.seen[r.where]) for r in regions] for _, shown in [*stages, stages[-1]]])
            left[-1, boxes] *= np.isin(objects, out.get("object", objects))
            self.draws += 1
            for region, shares in zip(regions, left.T.tolist(), strict=True):
                is_part = region.what == "mask" and region.of  # of its mask, which counts as a whole
                for of in {region.of, region.of if is_part else ""}:
                    self.left[region.what, of].append(shares[-1])
                for label, lost in zip([*(label for label, _ in stages[1:]), _DROPPED], -np.diff(shares), strict=True):
                    if lost > 0 and not is_part:
                        self.taken[region.what, label.rpartition("/")[2].removesuffix("#1")] += float(lost)
            last = stages[-1][1]
            self.moves[last.symmetry] += 1
            drawn, unchanged = (rgb_of_output(one["image"], UINT8_HWC, stretch) for one in (out, other))
            for thing, region in zip(things, classed, strict=True):
                inside = np.zeros(image.shape[:2], bool)
                inside[region.where] = True
                thing.drawn.append(colours_of(drawn[last.shown][inside[last.places]]))
                thing.others.append(colours_of(unchanged[last.shown][inside[last.places]]))
            least = min(judged, key=left[-1].__getitem__)
            if left[-1, least] < worst[0]:
                text = f"{100 * left[-1, least]:.0f} % of the {regions[least].what} is left"
                groups = [
                    CellGroup([annotated(rgb, targets, recipe, self.box_classes)], words)
                    for rgb, targets, words in ((image, sample.rest, "as read"), (drawn, out, text))
                ]
                worst = float(left[-1, least]), SheetRow(groups[1:], groups[0], short_path(sample.path))
        self.worst = sorted([*self.worst, worst], key=lambda row: row[0])[:_WORST]
        self.things += things

    def result(self, samples: int, left_out: Sequence[str]) -> LabelSafety:
        """The figures of so many samples."""
        whats = {what for what, _ in self.left}
        measured = whats - {"image"} or whats
        classes = Counter(what for what, of in self.left if of)
        keys = sorted(key for key in self.left if key[0] in measured and (not key[1] or classes[key[0]] > 1))
        drawn = {name: self.moves[move] for name, move in D4.items() if name in MOVES and self.moves[move]}
        notes = [] if self.tracers else [_NO_PAIR]
        notes += [_NO_OBJECT] if measured == {"image"} else []
        mirrors, colours = [], None
        if min(len({thing[k] for thing in self.things}) for k in (0, 1)) > 1:  # labels, and groups
            probe = ClassProbe(self.things)
            mirrors = [pair for move in drawn for pair in probe.mirrored(move)]
            colours = probe.colour_use(tuple(self.value_steps), self.seed)
        elif self.tracers:
            notes.append(_NO_CLASS)
        rows = [row for _, row in self.worst] + [row for pair, row in mirrors if pair.differs][:_WORST]
        return LabelSafety(
            self.recipe.name, self.seed, samples, len(self.reader), self.draws, tuple(self._loss(*key) for key in keys),
            {name: share(count / self.draws, self.draws) for name, count in drawn.items()},
            tuple(pair for pair, _ in mirrors), colours, tuple(notes), tuple(left_out), tuple(rows),
        )  # fmt: skip

    def _loss(self, what: str, of: str) -> ObjectLoss:
        left, taken = (
            np.array(self.left[what, of]),
            {step: lost for (one, step), lost in self.taken.items() if one == what},
        )
        draws = min(len(left), self.draws)  # objects of one draw are no independent ones
        low, median = np.quantile(left, (0.05, 0.5)).tolist()
        steps = {step: taken[step] / sum(taken.values()) for step in sorted(taken, key=taken.__getitem__, reverse=True)}
        halves = share((left < 0.5).mean(), draws), share((left == 0).mean(), draws)
        return ObjectLoss(what, of, len(left), median, low, *halves, steps)


def colours_of(pixels: NDArray[np.uint8]) -> Floats:
    """The square root of the histogram of pixels (n, 3) in 4×4×4 bins, one between two in both; NaN of no pixels.

    >>> float(colours_of(np.full((9, 3), 255, np.uint8))[-1])
    1.0
    """
    some = pixels[:: 1 + len(pixels) // _PIXELS] * ((_BINS - 1) / 255)
    red, green, blue = np.maximum(0, 1 - np.abs(some.T[..., None] - np.arange(_BINS)))
    cells = np.einsum("ni,nj,nk->ijk", red, green, blue, optimize=True).ravel()
    return np.asarray(np.sqrt(cells / (len(some) or np.nan)))


def thumbnail(image: RgbImage) -> Floats:
    """An image as 16×16 greys of mean 0 and norm 1; all 0 where it is of one grey."""
    small: Floats = cv2.resize(image, (_SIDE, _SIDE), interpolation=cv2.INTER_AREA).mean(axis=2)
    small -= small.mean()
    return np.asarray(small / max(float(np.linalg.norm(small)), 1e-9))


class ClassProbe:
    """Things of at least two classes, as plain classifiers see them."""

    def __init__(self, things: Sequence[Thing]) -> None:
        self.things, self.names = things, sorted({thing.label for thing in things})
        self.labels = np.array([self.names.index(thing.label) for thing in things])
        self.counts = np.bincount(self.labels)
        self.groups = np.array([thing.group for thing in things])
        self.thumbnails = np.stack([thumbnail(thing.image) for thing in things])

    def neighbours(self, move: str) -> NDArray[np.int64]:
        """Of each thing, moved, the number of the one that looks most like it, of another group."""
        moved = np.stack([D4[move].view(one) for one in self.thumbnails])
        likeness = np.tensordot(moved, self.thumbnails, ([1, 2], [1, 2]))
        likeness[self.groups[:, None] == self.groups] = -np.inf
        return likeness.argmax(axis=1)

    def mirrored(self, move: str) -> list[tuple[MirroredPair, SheetRow]]:
        """Pairs of classes, of which a moved image of the first is nearest to the second; the most changed first."""
        tables, pairs = np.zeros((2, len(self.names), len(self.names)), int), []
        neighbours = [self.neighbours(move), self.neighbours("e")]
        for table, nearest in zip(tables, neighbours, strict=True):
            np.add.at(table, (self.labels, self.labels[nearest]), 1)
        for a, b in np.argwhere(tables[0] * (1 - np.eye(len(self.names)))).tolist():
            moved, still = (share(table[a, b] / self.counts[a], int(self.counts[a])) for table in tables)
            first = int(np.argmax((self.labels == a) & (self.labels[neighbours[0]] == b)))
            image, near = (self.things[k].image for k in (first, neighbours[0][first]))
            images: Sequence[RgbImage] = (image, np.ascontiguousarray(D4[move].view(image)), near)
            texts = self.names[a], MOVES[move], f"its nearest: {self.names[b]}"
            groups = [CellGroup([Cell(cell)], text) for cell, text in zip(images, texts, strict=True)]
            pair = MirroredPair(move, self.names[a], self.names[b], moved, still)
            pairs.append((pair, SheetRow(groups[1:], groups[0])))
        return sorted(pairs, key=lambda pair: pair[0].still.value - pair[0].moved.value)

    def colour_use(self, steps: tuple[str, ...], seed: int) -> ColourUse:
        """How well ridge regression on colours tells the classes, cross-validated, as read and in the draws."""
        groups, places = np.unique(self.groups, return_inverse=True)
        folds = np.random.default_rng([seed, len(groups)]).permutation(len(groups))[places] % _FOLDS
        read = np.array([colours_of(thing.image.reshape(-1, 3)) for thing in self.things])
        truth, weights = np.eye(len(self.names))[self.labels], []
        for fold in range(_FOLDS):
            x, y = read[folds != fold], truth[folds != fold]
            weights.append(np.linalg.solve(x.T @ x + _RIDGE * np.eye(x.shape[1]), x.T @ y))

        def score(colours: Any) -> Any:  # things × draws × bins
            scores = np.einsum("ndb,nbc->ndc", colours, np.array(weights)[folds])
            right, there = scores.argmax(axis=2) == self.labels[:, None], ~np.isnan(scores[..., 0])
            return share((right & there).sum() / max(there.sum(), 1), max(int(there.any(axis=1).sum()), 1))

        drawn, others = (np.array([getattr(thing, name) for thing in self.things]) for name in ("drawn", "others"))
        return ColourUse(
            float(self.counts.max() / len(self.labels)), score(read[:, None]), score(others), score(drawn), steps
        )
