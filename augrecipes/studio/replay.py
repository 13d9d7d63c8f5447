"""The line of Python that makes a sample again."""

from __future__ import annotations

from typing import Any

from augrecipes.compiler.run.pipeline import Pipeline
from augrecipes.sources.columns import GivenTable
from augrecipes.sources.sample import RecipeSource, Sample
from augrecipes.sources.stored import StoredSource


def python_of(source: str, pipeline: Pipeline, files: RecipeSource, sample: Sample, unit: int, epoch: int) -> str:
    """A statement that gives the sample to the bit, for someone who has saved the recipe.

    Args:
        source: what `ar.load` finds the recipe by.
        pipeline: that makes it.
        files: that it is one of.
        sample: as it was read.
        unit: its number among the files.
        epoch: of its draws.
    """
    if isinstance(files, StoredSource):
        return _of_store(source, pipeline, files, sample, epoch)
    table = files.table
    fixed = [f"mode={pipeline.mode!r}"] if pipeline.mode != "train" else []
    fixed += [f"optimize={pipeline.optimize!r}", f"seed={pipeline.compiled.seed}"]
    compiled = f"ar.load({source!r}).compile({', '.join(fixed)})"
    key = [str(sample.index), f"epoch={epoch}"] + ([f"tile={sample.tile}"] if sample.tile else [])
    paths = {name: table.paths(unit)[name] for name in sample.images}
    if any("\0" in path or not path for path in paths.values()) or isinstance(table, GivenTable):
        return f"{compiled}.at({', '.join(key)})({', '.join(f'{name}={name}' for name in sample.targets)})"
    given = [f"{name}={_read(path, sample.images[name], files)}" for name, path in paths.items()]
    given += [f"{name}={name}" for name in sample.rest]
    return f"{compiled}.at({', '.join(key)})({', '.join(given)})"


def _of_store(source: str, pipeline: Pipeline, stored: StoredSource, sample: Sample, epoch: int) -> str:
    fixed = [f"mode={pipeline.mode!r}"] if pipeline.mode != "train" else []
    fixed += [f"optimize={pipeline.optimize!r}", f"seed={pipeline.compiled.seed}"]
    packed = f"ar.Packed({stored.folder!r}, {source!r}, {', '.join(fixed)})"
    if not pipeline.recipe.facts.tiles:
        return f"{packed}[{epoch}, {sample.index}]"
    tile = f"{sample.index}, epoch={epoch}, tile={sample.tile}"
    return f"(ds := {packed}).pipeline.at({tile})(**ds.given({tile}).targets)"


def _read(path: str, image: Any, files: RecipeSource) -> str:
    """How a picture is read: decoded, or as a file of which the plan decodes what it needs."""
    how = "read_image" if hasattr(image, "__array_interface__") else "open_encoded"
    channels = files.decode["channels"]
    return f"ar.{how}({path!r}{'' if channels == 3 else f', channels={channels}'})"
