"""Lists the files of pairs as the Dataset does, and checks them for defects. Imports no torch."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from itertools import chain
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from augrecipes.errors import DataError, counted
from augrecipes.kinds.pair import grid, pairing, versions
from augrecipes.kinds.pair.checks import Check, check_roots, checked, find_scenes, misfit, table_of_scenes, targets_of
from augrecipes.machine import in_threads
from augrecipes.progress import Parts, progress
from augrecipes.recipe.model import Inputs, Mode, Recipe
from augrecipes.sources.arguments import data_arguments
from augrecipes.sources.check import CheckReport, KindsAndMessages
from augrecipes.sources.columns import Columns
from augrecipes.sources.defects import Defect, Size, report, size_text
from augrecipes.sources.files import read_image
from augrecipes.sources.sample import DataArguments, RecipeSource, decode_arguments

TABLE = Columns
_FINE, _BROAD = 1.0, 8.0  # px, standard deviations of the two Gaussians
_LEVELS = Inputs()  # of 8 bits
_FAINT = 1.2  # grey levels: a smaller standard deviation of the difference of Gaussians is no evidence
_SAME = 0.35  # least correlation of two images of one scene
_SURE, _MARGIN = 0.6, 0.05  # least correlation of a shift, and its least excess over the correlation without shift
_FARTHEST = 12  # px, the largest shift that is tried
__all__ = ["TABLE", "check", "check_roots", "find", "scenes_of", "size_faults"]


def scenes_of(
    recipe: Recipe, mode: Mode, targets: Sequence[str], roots: Any, files: Any, check: Check | None, *, strict: bool,
    decode: Mapping[str, Any], **more: Any,
) -> pairing.PairScenes:  # fmt: skip
    """List and check scenes, in folders by target or a CSV file.

    Args:
        recipe: the recipe of the dataset.
        mode: the section of the recipe.
        targets: the targets that it reads.
        roots: as in `find_scenes`.
        files: as in `find_scenes`.
        check: the method of `checked`; None: open no file.
        strict: a defect is an error; otherwise defective scenes are left out.
        decode: arguments of `read_image`.
        more: other arguments of `find_scenes`.

    Raises:
        DataError: there is no scene, or with `strict` a defect: all of them in one text.
    """
    pairs = find_scenes(recipe, mode, tuple(targets), roots, files, **more)
    if check is not None:
        with progress("reading headers") as advance:
            pairs = checked(pairs, recipe, mode, check, advance, **decode)
    if pairs.defects and (strict or not pairs.scenes):
        raise DataError(report(pairs.defects, fine=len(pairs.scenes), targets=pairs.targets))
    if not pairs.scenes:
        raise DataError("no pairs were found")
    return pairs


def find(
    recipe: Recipe, targets: Sequence[str], data: DataArguments, *, mode: Mode, strict: bool, headers: bool,
    decode: dict[str, Any], **_: Any,
) -> RecipeSource:  # fmt: skip
    """List the scenes that a recipe reads."""
    roots = data.root if isinstance(data.root, Mapping) else None
    if data.files is None and roots is None:
        check_roots(recipe, targets, {}, versions.optional_targets(recipe, mode))
    check: Check | None = "headers" if headers else None
    pairs = scenes_of(
        recipe, mode, targets, roots, data.files, check, strict=strict, decode=decode, cache=False, **data.more
    )
    left_out = tuple(defect.message for defect in pairs.defects)
    return RecipeSource(table_of_scenes(pairs), recipe.inputs, decode, left_out, tuple(pairs.notes))


def check(
    recipe: Recipe, mode: Mode, data: Any, *, names: Mapping[str, str], split: str | None, content: bool,
    advance: Parts, **_: Any,
) -> CheckReport:  # fmt: skip
    """Check every file that a recipe of kind pair would read.

    Args:
        recipe: says which targets it takes.
        mode: the section of the recipe.
        data: folders by target, or a CSV file.
        names: with folders: templates of names by target.
        split: the split of a CSV file.
        content: also compare each small image with the large one, reduced to its size.
        advance: called with the name of a phase and its progress.

    Raises:
        DataError: there is nothing to check.
    """
    targets = targets_of(recipe, mode)
    if isinstance(data, str) and not data.lower().endswith((".csv", ".tsv")):
        wanted = " ".join(f"{name}=FOLDER" for name in sorted(targets, key=lambda name: -recipe.scales[name]))
        raise DataError(f"recipe {recipe.name!r} is of kind pair: give {wanted}, or a CSV file", data)
    arguments = data_arguments(recipe, data)
    if arguments.files and names:
        raise DataError("--names goes with folders; a CSV file names every file", arguments.files)
    more = {"split": split, **arguments.more}
    roots, files = arguments.root, arguments.files
    pairs = find_scenes(recipe, mode, targets, roots, files, names=names or None, cache=False, **more)
    pairs = checked(pairs, recipe, mode, advance=partial(advance, "reading headers"))
    defects, notes, fine = pairs.defects, list(pairs.notes), len(pairs.scenes)
    if content and len(pairs.targets) > 1:
        factors = grid.scale_factors(versions.with_versions(recipe.scales, pairs.targets))
        rows = (zip(pairs.targets, paths, strict=True) for paths in pairs.scenes)
        scenes = [{name: path for name, path in row if path} for row in rows]
        faint: list[str] = []  # in the order in which threads append
        work = partial(compare_scene, inputs=recipe.inputs, factors=factors, faint=faint)
        wrong = [*in_threads(work, scenes, advance=partial(advance, "comparing"))]
        defects, fine = [*defects, *chain(*wrong)], wrong.count([])
        if faint:
            text = "with too little to see for a comparison, such as a clear sky"
            notes.append(f"{counted(len(faint), 'pair')} {text} (first: {min(faint)})")
    listed = {name: pairs.listed.get(name, 0) for name in pairs.targets}
    return CheckReport("scene", listed, fine, defects, notes, {"cropped": [asdict(cut) for cut in pairs.cropped]})


def compare_scene(
    paths: Mapping[str, str], factors: Mapping[str, int], faint: list[str], inputs: Inputs = _LEVELS
) -> list[Defect]:
    """Compare the images of a scene, by target with the largest first; paths without contrast go to `faint`."""
    images, decode = {}, decode_arguments(inputs)
    low, high = inputs.full_range
    for name, path in paths.items():
        try:
            image = read_image(path, **(decode if "dtype" in decode else {}))
        except DataError as error:
            return [Defect("unreadable", tuple(paths.values()), str(error))]
        if image.dtype != np.uint8:
            grey = np.nan_to_num((image.mean(axis=2, keepdims=True, dtype=np.float32) - low) * (255 / (high - low)))
            image = np.repeat(grey.astype(np.float32), 3, axis=2)
        images[name] = image
    rows, columns = grid.common_size({name: image.shape[:2] for name, image in images.items()}, factors)
    (first, large), *others = [
        (paths[name], image[: rows * factors[name], : columns * factors[name]]) for name, image in images.items()
    ]
    differences = {path: compare(large, image) for path, image in others}
    faint += [path for path, text in differences.items() if text == ""]
    return [Defect("content", (first, path), f"{first} and {path}: {text}")
            for path, text in differences.items() if text]  # fmt: skip


def compare(large: NDArray[np.uint8], small: NDArray[np.uint8]) -> str | None:
    """Compare two images of one scene, uint8 H×W×C, by normalised cross-correlation of differences of Gaussians.

    The large image is first reduced to the size of the small one. The difference of Gaussians removes fine detail,
    which noise, compression and the reduction's filter change, and broad shading, which exposure and fading change.

    Not detected: shifts of less than a pixel of the small image, changed or exchanged colours.

    Returns:
        What is wrong, in words; None where the images agree; "" where they have too little contrast (a clear sky).

    >>> scene = cv2.GaussianBlur(np.random.default_rng(0).integers(0, 256, (256, 256, 3), np.uint8), (0, 0), 6)
    >>> scene = cv2.normalize(scene, None, 0, 255, cv2.NORM_MINMAX)
    >>> lr = cv2.resize(scene, (64, 64), interpolation=cv2.INTER_AREA)
    >>> compare(scene, lr), compare(scene, np.roll(lr, 1, axis=1))
    (None, 'shifted by 1 px to the right')
    """
    height, width = small.shape[:2]
    a, b = _band(np.asarray(cv2.resize(large, (width, height), interpolation=cv2.INTER_AREA))), _band(small)
    spread = float(a.std()), float(b.std())
    if min(spread) < _FAINT:
        return ""
    here = float((a * b).mean()) / (spread[0] * spread[1])
    if reach := min(_FARTHEST, height // 4, width // 4):
        scores = cv2.matchTemplate(a, b[reach:-reach, reach:-reach].copy(), cv2.TM_CCOEFF_NORMED)
        y, x = divmod(int(np.argmax(scores)), scores.shape[1])
        if scores[y, x] >= max(_SURE, scores[reach, reach] + _MARGIN):
            return f"shifted by {_in_words(reach - x, reach - y)}"
    # Noise in the small image adds to its deviation and lowers the correlation with a faint large image as much.
    if here < _SAME * min(1.0, spread[0] / spread[1]):
        return f"they do not look like one scene (correlation {here:.2f})"
    return None


def _band(image: NDArray[Any]) -> NDArray[np.float32]:
    """The difference of Gaussians of the grey image, with mean 0."""
    grey = image.mean(axis=2, dtype=np.float32)
    band = cv2.GaussianBlur(grey, (0, 0), _FINE) - cv2.GaussianBlur(grey, (0, 0), _BROAD)
    return np.asarray(band - band.mean(), np.float32)


def _in_words(x: int, y: int) -> str:
    ways = (x, "to the right" if x > 0 else "to the left"), (y, "down" if y > 0 else "up")
    return " and ".join(f"{abs(pixels)} px {way}" for pixels, way in ways if pixels)


def size_faults(recipe: Recipe, path: str, sizes: Mapping[str, Size]) -> KindsAndMessages:
    """Find the faults of the sizes of a scene's images, given by target."""
    factors = grid.scale_factors(dict(recipe.scales))
    first = max(sizes, key=lambda name: factors[name])
    for name, size in sizes.items():
        if why := misfit(first, name, sizes, factors):
            yield "size", f"{path}: {name} is {size_text(size)}, {first} {size_text(sizes[first])}: {why}"
