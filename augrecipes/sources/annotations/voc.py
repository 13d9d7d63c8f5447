"""Pascal VOC: a folder of XML files, one an image, as LabelImg and many others write them.

Coordinates are taken as they stand, in px from the image's corner: tools count from 0, whatever the challenge's own
files did. `difficult` marks what is left out. A split is a list of names in `../ImageSets/Main/SPLIT.txt`. The image
is the one that `<filename>` names, or else the one of the XML file's own name.
"""

from __future__ import annotations

from pathlib import Path
from xml.etree.ElementTree import Element, ParseError, fromstring

from augrecipes.errors import DataError, counted
from augrecipes.sources.annotations.files import PathView, folder_of, is_image, read_lines, read_whole
from augrecipes.sources.annotations.records import AnnotationOptions, AnnotationSet, numbers_of

TITLE = "Pascal VOC"
LOOKS = "a folder of XML files, one an image (`<annotation>`)"
_SIDES = ("xmin", "ymin", "xmax", "ymax")
_BELOW = "Annotations/"
_GUESSED = (".jpg", ".png", ".jpeg")
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
        what = f"of split {asked.split!r} without an XML file (first: {lacking[0]})"
        found.findings.notes.append(f"{counted(len(lacking), 'name')} {what}")
    places = [folder.parent / "JPEGImages", folder.parent / "images", folder, folder.parent]
    candidates = [file for said, stem in wanted for file in (said, *(f"{stem}{suffix}" for suffix in _GUESSED))]
    found.root = found.within = folder_of(asked, candidates, places, source.path)
    _name_images(found, PathView(found.root).names, wanted)


def _split(path: Path) -> set[str]:
    """The names of a split; lists of one class have 1 or -1 behind each name."""
    if not path.is_file():
        raise DataError(f"split={path.stem!r} needs this file, one name a line: no such file", str(path))
    return {line.split()[0] for line in read_lines(path, "surrogateescape") if line.strip()}


def _tree(path: Path) -> Element:
    """An XML file; DataError where it is none in UTF-8, or declares a document type, and so perhaps entities."""
    try:
        text = read_whole(path, _MOST).decode("utf-8-sig")
        # Text is parsed as it stands, whatever encoding it claims, so that nothing is hidden from this look.
        if "<!DOCTYPE" in text:
            raise DataError(_REFUSED, str(path))
        return fromstring(text)
    except UnicodeDecodeError:
        raise DataError("is not UTF-8 text", str(path)) from None
    except (ParseError, ValueError) as error:
        raise DataError(f"not valid XML: {error}", str(path)) from None


def _file(found: AnnotationSet, path: Path, taken: bool) -> str:
    """Add what a file has, of one that is not taken its classes alone; returns what it calls its image."""
    root, file = _tree(path), str(path)
    if root.tag != "annotation":
        raise DataError(f"the outermost element should be <annotation>, not <{root.tag}>", file)
    width, height = (root.findtext(f"size/{name}") for name in ("width", "height"))
    # Its name is looked up when it is known where images lie.
    image = found.image("?", file, width=width, height=height) if taken else -1
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
                found.add(image, label, corners, k, flagged=difficult in ("1", "true", "yes"))
    return (root.findtext("filename") or "").strip().replace("\\", "/").rpartition("/")[2]


def _name_images(found: AnnotationSet, there: list[str], wanted: list[tuple[str, str]]) -> None:
    names, stems = set(there), {name.rpartition(".")[0]: name for name in there if is_image(name)}
    for k, (said, stem) in enumerate(wanted):
        below, _, last = stem.rpartition("/")
        beside = f"{below}/{said}" if below else said
        found.names[k] = next((name for name in (beside, said) if name in names), "") or (
            stems.get(stem) or stems.get(last) or said or f"{last}.jpg"
        )
