"""Pairs the files of several targets that show the same scene: by name, never by their order in a folder.

The names of a target's files follow one template, such as ``{}`` or ``{}x4``. Without `names=`, the templates are
chosen from the usual suffixes and prefixes (`_HR`, `_GT`, `x4`, `_LRBI_x3`, `_SRF_4_LR`, `HR_`) so that most scenes
have both files. A file without a partner is a defect: single files are never paired by a guess.

Folders below the roots are part of the name where the targets have the same folders: ``a/1`` and ``b/1`` are two
scenes. Where they share none, file names alone decide.
"""

import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain, product
from typing import Any

from augrecipes.errors import DataError, counted
from augrecipes.kinds.pair.versions import read_order, target_of, with_versions
from augrecipes.sources.defects import Defect, Size, size_text
from augrecipes.sources.listing import list_folders
from augrecipes.sources.names import Scenes, by_scene, match_folders, stem, template
from augrecipes.sources.paths import Roots

_Files = Mapping[str, str]  # from paths to names relative to the root, without extension

_SUFFIX = re.compile(
    r"(?i)(?:[-_. ](?:hr|gt|hq|lq|lr[a-z]*\d*|bicubic|down[a-z]*|srf[-_]?\d+|\d{1,2}x)|[-_. ]?[x×]\d{1,2}m?)$"
)
_PREFIX = re.compile(r"(?i)(?:hr|gt|hq|lr|lq)[-_. ](?=.)")
_SCALE = re.compile(r"[xX×](\d{1,2}(?:\.\d+)?)|(?<!\d)(\d{1,2})[xX](?!\d)")
_MOST_TEMPLATES = 4  # templates besides ``{}`` that are tried for a target, and for a name


@dataclass(frozen=True, slots=True)
class Cropped:
    """What is cut off the images of one target, because they are larger than the scales allow.

    Attributes:
        target: name of the target.
        count: number of images that are cut.
        total: number of images that were checked.
        most: the most pixels that are cut off a side.
        first: path of the first image that is cut.
        before: (height, width) of that image, px.
        after: (height, width) of its top left part that is used, px.
    """

    target: str
    count: int
    total: int
    most: int
    first: str
    before: Size
    after: Size

    def __str__(self) -> str:
        images = f"{self.count} of {self.total} {self.target} images"
        are, px = ("is" if self.count == 1 else "are"), f"{'up to ' if self.count > 1 else ''}{self.most} px"
        return (
            f"{images} {are} {px} larger than the scales allow: the top left is used "
            f"(first: {self.first} {size_text(self.before)} → {size_text(self.after)}, width×height)"
        )


@dataclass(slots=True)
class PairScenes:
    """The scenes of a dataset, each with a file for every target, before and after their files are checked.

    Attributes:
        targets: names of the targets, the largest scale first.
        scenes: the paths of each scene, in the order of `targets`; sorted by root, then by path.
        defects: defects of files and scenes, and files that belong to no scene.
        listed: number of files of each target.
        roots: folders to which the names of files are relative.
        notes: sentences for the log on what is no defect.
        columns: labels, weights and such of the scenes, from a CSV file.
        cropped: what is cut off images, once their headers are checked.
    """

    targets: tuple[str, ...]
    scenes: list[tuple[str, ...]] = field(default_factory=list)
    defects: list[Defect] = field(default_factory=list)
    listed: dict[str, int] = field(default_factory=dict)
    roots: Sequence[str] = ()
    notes: list[str] = field(default_factory=list)
    columns: dict[str, Any] = field(default_factory=dict)
    cropped: tuple[Cropped, ...] = ()


