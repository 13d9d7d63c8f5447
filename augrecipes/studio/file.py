"""The page's files: the recipe on disk, imports and exports; and the data's names, the schema and the gallery."""

import difflib
import inspect
import json
import math
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from augrecipes.errors import AugrecipesError, RecipeError, harmless
from augrecipes.interop import budget, plain, reading
from augrecipes.interop.importing import of_document
from augrecipes.ops import groups, registry
from augrecipes.paths import write_file
from augrecipes.recipe import gallery, model
from augrecipes.recipe.grammar import DEGRADE, GROUPS, POLICIES, STEP_KEYS
from augrecipes.recipe.limits import MAX_BYTES, read_bytes
from augrecipes.recipe.problems import Problems, Stop
from augrecipes.studio.requests import ExportRequest, ImportRequest, RecipeRequest, Refused, SaveRequest
from augrecipes.studio.studio import Studio, continue_or_cancel
from augrecipes.studio.view import name_of

NAMES = 1_000  # samples whose names are listed
Schema = dict[str, Any]
_OURS = re.compile(r"\A(?=.*^version:\s*1\b)(?=.*^(steps|views|extends):)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class DiskFile:
    """A recipe's file on disk: its text with `\n` line ends, as the page has them, and the hash of its bytes."""

    text: str = ""
    sha: str = ""  # empty for a missing file
    crlf: bool = False


def read(path: Path | None) -> DiskFile:
    """Read a recipe's file; a missing one is empty. Refused where it is not UTF-8, or cannot be read."""
    if path is None or not path.exists():
        return DiskFile()
    problems = Problems()
    try:
        data = read_bytes(path, path.name, problems)
        text = data.decode("utf-8-sig")
    except Stop:
        raise Refused(422, "file", str(problems.error())) from None
    except UnicodeDecodeError:
        raise Refused(422, "encoding", f"{path.name} is not UTF-8", "save the file as UTF-8") from None
    if len(data) > MAX_BYTES:
        raise Refused(413, "too-large", f"a recipe is at most {MAX_BYTES:,} bytes")
    return DiskFile(text.replace("\r\n", "\n"), sha256(data).hexdigest(), b"\r\n" in data)


def alive(studio: Studio) -> dict[str, Any]:
    """Answer a heartbeat of the page with the current hash of the file."""
    sha: str | None = None
    with suppress(Refused):
        sha = read(studio.file).sha if studio.file else None
    return {"sha": sha}


def recipe_of(studio: Studio) -> dict[str, Any]:
    """The text that the page starts with."""
    on_disk, path = read(studio.file), studio.file and os.fspath(studio.file)
    return {"path": path, "text": on_disk.text or studio.text, "sha": on_disk.sha, "read_only": studio.read_only}


def save(studio: Studio, request: SaveRequest) -> dict[str, Any]:
    """Write the text to the recipe's file.

    Raises:
        Refused: 403 in a read-only studio; 409 without a file, or with a diff where the file has changed on disk.
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
        raise Refused(409, "changed", message, fix, diff=diff)
    data = (text.replace("\n", "\r\n") if before.crlf else text).encode()
    if len(data) > MAX_BYTES:
        raise Refused(413, "too-large", f"a recipe is at most {MAX_BYTES:,} bytes")
    try:
        write_file(file, data, mode=file.stat().st_mode & 0o777 if file.exists() else 0o644)
    except OSError as error:
        raise Refused(422, "file", f"{file.name} cannot be written: {error.strerror or error}") from None
    return {"sha": sha256(data).hexdigest()}


def import_recipe(studio: Studio, request: ImportRequest) -> dict[str, Any]:
    """Convert a file dropped on the page: albumentations, another framework's config, or a recipe to keep.

    None of its code is run.

    Raises:
        RecipeError: the format is unknown, or parts of it are not supported.
    """
    text, name = request.text, PurePosixPath(request.name.replace("\\", "/")).name[:120] or "dropped.yaml"
    try:
        studio.recipe(text)
    except RecipeError:
        if not _OURS.search(text):
            with budget.bounded(name, continue_or_cancel):
                draft = of_document(reading.of_text(text, re.sub(r"[^\w.-]", "_", name)))
                draft.complete()
            left_out = [f"left out: {part.message}" for part in draft.left_out()]
            return {"text": draft.to_yaml(), "notes": [*draft.notes, *draft.changes(), *left_out]}
    return {"text": text, "notes": []}  # ours: the editor shows what is wrong


def export_recipe(studio: Studio, request: ExportRequest) -> dict[str, Any]:
    """Export the recipe as albumentations code, or as the JSON that `A.save` writes.

    Raises:
        RecipeError: it is not valid, or cannot run in albumentations alone.
    """
    recipe = studio.recipe(request.text)
    if request.form == "python":
        return {"text": plain.python_of(recipe), "name": f"{recipe.name}.py"}
    return {"text": json.dumps(plain.saved(recipe, "train"), indent=2) + "\n", "name": f"{recipe.name}.json"}


def schema() -> dict[str, Any]:
    """Describe every step and its arguments, for completion, hover and sliders; and the keys of a recipe."""
    classes = {name: registry.arguments(name) or {"properties": {}} for name in registry.names()}
    steps = {**GROUPS, **POLICIES, groups.DEGRADE: DEGRADE, **classes}
    return {
        "steps": {name: _step(name, described) for name, described in sorted(steps.items())},
        "step_keys": {name: argument_of(name, part) for name, part in STEP_KEYS.items()},
        "top": {name: argument_of(name, part) for name, part in model.TOP["properties"].items()},
    }


def _step(name: str, described: Schema) -> dict[str, Any]:
    properties = {key: part for key, part in described["properties"].items() if key not in (*STEP_KEYS, "steps")}
    arguments = {key: argument_of(key, part) for key, part in properties.items()}
    first, group = str(described.get("description", "")), bool(described.get("x-group")) or name == groups.DEGRADE
    doc = first
    with suppress(KeyError):
        doc = inspect.getdoc(registry.get_class(name)) or first
    return {"first_line": first, "doc": doc, "group": group, "arguments": arguments}


def argument_of(name: str, part: Schema) -> dict[str, Any]:
    """Choose an argument's control and documentation from its name and JSON Schema.

    `type` is `number`, `integer`, `boolean`, `choice`, `range` (two numbers, of which one may be enough), `pair` (two
    numbers that are no range: `names` says what they are), `list`, `text` or `any`; `min`, `max` and `step` are of a
    slider, and `endless` says that its end is a guess.

    >>> found = argument_of("p", {"type": "number", "minimum": 0, "maximum": 1, "default": 0.5})
    >>> found["type"], found["min"], found["max"], found["step"]
    ('number', 0, 1, 0.01)
    """
    about = {"default": part.get("default"), "doc": str(part.get("description", ""))}
    either = part.get("anyOf", [part])
    pairs = [option["prefixItems"] for option in either if len(option.get("prefixItems", ())) == 2]
    alone = [option for option in either if option.get("type") in ("number", "integer")]
    if pairs or alone:
        ends = pairs[0] if pairs else alone[:1]
        whole = all(option.get("type") == "integer" for option in ends)
        least, most = _bounds(ends, about["default"], whole=whole)
        step = 1.0 if whole else 10.0 ** math.floor(math.log10((most - least) / 50)) if most > least else 0.01
        names = pair_names(name, part)
        kind = "pair" if names else "range" if pairs else "integer" if whole else "number"
        bounded_above = any({"maximum", "exclusiveMaximum"} & option.keys() for option in ends)
        endless = about["default"] is None and not bounded_above
        both = {"two_ended": bool(pairs), "one_number": bool(pairs and alone), "whole": whole or bool(names)}
        slider = {"type": kind, "min": least, "max": most, "step": step, "names": names, "endless": endless}
        return {**slider, **both, **about}
    if (choices := next((option["enum"] for option in either if "enum" in option), None)) is not None:
        # Constants have names; their numbers are for those who come from OpenCV.
        named = [option for option in choices if not isinstance(option, int) or isinstance(option, bool)]
        return {"type": "choice", "choices": named or list(choices), **about}
    types = [option.get("type") for option in either]
    known = (("boolean", "boolean"), ("array", "list"), ("string", "text"))
    return {"type": next((shown for kind, shown in known if kind in types), "any"), **about}


def _bounds(ends: list[Schema], default: Any, *, whole: bool) -> tuple[float, float]:
    """The schema's bounds; where it has none, a round number around the default."""

    def bounds(end: str, inside: int) -> list[Any]:
        exclusive = f"exclusive{end.capitalize()}"
        return [part[exclusive] + inside * whole if exclusive in part else part.get(end) for part in ends]

    defaults = default if isinstance(default, list | tuple) else [default]
    usual = [float(value) for value in defaults if isinstance(value, int | float) and not isinstance(value, bool)]
    reach = _round_up(2 * max(map(abs, usual), default=0.5) or 1.0)
    lows, highs = bounds("minimum", 1), bounds("maximum", -1)
    least = min(0.0 if any(usual) and min(usual) >= 0 else -reach, *usual, 0.0) if None in lows else min(lows)
    most = max(reach, least + 1) if None in highs else max(highs)
    return (math.floor(least), math.ceil(most)) if whole else (least, most)


def _round_up(value: float) -> float:
    """The next of 1, 2, 5, 10, 20, 50, ..."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(part * power for part in (1, 2, 5, 10) if part * power >= value * (1 - 1e-9))


def source(studio: Studio, request: RecipeRequest) -> dict[str, Any]:
    """Describe the data as a recipe reads them; `problem` says why it cannot."""
    seed = studio.data.store and studio.data.store.about["seed"]
    answer: dict[str, Any] = {"count": 0, "names": [], "turns": [], "problem": None, "seed": seed, "kind": None}
    answer["demo"] = studio.data.data is None
    try:
        recipe = studio.recipe(request.text)
        answer["kind"] = "bags" if recipe.facts.tiles else "pairs" if recipe.facts.scales else "images"
        pipeline = studio.pipeline(studio.data.left(recipe, "train", seed or 0)[0])
        files = studio.data.source(pipeline.recipe, pipeline)
        answer["count"] = len(files.table)
        answer["names"] = [name_of(files, recipe, row) for row in range(min(len(files.table), NAMES))]
        answer["turns"] = [] if files.labels is None else class_turns(files.labels)
    except AugrecipesError as error:
        answer["problem"] = answer["kind"] and harmless(str(error))
    return answer


def class_turns(labels: NDArray[np.int64]) -> list[int]:
    """Order samples so that classes take turns, and return the first 1,000; empty where there is one class.

    >>> class_turns(np.array([0, 0, 0, 4, 4, 7]))
    [0, 3, 5, 1, 4, 2]
    """
    order = np.argsort(labels, kind="stable")
    _, starts, place = np.unique(labels[order], return_index=True, return_inverse=True)
    rank = np.arange(len(labels)) - starts[place]  # of a sample in its class
    turns = order[np.lexsort((place, rank))][:NAMES]
    return [int(sample) for sample in turns] if len(starts) > 1 else []


def recipes() -> list[dict[str, Any]]:
    """The gallery: name, first line and text of each recipe."""
    return [
        {"name": each["name"], "title": each["about"], "text": Path(each["file"]).read_text(encoding="utf-8")}
        for each in gallery.entries()
    ]


# Arguments of two numbers that are not a range, and what the numbers are.
_PAIRS: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("size", "max_size_hw"), ("height", "width")),
    **dict.fromkeys(("grid", "tile_grid_size"), ("rows", "columns")),
    **dict.fromkeys(("holes_number_xy", "num_grid_xy", "shift_xy"), ("x", "y")),
    "padding": ("left, right", "top, bottom"),
}
_TWO = 2
_RANGE_WORDS = {"x-range", "x-nondecreasing"}


def pair_names(argument: str, schema: Mapping[str, Any]) -> tuple[str, str] | None:
    """Name the two numbers of an argument that is a pair but not a range; None for every other argument.

    Args:
        argument: its name.
        schema: its JSON Schema, with the keywords of `tests/recipe_schema.py`.

    >>> from augrecipes.ops.registry import takes
    >>> pair_names("size", takes("RandomResizedCrop")["size"]), pair_names("limit", takes("Rotate")["limit"])
    (('height', 'width'), None)
    """
    parts = (schema, *schema.get("anyOf", ()))
    items = next((part["prefixItems"] for part in parts if len(part.get("prefixItems", ())) == _TWO), None)
    if items is None or argument in _PAIRS:
        return items and _PAIRS[argument]
    # A range says so: by its validators, by one number that may stand for it, or by its name.
    said = any(_RANGE_WORDS & part.keys() or part.get("type") in ("number", "integer") for part in parts)
    whole = all("number" not in [part.get("type") for part in (part, *part.get("anyOf", ()))] for part in items)
    return ("first", "second") if whole and not said and not argument.endswith(("_range", "_limit")) else None
