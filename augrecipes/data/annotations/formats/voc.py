"""Pascal VOC: a folder of XML files, one a picture, as LabelImg and many others write them.

Coordinates are taken as they stand, in px from the picture's corner: tools count from 0, whatever the challenge's own
files did. `difficult` marks what is left out. A split is a list of names in `../ImageSets/Main/SPLIT.txt`. The picture
is the one that `<filename>` names, or else the one of the XML file's own name.
"""

from __future__ import annotations

from pathlib import Path
from xml.etree.ElementTree import Element

from augrecipes.data.annotations.found import FoundObjects, Request
from augrecipes.data.annotations.numbers import numbers_of
from augrecipes.data.annotations.pictures import by_stem, folder_of
from augrecipes.data.annotations.safe_xml import read_element
from augrecipes.data.annotations.source import PathView, head, read_whole
from augrecipes.errors import DataError, counted

TITLE = "Pascal VOC"
LOOKS = "a folder of XML files, one a picture (`<annotation>`)"
_SIDES = ("xmin", "ymin", "xmax", "ymax")
_ANNOTATIONS, _BELOW = "Annotations", "Annotations/"
_MOST = 1 << 28


def claims(source: PathView) -> bool:
    """A folder whose first XML file is VOC's, or such a file."""
    if source.is_folder:
        names = source.ending(".xml")
        return bool(names) and _is_voc(head(source.path / names[0]))
    return source.suffix == ".xml" and _is_voc(source.head)


def _is_voc(data: bytes) -> bool:
    return b"<annotation>" in data or b"<annotation " in data or b"<annotations" not in data


def read(asked: Request, found: FoundObjects) -> None:
    """Read every file; those of other splits, too, so that all splits number the classes alike."""
    source, found.record = asked.source, "object {}"
    names = source.ending(".xml") if source.is_folder else [source.path.name]
    folder = source.path if source.is_folder else source.path.parent
    if source.is_folder and (folder / _ANNOTATIONS).is_dir():  # as the challenge lays its year out
        folder, names = folder / _ANNOTATIONS, [name[len(_BELOW) :] for name in names if name.startswith(_BELOW)]
    chosen = _chosen(asked, folder)
    wanted: list[tuple[str, str]] = []
    for name in names:
        stem = name.removesuffix(name[-4:])
        in_split = chosen is None or stem.rpartition("/")[2] in chosen
        said = _file(found, folder / name, asked.split or "" if in_split else f"not {asked.split}")
        wanted.append((said, stem))
    places = [folder.parent / "JPEGImages", folder.parent / "images", folder, folder.parent]
    candidates = [file for said, stem in wanted for file in (said, *(f"{stem}{s}" for s in (".jpg", ".png", ".jpeg")))]
    found.root = folder_of(asked, candidates, places)
    _name_pictures(found, found.root, wanted)
    if chosen is not None:
        lacking = sorted(chosen - {stem.rpartition("/")[2] for _, stem in wanted})
        if lacking:
            found.notes.append(
                f"{counted(len(lacking), 'name')} of split {asked.split!r} without an XML file (first: {lacking[0]})"
            )


def _chosen(asked: Request, folder: Path) -> set[str] | None:
    """The names of a split, or None for all."""
    if asked.split is None:
        return None
    path = folder.parent / "ImageSets" / "Main" / f"{asked.split}.txt"
    if not path.is_file():
        raise DataError(f"split={asked.split!r} needs this file, one name a line: no such file", str(path))
    lines = read_whole(path, _MOST).decode("utf-8", "surrogateescape").splitlines()
    # Lists of one class have 1 or -1 behind each name.
    return {line.split()[0] for line in lines if line.strip()}


def _file(found: FoundObjects, path: Path, part: str) -> str:
    """Add what a file has, and get the name that it has for its picture."""
    root, file = read_element(path), str(path)
    if root.tag != "annotation":
        raise DataError(f"the outermost element should be <annotation>, not <{root.tag}>", file)
    said = (root.findtext("filename") or "").strip().replace("\\", "/").rpartition("/")[2]
    size = {name: root.findtext(f"size/{name}") for name in ("width", "height")}
    # Its name is looked up when it is known where pictures lie.
    picture = found.picture("?", file, width=size["width"], height=size["height"], part=part)
    for k, thing in enumerate(root.iterfind("object"), 1):
        _object(found, thing, picture, k, file)
    return said


def _object(found: FoundObjects, thing: Element, picture: int, k: int, file: str) -> None:
    said = {child.tag: child for child in thing}
    name, box, difficult = said.get("name"), said.get("bndbox"), said.get("difficult")
    label = "" if name is None else (name.text or "").strip()
    sides = {} if box is None else {child.tag: child.text for child in box}
    corners = numbers_of([(sides.get(side) or "").strip() for side in _SIDES])
    if not label:
        found.faults.add(f"{file}: object {k}", "no <name>")
    elif corners is None:
        found.faults.add(f"{file}: object {k} ({label})", "needs a <bndbox> with numbers xmin, ymin, xmax and ymax")
    else:
        flagged = difficult is not None and (difficult.text or "").strip().lower() in ("1", "true", "yes")
        found.thing(picture, found.label(label), corners, k, flagged=flagged)


def _name_pictures(found: FoundObjects, root: Path, wanted: list[tuple[str, str]]) -> None:
    there = PathView(root)
    names, stems = set(there.names), by_stem(there.names)
    for k, (said, stem) in enumerate(wanted):
        below = stem.rpartition("/")[0]
        beside = f"{below}/{said}" if below else said
        last = stem.rpartition("/")[2]
        found.names[k] = next((name for name in (beside, said) if name in names), "") or (
            stems.get(stem) or stems.get(last) or said or f"{last}.jpg"
        )
