"""Addresses among paths: `s3://bucket/photos` lies elsewhere, `file:///tmp/photos` on this machine."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any
from urllib.request import url2pathname

from augrecipes.errors import DataError

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]+(::[A-Za-z][A-Za-z0-9+.\-]+)*://")
_CRUMPLED = re.compile(r"([A-Za-z][A-Za-z0-9+\-]+):/(?!/)")  # what pathlib makes of an address
_LOCAL = ("file://", "local://")


def address_of(path: Any) -> str | None:
    """The address that a path is; None of one of this machine, and of what is no text, bytes or path.

    `pathlib.Path("s3://a/b")` has lost a slash, which is given back.

    >>> address_of("s3://bucket/a.jpg"), address_of(Path("s3://bucket/a.jpg"))
    ('s3://bucket/a.jpg', 's3://bucket/a.jpg')
    >>> address_of("C:/a.jpg"), address_of("file:///tmp/a.jpg"), address_of("a/b"), address_of(3)
    (None, None, None, None)
    """
    if not isinstance(path, str | bytes | os.PathLike):
        return None
    text = os.fsdecode(path)
    if ":/" not in text or text.startswith(_LOCAL):
        return None
    if _ADDRESS.match(text):
        return text
    if not isinstance(path, str | bytes) and (match := _CRUMPLED.match(text)) and not os.path.lexists(text):
        return f"{match[1]}://{text[match.end() :]}"
    return None


def local(path: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> Path:
    """A path of this machine. DataError for an address, of which pathlib would make folders here.

    >>> local("file:///tmp/photos") == local("file:///tmp/%70hotos") == Path("/tmp/photos")
    True
    >>> local("s3://bucket/grid.png")
    Traceback (most recent call last):
    augrecipes.errors.DataError: s3://bucket/grid.png: is an address: give a path of this machine
    """
    if (address := address_of(path)) is not None:
        raise DataError("is an address: give a path of this machine", path=address)
    text = os.fsdecode(path)
    if not text.startswith(_LOCAL):
        return Path(text)
    place = Path(text.partition("://")[2])
    # `Path.as_uri` writes a space as %20, and the drive of Windows behind a slash; others write names as they are.
    return place if ("%" not in text and os.name != "nt") or os.path.lexists(place) else Path(url2pathname(str(place)))
