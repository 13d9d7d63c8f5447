"""Draw masks, boxes, keypoints and outlines of crops over an image; show further targets of a scene as images."""

import colorsys
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.preview.cells import Cell
from augrecipes.preview.display import EMPTY, Colour, RgbImage, render_text, rgb_of_input, rgb_of_output, width_px
from augrecipes.preview.stretch import stretch_of
from augrecipes.recipe.model import Inputs, Output, Recipe
from augrecipes.recipe.targets import Target

Place = tuple[int, int, int, int]  # of a tag: left, top, right, bottom; px, ends exclusive

# Okabe and Ito's colour-blind safe palette (2008); further colours rotate the hue.
_NAMED: tuple[Colour, ...] = (
    (230, 159, 0), (86, 180, 233), (0, 158, 115), (240, 228, 66), (0, 114, 178), (213, 94, 0), (204, 121, 167),
)  # fmt: skip
_IGNORED = 255  # the usual label of ignored pixels in segmentation masks
_STRIPES: tuple[Colour, Colour] = (250, 250, 250), (40, 40, 40)  # one of them shows on any image
_FILL = 0.26
_LABEL_PX = 11
_TAG_PX = 14  # height of a tag
_RIM = 0.7  # how dark the rim of an outline is
_LABELLED = 16  # with more boxes than this, text would hide the image; colours and the legend remain


def colour_of(number: int) -> Colour:
    """The colour of an id or a class; the same number always has the same colour.

    >>> colour_of(1), colour_of(1) == colour_of(2)
    ((230, 159, 0), False)
    """
    if 0 < number <= len(_NAMED):
        return _NAMED[number - 1]
    red, green, blue = colorsys.hsv_to_rgb(number * 0.618034 % 1, 0.72, 0.95)  # golden-ratio steps never repeat
    return round(red * 255), round(green * 255), round(blue * 255)


