"""Lists the scenes of a dataset of pairs, by names or a CSV file, and checks them by their headers."""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from augrecipes import progress, remote
from augrecipes.compiler.compile import check, steps_of
from augrecipes.errors import DataError, counted
from augrecipes.images.format import ImageHeader
from augrecipes.images.reading import read_headers
from augrecipes.kinds.pair.grid import common_size, scale_factors
from augrecipes.kinds.pair.pairing import Cropped, PairScenes, pair
from augrecipes.kinds.pair.versions import optional_targets, read_order, target_of, versions, with_versions
from augrecipes.ops import groups
from augrecipes.recipe.model import Mode, Recipe
from augrecipes.sources import csv_list, defects, sample
from augrecipes.sources.columns import Columns
from augrecipes.sources.defects import Defect, Findings, Least, Size
from augrecipes.sources.paths import PathLike, PathTable, Roots

Check = Literal["headers", "names"]
_COLUMNS = ("label", "split", "group", "weight")
_LARGEST_RATIO = 16


def targets_of(recipe: Recipe, mode: Mode) -> tuple[str, ...]:
    """The targets that are read from files: those that no Degrade makes, and those that are `real` in some samples.

    Unlike compiling, this does not import albumentations.

    Raises:
        RecipeError: the recipe has no section for `mode`.
        LintError: a lint error that the recipe does not silence.
    """
    degraded = {step.args["target"] for step in steps_of(recipe, mode) if step.name == groups.DEGRADE}
    degraded -= optional_targets(recipe, mode)
    check(recipe)
    return tuple(name for name in recipe.scales if name not in degraded)


def find_scenes(
    recipe: Recipe, mode: Mode, targets: tuple[str, ...], roots: Mapping[str, Roots] | None, files: PathLike | None, *,
    names: Mapping[str, str] | None = None, split: str | None = None, cache: bool = True,
    columns: Mapping[str, str] | None = None, outside: bool = False,
) -> PairScenes:  # fmt: skip
    """List the scenes of a dataset, by names or a CSV file; opens no image.

    Raises:
        DataError: folders for targets that the recipe does not read, or no folder for a target that it reads.
        TypeError: arguments that exclude each other.
    """
    if (roots is None) == (files is None):
        raise TypeError("give folders for the targets, such as {'hr': ..., 'lr': ...}, or files= a CSV file, not both")
    optional = optional_targets(recipe, mode)
    if files is not None:
        if names:
            raise TypeError("names= goes with folders; a CSV file names every file")
        scenes = _scenes_of_csv(files, recipe, optional, targets, split, columns, outside=outside)
        return _with_notes(scenes, recipe, optional)
    if split is not None or columns is not None:
        raise TypeError("split= and columns= go with files=")
    if not isinstance(roots, Mapping):
        raise TypeError(f"roots must be a mapping of targets to folders, such as {{'hr': ...}}, got {roots!r}")
    check_roots(recipe, targets, roots, optional)
    read = {name: folders for name, folders in roots.items() if target_of(name, recipe.scales) in targets}
    return _with_notes(pair(read, dict(recipe.scales), names=names, cache=cache, optional=optional), recipe, optional)


def _with_notes(pairs: PairScenes, recipe: Recipe, optional: Collection[str]) -> PairScenes:
    """The scenes, with a note for each optional target that some scenes lack."""
    for target in sorted(optional):
        places = [k for k, name in enumerate(pairs.targets) if target_of(name, recipe.scales) == target]
        lacking = [scene[0] for scene in pairs.scenes if not any(scene[k] for k in places)]
        if lacking:
            text = f"{len(lacking)} of {counted(len(pairs.scenes), 'scene')} have no {target}, {lacking[0]} first"
            pairs.notes.append(f"{text}: Degrade makes it in all of their samples")
    return pairs


def check_roots(recipe: Recipe, targets: Sequence[str], roots: Collection[str], optional: Collection[str] = ()) -> None:
    """Refuse folders for targets that the recipe does not read, and targets without a folder; DataError."""
    present = versions(roots, recipe.scales)
    wanted = " ".join(f"{name}=FOLDER" for name in sorted(targets, key=lambda name: -recipe.scales[name]))
    if degraded := [name for name in present if name not in targets and name not in recipe.inputs.real]:
        text = f"{' and '.join(degraded)} is made by the recipe's Degrade and is not read"
    elif unknown := [name for name in roots if not target_of(name, recipe.scales)]:
        text = f"no target is called {' or '.join(map(repr, unknown))}"
    elif missing := [name for name in targets if name not in roots and name not in optional]:
        text = f"no folder was given for {' and '.join(missing)}"
    else:
        return
    raise DataError(f"{text}; {recipe.name} takes {wanted}, or a CSV file with a column for each")


