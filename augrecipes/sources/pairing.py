"""Which files of several targets show the same scene: by name, never by the order in which a folder lists them.

Every target of a set of files names its scenes in one way, such as ``{}`` and ``{}x4``. Where nobody says which
(`names=`), the two ways are taken under which most scenes have both files; of equals the one that fits what is known
of such names, then the shortest. Whatever is left over is a defect. Files are never paired one by one by guess.

Folders below the roots count where the targets have the same ones: ``a/1`` and ``b/1`` are two scenes. Where they
have none in common, names alone decide.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from augrecipes.errors import DataError
from augrecipes.sources.defects import Defect
from augrecipes.sources.pair_names import Key, find_names, is_nested, scale_in, template
from augrecipes.sources.pair_roots import FileGroup, Named, Roots, list_groups

Keys = dict[Key, list[Named]]


@dataclass(slots=True)
class Pairs:
    """The scenes that were found.

    Attributes:
        targets: their names, the one of the largest scale first.
        scenes: one path a target, in the order of `targets`; sorted by root, then by path.
        defects: files that belong to no scene, and why.
        listed: number of files of each target.
        unclaimed: files in folders that targets share which are of neither by their names.
    """

    targets: tuple[str, ...]
    scenes: list[tuple[str, ...]] = field(default_factory=list)
    defects: list[Defect] = field(default_factory=list)
    listed: dict[str, int] = field(default_factory=dict)
    unclaimed: list[str] = field(default_factory=list)


def pair(
    roots: Mapping[str, Roots],
    scales: Mapping[str, int],
    *,
    names: Mapping[str, str] | None = None,
    cache: bool = True,
) -> Pairs:
    """Find the scenes of which every target has exactly one file.

    Args:
        roots: of each target: a folder, or a list of them; see `augrecipes.sources.pair_roots`.
        scales: relative grid of each target.
        names: templates such as ``{"lr": "{}x4"}``: the name of a target's file below its root, where ``{}`` is the
            scene, which is the whole name where a target has no template. Without it they are found.
        cache: see `augrecipes.sources.listing.list_folders`.

    Raises:
        DataError: a root is missing or empty, or a template is none.

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
    order = sorted((name for name in scales if name in roots), key=lambda name: -scales[name])
    if unknown := sorted(set(names or ()) - set(order)):
        raise DataError(f"names= has {', '.join(unknown)}; the targets that are read are {', '.join(order)}")
    given = {name: names.get(name, "{}") for name in order} if names else None
    for text in (given or {}).values():
        template(text)  # whether it is one
    found = Pairs(tuple(order), listed=dict.fromkeys(order, 0))
    for group in list_groups({name: roots[name] for name in order}, cache=cache):
        for name in order:
            found.listed[name] += len(group.files[name])
        if len(order) == 1:
            found.scenes += [(file.path,) for file in group.files[order[0]]]
        else:
            _GroupPairing(group, scales, given, found).run()
    return found


def _keyed(files: Sequence[Named], named: re.Pattern[str]) -> Keys:
    keys: Keys = defaultdict(list)
    for file in files:
        if found := named.fullmatch(file.name):
            keys[found[1] or "", found[2]].append(file)
    return keys


def _flat(keys: Keys) -> Keys:
    flat: Keys = defaultdict(list)
    for (_, scene), files in keys.items():
        flat["", scene] += files
    return flat


