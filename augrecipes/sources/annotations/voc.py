"""Pascal VOC: a folder of XML files, one an image, as LabelImg and many others write them.

Coordinates are taken as they stand, in px from the image's corner: tools count from 0, whatever the challenge's own
files did. `difficult` marks what is left out. A split is a list of names in `../ImageSets/Main/SPLIT.txt`. The image
is the one of the XML file's own name, or else the one that `<filename>` names. Text is of the encoding that a file
declares, or UTF-8.
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from xml.etree.ElementTree import Element, ParseError, fromstring

from augrecipes.errors import DataError
from augrecipes.sources.annotations import files
from augrecipes.sources.annotations.files import PathView
from augrecipes.sources.annotations.records import AnnotationOptions, AnnotationSet, numbers_of

TITLE = "Pascal VOC"
LOOKS = "a folder of XML files, one an image (`<annotation>`)"
_SIDES = ("xmin", "ymin", "xmax", "ymax")
_BELOW = "Annotations/"
_GUESSED = (".jpg", ".png", ".jpeg")
# What can be read so is UTF-8 if it calls itself UTF-16; some codecs of Python are none of text, or take long.
_ENCODING = re.compile(rb"""(?i)\s*<\?xml[^>]*?\sencoding\s*=\s*["'](?!utf|ucs|puny|idna|un|raw)([\w.:-]+)""")
_HEAD = 200  # bytes that a declaration is in
_MOST = 1 << 26  # bytes of the annotations of one image
_REFUSED = "it declares a document type (<!DOCTYPE ...>), which annotations do not need and which is not read"


def claims(source: PathView) -> bool:
    """A folder whose first XML file is VOC's, or such a file."""
    data = source.head(".xml")
    return bool(data) and (b"<annotation>" in data or b"<annotation " in data or b"<annotations" not in data)


def read(source: PathView, asked: AnnotationOptions, found: AnnotationSet) -> None:
    """Read every file; those of other splits, too, so that all splits number the classes alike."""
    found.record = "object {}"
    names, folder = source.ending(".xml"), source.folder
    if source.is_folder and (folder / _BELOW).is_dir():  # as the challenge lays its year out
        folder, names = folder / _BELOW, [name[len(_BELOW) :] for name in names if name.startswith(_BELOW)]
    split = None if asked.split is None else _split(folder.parent / "ImageSets" / "Main" / f"{asked.split}.txt")
    wanted: list[tuple[str, str]] = []  # what each file calls its image, and its own name
    for name in names:
        stem = name[:-4]
        taken = split is None or stem.rpartition("/")[2] in split
        said = _file(found, folder / name, taken)
        if taken:
            wanted.append((said, stem))
    if lacking := sorted((split or set()) - {stem.rpartition("/")[2] for _, stem in wanted}):
        found.tally("name", f"of split {asked.split!r} without an XML file", lacking[0], len(lacking))
    places = [folder.parent / "JPEGImages", folder.parent / "images", folder, folder.parent]
    candidates = [file for said, stem in wanted for file in (said, *(f"{stem}{suffix}" for suffix in _GUESSED))]
    found.root = found.within = files.folder_of(asked, candidates, places, source.path)
    there = PathView(found.root).names
    _name_images(found, there, wanted)
    if split is None:
        files.tally_others(found, there, "without an XML file, left out")


def _split(path: Path) -> set[str]:
    """The names of a split; lists of one class have 1 or -1 behind each name."""
    if not path.is_file():
        raise DataError(f"split={path.stem!r} needs this file, one name a line: no such file", str(path))
    return {line.split()[0] for line in files.read_lines(path, "surrogateescape") if line.strip()}


def _tree(path: Path) -> Element:
    """An XML file; DataError where it is none of its encoding, or declares a document type, and so perhaps entities."""
    data = files.read_whole(path, _MOST)
    found = _ENCODING.match(data[:_HEAD])
    said = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else found[1].decode() if found else "utf-8-sig"
    try:
        # What calls itself an older GB is often of a newer one, which has all of its characters.
        text = data.decode("gb18030" if said.lower().startswith("gb") else said)
        # Text is parsed as Python decodes it, so that nothing is hidden from this look.
        if "<!DOCTYPE" in text:
            raise DataError(_REFUSED, str(path))
        return fromstring(text)
    except (UnicodeError, LookupError):
        cure = 'save it as UTF-8, or declare what it is, as in <?xml version="1.0" encoding="GBK"?>'
        raise DataError(f"is not {said.removesuffix('-sig')} text: {cure}", str(path)) from None
    except (ParseError, ValueError) as error:
        raise DataError(f"not valid XML: {error}", str(path)) from None


def _file(found: AnnotationSet, path: Path, taken: bool) -> str:
    """Add what a file has, of one that is not taken its classes alone; returns what it calls its image."""
    root, file = _tree(path), str(path)
    if root.tag != "annotation":
        raise DataError(f"the outermost element should be <annotation>, not <{root.tag}>", file)
    size = root.findtext("size/width"), root.findtext("size/height")
    image = found.image("?", file, size) if taken else -1  # its name is looked up when it is known where images lie
    for k, thing in enumerate(root.iterfind("object"), 1):
        name, box, where = (thing.findtext("name") or "").strip(), thing.find("bndbox"), f"{file}: object {k}"
        corners = None if box is None else numbers_of([box.findtext(side) for side in _SIDES])
        if not name:
            found.fault(where, "no <name>")
        elif corners is None:
            found.fault(f"{where} ({name})", "needs a <bndbox> with numbers xmin, ymin, xmax and ymax")
        else:
            label, difficult = found.label(name), (thing.findtext("difficult") or "").strip().lower()
            if taken:
                found.tally("part", "of an object (<part>), not read", f"{where} ({name})", len(thing.findall("part")))
                found.add(image, label, corners, k, flagged=difficult in ("1", "true", "yes"))
    return (root.findtext("filename") or "").strip().replace("\\", "/").rpartition("/")[2]


def _name_images(found: AnnotationSet, there: list[str], wanted: list[tuple[str, str]]) -> None:
    names, of_stem = set(there), defaultdict[str, list[str]](list)
    for name in filter(files.is_image, there):
        of_stem[name.rpartition(".")[0]].append(name)
    for k, (said, stem) in enumerate(wanted):
        below, _, last = stem.rpartition("/")
        named = next((name for name in (f"{below}/{said}" if below else said, said) if name in names), "")
        own = of_stem.get(stem) or of_stem.get(last) or []
        found.names[k] = named if named in own or not own else own[0]
        if named not in own and len(own) > 1:
            found.fault(found.files[k], f"{' and '.join(own)} are of its name, and <filename> is none of them")
        elif named not in own and own and named:
            found.tally("file", "with another image in <filename>, taken for that of its own name", found.files[k])
        found.names[k] = found.names[k] or said or f"{last}.jpg"