def _scenes_of_csv(
    path: PathLike,
    recipe: Recipe,
    optional: frozenset[str],
    targets: Sequence[str],
    split: str | None,
    renamed: Mapping[str, str] | None,
    *,
    outside: bool,
) -> PairScenes:
    """Scenes by the rows of a CSV file: one column a target, relative paths taken from the file's folder."""
    scales = with_versions(recipe.scales, (*(renamed or ()), *csv_list.column_names(path)))
    all_rows = csv_list.read_rows(path, known=(*scales, *_COLUMNS), required=(), renamed=renamed)
    read = {name for name in scales if name in all_rows.columns and target_of(name, recipe.scales) in targets}
    order = read_order({*targets} - optional | read, recipe.scales, optional)
    if absent := [f"`{name}`" for name in order if name not in all_rows.columns]:
        text = f"no column {' and '.join(absent)}; a list of pairs has a column for each of {', '.join(order)}"
        raise DataError(text, all_rows.path)
    keep = all_rows.split_rows(split)
    columns = all_rows.fields(keep)
    all_rows.refuse()  # a defect in any split affects classes and weights
    rows, findings = all_rows.select(keep), Findings()
    paths = [rows.paths(name, outside=outside, blank=target_of(name, recipe.scales) in optional) for name in order]
    findings.rows(all_rows.path, all_rows.problems)
    files = [*zip(order, paths, strict=True)]
    good = rows.good_rows().tolist()
    return PairScenes(
        tuple(order),
        scenes=[tuple(table[i] if rows.columns[name][i] else "" for name, table in files) for i in good],
        defects=findings.defects,
        listed={name: sum(map(bool, rows.columns[name])) for name in order},
        roots=[str(remote.place_of(all_rows.path).parent)],
        columns=csv_list.rows_of_columns(good, columns),
    )


def checked(
    pairs: PairScenes,
    recipe: Recipe,
    mode: Mode,
    method: Check = "headers",
    advance: progress.Progress | None = None,
    **decode: Any,
) -> PairScenes:
    """Check scenes; keep those without defects, and note what is cut off their images.

    Args:
        pairs: scenes and their defects so far.
        recipe: says what the sizes must be.
        mode: section of the recipe.
        method: `headers` checks sizes and channels, `names` whether all files exist.
        advance: called with the number of headers that are read, and their total.
        decode: arguments of `read_image`.
    """
    decode = sample.decode_arguments(recipe.inputs) | decode
    targets, exif = pairs.targets, decode.pop("exif")
    factors = scale_factors(with_versions(recipe.scales, targets))
    least = defects.least_sizes(recipe, mode, factors)
    paths = list(dict.fromkeys(path for scene in pairs.scenes for path in scene if path))
    reasons: dict[str, str] = {}
    headers: dict[str, Any] = {}
    if method == "names":
        reasons = {path: "no such file" for path in paths if "://" not in path and not os.path.lexists(path)}
    else:
        headers = dict(zip(paths, read_headers(paths, advance), strict=True))
        reasons = {path: why for path, header in headers.items() if (why := defects.why_unreadable(header, **decode))}
    wrong: dict[str, Defect] = {}  # by message, so that a file in several rows is reported once
    fine: list[int] = []
    cuts: dict[str, list[tuple[str, Size, Size]]] = {name: [] for name in targets}
    for position, row in enumerate(pairs.scenes):
        problems = []
        present = {name: path for name, path in zip(targets, row, strict=True) if path}
        scene = (*present.values(),)
        for name, path in present.items():
            if path in reasons:
                where = " of ".join(filter(None, (name, ", ".join(other for other in scene if other != path))))
                problems.append(Defect("unreadable", scene, f"{path}: {reasons[path]} ({where})"))
        sizes: dict[str, Size] = {}
        if headers and not problems:
            sizes = {name: defects.upright(headers[path], exif) for name, path in present.items()}
            problems = [
                *_sizes(scene, sizes, factors, least),
                *_channels(scene, [headers[path] for path in scene], decode["channels"]),
            ]
        wrong |= {defect.message: defect for defect in problems if defect.message not in wrong}
        if problems:
            continue
        fine.append(position)
        rows, columns = common_size(sizes, factors) if sizes else (0, 0)
        for path, (name, size) in zip(scene, sizes.items(), strict=False):
            used = rows * factors[name], columns * factors[name]
            if used != size:
                cuts[name].append((path, size, used))
    cropped = tuple(
        Cropped(name, len(cut), len(fine), max(max(a[0] - b[0], a[1] - b[1]) for _, a, b in cut), *cut[0])
        for name, cut in cuts.items()
        if cut
    )
    notes = [*pairs.notes, *map(str, cropped)]
    if profiles := {} if recipe.inputs.icc else defects.profile_notes(headers):
        notes.append(f"{counted(len(profiles), 'image')}, {min(profiles)} first: {profiles[min(profiles)]}")
    return replace(
        pairs,
        scenes=[pairs.scenes[i] for i in fine],
        defects=[*pairs.defects, *wrong.values()],
        notes=notes,
        cropped=cropped,
        columns=csv_list.rows_of_columns(fine, pairs.columns),
    )