class _GroupPairing:
    """Pairs one group of files: the largest target against each of the others."""

    def __init__(
        self,
        group: FileGroup,
        scales: Mapping[str, int],
        given: Mapping[str, str] | None,
        found: Pairs,
    ) -> None:
        self.group, self.scales, self.given, self.found = group, scales, given, found
        self.first, *self.others = found.targets
        self.partners: dict[str, dict[str, str]] = {}
        self.named: dict[str, tuple[str, str]] = {}  # of the largest target, and of each of the others
        self.fits: dict[str, tuple[set[str], set[str]]] = {}  # paths that are named so
        self.spoilt: set[str] = set()

    def run(self) -> None:
        """Add what is found."""
        for name in self.others:
            self._match(name)
        used = {path for found in self.partners.values() for two in found.items() for path in two}
        self._tell_missing(used)
        for file in self.group.files[self.first]:
            paths = (file.path, *(found.get(file.path, "") for found in self.partners.values()))
            if all(paths) and self.spoilt.isdisjoint(paths):
                self.found.scenes.append(paths)
        self._tell_unclaimed(used)

    def _match(self, name: str) -> None:
        """Paths of the largest target to those of another one."""
        large, small = self.group.files[self.first], self.group.files[name]
        if self.given:
            names = self.given[self.first], self.given[name]
        else:
            ratio = Fraction(self.scales[self.first], self.scales[name])
            names = find_names(large, small, ratio, shared={self.first, name} <= self.group.shared)
        self.named[name] = names
        keys = _keyed(large, template(names[0])), _keyed(small, template(names[1]))
        if names[0] != names[1] or not {self.first, name} <= self.group.shared:
            self.fits[name] = tuple({f.path for files in one.values() for f in files} for one in keys)  # type: ignore[assignment]
        if not is_nested({folder for folder, _ in keys[0]}, {folder for folder, _ in keys[1]}):
            keys = _flat(keys[0]), _flat(keys[1])
        partners = self.partners[name] = {}
        for key, files in keys[0].items():
            theirs = keys[1].get(key, [])
            if len(files) == len(theirs) == 1:
                if files != theirs:
                    partners[files[0].path] = theirs[0].path
            elif theirs:
                for target, these, those in ((self.first, files, theirs), (name, theirs, files)):
                    if len(these) > 1:
                        self._ambiguous(target, [f.path for f in these], [f.path for f in those])

    def _ambiguous(self, target: str, paths: list[str], others: list[str]) -> None:
        also = [path for path in others if path not in paths]
        with_ = f" (with {', '.join(also)})" if also else ""
        self._add("ambiguous", [*paths, *also], f"one scene, several {target}: {', '.join(paths)}{with_}")
        self.spoilt.update(paths, also)

    def _tell_missing(self, used: set[str]) -> None:
        """What is left over: files of the largest target that lack another, and the others that lack it."""
        near = _Near(self, used)
        large, small = ({path for two in self.fits.values() for path in two[k]} for k in (0, 1))
        for file in self.group.files[self.first]:
            lacking = [name for name in self.others if file.path not in self.partners[name]]
            if not lacking or file.path in self.spoilt:
                continue
            if self.first in self.group.shared and (file.path not in large or file.path in small):
                continue
            self._missing(file, f"no {' and no '.join(lacking)}", near.to(file, self.first, lacking[0]))
        for name in self.others:
            paired = set(self.partners[name].values())
            for file in self.group.files[name]:
                if file.path in paired or file.path in self.spoilt:
                    continue
                if name in self.group.shared and (file.path in used or file.path not in small):
                    continue
                ratio, said = Fraction(self.scales[self.first], self.scales[name]), scale_in(file.stem)
                odd = f"; its name says ×{said}, and {name} is ×{ratio}" if said not in (None, ratio) else ""
                self._missing(file, f"no {self.first}{odd}", near.to(file, name, self.first))

    def _missing(self, file: Named, what: str, near: list[str]) -> None:
        but = f" (nearly its name: {', '.join(near)})" if near else ""
        self._add("missing", [file.path, *near], f"{file.path}: {what}{but}")

    def _tell_unclaimed(self, used: set[str]) -> None:
        """In a folder that targets share: files of which nothing is known. Where that is all of them, a defect."""
        known = used.union(*(defect.files for defect in self.found.defects))
        shared = [name for name in self.found.targets if name in self.group.shared]
        every = dict.fromkeys(file.path for name in shared for file in self.group.files[name])
        left = [path for path in every if path not in known]
        if len(left) < len(every):
            self.found.unclaimed += left
        elif left:
            text = f"{' and '.join(shared)} lie in one folder, and no name tells them apart: {len(left):,} files"
            self._add("ambiguous", left, f"{text}, {left[0]} first; give each a folder of its own")

    def _add(self, kind: str, files: Sequence[str], message: str) -> None:
        self.found.defects.append(Defect(kind, tuple(dict.fromkeys(files)), message))


class _Near:
    """Files without a partner, by what their names would be but for upper and lower case."""

    def __init__(self, pairing: _GroupPairing, used: set[str]) -> None:
        self._templates: dict[str, list[re.Pattern[str]]] = defaultdict(list)
        for name, two in pairing.named.items():
            for target, text in zip((pairing.first, name), two, strict=True):
                self._templates[target].append(re.compile(template(text).pattern, re.IGNORECASE))
        self._files: dict[tuple[str, str], list[str]] = defaultdict(list)
        for target, files in pairing.group.files.items():
            for file in files:
                if file.path not in used:
                    for scene in self._scenes(file, target):
                        self._files[target, scene].append(file.path)

    def to(self, file: Named, own: str, target: str) -> list[str]:
        """At most three files of `target` that are nearly called as a file of `own` is."""
        found = [path for scene in self._scenes(file, own) for path in self._files.get((target, scene), ())]
        return [path for path in dict.fromkeys(found) if path != file.path][:3]

    def _scenes(self, file: Named, target: str) -> set[str]:
        read = (named.fullmatch(file.name) for named in self._templates[target])
        return {file.stem.casefold(), *(found[2].casefold() for found in read if found)}
