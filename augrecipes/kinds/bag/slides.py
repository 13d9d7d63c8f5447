"""Whole slides and a recipe as a torch Dataset of bags."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from augrecipes.data.picking import Pick
from augrecipes.kinds.bag.dataset import TileBags
from augrecipes.recipe.model import Mode, Optimize, Recipe
from augrecipes.sources.files import MAX_PIXELS
from augrecipes.sources.paths import PathLike
from augrecipes.sources.slide_bags import SlideFiles
from augrecipes.sources.slides.listing import Tissue, Windows


class SlideBags(TileBags):
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
            threshold itself, 0 to 1; a mask file that covers the slide, not 0 where tissue is; GeoJSON, as QuPath
            exports it, in pixels of level 0; a folder of such files by the slides' names, or a template
            (`"masks/{stem}.png"`); None: nothing, all tiles are taken.
        min_tissue: share of a tile that is tissue, at least; 0 asks for some.
        max_white: share of a tile that is white (no colour below 220 of 255), at most; 1 allows all.
        regions: classes of the regions in GeoJSON that count, by QuPath's names; None: all.
        slide_mpp: micrometres a pixel of level 0, for slides that do not say.
        labels: a CSV file with columns `bag` and `label`; None: `labels.csv` beside the slides, where there is one.
            Rows of other bags are passed over.
        max_tiles, min_tiles, pick, threads: as in `TileBags`.
        mode, seed, optimize, weights, samples_per_epoch, channels, save_applied_params: as in `TileBags`.
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
        tissue: Tissue = "otsu",
        min_tissue: float = 0.5,
        max_white: float = 0.8,
        regions: Sequence[str] | None = None,
        slide_mpp: float | None = None,
        labels: PathLike | None = None,
        max_tiles: int | None = None,
        min_tiles: int | None = None,
        pick: Pick | None = None,
        threads: int | None = None,
        mode: Mode = "train",
        seed: int = 0,
        optimize: Optimize | None = None,
        on_error: Literal["raise", "skip"] = "raise",
        weights: Any = None,
        samples_per_epoch: int | None = None,
        channels: int | None = None,
        max_pixels: int = MAX_PIXELS,
        save_applied_params: bool = False,
    ) -> None:
        windows = Windows(tile, mpp, level, stride, tissue, min_tissue, max_white, regions, slide_mpp, max_pixels)
        super().__init__(
            SlideFiles(slides, windows, labels, check=on_error == "raise"),
            recipe,
            max_tiles=max_tiles,
            min_tiles=min_tiles,
            pick=pick,
            threads=threads,
            mode=mode,
            seed=seed,
            optimize=optimize,
            on_error=on_error,
            weights=weights,
            samples_per_epoch=samples_per_epoch,
            channels=channels,
            max_pixels=max_pixels,
            save_applied_params=save_applied_params,
        )
