"""The recipe's file: read, and written whole or not at all, and not over what somebody else has written."""

from __future__ import annotations

import codecs
import difflib
import os
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from augrecipes.paths import write_file
from augrecipes.recipe.limits import MAX_BYTES, read_bytes
from augrecipes.recipe.problems import Problems, Stop
from augrecipes.studio.asked import Refused, RequestBody
from augrecipes.studio.studio import Studio

GONE = ""  # the sha of a file that is not there
_CHANGED = "the file has changed on disk since it was read"


@dataclass(frozen=True, slots=True)
class OnDisk:
    """A recipe's file as it is: its text with line ends as the page has them, and what names its bytes."""

    text: str
    sha: str
    crlf: bool = False


def read(path: Path) -> OnDisk:
    """The file. Raises Refused where it is no text, or cannot be read; a missing one is empty."""
    if not path.exists():
        return OnDisk("", GONE)
    problems = Problems()
    try:
        data = read_bytes(path, path.name, problems)
    except Stop:
        raise Refused(422, "file", str(problems.error())) from None
    if len(data) > MAX_BYTES:
        raise Refused(413, "too-large", f"a recipe is at most {MAX_BYTES:,} bytes")
    try:
        text = data.removeprefix(codecs.BOM_UTF8).decode()
    except UnicodeDecodeError:
        raise Refused(422, "encoding", f"{path.name} is not UTF-8", "save the file as UTF-8") from None
    return OnDisk(text.replace("\r\n", "\n"), sha256(data).hexdigest(), b"\r\n" in data)


def sha_of(studio: Studio) -> str | None:
    """What names the file's bytes now; None without a file that can be read. It is read where it has changed."""
    if studio.file is None:
        return None
    try:
        found = studio.file.stat()
        stamp = found.st_mtime_ns, found.st_size, found.st_ino
        if studio.stamped is None or studio.stamped[0] != stamp:
            studio.stamped = stamp, read(studio.file).sha
    except OSError:
        return GONE
    except Refused:
        return None
    return studio.stamped[1]


def recipe_of(studio: Studio) -> dict[str, Any]:
    """What the page starts with."""
    if studio.file is None:
        return {"path": None, "text": studio.text, "sha": GONE, "read_only": studio.read_only}
    found = read(studio.file)
    text = found.text or studio.text
    return {"path": os.fspath(studio.file), "text": text, "sha": found.sha, "read_only": studio.read_only}


def save(studio: Studio, asked: RequestBody) -> dict[str, Any]:
    """Write the text to the recipe's file.

    Raises:
        Refused: 403 where nothing is written, 409 with the text on disk and a diff where that has changed.
    """
    text = asked.text()
    if studio.read_only:
        raise Refused(403, "read-only", "this studio was started with --read-only", "download the YAML instead")
    if studio.file is None:
        cure = "download the YAML, or start with: augrecipes studio FILE.yaml"
        raise Refused(409, "no-file", "the studio was started without a file to write", cure)
    before = read(studio.file)
    if asked.value("base_sha") != before.sha and not asked.flag("force"):
        mine, disk = text.splitlines(), before.text.splitlines()
        diff = "\n".join(difflib.unified_diff(disk, mine, "on disk", "in the editor", lineterm=""))
        more = {"disk_text": before.text, "disk_sha": before.sha, "diff": diff}
        raise Refused(409, "changed", _CHANGED, "look at the difference, then overwrite it or take it over", **more)
    try:
        data = text.replace("\n", "\r\n").encode() if before.crlf else text.encode()
    except UnicodeEncodeError:
        raise Refused(422, "encoding", "the text holds half a character, which no file can") from None
    if len(data) > MAX_BYTES:
        raise Refused(413, "too-large", f"a recipe is at most {MAX_BYTES:,} bytes")
    _write(studio.file, data)
    return {"sha": sha256(data).hexdigest()}


def _write(path: Path, data: bytes) -> None:
    """Whole or not at all, with the permissions that the file had."""
    mode = path.stat().st_mode & 0o777 if path.exists() else None
    try:
        write_file(path, data)
        if mode is not None:
            path.chmod(mode)
    except OSError as error:
        raise Refused(422, "file", f"{path.name} cannot be written: {error.strerror or error}") from None
