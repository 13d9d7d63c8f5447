"""The layout of sheets: rows of groups of captioned images, and their sizes; independent of recipes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from augrecipes.preview.display import RgbImage, resize_to, size_in

MAX_WIDTH, MARGIN, HEADER = 2400, 36, 24  # px: of the sheet, around it, and of a line of headers
NARROW = 620  # px: of a sheet whose text is legible on a phone
GROUP_GAP, CELL_GAP, FOOT, LINE_GAP, ROW_GAP = 18, 4, 27, 10, 18  # px: groups, cells, captions, lines of groups, rows
_LARGEST, _SMALLEST, _ENOUGH = 256, 56, 150  # px: of a cell; groups wrap to more lines until cells have `_ENOUGH`
_SOURCE = 160, 640  # px, the least and the most of a source's width
_WIDER = 2.6  # the most that a source may be wider than a cell


@dataclass(frozen=True, slots=True)
class Cell:
    """One image of a sheet.

    Attributes:
        image: uint8 h×w×3 RGB of any size; None leaves its place empty.
        caption: the line under it, or in its empty place.
        over: draws annotations on the image at display size; called with it and its scale factor.
    """

    image: RgbImage | None
    caption: str = ""
    over: Callable[[RgbImage, float], None] | None = None

    def at(self, size: tuple[int, int]) -> RgbImage:
        """Scale the image to a height and width, and draw its annotations."""
        assert self.image is not None
        shown = resize_to(self.image, size)
        if self.over is not None:
            shown = shown.copy()
            self.over(shown, shown.shape[0] / self.image.shape[0])
        return shown


@dataclass(frozen=True, slots=True)
class CellGroup:
    """Images that belong together, side by side.

    Attributes:
        cells: left to right; all are shown at one size.
        header: the line above.
        quiet: the header is grey: a source, or a step that changed nothing.
        tag: a short text and a colour number, drawn before the header.
        notes: wrapped lines below its cells.
    """

    cells: Sequence[Cell]
    header: str = ""
    quiet: bool = False
    tag: tuple[str, int] | None = None
    notes: Sequence[str] = ()

    def size(self, box: tuple[int, int]) -> tuple[int, int]:
        """Height and width at which its images are shown in boxes of this height and width."""
        return size_in(self.sizes, box) if self.sizes else box

    @property
    def sizes(self) -> list[tuple[int, int]]:
        """Heights and widths of its images."""
        return [(cell.image.shape[0], cell.image.shape[1]) for cell in self.cells if cell.image is not None]


@dataclass(frozen=True, slots=True)
class SheetRow:
    """What a sheet shows of one sample.

    Attributes:
        groups: in reading order; they wrap to lines.
        source: shown to their left: a source, a scene, a map.
        caption: under the source.
        notes: smaller lines under the caption.
    """

    groups: Sequence[CellGroup]
    source: CellGroup | None = None
    caption: str = ""
    notes: Sequence[str] = ()

    @property
    def everything(self) -> list[CellGroup]:
        """The source, where there is one, and the groups."""
        return [*([self.source] if self.source else ()), *self.groups]


@dataclass(frozen=True, slots=True)
class SheetLayout:
    """Sizes of a sheet, px.

    Attributes:
        across: groups on a line.
        cells: of a group.
        cell: height and width of a cell.
        source: height and width of the box of the source; 0 where there are none.
    """

    across: int
    cells: int
    cell: tuple[int, int]
    source: tuple[int, int]

    @property
    def group_width(self) -> int:
        """Width of a group."""
        return self.cells * (self.cell[1] + CELL_GAP) - CELL_GAP

    @property
    def width(self) -> int:
        """Width of the whole sheet."""
        left = self.source[1] + GROUP_GAP if self.source[1] else 0
        return 2 * MARGIN + left + self.across * (self.group_width + GROUP_GAP) - GROUP_GAP


def layout_of(rows: Sequence[SheetRow], most_across: int | None = None, most: int = MAX_WIDTH) -> SheetLayout:
    """Choose the layout with the fewest lines whose cells are large enough, or else as large as fits `most` px.

    >>> import numpy as np
    >>> pair = CellGroup([Cell(np.zeros((48, 48, 3), np.uint8)), Cell(np.zeros((192, 192, 3), np.uint8))])
    >>> layout = layout_of([SheetRow([pair] * 6, CellGroup([Cell(np.zeros((300, 400, 3), np.uint8))]))], 3)
    >>> layout.across, layout.cell, layout.source, layout.width
    (3, (192, 192), (435, 499), 1789)
    """
    groups = max(1, *(len(row.groups) for row in rows))
    best, largest = None, 0
    for lines in range(-(-groups // (most_across or groups)), groups + 1):
        for room in range(_LARGEST, _SMALLEST - 1, -8):
            layout = _layout_with(rows, -(-groups // lines), lines, room)
            if layout.width <= most:
                break
        if best is None or room > largest:
            best, largest = layout, room
        if largest >= _ENOUGH:
            break
    assert best is not None
    return best


def _layout_with(rows: Sequence[SheetRow], across: int, lines: int, room: int) -> SheetLayout:
    """The layout whose cells are at most `room` high and wide."""
    sources = [row.source for row in rows if row.source is not None]
    last = [row.groups[-1] for row in rows if row.groups]  # the final outputs
    sizes = sorted((group.sizes for group in last or sources if group.sizes), key=max)
    cell = size_in(sizes[len(sizes) // 2], (room, room)) if sizes else (room, room)
    cells = max((len(group.cells) for row in rows for group in row.groups), default=1)
    if not sources:
        return SheetLayout(across, cells, cell, (0, 0))
    high = lines * (HEADER + cell[0] + FOOT) - HEADER - FOOT
    shapes = [height / width for group in sources for height, width in group.sizes]
    wide = min(high / min(max(median(shapes), 0.5), 1.6), _WIDER * cell[1], _SOURCE[1]) if shapes else 0
    return SheetLayout(across, cells, cell, (high, max(round(wide), _SOURCE[0])))