def pair(
    roots: Mapping[str, Roots], scales: Mapping[str, int], *, names: Mapping[str, str] | None = None,
    cache: bool = True, optional: Collection[str] = (),
) -> PairScenes:  # fmt: skip
    """Find the scenes of which every target has exactly one file.

    Args:
        roots: for each target a folder, or a list of folders. Lists of equal length are several data sets, whose i-th
            folders belong together; a single folder beside lists belongs to all of them. `lr_2` is another version of
            `lr`.
        scales: relative scale of each target.
        names: templates such as ``{"lr": "{}x4"}`` of a target's file names below its root, where ``{}`` is the scene's
            name, and a file's whole name without a template. Files with other names are left out, with a note. None:
            templates are chosen by the usual suffixes and prefixes.
        cache: see `augrecipes.sources.listing.list_folders`.
        optional: targets for which a scene needs no file; their paths may be empty.

    Raises:
        DataError: a root is missing or empty, a template is invalid, or a file would belong to two targets.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as root:
    ...     for name in ("HR/box.png", "HR/box2.png", "X4/boxx4.png", "X4/box2x4.png", "X4/bagx4.png"):
    ...         file = pathlib.Path(root, name)
    ...         file.parent.mkdir(exist_ok=True)
    ...         file.touch()
    ...     found = pair({"lr": f"{root}/X4", "hr": f"{root}/HR"}, {"lr": 1, "hr": 4})
    >>> [tuple(pathlib.Path(path).name for path in scene) for scene in found.scenes]
    [('box.png', 'boxx4.png'), ('box2.png', 'box2x4.png')]
    >>> [pathlib.Path(file).name for defect in found.defects for file in defect.files]
    ['bagx4.png']
    """
    order = read_order(roots, scales, optional)
    if unknown := sorted(set(names or ()) - set(order)):
        raise DataError(f"names= has {', '.join(unknown)}; the targets that are read are {', '.join(order)}")
    lists = {name: _texts(roots[name]) for name in order}
    optional_names = {name for name in order if target_of(name, scales) in optional}
    scales = with_versions(scales, order)
    patterns = {name: template((names or {}).get(name, "{}")) for name in order}
    pairs = PairScenes(tuple(order), listed=dict.fromkeys(order, 0), roots=[*chain(*lists.values())])
    for part in _side_by_side(lists):
        files = _files(part, cache=cache)
        for name, texts in files.items():
            pairs.listed[name] += len(texts)
            if names:
                files[name] = {path: text for path, text in texts.items() if patterns[name].fullmatch(text)}
                if others := [path for path in texts if path not in files[name]]:
                    which = f"{counted(len(others), 'file')} of {name}, {others[0]} first"
                    pairs.notes.append(f"{which}: not named {names.get(name, '{}')}, and not read")
        ratios = {name: Fraction(scales[order[0]], scales[name]) for name in order}
        _match(files, ratios, patterns if names else None, pairs, optional_names)
    return pairs


def name_templates(name: str) -> Iterator[str]:
    """Templates that a name may follow, besides ``{}``.

    >>> list(name_templates("img_1_HR_x4")), list(name_templates("LR_baby"))
    (['{}_x4', '{}_HR_x4'], ['LR_{}'])
    """
    end = len(name)
    for _ in range(_MOST_TEMPLATES):
        if (match := _SUFFIX.search(name, 0, end)) and (end := match.start()):
            yield f"{{}}{name[end:]}"
    if match := _PREFIX.match(name):
        yield f"{match[0]}{{}}"


def _texts(roots: Roots) -> list[str]:
    return [os.fsdecode(path) for path in ([roots] if isinstance(roots, str | bytes | os.PathLike) else roots)]


def _side_by_side(lists: Mapping[str, list[str]]) -> Iterable[Mapping[str, list[str]]]:
    """The folders of each data set, by target."""
    if empty := [name for name, paths in lists.items() if not paths]:
        raise DataError(f"no folder was given for {empty[0]}")
    lengths = {len(paths) for paths in lists.values()}
    if len(lengths) == 1:
        return [{name: [paths[i]] for name, paths in lists.items()} for i in range(*lengths)]
    if len(lengths - {1}) == 1:
        return [lists]
    text = ", ".join(f"{name}: {len(paths)}" for name, paths in lists.items())
    problem = f"the lists of folders differ in length ({text}): the i-th folders of all targets belong together"
    raise DataError(f"{problem}; give lists of one length, or one folder for a target")