def _sizes(
    paths: tuple[str, ...], sizes: Mapping[str, Size], factors: Mapping[str, int], least: Least
) -> Iterator[Defect]:
    texts = [f"{path} {defects.size_text(size)}" for path, size in zip(paths, sizes.values(), strict=True)]
    first, *others = sizes
    misfits = [(k, misfit(first, name, sizes, factors)) for k, name in enumerate(others, 1)]
    for k, why in misfits:
        if why:
            yield Defect("size", (paths[0], paths[k]), f"{texts[0]} and {texts[k]}: {why}")
    if not any(why for _, why in misfits):
        if (cells := _cells(sizes, factors)) is None:  # a single target below one cell
            yield Defect("size", paths, f"{' and '.join(texts)}: smaller than one common cell")
        elif why := defects.too_small(cells, least, {name: factors[name] for name in sizes}):
            yield Defect("small", paths, f"{' and '.join(texts)}: {why}")


def _channels(paths: tuple[str, ...], headers: Sequence[ImageHeader], channels: int | None) -> Iterator[Defect]:
    kinds = ["grey" if channels == 1 or header.color == "grey" else "RGB" for header in headers]
    kinds = [kind + " with alpha" if header.alpha else kind for kind, header in zip(kinds, headers, strict=True)]
    if len({*kinds}) > 1:
        text = " and ".join(f"{path} is {kind}" for path, kind in zip(paths, kinds, strict=True))
        remedies = ["save it without alpha"] if any(header.alpha for header in headers) else []
        if len({kind.removesuffix(" with alpha") for kind in kinds}) > 1:
            remedies.append("save both as RGB, or read both as grey (`inputs: {image: {channels: 1}}`)")
        yield Defect("channels", paths, f"{text}: {' and '.join(remedies)}")


def misfit(large: str, small: str, sizes: Mapping[str, Size], factors: Mapping[str, int]) -> str | None:
    """Why the sizes of two targets do not fit, and the likely cause; None where they fit.

    >>> misfit("hr", "lr", {"hr": (300, 451), "lr": (150, 225)}, {"hr": 4, "lr": 1})
    'lr should be 112×75 at ×4; this looks like ×2'
    """
    a, b = sizes[large], sizes[small]
    if _cells({large: a, small: b}, factors) is not None:
        return None
    if tiny := [name for name in (large, small) if min(sizes[name]) < factors[name]]:
        return f"{tiny[0]} is smaller than one common cell of {factors[tiny[0]]} px"
    height, width = (n // factors[large] * factors[small] for n in a)
    more = f" (or up to {factors[small] - 1} px more)" if factors[small] > 1 else ""
    times = next((k for k in range(2, _LARGEST_RATIO + 1) if (a[0] // k, a[1] // k) == b), None)
    if a == b:
        looks = "; both have one size: was it enlarged already?"
    elif b[0] >= a[0] and b[1] >= a[1]:
        looks = f"; the two look swapped: {small} is the larger one"
    elif _cells({large: a, small: b[::-1]}, factors) is not None:
        looks = "; it fits when one of them is turned by a quarter (an EXIF orientation?)"
    else:
        looks = f"; this looks like ×{times}" if times else ""
    ratio = factors[large] / factors[small]
    return f"{small} should be {defects.size_text((height, width))}{more} at ×{ratio:g}{looks}"


def _cells(sizes: Mapping[str, Size], factors: Mapping[str, int]) -> Size | None:
    """Rows and columns of common cells; None where the targets do not fit each other."""
    try:
        return common_size(sizes, factors)
    except DataError:
        return None


def table_of_scenes(pairs: PairScenes) -> Columns:
    """The scenes as a table, with names relative to their roots, so that they do not depend on the data's location."""
    files = {name: _below([scene[k] for scene in pairs.scenes], pairs.roots) for k, name in enumerate(pairs.targets)}
    return Columns(files=files, **pairs.columns)


def _below(paths: Sequence[str], roots: Sequence[str]) -> PathTable:
    """A table of `paths` with names relative to the innermost root that contains each.

    >>> table = _below(["a/1.png", "b/c/1.png"], ["b", "b/c", "a"])
    >>> table.name(0), table.name(1), table[1].replace(os.sep, "/")
    ('1.png', '1.png', 'b/c/1.png')
    """
    tops = sorted({*(os.path.join(os.fsencode(root), b"") for root in roots), b""}, key=len, reverse=True)  # noqa: PTH118
    encoded = [os.fsencode(path) for path in paths]
    root_of = [next(k for k, top in enumerate(tops) if path.startswith(top)) for path in encoded]
    table = PathTable.from_names([path[len(tops[k]) :] for path, k in zip(encoded, root_of, strict=True)])
    return replace(table, roots=tuple(tops), root_of=np.array(root_of, np.int32))
