"""Bake the rows of a store: read images, scenes or tiles, and run the baked steps on them.

Workers bake rows, each with a note as JSON; the process that finishes the store reads the notes.
"""

import json
import math
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from augrecipes.compiler.run.input_values import label_dtype
from augrecipes.compiler.run.pipeline import Pipeline
from augrecipes.errors import DataError
from augrecipes.images.encoded import Encoded, open_encoded
from augrecipes.images.format import ImageHeader
from augrecipes.images.reading import stamp_of
from augrecipes.native.kernels import codec
from augrecipes.redaction import redact
from augrecipes.sources.columns import NUMBERS, ArrayTable, Columns
from augrecipes.sources.files import with_all_files
from augrecipes.sources.packed_columns import POINTS, Unreadable, as_item, columns_of_points
from augrecipes.store import Item, decodes_to, encoded_item, make_item

_RUN = 64  # the most rows of one file that are baked as one run
_WHOLE = 50_000_000  # px; of larger images, each row decodes its own window
EXIF_MARKER = b"\xff\xe1"
"""APP1, which follows the first marker of a canonical JPEG only where it carries an EXIF orientation."""


@dataclass
class BakedRow:
    """One row of a store.

    Attributes:
        items: the items by target; empty where the input is unreadable.
        note: the rest of the row as JSON text: the stamps of its files; boxes and keypoints, or why it is unreadable.
    """

    items: dict[str, list[Item]] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True)
