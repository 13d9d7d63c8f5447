"""Which scenes a recipe of kind pair reads, and what it wants of them; no torch here."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from augrecipes.compiler.compile import check, steps_of
from augrecipes.compiler.run.grid import unit
from augrecipes.data.tables.pair_checks import Wanted, first_crop
from augrecipes.data.tables.pair_table import FoundScenes, find_in_csv, find_in_folders
from augrecipes.errors import DataError
from augrecipes.ops import groups
from augrecipes.recipe.model import Mode, Recipe
from augrecipes.sources.files import MAX_PIXELS, Exif
from augrecipes.sources.losses import Depth, Frames
from augrecipes.sources.pair_roots import Roots
from augrecipes.sources.paths import PathLike


def targets_of(recipe: Recipe, mode: Mode) -> tuple[str, ...]:
    """The targets that have files: those that no Degrade makes. Does not import albumentations, as compiling does.

    Raises:
        RecipeError: no section for `mode`.
        LintError: a lint error that the recipe does not silence.
    """
    made = {step.args["target"] for step in steps_of(recipe, mode) if step.name == groups.DEGRADE}
    check(recipe)
    return tuple(name for name in recipe.scales if name not in made)


def find_scenes(
    recipe: Recipe,
    targets: tuple[str, ...],
    roots: Mapping[str, Roots] | None,
    files: PathLike | None,
    *,
    names: Mapping[str, str] | None = None,
    split: str | None = None,
    cache: bool = True,
    columns: Mapping[str, str] | None = None,
) -> FoundScenes:
    """The scenes that a dataset of these arguments has, by name; nothing is opened but the CSV file.

    Raises:
        DataError: folders for other targets than the recipe reads, or none for one of them.
    """
    scales = dict(recipe.scales)
    if (roots is None) == (files is None):
        raise TypeError("give folders for the targets, such as {'hr': ..., 'lr': ...}, or files= a CSV file, not both")
    if files is not None:
        if names:
            raise TypeError("names= goes with folders; a CSV file names every file")
        return find_in_csv(files, scales, targets, split, columns)
    if split is not None or columns is not None:
        raise TypeError("split= and columns= go with files=")
    if not isinstance(roots, Mapping):
        raise TypeError(f"roots must be a mapping of targets to folders, such as {{'hr': ...}}, got {roots!r}")
    check_roots(recipe, targets, roots)
    return find_in_folders(roots, scales, names, cache=cache)


def check_roots(recipe: Recipe, targets: Sequence[str], roots: Collection[str]) -> None:
    """Refuse folders for targets that the recipe does not read, and targets without a folder; DataError."""
    wanted = " ".join(f"{name}=FOLDER" for name in sorted(targets, key=lambda name: -recipe.scales[name]))
    if made := [name for name in roots if name in recipe.scales and name not in targets]:
        text = f"{' and '.join(made)} is made by the recipe's Degrade and is not read"
    elif unknown := [name for name in roots if name not in targets]:
        text = f"no target is called {' or '.join(map(repr, unknown))}"
    elif missing := [name for name in targets if name not in roots]:
        text = f"no folder was given for {' and '.join(missing)}"
    else:
        return
    raise DataError(f"{text}; {recipe.name} takes {wanted}, or a CSV file with a column for each")


def wanted_by(
    recipe: Recipe,
    mode: Mode,
    targets: tuple[str, ...],
    *,
    channels: int | None = None,
    exif: Exif = "apply",
    max_pixels: int = MAX_PIXELS,
    depth: Depth | None = None,
    frames: Frames | None = None,
) -> Wanted:
    """What the files of the pairs must be like; see `augrecipes.data.tables.pair_checks`."""
    units = unit(dict(recipe.scales))
    crop = first_crop(recipe.section(mode) or (), units)
    least = recipe.inputs.min_size  # of the coarsest target
    coarsest = min(units.values())
    sizes = (
        {name: (_scaled(least[0], k, coarsest), _scaled(least[1], k, coarsest)) for name, k in units.items()}
        if least
        else {}
    )
    channels = channels or recipe.inputs.channels or 3
    return Wanted(targets, units, channels, exif, max_pixels, depth, frames, sizes, crop)


def _scaled(pixels: int, unit_: int, coarsest: int) -> int:
    return -(-pixels * unit_ // coarsest)
