"""Files that steps name, such as the reference images of FDA and the template of RandStainNA: read with the recipe."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from augrecipes.errors import NO_HINT
from augrecipes.ops.records import op_record
from augrecipes.paths import images_in
from augrecipes.recipe import limits
from augrecipes.recipe.keys import Context
from augrecipes.recipe.nodes import MappingNode, plain
from augrecipes.recipe.problems import near

_VALUES = (".yaml", ".yml", ".json")


def step_files(context: Context, name: str, body: MappingNode) -> tuple[MappingNode, dict[str, Any]]:
    """A step's arguments and its files: images are listed, and what a YAML or JSON file holds stands in its place."""
    files, key = reference_files(context, name, body), op_record(name).reads
    for file in files.get("files", ()):
        if file.endswith(_VALUES) and context.resolved.read is not None:
            path = str(Path(files["folder"], file))
            data = limits.read_bytes(path, path, context.problems)
            node, _ = context.resolved.read(data, path, context.problems)
            return replace(body, entries={**body.entries, key: node}), {}
    return body, files


def reference_files(context: Context, name: str, body: MappingNode) -> dict[str, Any]:
    """The files that a step reads, listed, and the folder that they are counted from."""
    argument, names = op_record(name).reads, op_record(name).reference_names
    node = body.entries.get(argument)
    paths = [] if node is None else [value] if isinstance(value := plain(node), str) else value
    if node is None or not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
        return {}
    if paths and paths[0] in names:
        return {}
    folder, files, message = str(Path(node.place.file).parent.resolve()), list[str](), "there is no image in it"
    outside = [path for path in paths if Path(path).is_absolute() or ".." in Path(path).parts]
    try:
        if outside and not context.resolved.runs_plugins:  # text of strangers
            message = f"{outside[0]!r} lies outside of the recipe's folder, and nobody asked for this text"
        else:
            files = images_in(folder, paths)
    except (OSError, ValueError) as error:
        message = f"{getattr(error, 'filename', None) or paths}: {getattr(error, 'strerror', None) or error}"
    if not files:
        message += f"; the names are {', '.join(names)}" if names else ""
        context.problems.add(
            "E308", node.place, message, f"{name}.{argument}", near(paths[0], names) if paths else NO_HINT
        )
    return {"files": tuple(files), "folder": folder}
