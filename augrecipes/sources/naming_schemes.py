"""The naming scheme of a set of files: how each target decorates the names of its scenes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from augrecipes.sources.pair_names import PLAIN, Decoration, Grammar, Template
from augrecipes.sources.pair_roots import Named

Key = tuple[str, str]  # folder, scene
Keys = dict[Key, list[Named]]
Naming = Decoration | Template

_MOST = 40  # decorations of one target that are tried, the most frequent first


@dataclass(slots=True)
class TargetFiles:
    """The files of one target.

    Attributes:
        files: sorted.
        ratio: of the largest target's scale to this one's; None for the largest itself.
        role: ``high`` for the largest, ``low`` for the others.
        grammar: how names may be read; None where templates say it.
    """

    files: Sequence[Named]
    ratio: Fraction | None
    role: str
    grammar: Grammar | None
    by_naming: dict[Decoration, dict[Named, str]] = field(default_factory=dict)
    _read: dict[Named, list[tuple[str, Decoration]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.grammar is None:
            return
        found: dict[Decoration, dict[Named, str]] = defaultdict(dict)
        for file in self.files:
            self._read[file] = readings = self.grammar.readings(file.stem)
            for scene, decoration in readings:
                found[decoration][file] = scene
        self.by_naming = dict(found)

    def scenes(self, file: Named) -> list[str]:
        """Every scene that a file's name may mean."""
        return [scene for scene, _ in self._read.get(file, ())] or [file.stem]

    def fitting(self, file: Named) -> list[str]:
        """The files with a decoration that this target may have."""
        return [scene for scene, how in self._read[file] if how.fits(self.ratio, self.role)]

    def odd_scale(self, file: Named) -> Fraction | None:
        """The scale that a name speaks of, where it is not this target's."""
        named = [how.scale for _, how in self._read.get(file, ()) if how.scale is not None]
        return named[0] if named and self.ratio not in named else None

    def frequent(self) -> list[Decoration]:
        """Decorations, the most frequent first."""
        counts = Counter({naming: len(files) for naming, files in self.by_naming.items()})
        return [naming for naming, _ in counts.most_common(_MOST)]


@dataclass(frozen=True, slots=True)
class Scheme:
    """How names of two targets are read.

    Attributes:
        large: files of the largest target by (folder, scene).
        small: files of the other.
    """

    large: Keys
    small: Keys


def keys_of(side: TargetFiles, naming: Naming, *, nested: bool = True) -> Keys:
    """Files by folder and scene, for those whose names are of this form; folders left out unless `nested`."""
    keys: Keys = defaultdict(list)
    if isinstance(naming, Template):
        for file in side.files:
            key = naming.scene(file.name)
            if key is not None:
                keys[key if nested else ("", key[1])].append(file)
    else:
        for file, scene in side.by_naming.get(naming, {}).items():
            keys[file.folder if nested else "", scene].append(file)
    return dict(keys)


def best_scheme(large: TargetFiles, small: TargetFiles, given: tuple[Naming, Naming] | None, *, shared: bool) -> Scheme:
    """The scheme under which most scenes have both files; of equals the strictest.

    Args:
        large: the largest target.
        small: another one.
        given: the namings, where templates say them.
        shared: both lie in one folder: then their names must differ.
    """
    options: Sequence[tuple[Naming, Naming]] = [given] if given else _options(large, small, shared=shared)
    best: tuple[tuple[int, ...], Scheme] | None = None
    known: dict[tuple[str, Naming, bool], Keys] = {}
    for rank, (first, second) in enumerate(options):
        for nested in (True, False) if _may_flatten(large, small) else (True,):
            if not nested and best is not None and best[0][0] == len(small.files):
                continue
            a, b = _kept(known, large, first, nested), _kept(known, small, second, nested)
            common = a.keys() & b.keys()
            one = sum(len(a[key]) == len(b[key]) == 1 for key in common)
            score = (one, len(common), -_strangeness(large, first) - _strangeness(small, second), nested, -rank)
            if best is None or score > best[0]:
                best = score, Scheme(a, b)
    if best is None:
        return Scheme({}, {})
    return best[1]


def _kept(known: dict[tuple[str, Naming, bool], Keys], side: TargetFiles, naming: Naming, nested: bool) -> Keys:
    at = (side.role, naming, nested)
    if at not in known:
        known[at] = keys_of(side, naming, nested=nested)
    return known[at]


def _options(large: TargetFiles, small: TargetFiles, *, shared: bool) -> Sequence[tuple[Naming, Naming]]:
    """Pairs of decorations, the shortest first."""
    pairs = [
        (a, b)
        for a in dict.fromkeys([PLAIN, *large.frequent()])
        for b in dict.fromkeys([PLAIN, *small.frequent()])
        if not (shared and a == b)
    ]
    return sorted(pairs, key=lambda pair: len(str(pair[0])) + len(str(pair[1])))


def _strangeness(side: TargetFiles, naming: Naming) -> int:
    """1 for a decoration that says another scale or role than the target's."""
    return int(isinstance(naming, Decoration) and not naming.fits(side.ratio, side.role))


def _may_flatten(large: TargetFiles, small: TargetFiles) -> bool:
    """Whether folders may be left out: where one target is flat, or the two have no folder in common."""
    a, b = ({file.folder for file in side.files} for side in (large, small))
    if a == b:
        return False
    return not (a & b) - {""}