class Baker:
    """Makes the rows of a store; pickles.

    Attributes:
        pipeline: the baked steps.
        table: the data.
        decode: arguments of `read_image`.
        roles: each target's role, `image` or `mask`.
        format: the store's format.
        quality: the quality of lossy formats.
        keeps_jpegs: copy the coefficients of JPEG files, as no step changes them.
        times: the number of rows, one per baked epoch, of each image, scene or tile.
        stains: the stains of each slide or bag, where steps use them.
    """

    pipeline: Pipeline
    table: Columns
    decode: dict[str, Any]
    roles: dict[str, Any]
    format: str
    quality: int
    keeps_jpegs: bool = False
    times: int = 1
    stains: Sequence[Any] = ()

    def runs(self, rows: range) -> Iterator[range]:
        """Yield runs of rows that one process should bake together, because they come from the same file."""
        start = rows.start
        while start < rows.stop:
            end = self._next_unit(start)
            while end < rows.stop and end - start < _RUN and self._same(start, end):
                end = self._next_unit(end)
            yield range(start, min(end, rows.stop))
            start = end

    def bake(self, rows: range) -> Iterator[BakedRow]:
        """Bake some rows; those of one image, scene or tile, one per baked epoch, are adjacent.

        Adjacent rows of the same files share the open files, as long as the files do not change.
        """
        decode, key, opened = len(rows) > 1, None, dict[str, Any]()
        while rows:
            unit = rows.start // self.times
            unit_rows = range(rows.start, min(self._next_unit(rows.start), rows.stop))
            stamp = self.stamp(rows.start)
            unit_key = (self.table.paths(unit), stamp[: len(self._images(unit))])  # masks are read for each row
            try:
                inputs = self._read(unit, opened if unit_key == key else {}, decode=decode)
            except DataError as error:
                yield from [self._defect(unit, stamp, error)] * len(unit_rows)
            else:
                if not isinstance(self.table, ArrayTable):
                    key, opened = unit_key, {name: inputs[name] for name in self._images(unit)}
                for row in unit_rows:
                    yield self._bake_row(unit, row % self.times, stamp, inputs)
            rows = rows[len(unit_rows) :]

    @property
    def optional(self) -> set[str]:
        """Names of images that rows may lack: targets that a Degrade makes where there is no file."""
        names, target_of = self.pipeline.optional, self.pipeline.target_of
        return {name for name in self.roles if names and target_of(name) in names}

    def _images(self, unit: int) -> list[str]:
        """Names of the unit's images that the baked steps use."""
        if not self.pipeline.recipe.facts.scales:
            return [*self.pipeline.targets]
        return [name for name in self.table.paths(unit) if self.pipeline.target_of(name) in self.pipeline.targets]

    def _next_unit(self, row: int) -> int:
        """Return the first row of the next unit."""
        return (row // self.times + 1) * self.times

    def _same(self, row: int, other: int) -> bool:
        paths = self.table.paths
        return not isinstance(self.table, ArrayTable) and paths(row // self.times) == paths(other // self.times)

    def _defect(self, unit: int, stamp: list[str], error: DataError) -> BakedRow:
        cause = error if error.path else error.with_path(next(iter(self.table.paths(unit).values())))
        return BakedRow(note=_dump({"stamp": stamp, "path": redact(cause.path or ""), "reason": cause.reason_in_step}))

    def _bake_row(self, unit: int, epoch: int, stamp: list[str], inputs: dict[str, Any]) -> BakedRow:
        """Run the baked steps on a unit, with the draws of an epoch."""
        pipeline, (index, tile) = self.pipeline, self.table.place(unit)
        try:
            labels = pipeline.recipe.inputs.mask_labels
            inputs = {**inputs, "stains": self.stains[index]} if self.stains else inputs
            versions = {name: target for name in inputs if (target := pipeline.target_of(name)) != name and target}
            first = {name: inputs[name] for name in inputs if name not in versions}
            run = pipeline.at(index, epoch, tile)
            outputs = run(**first)
            for name, target in versions.items():  # each version runs as if it were the only one
                outputs[name] = run(**{**first, target: inputs[name]})[target]
            if "mask" in outputs:
                outputs["mask"] = _cast_mask(outputs["mask"], label_dtype(inputs["mask"].dtype, labels))
            for name in self.table.targets:
                if name not in outputs:
                    raise DataError(f"has no {name}, which others have: a store has it for each sample, or for none")
                outputs[name] = as_item(outputs[name], name, pipeline.recipe.targets[name])
        except DataError as error:
            paths = self.table.paths(unit)
            return self._defect(unit, stamp, with_all_files(error, {name: paths[name] for name in self._images(unit)}))
        roles = {name: role for name, role in self.roles.items() if name in outputs or name not in self.optional}
        items = {name: [self._item(unit, name, role, outputs[name])] for name, role in roles.items()}
        label = self.table.label_of(unit)
        report = {} if label is None else {"label": label}
        return BakedRow(items, _dump({"stamp": stamp, **report, **self._points(outputs)}))

    def _item(self, unit: int, name: str, role: Any, array: npt.NDArray[Any]) -> Item:
        """Make the item of an image or mask; copy the JPEG's coefficients where they decode to just this image."""
        if self.keeps_jpegs and role == "image" and (image := self._encoded(unit, name)) is not None:
            data = canonical_jpeg(image.data, image.header, image.turn)
            if data is not None and decodes_to(array, data):
                return encoded_item(data, array)
        return make_item(array, format=self.format, role=role, quality=self.quality)

    def _encoded(self, unit: int, name: str) -> Encoded | None:
        """Open the image in its file format; None where it comes as pixels."""
        if isinstance(self.table, ArrayTable):
            inputs = self.pipeline.recipe.inputs
            image = self.table.read(unit, inputs, undecoded=True, names=(name,), **self.decode)[name]
            return image if isinstance(image, Encoded) else None
        return open_encoded(self.table.sources()[name][unit], **self.decode)

    def stamp(self, row: int) -> list[str]:
        """Return a row's stamp, which changes when its files do: a resumed run compares it."""
        unit = row // self.times
        if isinstance(self.table, ArrayTable):
            return [self.table.stamp(unit)]
        sources = self.table.sources()
        names = (name for name in (*self._images(unit), "mask", *self.table.targets) if name in sources)
        return [stamp_of(sources[name][unit]) for name in names]

    def _read(self, unit: int, opened: dict[str, Any], *, decode: bool) -> dict[str, Any]:
        """Read the inputs of the baked steps; `decode` images that serve several rows."""
        recipe, names = self.pipeline.recipe, self._images(unit)
        undecoded = self.pipeline.reads and not (recipe.facts.scales or recipe.facts.tiles)
        how = {"inputs": recipe.inputs, "undecoded": undecoded, "names": names, **self.decode}
        arrays = self.table.read(unit, **how, **({"opened": opened} if opened else {}))
        if not decode:
            return arrays
        return {name: _decode(image) for name, image in arrays.items()}

    def _points(self, outputs: dict[str, Any]) -> dict[str, Any]:
        """Return boxes and keypoints for a note, with the dtype that the steps gave them."""
        inputs = self.pipeline.recipe.inputs
        report = {}
        for name, declared in zip(POINTS, (inputs.boxes, inputs.keypoints), strict=True):
            if name in outputs and declared is not None:
                values: npt.NDArray[Any] = outputs[name]
                labels = np.asarray(outputs[declared.labels], np.int64) if declared.labels else np.zeros(len(values))
                columns = [outputs[key] for key in NUMBERS[name] if key in outputs and NUMBERS[name][0] in outputs]
                numbers = np.column_stack([np.zeros((len(values), 0), int), *columns])
                report[name] = [str(values.dtype), values.tolist(), labels.astype(int).tolist(), numbers.tolist()]
        return report


@dataclass(frozen=True)
class StorePlan:
    """The plan of a store.

    Attributes:
        arguments: the arguments of its writer, as JSON: `format`, `kind`, `quality`, `targets`, `rows` and `about`.
        points: which of boxes and keypoints its rows have.
        columns: the columns of the data.
    """

    arguments: dict[str, Any]
    points: Sequence[str]
    columns: Mapping[str, Any]

    def with_notes(self, notes: Sequence[str]) -> tuple[dict[str, Any], dict[str, Any], tuple[Unreadable, ...]]:
        """Complete the plan from the notes of all rows; return columns, more of `about`, and unreadable inputs."""
        unreadable, columns = unreadable_in(range(len(notes)), notes), dict(self.columns)
        about, count = self.arguments["about"], self.arguments["rows"]
        reports = {row: note for row, text in enumerate(notes) if len(note := json.loads(text)) > 1}  # more than stamps
        units, times = about["units"], max(1, about["epochs"])
        if labels := {row // times: note["label"] for row, note in reports.items() if "label" in note}:
            known = columns.get("label", np.full(units, -1, np.int64))
            columns["label"] = np.array([labels.get(unit, known[unit]) for unit in range(units)], np.int64)
        for name in self.points:
            rows = {}
            for row, note in reports.items():
                dtype, values, *numbers = note.get(name, (None, None))
                if values:
                    rows[row] = np.array(values, dtype), *(np.array(column, np.int64) for column in numbers)
            columns |= columns_of_points(name, rows, count)
        return columns, {"unreadable": [asdict(column) for column in unreadable]}, unreadable


def unreadable_in(rows: range, notes: Sequence[str]) -> tuple[Unreadable, ...]:
    """Return the unreadable inputs of some rows, from their notes."""
    reports = ((row, json.loads(note)) for row, note in zip(rows, notes, strict=True))
    return tuple(Unreadable(row, note["path"], note["reason"]) for row, note in reports if "reason" in note)


def canonical_jpeg(data: bytes, header: ImageHeader, turn: int) -> bytes | None:
    """Return a JPEG as a store keeps it: with the coefficients of the file, so that it decodes to the same pixels.

    Where augrecipes was built with libjpeg-turbo, the coefficients are transcoded: one scan, optimised Huffman codes,
    and a restart marker after every row of blocks, so that a window's reader skips what lies above. Otherwise the
    segments that decoding needs are copied. Either way all metadata is dropped, thumbnails and GPS positions included,
    except for the orientation.

    Args:
        data: the file.
        header: its header.
        turn: the EXIF orientation, which readers undo; 1 for none.

    Returns:
        A JPEG; the caller must check that it decodes to the same pixels. None where the file is damaged or no JPEG.
    """
    if header.format != "jpeg" or header.bits != 8 or not header.layout.scan:
        return None
    plain: bytes = header.layout.plain(data)
    library = codec()
    if library is not None:
        with suppress(ValueError):  # keep the copied segments: the caller decodes them
            plain = library.transcoded(plain)
    if turn == 1:
        return plain
    block = b"Exif\0\0MM\0*" + struct.pack(">IHHHIHHI", 8, 1, 0x0112, 3, 1, turn, 0, 0)
    return plain[:2] + EXIF_MARKER + struct.pack(">H", len(block) + 2) + block + plain[2:]


def _decode(image: Any) -> Any:
    """Decode an image, unless it is so large that each row decodes its own window."""
    return image.array() if isinstance(image, Encoded) and math.prod(image.shape[:2]) <= _WHOLE else image


def _cast_mask(mask: npt.NDArray[Any], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Cast a mask to a dtype; DataError where that changes a label."""
    back = mask.astype(dtype)
    if not np.array_equal(back, mask):
        raise DataError(f"the baked steps leave mask labels that {dtype} does not hold")
    return back


def _dump(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
