"""What stands on a sheet: rows of groups of captioned pictures. It knows nothing of recipes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from augrecipes.preview.display import Picture, at_size, size_in


@dataclass(frozen=True, slots=True)
class Cell:
    """One picture.

    Attributes:
        picture: uint8 h×w×3 RGB of any size; None for one that is not there: its place stays empty.
        caption: the line under it, or in its empty place.
        over: draws on the picture when it has the size that it is shown at, given the factor of its scaling.
    """

    picture: Picture | None
    caption: str = ""
    over: Callable[[Picture, float], None] | None = None

    def at(self, size: tuple[int, int]) -> Picture:
        """The picture at a height and width, with what is drawn over it."""
        assert self.picture is not None
        shown = at_size(self.picture, size)
        if self.over is not None:
            shown = shown.copy()
            self.over(shown, shown.shape[0] / self.picture.shape[0])
        return shown


@dataclass(frozen=True, slots=True)
class CellGroup:
    """Pictures that belong together, side by side.

    Attributes:
        cells: left to right; all are shown at one size.
        header: the line above.
        quiet: it says little: a source, or a step that changed nothing; its header is grey.
        tag: a short text on the colour of that number, before the header.
    """

    cells: Sequence[Cell]
    header: str = ""
    quiet: bool = False
    tag: tuple[str, int] | None = None

    def size(self, box: tuple[int, int]) -> tuple[int, int]:
        """Height and width at which its pictures are shown in boxes of this height and width."""
        return size_in(self.sizes, box) if self.sizes else box

    @property
    def sizes(self) -> list[tuple[int, int]]:
        """Heights and widths of its pictures."""
        return [(one.picture.shape[0], one.picture.shape[1]) for one in self.cells if one.picture is not None]


@dataclass(frozen=True, slots=True)
class SheetRow:
    """What a sheet shows of one sample.

    Attributes:
        groups: in reading order; they fill lines.
        source: what stands to their left: a source, a scene, a map.
        caption: under the source.
        notes: smaller lines under the caption.
    """

    groups: Sequence[CellGroup]
    source: CellGroup | None = None
    caption: str = ""
    notes: Sequence[str] = ()

    @property
    def cells(self) -> list[Cell]:
        """Every picture of the row."""
        return [cell for group in (*([self.source] if self.source else ()), *self.groups) for cell in group.cells]
