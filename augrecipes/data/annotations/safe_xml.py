"""XML of other people's tools, without what makes XML unsafe: a document type, and so entities, is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from xml.etree import ElementTree
from xml.parsers import expat

from augrecipes.data.annotations.source import read_whole
from augrecipes.errors import DataError

_MOST = 1 << 26  # bytes of the annotations of one picture
_DEEPEST = 100
_REFUSED = "it declares a document type (<!DOCTYPE ...>), which annotations do not need and which is not read"


def read_element(path: Path) -> ElementTree.Element:
    """A small XML file as a tree.

    Raises:
        DataError: it cannot be read, is no XML in UTF-8, or declares a document type.
    """
    data = read_whole(path, _MOST)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DataError("is not UTF-8 text", str(path)) from None
    # Text is parsed as it stands, whatever encoding it claims, so that nothing is hidden from this look.
    if "<!DOCTYPE" in text:
        raise DataError(_REFUSED, str(path))
    try:
        return ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError) as error:
        raise DataError(f"not valid XML: {error}", str(path)) from None


def walk(
    path: Path,
    start: Callable[[tuple[str, ...], Mapping[str, str], int], None],
    end: Callable[[tuple[str, ...], str], None],
) -> None:
    """Go through an XML file of any size, element by element.

    Args:
        path: the file.
        start: called with the tags from the outermost on, the attributes and the line, where an element begins.
        end: called with the tags, and the text in the element, where it ends.

    Raises:
        DataError: it cannot be read, is no XML in UTF-8, or declares a document type; names the line.
    """
    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    parser.ordered_attributes = False
    tags: list[tuple[str, ...]] = [()]
    texts: list[str] = [""]

    def begin(tag: str, attributes: dict[str, str]) -> None:
        if len(tags) > _DEEPEST:
            raise DataError(f"elements more than {_DEEPEST} deep", f"{path}:{parser.CurrentLineNumber}")
        tags.append((*tags[-1], tag))
        texts.append("")
        start(tags[-1], attributes, parser.CurrentLineNumber)

    def finish(_: str) -> None:
        end(tags.pop(), texts.pop().strip())

    def text(data: str) -> None:
        if not data.isspace():
            texts[-1] += data

    def refuse(*_: object) -> None:
        raise DataError(_REFUSED, f"{path}:{parser.CurrentLineNumber}")

    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = begin, finish, text
    parser.StartDoctypeDeclHandler = refuse
    try:
        with path.open("rb") as file:
            parser.ParseFile(file)
    except expat.ExpatError as error:
        raise DataError(f"not valid XML: {expat.ErrorString(error.code)}", f"{path}:{error.lineno}") from None
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", str(path)) from error
