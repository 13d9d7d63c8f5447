"""Which files of several targets show the same scene: by name, never by the order in which a folder lists them.

Names are read with one scheme for a whole set of files, the one under which most scenes have all their files; of equals
the strictest. Only what it leaves over is looked at file by file: a file that another scheme would pair is paired if
nothing else could be meant, and otherwise it is a defect. Nothing is guessed.

Folders below the roots count where the targets have the same ones: ``a/1`` and ``b/1`` are two scenes. Where one target
is flat and the other is not, names alone decide, if they are unique.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from augrecipes.errors import DataError
from augrecipes.sources.naming_schemes import Key, Keys, Scheme, TargetFiles, best_scheme, keys_of
from augrecipes.sources.pair_defects import Defect
from augrecipes.sources.pair_names import Decoration, Grammar, Template
from augrecipes.sources.pair_roots import FileGroup, Named, Roots, list_groups


@dataclass(frozen=True, slots=True)
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
    scenes: tuple[tuple[str, ...], ...]
    defects: tuple[Defect, ...]
    listed: Mapping[str, int]
    unclaimed: tuple[str, ...] = ()


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
        scales: relative grid of each target; names of scales in file names must agree with it.
        names: templates such as ``{"lr": "{}x4"}``: the name of a target's file below its root, where ``{}`` is the
            scene, which is the whole name where a target has no template. Without it the scheme is found.
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
    templates = _templates(names, order)
    groups = list_groups({name: roots[name] for name in order}, cache=cache)
    scenes: list[tuple[str, ...]] = []
    defects: list[Defect] = []
    unclaimed: list[str] = []
    for group in groups:
        work = _GroupPairing(group, order, scales, templates)
        scenes += work.paired()
        defects += work.defects
        unclaimed += work.unclaimed
    listed = {name: sum(len(group.files[name]) for group in groups) for name in order}
    return Pairs(tuple(order), tuple(scenes), tuple(defects), listed, tuple(unclaimed))


def _templates(names: Mapping[str, str] | None, targets: Sequence[str]) -> dict[str, Template] | None:
    if not names:
        return None
    unknown = sorted(set(names) - set(targets))
    if unknown:
        raise DataError(f"names= has {', '.join(unknown)}; the targets that are read are {', '.join(targets)}")
    try:
        return {target: Template(names.get(target, "{}")) for target in targets}
    except ValueError as error:
        raise DataError(f"names=: {error}") from None


class _GroupPairing:
    """Pairs one group of files: the largest target against each of the others."""

    def __init__(
        self, group: FileGroup, order: Sequence[str], scales: Mapping[str, int], templates: dict[str, Template] | None
    ) -> None:
        self.group, self.order, self.templates = group, order, templates
        self.first = order[0]
        grammar = Grammar(order)
        self.sides = {
            name: TargetFiles(
                group.files[name],
                None if name == self.first else Fraction(scales[self.first], scales[name]),
                "high" if name == self.first else "low",
                None if templates else grammar,
            )
            for name in order
        }
        self.defects: list[Defect] = []
        self.unclaimed: list[str] = []
        self.spoilt: set[str] = set()
        self.schemes: dict[str, Scheme] = {}

    def paired(self) -> list[tuple[str, ...]]:
        """The scenes; afterwards `defects` and `unclaimed` have the other files."""
        first = self.group.files[self.first]
        if len(self.order) == 1:
            self._collisions(self.first, keys_of(self.sides[self.first], self._plain(self.first)))
            return [(file.path,) for file in first if file.path not in self.spoilt]
        partners = {name: self._match(name) for name in self.order[1:]}
        used = {path for found in partners.values() for pair_ in found.items() for path in pair_}
        self._tell_missing(partners, used)
        scenes = []
        for file in first:
            paths = (file.path, *(found.get(file.path, "") for found in partners.values()))
            if all(paths) and not self.spoilt.intersection(paths):
                scenes.append(paths)
        self._tell_unclaimed(used)
        return scenes

    def _plain(self, target: str) -> Decoration | Template:
        return self.templates[target] if self.templates else Decoration()

    def _match(self, target: str) -> dict[str, str]:
        """Paths of the largest target to paths of `target`."""
        large, small = self.sides[self.first], self.sides[target]
        given = (self._plain(self.first), self._plain(target)) if self.templates else None
        shared = self.group.shared & {self.first, target}
        scheme = self.schemes[target] = best_scheme(large, small, given, shared=len(shared) > 1)
        self._collisions(self.first, scheme.large, scheme.small)
        self._collisions(target, scheme.small, scheme.large)
        found: dict[str, str] = {}
        for key, files in scheme.large.items():
            partners = scheme.small.get(key, [])
            if len(files) == len(partners) == 1 and files != partners:
                found[files[0].path] = partners[0].path
        if not self.templates and not shared:
            self._leftovers(target, found)
        return found

    def _collisions(self, target: str, keys: Keys, others: Keys | None = None) -> None:
        """Several files of one target that stand for one scene, or for names that some systems take for one."""
        alike: dict[Key, list[Key]] = defaultdict(list)
        for key, files in keys.items():
            alike[folded(key)].append(key)
            if len(files) > 1:
                also = [file.path for file in others.get(key, [])] if others else []
                if others is not None and not also:
                    continue  # reported as files without a partner
                with_ = f" (with {', '.join(also)})" if also else ""
                text = ", ".join(file.path for file in files)
                message = f"one scene, several {target}: {text}{with_}"
                self._add("ambiguous", [*(file.path for file in files), *also], message)
        for same in alike.values():
            if len(same) > 1:
                paths = [file.path for key in same for file in keys[key]]
                self._add("ambiguous", paths, f"{target} names that differ only in case: {', '.join(paths)}")

    def _leftovers(self, target: str, found: dict[str, str]) -> None:
        """Pair by another scheme what the set's own scheme leaves over, where nothing else could be meant."""
        large, small = self.sides[self.first], self.sides[target]
        if len(found) == len(large.files) == len(small.files):
            return
        taken = {b: a for a, b in found.items()}
        by_scene: dict[str, list[Named]] = defaultdict(list)
        for file in small.files:
            for scene in small.fitting(file):
                by_scene[scene].append(file)
        options: dict[str, list[Named]] = {}
        for file in large.files:
            near = {other: None for scene in large.fitting(file) for other in by_scene.get(scene, ())}
            options[file.path] = [o for o in near if o.path != file.path and _same_place(file, o)]
        wanted: dict[str, list[str]] = defaultdict(list)
        for path, others in options.items():
            for other in others:
                wanted[other.path].append(path)
        for path, others in options.items():
            for other in others:
                mine, theirs = found.get(path), taken.get(other.path)
                if mine and theirs:
                    continue  # both have a partner under the set's own scheme
                if not mine and not theirs and len(others) == 1 and len(wanted[other.path]) == 1:
                    found[path] = other.path
                    taken[other.path] = path
                elif not self.spoilt.issuperset({path, other.path}):
                    rival = [p for p in (mine, theirs) if p] or [o.path for o in others if o is not other]
                    rival = rival or [p for p in wanted[other.path] if p != path]
                    self._add(
                        "ambiguous",
                        [path, other.path, *rival],
                        f"{path} and {other.path} could be one scene, and so could {', '.join(rival)}",
                    )

    def _tell_missing(self, partners: Mapping[str, Mapping[str, str]], used: set[str]) -> None:
        """What is left over: files of the largest target that lack another, and the others that lack it."""
        for file in self.group.files[self.first]:
            lacking = [name for name, found in partners.items() if file.path not in found]
            if not lacking or file.path in self.spoilt:
                continue
            anyones = self.first in self.group.shared and len(lacking) == len(partners)
            if anyones and (file.path in used or not self._large(file)):
                continue
            near = self._near(file, self.first, lacking[0], used)
            self._add("missing", [file.path, *near], f"{file.path}: no {' and no '.join(lacking)}{_but(near)}")
        for name, found in partners.items():
            paired = set(found.values())
            for file in self.group.files[name]:
                if file.path in self.spoilt or file.path in paired:
                    continue
                anyones = name in self.group.shared
                if anyones and (file.path in used or not _has(self.schemes[name].small, file)):
                    continue
                near = self._near(file, name, self.first, used)
                said = self._says(file, name)
                self._add("missing", [file.path, *near], f"{file.path}: no {self.first}{said}{_but(near)}")

    def _tell_unclaimed(self, used: set[str]) -> None:
        """In a folder that targets share: files of which nothing is known. Where that is all of them, a defect."""
        known = used.union(*(defect.files for defect in self.defects))
        shared = [name for name in self.order if name in self.group.shared]
        every = dict.fromkeys(file.path for name in shared for file in self.group.files[name])
        left = [path for path in every if path not in known]
        if len(left) < len(every):
            self.unclaimed = left
        elif left:
            text = f"{' and '.join(shared)} lie in one folder, and no name tells them apart: {len(left):,} files"
            self._add("ambiguous", left, f"{text}, {left[0]} first; give each a folder of its own")

    def _large(self, file: Named) -> bool:
        """In a folder that targets share: whether names of this form are the largest target's, and no other's."""
        schemes = self.schemes.values()
        small = any(_has(scheme.small, file) for scheme in schemes)
        return not small and any(_has(scheme.large, file) for scheme in schemes)

    def _says(self, file: Named, target: str) -> str:
        """A remark on a name that speaks of another scale than the target's."""
        scale = self.sides[target].odd_scale(file)
        return f"; its name says ×{scale}, and {target} is ×{self.sides[target].ratio}" if scale else ""

    def _near(self, file: Named, own: str, target: str, used: set[str]) -> list[str]:
        """Files of `target` without a partner whose names are nearly the one that is missing."""
        scenes = {folded(("", scene)) for scene in self.sides[own].scenes(file)}
        side = self.sides[target]
        return [
            other.path
            for other in side.files
            if other.path not in used
            and other.path not in self.spoilt
            and other.path != file.path
            and any(folded(("", scene)) in scenes for scene in side.scenes(other))
        ][:3]

    def _add(self, kind: str, files: Iterable[str], message: str) -> None:
        paths = tuple(dict.fromkeys(files))
        if kind == "ambiguous":
            self.spoilt.update(paths)
        defect = Defect(kind, paths, message)
        if defect not in self.defects:
            self.defects.append(defect)


def folded(key: Key) -> Key:
    """A key as systems see it that do not tell upper from lower case."""
    folder, scene = (part.casefold() for part in key)
    return folder, scene


def _same_place(a: Named, b: Named) -> bool:
    return a.folder == b.folder or not a.folder or not b.folder


def _has(keys: Keys, file: Named) -> bool:
    return any(file in files for files in keys.values())


def _but(near: Sequence[str]) -> str:
    return f" (nearly its name: {', '.join(near)})" if near else ""
