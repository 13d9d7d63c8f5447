"""Pascal VOC: a folder of XML files, one per image, as LabelImg and many others write them.

Coordinates are read as px from the image's corner, counted from 0 as today's tools do (the challenge's own files count
from 1). `difficult` objects are flagged. A split is a list of names in `../ImageSets/Main/SPLIT.txt`. The image has
the XML file's own name, or else the name in `<filename>`. Text has the encoding that the file declares, or UTF-8.
"""

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
# A declaration that is readable as ASCII rules out UTF-16. Some of Python's codecs are not for text, or take long.
_ENCODING = re.compile(rb"""(?i)\s*<\?xml[^>]*?\sencoding\s*=\s*["'](?!utf|ucs|puny|idna|un|raw)([\w.:-]+)""")
_HEAD = 200  # bytes to look for a declaration in
_REFUSED = "it declares a document type (<!DOCTYPE ...>), which annotations do not need and which is not read"


def claims(source: files.PathView) -> bool:
    """Whether this is VOC's XML file, or a folder whose first XML file is."""
    data = source.head(".xml")
    return bool(data) and (b"<annotation>" in data or b"<annotation " in data or b"<annotations" not in data)


def read(source: files.PathView, options: AnnotationOptions, annotations: AnnotationSet) -> None:
    """Read every file, those of other splits too, so that all splits number the classes alike."""
    annotations.record = "object {}"
    names, folder = source.ending(".xml"), source.folder
    if source.is_folder and (folder / _BELOW).is_dir():  # as the challenge lays its year out
        folder, names = folder / _BELOW, [name[len(_BELOW) :] for name in names if name.startswith(_BELOW)]
    split = None if options.split is None else _split(folder.parent / "ImageSets" / "Main" / f"{options.split}.txt")
    wanted: list[tuple[str, str]] = []  # <filename> and the XML file's own name, without .xml
    for name in names:
        stem = name[:-4]
        is_wanted = split is None or stem.rpartition("/")[2] in split
        filename = _read_file(annotations, folder / name, is_wanted)
        wanted += [(filename, stem)] if is_wanted else []
    if lacking := sorted((split or set()) - {stem.rpartition("/")[2] for _, stem in wanted}):
        annotations.tally("name", f"of split {options.split!r} without an XML file", lacking[0], len(lacking))
    places = [folder.parent / "JPEGImages", folder.parent / "images", folder, folder.parent]
    candidates = [file for filename, stem in wanted for file in (filename, *(f"{stem}{suffix}" for suffix in _GUESSED))]
    annotations.root = annotations.within = files.folder_of(options, candidates, places, source.path)
    existing = files.PathView(annotations.root).names
    _name_images(annotations, existing, wanted)
    if split is None:
        files.tally_others(annotations, existing, "without an XML file, left out")


def _split(path: Path) -> set[str]:
    """The names of a split; in lists of one class, 1 or -1 follows each name."""
    if not path.is_file():
        raise DataError(f"split={path.stem!r} needs this file, one name a line: no such file", str(path))
    return {line.split()[0] for line in files.read_lines(path, "surrogateescape") if line.strip()}


def _tree(path: Path) -> Element:
    """Parse an XML file; DataError for text in another encoding, or a document type, which may declare entities."""
    data = files.read_whole(path)
    declared = _ENCODING.match(data[:_HEAD])
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else declared[1].decode() if declared else "utf-8-sig"
    try:
        # Files that declare GB2312 or GBK are often GB18030, a superset of both.
        text = data.decode("gb18030" if encoding.lower().startswith("gb") else encoding)
        # Parse the text as decoded here, so that no other encoding hides a document type from this check.
        if "<!DOCTYPE" in text:
            raise DataError(_REFUSED, str(path))
        return fromstring(text)
    except (UnicodeError, LookupError):
        cure = 'save it as UTF-8, or declare what it is, as in <?xml version="1.0" encoding="GBK"?>'
        raise DataError(f"is not {encoding.removesuffix('-sig')} text: {cure}", str(path)) from None
    except (ParseError, ValueError) as error:
        raise DataError(f"not valid XML: {error}", str(path)) from None


def _read_file(annotations: AnnotationSet, path: Path, is_wanted: bool) -> str:
    """Add the image and objects of a file, or only its classes if it is not wanted; return the name in `<filename>`."""
    root, file = _tree(path), str(path)
    if root.tag != "annotation":
        raise DataError(f"the outermost element should be <annotation>, not <{root.tag}>", file)
    size = root.findtext("size/width"), root.findtext("size/height")
    image = annotations.image("?", file, size) if is_wanted else -1  # `_name_images` names it

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


def _name_images(annotations: AnnotationSet, existing: list[str], wanted: list[tuple[str, str]]) -> None:
    """Name the images by the XML files' own names, or else by `<filename>`."""
    names, by_stem = set(existing), defaultdict[str, list[str]](list)
    for name in filter(is_image, existing):
        by_stem[name.rpartition(".")[0]].append(name)
    for k, (filename, stem) in enumerate(wanted):
        below, _, last = stem.rpartition("/")
        named = next((name for name in (f"{below}/{filename}".lstrip("/"), filename) if name in names), "")
        own = by_stem.get(stem) or by_stem.get(last) or [named or filename or f"{last}.jpg"]
        annotations.names[k] = named if named in own else own[0]
        if named not in own and len(own) > 1:
            what = f"{' and '.join(own)} are of its name, and <filename> is none of them"
            annotations.defect(annotations.files[k], what)
        elif named not in ("", *own):
            what = "with another image in <filename>, taken for that of its own name"
            annotations.tally("file", what, annotations.files[k])
