"""Which mask belongs to which image, by their names.

Masks lie in folders of their own under the images' names but for the extension; or they are named after the images by a
template with `{stem}` in it, such as `masks/{stem}_mask.png`, or, beside the images, `{stem}_mask.png`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from augrecipes.errors import DataError
from augrecipes.sources.listing import list_folders
from augrecipes.sources.pairs import alike, bare, by_scene, template
from augrecipes.sources.paths import PathLike, PathTable

_STEM = "{stem}"


@dataclass(frozen=True)
class MaskMatch:
    """Images and their masks.

    Attributes:
        keep: int64, positions of the images that have exactly one mask.
        masks: theirs.
        problems: what is wrong with the other images, by position.
        unused: how many masks belong to no image.
    """

    keep: npt.NDArray[np.int64]
    masks: PathTable
    problems: dict[int, str]
    unused: int


def match_masks(images: PathTable, roots: Sequence[PathLike], masks: Sequence[PathLike], *, cache: bool) -> MaskMatch:
    """The mask of each image: the one of the same name; folders count where images and masks have the same ones.

    Args:
        images: all images below the roots, masks among them where they lie beside the images.
        roots: of the images.
        masks: folders, or a template.
        cache: keep listings.

    Raises:
        DataError: a folder is missing or empty, or no file is named by the template.
        ValueError: a template with more or less than one `{stem}` in its last part.
    """
    folders, named = masks, template("{}")
    if last := _template(masks):
        folder, last = os.path.split(last)
        folders, named = [folder] if folder else [], template(last.removesuffix(".*").replace(_STEM, "{}"))
    table = list_folders(folders, cache=cache, layout="flat").paths if folders else images
    files = {k: bare(table.name(k)) for k in range(len(table))}
    theirs = by_scene(files, named)
    taken = {k for some in theirs.values() for k in some} if table is images else set()
    own = {k: bare(images.name(k)) for k in range(len(images)) if k not in taken}
    if not theirs or not own:
        what = "all files here are named {}: there are no images" if theirs else "no file here is named {}"
        raise DataError(what.format(last), ", ".join(map(os.fsdecode, folders or roots)))
    ours, theirs = alike(by_scene(own, template("{}")), theirs)
    chosen: dict[int, int] = {}
    problems: dict[int, str] = {}
    for scene, these in ours.items():
        found = theirs.get(scene, [])
        if len(these) == len(found) == 1:
            chosen[these[0]] = found[0]
        for i in these if these[0] not in chosen else ():
            several = ", ".join(table[k] for k in found)
            shared = f" for {len(these)} images of this name" if len(these) > 1 else ""
            problems[i] = f"{images[i]}: {'several masks' if len(found) > 1 else 'one mask'}{shared}: {several}"
            if not found:
                problems[i] = f"{images[i]}: no mask"
    keep = sorted(chosen)
    unused = sum(map(len, theirs.values())) - len(chosen)
    masks_of = table.take([chosen[i] for i in keep])
    return MaskMatch(np.array(keep, np.int64), masks_of, dict(sorted(problems.items())), unused)


def _template(masks: Sequence[PathLike]) -> str:
    """The template of masks; empty where they lie in folders."""
    if not any(_STEM in os.fsdecode(path) for path in masks):
        return ""
    if len(masks) > 1:
        raise ValueError("masks= takes one template, or folders")
    text = os.fsdecode(masks[0])
    folder, last = os.path.split(text)
    if _STEM in folder or last.count(_STEM) != 1 or (not folder and last.startswith(f"{_STEM}.")):
        raise ValueError(
            f"masks={text!r} should have one {_STEM} in the name of the file, and not name the images themselves: "
            f"masks/{_STEM}_mask.png, or a folder"
        )
    return text
