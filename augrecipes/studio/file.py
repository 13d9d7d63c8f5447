"""The recipe's file: read, written whole or not at all, imported and exported."""

from __future__ import annotations

import codecs
import difflib
import json
import os
import re
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any

from augrecipes.errors import RecipeError
from augrecipes.interop import plain
from augrecipes.interop.importing import of_document
from augrecipes.interop.reading import of_text
from augrecipes.paths import write_file
from augrecipes.recipe.limits import MAX_BYTES, read_bytes
from augrecipes.recipe.problems import Problems, Stop
from augrecipes.studio.requests import ExportRequest, ImportRequest, Refused, SaveRequest
from augrecipes.studio.studio import Studio
from augrecipes.studio.workbench import Workbench

GONE = ""  # the hash of a file that is not there
_OURS = re.compile(r"\A(?=.*^version:\s*1\b)(?=.*^(steps|extends):)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class OnDisk:
    """A recipe's file as it is: its text with line ends as the page has them, and the hash of its bytes."""

    text: str = ""
    sha: str = GONE
    crlf: bool = False


def read(path: Path) -> OnDisk:
    """The file; a missing one is empty. Raises Refused where it is no text, or cannot be read."""
    if not path.exists():
        return OnDisk()
    problems = Problems()
    try:
        data = read_bytes(path, path.name, problems)
        text = data.removeprefix(codecs.BOM_UTF8).decode()
    except Stop:
        raise Refused(422, "file", str(problems.error())) from None
    except UnicodeDecodeError:
        raise Refused(422, "encoding", f"{path.name} is not UTF-8", "save the file as UTF-8") from None
    if len(data) > MAX_BYTES:
        raise Refused(413, "too-large", f"a recipe is at most {MAX_BYTES:,} bytes")
    return OnDisk(text.replace("\r\n", "\n"), sha256(data).hexdigest(), b"\r\n" in data)


def alive(studio: Studio) -> dict[str, Any]:
    """Which server answers, and the hash of the file's bytes now."""
    try:
        sha = None if studio.file is None else read(studio.file).sha
    except Refused:
        sha = None
    return {"server": studio.server, "version": studio.version, "read_only": studio.read_only, "sha": sha}


def recipe_of(studio: Studio) -> dict[str, Any]:
    """The text that the page starts with."""
    found = OnDisk() if studio.file is None else read(studio.file)
    path = None if studio.file is None else os.fspath(studio.file)
    return {"path": path, "text": found.text or studio.text, "sha": found.sha, "read_only": studio.read_only}


def save(studio: Studio, request: SaveRequest) -> dict[str, Any]:
    """Write the text to the recipe's file.

    Raises:
        Refused: 403 where nothing is written, 409 with the text on disk and a diff where that has changed.
    """
    text, file = request.text, studio.file
    if studio.read_only:
        raise Refused(403, "read-only", "this studio was started with --read-only", "download the YAML instead")
    if file is None:
        fix = "download the YAML, or start with: augrecipes studio FILE.yaml"
        raise Refused(409, "no-file", "the studio was started without a file to write", fix)
    before = read(file)
    if request.base_sha != before.sha and not request.force:
        lines = before.text.splitlines(), text.splitlines()
        diff = "\n".join(difflib.unified_diff(*lines, "on disk", "in the editor", lineterm=""))
        message, fix = "the file has changed on disk since it was read", "compare both, then overwrite it or load it"
        more = {"disk_text": before.text, "disk_sha": before.sha, "diff": diff}
        raise Refused(409, "changed", message, fix, **more)
    data = (text.replace("\n", "\r\n") if before.crlf else text).encode()
    if len(data) > MAX_BYTES:
        raise Refused(413, "too-large", f"a recipe is at most {MAX_BYTES:,} bytes")
    try:
        mode = file.stat().st_mode & 0o777 if file.exists() else None
        write_file(file, data)
        if mode is not None:
            file.chmod(mode)
    except OSError as error:
        raise Refused(422, "file", f"{file.name} cannot be written: {error.strerror or error}") from None
    return {"sha": sha256(data).hexdigest()}


def imported(bench: Workbench, request: ImportRequest) -> dict[str, Any]:
    """A recipe from a file that was dropped: of albumentations, another framework's config, or a recipe as it is.

    Nothing of it is run.

    Raises:
        RecipeError: nothing known, or parts of it are not supported.
    """
    text, name = request.text, PurePosixPath(request.name.replace("\\", "/")).name[:120] or "dropped.yaml"
    try:
        bench.recipe(text)
    except RecipeError:
        if not _OURS.search(text):
            draft = of_document(of_text(text, re.sub(r"[^\w.-]", "_", name)))
            draft.complete()
            changed = [f"{line.name}: {'; '.join(line.beside)}" for line in draft.lines() if line.beside]
            changed += [f"{key}: {what}" for key, what in draft.remarks.items()]
            left_out = [f"left out: {part.message}" for part in draft.left_out()]
            return {"text": draft.to_yaml(), "notes": [*draft.notes, *changed, *left_out]}
    return {"text": text, "notes": []}  # ours: the editor shows what is wrong


def exported(bench: Workbench, request: ExportRequest) -> dict[str, Any]:
    """The recipe as a program of albumentations, or as the JSON that `A.save` writes.

    Raises:
        RecipeError: it is none, or it cannot run in albumentations alone.
    """
    recipe = bench.recipe(request.text)
    if request.form == "python":
        return {"text": plain.python_of(recipe), "name": f"{recipe.name}.py"}
    return {"text": json.dumps(plain.saved(recipe, "train"), indent=2) + "\n", "name": f"{recipe.name}.json"}
