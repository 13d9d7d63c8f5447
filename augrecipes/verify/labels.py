"""`label_safety` measures whether a recipe's random steps keep the labels of some data true.

Simple classifiers tell whether colours mark a class, and whether classes are mirror images of each other.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.compiler.run.input_values import labels_of
from augrecipes.errors import DataError
from augrecipes.ops.box_formats import corners_px
from augrecipes.ops.dihedral import D4
from augrecipes.preview.cells import Cell, CellGroup, SheetRow
from augrecipes.preview.display import RgbImage, rgb_of_input, rgb_of_output
from augrecipes.preview.rows import annotated, label_text, short_path
from augrecipes.preview.stretch import stretch_of
from augrecipes.progress import Progress
from augrecipes.recipe.model import UINT8_HWC, Inputs, Recipe
from augrecipes.recipe.parse import Source, as_recipe
from augrecipes.recipe.sections import refuse_views
from augrecipes.sources.opening import Data, StrPath, open_data
from augrecipes.sources.sample import RecipeSource, Sample
from augrecipes.sources.stacks import refuse_stacks
from augrecipes.verify.safety import LabelFinding, LabelSafety, ShareEstimate, quantile, share
from augrecipes.verify.source_map import Tracer

MOVES = {
    "h": "flipped left to right", "v": "flipped top to bottom", "t": "transposed", "r180": "turned by half",
    "r90": "turned a quarter left", "r270": "turned a quarter right", "hvt": "transposed and turned by half",
}  # fmt: skip
_SIDE, _BINS, _PIXELS_OF_CLASSES = (
    16,
    4,
    4096,
)  # px of a thumbnail; histogram bins per channel; pixels that a histogram counts
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
    sampled = pixels.reshape(-1, 3)[:: 1 + pixels.size // (3 * _PIXELS_OF_CLASSES)] * ((_BINS - 1) / 255)
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


_DRAWS, _OF_ONE, _LEAST = 512, 32, 48  # most draws of all samples, and of one; least samples, however large
_AREA, _PIXELS = 2**28, 2**16  # most source px of all draws; most px of an object or a draw that are measured
_PICTURE, _BOXES = 160, 8  # px, longest side of pictures; most boxes of an image that classifiers see
_WORST, _ROWS = 4, 10  # worst draws, and rows, on the sheet
_UNLABELLED = (0, 255)  # mask values without a class: background, and ignored by losses
_NO_PAIR = "a pair has no object to lose and no class: its large image is the label, and steps move both alike"
_NO_OBJECT = "no mask, boxes or keypoints: what crops leave of objects cannot be measured, only of the image's area"
_NO_CLASS = "colours and mirrors need two classes of two images each: one label for each image, or boxes with labels"
_ALONE = "colours and mirrors leave out classes of one image"
_NO_MOVE = "no draw mirrors or turns an image"


def label_safety(
    recipe: Recipe | Source, data: Data, *, masks: StrPath | None = None, split: str | None = None, seed: int = 0,
    samples: int = _DRAWS, progress: Progress | None = None,
) -> LabelSafety:  # fmt: skip
    """Measure what a recipe's training steps do to the labels of some data.

    Measures how much of objects the steps leave, whether colours tell the classes before and after the steps, and
    whether classes are mirror images of each other. The recipe runs unoptimised and without `batch:`.

    Args:
        recipe: a recipe of kind image or bag; for kind pair a note says that there is nothing to measure.
        data: the data, as `augrecipes.preview` takes it.
        masks: a folder of masks that match the images' names.
        split: the split of a CSV file.
        seed: seed of the draws and of the choice of samples.
        samples: the most samples; large images reduce the number. Few samples are drawn up to 32 times each.
        progress: called with (samples done, samples in all).

    Returns:
        Figures with 95 % intervals, notes, and a sheet of the worst draws.

    Raises:
        DataError: no sample can be drawn; gives the reason of the first.
        RecipeError: the recipe is of kind views, or has stacks.
        LintError: the recipe has a lint error.
    """
    recipe = as_recipe(recipe)
    refuse_stacks(recipe, "and labels are those of single images: judge its frames by a recipe without `stack:`")
    refuse_views(recipe, "what becomes of labels")
    reader = open_data(recipe, recipe.compile("train", "none", seed).targets, data, masks, split=split)
    if recipe.facts.scales:
        return LabelSafety(recipe.name, seed, 0, len(reader), 0, notes=(_NO_PAIR,))
    study, left_out = _Study(recipe, reader, seed), list[DataError]()
    numbers = np.random.default_rng([seed, len(reader)]).permutation(len(reader))[:samples].tolist()
    for done, number in enumerate(numbers):
        if done >= _LEAST and study.area > _AREA:
            break
        try:
            study.add(number, len(numbers))
        except DataError as error:
            left_out.append(error)
        if progress:
            progress(done + 1, len(numbers))
    if not study.samples and left_out:
        raise left_out[0]
    return study.result(seed, [str(error) for error in left_out])


def regions_of(sample: Sample, inputs: Inputs, classes: Sequence[str]) -> Iterator[tuple[str, str, Any]]:
    """The objects of a sample: `mask`, `box` or `keypoint`; class or ""; index into the image's rows and columns.

    A mask is an object as a whole, and so is each of its labels. Keypoints outside the image are left out.
    """
    rest, (height, width), names = sample.rest, sample.images["image"].shape[:2], dict(enumerate(classes))
    if "mask" in rest:
        mask = labels_of(rest["mask"], inputs.mask_labels).reshape(height, width)
        labels = [label for label in np.unique(mask).tolist() if label not in _UNLABELLED] or [255]
        for name, values in [("", labels), *((names.get(label - 1, str(label)), [label]) for label in labels)]:
            pixels = np.argwhere(np.isin(mask, values))
            if len(pixels):
                yield "mask", name, tuple(pixels[:: 1 + len(pixels) // _PIXELS].T)
    if inputs.boxes and "boxes" in rest:
        labels = rest.get(inputs.boxes.labels or "", [""] * len(rest["boxes"]))
        corners = np.ceil(corners_px(rest["boxes"], inputs.boxes.format, height, width) - 0.5)
        starts = corners[:, :2].clip(0, (width - 1, height - 1)).astype(int)
        ends = np.maximum(corners[:, 2:].astype(int), starts + 1)  # a box has one pixel at least
        for (x, y), (end_x, end_y), label in zip(starts.tolist(), ends.tolist(), labels, strict=True):
            yield "box", str(names.get(label, label)), np.s_[y:end_y, x:end_x]
    if inputs.keypoints and "keypoints" in rest:
        for point in (np.asarray(row[:2], float) + 0.5 for row in rest["keypoints"]):
            x, y = point[::-1] if inputs.keypoints.format == "yx" else point
            if 0 <= x < width and 0 <= y < height:  # false for NaN, too
                yield "keypoint", "", (int(y), int(x))


class _Study:
    """Collects measurements of samples, one after the other."""

    def __init__(self, recipe: Recipe, reader: RecipeSource, seed: int) -> None:
        self.recipe, self.reader, self.tracer = recipe, reader, Tracer(recipe, seed)
        self.samples = self.area = self.draws = 0  # `draws` is the number for each sample
        self.left = defaultdict[tuple[str, str], list[float]](list)  # shares of objects left, by kind and class
        self.moves, self.things, self.worst = Counter[str | None](), list[Thing](), list[tuple[float, SheetRow]]()
        self.classes = reader.table.box_classes or (reader.table.boxes and reader.table.boxes.classes) or ()

    def add(self, number: int, samples: int) -> None:
        """Draw one of `samples` samples in several epochs; DataError where it cannot be read, or a step fails."""
        sample, table, row = self.reader.sample(number), self.reader.table, self.reader.table.place(number)[0]
        stretch = stretch_of(sample.images.values(), self.recipe.inputs)
        image = rgb_of_input(sample.images["image"], stretch)
        (height, width), whole = image.shape[:2], np.s_[0 : image.shape[0], 0 : image.shape[1]]
        self.draws = self.draws or max(min(_OF_ONE, _DRAWS // samples, _AREA // (height * width * samples)), 1)
        regions = [*regions_of(sample, self.recipe.inputs, self.classes)] or [("image", "", whole)]
        boxes = [k for k, (kind, _, _) in enumerate(regions) if kind == "box"]
        objects = np.asarray(sample.rest.get("object", range(len(boxes))))
        label, group = label_text(table, row), row if table.groups is None else table.groups[row]
        classed = [(label, whole)] if label else [regions[k][1:] for k in boxes[:: 1 + len(boxes) // _BOXES]]
        things, worst = list[Thing](), (2.0, SheetRow([]))
        for name, where in classed:
            picture = image[where]
            stride = 1 + max(picture.shape) // _PICTURE
            things.append(Thing(name, group, picture[::stride, ::stride].copy(), colours_of(picture), []))
        last = max(self.recipe.last_epoch, self.draws - 1)
        for epoch in np.linspace(0, last, self.draws).astype(int).tolist():
            out, shown = self.tracer.draw(sample, epoch, **({"object": objects} if boxes else {}))
            left = np.array([shown.seen[where].mean() for _, _, where in regions])
            left[boxes] *= np.isin(objects, out.get("object", objects))
            for (kind, name, _), value in zip(regions, left.tolist(), strict=True):
                for key in {(kind, name), (kind, name if kind == "mask" else "")}:  # a mask has a region of all classes
                    self.left[key].append(value)
            self.moves[shown.move] += 1
            drawn = rgb_of_output(out["image"], UINT8_HWC, stretch)
            sampled = np.s_[:: 1 + shown.shown.sum() // _PIXELS]
            (rows, columns), after = (places[sampled] for places in shown.places), drawn[shown.shown][sampled]
            for thing, (_, (by_y, by_x)) in zip(things, classed, strict=True):
                inside = (by_y.start <= rows) & (rows < by_y.stop) & (by_x.start <= columns) & (columns < by_x.stop)
                thing.draws.append((colours_of(image[rows[inside], columns[inside]]), colours_of(after[inside])))
            if left.min() < worst[0]:
                text = f"{100 * left.min():.0f} % of the {' '.join(regions[left.argmin()][:2]).strip()} is left"
                pair = ("as read", image, sample.rest), (text, drawn, out)
                groups = [
                    CellGroup([annotated(rgb, targets, self.recipe, self.classes)], words)
                    for words, rgb, targets in pair
                ]
                worst = float(left.min()), SheetRow(groups[1:], groups[0], short_path(sample.path))
        self.samples, self.area = self.samples + 1, self.area + self.draws * height * width
        self.worst, self.things = sorted([*self.worst, worst], key=lambda row: row[0])[:_WORST], self.things + things

    def result(self, seed: int, left_out: Sequence[str]) -> LabelSafety:
        """Make the figures of all samples."""
        findings, several, draws = (
            list[LabelFinding](),
            Counter(kind for kind, name in self.left if name),
            self.moves.total(),
        )
        for kind, name in sorted(self.left):
            left = np.array(self.left[kind, name])
            n = min(len(left), draws)  # objects of one draw are not independent
            lost = {"half lost": share((left < 0.5).mean(), n), "all lost": share((left == 0).mean(), n)}
            figures = {"median": quantile(left, 0.5, n), "5th percentile": quantile(left, 0.05, n)} | lost
            findings += [LabelFinding("objects", kind, figures, name)] * (not name or several[kind] > 1)
        findings.sort(key=lambda loss: (loss.what, loss.of != "", -loss.figures["half lost"].value))
        groups = Counter(label for label, _ in {(thing.label, thing.group) for thing in self.things})
        things = [thing for thing in self.things if groups[thing.label] > 1]
        notes, rows = [_NO_OBJECT] * ({kind for kind, _ in self.left} == {"image"}), [row for _, row in self.worst]
        if len({thing.label for thing in things}) > 1:
            probe, moves = ClassProbe(things), [move for move in MOVES if self.moves[move]]
            findings.append(probe.colours(seed))
            for move in moves:
                mirrors, images = probe.mirrors(move, share(self.moves[move] / draws, draws))
                findings, rows = findings + mirrors, rows + images
            notes += [_NO_MOVE] * (not moves) + [_ALONE] * (len(things) < len(self.things))
        else:
            notes.append(_NO_CLASS)
        facts = self.recipe.name, seed, self.samples, len(self.reader), draws
        return LabelSafety(*facts, tuple(findings), tuple(notes), tuple(left_out), tuple(rows[:_ROWS]))