def _files(lists: Mapping[str, list[str]], *, cache: bool) -> dict[str, _Files]:
    """The files of each target, sorted by path, without folders of other targets inside its own."""
    files: dict[str, _Files] = {}
    problems: list[str] = []
    for target, roots in lists.items():
        others = [other for name in lists if name != target for other in lists[name]]
        inner = tuple(os.path.join(o, "") for o in others if o.startswith(tuple(os.path.join(r, "") for r in roots)))  # noqa: PTH118
        try:
            paths = list_folders(roots, cache=cache, layout="flat").images
        except DataError as error:
            problems.append(f"{target}: {error}")
            continue
        named = {paths[i]: stem(paths.name(i)) for i in range(len(paths))}
        files[target] = {path: named[path] for path in sorted(named, key=os.fsencode) if not path.startswith(inner)}
    if problems:
        raise DataError("\n".join(problems))
    return files


def _find_names(large: _Files, small: _Files, ratio: Fraction) -> tuple[Scenes[str], Scenes[str]]:
    """The files of two targets by scene, with the templates under which most scenes have both files.

    Ties go to templates that state the scale, then to the shortest.
    """
    candidates = []
    for files in (large, small):
        seen = Counter(text for name in files.values() for text in name_templates(name.rpartition("/")[2]))
        texts = ["{}", *(text for text, _ in seen.most_common(_MOST_TEMPLATES))]
        candidates.append([(text, by_scene(files, template(text))) for text in texts])
    best = (-1, False, 0), candidates[0][0][1], candidates[1][0][1]
    for (large_text, large_scenes), (small_text, small_scenes) in product(*candidates):
        both = match_folders(large_scenes, small_scenes)
        score = len(both[0].keys() & both[1].keys()), _scale_in(small_text) == ratio, -len(large_text + small_text)
        best = max(best, (score, *both), key=lambda scored: scored[0])
    return best[1:]


def _scale_in(text: str) -> Fraction | None:
    """The scale that a name states."""
    match = _SCALE.search(text)
    return Fraction(match[1] or match[2]) if match else None


def _match(
    files: Mapping[str, _Files],
    ratios: Mapping[str, Fraction],
    patterns: Mapping[str, re.Pattern[str]] | None,
    pairs: PairScenes,
    optional: Collection[str],
) -> None:
    """Match the files of the largest target with those of each other target, and add the scenes of one data set.

    `optional`: targets for which a scene needs no file.
    """
    first, *others = pairs.targets
    partners: dict[str, dict[str, str]] = {}
    ambiguous: set[str] = set()
    for name in others:
        large, small = files[first], files[name]
        if patterns is None:
            scenes = _find_names(large, small, ratios[name])
        else:
            scenes = match_folders(by_scene(large, patterns[first]), by_scene(small, patterns[name]))
        partners[name] = {}
        for scene, large_files in scenes[0].items():
            small_files = scenes[1].get(scene, [])
            if both := set(large_files) & set(small_files):
                example = f'names={{"{first}": "{{}}_HR", "{name}": "{{}}_LR"}}'
                raise DataError(f"{first} and {name} lie in one folder, {min(both)} is one of both: give each a folder "
                                f"of its own, or say how the files of each are named, as in {example}")  # fmt: skip
            if len(large_files) == len(small_files) == 1:
                partners[name][large_files[0]] = small_files[0]
            elif small_files:
                candidates = (*large_files, *small_files)
                ambiguous.update(candidates)
                text = f"one scene, several files: {', '.join(candidates)}"
                pairs.defects.append(Defect("ambiguous", candidates, text))
    for path in files[first]:
        lacking = [name for name in others if path not in partners[name] and name not in optional]
        if lacking and path not in ambiguous:
            pairs.defects.append(Defect("missing", (path,), f"{path}: no {' and no '.join(lacking)}"))
    for name in others:
        paired = ambiguous.union(partners[name].values())
        for path in [path for path in files[name] if path not in paired]:
            scale, ratio = _scale_in(files[name][path].rpartition("/")[2]), ratios[name]
            odd = "" if scale in (None, ratio) else f"; its name says ×{scale}, and {name} is ×{ratio}"
            pairs.defects.append(Defect("missing", (path,), f"{path}: no {first}{odd}"))
    rows = ((path, *(partners[name].get(path, "") for name in others)) for path in files[first])
    needed = [k for k, name in enumerate(pairs.targets) if name not in optional]
    pairs.scenes += [paths for paths in rows if all(paths[k] for k in needed) and ambiguous.isdisjoint(paths)]
