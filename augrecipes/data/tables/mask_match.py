"""Which mask belongs to which image, by their names.

Masks lie in folders of their own under the images' names but for the extension; or they are named after the images by a
template with `{stem}` in it, such as `masks/{stem}_mask.png`, or, beside the images, `{stem}_mask.png`.
"""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

import numpy as np
import numpy.typing as npt

from augrecipes.data.tables.problems import listed
from augrecipes.errors import DataError
from augrecipes.sources.listing import list_folders
from augrecipes.sources.paths import PathLike, PathTable

_STEM = "{stem}"


@dataclass(frozen=True)
class Masks:
    """Files that are masks, and the relative name that each has without what the template adds to it."""

    paths: PathTable
    names: Sequence[str]


def is_template(masks: PathLike) -> bool:
    """Whether `masks=` is a template.

    >>> is_template("{stem}_mask.png"), is_template("masks")
    (True, False)
    """
    return _STEM in os.fsdecode(masks)


def mask_files(
    images: PathTable, roots: Sequence[PathLike], masks: Sequence[PathLike], *, cache: bool
) -> tuple[npt.NDArray[np.int64], Masks]:
    """The masks, and the positions of the images that are no masks.

    Args:
        images: all pictures below the roots, masks among them where they lie beside the images.
        roots: of the images.
        masks: folders, or a template.
        cache: keep listings.

    Raises:
        DataError: a folder is missing or empty, or no file is named by the template.
        ValueError: a template with more or less than one `{stem}` in its last part.
    """
    everything = np.arange(len(images))
    if not any(map(is_template, masks)):
        paths = list_folders(masks, cache=cache, layout="flat").paths
        return everything, Masks(paths, [_name(paths, k) for k in range(len(paths))])
    if len(masks) > 1:
        raise ValueError("masks= takes one template, or folders")
    template = os.fsdecode(masks[0])
    folder, last = os.path.split(template)
    if _STEM in folder or last.count(_STEM) != 1:
        raise ValueError(f"masks={template!r} should have one {_STEM} in the name of the file: masks/{_STEM}_mask.png")
    before, after = last.split(_STEM)
    if not folder and not before and "." in after and not after.partition(".")[0]:
        raise ValueError(f"masks={template!r} would name the images themselves; give the folder of the masks, too")
    if "." not in after:
        after += r".*"
    pattern = re.compile(re.escape(before) + "(.+)" + re.escape(after).replace(r"\.\*", r"\.[^.]+"), re.S)
    paths = list_folders([folder], cache=cache, layout="flat").paths if folder else images
    names = [_stem(pattern, paths.name(k)) for k in range(len(paths))]
    chosen = np.array([k for k, name in enumerate(names) if name is not None], np.int64)
    if not len(chosen):
        raise DataError(f"no file here is named {last}", folder or ", ".join(map(os.fsdecode, roots)))
    own = everything if folder else np.setdiff1d(everything, chosen)
    if not len(own):
        raise DataError(f"all files here are named {last}: there are no images", ", ".join(map(os.fsdecode, roots)))
    return own, Masks(paths.take(chosen), [name for name in names if name is not None])


def _stem(pattern: re.Pattern[str], name: str) -> str | None:
    """The relative name of the image that a mask is named after, or None for another file."""
    path = PurePath(name)
    found = pattern.fullmatch(path.name)
    return None if found is None else str(path.with_name(found[1]))


def masks_of(images: PathTable, masks: Masks) -> PathTable:
    """The mask of every image; DataError naming all that have none or several."""
    chosen, problems = match_masks(images, masks)
    if problems:
        raise DataError(
            f"{len(problems)} of {len(images)} images have not exactly one mask:{listed(problems.values())}"
        )
    return masks.paths.take([k for k in chosen if k is not None])


def match_masks(images: PathTable, masks: Masks) -> tuple[list[int | None], dict[int, str]]:
    """Of every image its mask: the one of the same relative name, or else the only one of the same file name.

    Returns:
        The position of each image's mask, None where there is none or no single one; and what is wrong with those, by
        the image's position.
    """
    by_name: dict[str, list[int]] = defaultdict(list)
    by_stem: dict[str, list[int]] = defaultdict(list)
    for k, name in enumerate(masks.names):
        by_name[name].append(k)
        by_stem[PurePath(name).name].append(k)
    names = [_name(images, i) for i in range(len(images))]
    stems = Counter(PurePath(name).name for name in names)
    chosen: list[int | None] = []
    problems: dict[int, str] = {}
    for i, name in enumerate(names):
        stem = PurePath(name).name
        found = by_name.get(name) or by_stem.get(stem, [])
        shared = name not in by_name and stems[stem] > 1
        chosen.append(found[0] if len(found) == 1 and not shared else None)
        if not found:
            problems[i] = f"{images[i]}: no mask"
        elif shared:
            problems[i] = (
                f"{images[i]}: {masks.paths[found[0]]} has its name, and that of {stems[stem] - 1} other images"
            )
        elif len(found) > 1:
            problems[i] = f"{images[i]}: several masks: {', '.join(masks.paths[k] for k in found)}"
    return chosen, problems


def _name(paths: PathTable, i: int) -> str:
    """The path below its root, without the extension."""
    return str(PurePath(paths.name(i)).with_suffix(""))
