"""Scenes: a whole image with crops outlined on it, and beside it groups of panels. It knows nothing of recipes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.preview.display import Picture
from augrecipes.preview.overlay import colour_of, render_tag
from augrecipes.preview.sheet import EMPTY, HEADER, INK, MARGIN, MAX_WIDTH_PX, NOTE_PX, QUIET, SMALL_PX, blank
from augrecipes.preview.text import fit, render_text, width_px

_BESIDE, _APART, _FOOT, _LINE = 4, 22, 26, 18  # px: between panels, between groups, under a panel, of a note
_LARGEST, _SMALLEST = 256, 96
_EMPTIER = 1.35
_TALLER = 2.0  # a sheet with more lines must show panels of so many times the area
_WHOLE = (240, 640)  # least and most of a whole image's width
_LEAST_HIGH = 240


@dataclass(frozen=True, slots=True)
class Panel:
    """One picture of a group.

    Attributes:
        picture: uint8 h×w×3 RGB of any size, or None for one that is not there: its place stays empty.
        caption: the line under it.
    """

    picture: Picture | None
    caption: str = ""


@dataclass(frozen=True, slots=True)
class PanelGroup:
    """Panels of one scene at one scale, side by side.

    Attributes:
        panels: left to right; all are shown at the size of the largest.
        header: the line above.
        tag: a short text on the colour of the scene's crop of that number, before the header; None for no tag.
        quiet: write the header in grey.
    """

    panels: Sequence[Panel]
    header: str = ""
    tag: tuple[str, int] | None = None
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class ScenePanels:
    """One block of a sheet.

    Attributes:
        whole: uint8 h×w×3 RGB, made to fit `PanelLayout.whole`.
        groups: in reading order; they fill lines.
        caption: under the whole image.
        notes: smaller lines under the caption.
        header: over the whole image.
    """

    whole: Picture
    groups: Sequence[PanelGroup]
    caption: str = ""
    notes: Sequence[str] = ()
    header: str = ""


@dataclass(frozen=True, slots=True)
class PanelLayout:
    """Sizes of scenes, px.

    Attributes:
        across: groups on a line.
        panels: panels of a group.
        panel: height and width of a panel.
        whole: height and width of the box of the whole image.
    """

    across: int
    panels: int
    panel: tuple[int, int]
    whole: tuple[int, int]

    @property
    def group_width(self) -> int:
        """Width of a group."""
        return self.panels * self.panel[1] + (self.panels - 1) * _BESIDE

    @property
    def line_height(self) -> int:
        """Height of a line of groups, with the space below it."""
        return HEADER + self.panel[0] + _FOOT

    @property
    def width(self) -> int:
        """Width of the whole sheet."""
        return 2 * MARGIN + self.whole[1] + self.across * (self.group_width + _APART)


def layout_of_panels(groups: int, panels: int, sizes: Sequence[tuple[int, int]], whole_aspect: float) -> PanelLayout:
    """The layout with the largest panels that fits the sheet.

    Args:
        groups: of a scene.
        panels: of a group.
        sizes: heights and widths, px, of the pictures of one group.
        whole_aspect: height over width of the whole images.

    >>> layout = layout_of_panels(6, 2, [(48, 48), (192, 192)], 0.75)
    >>> layout.across, layout.panel, layout.whole, layout.width
    (3, (192, 192), (390, 520), 1822)
    """
    first = 2 if groups > 3 else 1  # on two lines there is room for a large whole image beside them
    best: PanelLayout | None = None
    for lines in range(first, max(groups, first) + 1):
        across = -(-groups // lines)
        for room in (_LARGEST, 224, 192, 160, 128, _SMALLEST):
            panel = size_in(sizes, (room, room))
            high = max(lines * (HEADER + panel[0] + _FOOT) - HEADER - 4 * _LINE + 2, _LEAST_HIGH)
            room_left = MAX_WIDTH_PX - 2 * MARGIN - across * (panels * (panel[1] + _BESIDE) - _BESIDE + _APART)
            wide = max(min(round(high / whole_aspect), _WHOLE[1], room_left), _WHOLE[0])
            layout = PanelLayout(across, panels, panel, (min(high, round(wide * whole_aspect)), wide))
            if layout.width <= MAX_WIDTH_PX:
                if best is None or panel[0] * panel[1] > _TALLER * best.panel[0] * best.panel[1]:
                    best = layout
                break
    return best or layout


def size_in(sizes: Sequence[tuple[int, int]], box: tuple[int, int]) -> tuple[int, int]:
    """The size at which a box shows pictures of one scene: whole pixels of the largest, or else of the smallest.

    Args:
        sizes: heights and widths of the pictures, px.
        box: height and width, px.

    >>> size_in([(64, 64), (16, 16)], (200, 200)), size_in([(256, 256), (64, 64)], (200, 200))
    ((192, 192), (192, 192))
    >>> size_in([(128, 128), (32, 32)], (200, 200)), size_in([(500, 250)], (100, 100))
    ((192, 192), (100, 50))
    """
    largest, smallest = max(sizes), min(sizes)
    fit = min(box[0] / largest[0], box[1] / largest[1])
    clean = largest[0] % smallest[0] == 0 and largest[1] % smallest[1] == 0
    for height, width in (largest, smallest if clean else largest):
        times = min(box[0] // height, box[1] // width)
        # Each pixel is shown alike, unless the box would stay much emptier for it.
        if times * height * _EMPTIER >= fit * largest[0]:
            return times * height, times * width
    return max(round(largest[0] * fit), 1), max(round(largest[1] * fit), 1)


def render_scene(scene: ScenePanels, layout: PanelLayout) -> NDArray[np.uint8]:
    """The scene as a block of a sheet, uint8 h×w×3."""
    lines = -(-len(scene.groups) // layout.across)
    notes = [note for note in scene.notes if note]
    high = scene.whole.shape[0]
    left_column = HEADER + high + _LINE * (1 + len(notes)) + 4
    block = blank(max(left_column, lines * layout.line_height), layout.width - 2 * MARGIN)
    wide = layout.whole[1]
    render_text(block, fit(scene.header, wide, SMALL_PX), (0, HEADER - 8), size_px=SMALL_PX, colour=QUIET)
    block[HEADER : HEADER + high, : scene.whole.shape[1]] = scene.whole
    y = HEADER + high + 17
    render_text(block, fit(scene.caption, wide, SMALL_PX, middle=True), (0, y), size_px=SMALL_PX, colour=INK)
    for note in notes:
        y += _LINE - 1
        render_text(block, fit(note, wide, NOTE_PX), (0, y), size_px=NOTE_PX, colour=QUIET)
    for k, group in enumerate(scene.groups):
        line, column = divmod(k, layout.across)
        _render_group(
            block, group, layout, line * layout.line_height, wide + _APART + column * (layout.group_width + _APART)
        )
    return block


def _render_group(block: NDArray[np.uint8], group: PanelGroup, layout: PanelLayout, y: int, x: int) -> None:
    at = x
    if group.tag is not None:
        name, number = group.tag
        room = width_px(name, SMALL_PX) + 8
        render_tag(block, (x, y + 4, x + room, y + 18), name, colour_of(number + 1))
        at += room + 8
    header = fit(group.header, x + layout.group_width - at, SMALL_PX)
    render_text(block, header, (at, y + HEADER - 8), size_px=SMALL_PX, colour=QUIET if group.quiet else INK)
    top = y + HEADER
    height, width = layout.panel
    shown = [panel.picture for panel in group.panels if panel.picture is not None]
    size = size_in([(p.shape[0], p.shape[1]) for p in shown] or [layout.panel], layout.panel)
    for k, panel in enumerate(group.panels):
        left = x + k * (width + _BESIDE)
        if panel.picture is not None:
            block[top : top + height, left : left + width] = EMPTY
            y0, x0 = top + (height - size[0]) // 2, left + (width - size[1]) // 2
            block[y0 : y0 + size[0], x0 : x0 + size[1]] = at_size(panel.picture, size)
        caption = fit(panel.caption, width, NOTE_PX)
        render_text(block, caption, (left, top + height + 14), size_px=NOTE_PX, colour=QUIET)


def at_size(picture: Picture, size: tuple[int, int]) -> Picture:
    """The picture at a height and width: pixels that grow to squares stay sharp, what shrinks is averaged."""
    whole = size[0] % picture.shape[0] == 0 and size[1] % picture.shape[1] == 0
    large = size[0] >= 3 * picture.shape[0]
    grows = cv2.INTER_NEAREST if whole or large else cv2.INTER_CUBIC
    how = grows if size[0] >= picture.shape[0] else cv2.INTER_AREA
    return np.ascontiguousarray(cv2.resize(picture, size[::-1], interpolation=how), np.uint8)
