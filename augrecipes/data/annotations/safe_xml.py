"""XML of other people's tools, without what makes XML unsafe: a document type, and so entities, is refused."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from augrecipes.data.annotations.source import read_whole
from augrecipes.errors import DataError

_MOST = 1 << 26  # bytes of the annotations of one picture
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
