"""Image files that steps name, such as the reference images of FDA: found when the recipe is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from augrecipes.ops.records import op_record
from augrecipes.paths import images_in
from augrecipes.recipe.keys import Context
from augrecipes.recipe.nodes import MappingNode, plain


def reference_files(context: Context, name: str, body: MappingNode) -> dict[str, Any]:
    """The image files that a step reads, listed, and the folder that they are counted from."""
    node = body.entries.get(op_record(name).reads)
    paths = [] if node is None else [value] if isinstance(value := plain(node), str) else value
    if node is None or not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
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
        context.problems.add("E308", node.place, message, f"{name}.{op_record(name).reads}")
    return {"files": tuple(files), "folder": folder}
