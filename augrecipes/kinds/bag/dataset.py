"""Torch datasets of bags: tiles from files, and windows of whole-slide images."""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack, cast, get_args

import numpy as np
import numpy.typing as npt

from augrecipes.data.checks import RunSettings, Settings, count
from augrecipes.data.dataset import RecipeDataset
from augrecipes.errors import DataError, as_lines
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

    Which tiles are picked and what is drawn for each is a pure function of (recipe, seed, epoch, index). The draws of a
    tile are keyed by its place in the bag and do not depend on the other tiles. A sample is a dict:

    - `image`: tensor (n, C, H, W), layout, dtype and value range as the recipe's `output` says;
    - `coords`: int64 (n, 2), the (x, y) of each tile, from the CSV file or the file names (see
      `augrecipes.sources.paths.tile_position`); -1 where neither tells;
    - `bag`: the bag's name; `label`: int, where there are labels;
    - `index`: int, which with the epoch replays the bag; `path`: the bag's folder, or its first tile where a CSV file
      lists the tiles;
    - `applied`: the draws of each tile, with `save_applied_params`.

    Bags differ in size: load them with `batch_size=1`, or with `collate="list"` or `"pad"`.

    Args:
        root: a folder of bags, `root/<bag>/**/tile`, or a list of such folders; with `labels.csv` in it (columns `bag`
            and `label`) the bags have labels. Or another dataset of bags, such as SlideBags, to read the tiles of.
        recipe: a Recipe of kind bag, the name of a gallery recipe, or the path of a recipe file.
        files: instead of `root`: a CSV file with a row for each tile, see `augrecipes.kinds.bag.table`.
        labels: with `root`: a CSV file of labels for all roots, instead of each root's `labels.csv`.
        max_tiles: the most tiles that a sample takes of a bag; None: as the recipe says.
        min_tiles: the fewest tiles that a bag must have; smaller bags are an error, or skipped. None: as the recipe
            says.
        tissue: how to tell tissue from glass; tiles without tissue are left out. `otsu`: saturation above Otsu's
            threshold, which is computed once for the bag; a number 0..1: that saturation threshold; a function from
            a thumbnail of the tile, uint8 H×W×3, to bool H×W, or its name in `ar.register`; None: take all tiles;
            `recipe`: as the recipe says, or all. Ignored where `root` is a dataset that has selected its tiles.
        min_tissue: the least share of a tile, 0..1, that must be tissue; 0: any tissue at all; None: as the recipe
            says, or 0.5.
        max_white: the greatest share of a tile, 0..1, that may be white (all channels at least 220 of 255); None: as
            the recipe says, or 0.8, and 1, which allows all, where `tissue` is None.
        pick: which tiles to take of a bag of more than `max_tiles`: `random`, drawn anew in every epoch, `first`, or
            `stride`, evenly spaced; None: as the recipe says. In mode `eval`, `random` means `stride`.
        threads: threads that read and transform the tiles of a bag; None: one for each core, and 1 in a DataLoader
            worker.
        on_error: `raise` a DataError for a tile that cannot be read or transformed, or whose result differs in size
            from most; or `skip`: leave the tile out of its bag, and where fewer than `min_tiles` remain, return another
            bag in its place. The loader's `skipped` lists such tiles and bags.
        split: with `files`: the split whose bags are taken.
        weights: a number for each bag, kept as `ds.weights`, instead of the CSV file's column.
        samples_per_epoch: length of the dataset; None: the number of bags.
        max_pixels: tiles of more pixels are refused before they are decoded.
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
        root: "PathLike | Sequence[PathLike] | TileBags | SlideFiles | None" = None,
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
        **settings: Unpack[Settings],
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

        super().__init__(table, recipe, options={"threads": threads}, **settings)

    @property
    def max_tiles(self) -> int | None:
        """The most tiles that a sample takes of a bag; None: all."""
        return self.rule.max_tiles

    @property
    def min_tiles(self) -> int:
        """The fewest tiles that a bag must have; smaller ones are an error, or skipped."""
        return self.rule.min_tiles

    @property
    def pick(self) -> Pick:
        """How tiles are picked from a bag of more than `max_tiles`, in mode `train`."""
        return self.rule.pick

    def _check_sizes(self, table: BagTable) -> None:
        counts = table.counts()
        small = np.flatnonzero(counts < self.min_tiles)
        if len(small):
            raise DataError(
                f"{len(small)} of {len(table)} bags have fewer tiles than min_tiles={self.min_tiles} "
                '(on_error="skip" passes over them):'
                + as_lines(f"{table.bags[i]}: {counts[i]} tiles{table.about(i)}" for i in small.tolist())
            )

    @property
    def tiles(self) -> npt.NDArray[np.int64]:
        """Number of tiles of each bag, before picking, int64 (n,)."""
        return cast("npt.NDArray[np.int64]", self._column(self.table.counts()))

    @property
    def bags(self) -> list[str]:
        """The bag's name for each sample."""
        return [self.table.bags.name(row) for row in self.sample_keys.rows_of_samples().tolist()]

    def _identity(self) -> dict[str, Any]:
        return {**canonical(self.rule), **super()._identity()}


