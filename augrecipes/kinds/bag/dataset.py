"""Bags of tiles, or the windows of whole slides, and a recipe as a torch Dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack, cast, get_args

import numpy as np
import numpy.typing as npt

from augrecipes.data.checks import RunSettings, Settings, count
from augrecipes.data.dataset import RecipeDataset
from augrecipes.errors import DataError, listed
from augrecipes.kinds.bag.reader import bags_of
from augrecipes.kinds.bag.samples import read_bag
from augrecipes.kinds.bag.slides import SlideFiles
from augrecipes.kinds.bag.table import BagTable
from augrecipes.recipe.grammar import Pick
from augrecipes.recipe.model import Bag, Kind, Recipe, canonical
from augrecipes.sources.files import MAX_PIXELS
from augrecipes.sources.paths import PathLike
from augrecipes.sources.slides.listing import RECIPE, Windows
from augrecipes.sources.slides.tissue import Tissue


class TileBags(RecipeDataset):
    """Bags of tiles, such as those of a slide, for multiple-instance learning.

    A bag is a pure function of (recipe, seed, epoch, index): which tiles are picked, and the draws of each tile, which
    are keyed by its place in the bag and so do not depend on the other tiles. A sample is a dict:

    - `image`: tensor (n, C, H, W) as the recipe's `output` says;
    - `coords`: int64 (n, 2), the (x, y) of the tiles: from the CSV file, or read off the file names (see
      `augrecipes.sources.paths.tile_position`), or -1;
    - `bag`: its name; `label`: int, where there are labels;
    - `index`: int, which with the epoch replays the bag; `path`: its folder, or its first tile where a CSV file lists
      them;
    - `applied`: the draws of each tile, with `save_applied_params`.

    Bags differ in size: load them with `batch_size=1`, or with `collate="list"` or `"pad"`.

    Args:
        root: a folder of bags, `root/<bag>/**/tile`, or a list of such folders; with `labels.csv` in it (columns `bag`
            and `label`) the bags have labels. Or another dataset of bags, such as SlideBags, whose tiles are read.
        recipe: a Recipe of kind bag, the name of a gallery recipe, or the path of a recipe file.
        files: instead of `root`: a CSV file with a row for each tile, see `augrecipes.kinds.bag.table`.
        labels: with `root`: another CSV file of labels, for all roots.
        max_tiles: at most so many tiles of a bag; None takes what the recipe says.
        min_tiles: bags of fewer tiles are an error, or skipped; None takes what the recipe says.
        tissue: which tiles are taken at all: those that show tissue, by `otsu` (saturation above Otsu's threshold for
            all of the bag), a number (the threshold itself, 0 to 1), or a function of a tile made small, uint8 H×W×3,
            that returns bool H×W, or its name, see `ar.register`; None: all; `recipe`: as the recipe says, or all.
            What another dataset has chosen stays.
        min_tissue: share of a tile that is tissue, at least; 0 asks for some; None: as the recipe says, or a half.
        max_white: share of a tile that is white (no colour below 220 of 255), at most; None: as the recipe says, or
            0.8, and 1, which allows all, where `tissue` is None.
        pick: which tiles of a larger bag: `random`, drawn anew in every epoch, `first`, or `stride`, evenly spaced;
            None takes what the recipe says. In mode `eval` there is no drawing: `random` then means `stride`.
        threads: that read and transform the tiles of one bag; None: one a core, and one in a DataLoader worker.
        on_error: `raise` a DataError for a tile that cannot be read or transformed, or comes out with another size than
            most; or `skip` it: it is left out of its bag, and where fewer than `min_tiles` are left, another bag is
            handed out in its place. The loader's `skipped` lists the tiles, and such bags.
        split: with `files`: take the bags of this split.
        weights: one number a bag, kept as `ds.weights`; instead of the CSV file's column.
        samples_per_epoch: length of the dataset, when it is not the number of bags.
        max_pixels: larger tiles are refused before they are decoded.
        mode, seed, optimize, classes, exif, channels, depth, frames, cache, columns, outside, save_applied_params: as
            in `ImageFolder`.

    Raises:
        DataError: nothing to read, bags of fewer than `min_tiles` tiles, labels that do not match the bags.
        RecipeError: the recipe is not valid, not of kind bag, or has no section for `mode`.

    >>> import tempfile, pathlib, cv2, numpy as np
    >>> from augrecipes.recipe.parse import parse_text
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for bag, n in (("slide-1", 3), ("slide-2", 2)):
    ...     (folder / bag).mkdir()
    ...     for k in range(n):
    ...         _ = cv2.imwrite(str(folder / bag / f"x{k}_y0.png"), np.zeros((64, 64, 3), np.uint8))
    >>> recipe = parse_text("{version: 1, recipe: flips, kind: bag, steps: [D4: {p: 1.0}], eval: []}")
    >>> ds = TileBags(folder, recipe, seed=1)
    >>> sample = ds[0]
    >>> len(ds), sample["bag"], sample["image"].shape, sample["coords"].tolist()
    (2, 'slide-1', torch.Size([3, 3, 64, 64]), [[0, 0], [1, 0], [2, 0]])
    """

    kind: Kind = "bag"
    table: BagTable

    def __init__(
        self,
        root: PathLike | Sequence[PathLike] | TileBags | SlideFiles | None = None,
        recipe: Recipe | PathLike | None = None,
        *,
        files: PathLike | None = None,
        labels: PathLike | None = None,
        max_tiles: int | None = None,
        min_tiles: int | None = None,
        pick: Pick | None = None,
        tissue: Tissue = RECIPE,
        min_tissue: float | None = None,
        max_white: float | None = None,
        threads: int | None = None,
        split: str | None = None,
        cache: bool = True,
        columns: Mapping[str, str] | None = None,
        outside: bool = False,
        **how: Unpack[Settings],
    ) -> None:
        windows = Windows(tissue=tissue, min_tissue=min_tissue, max_white=max_white)

        def table() -> BagTable:
            self.rule = picking_rule(self.recipe, max_tiles, min_tiles, pick)
            source = root.table if isinstance(root, TileBags) else root
            bags = bags_of(
                self.recipe,
                source,
                files,
                labels,
                split,
                check=self.on_error == "raise",
                cache=cache,
                columns=columns,
                outside=outside,
                windows=windows,
                decode=self._decode,
            )
            if self.on_error == "raise":
                self._check_sizes(bags)
            return bags

        super().__init__(table, recipe, options={"threads": threads}, **how)

    @property
    def max_tiles(self) -> int | None:
        """At most so many tiles of a bag are taken; None: all."""
        return self.rule.max_tiles

    @property
    def min_tiles(self) -> int:
        """Bags of fewer tiles are an error, or skipped."""
        return self.rule.min_tiles

    @property
    def pick(self) -> Pick:
        """Which tiles of a larger bag are taken, in mode `train`."""
        return self.rule.pick

    def _check_sizes(self, table: BagTable) -> None:
        counts = table.counts()
        small = np.flatnonzero(counts < self.min_tiles)
        if len(small):
            raise DataError(
                f"{len(small)} of {len(table)} bags have fewer tiles than min_tiles={self.min_tiles} "
                '(on_error="skip" passes over them):'
                + listed(f"{table.bags[i]}: {counts[i]} tiles{table.about(i)}" for i in small.tolist())
            )

    @property
    def tiles(self) -> npt.NDArray[np.int64]:
        """How many tiles every bag has before any are picked, int64 (n,)."""
        return cast("npt.NDArray[np.int64]", self._column(self.table.counts()))

    @property
    def bags(self) -> list[str]:
        """The name of every bag; as often as the bag is listed."""
        return [self.table.bags.name(row) for row in self.sample_keys.rows_of_samples().tolist()]

    def _identity(self) -> dict[str, Any]:
        return {**canonical(self.rule), **super()._identity()}


class SlideSettings(RunSettings, total=False):
    """What whole slides take of the arguments of `TileBags`."""

    max_tiles: int | None
    min_tiles: int | None
    pick: Pick | None
    threads: int | None
    channels: int | None


class SlideBags(TileBags, takes=SlideSettings):
    """Whole-slide images as bags: the windows of a slide that show tissue are its tiles, read when they are needed.

    A TileBags in all else: `ar.pack`, `ar.preview`, `ar.loader` and `ar.TileBags(this, other_recipe)` take it. The
    `coords` of a sample are the tiles' corners in pixels of level 0; `path` is the slide, `bag` its name without
    extension. Slides are opened by the extra `slides`: pip install 'augrecipes[slides]'.

    Tiles of JPEG pyramids (SVS and other TIFFs) are read directly, everything else by OpenSlide. Of a tile of which the
    recipe's first steps cut a window, only that window is read, where it comes from a level as it is.

    Args:
        slides: a pattern (`"slides/*.svs"`), a folder, a file, or a list of these.
        recipe: a Recipe of kind bag, the name of a gallery recipe, or the path of a recipe file.
        tile: side of the tiles, px.
        mpp: their resolution in micrometres a pixel, reduced from the next finer level of the slide; a level that is
            within one per cent of it is taken as it is. 0.5 where neither this nor `level` is given.
        level: instead of `mpp`: the slide's own level, 0 the finest.
        stride: from one tile to the next, in the tiles' px; None: tiles lie side by side.
        tissue: what a tile is chosen by: `otsu`, saturation above Otsu's threshold on a thumbnail; a number, the
            threshold itself, 0 to 1; a function of the thumbnail, uint8 H×W×3, that returns bool H×W; a mask file that
            covers the slide, not 0 where tissue is; GeoJSON, as QuPath exports it, in pixels of level 0; a folder of
            such files by the slides' names, or a template (`"masks/{stem}.png"`); None: nothing, all tiles are taken;
            `recipe`: as the recipe says, or `otsu`.
        min_tissue: share of a tile that is tissue, at least; 0 asks for some; None: as the recipe says, or a half.
        max_white: share of a tile that is white (no colour below 220 of 255), at most; 1 allows all; None: as the
            recipe says, or 0.8.
        regions: classes of the regions in GeoJSON that count, by QuPath's names; None: all.
        slide_mpp: micrometres a pixel of level 0, for slides that do not say.
        labels: a CSV file with columns `bag` and `label`; None: `labels.csv` beside the slides, where there is one.
            Rows of other bags are passed over.
        max_tiles, min_tiles, pick, threads: as in `TileBags`.
        mode, seed, optimize, classes, weights, samples_per_epoch, channels, save_applied_params: as in `TileBags`.
        on_error: as in `TileBags`; `skip` passes over slides that cannot be opened, too.
        max_pixels: a window that would be made of more is refused; a mask file of more, too.

    Raises:
        DataError: no slides, broken ones, a level or a resolution that they do not have, no tissue: slides of fewer
            than `min_tiles` tiles.
        RecipeError: the recipe is not valid, not of kind bag, or has no section for `mode`.
    """

    def __init__(
        self,
        slides: PathLike | Sequence[PathLike],
        recipe: Recipe | PathLike,
        *,
        tile: int = 256,
        mpp: float | None = None,
        level: int | None = None,
        stride: int | None = None,
        tissue: Tissue = RECIPE,
        min_tissue: float | None = None,
        max_white: float | None = None,
        regions: Sequence[str] | None = None,
        slide_mpp: float | None = None,
        labels: PathLike | None = None,
        max_pixels: int = MAX_PIXELS,
        **how: Unpack[SlideSettings],
    ) -> None:
        windows = Windows(tile, mpp, level, stride, tissue, min_tissue, max_white, regions, slide_mpp, max_pixels)
        super().__init__(SlideFiles(slides, windows, labels), recipe, max_pixels=max_pixels, **how)


def picking_rule(recipe: Recipe, max_tiles: int | None, min_tiles: int | None, pick: Pick | None) -> Bag:
    """What is in force: the arguments that are given, and otherwise what the recipe says; ValueError for nonsense."""
    rule = recipe.bag or Bag()
    how = rule.pick if pick is None else pick
    if how not in get_args(Pick):
        raise ValueError(f"pick must be one of {', '.join(get_args(Pick))}, got {how!r}")
    least = count("min_tiles", rule.min_tiles if min_tiles is None else min_tiles, 1)
    most = rule.max_tiles if max_tiles is None else max_tiles
    most = None if most is None else count("max_tiles", most, 1)
    if most is not None and most < least:
        raise ValueError(f"max_tiles={most} is below min_tiles={least}: no bag could have enough tiles")
    return Bag(most, least, how)


__all__ = ["DATASET", "SlideBags", "TileBags", "picking_rule", "read_bag"]

DATASET = TileBags
