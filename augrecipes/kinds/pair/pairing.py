"""Which files of several targets show the same scene: by name, never by the order in which a folder lists them.

The files of a target are named in one way, such as ``{}`` and ``{}x4``. Where nobody says which (`names=`), it is what
the field adds to names (`_HR`, `_GT`, `x4`, `_LRBI_x3`, `_SRF_4_LR`, `HR_` in front), under which most scenes have both
files. Whatever is left over is a defect: files are never paired one by one by guess.

Folders below the roots count where the targets have the same ones: ``a/1`` and ``b/1`` are two scenes. Where they
have none in common, names alone decide.
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

_Files = Mapping[str, str]  # paths, and their names below the root, without extension

_LAST = re.compile(
    r"(?i)(?:[-_. ](?:hr|gt|hq|lq|lr[a-z]*\d*|bicubic|down[a-z]*|srf[-_]?\d+|\d{1,2}x)|[-_. ]?[x×]\d{1,2}m?)$"
)
_FIRST = re.compile(r"(?i)(?:hr|gt|hq|lr|lq)[-_. ](?=.)")
_SCALE = re.compile(r"[xX×](\d{1,2}(?:\.\d+)?)|(?<!\d)(\d{1,2})[xX](?!\d)")
_MOST_WAYS = 4  # of naming a target's files, and of reading one name, that are tried besides the plain one


@dataclass(frozen=True, slots=True)
class Cropped:
    """What is cut off the images of one target, because they are larger than the scales allow.

    Attributes:
        target: its name.
        count: images that are cut.
        total: images that were looked at.
        most: the most pixels that are cut off a side.
        first: path of the first such image.
        before: its (height, width).
        after: what is used of it, at the top left.
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
    """Scenes of which every target has one file, before and after the files were checked.

    Attributes:
        targets: their names, the one of the largest scale first.
        scenes: one path a target, in the order of `targets`; sorted by root, then by path.
        defects: what is wrong with files, and with those that belong to no scene.
        listed: number of files of each target.
        roots: folders, for names that do not depend on where the data lies.
        notes: what is no defect and should be known all the same.
        columns: of a CSV file, for the scenes.
        cropped: what is cut off their images, once these were looked at.
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
        roots: of each target: a folder, or a list of folders. Lists of one length are data sets side by side, whose
            i-th folders belong together; a single folder beside a list goes with all of them. `lr_2` is another version
            of `lr`.
        scales: relative grid of each target.
        names: templates such as ``{"lr": "{}x4"}``: the name of a target's file below its root, where ``{}`` is the
            scene, which is the whole name where a target has no template. Files of other names are left out, with a
            note. Without it they are found.
        cache: see `augrecipes.sources.listing.list_folders`.
        optional: targets of which scenes need no file; paths of theirs may be empty.

    Raises:
        DataError: a root is missing or empty, a template is none, or one file would be of two targets.

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
    spare = {name for name in order if target_of(name, scales) in optional}
    scales = with_versions(scales, order)
    patterns = {name: template((names or {}).get(name, "{}")) for name in order}
    pairs = PairScenes(tuple(order), listed=dict.fromkeys(order, 0), roots=[*chain(*lists.values())])
    for part in _side_by_side(lists):
        files = _files(part, cache=cache)
        for name, some in files.items():
            pairs.listed[name] += len(some)
            if names:
                files[name] = {path: text for path, text in some.items() if patterns[name].fullmatch(text)}
                if left := [path for path in some if path not in files[name]]:
                    what = f"{counted(len(left), 'file')} of {name}, {left[0]} first: not named {names.get(name, '{}')}"
                    pairs.notes.append(f"{what}, and not read")
        ratios = {name: Fraction(scales[order[0]], scales[name]) for name in order}
        _match(files, ratios, patterns if names else None, pairs, spare)
    return pairs


def name_templates(name: str) -> Iterator[str]:
    """Templates that a name may be made by, besides ``{}``.

    >>> list(name_templates("img_1_HR_x4")), list(name_templates("LR_baby"))
    (['{}_x4', '{}_HR_x4'], ['LR_{}'])
    """
    at = len(name)
    for _ in range(_MOST_WAYS):
        if (match := _LAST.search(name, 0, at)) and (at := match.start()):
            yield f"{{}}{name[at:]}"
    if match := _FIRST.match(name):
        yield f"{match[0]}{{}}"


def _texts(roots: Roots) -> list[str]:
    return [os.fsdecode(path) for path in ([roots] if isinstance(roots, str | bytes | os.PathLike) else roots)]


def _side_by_side(lists: Mapping[str, list[str]]) -> Iterable[Mapping[str, list[str]]]:
    """Folders that belong together, by target: one data set after another."""
    if empty := [name for name, paths in lists.items() if not paths]:
        raise DataError(f"no folder was given for {empty[0]}")
    lengths = {len(paths) for paths in lists.values()}
    if len(lengths) == 1:
        return [{name: [paths[i]] for name, paths in lists.items()} for i in range(*lengths)]
    if len(lengths - {1}) == 1:
        return [lists]
    text = ", ".join(f"{name}: {len(paths)}" for name, paths in lists.items())
    what = f"the lists of folders differ in length ({text}): the i-th folders of all targets belong together"
    raise DataError(f"{what}; give lists of one length, or one folder for a target")


def _files(lists: Mapping[str, list[str]], *, cache: bool) -> dict[str, _Files]:
    """The files of each target, sorted by path, without those in folders of other targets inside its own."""
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
    """The scenes of both by the names under which most have both files.

    Of equals those that say the scale, then the shortest.
    """
    ways = []
    for files in (large, small):
        seen = Counter(text for name in files.values() for text in name_templates(name.rpartition("/")[2]))
        texts = ["{}", *(text for text, _ in seen.most_common(_MOST_WAYS))]
        ways.append([(text, by_scene(files, template(text))) for text in texts])
    best = (-1, False, 0), ways[0][0][1], ways[1][0][1]
    for (text, some), (said, others) in product(*ways):
        two = match_folders(some, others)
        score = len(two[0].keys() & two[1].keys()), _scale_in(said) == ratio, -len(text + said)
        best = max(best, (score, *two), key=lambda scored: scored[0])
    return best[1:]


def _scale_in(text: str) -> Fraction | None:
    """The scale that a name speaks of."""
    said = _SCALE.search(text)
    return Fraction(said[1] or said[2]) if said else None


def _match(
    files: Mapping[str, _Files],
    ratios: Mapping[str, Fraction],
    patterns: Mapping[str, re.Pattern[str]] | None,
    pairs: PairScenes,
    spare: Collection[str],
) -> None:
    """Add the scenes of one data set: the largest target's files against those of each of the others.

    `spare`: those that scenes need not have.
    """
    first, *others = pairs.targets
    partners: dict[str, dict[str, str]] = {}
    spoilt: set[str] = set()
    for name in others:
        large, small = files[first], files[name]
        if patterns is None:
            scenes = _find_names(large, small, ratios[name])
        else:
            scenes = match_folders(by_scene(large, patterns[first]), by_scene(small, patterns[name]))
        partners[name] = {}
        for scene, these in scenes[0].items():
            theirs = scenes[1].get(scene, [])
            if both := set(these) & set(theirs):
                example = f'names={{"{first}": "{{}}_HR", "{name}": "{{}}_LR"}}'
                raise DataError(f"{first} and {name} lie in one folder, {min(both)} is one of both: give each a folder "
                                f"of its own, or say how the files of each are named, as in {example}")  # fmt: skip
            if len(these) == len(theirs) == 1:
                partners[name][these[0]] = theirs[0]
            elif theirs:
                spoilt.update(these, theirs)
                every = (*these, *theirs)
                pairs.defects.append(Defect("ambiguous", every, f"one scene, several files: {', '.join(every)}"))
    for path in files[first]:
        lacking = [name for name in others if path not in partners[name] and name not in spare]
        if lacking and path not in spoilt:
            pairs.defects.append(Defect("missing", (path,), f"{path}: no {' and no '.join(lacking)}"))
    for name in others:
        paired = spoilt.union(partners[name].values())
        for path in [path for path in files[name] if path not in paired]:
            said = _scale_in(files[name][path].rpartition("/")[2])
            odd = f"; its name says ×{said}, and {name} is ×{ratios[name]}" if said not in (None, ratios[name]) else ""
            pairs.defects.append(Defect("missing", (path,), f"{path}: no {first}{odd}"))
    rows = ((path, *(partners[name].get(path, "") for name in others)) for path in files[first])
    needed = [k for k, name in enumerate(pairs.targets) if name not in spare]
    pairs.scenes += [paths for paths in rows if all(paths[k] for k in needed) and spoilt.isdisjoint(paths)]
