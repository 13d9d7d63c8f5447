"""Pipelines of others brought in, and recipes taken away. Nothing that is dropped on the page is run."""

from __future__ import annotations

import json
import re
from pathlib import PurePosixPath
from typing import Any

from augrecipes.bring import eject as ejecting
from augrecipes.bring.importing import of_document
from augrecipes.bring.reading import of_text
from augrecipes.errors import RecipeError, harmless
from augrecipes.studio.asked import Refused, RequestBody
from augrecipes.studio.working import Workbench

_UNSAFE = re.compile(r"[^\w.-]")


def imported(bench: Workbench, body: RequestBody) -> dict[str, Any]:
    """A recipe of what was dropped: an albumentations file, another framework's config, or a recipe as it is.

    Raises:
        RecipeError: nothing known, or parts of it have no place in a recipe.
    """
    text = body.text()
    name = PurePosixPath(body.text("name").replace("\\", "/")).name[:120] or "dropped.yaml"
    try:
        bench.recipe(text)
    except RecipeError as error:
        if re.search(r"^version:\s*1\b", text, re.MULTILINE) and re.search(r"^(steps|extends):", text, re.MULTILINE):
            return {"text": text, "notes": [], "changed": [], "left_out": []}  # ours: the editor shows what is wrong
        del error
    else:
        return {"text": text, "notes": [], "changed": [], "left_out": []}
    draft = of_document(of_text(text, _UNSAFE.sub("_", name)))
    draft.complete()
    left = draft.left_out()
    changed = [f"{line.name}: {'; '.join(line.beside)}" for line in draft.lines() if line.beside]
    changed += [f"{key}: {what}" for key, what in draft.remarks.items()]
    return {
        "text": draft.to_yaml(),
        "notes": [*draft.notes, *changed, *(f"left out: {part.message}" for part in left)],
        "changed": changed,
        "left_out": [{"line": part.line, "code": part.code, "message": harmless(part.message)} for part in left],
        "dataset": draft.dataset or None,
    }


def ejected(bench: Workbench, body: RequestBody) -> dict[str, Any]:
    """The recipe as a program of albumentations, or as the JSON that `A.save` writes.

    Raises:
        RecipeError: it is none, or no code of albumentations can carry it out.
    """
    recipe, form = bench.recipe(body.text()), body.value("as")
    if form == "python":
        return {"text": ejecting.python_of(recipe), "name": f"{recipe.name}.py"}
    if form == "json":
        return {"text": json.dumps(ejecting.saved(recipe, body.mode()), indent=2) + "\n", "name": f"{recipe.name}.json"}
    if form == "yaml":
        return {"text": recipe.to_yaml(), "name": f"{recipe.name}.yaml"}
    raise Refused(400, "as", "'as' must be python, json or yaml")
