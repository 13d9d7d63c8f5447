"""What `augrecipes pack` writes of the samples in a store, field by field and column by column: checked before use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from augrecipes.data.tables.packed_table import LAYOUTS
from augrecipes.kinds import facts
from augrecipes.sources.store import Store, index, schema
from augrecipes.sources.store.columns import Texts, are_offsets, everywhere
from augrecipes.sources.store.items import Items
from augrecipes.sources.store.schema import Fields, Size


class PackedStep(Fields):
    """A baked step: its class, and what else decides what it does."""

    step: str
    steps: list[PackedStep] = Field(default_factory=list)


class Decode(Fields):
    """How the files were decoded."""

    channels: Literal[1, 3, 4]
    exif: Literal["apply", "ignore"]


class PackedPoints(Fields):
    """Whether boxes and keypoints were taken, and how they were declared."""

    boxes: dict[str, Any] | None
    keypoints: dict[str, Any] | None


class Lost(Fields):
    """A row without pixels."""

    row: Size
    path: str
    reason: str


class About(Fields):
    """`about` in the index of a packed store."""

    steps: list[PackedStep]
    scales: dict[str, Any]
    epochs: Size
    seed: int | None
    units: Size
    decode: Decode
    inputs: PackedPoints
    channels: Annotated[int, Field(ge=1)] | None
    classes: list[str] | None
    class_to_idx: dict[str, int] | None
    box_classes: list[str] | None
    versions: dict[str, str]
    unreadable: list[Lost]


class _Required(NamedTuple):
    """What a column must be: its lengths (-1: any), and its dtype or the kind of it; None for texts."""

    shape: tuple[int, ...]
    dtype: str | None
    needed: bool = False


def check(store: Store) -> None:
    """StoreError, naming the file and the field or column, unless a packed store's own words agree with each other."""
    said_in = str(store.path / index.NAME)
    schema.check(About, store.about, said_in, "about")
    times = max(1, store.about["epochs"])
    if store.about["units"] * times != store.rows:
        raise schema.wrong(said_in, "about.units", f"{store.about['units']} × {times} are not {store.rows} rows")
    wanted = _columns(store)
    for name, want in wanted.items():
        fault = _fault(store.columns.get(name), want)
        if fault:
            raise schema.wrong(str(store.path / index.COLUMNS), name, fault)
    for name, end in _offsets(store):
        if not are_offsets(store.columns[name], end):
            raise schema.wrong(
                str(store.path / index.COLUMNS), name, f"does not lead from 0 to {end} without a step back"
            )
    _check_items(store, said_in)


def _columns(store: Store) -> dict[str, _Required]:
    """The columns that a store of its kind has, or may have."""
    units = store.about["units"]
    bags: Any = store.columns.get("bag/name")
    samples = units if not facts(store.kind).tiles else len(bags) if isinstance(bags, Texts) else 0
    wanted = {
        "label": _Required((samples,), "i8"),
        "weight": _Required((samples,), "f8"),
        "group": _Required((samples,), None),
    }
    named = units if store.about["packed"] == LAYOUTS[1] else store.rows
    wanted |= {f"source/{name}": _Required((named,), None, needed=True) for name in store.targets}
    if facts(store.kind).tiles:
        wanted |= {name: _Required((samples,), None, needed=True) for name in ("bag/name", "bag/path")}
        wanted["bag/offsets"] = _Required((samples + 1,), "i8", needed=True)
        wanted["bag/coords"] = _Required((units, 2), "i8", needed=True)
    if facts(store.kind).annotated:
        for name in ("boxes", "keypoints"):
            there = any(column.startswith(f"{name}/") for column in store.columns)
            wanted[f"{name}/values"] = _Required((-1, -1), "f", there)
            wanted[f"{name}/labels"] = _Required((-1,), "i8", there)
            wanted[f"{name}/offsets"] = _Required((store.rows + 1,), "i8", there)
    return wanted


def _fault(column: Any, want: _Required) -> str:
    """What is wrong with a column, or nothing."""
    if column is None:
        return "is missing" if want.needed else ""
    if want.dtype is None:
        if not isinstance(column, Texts):
            return "should hold texts"
        return "" if len(column) == want.shape[0] else f"holds {len(column)} texts, and should {want.shape[0]}"
    if isinstance(column, Texts) or want.dtype not in (column.dtype.str[1:], column.dtype.kind):
        return f"should hold numbers of type {want.dtype}"
    same = len(column.shape) == len(want.shape) and all(
        b in (-1, a) for a, b in zip(column.shape, want.shape, strict=True)
    )
    shown = "×".join("n" if n < 0 else str(n) for n in want.shape)
    return "" if same else f"is of shape {'×'.join(map(str, column.shape))}, and should be {shown}"


def _offsets(store: Store) -> Iterator[tuple[str, int]]:
    """The columns that say where each sample's part of another one lies, and where that one ends."""
    if facts(store.kind).tiles:
        yield "bag/offsets", store.about["units"]
    for name in ("boxes", "keypoints"):
        if facts(store.kind).annotated and f"{name}/offsets" in store.columns:
            yield f"{name}/offsets", len(store.columns[f"{name}/values"])


def _check_items(store: Store, said_in: str) -> None:
    """Each row has one item of each target, but for those that are listed as unreadable."""
    lost = sorted(one["row"] for one in store.about["unreadable"])
    columns = str(store.path / index.COLUMNS)
    if lost and lost[-1] >= store.rows:
        raise schema.wrong(said_in, "about.unreadable", f"row {lost[-1]} of {store.rows}")
    for name, items in store.tables.items():
        counts = items.rows[1:] - items.rows[:-1]
        if counts.max(initial=0) > 1 or (counts == 0).nonzero()[0].tolist() != lost:
            raise schema.wrong(columns, f"items/{name}/rows", "rows without pixels are not those that are unreadable")
        if store.targets[name] == "image" and not _have(items, store.about["channels"]):
            raise schema.wrong(said_in, "about.channels", f"pictures of {name} have other channels")


def _have(items: Items, channels: int | None) -> bool:
    return channels is None or everywhere(len(items), lambda part: items.shapes[part, 2] == channels)