def render_mask(image: RgbImage, mask: NDArray[Any]) -> None:
    """Tint and outline every id of a mask, in place. 0 stays clear; 255 is hatched as ignored in 8-bit masks.

    Args:
        image: uint8 H×W×3.
        mask: integers H×W of any size; it is scaled to the image by nearest neighbour.
    """
    height, width = image.shape[:2]
    ids = np.rint(mask).astype(np.int64) if mask.dtype.kind == "f" else mask.astype(np.int64)
    rows = (np.arange(height) * ids.shape[0] // height)[:, None]
    ids = ids[rows, np.arange(width) * ids.shape[1] // width]
    names, places = np.unique(ids, return_inverse=True)
    places = places.reshape(ids.shape)
    ignored = (ids == _IGNORED) & (names.max(initial=0) == _IGNORED)
    stripe = np.add.outer(np.arange(height), np.arange(width)) % 8 < 2
    colours = np.array([colour_of(int(n)) for n in names], np.float32)[places]
    colours[ignored] = np.where(stripe[ignored][:, None], *_STRIPES)
    cross = cv2.getStructuringElement(cv2.MORPH_CROSS, (3, 3))
    edge = cv2.morphologyEx(places.astype(np.float32), cv2.MORPH_GRADIENT, cross) > 0
    strength = np.where(edge | (ignored & stripe), 0.9, _FILL) * (ids != 0)
    image[...] = np.rint(image + (colours - image) * strength[..., None].astype(np.float32)).astype(np.uint8)


def render_boxes(
    image: RgbImage, boxes: NDArray[Any], labels: Sequence[Any], scale: float, classes: Sequence[str] = ()
) -> None:
    """Draw boxes in place, with their labels where there is room and the boxes are few.

    Args:
        image: uint8 H×W×3.
        boxes: float (n, 4): x_min, y_min, x_max, y_max in px of the image before it was scaled.
        labels: one a box, numbers or text, or none at all.
        scale: factor that the image was scaled by.
        classes: names of the labels where they are numbers.
    """
    labels = labels if len(labels) == len(boxes) else [""] * len(boxes)
    tags = []
    for box, label in zip(boxes, labels, strict=True):
        x0, y0, x1, y1 = (round(float(v) * scale) for v in box[:4])
        cv2.rectangle(image, (x0, y0), (max(x1 - 1, x0), max(y1 - 1, y0)), label_colour(label), 1, cv2.LINE_8)
        number = int(label) if isinstance(label, int | float | np.number) else -1
        name = classes[number] if 0 <= number < len(classes) else str(label)
        width = width_px(name, _LABEL_PX) + 6
        if name and width <= max(1.6 * (x1 - x0), 24):
            x = min(max(x0, 0), image.shape[1] - width)
            tags.append((name, label_colour(label), width, [(x, y0 - _TAG_PX if y0 >= _TAG_PX else y0)]))
    _render_tags(image, tags if len(labels) <= _LABELLED else [])


def render_keypoints(image: RgbImage, points: NDArray[Any], scale: float) -> None:
    """Draw a dot with a dark rim at every keypoint (x, y in px before scaling), in place."""
    for number, point in enumerate(points, start=1):
        # Pixel centres: x = 0 is the middle of the first column.
        centre = tuple(round((float(v) + 0.5) * scale * 16 - 8) for v in point[:2])
        cv2.circle(image, centre, 4 * 16, (20, 20, 20), -1, cv2.LINE_AA, 4)
        cv2.circle(image, centre, 3 * 16, colour_of(number), -1, cv2.LINE_AA, 4)


def label_colour(label: Any) -> Colour:
    """The colour of a box's label: by its number, or by its text, so that it is the same in every image.

    >>> label_colour(0), label_colour("nucleus") == label_colour("nucleus")
    ((230, 159, 0), True)
    """
    if isinstance(label, int | float | np.number):
        return colour_of(int(label) + 1)
    text = str(label)
    return colour_of(zlib.crc32(text.encode("utf-8", "replace")) % 4093 + len(_NAMED) + 1) if text else _NAMED[0]


def render_crops(image: RgbImage, crops: Sequence[tuple[float, float, float, float]], names: Sequence[str]) -> None:
    """Outline crops, each in its own colour with a numbered tag, in place; readable over dark and light images.

    Args:
        image: uint8 H×W×3.
        crops: y0, x0, y1, x1 in px of the image, ends exclusive.
        names: short texts of the tags; the k-th crop has the colour `colour_of(k + 1)`. A tag without room is left
            out.
    """
    height, width = image.shape[:2]
    corners, tags = [], []
    for k, ((y0, x0, y1, x1), name) in enumerate(zip(crops, names, strict=True)):
        left, top = min(max(round(x0), 0), width - 2), min(max(round(y0), 0), height - 2)
        right, bottom = min(max(round(x1) - 1, left + 1), width - 1), min(round(y1) - 1, height - 1)
        corners.append(((left, top), (right, bottom)))
        room = width_px(name, _LABEL_PX) + 8
        rows = top, bottom + 1 - _TAG_PX, top - _TAG_PX, bottom + 1  # inside of it, then outside
        tags.append((name, colour_of(k + 1), room, [(x, y) for y in rows for x in (left, right + 1 - room)]))
    dark = image.copy()
    for start, end in corners:  # a dark rim on both sides of the line
        cv2.rectangle(dark, start, end, (12, 12, 12), 5, cv2.LINE_8)
    cv2.addWeighted(dark, _RIM, image, 1 - _RIM, 0, dst=image)
    for k, ((left, top), (right, bottom)) in enumerate(corners):
        cv2.rectangle(image, (left, top), (right, bottom), colour_of(k + 1), 1, cv2.LINE_8)
        cv2.rectangle(image, (left + 1, top + 1), (right - 1, bottom - 1), colour_of(k + 1), 1, cv2.LINE_8)
    _render_tags(image, tags)


def _render_tags(image: RgbImage, tags: Iterable[tuple[str, Colour, int, Sequence[tuple[int, int]]]]) -> None:
    """Draw tags (name, colour, width, candidate top left corners), each at its first corner that is free."""
    occupied: list[Place] = []
    for name, colour, width, corners in tags:
        for x, y in corners:
            a = x, y, x + width, y + _TAG_PX
            inside = x >= 0 and y >= 0 and a[2] <= image.shape[1] and a[3] <= image.shape[0]
            if inside and not any(a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3] for b in occupied):
                occupied.append(a)
                render_tag(image, a, name, colour)
                break


def render_tag(image: RgbImage, place: Place, name: str, colour: Colour) -> None:
    """Draw a short text in the middle of a filled box, in place."""
    left, top, right, bottom = place
    cv2.rectangle(image, (left, top), (right - 1, bottom - 1), colour, -1)
    ink = (20, 20, 20) if sum(c * w for c, w in zip(colour, (2, 5, 1), strict=True)) > 8 * 105 else (255, 255, 255)
    at = (left + right) // 2, bottom - (bottom - top - 8) // 2
    render_text(image, name, at, size_px=_LABEL_PX, colour=ink, align="center")


_LONG = 98  # the percentile of vector lengths at full saturation


def target_cells(recipe: Recipe, sample: Mapping[str, Any]) -> list[Cell]:
    """Make a cell for each further target among a sample's outputs."""
    targets = {name: target for name, target in recipe.targets.items() if name in sample}
    return [Cell(rgb_of_target(np.asarray(sample[name]), one, recipe.output), name) for name, one in targets.items()]


def rgb_of_target(array: NDArray[Any], target: Target, output: Output) -> RgbImage:
    """Convert a target of the output to RGB for display.

    Labels get colours, other numbers are stretched like deep images, vectors show their direction as hue and their
    length as saturation, and normals are mapped to red, green and blue.

    >>> rgb_of_target(np.array([[0.0, 9.0]], np.float32), Target("mask"), Output())[0, :, 0].tolist()
    [0, 255]
    """
    if target.is_image:
        return rgb_of_output(array, output)
    if target.like == "masks":
        array = (array != 0).astype(np.int64).cumsum(axis=0).argmax(axis=0) + array.any(axis=0) if len(array) else array
    if target.has_directions:
        field = np.moveaxis(array, 0, 2) if output.layout == "chw" else array
        return _rgb_of_normals(field) if target.like == "normals" else _rgb_of_vectors(field)
    if array.dtype.kind == "f":
        return rgb_of_input(array, stretch_of([array], Inputs(dtype="float32")))
    canvas = np.full((*array.shape[-2:], 3), EMPTY, np.uint8)
    render_mask(canvas, array)
    return canvas


def _rgb_of_vectors(field: NDArray[Any]) -> RgbImage:
    length, hue = np.linalg.norm(field, axis=2), np.degrees(np.arctan2(field[..., 1], field[..., 0])) % 360
    strength = np.clip(length / max(float(np.percentile(length, _LONG)), 1e-12), 0, 1)
    hsv = np.dstack([hue, strength, np.ones_like(strength)]).astype(np.float32)
    return rgb_of_input(cv2.cvtColor(hsv, cv2.COLOR_HSV2RGB))


def _rgb_of_normals(field: NDArray[Any]) -> RgbImage:
    lengths = np.maximum(np.linalg.norm(field, axis=2, keepdims=True), 1e-12)
    return rgb_of_input(np.clip((field / lengths + 1) / 2, 0, 1).astype(np.float32))
