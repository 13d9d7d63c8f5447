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
from augrecipes.paths import is_image
from augrecipes.sources.annotations import files
from augrecipes.sources.annotations.records import AnnotationOptions, AnnotationSet, RecordError, numbers_of

TITLE = "Pascal VOC"
LOOKS = "a folder of XML files, one an image (`<annotation>`)"
_SIDES = ("xmin", "ymin", "xmax", "ymax")
_BELOW = "Annotations/"
_GUESSED = (".jpg", ".png", ".jpeg")
# What can be read so is UTF-8 if it calls itself UTF-16; some codecs of Python are none of text, or take long.
_ENCODING = re.compile(rb"""(?i)\s*<\?xml[^>]*?\sencoding\s*=\s*["'](?!utf|ucs|puny|idna|un|raw)([\w.:-]+)""")
_HEAD = 200  # bytes that a declaration is in
_REFUSED = "it declares a document type (<!DOCTYPE ...>), which annotations do not need and which is not read"


def claims(source: files.PathView) -> bool:
    """A folder whose first XML file is VOC's, or such a file."""
    data = source.head(".xml")
    return bool(data) and (b"<annotation>" in data or b"<annotation " in data or b"<annotations" not in data)


def read(source: files.PathView, options: AnnotationOptions, annotations: AnnotationSet) -> None:
    """Read every file; those of other splits, too, so that all splits number the classes alike."""
    annotations.record = "object {}"
    names, folder = source.ending(".xml"), source.folder
    if source.is_folder and (folder / _BELOW).is_dir():  # as the challenge lays its year out
        folder, names = folder / _BELOW, [name[len(_BELOW) :] for name in names if name.startswith(_BELOW)]
    split = None if options.split is None else _split(folder.parent / "ImageSets" / "Main" / f"{options.split}.txt")
    wanted: list[tuple[str, str]] = []  # what each file calls its image, and its own name
    for name in names:
        stem = name[:-4]
        is_wanted = split is None or stem.rpartition("/")[2] in split
        called = _read_file(annotations, folder / name, is_wanted)
        wanted += [(called, stem)] if is_wanted else []
    if lacking := sorted((split or set()) - {stem.rpartition("/")[2] for _, stem in wanted}):
        annotations.tally("name", f"of split {options.split!r} without an XML file", lacking[0], len(lacking))
    places = [folder.parent / "JPEGImages", folder.parent / "images", folder, folder.parent]
    candidates = [file for called, stem in wanted for file in (called, *(f"{stem}{suffix}" for suffix in _GUESSED))]
    annotations.root = annotations.within = files.folder_of(options, candidates, places, source.path)
    there = files.PathView(annotations.root).names
    _name_images(annotations, there, wanted)
    if split is None:
        files.tally_others(annotations, there, "without an XML file, left out")


def _split(path: Path) -> set[str]:
    """The names of a split; lists of one class have 1 or -1 behind each name."""
    if not path.is_file():
        raise DataError(f"split={path.stem!r} needs this file, one name a line: no such file", str(path))
    return {line.split()[0] for line in files.read_lines(path, "surrogateescape") if line.strip()}


def _tree(path: Path) -> Element:
    """An XML file; DataError where it is none of its encoding, or declares a document type, and so perhaps entities."""
    data = files.read_whole(path)
    declared = _ENCODING.match(data[:_HEAD])
    said = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else declared[1].decode() if declared else "utf-8-sig"
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


def _read_file(annotations: AnnotationSet, path: Path, is_wanted: bool) -> str:
    """Add what a file has, of one that is not wanted its classes alone; returns what it calls its image."""
    root, file = _tree(path), str(path)
    if root.tag != "annotation":
        raise DataError(f"the outermost element should be <annotation>, not <{root.tag}>", file)
    size = root.findtext("size/width"), root.findtext("size/height")
    image = annotations.image("?", file, size) if is_wanted else -1  # named when it is known where images lie

    def add(record: int, thing: Element) -> None:
        name, box = (thing.findtext("name") or "").strip(), thing.find("bndbox")
        if not name:
            raise RecordError("no <name>")
        what = f"{name!r} needs a <bndbox> with numbers xmin, ymin, xmax and ymax"
        corners = numbers_of(None if box is None else [box.findtext(side) for side in _SIDES], what)
        label, difficult = annotations.label(name), (thing.findtext("difficult") or "").strip().lower()
        if is_wanted:
            where, parts = annotations.place(file, record), len(thing.findall("part"))
            annotations.tally("part", "of an object (<part>), not read", where, parts)
            annotations.add(image, label, corners, record, flagged=difficult in ("1", "true", "yes"))

    annotations.read_each(file, enumerate(root.iterfind("object"), 1), add)
    return (root.findtext("filename") or "").strip().replace("\\", "/").rpartition("/")[2]


def _name_images(annotations: AnnotationSet, there: list[str], wanted: list[tuple[str, str]]) -> None:
    """Name the images: by the XML files' names, or else as these call them."""
    names, of_stem = set(there), defaultdict[str, list[str]](list)
    for name in filter(is_image, there):
        of_stem[name.rpartition(".")[0]].append(name)
    for k, (called, stem) in enumerate(wanted):
        below, _, last = stem.rpartition("/")
        named = next((name for name in (f"{below}/{called}".lstrip("/"), called) if name in names), "")
        own = of_stem.get(stem) or of_stem.get(last) or [named or called or f"{last}.jpg"]
        annotations.names[k] = named if named in own else own[0]
        if named not in own and len(own) > 1:
            what = f"{' and '.join(own)} are of its name, and <filename> is none of them"
            annotations.defect(annotations.files[k], what)
        elif named not in ("", *own):
            what = "with another image in <filename>, taken for that of its own name"
            annotations.tally("file", what, annotations.files[k])
