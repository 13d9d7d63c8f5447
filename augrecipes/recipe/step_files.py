"""Image files that steps name, such as the reference images of FDA: found when the recipe is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from augrecipes.errors import NO_HINT
from augrecipes.ops.records import op_record
from augrecipes.paths import images_in
from augrecipes.recipe.keys import Context
from augrecipes.recipe.nodes import MappingNode, plain
from augrecipes.recipe.problems import near


def reference_files(context: Context, name: str, body: MappingNode) -> dict[str, Any]:
    """The image files that a step reads, listed, and the folder that they are counted from."""
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