class SlideSettings(RunSettings, total=False):
    """The arguments of `TileBags` that `SlideBags` takes, too."""

    max_tiles: int | None
    min_tiles: int | None
    pick: Pick | None
    threads: int | None
    channels: int | None


class SlideBags(TileBags, takes=SlideSettings):
    """Whole-slide images as bags: the tiles of a slide are its windows that show tissue, read on demand.

    Otherwise it is a TileBags, which `ar.pack`, `ar.preview`, `ar.loader` and `ar.TileBags(slide_bags, recipe)` take.
    In a sample, `coords` are the tiles' top left corners (x, y) in pixels of level 0, `path` is the slide's file, and
    `bag` its name without extension. Needs the extra `slides`: pip install 'augrecipes[slides]'.

    Tiles of JPEG pyramids (SVS and other TIFFs) are read directly, everything else by OpenSlide. Where the recipe first
    crops a tile, and the tile needs no resampling from its level, only the crop is read.

    Args:
        slides: a glob pattern (`"slides/*.svs"`), a folder, a file, or a list of these.
        recipe: a Recipe of kind bag, the name of a gallery recipe, or the path of a recipe file.
        tile: side of the square tiles, px.
        mpp: resolution of the tiles, micrometres per pixel. Tiles are reduced from the slide's next finer level; a
            level within 1 % of `mpp` is taken as it is. Default 0.5 where `level` is not given either.
        level: instead of `mpp`: a level of the slide, 0 the finest.
        stride: distance between the corners of neighbouring tiles, in pixels of the tiles; None: `tile`.
        tissue: how to find tissue. `otsu`: saturation above Otsu's threshold on a thumbnail of the slide; a number
            0..1: that saturation threshold; a function from the thumbnail, uint8 H×W×3, to bool H×W; a mask file that
            covers the slide and is not 0 where there is tissue; GeoJSON as QuPath exports it, in pixels of level 0; a
            folder of such files with the slides' names, or a template (`"masks/{stem}.png"`); None: take all tiles;
            `recipe`: as the recipe says, or `otsu`.
        min_tissue: the least share of a tile, 0..1, that must be tissue; 0: any tissue at all; None: as the recipe
            says, or 0.5.
        max_white: the greatest share of a tile, 0..1, that may be white (all channels at least 220 of 255); 1 allows
            all; None: as the recipe says, or 0.8.
        regions: QuPath classes of the GeoJSON regions that count as tissue; None: all.
        slide_mpp: micrometres per pixel of level 0, for slides that do not state it.
        labels: a CSV file with columns `bag` and `label`; None: `labels.csv` beside the slides, where there is one.
            Rows of bags that are not listed are ignored.
        max_tiles, min_tiles, pick, threads: as in `TileBags`.
        mode, seed, optimize, classes, weights, samples_per_epoch, channels, save_applied_params: as in `TileBags`.
        on_error: as in `TileBags`; `skip` also leaves out slides that cannot be opened.
        max_pixels: a tile that would be resampled from more pixels is refused, and so is a larger mask file.

    Raises:
        DataError: no slides, slides that cannot be opened or lack the level or resolution, or that have fewer than
            `min_tiles` tiles with tissue.
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
        **settings: Unpack[SlideSettings],
    ) -> None:
        windows = Windows(tile, mpp, level, stride, tissue, min_tissue, max_white, regions, slide_mpp, max_pixels)
        super().__init__(SlideFiles(slides, windows, labels), recipe, max_pixels=max_pixels, **settings)


def picking_rule(recipe: Recipe, max_tiles: int | None, min_tiles: int | None, pick: Pick | None) -> Bag:
    """How many and which tiles to pick: the arguments that are not None, else the recipe.

    Raises:
        ValueError: `pick` is unknown, or `max_tiles` is below `min_tiles`.
    """
    rule = recipe.bag or Bag()
    method = rule.pick if pick is None else pick
    if method not in get_args(Pick):
        raise ValueError(f"pick must be one of {', '.join(get_args(Pick))}, got {method!r}")
    least = count("min_tiles", rule.min_tiles if min_tiles is None else min_tiles, 1)
    most = rule.max_tiles if max_tiles is None else max_tiles
    most = None if most is None else count("max_tiles", most, 1)
    if most is not None and most < least:
        raise ValueError(f"max_tiles={most} is below min_tiles={least}: no bag could have enough tiles")
    return Bag(most, least, method)


__all__ = ["DATASET", "SlideBags", "TileBags", "picking_rule", "read_bag"]

DATASET = TileBags
